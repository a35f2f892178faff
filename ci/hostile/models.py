"""Valid models that cost a driver as much as they can."""

import numpy as np

from nnfast import ModelBuilder

FLOAT, INT = "TENSOR_FLOAT32", "TENSOR_INT32"


def _vector(builder, *values):
    return builder.constant(np.array(values, np.int32))


def small(count=32):
    """One ADD of [1, count] floats."""
    b = ModelBuilder("small")
    x, y = b.input(FLOAT, (1, count)), b.output(FLOAT, (1, count))
    b.operation("ADD", [x, b.constant(np.full((1, count), 7, np.float32)), b.scalar(0)], [y])
    return b.build()


def endless_loop():
    """A WHILE whose condition never fails."""
    condition = ModelBuilder()
    x, holds = condition.input(FLOAT, (1,)), condition.output("TENSOR_BOOL8", (1,))
    condition.operation("GREATER", [x, condition.constant(np.array([-1], np.float32))], [holds])
    body = ModelBuilder()
    x, y = body.input(FLOAT, (1,)), body.output(FLOAT, (1,))
    body.operation("ADD", [x, body.constant(np.array([1], np.float32)), body.scalar(0)], [y])
    b = ModelBuilder("endless")
    x, y = b.input(FLOAT, (1,)), b.output(FLOAT, (1,))
    b.operation("WHILE", [b.subgraph(condition), b.subgraph(body), x], [y])
    return b.build()


def chain(length):
    """Operations one after the other."""
    b = ModelBuilder("chain")
    x, one, none = b.input(FLOAT, (1, 4)), b.constant(np.ones((1, 4), np.float32)), b.scalar(0)
    for place in range(length):
        y = b.output(FLOAT, (1, 4)) if place == length - 1 else b.operand(FLOAT, (1, 4))
        b.operation("ADD", [x, one, none], [y])
        x = y
    return b.build()


def fan(width):
    """As many tensors alive at once."""
    b = ModelBuilder("fan")
    x, one, none, parts = b.input(FLOAT, (1, 4)), b.constant(np.ones((1, 4), np.float32)), b.scalar(0), []
    for _ in range(width):
        parts.append(b.operand(FLOAT, (1, 4)))
        b.operation("ADD", [x, one, none], [parts[-1]])
    b.operation("CONCATENATION", [*parts, b.scalar(0)], [b.output(FLOAT, (0, 0))])
    return b.build()


def nested(depth):
    """IF within IF."""
    inner = ModelBuilder()
    inner.operation("RELU", [inner.input(FLOAT, (1,))], [inner.output(FLOAT, (1,))])
    for _ in range(depth):
        outer = ModelBuilder()
        condition = outer.constant(np.array([True]))
        x, y = outer.input(FLOAT, (1,)), outer.output(FLOAT, (1,))
        branch = outer.subgraph(inner)
        outer.operation("IF", [condition, branch, branch, x], [y])
        inner = outer
    return inner.build()


def empty_into(count):
    """A slice of no elements whose output is declared to have `count`, and is then computed with."""
    b = ModelBuilder("empty")
    x, part, y = b.input(FLOAT, (4,)), b.operand(FLOAT, (count,)), b.output(FLOAT, (count,))
    b.operation("SLICE", [x, _vector(b, 2), _vector(b, 0)], [part])
    b.operation("MUL", [part, b.constant(np.ones(1, np.float32)), b.scalar(0)], [y])
    return b.build()


def tile():
    """How often the input is repeated is an input."""
    b = ModelBuilder("tile")
    x, times, y = b.input(FLOAT, (1,)), b.input(INT, (1,)), b.output(FLOAT, ())
    b.operation("TILE", [x, times], [y])
    return b.build()


def gather(rows):
    """One row of a tensor that has very many."""
    b = ModelBuilder("gather")
    x, y = b.input("TENSOR_QUANT8_ASYMM", (rows,), scale=.5), b.output("TENSOR_QUANT8_ASYMM", (1,), scale=.5)
    b.operation("GATHER", [x, b.scalar(0), _vector(b, 1)], [y])
    return b.build()


def projection(count):
    """LSH_PROJECTION of many values."""
    b = ModelBuilder("projection")
    seeds, x, y = b.constant(np.ones((4, 8), np.float32)), b.input(INT, (1, count)), b.output(INT, (4,))
    b.operation("LSH_PROJECTION", [seeds, x, b.omitted(FLOAT), b.scalar(1)], [y])
    return b.build()


def product(rows):
    """One long native step."""
    b = ModelBuilder("product")
    x, y = b.input(FLOAT, (rows, 1024)), b.output(FLOAT, (rows, 1024))
    b.operation("FULLY_CONNECTED", [x, b.constant(np.ones((1024, 1024), np.float32)),
                                    b.constant(np.zeros(1024, np.float32)), b.scalar(0)], [y])
    return b.build()
