"""Signatures, quantization, any kind of array, closing, and models in files."""


import numpy as np
import pytest

import nnfast
from helpers import models
from nnfast import InvalidArgument, ModelBuilder
from nnfast.model import file


def quantized_model():
    """uint8 x and int8 y, both (1, 4): y = -x in steps of its own."""
    b = ModelBuilder("negated")
    x = b.operand("TENSOR_QUANT8_ASYMM", (1, 4), scale=0.5, zero_point=10, name="x")
    real, back = b.operand("TENSOR_FLOAT32", (1, 4)), b.operand("TENSOR_FLOAT32", (1, 4))
    y = b.operand("TENSOR_QUANT8_ASYMM_SIGNED", (1, 4), scale=0.25, zero_point=-3, name="y")
    b.operation("DEQUANTIZE", [x], [real])
    b.operation("NEG", [real], [back])
    b.operation("QUANTIZE", [back], [y])
    b.inputs(x)
    b.outputs(y)
    return b.build()


@pytest.fixture
def device():
    return nnfast.Device(num_threads=1)


# -- TensorInfo ----------------------------------------------------------------------------------------------------
def test_tensor_info_converts_between_codes_and_numbers(device):
    info, = device.prepare(quantized_model()).inputs
    assert isinstance(info, nnfast.TensorInfo)
    assert (info.scales, info.zero_points, info.axis, info.is_quantized) == ((0.5,), (10,), None, True)
    reals = np.array([0, 1, 0.25, -0.25, 1e9, -1e9, np.inf, np.nan], np.float32)
    codes = info.quantize(reals)
    assert codes.dtype == np.uint8 and codes.tolist() == [10, 12, 11, 9, 255, 0, 255, 255]
    assert info.dequantize(codes[:4]).tolist() == [0, 1, 0.5, -0.5]
    assert info.dequantize([10, 12]).dtype == np.float32


def test_tensor_info_with_a_scale_for_each_channel():
    info = nnfast.TensorInfo("w", (2, 3), np.dtype(np.int8), 11, 0.0, 0, 1, 0, (1.0, 0.5, 0.25))
    assert (info.scales, info.zero_points, info.axis) == ((1.0, 0.5, 0.25), (0, 0, 0), 1)
    assert info.quantize(np.ones((2, 3))).tolist() == [[1, 2, 4]] * 2
    assert info.dequantize(np.ones((2, 3), np.int8)).tolist() == [[1, 0.5, 0.25]] * 2
    with pytest.raises(InvalidArgument, match="along dimension 1, the array has rank 1"):
        info.quantize([1.0])


def test_tensor_info_without_quantization(device):
    info = device.prepare(models.conv_model()).inputs[0]
    assert not info.is_quantized and info.scales == info.zero_points == ()
    with pytest.raises(InvalidArgument, match="without quantization"):
        info.quantize([1.0])


# -- run -----------------------------------------------------------------------------------------------------------
def test_real_numbers_at_both_ends(device):
    prepared = device.prepare(quantized_model())
    x = np.array([[0, 1, 2, -3]], np.float32)
    with pytest.raises(InvalidArgument, match="must be uint8; for real numbers pass quantize=True to run, or"):
        prepared.run([x])
    codes, = prepared.run([x], quantize=True)
    assert codes.dtype == np.int8 and codes.tolist() == [[-3, -7, -11, 9]]
    reals, = prepared.run([x], quantize=True, dequantize=True)
    assert reals.dtype == np.float32 and reals.tolist() == [[0, -1, -2, 3]]
    assert prepared.run({"x": x}, quantize=True, dequantize=True)["y"].tolist() == reals.tolist()
    assert prepared.run([np.full((1, 4), 10, np.uint8)], dequantize=True)[0].tolist() == [[0] * 4]
    with pytest.raises(InvalidArgument, match="leave one out"):
        prepared.run([x], out=[codes], quantize=True, dequantize=True)
    with pytest.raises(InvalidArgument, match="quantize"):
        prepared.run([x], quantize="yes")


class Wrapped:
    """An array behind one protocol alone."""

    def __init__(self, array, protocol):
        self._array = array
        if protocol == "dlpack":
            self.__dlpack_device__ = array.__dlpack_device__

    def __getattr__(self, name):
        raise AttributeError(name)


class WithArray(Wrapped):
    def __array__(self, dtype=None, copy=None):
        return self._array


class WithDLPack(Wrapped):
    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)


@pytest.mark.parametrize("wrap", [
    lambda x: WithArray(x, "array"), lambda x: WithDLPack(x, "dlpack"), memoryview, np.asfortranarray,
    lambda x: np.repeat(x, 2, axis=3)[..., ::2], lambda x: x[:, ::-1, ::-1][:, ::-1, ::-1],
], ids=["__array__", "DLPack", "buffer", "Fortran", "strided", "reversed"])
def test_anything_that_is_an_array(device, wrap):
    prepared = device.prepare(models.conv_model())
    x = np.random.default_rng(1).normal(size=prepared.inputs[0].shape).astype(np.float32)
    expected, = prepared.run([x])
    np.testing.assert_array_equal(prepared.run([wrap(x)])[0], expected)
    np.testing.assert_array_equal(prepared.submit([wrap(x)]).result()[0], expected)
    np.testing.assert_array_equal(prepared.stream().run([wrap(x)])[0], expected)


@pytest.mark.parametrize("value", ["text", b"bytes", 3, object(), [[1.0]]])
def test_what_is_no_array(device, value):
    prepared = device.prepare(models.conv_model())
    with pytest.raises(InvalidArgument, match="run input 'x': is an? .*, must be a numpy array of dtype float32"):
        prepared.run([value])


def test_a_profile_tells_of_copies(device):
    prepared = device.prepare(models.conv_model())
    x = np.zeros(prepared.inputs[0].shape, np.float32)
    with nnfast.profile() as p:
        prepared.run([x])
    assert p.copies == {} and "copied" not in str(p)
    with nnfast.profile() as p:
        prepared.run([np.asfortranarray(x)])
        prepared.run([np.asfortranarray(x)])
    assert p.copies["x"][:2] == (2, 2 * x.nbytes)
    assert "input 'x' is not C-contiguous: copied 2 times" in str(p)


# -- closing -------------------------------------------------------------------------------------------------------
def test_a_closed_model_runs_no_more():
    with nnfast.Device(num_threads=1) as device:
        with device.prepare(models.conv_model()) as prepared:
            x = np.zeros(prepared.inputs[0].shape, np.float32)
            prepared.run([x])
        for call in (lambda: prepared.run([x]), lambda: prepared.stream().run([x]),
                     lambda: prepared.submit([x]).result()):
            with pytest.raises(InvalidArgument, match="is closed; prepare the model again"):
                call()
        prepared.close()
        other = device.prepare(models.conv_model())
        other.run([x])
    with pytest.raises(InvalidArgument, match="is closed"):
        other.run([x])


# -- files ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("make", [models.conv_model, quantized_model])
def test_a_saved_model_is_the_same(device, tmp_path, make):
    model = make()
    model.save(tmp_path / "m.nnapi")
    again = nnfast.load(tmp_path / "m.nnapi")
    assert (again.name, again.main.operations, again.main.inputs) == (model.name, model.main.operations,
                                                                     model.main.inputs)
    first, second = device.prepare(model), device.prepare(again)
    for info in first.inputs:
        x = np.random.default_rng(2).integers(0, 9, info.shape).astype(info.dtype)
        np.testing.assert_array_equal(first.run([x])[0], second.run([x])[0])
    assert nnfast.load((tmp_path / "m.nnapi").read_bytes()).main.operations == model.main.operations
    again.save(tmp_path / "n.nnapi")
    assert (tmp_path / "n.nnapi").read_bytes() == (tmp_path / "m.nnapi").read_bytes()


def test_a_damaged_file_is_one_clear_line(tmp_path):
    quantized_model().save(tmp_path / "m.nnapi")
    good = (tmp_path / "m.nnapi").read_bytes()
    for place in range(len(file.MAGIC), len(good), 7):
        bad = bytearray(good)
        bad[place] ^= 0x55
        with pytest.raises(InvalidArgument, match="^model: (is|has) ") as caught:
            nnfast.load(bytes(bad))
        assert "\n" not in str(caught.value)
    for size in range(len(file.MAGIC), len(good), 11):
        with pytest.raises(InvalidArgument, match="^model: (ends after|has) "):
            nnfast.load(good[:size])


def test_signatures_of_a_bad_file_are_refused(device):
    from dataclasses import replace

    from nnfast.model.types import Signature

    model = replace(quantized_model(), signatures=(Signature("s", (("x", 1),), (("y", 0),)),))
    with pytest.raises(InvalidArgument, match=r"signature 's': 'x' has position 1, must be in \[0, 1\)"):
        device.prepare(model).signature("s")


def test_where_a_file_cannot_be(tmp_path, device):
    with pytest.raises(InvalidArgument, match="cannot be written: No such file or directory"):
        quantized_model().save(tmp_path / "no" / "m.nnapi")
    with pytest.raises(InvalidArgument, match="must be a path"):
        quantized_model().save(5)
    with pytest.raises(InvalidArgument, match="missing.nnapi: cannot be read"):
        nnfast.load(tmp_path / "missing.nnapi")
