"""Operands that no file leads to: translations make them fit, a model from elsewhere may hold any there."""

from math import prod

import numpy as np
import pytest
from flatbuffers import flexbuffers

import nnfast
from helpers.edited_models import edit
from helpers.nodes import operand, refuses
from helpers.tflite.cases import CASES as SINGLE
from helpers.tflite.cases_layers import CASES as LAYERS
from helpers.tflite.running import Const, One
from nnfast.errors import InvalidArgument, UnsupportedOperator
from nnfast.fuzz.files import prepare_and_run
from nnfast.model.types import ChannelQuant, OperandType
from nnfast.ops.own import BY_NAME, EXTENSION
from nnfast.tflite import load

FLOATS = (0.0, -1.0, np.nan, np.inf, -np.inf, 1e-45, 1e38)
INTEGERS = (0, -1, 1, 33, -128, 65536, 2**31 - 1, -2**31)


def flex(**options):
    """Bytes of a map of options."""
    builder = flexbuffers.Builder()
    with builder.Map():
        for name, value in sorted(options.items()):
            builder.Key(name)
            if isinstance(value, tuple):
                builder.TypedVectorFromElements(value)
            else:
                builder.Add(value)
    return bytes(builder.Finish())


OWN = {
    "requantize": One("QUANTIZE", [np.zeros((2, 3), np.int8)], [((2, 3), "int16")],
                      quants={"i0": (0.5, 3), "o0": (0.125, 0)}),
    "leaky_relu": One("LEAKY_RELU", [np.zeros((2, 3), np.int8)], [((2, 3), "int8")], "LeakyReluOptions",
                      {"Alpha": 0.25}, quants={"i0": (0.5, 3), "o0": (0.125, 0)}),
    "mfcc": One("Mfcc", [np.ones((1, 3, 129), np.float32), Const(np.array([8000], np.int32))], [((1, 3, 5), "float32")],
                custom=flex(upper_frequency_limit=4000.0, lower_frequency_limit=20.0, filterbank_channel_count=20,
                            dct_coefficient_count=5)),
    "spectrogram": One("AudioSpectrogram", [np.ones((256, 1), np.float32)], [((1, 7, 33), "float32")],
                       custom=flex(window_size=64, stride=32, magnitude_squared=False)),
    "landmarks": One("Landmarks2TransformMatrix", [np.ones((1, 4, 3), np.float32)], [((1, 4, 4), "float32")],
                     custom=flex(subset_idxs=(0, 2), left_rotation_idx=0, right_rotation_idx=1,
                                 target_rotation_radians=0.0, output_height=2, output_width=4, scale_x=1.0,
                                 scale_y=1.0)),
    "picture": One("TransformTensorBilinear", [np.ones((1, 3, 3, 2), np.float32), np.ones((1, 4, 4), np.float32)],
                   [((1, 2, 4, 2), "float32")], custom=flex(output_height=2, output_width=4)),
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


def test_values_that_are_looked_up_have_the_type_of_the_result():
    keys = np.array([7, 9], np.int64)
    inputs = [operand("I64", keys), operand("I64", keys), operand("I32", [1, 2]), operand("I64", [0])]
    refuses(BY_NAME["TFL_HASHTABLE_FIND"].op, inputs, ": takes tensors of int32, int64, must be of one dtype")
