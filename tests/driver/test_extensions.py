"""Vendor extensions on a device: registry and rules of models [NN 9.1-9.3, 9.7]."""

from dataclasses import replace

import numpy as np
import pytest

import nnfast
from helpers.vendor_extensions import (
    AMOUNTS,
    COLOURS,
    FACTOR,
    MONEY,
    NAME,
    SAME,
    TIMES,
    X,
    one,
    operation,
    refused,
    times_model,
    types,
    unit,
)
from nnfast import Device, ModelBuilder, extensions
from nnfast.compiler.check import check_model
from nnfast.driver.capabilities import capabilities
from nnfast.errors import InvalidArgument
from nnfast.extensions import Extension, Operation


@pytest.fixture
def device():
    return Device(num_threads=1, extensions=[MONEY])


# -- registry and allowlist ------------------------------------------------------------------------------------------
def test_9_1_devices_have_what_is_registered_when_they_are_made(registered):
    before = Device(num_threads=1)
    extensions.unregister(NAME)
    assert before.extensions == {NAME: MONEY} and Device(num_threads=1).extensions == {}
    assert extensions.registered() == {}


def test_9_2_a_device_may_allow_some(registered):
    assert Device(extensions=[]).extensions == {}
    assert Device(extensions=[NAME]).extensions == {NAME: MONEY}
    model = times_model(2)
    assert Device(extensions=[NAME]).supported_operations(model) == [True]
    assert Device(extensions=[]).supported_operations(model) == [False]


@pytest.mark.parametrize("given, words", [
    (["com.example.other"], "'com.example.other' is not registered; there are com.example.money"),
    ("com.example.money", "must be a list"), (5, "must be a list"), ([MONEY, NAME], "is listed twice"),
    ([AMOUNTS], "is neither a name"),
])
def test_9_2_bad_lists(registered, given, words):
    with pytest.raises(InvalidArgument) as caught:
        Device(extensions=given)
    assert words in str(caught.value)


def test_9_1_a_name_is_registered_once(registered):
    assert extensions.register(MONEY) is MONEY
    with pytest.raises(InvalidArgument, match="another extension com.example.money is registered already"):
        extensions.register(Extension(NAME))
    with pytest.raises(InvalidArgument, match="must be an extensions.Extension"):
        extensions.register(NAME)


@pytest.mark.parametrize("make, words", [
    (lambda: Extension("example"), "name: is 'example'"), (lambda: Extension("Com.example"), "name: is 'Com.example'"),
    (lambda: Extension("com.example.a-b"), "must be small letters"), (lambda: Extension(None), "name: is None"),
    (lambda: types(id=-1), "id is -1, must be 0 to 65535"), (lambda: types(id=1 << 16), "id is 65536"),
    (lambda: types(id=True), "id is True"), (lambda: types(name=""), "name is ''"),
    (lambda: types(dtype=object), "must be of a fixed size"), (lambda: types(dtype="V0"), "must be of a fixed size"),
    (lambda: types(dtype=">i4"), "native byte order"), (lambda: types(dtype="nothing"), "extension type A"),
    (lambda: types(parameters=np.int32), "must be a structured dtype"),
    (lambda: Extension("com.example.a", [types(), types(name="B")]), "B and id 0 must be used once"),
    (lambda: Extension("com.example.a", [types(), types(id=1)]), "A and id 1 must be used once"),
    (lambda: Extension("com.example.a", [AMOUNTS]), "AMOUNTS is part of com.example.money already"),
    (lambda: Extension("com.example.a", [TIMES]), "is not an extensions.Type"),
    (lambda: Extension("com.example.a", (), [AMOUNTS]), "is not an extensions.Operation"),
    (lambda: operation(infer=None), "has no infer"), (lambda: operation(signature="x:X"), "signature 'x:X'"),
    (lambda: operation(signature="x:Y -> y:X"), "signature"), (lambda: operation(types={}), "signature"),
    (lambda: operation(types={"X": ["F33"]}), "'F33' is not an operand type"),
    (lambda: operation(types={"X": [10001]}), "TENSOR_OEM_BYTE is not an operand type"),
    (lambda: operation(types={"X": [3], "Y": [3]}), "types are of X, Y, the signature has variables X"),
    (lambda: ModelBuilder().input(types()), "A is not part of an extension"),
    (lambda: AMOUNTS.pack(units=3), "got parameters units, must be unit"), (lambda: FACTOR.pack(a=1), "must be none"),
])
def test_9_1_bad_definitions(make, words):
    with pytest.raises(InvalidArgument) as caught:
        make()
    assert words in str(caught.value)


def test_9_1_entry_points_of_installed_packages(tmp_path, monkeypatch):
    info = tmp_path / "money-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: money\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[nnfast.extensions]\nmoney = helpers.vendor_extensions:MONEY\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert NAME in extensions.load_installed()
    try:
        assert extensions.registered()[NAME] is MONEY
    finally:
        extensions.unregister(NAME)


# -- models ----------------------------------------------------------------------------------------------------------
def test_9_3_an_extension_that_the_device_does_not_have(device):
    model, other = times_model(2), Device(extensions=[])
    assert other.supported_operations(model) == [False] and device.supported_operations(model) == [True]
    reason, = other.unsupported_reasons(model).values()
    assert reason == "main.operation[0] extension operation 0x00010002: this device does not have extension " + NAME
    with pytest.raises(InvalidArgument) as caught:
        other.prepare(model)
    assert str(caught.value) == reason


def test_9_3_other_operations_of_the_model_stay_supported():
    b = ModelBuilder()
    x = b.input("TENSOR_FLOAT32", (3,))
    y, z = b.operand("TENSOR_FLOAT32", (3,)), b.output("TENSOR_FLOAT32", (3,))
    model = b.operation(TIMES, [x, b.scalar(2, FACTOR)], [y]).operation("RELU", [y], [z]).build()
    other = Device(extensions=[])
    assert other.supported_operations(model) == [False, True]
    with pytest.raises(InvalidArgument, match="this device does not have extension com.example.money"):
        other.prepare(model)
    prepared = Device(extensions=[MONEY]).prepare(model)
    assert prepared.run([np.array([1, -2, 3], np.float32)])[0].tolist() == [2, 0, 6]
    assert [row["kernel"] for row in prepared.explain().rows][0] == "numpy"


def test_9_3_an_input_of_an_unknown_type_that_nobody_reads():
    b = ModelBuilder()
    b.input(COLOURS, (3,))
    x, y = b.input("TENSOR_FLOAT32", (3,)), b.output("TENSOR_FLOAT32", (3,))
    model = b.operation("RELU", [x], [y]).build()
    colours = np.zeros(3, "V3")
    floats = np.ones(3, np.float32)
    assert Device(extensions=[MONEY]).prepare(model).run([colours, floats])[0].tolist() == [1, 1, 1]
    other = Device(extensions=[])
    assert other.supported_operations(model) == [False]
    with pytest.raises(InvalidArgument, match=r"main.operand\[0\]: type is extension type 0x0001ffff, this device"):
        other.prepare(model)


def test_9_3_ids_that_the_extension_does_not_have(device):
    b = ModelBuilder()
    x, y = (make(b.extension_code(NAME, 4), (3,)) for make in (b.input, b.output))
    assert refused(device, b.operation(SAME, [x], [y]).build()) == \
        "main.operand[0]: extension type 0x00010004 does not exist in " + NAME
    b = ModelBuilder()
    x, y = (make(AMOUNTS, (3,), parameters=unit(1)) for make in (b.input, b.output))
    model = b.operation(b.extension_code(NAME, 9), [x], [y]).build()
    assert refused(device, model) == "main.operation[0]: extension operation 0x00010009 does not exist in " + NAME


@pytest.mark.parametrize("parameters, words", [
    (b"", "main.operand[0]: has 0 bytes of parameters, AMOUNTS needs 4"),
    (bytes(3), "has 3 bytes of parameters"), (bytes(5), "has 5 bytes of parameters, AMOUNTS needs 4"),
    (unit(0), "main.operand[0]: unit is 0, must be positive"), (unit(-7), "unit is -7"),
])
def test_9_3_parameters_are_of_the_structs_size_and_accepted(device, parameters, words):
    assert words in refused(device, times_model(2, parameters=parameters))


def test_9_3_parameters_are_there_exactly_where_the_type_has_some(device):
    b = ModelBuilder()
    x, y = b.input(AMOUNTS, (3,)), b.output(AMOUNTS, (3,))
    assert "has no bytes of parameters" in refused(device, b.operation(SAME, [x], [y]).build())
    b = ModelBuilder()
    x, y = b.input(COLOURS, (3,), parameters=b""), b.output(COLOURS, (3,))
    assert "has parameters, COLOURS takes none" in refused(device, b.operation(SAME, [x], [y]).build())


@pytest.mark.parametrize("dims, nbytes, words", [
    ((3,), 23, "main.operand[0]: data has 23 bytes, must be 24 for AMOUNTS [3]"), ((3,), 25, "must be 24"),
    ((3,), 0, "data has 0 bytes"), ((), 8, "rank of a constant tensor is 0"),
    ((1 << 30,), 8, "need more than 4294967295 bytes"),
])
def test_9_3_constants_are_of_the_types_size(device, dims, nbytes, words):
    b = ModelBuilder()
    x = b.constant(np.zeros(max(nbytes, 1), np.uint8), b.extension_code(NAME, AMOUNTS.id), parameters=unit(1))
    y = b.output(AMOUNTS, (3,), parameters=unit(1))
    model = b.operation(SAME, [x], [y]).build()
    operands = list(model.main.operands)
    operands[0] = replace(operands[0], dims=dims, data=operands[0].data[:nbytes])
    assert words in refused(device, model.with_main(operands=tuple(operands)))


def test_9_3_scalars_have_rank_0(device):
    b = ModelBuilder()
    x, f = b.input("TENSOR_FLOAT32", (3,)), b.input(FACTOR, (1,))
    model = b.operation(TIMES, [x, f], [b.output("TENSOR_FLOAT32", (3,))]).build()
    assert refused(device, model) == "main.operand[1]: rank is 1, must be 0 for scalar FACTOR"


def test_9_3_operation_rules_are_the_extensions(device):
    b = ModelBuilder()
    x, y = b.input("TENSOR_INT32", (3,)), b.output("TENSOR_INT32", (3,))
    model = b.operation(TIMES, [x, b.scalar(2, FACTOR)], [y]).build()
    assert refused(device, model) == \
        "main.operation[0] TIMES input 0 (x): type TENSOR_INT32, must be TENSOR_FLOAT32 or AMOUNTS"
    b = ModelBuilder()
    x, y = b.input("TENSOR_FLOAT32", (3,)), b.output(AMOUNTS, (3,), parameters=unit(1))
    model = b.operation(TIMES, [x, b.scalar(2, FACTOR)], [y]).build()
    assert "TIMES output 0 (y): type AMOUNTS, must be TENSOR_FLOAT32" in refused(device, model)
    b = ModelBuilder()
    x, y = b.input("TENSOR_FLOAT32", (3,)), b.output("TENSOR_FLOAT32", (3,))
    assert "TIMES: has 1 input, must have 2" in refused(device, b.operation(TIMES, [x], [y]).build())


def test_9_3_core_operations_do_not_take_types_of_extensions(device):
    for some in (device, Device(extensions=[])):
        model = one("RELU", AMOUNTS, AMOUNTS, parameters=unit(1), out_parameters=unit(1))
        name = "AMOUNTS" if some.extensions else "extension type 0x00010005"
        assert f"RELU input 0 (input): type {name}, must be" in refused(some, model)


def test_9_1_extensions_came_with_hal_1_2(device):
    model = times_model(2)
    assert device.check(model) == "1.2" == check_model(model)
    with pytest.raises(InvalidArgument, match="has extensions, which came with HAL 1.2, the model is one of HAL 1.1"):
        device.check(model, "1.1")


def test_9_1_composition_of_extensions(device):
    """An operation of one extension over a type of another."""
    halve = Operation("HALVE", 0, "x:X -> y:F32", {"X": [AMOUNTS]}, infer=lambda node: [node["x"].shape],
                      run=lambda node, inputs: [(inputs[0] / 2).astype(np.float32)])
    both = Device(num_threads=1, extensions=[MONEY, Extension("com.example.halves", operations=[halve])])
    model = one(halve, AMOUNTS, "TENSOR_FLOAT32", parameters=unit(1))
    assert dict(model.extensions) == {"com.example.halves": 2, NAME: 1}
    assert both.prepare(model).run([X])[0].tolist() == [1.5, -2, 2.5]
    assert device.supported_operations(model) == [False]


def test_9_3_an_operation_on_a_type_that_the_device_does_not_have():
    double = Operation("DOUBLE", 0, "x:X -> y:X", {"X": [AMOUNTS, "TENSOR_FLOAT32"]},
                       infer=lambda node: [node["x"].shape], run=lambda node, inputs: [inputs[0] * 2])
    doubles = Extension("com.example.doubles", operations=[double])
    other = Device(num_threads=1, extensions=[doubles])
    b = ModelBuilder()
    x = b.input(AMOUNTS, (3,), parameters=unit(1))
    y = b.output(AMOUNTS, (3,), parameters=unit(1))
    f, g = b.input("TENSOR_FLOAT32", (3,)), b.output("TENSOR_FLOAT32", (3,))
    model = b.operation(double, [x], [y]).operation(double, [f], [g]).build()
    assert other.check(model) == "1.2" and other.supported_operations(model) == [False, True]
    reason, = other.unsupported_reasons(model).values()
    assert reason == ("main.operation[0] DOUBLE: an operand is of extension type 0x00010005, this device does not have "
                      f"extension {NAME}")
    with pytest.raises(InvalidArgument) as caught:
        other.prepare(model)
    assert str(caught.value) == reason
    both = Device(num_threads=1, extensions=[doubles, MONEY])
    assert both.prepare(model).run([X, np.ones(3, np.float32)])[0].tolist() == [6, -8, 10]


def test_9_3_capabilities_have_no_entries_for_extensions(registered):
    assert all(isinstance(kind, nnfast.OperandType) for kind in capabilities().operands)


def test_9_7_oem_is_valid_and_not_supported(device):
    b = ModelBuilder()
    x, y = b.input("TENSOR_OEM_BYTE", (3,)), b.output("TENSOR_OEM_BYTE", (3,))
    model = b.operation("OEM_OPERATION", [x], [y]).build()
    assert device.supported_operations(model) == [False]
    with pytest.raises(InvalidArgument, match=r"main.operation\[0\] OEM_OPERATION: is not supported: its meaning"):
        device.prepare(model)
    b = ModelBuilder()
    b.input("OEM")
    x, y = b.input("TENSOR_FLOAT32", (3,)), b.output("TENSOR_FLOAT32", (3,))
    model = b.operation("RELU", [x], [y]).build()
    assert device.supported_operations(model) == [False]
    with pytest.raises(InvalidArgument, match=r"main.operand\[0\]: type is OEM, OEM types are not supported"):
        device.prepare(model)
