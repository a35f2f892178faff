"""The tests of the standard's fibonacci extension [NN 9.6], its rules [NN 9.4], and the same under HAL 1.2 and 1.3."""

import sys
import threading
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from fibonacci_extension import (
    EXAMPLE_FIBONACCI,
    EXAMPLE_INT64,
    EXAMPLE_TENSOR_QUANT64_ASYMM,
    EXTENSION,
    NAME,
)

import nnfast
from nnfast import Device, Memory, ModelBuilder, Request, RequestArgument, extensions
from nnfast.errors import ErrorStatus, GeneralFailure, InvalidArgument, OutputInsufficientSize
from nnfast.hal import types as hidl
from nnfast.hal import v1_2, v1_3
from nnfast.hal.layout import from_canonical

INT64, QUANT64, FLOAT = EXAMPLE_INT64, EXAMPLE_TENSOR_QUANT64_ASYMM, "TENSOR_FLOAT32"
SEQUENCE = [1, 1, 2, 3, 5, 8, 13, 21, 34, 55]
CODES = [12, 12, 14, 16, 20, 26, 36, 52, 78, 120]


@pytest.fixture
def device():
    """The device with the extension."""
    return Device(num_threads=1, extensions=[EXTENSION])


@pytest.fixture
def other():
    """A device that does not have it."""
    return Device(num_threads=1, extensions=[])


def fibonacci(n=INT64, out=QUANT64, count=0, inputs=1, outputs=1, dims=None, operation=EXAMPLE_FIBONACCI, scale=0.5,
              zero_point=10):
    """y = FIBONACCI(n); count: length of y, 0 = unknown; inputs, outputs: how many of each."""
    b = ModelBuilder("fibonacci")
    dims = (() if n is INT64 else (1,)) if dims is None else dims
    parameters = QUANT64.pack(scale=scale, zeroPoint=zero_point) if out is QUANT64 else None
    sources = [b.input(n, dims) for _ in range(inputs)]
    targets = [b.output(out, (count,), parameters=parameters) for _ in range(outputs)]
    code = b.extension_code(NAME, operation) if isinstance(operation, int) else operation
    return b.operation(code, sources, targets).build()


def run(device, model, n, dtype=np.int64, shape=()):
    return device.prepare(model).run([np.full(shape, n, dtype)])[0]


def refused(device, model):
    """The reason why a model is not supported and does not compile."""
    with pytest.raises(InvalidArgument):
        device.supported_operations(model)
    with pytest.raises(InvalidArgument) as caught:
        device.prepare(model)
    return str(caught.value)


# -- [NN 9.6] ----------------------------------------------------------------------------------------------------------
def test_9_6_extension_support(device, other):
    assert NAME in device.extensions and NAME not in other.extensions
    for module in (v1_2, v1_3):
        status, found = module.Device(device).getSupportedExtensions()
        assert status == ErrorStatus.NONE
        assert [(e.name, [(t.type, t.isTensor, t.byteSize) for t in e.operandTypes]) for e in found] == \
            [(NAME, [(0, False, 8), (1, True, 8)])]
        assert module.Device(other).getSupportedExtensions() == (ErrorStatus.NONE, [])


@pytest.mark.parametrize("count", [0, 10])
def test_9_6_model_with_extension_operand_types(device, count):
    model = fibonacci(count=count)
    assert device.supported_operations(model) == [True]
    result = run(device, model, 10)
    assert result.dtype == np.uint64 and result.tolist() == CODES


def test_9_6_model_with_temporaries(device, other):
    b = ModelBuilder()
    n, y = b.input(FLOAT, (1,)), b.output(FLOAT, (10,))
    zero, none = b.constant([0.0]), b.scalar(0)
    same, sequence = b.operand(FLOAT, (1,)), b.operand(FLOAT, (10,))
    b.operation("ADD", [n, zero, none], [same])
    b.operation(EXAMPLE_FIBONACCI, [same], [sequence])
    model = b.operation("ADD", [sequence, zero, none], [y]).build()
    assert other.supported_operations(model) == [True, False, True]
    assert device.supported_operations(model) == [True, True, True]
    assert device.prepare(model).run([np.array([10], np.float32)])[0].tolist() == SEQUENCE


def test_9_6_model_with_temporaries_of_the_extensions_types(device):
    """The runtime's limit [NN 9.3], which is not one here."""
    copy = extensions.Operation("COPY", 0, "x:X -> y:X", {"X": [QUANT64]}, infer=lambda node: [node["x"].shape],
                                run=lambda node, inputs: [inputs[0]])
    both = Device(num_threads=1, extensions=[EXTENSION, extensions.Extension("com.example.copy", (), [copy])])
    b = ModelBuilder()
    parameters = QUANT64.pack(scale=0.5, zeroPoint=10)
    n, y = b.input(INT64), b.output(QUANT64, (), parameters=parameters)
    between = b.operand(QUANT64, (0,), parameters=parameters)
    model = b.operation(EXAMPLE_FIBONACCI, [n], [between]).operation(copy, [between], [y]).build()
    assert run(both, model, 10).tolist() == CODES


def test_9_6_invalid_input_type(device):
    assert "FIBONACCI input 0 (n): type TENSOR_INT32, must be TENSOR_FLOAT32 or EXAMPLE_INT64" in \
        refused(device, fibonacci("TENSOR_INT32"))


def test_9_6_invalid_output_type(device):
    assert "output 0 (sequence): type TENSOR_INT32, must be TENSOR_FLOAT32 or EXAMPLE_TENSOR_QUANT64_ASYMM" in \
        refused(device, fibonacci(out="TENSOR_INT32"))


def test_9_6_invalid_input_value(device):
    model = fibonacci(FLOAT, FLOAT)
    assert device.supported_operations(model) == [True]
    with pytest.raises(GeneralFailure, match="is -1.0, must be at least 1"):
        run(device, model, -1.0, np.float32, (1,))


def test_9_6_invalid_number_of_inputs(device):
    assert "has 2 inputs, must have 1" in refused(device, fibonacci(inputs=2))


def test_9_6_invalid_number_of_outputs(device):
    assert "has 2 outputs, must have 1" in refused(device, fibonacci(outputs=2))


def test_9_6_invalid_operation(device):
    assert "extension operation 0x00010001 does not exist in com.example.fibonacci" in \
        refused(device, fibonacci(operation=1))


def test_9_6_get_supported_operations(device, other):
    model = fibonacci(FLOAT, FLOAT)
    assert device.supported_operations(model) == [True] and other.supported_operations(model) == [False]
    with pytest.raises(InvalidArgument, match="this device does not have extension com.example.fibonacci"):
        other.prepare(model)


# -- [NN 9.4] ----------------------------------------------------------------------------------------------------------
def exact(n):
    numbers = [1, 1]
    while len(numbers) < n:
        numbers.append(sum(numbers[-2:]))
    return numbers[:n]


@pytest.mark.parametrize("n", [1, 2, 3, 36, 78, 93])
def test_9_4_numbers(device, n):
    model = fibonacci(scale=1.0, zero_point=0)
    assert run(device, model, n).tolist() == [int(float(number)) for number in exact(n)]
    floats = run(device, fibonacci(out=FLOAT), n)
    assert floats.dtype == np.float32 and floats.tolist() == np.array(exact(n), np.float64).astype(np.float32).tolist()


@pytest.mark.parametrize("n, count", [(1.0, 1), (1.99, 1), (10.5, 10), (93.9, 93)])
def test_9_4_floats_are_truncated_toward_zero(device, n, count):
    assert len(run(device, fibonacci(FLOAT, FLOAT), n, np.float32, (1,))) == count


@pytest.mark.parametrize("n", [0, -1, -(1 << 63), 94, (1 << 63) - 1])
def test_9_4_what_cannot_be_counted(device, n):
    prepared = device.prepare(fibonacci())
    with pytest.raises(GeneralFailure, match="input 0 .n.: is"):
        prepared.run([np.array(n, np.int64)])
    assert prepared.run([np.array(10, np.int64)])[0].tolist() == CODES


@pytest.mark.parametrize("n", [0.0, 0.99, -0.5, 94.0, np.inf, -np.inf, np.nan, 1e30])
def test_9_4_floats_that_are_no_count(device, n):
    with pytest.raises(GeneralFailure, match="input 0 .n.: is"):
        run(device, fibonacci(FLOAT), n, np.float32, (1,))


@pytest.mark.parametrize("dims", [(2,), (1, 3)])
def test_9_4_one_element(device, dims):
    assert "must have exactly one element" in refused(device, fibonacci(FLOAT, dims=dims))
    prepared = device.prepare(fibonacci(FLOAT, dims=(0,) * len(dims)))
    with pytest.raises(GeneralFailure, match="must have exactly one element"):
        prepared.run([np.ones(dims, np.float32)])
    assert prepared.run([np.full([1] * len(dims), 10, np.float32)])[0].tolist() == CODES


def test_9_4_constant_n(device):
    def model(n):
        b = ModelBuilder()
        y = b.output(QUANT64, (), parameters=QUANT64.pack(scale=0.5, zeroPoint=10))
        return b.operation(EXAMPLE_FIBONACCI, [b.scalar(n, INT64)], [y]).build()

    prepared = device.prepare(model(10))
    assert prepared.run([])[0].tolist() == CODES and not prepared.explain().dynamic
    assert device.supported_operations(model(0)) == [False]


@pytest.mark.parametrize("scale, zero_point", [(1e-30, 0), (1.0, -2), (1.0, (1 << 63) - 1)])
def test_9_4_codes_that_do_not_fit(device, scale, zero_point):
    model = fibonacci(scale=scale, zero_point=zero_point)
    with pytest.raises(GeneralFailure, match="must fit unsigned 64 bits"):
        run(device, model, 93)


@pytest.mark.parametrize("parameters, words", [
    (None, "has no bytes of parameters"), (b"", "has 0 bytes"), (bytes(8), "has 8 bytes"), (bytes(17), "has 17 bytes"),
    (bytes(16), "scale is 0, must be finite and > 0"), (QUANT64.pack(scale=np.nan, zeroPoint=0), "scale is nan"),
    (QUANT64.pack(scale=-1, zeroPoint=0), "scale is -1"), (QUANT64.pack(scale=np.inf, zeroPoint=0), "scale is inf"),
])
def test_9_4_parameters(device, parameters, words):
    b = ModelBuilder()
    y = b.output(QUANT64, (0,), parameters=parameters)
    assert words in refused(device, b.operation(EXAMPLE_FIBONACCI, [b.input(INT64)], [y]).build())


def test_9_4_struct_is_two_fields_in_native_layout():
    assert QUANT64.pack(scale=0.5, zeroPoint=-10) == np.float64(0.5).tobytes() + np.int64(-10).tobytes()


def test_9_4_declared_length(device):
    assert "output 0: rank is 2, must be 1" in refused(device, edit_output(fibonacci(count=10), (5, 2)))
    with pytest.raises(GeneralFailure, match=r"output 0: shape is \[9\], the model declares \[10\]"):
        run(device, fibonacci(count=10), 9)


def edit_output(model, dims):
    operands = list(model.main.operands)
    operands[model.main.outputs[0]] = replace(operands[model.main.outputs[0]], dims=dims)
    return model.with_main(operands=tuple(operands))


@pytest.mark.parametrize("nbytes, status", [(80, "enough"), (96, "enough"), (79, "too small"), (1, "too small")])
def test_3_14_output_sizes(device, nbytes, status):
    memory = np.zeros(128, np.uint8)
    memory[:8].view(np.int64)[:] = 10
    request = Request((RequestArgument(0, 0, 8),), (RequestArgument(0, 16, nbytes),), (memory,))
    prepared = device.prepare(fibonacci())
    if status == "enough":
        assert [(s.dims, s.is_sufficient) for s in prepared.execute(request).shapes] == [((10,), True)]
        assert memory[16:96].view(np.uint64).tolist() == CODES
    else:
        with pytest.raises(OutputInsufficientSize) as caught:
            prepared.execute(request)
        assert [(s.dims, s.is_sufficient) for s in caught.value.shapes] == [((10,), False)] and not memory[16:].any()


# -- through the HAL, and as an installed package ----------------------------------------------------------------------
class Callback:
    def __init__(self):
        self.told, self.results = threading.Event(), None

    def notify_1_2(self, *results):
        self.results = results
        self.told.set()

    notify_1_3 = notify_1_2


@pytest.mark.parametrize("module", [v1_2, v1_3])
def test_9_5_through_the_hal(device, module):
    face, callback = module.Device(device), Callback()
    model = from_canonical(fibonacci(), face.hal)
    version = face.hal.replace(".", "_")
    assert getattr(face, f"getSupportedOperations_{version}")(model) == (ErrorStatus.NONE, [True])
    arguments = (1, [], [], bytes(32)) if module is v1_2 else (1, 1, None, [], [], bytes(32))
    assert getattr(face, f"prepareModel_{version}")(model, *arguments, callback) == ErrorStatus.NONE
    assert callback.told.wait(30)
    status, prepared = callback.results
    assert status == ErrorStatus.NONE
    memory = Memory.create(128)

    def execute(n):
        memory.array()[:8].view(np.int64)[:] = n
        pools = [memory] if module is v1_2 else [hidl.MemoryPool(memory)]
        request = hidl.Request([hidl.RequestArgument(False, hidl.DataLocation(0, 0, 8))],
                               [hidl.RequestArgument(False, hidl.DataLocation(0, 16, 80))], pools)
        if module is v1_2:
            return prepared.executeSynchronously(request, 0)
        return prepared.executeSynchronously_1_3(request, 0, None, None)

    assert execute(10)[:2] == (ErrorStatus.NONE, [hidl.OutputShape([10], True)])
    assert memory.array()[16:96].view(np.uint64).tolist() == CODES
    assert execute(0)[:2] == (ErrorStatus.GENERAL_FAILURE, [])
    assert execute(11)[:2] == (ErrorStatus.OUTPUT_INSUFFICIENT_SIZE, [hidl.OutputShape([11], False)])


def test_entry_point(monkeypatch, tmp_path):
    """What installing the package writes makes load_installed find it."""
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    (group, entries), = project["entry-points"].items()
    info = tmp_path / "fibonacci-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    (info / "entry_points.txt").write_text(f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in entries.items()))
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    assert NAME in nnfast.extensions.load_installed()
    try:
        assert Device(num_threads=1).supported_operations(fibonacci()) == [True]
    finally:
        extensions.unregister(NAME)
