"""Functions of one operand against numpy at every level."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nnfast
from helpers.steps import at_level, every_level, run, run_all_ways
from nnfast._native.elementwise import ClampF32, EluF32, LookupQ8, UnaryF32
from nnfast.model.quant import mbqm, quantize_multiplier

CURVES = {
    "logistic": lambda x: np.where(x >= 0, 1, np.exp(-np.abs(x))) / (1 + np.exp(-np.abs(x))),
    "tanh": np.tanh,
    "hard_swish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "silu": lambda x: x * np.where(x >= 0, 1, np.exp(-np.abs(x))) / (1 + np.exp(-np.abs(x))),
    "log": np.log,
    "sin": np.sin,
    "cos": np.cos,
}
COUNTS = st.sampled_from([1, 7, 8, 15, 16, 17, 33, 100, 9001])


@every_level
@pytest.mark.parametrize("name", ["logistic", "tanh", "silu", "log", "sin", "cos"])
@given(count=COUNTS, spread=st.sampled_from([1e-3, 1, 10, 80]), seed=st.integers(0, 99))
@settings(max_examples=25)
def test_curves_within_three_units(name, level, count, spread, seed):
    x = np.random.default_rng(seed).uniform(-spread, spread, count).astype(np.float32)
    (found,) = run_all_ways(lambda: [UnaryF32((0, 1), name, count)], [x], [((count,), np.float32)], level)
    with np.errstate(invalid="ignore"):
        wanted = CURVES[name](x.astype(np.float64))
    is_number = ~np.isnan(wanted)
    assert np.array_equal(is_number, ~np.isnan(found))
    found, wanted = found[is_number], wanted[is_number]
    assert np.all(np.abs(found - wanted) <= 3 * np.finfo(np.float32).eps * np.abs(wanted) + 1e-44)


NEXT = [np.nextafter(np.float32(k * np.pi / 2), np.float32(to)) for k in range(1, 5300) for to in (0, 9e3)]


@every_level
@pytest.mark.parametrize(("name", "values"), [
    ("sin", NEXT), ("cos", NEXT), ("sin", np.linspace(8000, 8400, 4001)), ("cos", np.linspace(-8400, -8000, 4001)),
    ("sin", np.geomspace(1e-44, 1e-3, 999)), ("cos", np.geomspace(1e-44, 1e38, 999)),
    ("log", np.geomspace(1e-44, 3e38, 9999)), ("log", np.linspace(0.6, 1.4, 9999)),
])
def test_curves_keep_their_digits(name, values, level):
    """Near zeros of the results, where parts of an angle cancel, and where another way begins."""
    x = np.float32(values)
    (found,) = run_all_ways(lambda: [UnaryF32((0, 1), name, x.size)], [x], [(x.shape, np.float32)], level)
    wanted = CURVES[name](x.astype(np.float64))
    assert np.all(np.abs(found - wanted) <= 2 * np.spacing(np.abs(wanted).astype(np.float32)))


@every_level
@pytest.mark.parametrize("name", ["logistic", "silu"])
def test_a_logistic_that_would_be_subnormal_is_zero(name, level):
    x = np.linspace(-110, -80, 9001, dtype=np.float32)
    (found,) = run_all_ways(lambda: [UnaryF32((0, 1), name, x.size)], [x], [(x.shape, np.float32)], level)
    is_below, is_near = x < -87.34, np.abs(x + 87.335) < 0.005
    assert is_near.any() and not found[is_below].any()
    np.testing.assert_allclose(found[~is_below & ~is_near], CURVES[name](x[~is_below & ~is_near].astype(np.float64)),
                               rtol=1e-6)


@every_level
@pytest.mark.parametrize("name", CURVES)
def test_curves_at_the_ends(name, level):
    x = np.float32([0, -0.0, 200, -200, 3e38, np.nan, 3, -3])
    (found,) = run_all_ways(lambda: [UnaryF32((0, 1), name, x.size)], [x], [(x.shape, np.float32)], level)
    with np.errstate(all="ignore"):
        wanted = CURVES[name](x.astype(np.float64)).astype(np.float32)
    np.testing.assert_allclose(found, wanted, rtol=3e-7)


@every_level
@given(count=COUNTS, seed=st.integers(0, 99))
@settings(max_examples=20)
def test_hard_swish(level, count, seed):
    x = np.random.default_rng(seed).uniform(-5, 5, count).astype(np.float32)
    (found,) = run_all_ways(lambda: [UnaryF32((0, 1), "hard_swish", count)], [x], [((count,), np.float32)], level)
    np.testing.assert_allclose(found, CURVES["hard_swish"](x.astype(np.float64)), rtol=4e-7, atol=1e-6)


@every_level
@given(count=COUNTS, clamp=st.sampled_from([(0, np.inf), (-1, 1), (0, 6)]), seed=st.integers(0, 99))
@settings(max_examples=20)
def test_clamp(level, count, clamp, seed):
    x = np.random.default_rng(seed).uniform(-9, 9, count).astype(np.float32)
    (found,) = run_all_ways(lambda: [ClampF32((0, 1), count, *clamp)], [x], [((count,), np.float32)], level)
    assert np.array_equal(found, np.clip(x, *clamp))


@every_level
@given(count=COUNTS, spread=st.sampled_from([1e-3, 1, 10, 80, 800]), seed=st.integers(0, 99),
       alpha=st.sampled_from([1.0, 0.25, 3.0, 0.0, 1e-30, 1e30]))
@settings(max_examples=40)
def test_elu(level, count, spread, alpha, seed):
    x = np.random.default_rng(seed).uniform(-spread, spread, count).astype(np.float32)
    if count > 16:
        x[:7] = 0, -0.0, np.inf, -np.inf, np.nan, 705, -1e-40
    (found,) = run_all_ways(lambda: [EluF32((0, 1), count, alpha)], [x], [((count,), np.float32)], level)
    wide = x.astype(np.float64)
    with np.errstate(all="ignore"):
        wanted = np.maximum(wide, 0) + np.fmin(np.float32(alpha) * np.expm1(wide), 0)
        np.testing.assert_allclose(found, wanted.astype(np.float32), rtol=4e-7, atol=1e-38)


@pytest.mark.parametrize("alpha", [-0.5, np.inf, np.nan])
def test_odd_alphas_are_left_to_the_reference(alpha):
    b = nnfast.ModelBuilder()
    x, y = b.input("TENSOR_FLOAT32", (3,)), b.output("TENSOR_FLOAT32", (3,))
    prepared = nnfast.Device(1).prepare(b.operation("ELU", [x, b.scalar(alpha)], [y]).build())
    assert f"alpha {alpha:g}" in str(prepared.explain())
    x = np.float32([-2, 0, 1])
    with np.errstate(all="ignore"):
        wanted = np.maximum(x, 0) + np.fmin(np.float64(np.float32(alpha)) * np.expm1(np.float64(x)), 0)
    np.testing.assert_array_equal(prepared.run([x])[0], wanted.astype(np.float32))


@every_level
@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("count", [1, 31, 32, 63, 64, 65, 256, 70_001])
def test_lookup_of_every_byte(dtype, level, count):
    random = np.random.default_rng(count)
    table = random.integers(0, 256, 256).astype(np.uint8)
    x = random.integers(0, 256, count).astype(np.uint8).view(dtype)
    (found,) = run_all_ways(lambda: [LookupQ8((0, 1), count, table)], [x], [((count,), dtype)], level)
    assert np.array_equal(found.view(np.uint8), table[x.view(np.uint8)])


def scaled(random, dtype, bend):
    """A table that scales codes by a quantized multiplier, values below zero by another one where it has a bend."""
    info = np.iinfo(dtype)
    zeros, scale = random.integers(info.min, info.max + 1, 2), 2.0 ** random.uniform(-3, 2)
    slope = random.choice([0.01, 0.1, 0.2, 0.3, random.uniform(0, 2)]) if bend else 1
    x = np.arange(256, dtype=np.uint8).view(dtype).astype(np.int64) - zeros[0]
    above, below = (mbqm(x, *quantize_multiplier(scale * by)) for by in (1, slope))
    return np.clip(np.where(x < 0, below, above) + zeros[1], info.min, info.max).astype(dtype).view(np.uint8)


LINE_LEVELS = "avx2", "avxvnni"


@every_level
@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("bend", [False, True])
def test_tables_along_lines(bend, dtype, level):
    """Scaled codes, which levels without wide permutations compute, all but a few tables of them."""
    random, x, lines = np.random.default_rng(5), np.arange(256, dtype=np.uint8), 0
    with at_level(level):
        for _ in range(300):
            table, y = scaled(random, dtype, bend), np.empty(256, np.uint8)
            step = LookupQ8((0, 1), 256, table)
            lines += "line_qu8" in step.kernel
            run([step], [x, y])
            assert np.array_equal(y, table)
        assert lines >= 285 if level in LINE_LEVELS else lines == 0


@every_level
@pytest.mark.parametrize("bend", [False, True])
@pytest.mark.parametrize("count", [1, 31, 32, 63, 65, 70_001])
def test_counts_along_lines(count, bend, level):
    random = np.random.default_rng(count)
    x, table = random.integers(0, 256, count).astype(np.uint8), scaled(random, np.int8, bend)
    (found,) = run_all_ways(lambda: [LookupQ8((0, 1), count, table)], [x], [((count,), np.uint8)], level)
    assert np.array_equal(found, table[x])


def crooked(near):
    table = near.copy()
    table[70] += 9
    return table


@every_level
@pytest.mark.parametrize("table", [
    np.arange(256)[::-1], np.arange(256) ^ 0x80, np.clip(np.arange(256), 30, 200), np.arange(256) // 7,
    np.clip(60 * (np.arange(256) - 100), 0, 255), np.minimum(np.arange(256) // 8, 20),
])
def test_simple_tables_are_lines(table, level):
    """Of codes that descend, that change sign, that are clamped, steep and flat ones; not if one byte is another."""
    x, y = np.arange(256, dtype=np.uint8), np.empty(256, np.uint8)
    with at_level(level):
        for wanted, is_line in ((np.uint8(table), level in LINE_LEVELS), (crooked(np.uint8(table)), False)):
            step = LookupQ8((0, 1), 256, wanted)
            assert ("line_qu8" in step.kernel) == is_line
            run([step], [x, y])
            assert np.array_equal(y, wanted)


@every_level
@pytest.mark.parametrize("table", [
    256 / (1 + np.exp((128 - np.arange(256)) / 20)), np.arange(256) ** 2 / 255, np.arange(256) % 100,
    np.abs(np.arange(256) - 128), np.repeat([0, 40, 50, 200], 64), np.full(256, 9),
    np.arange(256) // 2 + 5 * (np.arange(256) > 50) + 5 * (np.arange(256) > 150),
])
def test_other_tables_are_looked_up(table, level):
    """Curves, tables that ascend and descend, of steps, of one byte, and a line with two steps."""
    with at_level(level):
        assert "lookup_qu8" in LookupQ8((0, 1), 256, np.uint8(np.minimum(table, 255))).kernel


def test_short_table_is_refused():
    with pytest.raises(ValueError, match="table has 255 entries"):
        LookupQ8((0, 1), 4, np.zeros(255, np.uint8))
