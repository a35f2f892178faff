"""Models written as `.tflite` files: what is read again computes the same, here and in LiteRT."""


import numpy as np
import pytest

import nnfast
from helpers import litert_models
from nnfast import InvalidArgument, ModelBuilder, UnsupportedOperator
from nnfast.tflite import export

F32 = np.float32
RUN = """
import sys, numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType
i = Interpreter(sys.argv[1], experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
i.allocate_tensors()
i.set_tensor(i.get_input_details()[0]["index"], np.load(sys.argv[2]))
i.invoke()
np.save(sys.argv[3], i.get_tensor(i.get_output_details()[0]["index"]))
"""


def small(padding):
    """Convolution, depthwise convolution, pools, arithmetic, layers and a softmax, in one chain on [1, 8, 8, 3]."""
    generator = np.random.default_rng(7)
    kind = "TENSOR_FLOAT32"
    b = ModelBuilder("small")

    def temporary(*shape):
        return b.operand(kind, shape)

    def weights(*shape):
        return b.constant((generator.normal(size=shape) / 3).astype(F32))

    def scalars(*values):
        return [b.scalar(value) for value in values]

    pads = {"explicit": scalars(1, 1, 1, 1), "same": scalars(1), "valid": scalars(2)}[padding]
    side = 6 if padding == "valid" else 8
    x, h, d = b.input(kind, (1, 8, 8, 3), name="x"), temporary(1, side, side, 4), temporary(1, side // 2, side // 2, 8)
    b.operation("CONV_2D", [x, weights(4, 3, 3, 3), weights(4), *pads, *scalars(1, 1, 1)], [h])
    b.operation("DEPTHWISE_CONV_2D", [h, weights(1, 2, 2, 8), weights(8), *scalars(2, 2, 2, 2, 3)], [d])
    p = temporary(1, 1, 1, 8)
    b.operation("AVERAGE_POOL_2D", [d, *scalars(0, 0, 0, 0, 1, 1, side // 2, side // 2, 0)], [p])
    flat, dense, both = temporary(1, 8), temporary(1, 5), temporary(1, 10)
    b.operation("RESHAPE", [p, b.constant(np.array([1, 8], np.int32))], [flat])
    b.operation("FULLY_CONNECTED", [flat, weights(5, 8), weights(5), *scalars(0)], [dense])
    t, m = temporary(1, 5), temporary(1, 5)
    b.operation("TANH", [dense], [t])
    b.operation("MUL", [dense, t, *scalars(0)], [m])
    b.operation("CONCATENATION", [t, m, *scalars(1)], [both])
    y = b.output(kind, (1, 10), name="y")
    b.operation("SOFTMAX", [both, b.scalar(F32(1.5))], [y])
    return b.build()


def again(model, tmp_path):
    """(results of the model, of the file that is read again, of LiteRT or None) on one input."""
    data = nnfast.to_tflite(model)
    device = nnfast.Device(num_threads=1)
    first, second = device.prepare(model), device.prepare(nnfast.load(data))
    info = first.inputs[0]
    x = np.random.default_rng(3).normal(size=info.shape).astype(F32)
    x = info.quantize(x) if info.is_quantized else x
    theirs = None
    if litert_models.litert_python():
        for name, content in (("m.tflite", data), ("run.py", RUN.encode())):
            (tmp_path / name).write_bytes(content)
        np.save(tmp_path / "x.npy", x)
        litert_models.run_litert(*(tmp_path / name for name in ("run.py", "m.tflite", "x.npy", "y.npy")))
        theirs = np.load(tmp_path / "y.npy")
    assert [i.name for i in second.inputs] == [i.name for i in first.inputs]
    return first.run([x])[0], second.run([x])[0], theirs


@pytest.mark.parametrize("padding", ["explicit", "same", "valid"])
def test_a_float_model(padding, tmp_path):
    first, second, theirs = again(small(padding), tmp_path)
    np.testing.assert_allclose(second, first, rtol=1e-6)
    if theirs is not None:
        np.testing.assert_allclose(theirs, first, rtol=1e-5)


@pytest.mark.parametrize("kind", ["MAXIMUM", "MINIMUM"])
def test_of_a_number_and_a_nan_the_same_is_taken(kind, tmp_path):
    """NNAPI's first operand is TFLite's second."""
    b = ModelBuilder()
    x, y = b.input("TENSOR_FLOAT32", (3,), name="x"), b.output("TENSOR_FLOAT32", (3,), name="y")
    b.operation(kind, [b.constant(F32([np.nan] * 3)), x], [y])
    for result in again(b.build(), tmp_path):
        assert result is None or np.isnan(result).all()


@pytest.mark.parametrize("name", ["digits_float32", "digits_int8"])
def test_a_file_that_was_read(name, tmp_path):
    first, second, theirs = again(nnfast.load(litert_models.DATA / f"{name}.tflite"), tmp_path)
    np.testing.assert_array_equal(second, first)
    if theirs is not None:
        np.testing.assert_allclose(theirs, first, rtol=1e-5, atol=1e-6)


def test_open_dimensions_stay_open():
    b = ModelBuilder()
    b.operation("RELU", [b.input("TENSOR_FLOAT32", (0, 4), name="x")], [b.output("TENSOR_FLOAT32", (0, 4), name="y")])
    prepared = nnfast.Device(num_threads=1).prepare(nnfast.load(nnfast.to_tflite(b.build())))
    assert prepared.inputs[0].shape == (None, 4)
    assert prepared.run([-np.ones((3, 4), F32)])[0].tolist() == [[0] * 4] * 3


def test_all_operations_without_a_form_are_told():
    b = ModelBuilder()
    x, h = b.input("TENSOR_FLOAT32", (1, 4, 4, 2), name="x"), b.operand("TENSOR_FLOAT32", (1, 5, 4, 2))
    pads = [b.scalar(v) for v in (0, 0, 1, 0)]
    ones = [b.scalar(1) for _ in range(4)]
    b.operation("MAX_POOL_2D", [x, *pads, *ones[:2], *ones[:2], b.scalar(0)], [h])
    b.operation("CHANNEL_SHUFFLE", [h, b.scalar(2), b.scalar(3)], [b.output("TENSOR_FLOAT32", (1, 5, 4, 2))])
    model = b.build()
    with pytest.raises(UnsupportedOperator, match=r"MAX_POOL_2D: pads by \(1, 0\) in height") as caught:
        nnfast.to_tflite(model)
    assert caught.value.others == (("CHANNEL_SHUFFLE", 1, "is not written to .tflite files"),)


def test_the_documents_list_what_is_written():
    text = (litert_models.DATA.parents[1] / "docs" / "models.md").read_text()
    names = text.split("among")[1].split("with constant")[0]
    assert set(names.replace("\n", " ").replace(" ", "").split(",")) == {
        *export.PLAIN, *export.RENAMED, *(code.name for code in (*export._FORMS, *export._RECURRENT)), "IF", "WHILE"}


def test_what_is_no_model():
    with pytest.raises(InvalidArgument, match="must be an nnfast.Model"):
        nnfast.to_tflite("m.tflite")
