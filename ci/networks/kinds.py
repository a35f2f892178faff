"""What networks are there in, and how those of classes end."""

ALL, FLOATS, CODES = ("f32", "int8", "hybrid"), ("f32", "hybrid"), ("f32", "int8")
"""Kinds of a network; layer normalization is one of floats."""


def classifier(net, x, units=100):
    """The file of a network whose last image is averaged, then gives a probability for each class."""
    pooled = net.mean(x, 1, 2, keeps=False)
    return net.file(net.softmax(net.dense(pooled, units)))
