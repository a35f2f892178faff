"""Whose integers a model from a file computes: LiteRT's reference kernels, or the standard where that is asked for."""

import numpy as np
import pytest

import nnfast
from helpers.litert_models import litert_outputs
from helpers.tflite.file_builder import Op, Tensor, build
from helpers.tflite.running import Const, One
from nnfast.model.quant import mbqm, quantize_multiplier

RANDOM = np.random.default_rng(5)


def both(one):
    """(codes with LiteRT's arithmetic, with the standard's) of a file of one operator."""
    return [nnfast.Device(num_threads=1).prepare(nnfast.load(one.file(), arithmetic=name))
            .run([one.inputs[0]])[0] for name in ("litert", "nnapi")]


def scale(value):
    """A scale as files hold it, widened."""
    return float(np.float32(value))


@pytest.mark.parametrize("kind", ["int8", "uint8"])
@pytest.mark.parametrize("units", [300, 1])
@pytest.mark.parametrize("rows", [1, 4, 37])
def test_fully_connected_rounds_once(kind, units, rows):
    low, high = np.iinfo(kind).min, np.iinfo(kind).max
    x, weights = (RANDOM.integers(low, high + 1, shape).astype(kind) for shape in ((rows, 40), (units, 40)))
    bias, point = RANDOM.integers(-9999, 9999, units).astype(np.int32), 0 if kind == "int8" else 119
    quants = {"i0": (0.031, 5), "i1": (0.0073, point), "i2": (0.031 * 0.0073, 0), "o0": (0.11, 3)}
    got, standard = both(One("FULLY_CONNECTED", [x, Const(weights), Const(bias)], [((rows, units), kind)],
                             "FullyConnectedOptions", {}, quants))
    sums = (x.astype(np.int64) - 5) @ (weights.astype(np.int64) - point).T + bias
    real = sums * (scale(0.031) * scale(0.0073) / scale(0.11))
    wanted = np.sign(real) * np.floor(np.abs(real) + 0.5) + 3
    np.testing.assert_array_equal(got, np.clip(wanted, low, high))
    assert np.abs(got.astype(int) - standard).max() <= 1


@pytest.mark.parametrize("kind", ["int8", "uint8"])
@pytest.mark.parametrize("axes", [[1, 2], [3], [0, 1, 2, 3]])
def test_mean_rounds_the_sum_of_real_values(kind, axes):
    low, high = np.iinfo(kind).min, np.iinfo(kind).max
    x = RANDOM.integers(low, high + 1, (2, 5, 7, 33)).astype(kind)
    shape = tuple(1 if k in axes else d for k, d in enumerate(x.shape))
    got, standard = both(One("MEAN", [x, Const(np.int32(axes))], [(shape, kind)], "ReducerOptions", {"KeepDims": True},
                             {"*": (0.02, 7)}))
    count = x.size // np.prod(shape)
    multiplier, exponent = quantize_multiplier(1.0)
    shift = int(count).bit_length() - 1
    total = x.sum(axis=tuple(axes), dtype=np.int64, keepdims=True) - 7 * count
    wanted = mbqm(total, (multiplier << shift) // int(count), exponent - shift) + 7
    np.testing.assert_array_equal(got, np.clip(wanted, low, high))
    np.testing.assert_array_equal(standard, np.trunc(x.mean(axis=tuple(axes), keepdims=True)))


UNITS = (*(2.0**k for k in range(-30, 7)), 0.0117, 0.0235294122, 0.05, 0.3, 1.7, 1e30)
FIXED = {"LOGISTIC": (1 / 256, -128), "TANH": (1 / 128, 0)}
"""Outputs of int8 codes that the standard has."""


def curve32(kind, x):
    """LOGISTIC or TANH of float32 numbers, each step rounded to float32."""
    if kind == "TANH":
        return np.tanh(x.astype(np.float64)).astype(np.float32)
    with np.errstate(over="ignore"):
        return np.float32(1) / (np.float32(1) + np.exp(-x.astype(np.float64)).astype(np.float32))


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("kind", FIXED)
@pytest.mark.parametrize("other", [None, (1 / 256, 9), (1 / 256, -31)])
def test_curves_are_tables_of_float32(kind, dtype, other, tmp_path):
    """One file with an operator for each scale and zero point; LiteRT takes no other scale for LOGISTIC."""
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    x, middle = np.arange(low, high + 1).astype(dtype), low + 128
    quants = [(unit, zero) for unit in UNITS for zero in (middle, low, high, middle - 41)]
    scale, zero = other or FIXED[kind]
    target = scale, zero + middle
    names = [(f"x{k}", f"y{k}") for k in range(len(quants))]
    tensors = [t for pair, quant in zip(names, quants) for t in (
        Tensor(pair[0], x.shape, dtype, None, *quant), Tensor(pair[1], x.shape, dtype, None, *target))]
    data = build(tensors, [Op(kind, [a], [b]) for a, b in names], *map(list, zip(*names)))
    results = nnfast.Device(num_threads=1).prepare(nnfast.load(data)).run([x] * len(quants))
    for (unit, zero), got in zip(quants, results, strict=True):
        real = curve32(kind, np.float32(unit) * (x.astype(np.int32) - zero).astype(np.float32)) / np.float32(target[0])
        wanted = np.sign(real) * np.floor(np.abs(real.astype(np.float64)) + 0.5) + target[1]
        np.testing.assert_array_equal(got, np.clip(wanted, low, high), f"scale {unit}, zero point {zero}")
    theirs = litert_outputs(tmp_path, data, [[x] * len(quants)])
    if theirs is not None:
        np.testing.assert_array_equal(results, theirs[0])


@pytest.mark.parametrize(("kind", "unit", "code", "codes"), [
    ("LOGISTIC", 1 / 256, 2, (0, 1)), ("LOGISTIC", 1 / 128, -1, (0, -1)), ("LOGISTIC", 2.0, -3, (-127, -128)),
    ("LOGISTIC", 4.0, -1, (-123, -128)), ("LOGISTIC", 4.0, 1, (123, 127)), ("LOGISTIC", 8.0, 0, (0, -128)),
    ("TANH", 1 / 512, -2, (0, -1)), ("TANH", 1 / 256, 1, (0, 1)), ("TANH", 8.0, 0, (0, -128)),
    ("LOGISTIC", 0.05, 20, (59, 59)), ("TANH", 0.05, 20, (97, 97))])
def test_curves_where_the_two_differ(kind, unit, code, codes):
    x = np.int8([code])
    got = both(One(kind, [x], [(x.shape, "int8")], quants={"i0": (unit, 0), "o0": FIXED[kind]}))
    assert [y.item() for y in got] == list(codes)


def test_explain_and_refusal():
    one = One("MEAN", [np.zeros((1, 4), np.int8), Const(np.int32([1]))], [((1,), "int8")], "ReducerOptions", {},
              {"*": (0.5, 0)})
    model = nnfast.load(one.file())
    assert model.arithmetic == "litert"
    assert "integers of LiteRT's reference kernels" in str(nnfast.Device().prepare(model).explain())
    with pytest.raises(nnfast.InvalidArgument, match="arithmetic is 'tf', must be nnapi or litert"):
        nnfast.load(one.file(), arithmetic="tf")


def test_cache_files_keep_the_arithmetic(tmp_path):
    one = One("MEAN", [RANDOM.integers(-128, 128, (1, 9, 8)).astype(np.int8), Const(np.int32([1]))],
              [((1, 8), "int8")], "ReducerOptions", {}, {"*": (0.5, 3)})
    wanted, results = both(one), []
    for name in ("litert", "nnapi") * 2:
        prepared = nnfast.Device().prepare(nnfast.load(one.file(), arithmetic=name), cache_dir=str(tmp_path))
        results.append(prepared.run([one.inputs[0]])[0])
    np.testing.assert_array_equal(results, wanted * 2)
