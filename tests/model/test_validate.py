"""validate_model: each rule broken once, and random models with random damage."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.edited_models import edit, edit_operation, refuse
from nnfast.errors import InvalidArgument
from nnfast.model.builder import ModelBuilder
from nnfast.model.types import ChannelQuant, LifeTime, Model, OperandType, Operation, State
from nnfast.model.validate import validate_model

T = OperandType
X, FILTER, BIAS, STRIDE, Y, Z = 0, 1, 2, 3, 10, 11


def sample():
    """A quantized convolution and a RELU: operands X FILTER BIAS scalars(3-9) Y Z."""
    b = ModelBuilder()
    x = b.input("TENSOR_QUANT8_ASYMM", (1, 4, 4, 2), 0.5, 128)
    w = b.constant(np.ones((3, 1, 1, 2), np.int8), channel_quant=(0, (0.5, 0.25, 1)))
    bias = b.constant(np.zeros(3, np.int32))
    scalars = [b.scalar(v) for v in (0, 0, 0, 0, 1, 1, 0)]
    y = b.operand("TENSOR_QUANT8_ASYMM", (1, 4, 4, 3), 0.5, 0)
    z = b.output("TENSOR_QUANT8_ASYMM", (1, 4, 4, 3), 0.5, 0)
    b.operation("CONV_2D", [x, w, bias, *scalars], [y]).operation("RELU", [y], [z])
    return b.build()


def nested(*targets):
    """A model whose referenced[i] refers to the graphs targets[i]."""
    leaf = ModelBuilder()
    x, y = leaf.input("TENSOR_FLOAT32", (1,)), leaf.output("TENSOR_FLOAT32", (1,))
    graph = leaf.operation("RELU", [x], [y]).build().main
    reference = ModelBuilder()
    operand = replace(reference._operands[reference.subgraph(leaf)], name="body")
    graphs = [replace(graph, operands=graph.operands + tuple(replace(operand, subgraph=t) for t in refs))
              for refs in targets]
    return Model(graph, tuple(graphs))


def test_sample_is_valid():
    validate_model(sample())
    validate_model(nested((1,), (2,), ()))
    validate_model(replace(sample(), relaxed=True))


OPERANDS = [
    (edit(X, type=16), "main.operand[0]: type 16 is unknown, must be 0..15"),
    (edit(X, type=-1), "main.operand[0]: type -1 is unknown"),
    (edit(X, type=9999), "type 9999 is unknown"),
    (edit(X, type=0xFFFFFFFF), "type 0xffffffff has a prefix that is not in the model's extensions"),
    (edit(X, type=1 << 32 | 0x10001), "type 4295032833 is unknown"),
    (edit(X, type="x"), "type is 'x', must be an operand type code"),
    (edit(X, type=0x12340001), "type 0x12340001 has a prefix that is not in the model's extensions"),
    (edit(X, type=T.OEM), "main.operand[0]: rank is 4, must be 0 for scalar OEM"),
    (edit(X, parameters=b"x"), "has parameters of an extension, must have none for TENSOR_QUANT8_ASYMM"),
    (edit(X, dims=(1, -4)), "dimension 1 is -4, must be 0 (unknown) to 4294967295"),
    (edit(X, dims=(1.5,)), "dimension 0 is 1.5, must be 0 (unknown)"),
    (edit(X, dims=None), "main.operand[0].dims: is NoneType, must be a tuple"),
    (edit(STRIDE, dims=(0,)), "main.operand[3]: rank is 1, must be 0 for scalar INT32"),
    (edit(FILTER, dims=()), "main.operand[1]: rank of a constant tensor is 0 (unknown), must be at least 1"),
    (edit(FILTER, dims=(3, 1, 0, 2)), "main.operand[1]: dimension 2 of a constant is 0 (unknown), must be known"),
    (edit(X, scale=0.0), "main.operand[0]: scale is 0, must be > 0 for TENSOR_QUANT8_ASYMM"),
    (edit(X, scale=-1.0), "scale is -1, must be > 0 for TENSOR_QUANT8_ASYMM"),
    (edit(X, scale=float("nan")), "scale is nan, must be a finite float32 number"),
    (edit(X, scale=float("inf")), "scale is inf, must be a finite float32 number"),
    (edit(X, scale=1e39), "scale is 1e+39, must be a finite float32 number"),
    (edit(X, scale=1e-60), "scale is 1e-60, must be > 0 for TENSOR_QUANT8_ASYMM"),
    (edit(X, scale="a"), "scale is 'a', must be a finite float32 number"),
    (edit(BIAS, scale=-1.0), "scale is -1, must be >= 0 for TENSOR_INT32"),
    (edit(FILTER, scale=1.0), "scale is 1, must be 0 for TENSOR_QUANT8_SYMM_PER_CHANNEL"),
    (edit(STRIDE, scale=1.0), "main.operand[3]: scale is 1, must be 0 for INT32"),
    (edit(X, type=T.TENSOR_FLOAT32), "scale is 0.5, must be 0 for TENSOR_FLOAT32"),
    (edit(X, zero_point=256), "main.operand[0]: zero point is 256, must be 0..255 for TENSOR_QUANT8_ASYMM"),
    (edit(X, zero_point=-1), "zero point is -1, must be 0..255"),
    (edit(X, zero_point=0.5), "zero point is 0.5, must be an integer"),
    (edit(X, type=T.TENSOR_QUANT8_ASYMM_SIGNED), "zero point is 128, must be -128..127"),
    (edit(X, type=T.TENSOR_QUANT8_SYMM), "zero point is 128, must be 0 for TENSOR_QUANT8_SYMM"),
    (edit(X, type=T.TENSOR_QUANT16_SYMM), "zero point is 128, must be 0 for TENSOR_QUANT16_SYMM"),
    (edit(X, type=T.TENSOR_QUANT16_ASYMM, zero_point=65536), "must be 0..65535 for TENSOR_QUANT16_ASYMM"),
    (edit(FILTER, zero_point=1), "zero point is 1, must be 0 for TENSOR_QUANT8_SYMM_PER_CHANNEL"),
    (edit(BIAS, zero_point=1), "zero point is 1, must be 0 for TENSOR_INT32"),
    (edit(STRIDE, zero_point=1), "zero point is 1, must be 0 for INT32"),
    (edit(X, channel_quant=ChannelQuant(0, (1.0,))), "has channel scales, must have none for TENSOR_QUANT8_ASYMM"),
    (edit(FILTER, channel_quant=None), "has no channel scales, must have them"),
    (edit(FILTER, channel_quant=(0, (1.0,))), "is tuple, must be ChannelQuant"),
    (edit(FILTER, channel_quant=ChannelQuant(4, (1.0,))), "channel dimension is 4, must be less than the rank, 4"),
    (edit(FILTER, channel_quant=ChannelQuant(0, (1.0,))), "has 1 channel scales, must be 3 (dimension 0)"),
    (edit(FILTER, channel_quant=ChannelQuant(0, 1.0)), "channel_quant.scales: is float, must be a tuple"),
    (edit(FILTER, channel_quant=ChannelQuant(0, (1.0, 0.0, 1.0))), "channel scale 1 is 0, must be finite and > 0"),
    (edit(FILTER, channel_quant=ChannelQuant(0, (1.0, 1.0, float("nan")))), "channel scale 2 is nan, must be finite"),
    (edit(FILTER, channel_quant=ChannelQuant(0, (float("inf"), 1.0, 1.0))), "channel scale 0 is inf"),
    (edit(FILTER, lifetime=LifeTime.NO_VALUE, data=None, dims=(0, 1, 1, 2)),
     "channel dimension 0 has unknown size, must be known"),
    (edit(X, lifetime=7), "lifetime is 7, must be 0..6"),
    (edit(X, lifetime=LifeTime.SUBGRAPH), "lifetime SUBGRAPH has type TENSOR_QUANT8_ASYMM, must have SUBGRAPH"),
    (edit(STRIDE, type=T.SUBGRAPH), "type SUBGRAPH has lifetime CONSTANT_COPY, must have SUBGRAPH"),
    (edit(STRIDE, type=T.SUBGRAPH, lifetime=LifeTime.SUBGRAPH, data=None, subgraph=0),
     "subgraph is 0, model has 0 referenced subgraphs"),
    (edit(STRIDE, type=T.SUBGRAPH, lifetime=LifeTime.SUBGRAPH, data=None), "subgraph is None, model has 0 referenced"),
    (edit(X, subgraph=0), "refers to subgraph 0, only lifetime SUBGRAPH may"),
    (edit(X, dims=(65536, 65536)), "dimensions [65536, 65536] need more than 4294967295 bytes"),
    (edit(X, data=np.zeros(1, np.uint8)), "has data, only constants may (lifetime is SUBGRAPH_INPUT)"),
    (edit(BIAS, data=None), "main.operand[2]: is a constant without data"),
    (edit(BIAS, data=b"123"), "data is bytes, must be a numpy array"),
    (edit(BIAS, data=np.zeros(3, np.float32)), "data is float32, must be int32 for TENSOR_INT32"),
    (edit(BIAS, data=np.zeros(3, ">i4")), "data is >i4, must be int32 for TENSOR_INT32"),
    (edit(BIAS, data=np.zeros(4, np.int32)), "data has shape [4], must have [3]"),
    (edit(STRIDE, data=np.zeros(1, np.int32)), "data has shape [1], must have []"),
    (edit(BIAS, data=np.zeros(6, np.int32)[::2]), "data is not contiguous, use numpy.ascontiguousarray"),
]


@pytest.mark.parametrize("mutate, text", OPERANDS, ids=[text[:60] for _, text in OPERANDS])
def test_operand_rules(mutate, text):
    refuse(mutate(sample()), text)


def swap_operations(model):
    return model.with_main(operations=model.main.operations[::-1])


def write_twice(model):
    return model.with_main(operations=(*model.main.operations, Operation(19, (Y,), (Z,))))


STRUCTURE = [
    (edit_operation(0, type=106), "main.operation[0]: operation code 106 is unknown, must be 0..105"),
    (edit_operation(0, type=-1), "operation code -1 is unknown"),
    (edit_operation(0, type=None), "main.operation[0]: type is None, must be an operation code"),
    (edit_operation(0, type=0x00020003), "operation 0x00020003 has a prefix that is not in the model's extensions"),
    (edit_operation(0, type=1 << 33 | 0x20003), "operation code 8590065667 is unknown"),
    (edit_operation(0, inputs=(X, 99)), "main.operation[0] CONV_2D input 1: operand index 99 is outside 0..11"),
    (edit_operation(1, outputs=(12,)), "main.operation[1] RELU output 0: operand index 12 is outside 0..11"),
    (edit_operation(0, inputs=(-1,)), "main.operation[0] CONV_2D input 0: operand index -1 is outside 0..11"),
    (edit_operation(0, inputs=None), "main.operation[0] CONV_2D inputs: is NoneType, must be a tuple"),
    (edit_operation(1, outputs=(X,)), "main.operation[1] RELU output 0: operand 0 has lifetime SUBGRAPH_INPUT, "
                                      "must be TEMPORARY_VARIABLE or SUBGRAPH_OUTPUT"),
    (edit_operation(1, outputs=(BIAS,)), "operand 2 has lifetime CONSTANT_COPY, must be TEMPORARY_VARIABLE"),
    (lambda m: m.with_main(inputs=(12,)), "main.inputs[0]: operand index 12 is outside 0..11"),
    (lambda m: m.with_main(inputs=(Y,)), "main.inputs[0]: operand 10 has lifetime TEMPORARY_VARIABLE, "
                                         "must be SUBGRAPH_INPUT"),
    (lambda m: m.with_main(inputs=(X, X)), "main.inputs[1]: operand 0 is listed twice"),
    (lambda m: m.with_main(inputs=()), "main.operand[0]: has lifetime SUBGRAPH_INPUT but is not in main.inputs"),
    (lambda m: m.with_main(outputs=()), "main.operand[11]: has lifetime SUBGRAPH_OUTPUT but is not in main.outputs"),
    (lambda m: m.with_main(outputs=(Z, Y)), "main.outputs[1]: operand 10 has lifetime TEMPORARY_VARIABLE"),
    (lambda m: m.with_main(outputs=(Z, Z)), "main.outputs[1]: operand 11 is listed twice"),
    (lambda m: m.with_main(inputs=None), "main.inputs: is NoneType, must be a tuple"),
    (lambda m: m.with_main(operands=()), "main: has no operands, must have at least one"),
    (lambda m: m.with_main(operations=()), "main: has no operations, must have at least one"),
    (lambda m: m.with_main(operations=None), "main.operations: is NoneType, must be a tuple"),
    (lambda m: m.with_main(operations=("x",)), "main.operation[0]: is str, must be Operation"),
    (lambda m: replace(m, main=None), "main: is NoneType, must be Subgraph"),
    (lambda m: replace(m, relaxed=2), "model: relaxed is 2, must be True or False"),
    (lambda m: None, "model: is NoneType, must be Model"),
    (swap_operations, "main.operation[0] RELU input 0: reads operand 10 before it is written"),
    (edit_operation(0, inputs=(Z,)), "main.operation[0] CONV_2D input 0: reads operand 11 before it is written"),
    (write_twice, "main.operation[2] RELU output 0: operand 11 is already written by operation[1]"),
    (edit_operation(0, outputs=(Y, Y)), "main.operation[0] CONV_2D output 1: operand 10 is already written"),
    (lambda m: m.with_main(operations=m.main.operations[:1]),
     "main.operand[11]: has lifetime SUBGRAPH_OUTPUT but no operation writes it"),
    (edit(STRIDE, lifetime=LifeTime.TEMPORARY_VARIABLE, data=None),
     "main.operation[0] CONV_2D input 3: reads operand 3 before it is written"),
]


@pytest.mark.parametrize("mutate, text", STRUCTURE, ids=[text[:60] for _, text in STRUCTURE])
def test_structure_rules(mutate, text):
    refuse(mutate(sample()), text)


def test_unread_temporary_must_be_written():
    model = sample()
    unread = replace(model.main.operands[Y])
    refuse(model.with_main(operands=(*model.main.operands, unread)),
           "main.operand[12]: has lifetime TEMPORARY_VARIABLE but no operation writes it")


def test_referenced_subgraphs_are_checked():
    model = nested((), ())
    broken = replace(model.referenced[1], operations=())
    refuse(replace(model, referenced=(model.referenced[0], broken)), "referenced[1]: has no operations")
    operation = replace(model.main.operations[0], inputs=(9,))
    broken = replace(model.referenced[1], operations=(operation,))
    refuse(replace(model, referenced=(model.referenced[0], broken)),
           "referenced[1].operation[0] RELU input 0: operand index 9 is outside 0..1")


@pytest.mark.parametrize("targets, text", [
    (((0,),), "referenced[0]: refers to itself: 0 -> 0"),
    (((1,), (2,), (1,)), "referenced[1]: refers to itself: 1 -> 2 -> 1"),
    (((), (0, 2), (0, 3), (0, 1)), "referenced[1]: refers to itself: 1 -> 2 -> 3 -> 1"),
    (((5,),), "referenced[0].operand[2]: subgraph is 5, model has 1 referenced subgraphs"),
])
def test_reference_cycles(targets, text):
    refuse(nested(*targets), text)


def test_deep_and_wide_references_are_walked_once():
    depth = 3000
    validate_model(nested(*[(i + 1, i + 2) for i in range(depth)], (), ()))


@pytest.mark.parametrize("state, text", [
    (State(1, 0), "states[0]: input position is 1, main has 1 input"),
    (State(0, -1), "states[0]: output position is -1, main has 1 output"),
    (State(0, 0), "states[0]: output has dimensions [1, 4, 4, 3], must have [1, 4, 4, 2] as the input"),
    ("x", "states[0]: is str, must be State"),
])
def test_state_positions(state, text):
    refuse(replace(sample(), states=(state,)), text)


def test_state_values_must_agree():
    same_dims = edit(X, dims=(1, 4, 4, 3))(sample())
    state = State(0, 0)
    refuse(replace(same_dims, states=(state,)), "output has scale 0.5 and zero point 0, must have 0.5 and 128")
    other_type = edit(X, type=T.TENSOR_FLOAT32, scale=0.0, zero_point=0)(same_dims)
    refuse(replace(other_type, states=(state,)), "output is TENSOR_QUANT8_ASYMM, must be TENSOR_FLOAT32")
    fit = edit(X, zero_point=0)(same_dims)
    validate_model(replace(fit, states=(state,)))
    refuse(replace(fit, states=(state, state)), "states[1]: input 0 is fed by two states")
    refuse(replace(fit, states=(State(0, 0, np.zeros(3, np.uint8)),)), "initial value has shape [3], must have")
    refuse(replace(fit, states=(State(0, 0, np.zeros((1, 4, 4, 3))),)), "initial value is float64, must be an array")


# -- random models ---------------------------------------------------------------------------------------------------
CHAIN_TYPES = {T.TENSOR_FLOAT32: (0.0, 0), T.TENSOR_FLOAT16: (0.0, 0), T.TENSOR_QUANT8_ASYMM: (0.5, 200),
               T.TENSOR_QUANT8_ASYMM_SIGNED: (0.1, -7)}


@st.composite
def chains(draw):
    """A chain of unary and binary operations with side constants; every tensor written is read or an output."""
    kind = draw(st.sampled_from(sorted(CHAIN_TYPES)))
    scale, zero_point = CHAIN_TYPES[kind]
    dims = tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=4)))
    shown = draw(st.sampled_from([dims, (), (0,) * len(dims)]))
    b = ModelBuilder()
    b.input(kind, shown, scale, zero_point)
    last = 0
    for _ in range(draw(st.integers(1, 6))):
        if draw(st.booleans()):
            last = b.add("RELU", [last], (kind, shown, scale, zero_point))
        else:
            code = b.constant(np.zeros(dims, b._operands[0].dtype), kind, scale, zero_point)
            last = b.add("ADD", [last, code, b.scalar(0)], (kind, shown, scale, zero_point))
    return b.outputs(last).build()


def first(model, wanted):
    """Index of the first operand that satisfies `wanted`."""
    return next(i for i, operand in enumerate(model.main.operands) if wanted(operand))


DAMAGE = [
    lambda m, i: edit(i, type=9999)(m),
    lambda m, i: edit(i, scale=float("nan"))(m),
    lambda m, i: edit(i, scale=-1.0)(m),
    lambda m, i: edit(i, zero_point=70000)(m),
    lambda m, i: edit(i, channel_quant=ChannelQuant(0, (1.0,)))(m),
    lambda m, i: edit(i, lifetime=9)(m),
    lambda m, i: edit(i, lifetime=LifeTime.SUBGRAPH)(m),
    lambda m, i: edit(i, dims=(-1,))(m),
    lambda m, i: edit(i, subgraph=0)(m),
    lambda m, i: edit(i, data=np.zeros((9, 9, 9, 9, 9), np.float32))(m),
    lambda m, i: edit(first(m, lambda o: o.lifetime == LifeTime.SUBGRAPH_OUTPUT),
                      lifetime=LifeTime.TEMPORARY_VARIABLE)(m),
    lambda m, i: edit(0, lifetime=LifeTime.TEMPORARY_VARIABLE)(m),
    lambda m, i: m.with_main(inputs=()),
    lambda m, i: m.with_main(outputs=(*m.main.outputs, i)),
    lambda m, i: m.with_main(operations=(*m.main.operations, m.main.operations[i % len(m.main.operations)])),
    lambda m, i: m.with_main(operations=m.main.operations[1:]),
    lambda m, i: m.with_main(operations=m.main.operations[:-1]),
    lambda m, i: edit_operation(i % len(m.main.operations), inputs=(len(m.main.operands),))(m),
    lambda m, i: edit_operation(i % len(m.main.operations), inputs=m.main.outputs)(m),
    lambda m, i: edit_operation(i % len(m.main.operations), outputs=(0,))(m),
    lambda m, i: edit_operation(i % len(m.main.operations), type=200)(m),
    lambda m, i: replace(m, states=(State(len(m.main.inputs), 0),)),
]


@settings(max_examples=200)
@given(chains(), st.sampled_from(range(len(DAMAGE))), st.data())
def test_random_chains_validate_and_damage_is_refused(model, damage, data):
    validate_model(model)
    index = data.draw(st.integers(0, len(model.main.operands) - 1))
    with pytest.raises(InvalidArgument):
        validate_model(DAMAGE[damage](model, index))
