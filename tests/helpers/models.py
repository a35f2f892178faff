"""Small models for the driver tests."""

import numpy as np

from nnfast import ModelBuilder

FLOAT = "TENSOR_FLOAT32"


def conv_model(batch=1, size=5):
    """3x3 SAME convolution of [batch, size, size, 2] float32 to 4 channels, with ReLU; batch 0 = unknown."""
    rng = np.random.default_rng(7)
    b = ModelBuilder("conv")
    x = b.input(FLOAT, (batch, size, size, 2), name="x")
    w = b.constant(rng.standard_normal((4, 3, 3, 2), np.float32))
    bias = b.constant(rng.standard_normal(4, np.float32))
    y = b.output(FLOAT, (batch, size, size, 4), name="y")
    same, one, relu = b.scalar(1), b.scalar(1), b.scalar(1)
    return b.operation("CONV_2D", [x, w, bias, same, one, one, relu], [y]).build()


def two_step_model():
    """y = RELU6(x + z) with the sum as an intermediate operand named "sum"."""
    b = ModelBuilder("two")
    x, z = b.input(FLOAT, (2, 3), name="x"), b.input(FLOAT, (2, 3), name="z")
    total = b.operand(FLOAT, (2, 3), name="sum")
    y = b.output(FLOAT, (2, 3), name="y")
    b.operation("ADD", [x, z, b.scalar(0)], [total])
    return b.operation("RELU6", [total], [y]).build()


def reshape_model():
    """z = RELU(RESHAPE(x, shape)) where the shape is a model input: planned in pieces, at execution."""
    b = ModelBuilder("reshape")
    x, shape = b.input(FLOAT, (2, 6), name="x"), b.input("TENSOR_INT32", (2,), name="shape")
    y, z = b.operand(FLOAT, (0, 0), name="y"), b.output(FLOAT, (0, 0), name="z")
    b.operation("RESHAPE", [x, shape], [y])
    return b.operation("RELU", [y], [z]).build()


def counter_model():
    """total' = total + x: one state, one output."""
    b = ModelBuilder("counter")
    x, total = b.input(FLOAT, (3,), name="x"), b.input(FLOAT, (3,), name="total")
    after, y = b.output(FLOAT, (3,), name="after"), b.output(FLOAT, (3,), name="y")
    zero = b.constant(np.zeros(3, np.float32))
    b.operation("ADD", [x, total, b.scalar(0)], [after])
    b.operation("ADD", [after, zero, b.scalar(0)], [y])
    return b.state(total, after).build()


def wide_model(steps=60, size=128):
    """A chain of convolutions that runs for tens of milliseconds."""
    rng = np.random.default_rng(3)
    b = ModelBuilder("wide")
    x = b.input(FLOAT, (1, size, size, 16), name="x")
    w = b.constant((rng.standard_normal((16, 3, 3, 16)) / 12).astype(np.float32))
    bias = b.constant(np.zeros(16, np.float32))
    one, none = b.scalar(1), b.scalar(0)
    for _ in range(steps - 1):
        y = b.operand(FLOAT, (1, size, size, 16))
        b.operation("CONV_2D", [x, w, bias, one, one, one, none], [y])
        x = y
    y = b.output(FLOAT, (1, size, size, 16), name="y")
    return b.operation("CONV_2D", [x, w, bias, one, one, one, none], [y]).build()


def banded_model(size=640):
    """An inverted residual on a large image: three convolutions in bands, one step of tens of milliseconds."""
    rng = np.random.default_rng(4)
    b = ModelBuilder("banded")
    x, inner = b.input(FLOAT, (1, size, size, 16), name="x"), [b.operand(FLOAT, (1, size, size, 96)) for _ in range(2)]
    y = b.output(FLOAT, (1, size, size, 16), name="y")
    wide, deep, thin = (b.constant(rng.standard_normal(shape, np.float32))
                        for shape in ((96, 1, 1, 16), (1, 3, 3, 96), (16, 1, 1, 96)))
    bias, last = b.constant(np.zeros(96, np.float32)), b.constant(np.zeros(16, np.float32))
    one, none = b.scalar(1), b.scalar(0)
    b.operation("CONV_2D", [x, wide, bias, one, one, one, none], [inner[0]])
    b.operation("DEPTHWISE_CONV_2D", [inner[0], deep, bias, one, one, one, one, none], [inner[1]])
    return b.operation("CONV_2D", [inner[1], thin, last, one, one, one, none], [y]).build()
