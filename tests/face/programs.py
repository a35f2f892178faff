"""Programs against the public face, as type checkers see them: `mypy` must say nothing of this file.

Nothing here runs: what the calls return is in the annotations of the names that take it.
"""

from typing import assert_type

import numpy as np
from numpy.typing import NDArray

import nnfast
import nnfast.fuzz
import nnfast.stress
from nnfast.driver.explain import Explanation
from nnfast.driver.mapping import Results
from nnfast.driver.prepared import PreparedModel
from nnfast.driver.request import ExecutionResult
from nnfast.driver.signature import SignatureRunner
from nnfast.driver.stream import Stream
from nnfast.driver.submit import Execution
from nnfast.hal import v1_3
from nnfast.model.types import Model
from nnfast.typed import Array, DeviceBuffer, Prepared, Preparing


def run_a_file(path: str) -> Array:
    model = nnfast.load(path, input_shapes={"image": (1, 224, 224, 3)})
    assert_type(model, Model)
    device = nnfast.Device(num_threads=2, precision="bf16", without_passes=["row_fusion"])
    with device.prepare(model, priority="high", cache_dir="made") as prepared:
        assert_type(prepared, PreparedModel)
        x: NDArray[np.float32] = np.zeros((1, 224, 224, 3), np.float32)
        y, = prepared.run([x], quantize=True)
        named = prepared.run({"image": x})
        assert_type(named, dict[str, Array])
        return y + named["scores"]


def run_in_other_ways(prepared: nnfast.PreparedModel, x: NDArray[np.float32]) -> None:
    stream = prepared.stream()
    assert_type(stream, Stream)
    first: Array = stream.run([x])[0]
    future = prepared.submit([x], timeout=0.5)
    assert_type(future, Execution)
    signature = prepared.signature("serving_default", stream)
    assert_type(signature, SignatureRunner)
    scores: Array = signature(image=first)["scores"]
    with prepared.map([x] * 100, clients=2, errors="return") as results:
        assert_type(results, Results)
        for result in results:
            if isinstance(result, nnfast.FailedItem):
                print(result.place, result.error)
    with prepared.burst(spin_us=50) as burst:
        burst.run([scores])
    explanation = prepared.explain()
    assert_type(explanation, Explanation)
    with nnfast.profile() as profile:
        prepared.run([x])
    print(profile.rows[0]["ns"], explanation.rows[0]["kernel"])


def describe(prepared: nnfast.PreparedModel) -> str:
    info = prepared.inputs[0]
    shape: tuple[int, ...] | None = info.shape
    codes: Array = info.quantize([0.5, -0.25])
    reals: NDArray[np.float32] = info.dequantize(codes)
    return f"{info.name} {shape} {info.dtype} {info.scales} {info.zero_points} {reals}"


def build() -> Model:
    b = nnfast.ModelBuilder("tiny")
    x = b.input("TENSOR_FLOAT32", (1, 4), name="x")
    w = b.constant(np.eye(4, dtype=np.float32))
    bias = b.constant(np.zeros(4, np.float32))
    y = b.output(nnfast.OperandType.TENSOR_FLOAT32, (1, 4), name="y")
    b.operation(nnfast.OperationType.FULLY_CONNECTED, [x, w, bias, b.scalar(1)], [y])
    model = b.outputs(b.add("RELU", [y])).build()
    model.save("tiny.nnapi")
    data: bytes = nnfast.to_tflite(model)
    return nnfast.load(data)


def run_on_pools(device: nnfast.Device, prepared: nnfast.PreparedModel) -> ExecutionResult:
    memory = nnfast.Memory.create(4096)
    request = nnfast.Request([nnfast.RequestArgument(0, 0, 12)], [nnfast.RequestArgument(0, 64, 4)], [memory])
    fence = nnfast.Fence()
    prepared.execute_fenced(request, [fence], duration=0.5).fence.wait(1.0)
    buffer = device.allocate(output_roles=[nnfast.Role(prepared, 0)])
    buffer.copy_to(bytearray(4))
    try:
        return prepared.execute(request, measure_timing=True)
    except nnfast.UnsupportedOperator as error:
        print(error.operator, error.index, error.status.name)
        raise


def look_back(role: nnfast.Role, prepared: nnfast.PreparedModel) -> Array:
    assert_type(prepared.device, Preparing)
    print(prepared.device.num_threads, prepared.device.version, prepared.device.capabilities)
    codes = role.prepared.inputs[0].quantize([0.5])
    y, = role.prepared.run([codes])
    named = role.prepared.run({"image": codes})
    stream = role.prepared.stream()
    stream.reset()
    with role.prepared.device.prepare(nnfast.load("other.tflite"), priority="low") as other:
        assert_type(other, Prepared)
        print(other.submit([codes]).result(1.0))
        return y + named["scores"] + stream.run([codes])[0]


def run_wherever_it_is(device: Preparing) -> bytes:
    model = nnfast.load("mobilenet_v1.tflite")
    print(device.check(model), device.unsupported_reasons(model), device.without_passes)
    prepared = device.prepare(model, input_shapes={0: (2, 224, 224, 3)}, keep=["hidden"])
    buffer = device.allocate([nnfast.Role(prepared, 0)])
    buffer.copy_from(bytes(4))
    request = nnfast.Request([nnfast.RequestArgument(0)], [nnfast.RequestArgument(1, 0, 4)], [buffer, bytearray(4)])
    prepared.execute(request)
    return prepared.outputs[0].dtype.str.encode()


def run_here_and_there(model: Model) -> None:
    here, there = nnfast.Device(), nnfast.connect()
    run_wherever_it_is(here)
    run_wherever_it_is(there)
    both: list[Prepared] = [here.prepare(model), there.prepare(model)]
    buffers: list[DeviceBuffer] = [device.allocate([nnfast.Role(prepared, 0)])
                                   for device, prepared in ((here, both[0]), (there, both[1]))]
    print(buffers)


def connect() -> list[bool]:
    device = nnfast.connect("driver.sock", patience=10)
    return device.supported_operations(nnfast.load("mobilenet_v1.tflite"))


def interpret(path: str) -> Array:
    interpreter = nnfast.Interpreter(model_path=path, num_threads=2)
    interpreter.allocate_tensors()
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"])


def add_through_the_hal(callback: object) -> list[v1_3.OutputShape]:
    tensor = v1_3.Operand(v1_3.OperandType.TENSOR_FLOAT32, [2], lifetime=v1_3.OperandLifeTime.SUBGRAPH_INPUT)
    model = v1_3.Model(v1_3.Subgraph([tensor], [v1_3.Operation(v1_3.OperationType.RELU, [0], [1])], [0], [1]))
    device = v1_3.Device(nnfast.Device())
    status, supported = device.getSupportedOperations_1_3(model)
    assert_type(supported, list[bool])
    if status != v1_3.ErrorStatus.NONE:
        print(device.last_error())
    device.prepareModel_1_3(model, v1_3.ExecutionPreference.FAST_SINGLE_ANSWER, v1_3.Priority.MEDIUM, None, [], [],
                            bytes(32), callback)
    prepared = v1_3.PreparedModel(device, nnfast.Device().prepare(nnfast.load("m.tflite")))
    _, shapes, timing = prepared.executeSynchronously_1_3(v1_3.Request(), v1_3.MeasureTiming.YES, None, None)
    assert_type(timing, v1_3.Timing)
    return shapes


def prove(paths: list[str]) -> str:
    results = nnfast.conformance.run(paths, kinds="general", sample=100)
    found = nnfast.fuzz.run(["tflite"], minutes=0.1)
    ended = nnfast.stress.run(["parallel_inference"], minutes=0.1)
    return f"{results.failed} {[one.reason for one in found]} {[one.outcome for one in ended]}"
