"""What NNAPI cannot express as TFLite means it is refused, with the reason; and damaged options of custom operators."""

from dataclasses import replace

import numpy as np
import pytest
from flatbuffers import flexbuffers

from helpers.tflite.cases import CASES as SINGLE
from helpers.tflite.cases import f, ints, value
from helpers.tflite.cases_layers import CASES as LAYERS
from helpers.tflite.cases_layers import OPTIONS, SCORES, detection
from helpers.tflite.file_builder import Op, Tensor, build
from helpers.tflite.running import Const, One
from nnfast.errors import Error, InvalidArgument, UnsupportedOperator
from nnfast.tflite import load
from nnfast.tflite.flexmap import decode

CASES = SINGLE | LAYERS


def changed(name, reason, place=None, with_=None, **changes):
    """A case with another input or other parts, and what its refusal says."""
    one = CASES[name][0]
    inputs = list(one.inputs)
    if place is not None:
        inputs[place] = with_
    return replace(one, inputs=inputs, **changes), reason


@pytest.mark.parametrize("one, reason", [
    changed("less_uint8", "neighbouring codes equal", quants={"*": (0.002, 3)}),
    changed("greater_uint8", "neighbouring codes equal", quants={"*": (1.5, 3)}),
    changed("pad_v2_int8", "gives it the input's", quants={"*": (0.5, 3), "i2": (0.5, 4)}),
    changed("leaky_relu_int8", "must lie between", fields={"Alpha": np.nan}),
    changed("leaky_relu", "must be finite", fields={"Alpha": np.inf}),
    changed("l2_normalization", "fused activation is 1", fields={"FusedActivationFunction": 1}),
    changed("gather", "batch_dims is 1", fields={"Axis": 1, "BatchDims": 1}),
    changed("gather", "axis is 3", fields={"Axis": 3}),
    changed("strided_slice", "no stride 0", 3, ints(1, 0, 1)),
    changed("slice", "leave the shape [2, 3, 4]", 2, ints(2, 3, 4)),
    changed("split_v", "add up to the dimension, 3", 1, ints(1, 1)),
    changed("split", "splits 3 elements into 2 parts", 0, value(1)),
    changed("unpack", "unpacks 2 elements into 3 outputs", fields={"Num": 3, "Axis": 0}),
    changed("pack", "must be equal", 1, f(2, 3, 1)),
    changed("tile", "one of at least 0 for each", 1, ints(2)),
    changed("broadcast_to", "cannot be broadcast", 1, ints(2, 5, 4)),
    changed("topk", "k is [5]", 1, value(5)),
    changed("sum", "within the rank", 1, ints(3)),
    changed("arg_max", "within the rank", 1, value(-4)),
    changed("batch_to_space_crops", "leave something", 2, Const(np.array([[3, 2], [1, 1]], np.int32))),
    changed("space_to_batch", "does not divide the padded sizes", 1, ints(3, 2)),
    changed("depth_to_space", "does not divide shape", fields={"BlockSize": 3}),
    changed("mirror_reflect", "exceed what shape", 1, Const(np.array([[2, 0], [0, 0], [0, 0]], np.int32))),
    changed("mirror_reflect", "mode is 2", fields={"Mode": 2}),
    changed("resize_nearest", "takes one of them", fields={"AlignCorners": True, "HalfPixelCenters": True}),
    changed("grouped_conv", "these make no groups", 0, f(1, 5, 5, 5)),
    changed("transpose_conv", "four values of at least 1", 0, ints(1, 7, 5)),
])
def test_refused(one, reason):
    with pytest.raises(UnsupportedOperator) as caught:
        one.model()
    assert reason in caught.value.reason and caught.value.operator == one.kind


# -- forms that no converter writes ----------------------------------------------------------------------------------
@pytest.mark.parametrize("one", [
    One("STRIDED_SLICE", [f(2, 3, 4), ints(0, 0), ints(1, 1), ints(1, 1)], [((2, 3, 4), "float32")],
        "StridedSliceOptions", {"EllipsisMask": 3}),
    One("STRIDED_SLICE", [f(2, 3, 4), *[ints(*[1] * 40)] * 3], [((2, 3, 4), "float32")], "StridedSliceOptions",
        {"NewAxisMask": -1}),
    One("BATCH_MATMUL", [f(2, 3), f(3, 2)], [((2, 2), "int8")], "BatchMatMulOptions"),
    One("BUCKETIZE", [f(2, 3)], [((2, 3), "int64")], "BucketizeOptions", {"Boundaries": np.float32([0.5, 1.5])}),
    One("EMBEDDING_LOOKUP", [Const(np.zeros(2, np.int32)), Const(np.float32(1))], [((2,), "float32")]),
    One("COMPLEX_ABS", [Const(np.ones((2, 3), np.complex64))], [((2, 3), "float64")]),
    One("TOPK_V2", [np.ones((2, 3), np.int64), value(2)], [((2, 2), "float32"), ((2, 2), "int32")]),
    One("TOPK_V2", [np.ones((2, 3), np.complex64), value(2)], [((2, 2), "complex64"), ((2, 2), "int32")]),
    One("EMBEDDING_LOOKUP", [ints(0), Const(np.ones((2, 3), np.complex64))], [((1, 3), "float32")]),
    One("EMBEDDING_LOOKUP", [ints(0), Const(np.ones((2, 3), np.int64))], [((1, 3), "float32")]),
    One("UNIQUE", [np.ones(3, np.int32)], [((3,), "float32"), ((3,), "int32")], "UniqueOptions", {"IdxOutType": 2}),
    One("ARG_MAX", [np.ones((2, 3), np.complex64), value(1)], [((2,), "int64")], "ArgMaxOptions"),
    One("BROADCAST_ARGS", [np.ones((2, 3), np.int32)] * 2, [((2, 3), "int32")]),
    One("BROADCAST_TO", [f(1, 3), ints(*[1] * 33, 3)], [((1, 3), "float32")]),
    One("TRANSPOSE_CONV", [ints(1, 12, 12, 4), Const(np.ones((4, 3, 3, 2), np.float32)), f(1, 5, 5, 2)],
        [((1, 12, 12, 4), "float32")], "TransposeConvOptions", {"StrideW": (1 << 31) - 1, "StrideH": 2, "Padding": 1}),
    One("COMPLEX_ABS", [np.ones((2, 3), np.complex128)], [((2, 3), "float32")]),
    One("REAL", [np.ones((2, 3), np.complex64)], [((2, 3), "float64")]),
    One("IMAG", [np.ones((2, 3), np.complex64)], [((2, 3), "float16")]),
    One("ARG_MAX", [f(2, 3), value(1)], [], "ArgMaxOptions"),
    One("MEAN", [np.ones((2, 3), np.int8)], [((2, 3), "int8")], "ReducerOptions", quants={"*": (0.5, 0)}),
    One("EQUAL", [np.ones((2, 3), np.int16)], [((2, 3), "bool")], quants={"i0": (0.5, 0)}),
    One("CONCATENATION", [np.ones((1, 2, 1, 2, 3), np.int8), np.ones((1, 2, 1, 2), np.int8)],
        [((1, 2, 1, 2, 4), "int8")], "ConcatenationOptions", {"Axis": 4}, {"*": (0.5, 0)}),
])
def test_odd_forms_are_refused_in_a_line(one):
    with pytest.raises(InvalidArgument, match=rf"operator.0. {one.kind}: .*") as caught:
        one.model()
    assert "\n" not in str(caught.value)


def test_sizes_beside_a_zero_are_refused_where_numpy_cannot_hold_them():
    shape = 0, *[(1 << 31) - 1] * 3
    tensors = Tensor("x", shape), Tensor.of("n", np.int32([1, 1, 1, 2])), Tensor("y", (1, 4096, 320, 2))
    with pytest.raises(InvalidArgument, match="TILE: .*more than 2147483647 elements"):
        load(build(tensors, [Op("TILE", ["x", "n"], ["y"])], ["x"], ["y"]))


@pytest.mark.parametrize("kind", ["string", "bfloat16", "resource"])
def test_weights_and_biases_that_are_no_numbers(kind):
    tensors = [Tensor("x", (1, 5, 5, 4)), Tensor.of("w", np.ones((4, 1, 1, 2), np.float32)),
               Tensor.of("b", np.ones(4, np.float32)), Tensor("y", (1, 5, 5, 4))]
    ops = [Op("CONV_2D", ["x", "w", "b"], ["y"], "Conv2DOptions", {"StrideW": 1, "StrideH": 1})]
    for t in tensors[1:3]:
        sound = t.dtype, t.data
        t.dtype, t.data = kind, t.data.astype(np.float16 if kind == "bfloat16" else np.float32)
        with pytest.raises(InvalidArgument, match=r"CONV_2D: .*(has type|is of type|no such)"):
            load(build(tensors, ops, ["x"], ["y"]))
        t.dtype, t.data = sound
    assert load(build(tensors, ops, ["x"], ["y"]))


NOTHING = np.zeros(0, np.float32)


@pytest.mark.parametrize("one", [
    One("FILL", [ints(2, 2), NOTHING], [((2, 2), "float32")]),
    One("PADV2", [f(2, 3), Const(np.ones((2, 2), np.int32)), NOTHING], [((4, 5), "float32")]),
    One("ONE_HOT", [np.arange(3, dtype=np.int32), value(4), NOTHING, NOTHING], [((3, 4), "float32")], "OneHotOptions",
        {"Axis": -1}),
    One("DILATE", [f(2, 3), ints(2, 2), NOTHING], [((3, 5), "float32")]),
    One("SPARSE_TO_DENSE", [np.zeros((1, 1), np.int32), ints(3), f(1), NOTHING], [((3,), "float32")]),
], ids=lambda one: one.kind)
def test_what_stands_for_a_scalar_has_a_value(one):
    with pytest.raises(Error, match="has no value, must have one|of one element|must have elements") as caught:
        one.run()
    assert "\n" not in str(caught.value)


# -- shapes known while translating --------------------------------------------------------------------------------
def shape_file(signature=None):
    """x -> SHAPE -> STRIDED_SLICE [0] -> PACK with 6 -> RESHAPE of x, as converters write a flattening."""
    tensors = [
        Tensor("x", (2, 3, 2), signature=signature), Tensor("s", (3,), "int32"), Tensor("n", (), "int32"),
        Tensor.of("a", np.array([0], np.int32)), Tensor.of("b", np.array([1], np.int32)),
        Tensor.of("six", np.array(6, np.int32)), Tensor("t", (2,), "int32"), Tensor("y", (2, 6)),
    ]
    ops = [
        Op("SHAPE", ["x"], ["s"], "ShapeOptions", {"OutType": 2}),
        Op("STRIDED_SLICE", ["s", "a", "b", "b"], ["n"], "StridedSliceOptions", {"ShrinkAxisMask": 1}),
        Op("PACK", ["n", "six"], ["t"], "PackOptions", {"ValuesCount": 2}), Op("RESHAPE", ["x", "t"], ["y"]),
    ]
    return build(tensors, ops, ["x"], ["y"])


def test_known_shapes_leave_one_reshape():
    graph = load(shape_file()).main
    assert [op.type.name for op in graph.operations] == ["RESHAPE"]
    assert graph.operands[graph.operations[0].inputs[1]].data.tolist() == [2, 6]


# -- detections ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("changes, reason", [
    ({"max_detections": 0}, "max_detections is 0"), ({"max_detections": 2.5}, "max_detections is 2.5"),
    ({"y_scale": 0.0}, "y_scale is 0.0"), ({"w_scale": None}, "w_scale is None"),
    ({"nms_score_threshold": np.nan}, "must be above 0"), ({"nms_iou_threshold": -1.0}, "nms_iou_threshold is -1.0"),
    ({"max_classes_per_detection": 2}, "leaves gaps"), ({"num_classes": 4}, "3 classes, NNAPI takes num_classes (4)"),
])
def test_detection_refusals(changes, reason):
    options = {k: v for k, v in (OPTIONS | changes).items() if v is not None}
    with pytest.raises(UnsupportedOperator) as caught:
        detection(options).model()
    assert reason in caught.value.reason


def test_detection_of_codes():
    scores = np.round(SCORES * 200).astype(np.uint8)
    one = detection(OPTIONS | {"nms_score_threshold": 0.3}, scores=scores, quants={"i1": (1 / 200, 0)})
    assert one.codes() == ["DEQUANTIZE", "DETECTION_POSTPROCESSING", "CAST", "CAST"]
    boxes, classes, found, count = one.run()
    assert count == [2] and classes[0, :2].tolist() == [0, 1]
    np.testing.assert_allclose(found[0, :2], [0.9, 0.8], 1e-6)


def test_options_of_custom_operators():
    data = bytes(flexbuffers.Dumps({"a": -7, "b": 2.5, "c": True, "d": "text", "e": 1 << 40, "f": [1, 2]}))
    assert decode(data) == {"a": -7, "b": 2.5, "c": True, "d": "text", "e": 1 << 40}
    builder = flexbuffers.Builder()
    with builder.Map():
        builder.Key("near")
        builder.IndirectFloat(0.25)
        builder.Key("far")
        builder.UInt(3)
    assert decode(bytes(builder.Finish())) == {"near": 0.25, "far": 3}


def test_damaged_options_are_refused():
    data = bytes(flexbuffers.Dumps(OPTIONS))
    damaged = [data[:k] for k in range(len(data))]
    for place in range(len(data)):
        damaged += [data[:place] + bytes([byte]) + data[place + 1:] for byte in (0, 1, 3, 127, 255)]
    refusals = 0
    for custom in damaged[::7]:
        try:
            replace(detection(OPTIONS), custom=custom).model()
        except (UnsupportedOperator, InvalidArgument):
            refusals += 1
    assert refusals > len(data) // 7
    for custom in damaged:
        try:
            found = decode(custom)
        except ValueError as error:
            assert str(error)
        else:
            assert all(isinstance(v, bool | int | float | str) for v in found.values())


def test_parts_of_constants_that_grow_are_left_to_the_operations():
    row = Const(np.arange(4096, dtype=np.int32).reshape(1, 4096))
    zeros = Const(np.zeros(100, np.int32))
    assert One("GATHER", [row, zeros], [((100, 4096), "int32")], "GatherOptions").codes() == ["GATHER"]
    assert One("PACK", [row, row], [((2, 1, 4096), "int32")], "PackOptions").codes() == ["PACK"]
