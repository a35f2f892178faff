"""Networks of the sizes that the papers give, whose weights are more than a processor's caches hold."""

from math import prod

from .kinds import ALL, CODES, FLOATS

WIDE, HEADS, LAYERS = 768, 12, 4


def _for_rows(network, rows):
    """The network for so many rows of inputs at once, with a name of its own."""
    def for_rows(net):
        return network(net, rows)
    for_rows.__name__ = f"{network.__name__}_{rows}"
    return for_rows


def feed_forward(net, rows):
    """The dense layers of BERT's."""
    x = net.input(1, rows, WIDE)
    for _ in range(LAYERS):
        x = net.add(x, net.dense(net.dense(x, 4 * WIDE, "relu"), WIDE))
    return net.file(x)


def encoder(net, rows):
    """Layers of BERT."""
    x = net.input(1, rows, WIDE)
    for _ in range(LAYERS):
        x = net.add(x, net.dense(net.self_attention(net.layer_norm(x), HEADS), WIDE))
        x = net.add(x, net.dense(net.dense(net.layer_norm(x), 4 * WIDE, "relu"), WIDE))
    return net.file(x)


def _bottleneck(net, x, units, stride, first):
    y = net.conv(net.conv(net.conv(x, units, 1), units, 3, stride), 4 * units, 1, 1, None)
    return net.add(y, net.conv(x, 4 * units, 1, stride, None) if first else x, "relu")


def resnet50(net):
    x = net.pool(net.conv(net.input(1, 224, 224, 3), 64, 7, 2), 3, 2)
    for units, blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for block in range(blocks):
            x = _bottleneck(net, x, units, 1 if block else stride, not block)
    return net.file(net.softmax(net.dense(net.mean(x, 1, 2, keeps=False), 1000)))


def vgg16(net):
    """Without its dense layers, which alexnet has."""
    x = net.input(1, 224, 224, 3)
    for units, layers in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        for _ in range(layers):
            x = net.conv(x, units)
        x = net.pool(x)
    return net.file(net.dense(net.mean(x, 1, 2, keeps=False), 1000))


def alexnet(net):
    x = net.pool(net.conv(net.input(1, 224, 224, 3), 64, 11, 4), 3, 2)
    x = net.pool(net.conv(x, 192, 5), 3, 2)
    x = net.pool(net.conv(net.conv(net.conv(x, 384), 256), 256))
    x = net.reshape(x, 1, prod(net.shape(x)))
    return net.file(net.dense(net.dense(net.dense(x, 2048, "relu"), 2048, "relu"), 1000))


ROWS = 1, 4, 8, 16, 32, 64, 128
NETWORKS = {**{_for_rows(feed_forward, rows): ALL for rows in ROWS},
            **{_for_rows(encoder, rows): FLOATS for rows in ROWS[2:]},
            resnet50: CODES, vgg16: CODES, alexnet: ALL}
