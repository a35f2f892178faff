"""CAST and QUANTIZE of what their results cannot hold: the native and the defining implementation give LiteRT's."""

import numpy as np
import pytest

import nnfast
from helpers.litert_models import litert_outputs
from helpers.tflite.file_builder import Op, Tensor, build
from nnfast.tflite import load

REALS = np.array([np.nan, np.inf, -np.inf, 3e9, -3e9, 300.7, -300.7, 255.5, -0.9, -1.5, 7.9, -8.9] * 3, np.float32)
INTEGERS = np.array([0, 1, -1, 255, 256, 300, -300, 127, 128, -129, 2**31 - 1, -(2**31)] * 3, np.int32)


def results(folder, x, target, name="CAST", scale=None, zero_point=0):
    """What both implementations give, which must be the same, and LiteRT where it is installed."""
    data = build([Tensor("x", x.shape, str(x.dtype)), Tensor("y", x.shape, target, None, scale, zero_point)],
                 [Op(name, ["x"], ["y"])], ["x"], ["y"])
    devices = nnfast.Device(), nnfast.Device(without_passes=["native_kernels"])
    found = [device.prepare(load(data)).run([x])[0] for device in devices]
    np.testing.assert_array_equal(*found)
    theirs = litert_outputs(folder, data, [[x]])
    if theirs is not None:
        np.testing.assert_array_equal(found[0], theirs[0][0])
    return found[0]


@pytest.mark.parametrize("source", ["float32", "float16"])
@pytest.mark.parametrize(("target", "scale"), [("int32", None), ("uint8", None), ("uint8", 0.5), ("int8", None),
                                               ("int64", None)])
def test_floats_stay_within_the_integers_and_nan_is_the_highest(source, target, scale, tmp_path):
    with np.errstate(over="ignore"):
        x = REALS.astype(source)
    limits = np.iinfo(target)
    wanted = [limits.max if not v < limits.max else limits.min if v <= limits.min else int(v) for v in x.tolist()]
    assert results(tmp_path, x, target, scale=scale).tolist() == wanted


@pytest.mark.parametrize("scale", [None, 0.5])
def test_integers_wrap(scale, tmp_path):
    assert results(tmp_path, INTEGERS, "uint8", scale=scale).tolist() == (INTEGERS & 255).tolist()


def test_with_the_arithmetic_of_nnapi_codes_are_cut_off():
    data = build([Tensor("x", (4,)), Tensor("y", (4,), "int32")], [Op("CAST", ["x"], ["y"])], ["x"], ["y"])
    found, = nnfast.Device().prepare(load(data, arithmetic="nnapi")).run([np.float32([np.nan, np.inf, -np.inf, -1.5])])
    assert found.tolist() == [0, 2**31 - 1, -(2**31), -1]


def test_cast_to_4_bits(tmp_path):
    assert results(tmp_path, REALS[:12], "int4").tolist() == [7, 7, -8, 7, -8, 7, -8, 7, 0, -1, 7, -8]


def test_quantize_to_4_bits(tmp_path):
    x = np.float32([0, 0.3, -0.3, 1.4, 4, -1.5, -1.6, 100, -100, 0.24])
    wanted = [2, 3, 1, 7, 7, -4, -4, 7, -8, 3]
    assert results(tmp_path, x, "int4", "QUANTIZE", 0.25, 2).tolist() == wanted
