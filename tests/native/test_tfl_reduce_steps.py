"""Native forms of TFLite's reductions and running sums against their numpy definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.lowered import check_all_ways, make, run_native_all
from helpers.nodes import flag, operand, out
from nnfast._native.reduction import ReduceNumbers
from nnfast.ops import tfl_reduce

KINDS = {"I32": np.int32, "I64": np.int64, "I16": np.int16, "I8": np.int8, "U8": np.uint8}
SHAPES = st.lists(st.sampled_from([1, 2, 3, 5, 40]), min_size=1, max_size=5).map(tuple)


def integers(kind, shape, random):
    limits = np.iinfo(KINDS[kind])
    return random.integers(limits.min, limits.max, shape, endpoint=True, dtype=KINDS[kind])


def reduction(name, kind, shape, axes, keep=False):
    inputs = [operand(kind, shape=shape), operand("I32", np.int32(axes)), flag(keep)]
    return make(getattr(tfl_reduce, f"TFL_{name}"), inputs, out(kind))


def side_by_side(data, shape):
    first = data.draw(st.integers(0, len(shape) - 1))
    return list(range(first, data.draw(st.integers(first, len(shape) - 1)) + 1))


@pytest.fixture(autouse=True)
def quiet():
    """References run without warnings, as in a driver."""
    with np.errstate(all="ignore"):
        yield


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["SUM", "MEAN", "REDUCE_PROD", "REDUCE_MAX", "REDUCE_MIN"])
@given(shape=SHAPES, data=st.data(), seed=st.integers(0, 99))
@settings(max_examples=15)
def test_integers(name, kind, shape, data, seed):
    x = integers(kind, shape, np.random.default_rng(seed))
    if name == "MEAN":
        x = x // 64 if kind == "I64" else x  # the reference sums up in int64
    check_all_ways(reduction(name, kind, shape, side_by_side(data, shape), data.draw(st.booleans())), [x])


@pytest.mark.parametrize("name", ["REDUCE_MAX", "REDUCE_MIN"])
@given(shape=SHAPES, data=st.data(), seed=st.integers(0, 99))
@settings(max_examples=20)
def test_extremes_of_floats(name, shape, data, seed):
    x = np.random.default_rng(seed).choice(np.float32([0, 1, -2, np.inf, -np.inf, np.nan, 3e38]), shape)
    check_all_ways(reduction(name, "F32", shape, side_by_side(data, shape)), [x])


@pytest.mark.parametrize("name", ["SUM", "MEAN"])
@given(shape=SHAPES.filter(lambda shape: len(shape) <= 4), data=st.data(), seed=st.integers(0, 99))
@settings(max_examples=20)
def test_sums_of_floats(name, shape, data, seed):
    axes = data.draw(st.lists(st.integers(0, len(shape) - 1), min_size=1, unique=True))
    x = np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32)
    check_all_ways(reduction(name, "F32", shape, axes), [x], rtol=1e-5, atol=1e-4)


@given(shape=SHAPES, data=st.data(), seed=st.integers(0, 99))
@settings(max_examples=20)
def test_products_of_floats(shape, data, seed):
    x = np.random.default_rng(seed).uniform(0.9, 1.1, shape).astype(np.float32)
    check_all_ways(reduction("REDUCE_PROD", "F32", shape, side_by_side(data, shape)), [x], rtol=1e-3)


@pytest.mark.parametrize("name", ["SUM", "REDUCE_PROD", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_ANY", "REDUCE_ALL"])
@given(shape=SHAPES, data=st.data(), seed=st.integers(0, 99))
@settings(max_examples=15)
def test_booleans(name, shape, data, seed):
    """The reference computes numpy's booleans, the step their bytes."""
    x = (np.random.default_rng(seed).random(shape) < 0.7)
    node = reduction(name, "B8", shape, side_by_side(data, shape))
    (found,), _ = run_native_all(node, [x.view(np.uint8)])
    assert np.array_equal(found, node.op.compute(node, [x, None, None])[0])


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("kind", ["F32", *KINDS])
@given(shape=SHAPES, data=st.data(), seed=st.integers(0, 99))
@settings(max_examples=15)
def test_running_sums(kind, exclusive, reverse, shape, data, seed):
    random = np.random.default_rng(seed)
    x = random.uniform(-1, 1, shape).astype(np.float32) if kind == "F32" else integers(kind, shape, random)
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    inputs = [operand(kind, shape=shape), operand("i32", axis), flag(exclusive), flag(reverse)]
    check_all_ways(make(tfl_reduce.TFL_CUMSUM, inputs, out(kind)), [x])


@pytest.mark.parametrize("rows", [1, 3, 4, 5, 8])
@pytest.mark.parametrize("axis", [0, 1])
def test_running_sums_of_odd_floats(axis, rows):
    x = np.random.default_rng(rows).choice(np.float32([-0.0, 0.0, 1.5, -2, 1e30, np.inf, np.nan]), (rows, 6))
    x[-1, :2] = -0.0
    for exclusive, first in ((False, x.take([0], axis)), (True, np.zeros_like(x.take([0], axis)))):
        inputs = [operand("F32", shape=x.shape), operand("i32", axis), flag(exclusive), flag(False)]
        node = make(tfl_reduce.TFL_CUMSUM, inputs, out("F32"))
        check_all_ways(node, [x])
        (found,), _ = run_native_all(node, [x])
        assert np.array_equal(np.signbit(found.take([0], axis)), np.signbit(first))


@pytest.mark.parametrize("kind, shape, axes, why", [
    ("F64", (3, 4), [1], "no native kernel for float64 of shape [3, 4], 1 axes"),
    ("I32", (3, 0), [1], "no native kernel for int32 of shape [3, 0], 1 axes"),
    ("I32", (3, 4, 5), [0, 2], "axes [0, 2] of 3 have others between them")])
def test_what_stays_with_numpy(kind, shape, axes, why):
    found, reason = run_native_all(reduction("SUM", kind, shape, axes), [None])
    assert found is None and reason == why


def test_bad_steps_are_refused():
    for op, dtype, n in (("sum", "int32", 0), ("mean", "float32", 3)):
        with pytest.raises(ValueError, match="must be of at least 1, and a mean of integers"):
            ReduceNumbers((0, 1), op, dtype, 1, n, 1)
