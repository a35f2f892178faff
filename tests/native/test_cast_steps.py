"""Casts between types of numbers, and places of any type, natively: what their numpy definitions give."""

import numpy as np
import pytest

from helpers.lowered import check_all_ways, make, run_native_all
from helpers.nodes import T, ints, operand, out
from nnfast._native.elementwise import Cast
from nnfast.model.own import BY_NAME as TYPES
from nnfast.ops.base import Tensor
from nnfast.ops.own import BY_NAME

SOURCES = {"uint8": TYPES["TENSOR_UINT8"], "bool": T.TENSOR_BOOL8, "int8": TYPES["TENSOR_INT8"],
           "int16": TYPES["TENSOR_INT16"], "int32": T.TENSOR_INT32, "int64": TYPES["TENSOR_INT64"],
           "float32": T.TENSOR_FLOAT32}
NUMBERS = np.array([0, 1, 2, 3, 100, 127, -1, -2, -100, -128, 127.9, -127.9, 0.4, -0.4])


def values(kind):
    dtype = Tensor(0, SOURCES[kind], ()).dtype
    x = NUMBERS if dtype.kind == "f" else np.trunc(NUMBERS)
    if kind == "bool":
        return (np.arange(14) % 2).astype(dtype)
    return (np.abs(x) if dtype.kind == "u" else x).astype(dtype)


@pytest.mark.parametrize("target", ["int8", "int16", "int32", "int64", "float32", "bool"])
@pytest.mark.parametrize("source", list(SOURCES))
def test_cast(source, target):
    x = values(source)
    node = make(BY_NAME["TFL_CAST"].op, [Tensor(0, SOURCES[source], x.shape)], Tensor(0, SOURCES[target], None))
    check_all_ways(node, [x])


@pytest.mark.parametrize("target", ["uint8", "int8", "int16"])
@pytest.mark.parametrize("source", ["uint8", "int8", "int16", "int32", "int64"])
def test_integers_wrap(source, target):
    info = np.iinfo(source)
    x = np.arange(max(info.min, -400), min(info.max, 400) + 1).astype(source)
    x = np.append(x, np.array([info.min, info.max, info.max // 3], source))
    node = make(BY_NAME["TFL_CAST"].op, [Tensor(0, SOURCES[source], x.shape)], Tensor(0, SOURCES[target], None))
    check_all_ways(node, [x])


@pytest.mark.parametrize("source, target", [("uint8", "int8"), ("int8", "uint8"), ("int16", "uint16"),
                                            ("uint32", "int32"), ("int64", "uint64"), ("uint64", "int64")])
def test_integers_of_one_size_keep_their_bytes(source, target):
    x = np.array([0, 1, np.iinfo(source).max, np.iinfo(source).min], source)
    first, second = (operand(TYPES[f"TENSOR_{name.upper()}"] if name != "int32" else T.TENSOR_INT32, shape=x.shape)
                     for name in (source, target))
    node = make(BY_NAME["TFL_CAST"].op, [first], second)
    check_all_ways(node, [x])
    _, steps = run_native_all(node, [x])
    assert [step.kernel for step in steps] == ["copy"]


@pytest.mark.parametrize("target", ["uint8", "int8", "int16", "int32", "int64"])
def test_floats_beyond_the_integers(target):
    x = np.tile(np.float32([1e20, -1e20, np.inf, -np.inf, np.nan, 3e9, -3e9, 2.0**31, 2147483520, -2.0**31, 2.0**63,
                            -2.0**63, 255.9, 256, -0.9, 9.2e18, 7, 127.9, 128, -128.9, -129, 32767.9, 32768, -32768.9,
                            -32769]), 5)
    node = make(BY_NAME["TFL_CAST"].op, [Tensor(0, SOURCES["float32"], x.shape)], Tensor(0, SOURCES[target], None))
    check_all_ways(node, [x])
    low, high = np.iinfo(target).min, np.iinfo(target).max
    wanted = [high if v != v else int(min(max(v, low), high)) for v in x.astype(object)]
    assert node.op.compute(node, [x])[0].tolist() == wanted


WIDE = [0.0, 0.5, -0.5, 254.5, 255.5, 256.0, -1.0, 3e9, -3e9, 2.0**31, -2.0**31, np.nan, np.inf, -np.inf]


@pytest.mark.parametrize("target", [T.TENSOR_INT32, T.TENSOR_QUANT8_ASYMM, T.TENSOR_FLOAT32])
@pytest.mark.parametrize("source", [T.TENSOR_FLOAT32, T.TENSOR_INT32, T.TENSOR_QUANT8_ASYMM])
def test_casts_of_the_standard_stay_in_range(source, target):
    data = {T.TENSOR_FLOAT32: np.tile(np.float32(WIDE), 5), T.TENSOR_QUANT8_ASYMM: np.arange(256).astype(np.uint8),
            T.TENSOR_INT32: np.tile(np.int32([0, 255, 256, -1, 2**31 - 1, -2**31, 16777217]), 11)}[source]
    scale = 0.5 if source == T.TENSOR_QUANT8_ASYMM else 0.0
    node = make("CAST", [operand(source, shape=data.shape, scale=scale)], out(target, *((0.25, 0) if target ==
                T.TENSOR_QUANT8_ASYMM else ())))
    check_all_ways(node, [data])


def test_many_numbers_for_several_threads():
    x = np.random.default_rng(1).integers(-1000, 1000, 100_001).astype(np.int32)
    check_all_ways(make("CAST", [operand(T.TENSOR_INT32, shape=x.shape)], out()), [x])


@pytest.mark.parametrize("target, clamp", [("float32", True), ("int64", True), ("uint16", False)])
def test_targets_that_are_none(target, clamp):
    with pytest.raises(ValueError, match=f"no (cast|clamp) to {target}"):
        Cast((0, 1), 3, "int32", target, clamp)


@pytest.mark.parametrize("name", ["TFL_ARG_MAX", "TFL_ARG_MIN"])
@pytest.mark.parametrize("kind", ["float32", "int32", "int8", "uint8"])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_places(name, kind, axis):
    shape = (3, 5, 7)
    x = np.random.default_rng(2).integers(0, 4, shape).astype(Tensor(0, SOURCES[kind], ()).dtype)
    if kind == "float32":
        x[0, :2], x[:, 3, 2] = np.nan, np.nan
    for target in ("int32", "int64"):
        node = make(BY_NAME[name].op, [Tensor(0, SOURCES[kind], shape), *ints(axis)], Tensor(0, SOURCES[target], None))
        check_all_ways(node, [x])
