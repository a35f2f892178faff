"""Native QUANTIZE and DEQUANTIZE against their numpy definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.lowered import at_each_level, check_all_ways, make, run_native_all
from helpers.nodes import T, operand
from nnfast._native.elementwise import RANGE_BYTES, ROW_BYTES, QuantizeRangesF32, QuantizeRowsF32, RangesF32
from nnfast._native.engine import Frame, Poison, Program

CODES = {T.TENSOR_QUANT8_ASYMM: np.uint8, T.TENSOR_QUANT8_ASYMM_SIGNED: np.int8}
COUNTS = st.sampled_from([0, 1, 7, 8, 9, 16, 17, 100, 40_001])


@pytest.mark.parametrize("type_", CODES)
@given(count=COUNTS, scale=st.sampled_from([1.0, 0.05, 1 / 3, 1e-30, 1e30]), seed=st.integers(0, 99))
@settings(max_examples=25)
def test_quantize(type_, count, scale, seed):
    random, info = np.random.default_rng(seed), np.iinfo(CODES[type_])
    x = (random.uniform(-300, 300, count) * scale).astype(np.float32)
    for special in (np.nan, np.inf, -np.inf, 0.49999997, -0.49999997, 0.5, -0.5, 2.5, -2.5, 3e38, -3e38):
        if count:
            x[random.integers(count)] = special * (scale if abs(special) < 3 else 1)
    node = make("QUANTIZE", [operand(T.TENSOR_FLOAT32, shape=x.shape)],
                operand(type_, scale=scale, zero_point=int(random.integers(info.min, info.max + 1))))
    check_all_ways(node, [x])


def test_halves_go_away_from_zero():
    x = np.arange(-140, 140, dtype=np.float32) + np.float32(0.5)
    node = make("QUANTIZE", [operand(T.TENSOR_FLOAT32, shape=x.shape)],
                operand(T.TENSOR_QUANT8_ASYMM_SIGNED, scale=1.0, zero_point=3))
    check_all_ways(node, [x])


@pytest.mark.parametrize("scale", [1.0, 1 / 3, 0.0513, 0.99999994, 1.9999999, 7e-5, 2.0**-60, 2.0**61, 1e-38, 3e-41,
                                   6e35])
@pytest.mark.parametrize("type_", CODES)
def test_next_to_halves(type_, scale):
    """Floats around each place where the code changes, for scales near the ends of their range too."""
    below = above = np.float32((np.arange(-520, 520) + 0.5) * np.float64(np.float32(scale)))
    near = [below]
    for _ in range(3):
        below, above = np.nextafter(below, np.float32(-np.inf)), np.nextafter(above, np.float32(np.inf))
        near += [below, above]
    x = np.concatenate(near)
    node = make("QUANTIZE", [operand(T.TENSOR_FLOAT32, shape=x.shape)],
                operand(type_, scale=scale, zero_point=int(np.iinfo(CODES[type_]).min) + 100))
    check_all_ways(node, [x])


@pytest.mark.parametrize("type_", [*CODES, T.TENSOR_QUANT8_SYMM])
@given(count=COUNTS, scale=st.sampled_from([1.0, 0.05, 1e37]), seed=st.integers(0, 99))
@settings(max_examples=25)
def test_dequantize(type_, count, scale, seed):
    random, info = np.random.default_rng(seed), np.iinfo(CODES.get(type_, np.int8))
    zero_point = 0 if type_ == T.TENSOR_QUANT8_SYMM else int(random.integers(info.min, info.max + 1))
    x = random.integers(info.min, info.max + 1, count).astype(info.dtype)
    node = make("DEQUANTIZE", [operand(type_, shape=x.shape, scale=scale, zero_point=zero_point)],
                operand(T.TENSOR_FLOAT32))
    check_all_ways(node, [x])


@given(shape=st.lists(st.sampled_from([1, 2, 3, 8, 17, 33]), min_size=1, max_size=4), data=st.data())
@settings(max_examples=40)
def test_dequantize_per_channel(shape, data):
    dim = data.draw(st.integers(0, len(shape) - 1))
    random = np.random.default_rng(data.draw(st.integers(0, 99)))
    x = random.integers(-127, 128, shape).astype(np.int8)
    source = operand(T.TENSOR_QUANT8_SYMM_PER_CHANNEL, shape=tuple(shape), dim=dim,
                    scales=np.float32(random.uniform(0.01, 2, shape[dim])).tolist())
    check_all_ways(make("DEQUANTIZE", [source], operand(T.TENSOR_FLOAT32)), [x])


def test_half_precision_says_why_not():
    for name, source, output in (
        ("QUANTIZE", operand(T.TENSOR_FLOAT16, shape=(2,)), operand(T.TENSOR_QUANT8_ASYMM, scale=1.0)),
        ("DEQUANTIZE", operand(T.TENSOR_QUANT8_ASYMM, shape=(2,), scale=1.0), operand(T.TENSOR_FLOAT16)),
    ):
        found, reason = run_native_all(make(name, [source], output), [np.zeros(2, source.dtype)])
        assert found is None
        assert "TENSOR_FLOAT16" in reason


def quantized(steps, rows, n, x, threads):
    """(codes, what each row says of them) of steps with slots 0 to 3 for x, codes, rows and ranges."""
    codes, made = np.full(rows * n, 0xA5, np.uint8), np.zeros(rows * ROW_BYTES, np.uint8)
    program = Program(steps, Poison((), (), 0x81, threads))
    frame = Frame(4, {}, 0, {}, program.scratch, threads)
    for slot, memory in enumerate((x, codes, made, np.zeros(rows * RANGE_BYTES, np.uint8))):
        frame.bind(slot, memory)
    assert program.run(frame, threads) == ("done", len(steps))
    return codes, made


@pytest.mark.parametrize("is_asymmetric", [False, True])
@pytest.mark.parametrize("special", [None, np.nan, np.inf])
@pytest.mark.parametrize("rows, n", [(1, 1), (1, 100), (2, 1023), (1, 8192), (3, 20_001)])
def test_rows_that_threads_share(rows, n, special, is_asymmetric):
    """Codes and scales are those of whole rows, whichever thread has a row's lowest and highest value."""
    random = np.random.default_rng(n)
    for _ in at_each_level():
        x = random.normal(0, 1, rows * n).astype(np.float32)
        x[random.integers(rows * n, size=2)] = -7, 9
        if special is not None:
            x[random.integers(rows * n)] = special
        wanted = quantized([QuantizeRowsF32((0, 1, 2), rows, n, is_asymmetric)], rows, n, x, 1)
        steps = [RangesF32((0, 3), rows, n), QuantizeRangesF32((0, 3, 1, 2), rows, n, is_asymmetric)]
        for threads in (1, 2, 5, 23):
            for found, expected in zip(quantized(steps, rows, n, x, threads), wanted, strict=True):
                np.testing.assert_array_equal(found, expected)
