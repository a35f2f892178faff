"""Networks that tell what is in a picture."""

from networks.kinds import ALL, CODES, FLOATS, classifier


def mobilenet_v3(net):
    x = net.hard_swish(net.conv(net.input(1, 160, 160, 3), 16, 3, 2, act=None))
    for wide, units, size, stride, excites, hard in (
            (16, 16, 3, 2, True, False), (72, 24, 3, 2, False, False), (88, 24, 3, 1, False, False),
            (96, 40, 5, 2, True, True), (240, 40, 5, 1, True, True), (120, 48, 5, 1, True, True),
            (288, 96, 5, 2, True, True), (576, 96, 5, 1, True, True)):
        act = None if hard else "relu"
        y = net.conv(x, wide, 1, act=act)
        y = net.hard_swish(y) if hard else y
        y = net.depthwise(y, size, stride, act)
        y = net.hard_swish(y) if hard else y
        y = net.squeeze_excite(y, max(8, wide // 4), True) if excites else y
        y = net.conv(y, units, 1, act=None)
        x = net.add(x, y) if net.shape(x) == net.shape(y) else y
    return classifier(net, net.hard_swish(net.conv(x, 576, 1, act=None)))


def efficientnet(net):
    x = net.swish(net.conv(net.input(1, 160, 160, 3), 32, 3, 2, act=None))
    for expands, units, size, stride in ((1, 16, 3, 1), (6, 24, 3, 2), (6, 24, 3, 1), (6, 40, 5, 2), (6, 40, 5, 1),
                                         (6, 80, 3, 2), (6, 80, 3, 1), (6, 112, 5, 1), (6, 192, 5, 2), (6, 192, 5, 1)):
        wide = net.shape(x)[3] * expands
        y = net.swish(net.conv(x, wide, 1, act=None)) if expands > 1 else x
        y = net.swish(net.depthwise(y, size, stride, None))
        y = net.conv(net.squeeze_excite(y, max(4, wide // expands // 4)), units, 1, act=None)
        x = net.add(x, y) if net.shape(x) == net.shape(y) else y
    return classifier(net, net.swish(net.conv(x, 640, 1, act=None)))


def squeezenet(net):
    x = net.pool(net.conv(net.input(1, 160, 160, 3), 64, 3, 2), 3)
    for few, units in ((16, 64), (16, 64), (32, 128), (32, 128), (48, 192), (64, 256)):
        y = net.conv(x, few, 1)
        x = net.concat(net.conv(y, units, 1), net.conv(y, units, 3))
        x = net.pool(x, 3) if few == 32 and units == 128 and net.shape(x)[1] > 20 else x
    return classifier(net, net.conv(x, 100, 1))


def shufflenet(net):
    x = net.pool(net.conv(net.input(1, 160, 160, 3), 24, 3, 2), 3)
    for units, blocks in ((116, 4), (232, 6), (464, 3)):
        for block in range(blocks):
            if block == 0:
                left = net.conv(net.depthwise(x, 3, 2, None), units // 2, 1)
                right = net.depthwise(net.conv(x, units // 2, 1), 3, 2, None)
            else:
                left, right = net.split(x, 2)
                right = net.depthwise(net.conv(right, units // 2, 1), 3, 1, None)
            joined = net.concat(left, net.conv(right, units // 2, 1))
            _, height, width, _ = net.shape(joined)
            pairs = net.transpose(net.reshape(joined, 1, height, width, 2, units // 2), 0, 1, 2, 4, 3)
            x = net.reshape(pairs, 1, height, width, units)
    return classifier(net, net.conv(x, 512, 1))


def densenet(net):
    x = net.pool(net.conv(net.input(1, 128, 128, 3), 48, 7, 2), 3)
    for layers in (4, 6, 8):
        for _ in range(layers):
            y = x
            if net.kind != "int8":
                wide = net.shape(x)[3]
                y = net.two("ADD", net.mul(x, net.floats(wide)), net.floats(wide, low=-1, high=1), act="relu")
            x = net.concat(x, net.conv(net.conv(y, 64, 1), 24, 3))
        x = net.pool(net.conv(x, net.shape(x)[3] // 2, 1), 2, kind="AVERAGE_POOL_2D")
    return classifier(net, x)


def inception(net):
    x = net.pool(net.conv(net.conv(net.input(1, 149, 149, 3), 32, 3, 2), 64, 3), 3)
    for units in (32, 64, 64):
        x = net.concat(net.conv(x, units, 1), net.conv(net.conv(x, units // 2, 1), units, 5),
                       net.conv(net.conv(net.conv(x, units, 1), units, 3), units, 3),
                       net.conv(net.pool(x, 3, 1, "AVERAGE_POOL_2D"), units, 1))
    x = net.pool(x, 3)
    for units in (96, 96):
        deep = net.conv(net.conv(net.conv(x, units, 1), units, (1, 7)), units, (7, 1))
        x = net.concat(net.conv(x, units, 1), deep, net.conv(net.pool(x, 3, 1, "AVERAGE_POOL_2D"), units, 1))
    return classifier(net, x)


def resnet50(net):
    x = net.pool(net.conv(net.input(1, 128, 128, 3), 32, 7, 2), 3)
    for units, blocks, stride in ((32, 2, 1), (64, 3, 2), (128, 3, 2), (256, 2, 2)):
        for block in range(blocks):
            step = stride if block == 0 else 1
            y = net.conv(net.conv(net.conv(x, units, 1), units, 3, step), 4 * units, 1, act=None)
            x = net.add(net.conv(x, 4 * units, 1, step, None) if block == 0 else x, y, "relu")
    return classifier(net, x)


def resnext(net):
    x = net.pool(net.conv(net.input(1, 128, 128, 3), 32, 7, 2), 3)
    for units, stride in ((64, 1), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1)):
        y = net.conv(net.conv(net.conv(x, units, 1), units, 3, stride, groups=16), 2 * units, 1, act=None)
        x = net.add(net.conv(x, 2 * units, 1, stride, None) if stride == 2 or units == 64 else x, y, "relu")
    return classifier(net, x)


def ghostnet(net):
    """Half of the channels of each layer by a depthwise convolution of the other half."""
    def ghost(x, units, act="relu"):
        y = net.conv(x, units // 2, 1, act=act)
        return net.concat(y, net.depthwise(y, act=act))

    x = net.conv(net.input(1, 160, 160, 3), 16, 3, 2)
    for wide, units, stride, excites in (
            (16, 16, 1, False), (48, 24, 2, False), (72, 24, 1, False), (72, 40, 2, True), (120, 40, 1, True),
            (240, 80, 2, False), (200, 80, 1, False), (480, 112, 1, True), (672, 160, 2, True), (960, 160, 1, False)):
        y = ghost(x, wide)
        y = net.depthwise(y, 3, 2, None) if stride == 2 else y
        y = net.squeeze_excite(y, wide // 4, True) if excites else y
        y = ghost(y, units, None)
        short = x if net.shape(x) == net.shape(y) else net.conv(net.depthwise(x, 3, stride, None), units, 1, act=None)
        x = net.add(short, y)
    return classifier(net, net.conv(x, 480, 1))


def vgg(net):
    """Plain convolutions of 3x3, and most weights in two dense layers."""
    x = net.input(1, 96, 96, 3)
    for units, layers in ((32, 2), (64, 2), (128, 3), (256, 3)):
        for _ in range(layers):
            x = net.conv(x, units)
        x = net.pool(x)
    x = net.reshape(x, 1, 6 * 6 * 256)
    return net.file(net.softmax(net.dense(net.dense(net.dense(x, 512, "relu"), 512, "relu"), 100)))


def convnext(net):
    x = net.layer_norm(net.conv(net.input(1, 128, 128, 3), 48, 4, 4, None))
    for units, blocks in ((48, 2), (96, 2), (192, 3)):
        x = net.conv(net.layer_norm(x), units, 2, 2, None) if net.shape(x)[3] != units else x
        for _ in range(blocks):
            y = net.dense(net.layer_norm(net.depthwise(x, 7, act=None)), 4 * units)
            y = net.dense(net.gelu(y), units)
            x = net.add(x, net.mul(y, net.floats(units)))
    return classifier(net, x)


def swin(net):
    """Self-attention within windows of 7x7 pixels, with a bias for each pair of them."""
    size, channels, window, heads = 28, 96, 7, 3
    across, pixels = size // window, window * window
    x = net.conv(net.input(1, 112, 112, 3), channels, 4, 4, None)
    for _ in range(2):
        y = net.reshape(net.layer_norm(x), 1, across, window, across, window, channels)
        y = net.reshape(net.transpose(y, 0, 1, 3, 2, 4, 5), across * across, pixels, channels)
        y = net.dense(net.self_attention(y, heads, net.floats(1, heads, pixels, pixels, low=-1)), channels)
        y = net.transpose(net.reshape(y, 1, across, across, window, window, channels), 0, 1, 3, 2, 4, 5)
        x = net.add(x, net.reshape(y, 1, size, size, channels))
        x = net.add(x, net.dense(net.gelu(net.dense(net.layer_norm(x), 4 * channels)), channels))
    return classifier(net, net.layer_norm(x))


def mixer(net):
    """Products along patches and along channels in turn."""
    x = net.reshape(net.conv(net.input(1, 112, 112, 3), 128, 8, 8, None), 1, 196, 128)
    for _ in range(4):
        y = net.gelu(net.dense(net.transpose(net.layer_norm(x), 0, 2, 1), 64), True)
        x = net.add(x, net.transpose(net.dense(y, 196), 0, 2, 1))
        x = net.add(x, net.dense(net.gelu(net.dense(net.layer_norm(x), 256), True), 128))
    return net.file(net.softmax(net.dense(net.mean(net.layer_norm(x), 1, keeps=False), 100)))


def pointnet(net):
    """Points in space, each by itself, then the largest of each feature."""
    x = net.reshape(net.input(1, 1024, 3), 1, 1024, 1, 3)
    for units in (64, 64, 128, 512):
        x = net.conv(x, units, 1)
    x = net.largest(x, 1, 2)
    return net.file(net.softmax(net.dense(net.dense(net.dense(x, 256, "relu"), 128, "relu"), 40)))


NETWORKS = {
    mobilenet_v3: ALL, efficientnet: ALL, squeezenet: ALL, shufflenet: ALL, densenet: ALL, inception: ALL,
    resnet50: ALL, resnext: CODES, ghostnet: ALL, vgg: ALL, convnext: FLOATS, swin: FLOATS, mixer: FLOATS,
    pointnet: ALL,
}
"""Network -> what it is there in."""
