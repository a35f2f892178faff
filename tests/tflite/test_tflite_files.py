"""Whole files: operators without translation, names, dynamic dimensions, outputs, buffers."""

from pathlib import Path

import numpy as np
import pytest
import tflite

import nnfast
from helpers.tflite.file_builder import Op, Tensor, build
from helpers.tflite.translated import f32, named, refused, show, translate
from nnfast.errors import InvalidArgument, UnsupportedOperator
from nnfast.model.types import OperandType
from nnfast.tflite import load
from nnfast.tflite.own import EXTENDED
from nnfast.tflite.rules import TRANSLATIONS
from nnfast.tflite.schema import BUILTINS
from nnfast.tflite.translate import AREAS, OWN_AREAS, extension, translation

T = OperandType
RNG = np.random.default_rng(5)


def test_every_builtin_number_is_the_schema_s():
    for name, code in BUILTINS.items():
        assert getattr(tflite.BuiltinOperator, name) == code
    assert translation("no operator") is None and extension("no operator") is None
    assert {code for code in {*TRANSLATIONS, *EXTENDED} if not isinstance(code, str)} == {*BUILTINS.values()}


def test_every_file_of_translations_is_looked_into():
    folder = Path(nnfast.__file__).parent / "tflite"
    files = sorted(path.stem.removeprefix("translate_") for path in folder.glob("translate_*.py"))
    assert sorted(AREAS + OWN_AREAS) == files


def test_relaxed_is_true_or_false():
    with pytest.raises(InvalidArgument, match="relaxed is 'no', must be True or False"):
        load(Path(nnfast.__file__).parent / "data" / "digits_int8.tflite", relaxed="no")


def test_operators_without_translation():
    tensors = [Tensor("x", (2,)), Tensor("m", (2,)), Tensor("y", (2,))]
    ops = [Op("RELU", ["x"], ["m"]), Op("DELEGATE", ["m"], ["y"])]
    error = refused(tensors, ops, ["x"], ["y"], "no translation")
    assert error.index == 1 and str(error).startswith("operator[1] DELEGATE: ")
    with pytest.raises(UnsupportedOperator, match=r"operator\[1\] CUSTOM 'MyOp': is a custom operator"):
        load(build(tensors, [ops[0], Op("MyOp", ["m"], ["y"])], ["x"], ["y"]))


def test_signature_names_and_dynamic_dimensions():
    tensors = [Tensor("x", (1, 3), signature=(-1, 3)), Tensor("m", (1, 3), signature=(-1, 3)), Tensor("y", (1, 3))]
    ops = [Op("RELU", ["x"], ["m"]), Op("RELU6", ["m"], ["y"])]
    model = translate(tensors, ops, ["x"], ["y"], signature=({"x": "image"}, {"y": "scores"}))
    graph = model.main
    assert graph.operands[graph.inputs[0]].name == "image" and graph.operands[graph.inputs[0]].dims == (0, 3)
    assert graph.operands[graph.outputs[0]].name == "scores" and named(model, "m").dims == (0, 3)


def test_dynamic_batch_through_kept_dimensions():
    tensors = [Tensor("x", (1, 2, 6)), Tensor.of("w", f32(5, 6)), Tensor("y", (1, 2, 5))]
    ops = [Op("FULLY_CONNECTED", ["x", "w"], ["y"], "FullyConnectedOptions", {"KeepNumDims": True})]
    ins, outs = ["x"], ["y"]
    tensors[0].signature, tensors[2].signature = (-1, 2, 6), (-1, 2, 5)
    model = translate(tensors, ops, ins, outs)
    assert show(model)[1] == ("RESHAPE", ["y_flat", [-1, 2, 5]], ["y"]) and named(model, "y_flat").dims == (0, 5)
    tensors[0].signature, tensors[2].signature = (-1, -1, 6), (-1, -1, 5)
    assert [row[0] for row in show(translate(tensors, ops, ins, outs))][0::4] == ["FULLY_CONNECTED", "RESHAPE"]


def test_inputs_and_constants_as_outputs_are_copied():
    tensors = [Tensor("x", (2, 3)), Tensor("y", (2, 3)), Tensor.of("c", f32(2, 2))]
    model = translate(tensors, [Op("RELU", ["x"], ["y"])], ["x"], ["y", "x", "y", "c"])
    assert [row[0] for row in show(model)] == ["RELU", "RESHAPE", "RESHAPE", "RESHAPE"]
    assert len(set(model.main.outputs)) == 4
    model = load(build([Tensor("x", (2,), "bool")], [], ["x"], ["x"]))
    assert nnfast.Device().prepare(model).run([np.array([0, 1], np.uint8)])[0].tolist() == [0, 1]


def test_unsupported_types_are_named():
    with pytest.raises(InvalidArgument, match="has type string"):
        load(build([Tensor("x", (2,), "string")], [], ["x"], ["x"]))
    tensors = [Tensor("x", (2,)), Tensor("y", (2,), "int16", scale=1.0)]
    refused(tensors, [Op("RELU", ["x"], ["y"])], ["x"], ["y"], "int16")
    refused([Tensor("x", (2,)), Tensor("y", (2,), "uint8")], [Op("QUANTIZE", ["x"], ["y"])], ["x"], ["y"], "0 scales")


def test_external_data_equals_inline_data():
    parts = conv_file()
    inline, external = load(build(*parts)), load(build(*parts, external=True))
    assert show(inline) == show(external)
    for name in ("w", "b"):
        np.testing.assert_array_equal(named(inline, name).data, named(external, name).data)


def conv_file():
    tensors = [Tensor("x", (1, 8, 8, 2)), Tensor.of("w", f32(4, 3, 3, 2)), Tensor.of("b", f32(4)),
               Tensor("y", (1, 8, 8, 4))]
    return tensors, [Op("CONV_2D", ["x", "w", "b"], ["y"], "Conv2DOptions", {"StrideW": 1, "StrideH": 1})], ["x"], ["y"]
