"""Functions of one operand against numpy at every level."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nnfast
from helpers.steps import every_level, run_all_ways
from nnfast._native.elementwise import ClampF32, EluF32, LookupQ8, UnaryF32

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


def test_short_table_is_refused():
    with pytest.raises(ValueError, match="table has 255 entries"):
        LookupQ8((0, 1), 4, np.zeros(255, np.uint8))
