"""ModelBuilder: what it makes, and what it says to wrong arguments."""

import numpy as np
import pytest

from nnfast.errors import InvalidArgument
from nnfast.model.builder import ModelBuilder
from nnfast.model.types import ChannelQuant, LifeTime, OperandType, OperationType


def tiny(name=""):
    """y = RELU(x) over [1, 4]; returns builder and handles."""
    b = ModelBuilder(name)
    x = b.input("TENSOR_FLOAT32", (1, 4), name="x")
    y = b.output("TENSOR_FLOAT32", (1, 4), name="y")
    b.operation("RELU", [x], [y])
    return b, x, y


def test_small_model_has_records_in_order():
    b, x, y = tiny("tiny")
    model = b.build()
    assert model.name == "tiny" and not model.relaxed and model.states == () and model.referenced == ()
    assert model.main.inputs == (x,) and model.main.outputs == (y,)
    assert model.main.operands[x].lifetime == LifeTime.SUBGRAPH_INPUT
    assert model.main.operands[y].lifetime == LifeTime.SUBGRAPH_OUTPUT
    assert model.main.operands[x].name == "x" and model.main.operands[x].dims == (1, 4)
    (operation,) = model.main.operations
    assert operation.type is OperationType.RELU and operation.inputs == (x,) and operation.outputs == (y,)


def test_a_model_is_shown_in_a_line_and_an_operand_without_its_data():
    b = ModelBuilder("sum")
    x, y = b.input("TENSOR_FLOAT32", (1, 4), name="x"), b.output("TENSOR_FLOAT32", (1, 4))
    b.operation("ADD", [x, b.constant(np.full((1, 4), 7, np.float32)), b.scalar(0)], [y])
    model = b.build()
    assert repr(model) == f"<Model sum: 1 operation, x TENSOR_FLOAT32[1, 4] -> {y} TENSOR_FLOAT32[1, 4]>"
    assert not any("data=" in repr(operand) for operand in model.main.operands)


def test_structure_methods_chain():
    b = ModelBuilder()
    x, y = b.operand("TENSOR_FLOAT32", (2,)), b.operand("TENSOR_FLOAT32", (None,))
    model = b.operation(OperationType.TANH, [x], [y]).inputs(x).outputs(y).relaxed().build()
    assert model.relaxed and model.main.inputs == (x,) and model.main.operands[y].dims == (0,)


def test_add_makes_the_output_like_the_first_input():
    b = ModelBuilder()
    x = b.input("TENSOR_QUANT8_ASYMM", (1, 4), 0.5, 3)
    y = b.add("RELU", [x])
    z = b.add("DEQUANTIZE", [y], out=("TENSOR_FLOAT32", (1, 4)), name="z")
    model = b.outputs(z).build()
    operands = model.main.operands
    assert (operands[y].type, operands[y].scale, operands[y].zero_point, operands[y].dims) == \
        (OperandType.TENSOR_QUANT8_ASYMM, 0.5, 3, ())
    assert operands[z].type == OperandType.TENSOR_FLOAT32 and operands[z].name == "z"


@pytest.mark.parametrize("array, more, expected", [
    (np.zeros(2, np.float32), {}, "TENSOR_FLOAT32"), (np.zeros(2, np.float16), {}, "TENSOR_FLOAT16"),
    (np.zeros(2, np.int32), {}, "TENSOR_INT32"), (np.zeros(2, bool), {}, "TENSOR_BOOL8"),
    (np.zeros(2, np.uint8), {"scale": 0.5}, "TENSOR_QUANT8_ASYMM"),
    (np.zeros(2, np.int8), {"scale": 0.5}, "TENSOR_QUANT8_ASYMM_SIGNED"),
    (np.zeros(2, np.int8), {"channel_quant": (0, [1, 2])}, "TENSOR_QUANT8_SYMM_PER_CHANNEL"),
    (np.zeros(2, np.int16), {"scale": 0.5}, "TENSOR_QUANT16_SYMM"),
    (np.zeros(2, np.uint16), {"scale": 0.5}, "TENSOR_QUANT16_ASYMM"),
    ([1, 2], {}, "TENSOR_INT32"), ([1.0, 2], {}, "TENSOR_FLOAT32"), ([True], {}, "TENSOR_BOOL8"),
    ([1, 2], {"type": "TENSOR_QUANT8_SYMM", "scale": 1.0}, "TENSOR_QUANT8_SYMM"),
])
def test_constant_type_follows_the_dtype(array, more, expected):
    b = ModelBuilder()
    operand = b._operands[b.constant(array, **more)]
    assert operand.type == OperandType[expected] and operand.data.dtype == operand.dtype


def test_constant_copies_what_can_still_change_and_keeps_what_cannot():
    b = ModelBuilder()
    array = np.arange(4, dtype=np.float32)
    operand = b._operands[b.constant(array)]
    array[:] = 9
    assert operand.data.tolist() == [0, 1, 2, 3] and not operand.data.flags.writeable
    array.flags.writeable = False
    assert np.shares_memory(b._operands[b.constant(array)].data, array)


def test_constant_takes_any_layout_and_byte_order():
    b = ModelBuilder()
    array = np.arange(6, dtype=">i4").reshape(2, 3).T
    operand = b._operands[b.constant(array)]
    assert operand.data.dtype == np.dtype(np.int32) and operand.data.flags.c_contiguous
    assert operand.data.tolist() == [[0, 3], [1, 4], [2, 5]] and operand.dims == (3, 2)


@pytest.mark.parametrize("value, kind, expected", [
    (True, None, "BOOL"), (3, None, "INT32"), (1.5, None, "FLOAT32"), (np.float16(1), None, "FLOAT16"),
    (np.uint32(3), None, "UINT32"), (np.array(7, np.int32), None, "INT32"), (3, "UINT32", "UINT32"),
    (1, "FLOAT16", "FLOAT16"),
])
def test_scalar_types(value, kind, expected):
    b = ModelBuilder()
    operand = b._operands[b.scalar(value, kind)]
    assert operand.type == OperandType[expected] and operand.dims == () and operand.data.shape == ()
    assert operand.data == value and operand.lifetime == LifeTime.CONSTANT_COPY


def test_omitted_operand_has_no_value():
    b, x, y = tiny()
    hole = b.omitted("TENSOR_FLOAT32")
    operand = b.build().main.operands[hole]
    assert operand.lifetime == LifeTime.NO_VALUE and operand.data is None


def test_scales_are_rounded_to_float32():
    b, x, y = tiny()
    b.constant(np.zeros((2, 2), np.int8), channel_quant=ChannelQuant(1, (0.1, 0.2)))
    b.constant(np.zeros(2, np.uint8), scale=0.1)
    *_, channels, plain = b.build().main.operands
    assert plain.scale == float(np.float32(0.1)) and channels.channel_quant.scales[1] == float(np.float32(0.2))


def test_subgraphs_are_numbered_once_and_nested():
    inner, *_ = tiny()
    branch = ModelBuilder()
    x = branch.input("TENSOR_FLOAT32", (1, 4))
    cond = branch.constant([True])
    y = branch.output("TENSOR_FLOAT32", (1, 4))
    branch.operation("IF", [cond, branch.subgraph(inner), branch.subgraph(inner), x], [y])
    main = ModelBuilder()
    c, x = main.input("TENSOR_BOOL8", (1,)), main.input("TENSOR_FLOAT32", (1, 4))
    first, second = main.subgraph(branch), main.subgraph(inner)
    y = main.output("TENSOR_FLOAT32", (1, 4))
    model = main.operation("IF", [c, first, second, x], [y]).build()
    assert len(model.referenced) == 2
    assert (model.main.operands[first].subgraph, model.main.operands[second].subgraph) == (0, 1)
    assert [o.subgraph for o in model.referenced[0].operands if o.subgraph is not None] == [1, 1]


def test_state_is_stored_by_position():
    b, x, y = tiny()
    extra = b.input("TENSOR_FLOAT32", (1, 4))
    (state,) = b.state(extra, y, np.ones((1, 4), np.float32)).build().states
    assert (state.input, state.output) == (1, 0) and state.initial.sum() == 4


@pytest.mark.parametrize("call, text", [
    (lambda b: b.operand("TENSOR_FLOAT"), "operand type 'TENSOR_FLOAT' is unknown"),
    (lambda b: b.operand(1.5), "operand type is 1.5, must be an integer"),
    (lambda b: b.operand("TENSOR_FLOAT32", 4), "dims is 4, must be a list of integers"),
    (lambda b: b.operand("TENSOR_FLOAT32", (1, "a")), "dimension 1 is 'a', must be an integer"),
    (lambda b: b.operand("TENSOR_FLOAT32", (1,), scale="x"), "scale is 'x', must be a number"),
    (lambda b: b.operand("TENSOR_FLOAT32", (1,), zero_point=0.5), "zero point is 0.5, must be an integer"),
    (lambda b: b.operand("TENSOR_FLOAT32", (1,), channel_quant=3), "channel_quant is 3, must be (dim, scales)"),
    (lambda b: b.constant(np.zeros(2)), "constant: dtype float64 has no operand type; convert it to float32"),
    (lambda b: b.constant(np.zeros(2, np.int64)), "constant: dtype int64 has no operand type; convert it to int32"),
    (lambda b: b.constant(np.zeros(2, np.uint8)), "constant: uint8 needs a scale or a type"),
    (lambda b: b.constant(np.float32(1)), "constant: array has rank 0"),
    (lambda b: b.constant(np.zeros((2, 0), np.float32)), "constant: array has shape [2, 0]"),
    (lambda b: b.constant(["a"]), "value ['a'] is neither a number nor a list of numbers"),
    (lambda b: b.constant([[1], [1, 2]]), "value [[1], [1, 2]] is neither a number nor a list of numbers"),
    (lambda b: b.constant([300], "TENSOR_QUANT8_ASYMM", 1.0), "value [300] does not fit uint8"),
    (lambda b: b.constant(np.zeros(2, np.int32), "TENSOR_FLOAT32"),
     "constant: array is int32, must be float32 for TENSOR_FLOAT32"),
    (lambda b: b.scalar(1 << 31), "does not fit int32"),
    (lambda b: b.scalar(1.5, "INT32"), "value 1.5 does not fit int32"),
    (lambda b: b.scalar("1"), "scalar: '1' has no default operand type"),
    (lambda b: b.scalar([1, 2], "INT32"), "scalar: value has shape [2]"),
    (lambda b: b.scalar(1, "OEM"), "operand type OEM stores no known values"),
    (lambda b: b.operation("CONV", [0], [1]), "operation 'CONV' is unknown"),
    (lambda b: b.operation("RELU", [0], [99]), "output 0: handle 99 is not an operand of this builder"),
    (lambda b: b.operation("RELU", 0, [1]), "input handles: is 0, must be a list"),
    (lambda b: b.operation("RELU", ["x"], [1]), "input 0: handle is 'x', must be an integer"),
    (lambda b: b.add("RELU", []), "add: without inputs the output's type must be given"),
    (lambda b: b.add("RELU", [0], out=()), "add: out has 0 parts"),
    (lambda b: b.subgraph(7), "subgraph: is int, must be a ModelBuilder"),
    (lambda b: b.inputs(0, 1).build(), "main.operand[1]: is both input and output of the graph"),
    (lambda b: b.inputs(0, b.scalar(1)).build(), "main.operand[2]: is CONSTANT_COPY, cannot be an input"),
    (lambda b: b.state(1, 0).build(), "state: operand 1 is not an input of the graph"),
    (lambda b: b.state(0, 0).build(), "state: operand 0 is not an output of the graph"),
    (lambda b: (b.subgraph(b), b.build()), "a subgraph refers back to the main graph"),
    (lambda b: (b.subgraph(tiny()[0].state(0, 1)), b.build()), "referenced[0]: has states"),
])
def test_wrong_arguments_are_named(call, text):
    b, *_ = tiny()
    with pytest.raises(InvalidArgument) as caught:
        call(b)
    assert text in str(caught.value) and "\n" not in str(caught.value)
