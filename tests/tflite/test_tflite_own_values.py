"""Operands that no file leads to: translations make them fit, a model from elsewhere may hold any there."""

from dataclasses import replace
from math import prod

import numpy as np
import pytest

import nnfast
from helpers.edited_models import edit
from helpers.nodes import flag, ints, omitted, operand, out, refuses, run
from helpers.tflite.cases import CASES as SINGLE
from helpers.tflite.cases_layers import CASES as LAYERS
from helpers.tflite.flexmap import flexmap
from helpers.tflite.running import Const, One
from nnfast.errors import InvalidArgument, UnsupportedOperator
from nnfast.fuzz.files import prepare_and_run
from nnfast.model.own import TYPES
from nnfast.model.types import ChannelQuant, OperandType
from nnfast.ops.own import BY_NAME, EXTENSION
from nnfast.tflite import load

FLOATS = (0.0, -1.0, np.nan, np.inf, -np.inf, 1e-45, 1e38)
INTEGERS = (0, -1, 1, 33, -128, 65536, 2**31 - 1, -2**31)


OWN = {
    "requantize": One("QUANTIZE", [np.zeros((2, 3), np.int8)], [((2, 3), "int16")],
                      quants={"i0": (0.5, 3), "o0": (0.125, 0)}),
    "leaky_relu": One("LEAKY_RELU", [np.zeros((2, 3), np.int8)], [((2, 3), "int8")], "LeakyReluOptions",
                      {"Alpha": 0.25}, quants={"i0": (0.5, 3), "o0": (0.125, 0)}),
    "mfcc": One("Mfcc", [np.ones((1, 3, 129), np.float32), Const(np.array([8000], np.int32))], [((1, 3, 5), "float32")],
                custom=flexmap({"upper_frequency_limit": 4000.0, "lower_frequency_limit": 20.0,
                                "filterbank_channel_count": 20, "dct_coefficient_count": 5})),
    "spectrogram": One("AudioSpectrogram", [np.ones((256, 1), np.float32)], [((1, 7, 33), "float32")],
                       custom=flexmap({"window_size": 64, "stride": 32, "magnitude_squared": False})),
    "landmarks": One("Landmarks2TransformMatrix", [np.ones((1, 4, 3), np.float32)], [((1, 4, 4), "float32")],
                     custom=flexmap({"subset_idxs": (0, 2), "left_rotation_idx": 0, "right_rotation_idx": 1,
                                     "target_rotation_radians": 0.0, "output_height": 2, "output_width": 4,
                                     "scale_x": 1.0, "scale_y": 1.0})),
    "picture": One("TransformTensorBilinear", [np.ones((1, 3, 3, 2), np.float32), np.ones((1, 4, 4), np.float32)],
                   [((1, 2, 4, 2), "float32")], custom=flexmap({"output_height": 2, "output_width": 4})),
}

FLOAT_IMAGE, INT16_IMAGE = np.zeros((1, 4, 4, 2), np.float32), np.zeros((1, 4, 4, 2), np.int16)
CONV, WEIGHTS = {"Padding": 0, "StrideW": 1, "StrideH": 1}, Const(np.ones((4, 2, 2, 2), np.int8))
OF_CHANNELS = {"i0": (0.5, 0), "i1": ([0.1, 0.2, 0.3, 0.4], 0), "o0": (0.5, 0)}
for kind, x, dtype in (("hybrid", FLOAT_IMAGE, "float32"), ("int16", INT16_IMAGE, "int16")):
    quants = OF_CHANNELS if kind == "int16" else {"i1": OF_CHANNELS["i1"]}
    OWN |= {
        f"{kind}_conv": One("CONV_2D", [x, WEIGHTS], [((1, 4, 4, 4), dtype)], "Conv2DOptions", CONV, quants),
        f"{kind}_transposed": One(
            "TRANSPOSE_CONV", [Const(np.array([1, 4, 4, 4], np.int32)), WEIGHTS, x], [((1, 4, 4, 4), dtype)],
            "TransposeConvOptions", CONV, {name.replace("i0", "i2"): value for name, value in quants.items()}),
        f"{kind}_dense": One("FULLY_CONNECTED", [x.reshape(2, 16), Const(np.ones((4, 16), np.int8))], [((2, 4), dtype)],
                             "FullyConnectedOptions", {}, quants),
        f"{kind}_depthwise": One(
            "DEPTHWISE_CONV_2D", [x, Const(np.ones((1, 2, 2, 4), np.int8))], [((1, 4, 4, 4), dtype)],
            "DepthwiseConv2DOptions", CONV | {"DepthMultiplier": 2}, quants, dims={"i1": 3}),
    }
COUNT, SIZES = Const(np.array(3, np.int32)), Const(np.array([3, 4], np.int32))
OWN |= {
    "uniform": One("RANDOM_UNIFORM", [SIZES], [((3, 4), "float32")], "RandomOptions", {"Seed": 3}),
    "normal": One("RANDOM_STANDARD_NORMAL", [SIZES], [((3, 4), "float32")], "RandomOptions", {"Seed": 3}),
    "multinomial": One("MULTINOMIAL", [np.ones((2, 5), np.float32), COUNT], [((2, 3), "int64")], "RandomOptions",
                       {"Seed": 3}),
    "buckets": One("BUCKETIZE", [np.ones((2, 3), np.float32)], [((2, 3), "int32")], "BucketizeOptions",
                   {"Boundaries": [0.5, 2.0]}),
    "hybrid_matmul": One("BATCH_MATMUL", [np.ones((3, 2), np.float32), Const(np.ones((3, 5), np.int8))],
                         [((2, 5), "float32")], "BatchMatMulOptions", {"AdjX": True}, {"i1": (0.01, 0)}),
    "places": One("MaxPoolingWithArgmax2D", [FLOAT_IMAGE], [((1, 2, 2, 2), "float32")] * 2,
                  custom=np.array([1, 2, 2, 2, 2, 0], np.int32).tobytes()),
}


def with_number(model, index, number):
    """The model with another number in a constant of one element."""
    old = model.main.operands[index].data
    with np.errstate(all="ignore"):
        data = np.array(number, np.float64 if old.dtype.kind == "f" else np.int64).astype(old.dtype).reshape(old.shape)
    data.flags.writeable = False
    return edit(index, data=data)(model)


def parameters(model):
    """Operands of one element that are constants."""
    return [index for index, operand in enumerate(model.main.operands)
            if operand.data is not None and operand.data.size == 1]


def test_any_number_is_taken_or_refused():
    tried = set()
    for one, *_ in (*((one,) for one in OWN.values()), *SINGLE.values(), *LAYERS.values()):
        try:
            model = load(one.file())
        except UnsupportedOperator:
            continue
        for index in parameters(model):
            tried.add(one.kind)
            for number in FLOATS if model.main.operands[index].data.dtype.kind == "f" else INTEGERS:
                prepare_and_run(with_number(model, index, number))  # a result, or an nnfast.Error of one line
    assert tried >= {"QUANTIZE", "LEAKY_RELU", "Mfcc", "Landmarks2TransformMatrix", "MULTINOMIAL"} and len(tried) > 30


def other_operands(operand):
    """Changes of an operand: ranks and sizes, types, and the dimension along which it has scales."""
    dims = operand.dims
    shapes = [(), (1,), (8,), dims[1:], dims[:-1], (1, *dims), (*dims, 1)]
    shapes += [(*dims[:k], size, *dims[k + 1:]) for k in range(len(dims)) for size in (0, 1, 2 * dims[k])]
    yield from ({"dims": shape} for shape in shapes if shape != dims)
    yield from ({"type": kind} for kind in (OperandType.TENSOR_INT32, OperandType.TENSOR_FLOAT32,
                                            OperandType.TENSOR_QUANT8_ASYMM) if kind != operand.type)
    if operand.channel_quant is not None:
        yield from ({"channel_quant": ChannelQuant(k, (0.5,) * size)} for k, size in enumerate(dims))


@pytest.mark.parametrize("name", sorted(OWN))
def test_any_shape_and_type_is_taken_or_refused(name):
    model = load(OWN[name].file())
    for index, old in enumerate(model.main.operands):
        for changes in other_operands(old):
            shape, kind = changes.get("dims", old.dims), changes.get("type", old.type)
            if old.data is not None and kind == old.type and old.data.size:
                changes["data"] = np.resize(old.data, shape if prod(shape) else 0).reshape(shape)
                changes["data"].flags.writeable = False
            prepare_and_run(edit(index, **changes)(model))


@pytest.mark.parametrize("name, place, number, words", [
    ("requantize", "scale", 0.0, "is 0, must be finite and above 0"),
    ("requantize", "new_scale", 0.0, "is 0, must be finite and above 0"),
    ("requantize", "new_scale", np.nan, "is nan, must be finite and above 0"),
    ("requantize", "scale", 1e38, "must be by less than 2^31"),
    ("mfcc", "highest", np.inf, "must be at least 0 and below a finite highest frequency"),
    ("mfcc", "channels", 2**31 - 1, "more than 16777216 weights; use fewer channels"),
    ("landmarks", "target", np.inf, "is inf, must be a finite angle in radians"),
])
def test_the_refusal_names_the_operation_the_value_and_the_rule(name, place, number, words):
    model = load(OWN[name].file())
    operation = EXTENSION.operations[model.main.operations[0].type & 0xffff]
    names = [slot.name for slot in operation.op.signatures[0].inputs]
    index = model.main.operations[0].inputs[names.index(place)]
    with pytest.raises(InvalidArgument) as caught:
        nnfast.Device().prepare(with_number(model, index, number))
    assert f"main.operation[0] {operation.name}" in str(caught.value) and words in str(caught.value)


@pytest.mark.parametrize("kind", ["hybrid", "int16"])
def test_rows_that_keep_their_dimensions_are_as_long_as_weights(kind):
    """A file could make both write past their output."""
    one = OWN[f"{kind}_dense"]
    dtype = one.inputs[0].dtype.name
    with pytest.raises(UnsupportedOperator, match=r"must end in the weights' input size 16 to keep its dimensions"):
        load(replace(one, inputs=[np.zeros((8, 64), dtype), one.inputs[1]], outputs=[((8, 4), dtype)],
                     fields={"KeepNumDims": True}).file())


@pytest.mark.parametrize("name", ["TFL_INT16_CONV_2D", "TFL_INT16_MAX_POOL_2D"])
def test_channels_come_last(name):
    image = operand("Q16S", shape=(1, 4, 5, 2), scale=0.5)
    filters = [operand("Q8S", np.ones((4, 2, 2, 2), np.int8), 0.5), omitted("I32")] if "CONV" in name else []
    numbers = ints(1, 1, 1, 0) if "CONV" in name else ints(1, 1, 1, 2, 2, 0)
    dilation = ints(1, 1) if "CONV" in name else []
    place = len(filters) + len(numbers) + 1
    refuses(BY_NAME[name].op, [image, *filters, *numbers, flag(True), *dilation],
            f" input {place} (layout): is true, must be false: the channels come last")


@pytest.mark.parametrize("half", [np.float16([[-0.75, 2.0]]), np.float16([2.0])])
def test_a_scalar_of_half_precision_is_a_number_like_others(half):
    b = nnfast.ModelBuilder()
    x, y = b.input("TENSOR_FLOAT16", half.shape), b.output("TENSOR_FLOAT16")
    b.operation(BY_NAME["TFL_POW"], [x, b.scalar(np.float16(3), "FLOAT16")], [y])
    (result,) = nnfast.Device().prepare(b.build()).run([half])
    assert result.tolist() == (half.astype(np.float64) ** 3).tolist()


def test_sums_of_booleans_are_booleans():
    x = operand("B8", np.ones((2, 3, 2), np.uint8))
    assert run(BY_NAME["TFL_SUM"].op, [x, operand("I32", [0, 2]), flag(False)], out("B8")).tolist() == [1, 1, 1]


@pytest.mark.parametrize("name", ["TFL_REAL", "TFL_IMAG"])
def test_a_part_of_one_complex_number_is_one_number(name):
    b = nnfast.ModelBuilder()
    y = b.output("TENSOR_FLOAT32")
    x = b.input("TENSOR_FLOAT32", (2,))
    number = b.scalar(np.complex64(3 - 2j), TYPES[40])
    b.operation(BY_NAME[name], [number], [y]).operation("ABS", [x], [b.output("TENSOR_FLOAT32", (2,))])
    for passes in ((), ("native_kernels",)):
        prepared = nnfast.Device(without_passes=passes).prepare(b.build())
        assert prepared.run([np.zeros(2, np.float32)])[0].tolist() == (3 if name == "TFL_REAL" else -2)


def test_the_definition_of_exact_gelu_takes_codes_of_any_rank():
    codes = np.arange(-128, 128, dtype=np.int8).reshape(4, 8, 8)
    gelu = BY_NAME["TFL_QUANTIZED_GELU"].op
    flat, deep = (run(gelu, [operand("Q8S", x, 0.0625), flag(False)], out("Q8S", 0.0625))
                  for x in (codes.ravel(), codes))
    assert deep.ravel().tolist() == flat.tolist()


def test_values_that_are_looked_up_have_the_type_of_the_result():
    keys = np.array([7, 9], np.int64)
    inputs = [operand("I64", keys), operand("I64", keys), operand("I32", [1, 2]), operand("I64", [0])]
    refuses(BY_NAME["TFL_HASHTABLE_FIND"].op, inputs, ": takes tensors of int32, int64, must be of one dtype")
