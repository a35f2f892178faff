"""Constants of 4 bits: int8 with the same scales, float32 where scales are those of blocks."""

from types import SimpleNamespace

import numpy as np
import pytest

import nnfast
from helpers.shared import SHARED
from helpers.tflite.file_builder import Op, Tensor, build
from nnfast.tflite import load
from nnfast.tflite.narrow import products, real, widened
from nnfast.tflite.reader import ModelFile
from nnfast.tflite.schema import Builtin, TensorType

BLOCKS = SHARED / "real" / "ops" / "LiteRT_qwen_fc_blockwise_quantized.tflite"
RNG = np.random.default_rng(6)
CODES = RNG.integers(-8, 8, (6, 10)).astype(np.int8)


def packed(codes):
    """Two codes in a byte, the first in its lower half."""
    halves = codes.reshape(-1).view(np.uint8) & 15
    return halves[::2] | halves[1::2] << 4


@pytest.mark.parametrize("scale", [0.125, [0.1 * k for k in range(1, 7)]])
@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_int4_weights_compute_as_int8_ones(dtype, scale):
    quant = {"scale": 0.05, "zero_point": 3} if dtype == "int8" else {}
    after = {"scale": 0.3, "zero_point": -2} if dtype == "int8" else {}
    x = RNG.integers(-128, 128, (2, 10)).astype(dtype)
    results = []
    for kind, data in (("int4", packed(CODES)), ("int8", CODES)):
        points = [0] * 6 if isinstance(scale, list) else 0
        tensors = [Tensor("x", (2, 10), dtype, **quant), Tensor("w", (6, 10), kind, data, scale, points),
                   Tensor("y", (2, 6), dtype, **after)]
        op = Op("FULLY_CONNECTED", ["x", "w"], ["y"], "FullyConnectedOptions")
        results.append(nnfast.Device().prepare(load(build(tensors, [op], ["x"], ["y"]))).run([x])[0].tolist())
    assert results[0] == results[1]


def narrow(codes, size=5, zero_points=-1):
    """A FileTensor of 4 bits in blocks."""
    blocks = SimpleNamespace(scales=1, zero_points=zero_points, block_size=size)
    return SimpleNamespace(dims=codes.shape, data=packed(np.append(codes, codes.reshape(-1)[:codes.size % 2])),
                           blocks=blocks)


def scales(array):
    return SimpleNamespace(index=1, type=TensorType.FLOAT16, dims=array.shape, array=array, data=array)


def test_an_odd_number_of_codes():
    assert widened(narrow(CODES[:3, :5])).tolist() == CODES[:3, :5].tolist()


def test_blocks_are_scaled_each_by_its_own():
    by = RNG.random((6, 2)).astype(np.float16)
    assert real(narrow(CODES), scales(by)).tolist() == (CODES * np.repeat(by.astype(np.float32), 5, 1)).tolist()


@pytest.mark.parametrize("t, by, reason", [
    (narrow(CODES, 3), np.ones((6, 2), np.float16), "do not divide"),
    (narrow(CODES, 0), np.ones((6, 2), np.float16), "do not divide"),
    (narrow(CODES), np.ones((6, 3), np.float16), "constant float scales"),
    (narrow(CODES, 5, 4), np.ones((6, 2), np.float16), "zero points"),
])
def test_damaged_blocks(t, by, reason):
    with pytest.raises(ValueError, match=reason):
        real(t, scales(by))


@pytest.mark.skipif(not BLOCKS.is_file(), reason=f"no {BLOCKS.name} (NNFAST_SHARED)")
def test_a_network_with_blocks_runs():
    prepared = nnfast.Device().prepare(nnfast.load(BLOCKS))
    (row,) = [row for row in prepared.explain().rows if row["operation"] == "TFL_BLOCKWISE_FULLY_CONNECTED"]
    assert "blockwise" in row["kernel"]
    (y,) = prepared.run([np.ones(prepared.inputs[0].shape, np.float32)])
    weights, scales = ModelFile(BLOCKS).graph(0).tensors[1::2]
    wanted = real(weights, scales).astype(np.float64).sum(1)
    np.testing.assert_allclose(y, wanted[None, None], atol=2e-5 * abs(wanted).max())    # codes of 255, exactly 1


@pytest.mark.parametrize("change, is_kept", [
    (lambda op, tensors: None, True),
    (lambda op, tensors: vars(op).update(code=Builtin.ADD), False),
    (lambda op, tensors: vars(op).update(inputs=(1, 1)), False),
    (lambda op, tensors: vars(op.options).update(weights_format=1), False),
    (lambda op, tensors: vars(tensors[0]).update(type=TensorType.INT8), False),
    (lambda op, tensors: vars(tensors[2]).update(type=TensorType.INT8), False),
    (lambda op, tensors: vars(tensors[1].blocks).update(block_size=4), False),
    (lambda op, tensors: vars(tensors[1]).update(blocks=None), False),
])
def test_weights_that_stay_in_blocks(change, is_kept):
    tensors = [SimpleNamespace(index=k, type=TensorType.FLOAT32, dims=(2, 16), data=None, is_sparse=False, blocks=None)
               for k in range(3)]
    vars(tensors[1]).update(type=TensorType.INT4, data=b"1234567812345678", blocks=SimpleNamespace(block_size=8))
    op = SimpleNamespace(code=Builtin.FULLY_CONNECTED, inputs=(0, 1, -1), outputs=(2,),
                         options=SimpleNamespace(weights_format=0))
    change(op, tensors)
    assert products(tensors, [op], [2]) == ({1} if is_kept else set())
    assert products(tensors, [op], [1, 2]) == set()
