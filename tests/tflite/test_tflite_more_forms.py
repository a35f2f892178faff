"""Forms of operators that other files of the format have: quantizations that kernels ignore, ranks above 4, old types.

Numbers follow from formulas written out here; where LiteRT is installed, its reference kernels must give the same.
"""

import numpy as np
import pytest

import nnfast
from helpers.litert_models import litert_outputs
from helpers.tflite.running import Const, One

RANDOM = np.random.default_rng(41)
LOW = {"int8": -128, "uint8": 0, "int16": -32768}


def codes(kind, *shape):
    return RANDOM.integers(np.iinfo(kind).min, np.iinfo(kind).max + 1, shape).astype(kind)


def ints(*values):
    return Const(np.array(values, np.int32))


def checked(one, folder, wanted):
    """The only output, which LiteRT gives too; wanted: what it must be."""
    (found,) = one.run()
    np.testing.assert_array_equal(found, wanted)
    assert found.dtype == wanted.dtype
    theirs = litert_outputs(folder, one.file(), [[x for x in one.inputs if isinstance(x, np.ndarray)]])
    if theirs is not None:
        np.testing.assert_array_equal(found, theirs[0][0])


# -- quantizations ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["int8", "uint8"])
@pytest.mark.parametrize(("name", "activation"), [("MAX_POOL_2D", 0), ("MAX_POOL_2D", 3), ("AVERAGE_POOL_2D", 0),
                                                  ("AVERAGE_POOL_2D", 1)])
def test_pools_keep_codes_whatever_the_output_declares(kind, name, activation, tmp_path):
    """The activation's bounds are those of the output."""
    x, zero = codes(kind, 1, 4, 6, 3), LOW[kind] + 128
    one = One(name, [x], [((1, 2, 3, 3), kind)], "Pool2DOptions",
              {"Padding": 1, "StrideW": 2, "StrideH": 2, "FilterWidth": 2, "FilterHeight": 2,
               "FusedActivationFunction": activation}, quants={"i0": (0.05, zero + 3), "o0": (0.25, zero - 7)})
    parts = x.reshape(1, 2, 2, 3, 2, 3).astype(int)
    if name[0] == "M":
        wanted = parts.max((2, 4))
    else:
        mean = parts.sum((2, 4)) / 4
        wanted = np.sign(mean) * np.floor(np.abs(mean) + 0.5)
    if activation:
        wanted = np.clip(wanted, zero - 7, zero - 7 + 24 if activation == 3 else None)
    checked(one, tmp_path, wanted.astype(kind))


def test_pools_into_another_quantization_stay_refused_for_a_phone():
    one = One("MAX_POOL_2D", [codes("int8", 1, 4, 4, 1)], [((1, 2, 2, 1), "int8")], "Pool2DOptions",
              {"Padding": 1, "StrideW": 2, "StrideH": 2, "FilterWidth": 2, "FilterHeight": 2},
              quants={"i0": (0.05, 3), "o0": (0.25, 3)})
    with pytest.raises(nnfast.UnsupportedOperator, match="MAX_POOL_2D"):
        nnfast.load(one.file(), arithmetic="nnapi")


@pytest.mark.parametrize("kind", ["int8", "int16"])
@pytest.mark.parametrize(("axes", "keeps"), [((1,), False), ((0, 2), True), ((0, 1, 2), False)])
def test_sum_of_signed_codes(kind, axes, keeps):
    """LiteRT's reference kernel reads them as bytes without a sign; its default kernels are within a step of these."""
    x, zero = codes(kind, 3, 4, 5), 0 if kind == "int16" else -9
    wanted = (x.astype(int) - zero).sum(axes, keepdims=keeps) * (0.25 / 2) + (4 if zero else 0)
    one = One("SUM", [x, ints(*axes)], [(wanted.shape, kind)], "ReducerOptions", {"KeepDims": keeps},
              {"i0": (0.25, zero), "o0": (2.0, 4 if zero else 0)})
    found = one.run()[0].reshape(wanted.shape)
    assert np.abs(found - np.clip(wanted, np.iinfo(kind).min, np.iinfo(kind).max)).max() < 0.8


def test_concatenation_keeps_int16_codes(tmp_path):
    x, y = codes("int16", 2, 3), codes("int16", 2, 2)
    one = One("CONCATENATION", [x, y], [((2, 5), "int16")], "ConcatenationOptions", {"Axis": -1},
              {"i0": (0.5, 0), "i1": (0.25, 0), "o0": (0.125, 0)})
    checked(one, tmp_path, np.concatenate([x, y], 1))


@pytest.mark.parametrize("kind", ["int8", "int16", "uint8"])
def test_quantize_into_the_same_quantization(kind, tmp_path):
    x = codes(kind, 2, 1, 3, 1, 4)
    checked(One("QUANTIZE", [x], [(x.shape, kind)], quants=dict.fromkeys(("i0", "o0"), (0.5, 0))), tmp_path, x)


def test_products_of_codes_as_integers(tmp_path):
    """Zero points do not count."""
    x, y = codes("int8", 2, 3, 4), codes("int8", 1, 5, 4)
    one = One("BATCH_MATMUL", [x, y], [((2, 3, 5), "int32")], "BatchMatMulOptions", {"AdjY": True},
              {"i0": (0.5, 3), "i1": (0.25, -7)})
    checked(one, tmp_path, x.astype(np.int32) @ y.astype(np.int32).swapaxes(1, 2))


def test_convolution_with_int8_weights_in_a_uint8_tensor(tmp_path):
    """Files of 2018 have these, as those of FULLY_CONNECTED."""
    x = RANDOM.normal(0, 1, (1, 5, 6, 3)).astype(np.float32)
    w = np.clip(codes("int8", 4, 3, 3, 3), -127, 127)
    bias = Const(RANDOM.normal(0, 1, 4).astype(np.float32))
    old, new = (One("CONV_2D", [x, Const(weights), bias], [((1, 3, 4, 4), "float32")], "Conv2DOptions",
                    {"Padding": 1, "StrideW": 1, "StrideH": 1}, {"i1": (0.01, zero)})
                for weights, zero in ((w.view(np.uint8), 128), (w, 0)))
    wanted = new.run()[0]
    np.testing.assert_array_equal(old.run()[0], wanted)
    for one in (old, new):
        theirs = litert_outputs(tmp_path, one.file(), [[x]])
        if theirs is not None:
            np.testing.assert_allclose(wanted, theirs[0][0], rtol=1e-5, atol=1e-6)


# -- ranks -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("kind", "zero"), [("int8", 3), ("uint8", 131), ("float16", None)])
def test_dequantize_of_rank_5(kind, zero, tmp_path):
    x = RANDOM.normal(0, 1, (2, 1, 3, 2, 4)).astype(kind) if zero is None else codes(kind, 2, 1, 3, 2, 4)
    wanted = x.astype(np.float32) if zero is None else (x.astype(np.int32) - zero) * np.float32(0.05)
    one = One("DEQUANTIZE", [x], [(x.shape, "float32")], quants={"i0": (0.05, zero)} if zero is not None else {})
    checked(one, tmp_path, wanted.astype(np.float32))


def test_constant_of_rank_5_as_a_result(tmp_path):
    x = codes("int8", 2, 1, 3, 2, 4)
    one = One("DEQUANTIZE", [Const(x), ], [(x.shape, "float32")], quants={"i0": (0.5, 3)})
    checked(one, tmp_path, ((x.astype(int) - 3) * 0.5).astype(np.float32))


@pytest.mark.parametrize("axis", [0, 2, 4])
def test_gather_one_row_of_rank_5(axis, tmp_path):
    x = RANDOM.normal(0, 1, (3, 2, 4, 2, 5)).astype(np.float32)
    wanted = np.take(x, 1, axis)
    checked(One("GATHER", [x, Const(np.array(1, np.int32))], [(wanted.shape, "float32")], "GatherOptions",
                {"Axis": axis}), tmp_path, wanted)


@pytest.mark.parametrize("axis", [0, 2, -1])
def test_concatenation_of_rank_5_scales_uint8(axis, tmp_path):
    """As of rank 2: codes of the output's quantization stay, the others are scaled."""
    shape = [2, 1, 3, 2, 4]
    x, y = codes("uint8", *shape), codes("uint8", *shape)
    scaled = np.clip(np.floor((y.astype(int) - 120) * 0.6 + 0.5) + 131, 0, 255)
    wanted = np.concatenate([x, scaled], axis).astype(np.uint8)
    one = One("CONCATENATION", [x, y], [(wanted.shape, "uint8")], "ConcatenationOptions", {"Axis": axis},
              {"i0": (0.5, 131), "i1": (0.3, 120), "o0": (0.5, 131)})
    checked(one, tmp_path, wanted)


@pytest.mark.parametrize(("name", "function"), [("ADD", np.add), ("SUB", np.subtract), ("MUL", np.multiply)])
def test_five_groups_of_dimensions_that_broadcast(name, function, tmp_path):
    x, y = codes("int8", 2, 1, 3, 1, 4), codes("int8", 1, 2, 1, 3, 1)
    real = function((x.astype(int) - 3) * 0.05, (y.astype(int) + 7) * 0.03) / 0.11 + 11
    one = One(name, [x, y], [(real.shape, "int8")], f"{name.capitalize()}Options",
              quants={"i0": (0.05, 3), "i1": (0.03, -7), "o0": (0.11, 11)})
    (found,) = one.run()
    assert np.abs(found - np.clip(real, -128, 127)).max() < 0.51
    checked(one, tmp_path, found)
