"""Vendor extensions on a device: registry, rules, executions, mistakes (hal.md 9.1-9.3, 9.7, 6.1, 3.14, 5.2)."""

import pickle
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from vendor_extensions import (
    AMOUNTS,
    COLOURS,
    FACTOR,
    MISTAKES,
    MONEY,
    POSITIVE,
    SAME,
    TIMES,
    TOTAL,
    UNITS,
    mistaken,
    unit,
)

import nnfast
from nnfast import Device, Memory, ModelBuilder, Request, RequestArgument, Role, extensions
from nnfast.compiler.check import check_model
from nnfast.driver.capabilities import capabilities
from nnfast.errors import GeneralFailure, InvalidArgument, OutputInsufficientSize
from nnfast.extensions import Extension, Operation, Type

NAME = "com.example.money"
X = np.array([3, -4, 5], np.int64)


@pytest.fixture
def device():
    return Device(num_threads=1, extensions=[MONEY])


@pytest.fixture
def registered():
    extensions.register(MONEY)
    yield MONEY
    extensions.unregister(NAME)


def times_model(factor=None, dims=(3,), out=(3,), parameters=None):
    """y = x * factor in amounts; factor None: an input."""
    b = ModelBuilder("times")
    parameters = unit(100) if parameters is None else parameters
    x = b.input(AMOUNTS, dims, name="x", parameters=parameters)
    f = b.input(FACTOR, name="factor") if factor is None else b.scalar(factor, FACTOR)
    y = b.output(AMOUNTS, out, name="y", parameters=parameters)
    return b.operation(TIMES, [x, f], [y]).build()


def one(operation, kind, out, dims=(3,), out_dims=(3,), parameters=None, out_parameters=None):
    """y = operation(x)."""
    b = ModelBuilder()
    x = b.input(kind, dims, parameters=parameters)
    return b.operation(operation, [x], [b.output(out, out_dims, parameters=out_parameters)]).build()


def refused(device, model):
    """The reason why an invalid model is refused, by query and preparation alike."""
    reasons = set()
    for call in (device.supported_operations, device.prepare):
        with pytest.raises(InvalidArgument) as caught:
            call(model)
        reasons.add(str(caught.value))
    assert len(reasons) == 1
    return reasons.pop()


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
    ([AMOUNTS], "is no name"),
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


def types(**changes):
    return Type(**{"name": "A", "id": 0, "dtype": np.int8} | changes)


def operation(**changes):
    arguments = {"name": "OP", "id": 0, "signature": "x:X -> y:X", "types": {"X": ["TENSOR_FLOAT32"]},
                 "run": lambda node, inputs: inputs, "infer": lambda node: [()]}
    return Operation(**arguments | changes)


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
    (lambda: Extension("com.example.a", [TIMES]), "is no extensions.Type"),
    (lambda: Extension("com.example.a", (), [AMOUNTS]), "is no extensions.Operation"),
    (lambda: operation(infer=None), "has no infer"), (lambda: operation(signature="x:X"), "signature 'x:X'"),
    (lambda: operation(signature="x:Y -> y:X"), "signature"), (lambda: operation(types={}), "signature"),
    (lambda: operation(types={"X": ["F33"]}), "'F33' is no operand type"),
    (lambda: operation(types={"X": [10001]}), "TENSOR_OEM_BYTE is no operand type"),
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
    (info / "entry_points.txt").write_text("[nnfast.extensions]\nmoney = vendor_extensions:MONEY\n")
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
    assert "TIMES: has 1 inputs, must have 2" in refused(device, b.operation(TIMES, [x], [y]).build())


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


# -- executions ------------------------------------------------------------------------------------------------------
def test_9_1_run(device):
    prepared = device.prepare(times_model())
    assert [(t.name, t.shape, t.dtype, t.type) for t in (*prepared.inputs, *prepared.outputs)] == \
        [("x", (3,), np.int64, AMOUNTS), ("factor", (), np.int64, FACTOR), ("y", (3,), np.int64, AMOUNTS)]
    assert prepared.run([X, np.array(-2, np.int64)])[0].tolist() == [-6, 8, -10]
    assert prepared.run({"x": X, "factor": np.array(0, np.int64)})["y"].tolist() == [0, 0, 0]
    with pytest.raises(InvalidArgument, match="dtype is int32, must be int64"):
        prepared.run([X.astype(np.int32), np.array(1, np.int64)])
    assert device.prepare(times_model(7)).run([X])[0].tolist() == [21, -28, 35]


def test_9_1_unknown_shapes_optional_and_repeated_inputs(device):
    assert device.prepare(times_model(2, dims=(0,), out=())).run([X[:2]])[0].tolist() == [6, -8]
    b = ModelBuilder()
    inputs = [b.input(AMOUNTS, (3,), parameters=unit(1)) for _ in range(3)]
    y = b.output(AMOUNTS, (3,), parameters=unit(1))
    model = b.operation(TOTAL, [*inputs, b.omitted("TENSOR_INT32")], [y]).build()
    assert device.prepare(model).run([X, X, X])[0].tolist() == [9, -12, 15]


def test_9_1_shapes_that_depend_on_data(device):
    prepared = device.prepare(one(POSITIVE, AMOUNTS, AMOUNTS, out_dims=(0,), parameters=unit(1),
                                  out_parameters=unit(1)))
    assert prepared.run([X])[0].tolist() == [3, 5]
    assert prepared.run([-X])[0].tolist() == [4]


def test_9_1_parameters_reach_the_operation(device):
    prepared = device.prepare(one(UNITS, AMOUNTS, "INT32", out_dims=(), parameters=unit(100)))
    assert prepared.run([X])[0].item() == 100


def test_9_1_types_that_are_no_numbers(device):
    colours = np.frombuffer(bytes(range(9)), "V3")
    prepared = device.prepare(one(SAME, COLOURS, COLOURS))
    assert prepared.run([colours])[0].tobytes() == bytes(range(9))
    memory = np.arange(32, dtype=np.uint8)
    prepared.execute(Request((RequestArgument(0, 1, 9),), (RequestArgument(0, 17, 9),), (memory,)))
    assert memory[17:26].tolist() == list(range(1, 10))


@pytest.mark.parametrize("shared", [False, True])
def test_5_2_requests_on_pools(device, shared):
    prepared = device.prepare(times_model(out=(0,)))
    memory = Memory.create(64) if shared else np.zeros(64, np.uint8)
    raw = memory.array() if shared else memory
    raw[:24], raw[24:32] = X.view(np.uint8), np.array([3], np.int64).view(np.uint8)
    inputs = (RequestArgument(0, 0, 24), RequestArgument(0, 24, 8))
    result = prepared.execute(Request(inputs, (RequestArgument(0, 32, 24),), (memory,)))
    assert result.shapes[0].dims == (3,) and raw[32:56].view(np.int64).tolist() == [9, -12, 15]
    with pytest.raises(OutputInsufficientSize) as caught:
        prepared.execute(Request(inputs, (RequestArgument(0, 32, 23),), (memory,)))
    assert [(s.dims, s.is_sufficient) for s in caught.value.shapes] == [((3,), False)]
    for bad in (RequestArgument(0, 0, 23), RequestArgument(0, 0, 16, dims=(2,)), RequestArgument(0, 48, 24)):
        with pytest.raises(InvalidArgument, match="request input 0"):
            prepared.execute(Request((bad, inputs[1]), (RequestArgument(0, 32, 24),), (memory,)))
    with pytest.raises(InvalidArgument, match="request input 1: a scalar has no dimensions"):
        prepared.execute(Request((inputs[0], RequestArgument(0, 24, 8, dims=(1,))), (RequestArgument(0, 32, 24),),
                                 (memory,)))


def test_3_9_fenced_and_background_executions(device):
    prepared = device.prepare(times_model())
    memory = Memory.create(64)
    memory.array()[:32] = np.array([*X, 5], np.int64).view(np.uint8)
    request = Request((RequestArgument(0, 0, 24), RequestArgument(0, 24, 8)), (RequestArgument(0, 32, 24),), (memory,))
    execution = prepared.execute_fenced(request)
    execution.fence.wait(30)
    execution.info()
    assert memory.array()[32:56].view(np.int64).tolist() == [15, -20, 25]
    assert prepared.submit([X, np.array(3, np.int64)]).result()[0].tolist() == [9, -12, 15]
    with pytest.raises(InvalidArgument):
        device.prepare(times_model(out=(0,))).execute_fenced(request)


def test_6_1_there_are_no_buffers_for_types_of_extensions(device):
    prepared = device.prepare(times_model())
    for role in ({"input_roles": [Role(prepared, 0)]}, {"input_roles": [Role(prepared, 1)]},
                 {"output_roles": [Role(prepared, 0)]}):
        with pytest.raises(GeneralFailure, match="there are no buffers for types of extensions"):
            device.allocate(**role)
    with pytest.raises(InvalidArgument, match="type is"):
        device.allocate([Role(prepared, 0), Role(prepared, 1)])


def test_10_2_types_of_extensions_go_through_control_flow(device):
    def branch(factor):
        b = ModelBuilder()
        x, y = (make(AMOUNTS, (3,), parameters=unit(1)) for make in (b.input, b.output))
        return b.operation(TIMES, [x, b.scalar(factor, FACTOR)], [y])

    b = ModelBuilder()
    b.extension_code("com.example.first", 0)  # other prefixes than those of the branches
    c, x = b.input("TENSOR_BOOL8", (1,)), b.input(AMOUNTS, (3,), parameters=unit(1))
    y = b.output(AMOUNTS, (3,), parameters=unit(1))
    model = b.operation("IF", [c, b.subgraph(branch(2)), b.subgraph(branch(10)), x], [y]).build()
    prepared = device.prepare(model)
    assert prepared.run([np.ones(1, np.uint8), X])[0].tolist() == [6, -8, 10]
    assert prepared.run([np.zeros(1, np.uint8), X])[0].tolist() == [30, -40, 50]
    other = Device(extensions=[])
    assert other.supported_operations(model) == [False]
    with pytest.raises(InvalidArgument, match=r"referenced\[0\].operation\[0\] extension operation 0x00020002: this"):
        other.prepare(model)


def test_10_2_a_branch_that_ignores_an_input_of_an_unknown_type(device):
    def branch():
        b = ModelBuilder()
        b.input(FACTOR)
        x, y = b.input("TENSOR_FLOAT32", (3,)), b.output("TENSOR_FLOAT32", (3,))
        return b.operation("RELU", [x], [y])

    b = ModelBuilder()
    c, f, x = b.input("TENSOR_BOOL8", (1,)), b.scalar(1, FACTOR), b.input("TENSOR_FLOAT32", (3,))
    y = b.output("TENSOR_FLOAT32", (3,))
    model = b.operation("IF", [c, b.subgraph(branch()), b.subgraph(branch()), f, x], [y]).build()
    prepared = device.prepare(model)
    assert prepared.run([np.ones(1, np.uint8), np.array([1, -1, 2], np.float32)])[0].tolist() == [1, 0, 2]
    other = Device(extensions=[])
    assert other.supported_operations(model) == [False]
    with pytest.raises(InvalidArgument, match=r"referenced\[0\].operand\[0\]: type is extension type 0x00010003, this"):
        other.prepare(model)


def test_several_threads(device):
    prepared = device.prepare(times_model())
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda n: prepared.run([X, np.array(n, np.int64)])[0].tolist(), range(50)))
    assert results == [(X * n).tolist() for n in range(50)]


def test_7_cached_and_pickled_models_keep_extensions_and_parameters(registered, tmp_path):
    device = Device(num_threads=1)
    model = one(UNITS, AMOUNTS, "INT32", out_dims=(), parameters=unit(77))
    for _ in range(2):
        prepared = device.prepare(model, cache_dir=str(tmp_path))
        assert prepared.run([X])[0].item() == 77
    stored = sorted(tmp_path.iterdir())
    assert len(stored) == 2
    device.prepare(one(UNITS, AMOUNTS, "INT32", out_dims=(), parameters=unit(78)), cache_dir=str(tmp_path))
    assert len(list(tmp_path.iterdir())) == 4
    assert pickle.loads(pickle.dumps(prepared)).run([X])[0].item() == 77
    extensions.unregister(NAME)
    with pytest.raises(InvalidArgument, match="does not have extension com.example.money"):
        pickle.loads(pickle.dumps(prepared))


# -- mistakes of an extension ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("mistake, words", [
    ("raises", "run of extension com.example.mistakes raised TypeError"),
    ("dtype", "output 0: run of the extension gave float64, must be an array of float32"),
    ("shape", "output 0: run of the extension gave shape [2], infer said [3]"),
    ("count", "run of the extension must give a list of 1 arrays"), ("none", "must give a list of 1 arrays"),
    ("list", "run of the extension gave list, must be an array"),
    ("writes", "run of extension com.example.mistakes raised ValueError"),
])
def test_mistakes_end_as_general_failure(mistake, words):
    extension = mistaken(mistake)
    x = np.arange(3, dtype=np.float32)
    prepared = Device(num_threads=1, extensions=[extension]).prepare(
        one(extension.operations[0], "TENSOR_FLOAT32", "TENSOR_FLOAT32"))
    with pytest.raises(GeneralFailure) as caught:
        prepared.run([x])
    assert words in str(caught.value) and str(caught.value).startswith("main.operation[0] FAIL")
    assert x.tolist() == [0, 1, 2] and set(MISTAKES) > {mistake}


def test_an_output_never_shares_memory_with_an_input():
    extension = mistaken("alias")
    x = np.arange(3, dtype=np.float32)
    prepared = Device(num_threads=1, extensions=[extension]).prepare(
        one(extension.operations[0], "TENSOR_FLOAT32", "TENSOR_FLOAT32"))
    y, = prepared.run([x])
    assert y.tolist() == [0, 1, 2] and not np.may_share_memory(x, y)


@pytest.mark.parametrize("changes, words", [
    ({"infer": lambda node: [(1, 2), (3,)]}, "infer of the extension gave [(1, 2), (3,)], must be a list of 1 shapes"),
    ({"infer": lambda node: [(-1,)]}, "gave [(-1,)]"), ({"infer": lambda node: 3}, "gave 3, must be a list"),
    ({"infer": lambda node: 1 // 0}, "infer of extension com.example.a raised ZeroDivisionError"),
    ({"validate": lambda node: node.nothing}, "validate of extension com.example.a raised AttributeError"),
    ({"validate": lambda node: node.value("x")}, "validate asks for a value that only an execution knows"),
])
def test_mistakes_in_infer_and_validate(changes, words):
    bad = operation(**changes)
    device = Device(num_threads=1, extensions=[Extension("com.example.a", operations=[bad])])
    with pytest.raises(nnfast.Error) as caught:
        device.prepare(one(bad, "TENSOR_FLOAT32", "TENSOR_FLOAT32"))
    assert words in str(caught.value)


def test_rules_of_validate():
    bad = operation(validate=lambda node: node.fail("x", "is not to my taste"))
    device = Device(num_threads=1, extensions=[Extension("com.example.a", operations=[bad])])
    assert refused(device, one(bad, "TENSOR_FLOAT32", "TENSOR_FLOAT32")) == \
        "main.operation[0] OP input 0 (x): is not to my taste"


def test_the_example_of_the_documentation_runs():
    text = (Path(__file__).parents[2] / "docs" / "extensions.md").read_text()
    names = {"nnfast": nnfast, "np": np}
    blocks = re.findall(r"```python\n(.*?)```", text, re.S)
    assert len(blocks) == 2
    for block in blocks:
        exec(block, names)
    device = Device(num_threads=1, extensions=[names["EXTENSION"]])
    assert device.prepare(names["model"]).run([X])[0].tolist() == [8, 1, 10]
    b = ModelBuilder()
    kind, parameters = names["PRICES"], [names["PRICES"].pack(unit=n) for n in (1, 2)]
    x, y = b.input(kind, (3,), parameters=parameters[0]), b.output(kind, (3,), parameters=parameters[1])
    model = b.operation(names["ADD_PRICE"], [x, b.scalar(5, names["PRICE"])], [y]).build()
    assert "ADD_PRICE input 0 (x): unit differs from that of the output" in refused(device, model)
