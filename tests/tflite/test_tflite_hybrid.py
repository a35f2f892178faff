"""BATCH_MATMUL and EMBEDDING_LOOKUP of floats and int8 constants, against formulas written out here."""

import numpy as np
import pytest

import nnfast
from helpers.tflite.networks import Net
from helpers.tflite.running import Const, One

RANDOM = np.random.default_rng(15)


def codes(*shape):
    return RANDOM.integers(-127, 128, shape).astype(np.int8)


def matmul(x, y, shape, scales=0.01, **fields):
    one = One("BATCH_MATMUL", [x, Const(y)], [(shape, "float32")], "BatchMatMulOptions", fields, {"i1": (0.01, 0)})
    if isinstance(scales, list):
        tensors, *rest = one.parts()
        tensors[1].scale, tensors[1].dim = scales, 1
        one.parts = lambda: (tensors, *rest)
    return one


@pytest.mark.parametrize("is_asymmetric", [False, True])
@pytest.mark.parametrize(("adj_x", "adj_y"), [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize(("first", "second"), [((4, 7), (7, 5)), ((3, 4, 7), (7, 5)), ((3, 4, 7), (3, 7, 5)),
                                               ((1, 4, 7), (3, 7, 5))])
def test_batch_matmul_is_near_the_float_one(first, second, adj_x, adj_y, is_asymmetric):
    x, y = RANDOM.normal(0, 1, first).astype(np.float32), codes(*second)
    wanted = x @ (y * 0.01)
    x = np.ascontiguousarray(x.swapaxes(-1, -2)) if adj_x else x
    y = np.ascontiguousarray(y.swapaxes(-1, -2)) if adj_y else y
    one = matmul(x, y, wanted.shape, AdjX=adj_x, AdjY=adj_y, AsymmetricQuantizeInputs=is_asymmetric)
    np.testing.assert_allclose(one.run()[0], wanted, atol=0.06)


def test_batch_matmul_with_scales_for_columns():
    x, y, scales = RANDOM.normal(0, 1, (4, 7)).astype(np.float32), codes(7, 5), RANDOM.uniform(0.01, 0.02, 5)
    np.testing.assert_allclose(matmul(x, y, (4, 5), scales.tolist()).run()[0], x @ (y * scales), atol=0.1)


@pytest.mark.parametrize("scales", [0.01, [0.01, 0.02, 0.005, 0.03]])
@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize(("stride", "activation"), [(1, 0), (2, 1)])
def test_transpose_conv_is_near_the_float_one(stride, activation, is_known, scales):
    """Each image in steps of its own: the second is a hundred times as large."""
    x, w = RANDOM.normal(0, 1, (2, 5, 4, 3)).astype(np.float32), codes(4, 3, 3, 3)
    x[1] *= 100
    bias, shape = RANDOM.normal(0, 1, 4).astype(np.float32), np.int32([2, 4 * stride + 3, 3 * stride + 3, 4])
    one = One("TRANSPOSE_CONV", [Const(shape) if is_known else shape, Const(w), x, Const(bias)],
              [(tuple(shape), "float32")], "TransposeConvOptions",
              {"Padding": 1, "StrideW": stride, "StrideH": stride, "FusedActivationFunction": activation})
    tensors, *rest = one.parts()
    tensors[1].scale, tensors[1].zero_point, tensors[1].dim = scales, 0, 0
    one.parts = lambda: (tensors, *rest)
    real = w * np.reshape(scales, (-1, 1, 1, 1))
    wanted = np.zeros(shape)
    for i, j, r, c in np.ndindex(5, 4, 3, 3):
        wanted[:, i * stride + r, j * stride + c] += x[:, i, j] @ real[:, r, c].T
    wanted = np.maximum(wanted + bias, 0) if activation else wanted + bias
    result = one.run()[0]
    for k, size in enumerate((1, 100)):
        np.testing.assert_allclose(result[k], wanted[k], atol=0.3 * size)


@pytest.mark.parametrize("shape", [(5, 6), (5, 6, 2)])
def test_embedding_lookup(shape):
    places, values = np.int32([1, 3, 0, 1]), codes(*shape)
    wanted = values[places].astype(np.float32) * np.float32(0.013)
    for stored in (values, values.view(np.uint8)):
        one = One("EMBEDDING_LOOKUP", [places, Const(stored)], [(wanted.shape, "float32")], quants={"i1": (0.013, 0)})
        np.testing.assert_array_equal(one.run()[0], wanted)


def test_embedding_lookup_with_scales_for_rows():
    places, values, scales = np.int32([1, 3, 0, 1]), codes(5, 6), RANDOM.uniform(0.01, 0.02, 5).astype(np.float32)
    one = One("EMBEDDING_LOOKUP", [places, Const(values)], [((4, 6), "float32")], quants={"i1": (0.013, 0)})
    tensors, *rest = one.parts()
    tensors[1].scale = scales.tolist()
    one.parts = lambda: (tensors, *rest)
    np.testing.assert_array_equal(one.run()[0], values[places].astype(np.float32) * scales[places][:, None])


def test_embedding_lookup_beyond_the_rows():
    one = One("EMBEDDING_LOOKUP", [np.int32([1, 5]), Const(codes(5, 6))], [((2, 6), "float32")],
              quants={"i1": (0.013, 0)})
    with pytest.raises(nnfast.Error, match="must be in"):
        one.run()


@pytest.mark.parametrize("batch", [1, 3])
def test_operators_of_one_input_quantize_it_once(batch):
    """Where they want the same rows of it; a tensor of other rows has codes of its own."""
    net = Net("hybrid")
    x = net.input(batch, 5, 32)
    names = [net.dense(x, 24), net.dense(x, 40), net.dense(net.reshape(x, batch * 5, 32), 16), net.dense(x, 8)]
    file = net.file(*names)
    values = RANDOM.normal(0, 1, (batch, 5, 32)).astype(np.float32)
    prepared = nnfast.Device().prepare(nnfast.load(file))
    kernels = [row["kernel"] for row in prepared.explain().rows if "FULLY" in row["operation"]]
    assert ["quantize_row" in kernel for kernel in kernels] == [True, False, True, False]
    defined = nnfast.Device(without_passes=["native_kernels"]).prepare(nnfast.load(file))
    for found, wanted in zip(prepared.run([values]), defined.run([values]), strict=True):
        np.testing.assert_array_equal(found, wanted)
