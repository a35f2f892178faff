"""Operators that become operations of nnfast's own: their numbers, their place in a model, refusals of several."""

import numpy as np
import pytest

import nnfast
from helpers.tflite.file_builder import Op, Tensor, build
from helpers.tflite.running import One
from nnfast.compiler.resolve import resolve
from nnfast.errors import UnsupportedOperator
from nnfast.model.own import NAME
from nnfast.tflite import load

X = np.array([-2.5, -0.5, 0.0, 0.5, 1.5, 3.0], np.float32)


@pytest.mark.parametrize("kind, expected", [
    ("COS", np.cos(X.astype(np.float64)).astype(np.float32)), ("ROUND", np.rint(X)), ("SIGN", np.sign(X)),
])
def test_unary(kind, expected):
    (result,) = One(kind, [X], [((6,), "float32")]).run()
    assert result.dtype == np.float32 and result.tolist() == expected.tolist()


def test_gelu_both_ways():
    exact, = One("GELU", [X], [((6,), "float32")], "GeluOptions", {"Approximate": False}).run()
    close, = One("GELU", [X], [((6,), "float32")], "GeluOptions", {"Approximate": True}).run()
    assert exact[-1] == pytest.approx(2.9959502, abs=1e-6) and close[-1] == pytest.approx(2.9963627, abs=1e-6)


def test_the_model_names_the_extension_and_explain_the_operation():
    one = One("COS", [X], [((6,), "float32")])
    model = one.model()
    assert model.extensions[0][0] == NAME
    assert one.codes() == ["TFL_COS"]
    assert "TFL_COS" in str(nnfast.Device().prepare(model).explain())


def test_the_hal_does_not_offer_it():
    hal = nnfast.hal.v1_3.Device(nnfast.Device())
    assert hal.getSupportedExtensions()[1] == []


def test_models_of_the_standard_name_no_extension():
    assert One("ABS", [X], [((6,), "float32")]).model().extensions == ()


def test_types_of_our_own_at_the_border():
    data = build([Tensor("x", (2,), "int64"), Tensor("y", (2,), "int64")], [Op("SIGN", ["x"], ["y"])], ["x"], ["y"])
    prepared = nnfast.Device().prepare(load(data))
    assert prepared.inputs[0].dtype == np.int64
    assert prepared.run([np.array([-5, 1 << 40])])[0].tolist() == [-1, 1]


def test_a_cache_keeps_them(tmp_path):
    model = One("COS", [X], [((6,), "float32")]).model()
    for _ in range(2):
        prepared = nnfast.Device().prepare(model, cache_dir=str(tmp_path))
        assert prepared.run([X])[0][2] == 1


def test_all_refusals_at_once():
    tensors = [Tensor(name, (2,)) for name in "xyzw"]
    ops = [Op("SKIP_GRAM", ["x"], ["y"]), Op("COS", ["y"], ["z"]), Op("MyOp", ["z"], ["w"])]
    with pytest.raises(UnsupportedOperator) as caught:
        load(build(tensors, ops, ["x"], ["w"]))
    error = caught.value
    assert (error.operator, error.index, [index for _, index, _ in error.others]) == ("SKIP_GRAM", 0, [2])
    assert "operator[0] SKIP_GRAM" in str(error) and "operator[2] CUSTOM 'MyOp'" in str(error)


def test_resolved_operations_are_definitions():
    (operation,) = resolve(One("COS", [X], [((6,), "float32")]).model(), {}).main.operations
    assert operation.type.op.name == "TFL_COS"
