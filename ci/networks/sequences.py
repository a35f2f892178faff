"""Networks of texts, sounds and other rows of numbers."""

import numpy as np

from networks.kinds import ALL, FLOATS, classifier


def transformer(net):
    """Patches of a picture, four layers of self-attention."""
    patches = net.conv(net.input(1, 112, 112, 3), 128, 8, 8, None)
    x = net.add(net.reshape(patches, 1, 196, 128), net.floats(1, 196, 128, low=-1))
    for _ in range(4):
        x = net.add(x, net.dense(net.self_attention(net.layer_norm(x), 4), 128))
        x = net.add(x, net.dense(net.gelu(net.dense(net.layer_norm(x), 512), True), 128))
    return net.file(net.softmax(net.dense(net.mean(net.layer_norm(x), 1, keeps=False), 100)))


def attention(net):
    """Self-attention without layer norms, as int8 networks have it."""
    x = net.dense(net.input(1, 64, 128), 128)
    for _ in range(3):
        q, k, v = (net.transpose(net.reshape(net.dense(x, 128), 1, 64, 4, 32), 0, 2, 1, 3) for _ in range(3))
        y = net.transpose(net.product(net.softmax(net.product(q, k, True)), v), 0, 2, 1, 3)
        x = net.add(x, net.dense(net.reshape(y, 1, 64, 128), 128))
        x = net.add(x, net.dense(net.dense(x, 512, "relu"), 128))
    return net.file(net.softmax(net.dense(net.mean(x, 1, keeps=False), 50)))


def linear_attention(net):
    """Self-attention without softmax: keys times values first, then their sums by a division."""
    x = net.dense(net.input(1, 128, 64), 64)
    for _ in range(2):
        q, k, v = (net.plain("ELU", net.dense(x, 64), (-1, 8)) for _ in range(3))
        y = net.product(q, net.product(net.transpose(k, 0, 2, 1), v))
        total = net.op("SUM", [y, net.ints(2)], (1, 128, 1), "ReducerOptions", KeepDims=True)
        y = net.two("DIV", y, net.add(net.plain("ABS", total), net.const(np.array([1], np.float32))))
        x = net.add(x, net.dense(y, 64))
    return net.file(x)


def bert(net):
    """Tokens of a text, layer norms behind the sums, a mask for what is no token."""
    x = net.add(net.embedding(2000, 128, 64), net.floats(1, 64, 128, low=-1))
    x, mask = net.layer_norm(x), net.floats(1, 1, 64, 64, low=-1, high=0)
    for _ in range(3):
        x = net.layer_norm(net.add(x, net.dense(net.self_attention(x, 2, mask), 128)))
        x = net.layer_norm(net.add(x, net.dense(net.gelu(net.dense(x, 512)), 128)))
    first = net.reshape(net.slice(x, (0, 0, 0), (1, 1, 128)), 1, 128)
    return net.file(net.softmax(net.dense(net.tanh(net.dense(first, 128)), 3)))


def conformer(net):
    """Speech: half steps of dense layers, self-attention, gates and convolutions along time."""
    def half_step(x):
        y = net.dense(net.swish(net.dense(net.layer_norm(x), 384)), 96)
        return net.add(x, net.mul(y, net.const(np.array([0.5], np.float32))))

    x = net.dense(net.input(1, 100, 80), 96)
    for _ in range(3):
        x = half_step(x)
        x = net.add(x, net.dense(net.self_attention(net.layer_norm(x), 4), 96))
        left, right = net.split(net.dense(net.layer_norm(x), 192), 2, axis=2)
        y = net.reshape(net.mul(left, net.logistic(right)), 1, 1, 100, 96)
        y = net.swish(net.depthwise(y, (1, 31), act=None))
        x = net.add(x, net.dense(net.reshape(y, 1, 100, 96), 96))
        x = net.layer_norm(half_step(x))
    return net.file(net.softmax(net.dense(x, 64)))


def text_cnn(net):
    """Words of a text, the largest of each feature of three to five of them."""
    x, parts = net.reshape(net.embedding(4000, 64, 128), 1, 1, 128, 64), []
    for size in (3, 4, 5):
        parts.append(net.largest(net.conv(x, 100, (1, size)), 1, 2))
    return net.file(net.softmax(net.dense(net.dense(net.concat(*parts, axis=1), 64, "relu"), 5)))


def text_line(net):
    """A line of text in a picture: convolutions, then two recurrent layers along it."""
    x = net.input(1, 32, 128, 1)
    for units in (32, 64):
        x = net.pool(net.conv(x, units))
    x = net.largest(net.conv(x, 64, (8, 1)), 1)
    return net.file(net.softmax(net.dense(net.lstm(net.lstm(x, 64), 64), 40)))


def wavenet(net):
    """Dilated convolutions along time, gates of tanh and logistic."""
    x, sums = net.conv(net.input(1, 1, 800, 40), 64, (1, 1), act=None), None
    for dilation in (1, 2, 4, 8, 1, 2, 4, 8):
        y = net.conv(x, 128, (1, 3), act=None, dilation=dilation)
        left, right = net.split(y, 2)
        y = net.mul(net.tanh(left), net.logistic(right), (-1, 1))
        skip = net.conv(y, 64, 1, act=None)
        sums = net.add(sums, skip) if sums else skip
        x = net.add(x, net.conv(y, 64, 1, act=None))
    return net.file(net.softmax(net.conv(net.plain("RELU", sums, (0, 8)), 64, 1, act=None)))


def denoiser(net):
    """Samples of a sound through convolutions of stride 4 along time, and back."""
    x, kept = net.input(1, 1, 1024, 1), []
    for units in (16, 32, 64):
        kept.append(x)
        x = net.conv(x, units, (1, 8), (1, 4))
    for units in (32, 16, 1):
        x = net.transpose_conv(x, units, (1, 8), (1, 4))
        skip = kept.pop()
        x = net.concat(net.plain("RELU", x, (0, 8)), skip) if units > 1 else x
    return net.file(x)


def keywords(net):
    x = net.conv(net.input(1, 49, 10, 1), 64, (10, 4), 2)
    for _ in range(4):
        x = net.conv(net.depthwise(x, act="relu"), 64, 1)
    return classifier(net, x, 12)


def keywords_1d(net):
    """Residual blocks of a temporal convolution of 9 steps."""
    x = net.conv(net.input(1, 98, 1, 40), 16, (3, 1))
    for units, stride in ((24, 2), (32, 2), (48, 2)):
        y = net.conv(net.conv(x, units, (9, 1), stride), units, (9, 1), act=None)
        x = net.add(net.conv(x, units, 1, stride), y, "relu")
    return classifier(net, x, 12)


def autoencoder(net):
    x = net.input(1, 640)
    for units in (128, 128, 128, 8, 128, 128, 128):
        x = net.dense(x, units, "relu")
    return net.file(net.dense(x, 640))


def recommender(net):
    rows = [net.input(1, 64) for _ in range(3)]
    x = net.concat(*rows, axis=1)
    for units in (256, 128, 64):
        x = net.dense(x, units, "relu")
    return net.file(net.logistic(net.dense(net.mul(x, net.dense(rows[0], 64)), 1)))


def gru(net):
    """Steps of a gated recurrent unit, unrolled; its weights are given again for each step."""
    frames, state = net.input(1, 20, 40), net.dense(net.input(1, 64), 64)
    for step in range(20):
        x = net.reshape(net.slice(frames, (0, step, 0), (1, 1, 40)), 1, 40)
        z, r, h = net.split(net.dense(x, 192), 3, axis=1)
        uz, ur = net.split(net.dense(state, 128), 2, axis=1)
        z, r = net.logistic(net.add(z, uz)), net.logistic(net.add(r, ur))
        new = net.tanh(net.add(h, net.dense(net.mul(r, state, (-1, 1)), 64)))
        state = net.add(new, net.mul(z, net.two("SUB", state, new, (-2, 2)), (-2, 2)))
    return net.file(net.dense(state, 12))


NETWORKS = {
    transformer: FLOATS, attention: ALL, linear_attention: FLOATS, bert: FLOATS, conformer: FLOATS, text_cnn: FLOATS,
    text_line: FLOATS, wavenet: ALL, denoiser: ALL, keywords: ALL, keywords_1d: ALL, autoencoder: ALL,
    recommender: ALL, gru: ALL,
}
"""Network -> what it is there in."""
