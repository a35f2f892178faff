"""Executions with vendor extensions, and their mistakes [NN 9.1, 6.1, 3.14, 5.2]."""

import pickle
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import nnfast
from helpers.vendor_extensions import (
    AMOUNTS,
    COLOURS,
    FACTOR,
    MISTAKES,
    MONEY,
    NAME,
    POSITIVE,
    SAME,
    TIMES,
    TOTAL,
    UNITS,
    X,
    mistaken,
    one,
    operation,
    refused,
    times_model,
    unit,
)
from nnfast import Device, Memory, ModelBuilder, Request, RequestArgument, Role, extensions
from nnfast.errors import GeneralFailure, InvalidArgument, OutputInsufficientSize
from nnfast.extensions import Extension


@pytest.fixture
def device():
    return Device(num_threads=1, extensions=[MONEY])


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
    execution.fence.wait(600)
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
