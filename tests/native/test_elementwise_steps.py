"""Element-wise steps against numpy: all broadcasts, every level, any number of threads."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.steps import at_level, every_level, is_fastest, run_all_ways
from nnfast._native.elementwise import BinaryBytes, BinaryF32, BinaryQ8, TflBinary, collapse, obstacle
from nnfast.model.quant import mbqm, rdbpot, srdhm
from nnfast.ops.power import power

OPERATIONS = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "prelu": lambda a, b: np.where(a >= 0, a, a * b),
}
RANGES = {False: (np.uint8, 0, 255), True: (np.int8, -128, 127)}


@st.composite
def shapes(draw):
    """Two shapes that broadcast, with a dimension of 0 now and then."""
    full = draw(st.lists(st.sampled_from([0, 1, 2, 3, 5, 8, 17, 33]), min_size=0, max_size=4))
    first = [1 if draw(st.booleans()) and draw(st.booleans()) else size for size in full]
    second = [1 if draw(st.booleans()) and draw(st.booleans()) else size for size in full]
    cut = draw(st.integers(0, len(full)))
    return (tuple(first), tuple(second[cut:])) if draw(st.booleans()) else (tuple(second[cut:]), tuple(first))


@every_level
@pytest.mark.parametrize("op", OPERATIONS)
@given(shapes=shapes(), clamp=st.sampled_from([(-np.inf, np.inf), (0, np.inf), (-1, 1)]), seed=st.integers(0, 99))
@settings(max_examples=40)
def test_float_equals_numpy(op, level, shapes, clamp, seed):
    random = np.random.default_rng(seed)
    a, b = (random.normal(size=shape).astype(np.float32) for shape in shapes)
    wanted = np.clip(OPERATIONS[op](a, b), *np.float32(clamp)).astype(np.float32)
    (found,) = run_all_ways(lambda: [BinaryF32((0, 1, 2), op, *shapes, *clamp)], [a, b], [(wanted.shape, np.float32)],
                            level)
    assert np.array_equal(found, wanted)


SHORT = [((1500, 3), (3,)), ((3,), (1500, 3)), ((9, 1500, 2), (9, 1, 2)), ((1200, 5), (1200, 1)), ((1, 63), (70, 1)),
         ((2, 1, 40, 1, 2), (1, 3, 40, 5, 2)), ((4, 1, 3), (4, 2, 1)), ((90, 64), (90, 1)), ((90, 1), (90, 300)),
         ((2, 3, 767), (1, 3, 1)), ((3, 1), (3, 768))]


@every_level
@pytest.mark.parametrize("shapes", SHORT)
def test_short_rows_are_taken_together(shapes, level):
    """More of them than a step gathers at once, for items of 1, 2, 4 and 8 bytes."""
    random = np.random.default_rng(5)
    a, b = (random.normal(size=shape).astype(np.float32) for shape in shapes)
    wanted = a - b
    (found,) = run_all_ways(lambda: [BinaryF32((0, 1, 2), "sub", *shapes)], [a, b], [(wanted.shape, np.float32)], level)
    assert np.array_equal(found, wanted)
    for dtype in ("int16", "int64"):
        words = [random.integers(-30000, 30000, shape).astype(dtype) for shape in shapes]
        (found,) = run_all_ways(lambda dtype=dtype: [TflBinary((0, 1, 2), "sub", dtype, *shapes)], words,
                                [(wanted.shape, dtype)], level)
        assert np.array_equal(found, words[0] - words[1])
    codes = [random.integers(-128, 128, shape).astype(np.int8) for shape in shapes]
    by = (3, -5, 7), ((1 << 30, 0), (-1234567890, 1), (1357924680, 18)), (-128, 127)
    sides = [rdbpot(srdhm(x.astype(np.int64) - zero << 20, m), s) for x, zero, (m, s) in zip(codes, *by[:2])]
    wanted = np.clip(rdbpot(srdhm(sum(sides), by[1][2][0]), 18) + 7, -128, 127).astype(np.int8)
    (found,) = run_all_ways(lambda: [BinaryQ8((0, 1, 2), "add", True, *shapes, *by)], codes, [(wanted.shape, np.int8)],
                            level)
    assert np.array_equal(found, wanted)
    wanted = np.maximum(*codes)
    (found,) = run_all_ways(lambda: [BinaryBytes((0, 1, 2), "max", "qs8", *shapes)], codes, [(wanted.shape, np.int8)],
                            level)
    assert np.array_equal(found, wanted)


def test_nan_survives_the_clamp():
    for value in (np.nan, -np.nan):
        a = np.array([value, 1, 9], np.float32)
        (found,) = run_all_ways(lambda: [BinaryF32((0, 1, 2), "add", (3,), (), 0, 6)], [a, np.zeros((), np.float32)],
                                [((3,), np.float32)], None)
        assert np.array_equal(found, [np.nan, 1, 6], equal_nan=True)


@every_level
@pytest.mark.parametrize("is_signed", [False, True])
@given(shapes=shapes(), op=st.sampled_from(["add", "sub", "mul"]), data=st.data())
@settings(max_examples=60)
def test_codes_equal_the_fixed_point_definition(is_signed, level, shapes, op, data):
    dtype, low, high = RANGES[is_signed]
    random = np.random.default_rng(data.draw(st.integers(0, 999)))
    zeros = [data.draw(st.integers(low, high)) for _ in range(3)]
    scales = [(int(random.integers(1 << 30, 1 << 31)), data.draw(st.integers(0, 20))) for _ in range(3)]
    clamp = (data.draw(st.sampled_from([low, zeros[2]])), high)
    a, b = (random.integers(low, high + 1, shape).astype(dtype) for shape in shapes)
    wide_a, wide_b = a.astype(np.int64) - zeros[0], b.astype(np.int64) - zeros[1]
    if op == "mul":
        scales = scales[2:]
        value = wide_a * wide_b
    else:
        if op == "sub":
            scales[1] = (-scales[1][0], scales[1][1])
        value = sum(rdbpot(srdhm(wide << 20, m), s) for wide, (m, s) in zip((wide_a, wide_b), scales))
    wanted = np.clip(rdbpot(srdhm(value, scales[-1][0]), scales[-1][1]) + zeros[2], *clamp).astype(dtype)
    name = "add" if op == "sub" else op
    (found,) = run_all_ways(lambda: [BinaryQ8((0, 1, 2), name, is_signed, *shapes, zeros, scales, clamp)],
                            [a, b], [(wanted.shape, dtype)], level)
    assert np.array_equal(found, wanted)


@every_level
@pytest.mark.parametrize("is_signed", [False, True])
@given(shapes=shapes(), data=st.data())
@settings(max_examples=60)
def test_prelu_codes_equal_the_fixed_point_definition(is_signed, level, shapes, data):
    dtype, low, high = RANGES[is_signed]
    random = np.random.default_rng(data.draw(st.integers(0, 999)))
    zeros = [data.draw(st.integers(low, high)) for _ in range(3)]
    scales = [(int(random.integers(1 << 30, 1 << 31)), data.draw(st.integers(-31, 31))) for _ in range(2)]
    a, b = (random.integers(low, high + 1, shape).astype(dtype) for shape in shapes)
    wide_a, wide_b = a.astype(np.int64) - zeros[0], b.astype(np.int64) - zeros[1]
    sides = [mbqm(x, multiplier, -shift) for x, (multiplier, shift) in zip((wide_a, wide_a * wide_b), scales)]
    wanted = np.clip(np.where(wide_a >= 0, *sides) + zeros[2], low, high).astype(dtype)
    (found,) = run_all_ways(lambda: [BinaryQ8((0, 1, 2), "prelu", is_signed, *shapes, zeros, scales, (low, high))],
                            [a, b], [(wanted.shape, dtype)], level)
    assert np.array_equal(found, wanted)


def test_a_root_of_minus_infinity_is_what_ieee_says():
    bases = np.array([-np.inf, -0.0, 0.0, 4.0, -4.0, np.nan])
    for exponent in (np.float64(0.5), np.array([0.5]), np.full(6, 0.5)):
        found = power(bases, exponent)
        np.testing.assert_array_equal(found, [np.inf, 0, 0, 2, np.nan, np.nan])
        assert not np.signbit(found[1])


@every_level
@given(shapes=shapes(), spread=st.sampled_from([1, 8, 200]), whole=st.booleans(), seed=st.integers(0, 999))
@settings(max_examples=40)
def test_powers_are_rounded_once(level, shapes, spread, whole, seed):
    random = np.random.default_rng(seed)
    a, b = (random.uniform(-spread, spread, shape).astype(np.float32) for shape in shapes)
    odd = np.float32([0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 0.5, -3, 2**24 + 2])
    for x in (a, b):
        x[...] = np.where(random.random(x.shape) < 0.3, random.choice(odd, x.shape), np.rint(x) if whole else x)
    with np.errstate(all="ignore"):
        wanted = power(a, b).astype(np.float32)
    (found,) = run_all_ways(lambda: [BinaryF32((0, 1, 2), "pow", *shapes)], [a, b], [(wanted.shape, np.float32)], level)
    np.testing.assert_array_max_ulp(np.nan_to_num(found), np.nan_to_num(wanted), 1)
    assert np.array_equal(np.isnan(found), np.isnan(wanted))


@every_level
def test_two_threads_share_long_rows(level):
    a = np.arange(100_003, dtype=np.float32)
    (found,) = run_all_ways(lambda: [BinaryF32((0, 1, 2), "mul", a.shape, (1,))], [a, np.float32([3])],
                            [(a.shape, np.float32)], level)
    assert np.array_equal(found, a * 3)


@every_level
def test_step_names_its_kernel(level):
    with at_level(level):
        step = BinaryF32((0, 1, 2), "add", (4,), (4,))
        assert step.kernel.startswith("nnf_add_f32_flat__") and is_fastest(step.kernel)


def test_shift_out_of_range_is_refused():
    with pytest.raises(ValueError, match="shift is 32"):
        BinaryQ8((0, 1, 2), "mul", False, (4,), (4,), (0, 0, 0), [(1 << 30, 32)], (0, 255))


@pytest.mark.parametrize("a, b, dims", [
    ((1, 7, 7, 24), (1, 7, 7, 24), [(1176, True, True)]),
    ((1, 7, 7, 24), (24,), [(49, True, False), (24, True, True)]),
    ((1, 7, 7, 24), (), [(1176, True, False)]),
    ((2, 1, 3), (1, 5, 1), [(2, True, False), (5, False, True), (3, True, False)]),
    ((1, 1), (1,), [(1, True, True)]),
])
def test_collapse(a, b, dims):
    assert collapse(a, b) == dims


def test_what_no_step_walks():
    wide, comb = (2, 1) * 5, (1, 2) * 5
    assert obstacle(wide[:8], comb[:8]) is None
    assert obstacle((2,) * 40, (2,) * 40) is None
    assert obstacle(wide, comb) == "broadcast repeats 10 dimensions in turn, native up to 8"
    with pytest.raises(ValueError, match="native up to 8"):
        BinaryF32((0, 1, 2), "add", wide, comb)
