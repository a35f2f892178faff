"""Instances of the operations that work element by element."""

import numpy as np

from ...model.types import QUANT_RANGE
from .draft import T, makes

POSITIVE = ("LOG", "SQRT", "RSQRT")


@makes(
    "RELU", "RELU1", "RELU6", "LOGISTIC", "TANH", "ABS", "EXP", "FLOOR", "LOG", "LOGICAL_NOT", "NEG", "RSQRT", "SIN",
    "SQRT", "CAST", "ELU", "QUANTIZE", odd=["input"],
)
def unary(d):
    if d.op.name in POSITIVE and d.types["input"] in (T.TENSOR_FLOAT32, T.TENSOR_FLOAT16):
        # A few values below zero: NaN on both sides.
        value = d.tensor("input", d.shape(), low=0.0, high=4.0)
        value.array[d.rng.random(value.array.shape) < 0.05] *= -1
    else:
        d.tensor("input", d.shape(), spread=d.choice(0.5, 2.0, 8.0))
    d.scalar("alpha", d.real(0.0, 2.0))


@makes("HARD_SWISH", odd=["input"])
def hard_swish(d):
    source = d.tensor("input", d.shape(), spread=3.0)
    d.result_at_least(source.scale / d.choice(2, 16, 120))


@makes("DEQUANTIZE", "RANK")
def dequantize(d):
    shape = d.shape()
    if d.types["input"] == T.TENSOR_QUANT8_SYMM_PER_CHANNEL:
        dim = d.int(0, len(shape) - 1)
        scales = tuple(np.float32(2.0 ** d.rng.uniform(-8, 0, shape[dim])).tolist())
        d.put("input", d.values(d.types["input"], shape), channels=(dim, scales))
    else:
        d.tensor("input", shape)


def pair(d, first, second, most=4, **second_values):
    """Draw two inputs that broadcast; returns them."""
    shape = d.shape(1, most)
    kind = d.int(0, 3)
    other = shape
    if kind == 1:
        other = tuple(1 if d.chance(0.5) else size for size in shape)
    elif kind == 2:
        other = shape[d.int(0, len(shape) - 1):]
    elif kind == 3:
        other = (shape[-1],) if d.chance(0.5) else (1,)
    if kind == 1 and d.chance(0.3):
        shape = tuple(1 if d.chance(0.3) and size > 1 else size for size in shape)
    if d.chance(0.4) and d.op.name != "PRELU":
        shape, other = other, shape
    a = d.tensor(first, shape)
    b = d.tensor(second, other, constant=None if d.chance(0.6) else False, **second_values)
    return a, b


@makes("ADD", "SUB", "MUL", "DIV", odd=["input0", "input1"])
def arithmetic(d):
    values = {"low": 1, "high": 50} if d.op.name == "DIV" and d.types["input0"] == T.TENSOR_INT32 else {}
    a, b = pair(d, "input0", "input1", **values)
    if values:
        b.array[d.rng.random(b.array.shape) < 0.5] *= -1
    d.activation()
    if d.op.name == "MUL":
        d.result_at_least(float(np.float32(a.scale) * np.float32(b.scale)))


@makes("EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL", "MAXIMUM", "MINIMUM", "LOGICAL_AND",
       "LOGICAL_OR", odd=["x", "y"])
def compare(d):
    a, b = pair(d, "x", "y", most=5)
    if d.chance(0.5) and a.array.dtype.kind == "f":
        # Few different values, so that some are equal.
        a.array[...] = np.round(a.array)
        b.array[...] = np.round(b.array)


@makes("POW", odd=["base", "exponent"])
def power(d):
    pair(d, "base", "exponent")
    base = d.given["base"][0]
    if d.chance(0.8):
        base.array[...] = np.abs(base.array) + np.asarray(0.1, base.array.dtype)


@makes("PRELU", odd=["input", "alpha"])
def prelu(d):
    if d.chance(0.3):
        a, b = d.tensor("input", d.shape()), d.tensor("alpha", (1,))
    else:
        a, b = pair(d, "input", "alpha")
    d.result_at_least(a.scale * max(b.scale, 1.0))


@makes("SELECT", odd=["x", "y"])
def select(d):
    shape = d.shape()
    d.tensor("condition", shape, constant=False)
    x = d.tensor("x", shape, constant=False)
    d.tensor("y", shape, (x.scale, x.zero_point))
    if x.type in QUANT_RANGE:
        d.result(0, x.scale, x.zero_point)
