"""Models with vendor extensions and OEM codes: what is valid without knowing the extension
[NN 1.7, 9.2, 9.3, 9.7, 11.3 a g l m, 11.4 d e, 11.16]."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from helpers.edited_models import edit, refuse
from helpers.vendor_extensions import AMOUNTS
from nnfast import ModelBuilder
from nnfast.errors import InvalidArgument
from nnfast.model import own
from nnfast.model.types import LifeTime, Operand, is_extension, operation_name, type_name
from nnfast.model.validate import validate_model

NAME = "com.example.unheard_of"


def vendor_model(parameters=b"12345", builder=None):
    """y = the vendor's operation 7 of x and a constant of 6 bytes; types 1 (x, y) and 2 (constant)."""
    b = builder or ModelBuilder("vendor")
    kind = b.extension_code(NAME, 1)
    x = b.input(kind, (2, 0), parameters=parameters)
    c = b.constant(np.arange(6, dtype=np.uint8), b.extension_code(NAME, 2))
    y = b.output(kind, ())
    return b.operation(b.extension_code(NAME, 7), [x, c], [y]).build()


def test_1_7_codes():
    assert [is_extension(code) for code in (0, 10001, 0xFFFF, 0x10000, 0xFFFFFFFF, -1)] == [False] * 3 + [True] * 3
    assert type_name(0x00070001) == "extension type 0x00070001"
    assert operation_name(0xFFFFFFFF) == operation_name(-1) == "extension operation 0xffffffff"


def test_9_2_prefixes_go_by_first_use():
    b = ModelBuilder()
    assert b.extension_code("com.example.a", 5) == 0x10005
    assert b.extension_code("com.example.b", 0) == 0x20000
    assert b.extension_code("com.example.a", 0xFFFF) == 0x1FFFF
    model = vendor_model(builder=b)
    assert model.extensions == (("com.example.a", 1), ("com.example.b", 2), (NAME, 3))
    for id in (-1, 0x10000, "1"):
        with pytest.raises(InvalidArgument, match="extension id"):
            b.extension_code("com.example.a", id)


def test_9_2_subgraphs_share_the_prefixes_of_the_model():
    def branch(first):
        b = ModelBuilder()
        for name in (first, NAME):
            kind = b.extension_code(name, 1)
        x, y = b.input(kind, (2,)), b.output(kind, (2,))
        return b.operation(b.extension_code(NAME, 4), [x], [y])

    b = ModelBuilder()
    kind = b.extension_code(NAME, 1)
    c, x, y = b.input("TENSOR_BOOL8", (1,)), b.input(kind, (2,)), b.output(kind, (2,))
    then, other = b.subgraph(branch("com.example.a")), b.subgraph(branch("com.example.b"))
    model = b.operation("IF", [c, then, other, x], [y]).build()
    assert dict(model.extensions)[NAME] == 1 and len(model.extensions) == 3
    for graph in model.referenced:
        assert [o.type for o in graph.operands] == [0x10001] * 2 and graph.operations[0].type == 0x10004


def test_9_3_a_model_is_valid_without_its_extension():
    model = vendor_model()
    validate_model(model)
    constant = model.main.operands[1]
    assert constant.data.tolist() == [0, 1, 2, 3, 4, 5] and not constant.data.flags.writeable
    assert model.main.operands[0].parameters == b"12345"


@pytest.mark.parametrize("change, words", [
    (edit(0, scale=0.5), "main.operand[0]: scale is 0.5, must be 0 for extension type 0x00010001"),
    (edit(0, zero_point=1), "zero point is 1, must be 0 for extension type"),
    (edit(0, parameters="12345"), "parameters are str, must be bytes"),
    (edit(0, type=AMOUNTS), "type is <Type 5 AMOUNTS of com.example.money>, must be an operand type code"),
    (edit(0, lifetime=LifeTime.SUBGRAPH), "lifetime SUBGRAPH has type extension type 0x00010001, must have SUBGRAPH"),
    (edit(0, dims=(1 << 31, 3)), "need more than 4294967295 bytes"),
    (edit(1, dims=(3, 0)), "dimension 1 of a constant is 0 (unknown), must be known"),
    (edit(1, data=np.zeros(3, np.int16)), "data is int16 of rank 1, must be a row of bytes"),
    (edit(1, data=np.zeros((2, 3), np.uint8)), "data is uint8 of rank 2, must be a row of bytes"),
    (edit(1, data=b"123456"), "data is bytes, must be a numpy array"),
    (edit(1, data=None), "is a constant without data"),
    (edit(1, type=0x20002), "type 0x00020002 has a prefix that is not in the model's extensions"),
])
def test_11_3_operands_of_extensions(change, words):
    refuse(change(vendor_model()), words)


@pytest.mark.parametrize("extensions, words", [
    (((NAME, 0),), "extensions[0]: prefix is 0, must be 1 to 65535"),
    (((NAME, 1 << 16),), "prefix is 65536"), (((NAME, "1"),), "prefix is '1'"),
    (((NAME, 1), (NAME, 2)), f"extensions[1]: name {NAME} and prefix 2 must be used once"),
    (((NAME, 1), ("com.example.b", 1)), "must be used once"),
    ((("example", 1),), "name is 'example'"), ((("Com.example", 1),), "name is 'Com.example'"),
    ((("com..example", 1),), "name is 'com..example'"), (((None, 1),), "name is None"),
    ((NAME,), "must be (name, prefix)"), ({NAME: 1}, "extensions: is dict"),
    ((), "main.operand[0]: type 0x00010001 has a prefix that is not in the model's extensions"),
])
def test_11_16_maps_of_extensions(extensions, words):
    refuse(replace(vendor_model(), extensions=extensions), words)


def test_11_4_operations_of_extensions_are_checked_by_index():
    model = vendor_model()
    operation = model.main.operations[0]
    refuse(model.with_main(operations=(replace(operation, inputs=(0, 9)),)), "operand index 9 is outside 0..2")
    refuse(model.with_main(operations=(replace(operation, type=0x20007),)), "operation 0x00020007 has a prefix")


def test_9_7_oem_codes_are_checked_by_index():
    b = ModelBuilder()
    x, s = b.input("TENSOR_OEM_BYTE", (4,), scale=0.5, zero_point=900), b.input("OEM")
    model = b.operation("OEM_OPERATION", [x, s], [b.output("TENSOR_OEM_BYTE", ())]).build()
    constant = Operand(10000, lifetime=LifeTime.CONSTANT_COPY, data=np.zeros(5, np.uint8))
    validate_model(model.with_main(operands=(*model.main.operands, constant)))
    refuse(edit(1, dims=(1,))(model), "rank is 1, must be 0 for scalar OEM")
    operation = replace(model.main.operations[0], inputs=(0, 3))
    refuse(model.with_main(operations=(operation,)), "operand index 3 is outside 0..2")


def test_states_have_no_types_of_extensions():
    b = ModelBuilder()
    kind = b.extension_code(NAME, 1)
    x, y = b.input(kind, (2,)), b.output(kind, (2,))
    b.operation(b.extension_code(NAME, 7), [x], [y]).state(x, y)
    with pytest.raises(InvalidArgument, match="must be of a type of the standard"):
        b.build()


@pytest.mark.parametrize("make, words", [
    (lambda b, t: b.constant([1, 2], t), "stores no known values"),
    (lambda b, t: b.scalar(1, t), "stores no known values"),
    (lambda b, t: b.input(t, (2,), parameters=5), "parameters are int, must be bytes"),
    (lambda b, t: b.input(t, (2,), scale=1.0), "scale is 1, must be 0"),
])
def test_builder_refuses(make, words):
    b = ModelBuilder()
    kind = b.extension_code(NAME, 1)
    with pytest.raises(InvalidArgument) as caught:
        x = make(b, kind)
        b.operation(b.extension_code(NAME, 7), [x], [b.output(kind)]).build()
    assert words in str(caught.value)


def test_builder_takes_numpy_scalars_of_unknown_types():
    b = ModelBuilder()
    s = b.scalar(np.int64(-2), b.extension_code(NAME, 1))
    y = b.add(b.extension_code(NAME, 7), [s], b.extension_code(NAME, 2))
    model = b.outputs(y).build()
    assert model.main.operands[0].data.tobytes() == np.int64(-2).tobytes()


@pytest.mark.parametrize("kind", own.TYPES.values(), ids=lambda kind: kind.name)
def test_own_types_are_themselves_after_pickling(kind):
    assert pickle.loads(pickle.dumps(kind)) is kind
    assert pickle.loads(pickle.dumps([kind, {kind.id: kind}])) == [kind, {kind.id: kind}]
