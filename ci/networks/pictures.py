"""Networks that make pictures, or find what is where in one."""

from networks.kinds import ALL, CODES, FLOATS


def unet(net):
    x, kept = net.input(1, 128, 128, 3), []
    for units in (16, 32, 64):
        x = net.conv(net.conv(x, units), units)
        kept.append(x)
        x = net.pool(x)
    x = net.conv(net.conv(x, 128), 128)
    for units in (64, 32, 16):
        x = net.conv(net.concat(net.transpose_conv(x, units), kept.pop()), units)
    return net.file(net.logistic(net.conv(x, 1, 1, act=None)))


def segmentation(net):
    """Dilated convolutions, a pooled branch, and classes at the size of the picture."""
    x = net.conv(net.input(1, 193, 193, 3), 32, 3, 2, "relu6")
    for units, stride in ((24, 2), (32, 2), (64, 1)):
        x = net.conv(net.depthwise(net.conv(x, 4 * units, 1, act="relu6"), 3, stride), units, 1, act=None)
    for dilation in (2, 4):
        x = net.conv(net.depthwise(net.conv(x, 256, 1, act="relu6"), 3, dilation=dilation), 64, 1, act=None)
    _, height, width, _ = net.shape(x)
    pooled = net.resize(net.conv(net.mean(x, 1, 2), 64, 1), height)
    x = net.conv(net.concat(pooled, net.conv(x, 64, 1), net.conv(x, 64, 3, dilation=6)), 64, 1)
    return net.file(net.resize(net.conv(x, 21, 1, act=None), 8))


def atrous(net):
    """Dilated convolutions as files of older converters have them: batches of every second or fourth pixel."""
    x = net.conv(net.input(1, 192, 192, 3), 32, 3, 2, "relu6")
    for units in (16, 24, 32):
        x = net.conv(net.depthwise(net.conv(x, 6 * units, 1, act="relu6"), 3, 2), units, 1, act=None)
    for step in (2, 4):
        y = net.apart(net.depthwise(net.apart(net.conv(x, 192, 1, act="relu6"), step)), step, True)
        x = net.add(x, net.conv(y, 32, 1, act=None))
    return net.file(net.resize(net.conv(net.conv(x, 64, 1), 5, 1, act=None), 8))


def depth_map(net):
    """Enlarged from corner to corner, joined with what was there before."""
    x, kept = net.conv(net.input(1, 128, 160, 3), 16, 3, 2), []
    for units in (24, 32, 64, 96):
        kept.append(x)
        x = net.conv(net.depthwise(net.conv(x, units * 2, 1, act="relu6"), 5, 2), units, 1, act=None)
    for units in (64, 32, 24, 16):
        y = net.concat(net.resize(x, 2, AlignCorners=True, HalfPixelCenters=False), kept.pop())
        x = net.plain("ELU", net.conv(y, units, act=None), (-1, 8))
    return net.file(net.logistic(net.conv(x, 1, act=None)))


def detector(net):
    """Leaky activations, a pyramid of two levels, boxes in one list."""
    x = net.leaky(net.conv(net.input(1, 192, 192, 3), 16, act=None))
    for units in (32, 64, 128, 256):
        last, x = x, net.leaky(net.conv(net.pool(x), units, act=None))
    lists = [x, net.concat(net.resize(net.conv(x, 64, 1), 2, "RESIZE_NEAREST_NEIGHBOR"), last)]
    boxes = []
    for level in lists:
        y = net.logistic(net.conv(net.leaky(net.conv(level, 128, act=None)), 3 * 25, 1, act=None))
        boxes.append(net.reshape(y, 1, 3 * net.shape(y)[1] * net.shape(y)[2], 25))
    return net.file(net.concat(*boxes, axis=1))


def yolo(net):
    """Split and joined halves, pools of pools, boxes as distributions."""
    def layer(x, units, size=1, stride=1):
        return net.swish(net.conv(x, units, size, stride, None))

    def halves(x, units):
        parts = list(net.split(layer(x, units), 2))
        parts.append(net.add(parts[1], layer(layer(parts[1], units // 2, 3), units // 2, 3)))
        return layer(net.concat(*parts), units)

    x, kept = layer(net.input(1, 192, 192, 3), 16, 3, 2), []
    for units in (32, 64, 128, 256):
        x = halves(layer(x, units, 3, 2), units)
        kept.append(x)
    pools = [layer(x, 128)]
    for _ in range(3):
        pools.append(net.pool(pools[-1], 5, 1))
    x, outputs = layer(net.concat(*pools), 256), []
    for level in (halves(net.concat(net.resize(x, 2, "RESIZE_NEAREST_NEIGHBOR"), kept[2]), 128), x):
        boxes = net.conv(layer(layer(level, 64, 3), 64, 3), 64, 1, act=None)
        places = net.shape(boxes)[1] * net.shape(boxes)[2]
        classes = net.logistic(net.conv(layer(layer(level, 80, 3), 80, 3), 80, 1, act=None))
        sides = net.transpose(net.reshape(boxes, 1, places, 4, 16), 0, 2, 1, 3)
        outputs += [net.reshape(classes, 1, places, 80), net.softmax(sides)]
    return net.file(*outputs)


def efficientdet(net):
    """A pyramid that goes down and up again, heads of separable convolutions on each of its levels."""
    def separable(x, units=48):
        return net.conv(net.depthwise(x, act=None), units, 1, act=None)

    x, levels = net.swish(net.conv(net.input(1, 256, 256, 3), 16, 3, 2, None)), []
    for units in (24, 40, 64, 96):
        x = net.swish(net.conv(net.depthwise(x, 3, 2, None), units, 1, act=None))
        levels.append(net.conv(x, 48, 1, act=None))
    for _ in range(2):
        down = [levels[-1]]
        for level in levels[-2::-1]:
            larger = net.resize(down[0], 2, "RESIZE_NEAREST_NEIGHBOR")
            down.insert(0, separable(net.swish(net.add(level, larger))))
        levels = down[:1]
        for level in down[1:]:
            levels.append(separable(net.swish(net.add(level, net.pool(levels[-1], 3)))))
    boxes = []
    for level in levels:
        y = separable(net.swish(separable(net.swish(separable(level)))), 36)
        boxes.append(net.reshape(y, 1, net.shape(y)[1] * net.shape(y)[2] * 9, 4))
    return net.file(net.concat(*boxes, axis=1))


def super_resolution(net):
    x = first = net.conv(net.input(1, 96, 96, 3), 32)
    for _ in range(4):
        x = net.add(x, net.conv(net.conv(x, 32), 32, act=None))
    x = net.conv(net.add(x, first), 12, act=None)
    shape = (1, 192, 192, 3)
    return net.file(net.op("DEPTH_TO_SPACE", [x], shape, "DepthToSpaceOptions", like=x, BlockSize=2))


def style_transfer(net):
    """Each channel of a picture normalized by itself; enlarged by nearest neighbours."""
    def normal(x):
        return net.instance_norm(x) if net.kind != "int8" else x

    x = net.conv(net.input(1, 128, 128, 3), 16, 9)
    for units in (32, 64):
        x = net.plain("RELU", normal(net.conv(x, units, 3, 2, None)), (0, 8))
    for _ in range(3):
        y = net.plain("RELU", normal(net.conv(x, 64, act=None)), (0, 8))
        x = net.add(x, normal(net.conv(y, 64, act=None)))
    for units in (32, 16):
        y = normal(net.conv(net.resize(x, 2, "RESIZE_NEAREST_NEIGHBOR"), units, act=None))
        x = net.plain("RELU", y, (0, 8))
    return net.file(net.tanh(net.conv(x, 3, 9, act=None)))


def dehazing(net):
    """Few channels at full size."""
    x = net.input(1, 240, 320, 3)
    parts = [net.conv(x, 8, 1)]
    for size in (3, 5, 7):
        parts.append(net.conv(parts[-1], 8, size))
    return net.file(net.conv(net.concat(*parts), 3, 3, act=None))


def generator(net):
    """Pictures of numbers by transposed convolutions."""
    x = net.reshape(net.dense(net.input(1, 100), 8 * 8 * 128), 1, 8, 8, 128)
    for units, size in ((64, 5), (32, 4), (16, 5)):
        x = net.leaky(net.transpose_conv(x, units, size))
    return net.file(net.tanh(net.transpose_conv(x, 3, 5, 1)))


def pose(net):
    """Heat maps by transposed convolutions."""
    x = net.conv(net.input(1, 128, 128, 3), 32, 3, 2, "relu6")
    for units, stride in ((32, 2), (64, 2), (96, 2)):
        x = net.conv(net.depthwise(net.conv(x, 4 * units, 1, act="relu6"), 5, stride), units, 1, act=None)
    for _ in range(3):
        x = net.plain("RELU", net.transpose_conv(x, 64, 4), (0, 8))
    return net.file(net.conv(x, 17, 1, act=None))


def faces(net):
    """Single-stage detector of faces: residual depthwise blocks whose short cut is pooled and padded."""
    x = net.conv(net.input(1, 128, 128, 3), 24, 5, 2)
    for units, stride in ((24, 1), (28, 1), (32, 2), (36, 1), (42, 1), (48, 2), (56, 1), (64, 1), (96, 2), (96, 1)):
        y = net.conv(net.depthwise(x, stride=stride, act=None), units, 1, act=None)
        short = net.pool(x) if stride == 2 else x
        extra = units - net.shape(short)[3]
        short = net.pad(short, (0, 0), (0, 0), (0, 0), (0, extra)) if extra else short
        x = net.add(short, y, "relu")
    boxes = net.reshape(net.conv(x, 32, 1, act=None), 1, 128, 16)
    return net.file(boxes, net.logistic(net.reshape(net.conv(x, 2, 1, act=None), 1, 128, 1)))


def face_mesh(net):
    """Slopes for each channel, short cuts that are pooled and padded, all points by one wide window."""
    x = net.prelu(net.conv(net.input(1, 192, 192, 3), 16, 3, 2, None))
    for units, stride in ((16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (128, 2), (128, 1), (128, 2), (128, 1)):
        y = net.prelu(net.conv(x, units // 2, 1, stride, None))
        y = net.conv(net.depthwise(y, act=None), units, 1, act=None)
        short = net.pool(x) if stride == 2 else x
        extra = units - net.shape(short)[3]
        short = net.pad(short, (0, 0), (0, 0), (0, 0), (0, extra)) if extra else short
        x = net.prelu(net.add(short, y))
    y = net.reshape(net.prelu(net.conv(x, 32, 1, act=None)), 1, 6 * 6 * 32)
    return net.file(net.dense(y, 3 * 468))


NETWORKS = {
    unet: CODES, segmentation: ALL, atrous: ALL, depth_map: FLOATS, detector: ALL, yolo: ALL, efficientdet: ALL,
    super_resolution: ALL, style_transfer: ALL, dehazing: ALL, generator: ALL, pose: CODES, faces: ALL,
    face_mesh: ALL,
}
"""Network -> what it is there in."""
