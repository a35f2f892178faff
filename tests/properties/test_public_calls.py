"""Every public call takes every Python object for each of its parameters: it works, or raises an nnfast.Error.

What the methods of a caller's own objects raise may pass through. Messages are one line of at most 1,000 characters.
"""

import dataclasses
import inspect
import os
import re
import types

import numpy as np
import pytest

import nnfast
from helpers.odd_values import ODD, attempt, parameters
from nnfast import fmq, hal, vlog
from nnfast.driver import controller, explain, fenced, stream, submit
from nnfast.driver.request import ExecutionResult
from nnfast.model import types as model_types
from nnfast.service.spawn import service_device

F32 = np.float32
LIMIT_SECONDS = 60.0


# -- valid calls -------------------------------------------------------------------------------------------------------
def add_builder():
    b = nnfast.ModelBuilder("add")
    x = b.input("TENSOR_FLOAT32", (2,), name="x")
    b.operation("ADD", [x, b.constant(np.ones(2, F32)), b.scalar(0)], [b.output("TENSOR_FLOAT32", (2,), name="y")])
    return b


def request(**changes):
    given = {"inputs": (nnfast.RequestArgument(0, 0, 8),), "outputs": (nnfast.RequestArgument(0, 8, 8),),
             "pools": (nnfast.Memory.create(16),)}
    return nnfast.Request(**{**given, **changes})


class World:
    """One valid object of each kind. device: which prepares the model."""

    def __init__(self, device):
        self.device = device
        self.model = add_builder().build()
        self.prepared = self.device.prepare(self.model)
        self.x = np.ones(2, F32)
        self.fence = nnfast.Fence()
        self.fence.signal()
        self.role = nnfast.Role(self.prepared, 0)

    def with_operand(self, place, **changes):
        operands = list(self.model.main.operands)
        operands[place] = dataclasses.replace(operands[place], **changes)
        return self.model.with_main(operands=tuple(operands))

    def use(self, model):
        """Whatever looks at a model."""
        self.device.check(model)
        self.device.prepare(model).run([self.x])
        repr(model)

    def buffer(self):
        return self.device.allocate([self.role])

    def queue(self):
        queue = fmq.MessageQueue.create(F32, 4)
        queue.write(np.ones(2, F32))
        return queue


def argument(world, role, **changes):
    """Execute a request, one argument of which has other fields."""
    valid = {"pool": 0, "offset": 0 if role == "inputs" else 8, "length": 8, "dims": (), "has_no_value": False}
    world.prepared.execute(request(**{role: (nnfast.RequestArgument(**{**valid, **changes}),)}))


def with_burst(world, call):
    with world.prepared.burst() as burst:
        return call(burst)


def extension_type(**changes):
    return nnfast.extensions.Type(**{"name": "T", "id": 1, "dtype": F32, **changes})


def extension_operation(**changes):
    return nnfast.extensions.Operation(**{"name": "OP", "id": 1, "signature": "x:F32 -> y:F32", "types": {},
                                          "run": lambda node, inputs: inputs, "infer": lambda node: [node["x"].shape],
                                          **changes})


def quantized_info():
    return nnfast.TensorInfo("x", (2,), np.dtype(np.uint8), 5, 0.5, 128, None, 0)


def drained(results):
    """Raise what any item failed on, but for what `prepare` raised."""
    with results:
        for result in results:
            if isinstance(result, nnfast.FailedItem) and not hasattr(result.error, "__notes__"):
                raise result.error


def fields(kind):
    return [field.name for field in dataclasses.fields(kind) if field.init]


def recipes():
    """{name: (world -> callable, world -> valid arguments by name)}; names are those of public_calls()."""
    def none(w):
        return {}

    found = {
        "Device": (lambda w: nnfast.Device, lambda w: {"num_threads": 1}),
        "Device.check": (lambda w: w.device.check, lambda w: {"model": w.model}),
        "Device.supported_operations": (lambda w: w.device.supported_operations, lambda w: {"model": w.model}),
        "Device.unsupported_reasons": (lambda w: w.device.unsupported_reasons, lambda w: {"model": w.model}),
        "Device.prepare": (lambda w: w.device.prepare, lambda w: {"model": w.model}),
        "Device.submit_prepare": (lambda w: w.device.submit_prepare,
                                  lambda w: {"model": w.model, "done": lambda prepared, error: None}),
        "Device.submit_load": (lambda w: w.device.submit_load,
                               lambda w: {"load": lambda deadline: w.prepared, "done": lambda prepared, error: None}),
        "Device.prepare_from_cache": (lambda w: w.device.prepare_from_cache,
                                      lambda w: {"cache": nnfast.CacheFiles((0,), (0,)), "token": bytes(32)}),
        "Device.cached": (lambda w: w.device.cached,
                          lambda w: {"cache": nnfast.CacheFiles((0,), (0,)), "token": bytes(32)}),
        "Device.allocate": (lambda w: w.device.allocate, lambda w: {"input_roles": [w.role]}),
        "PreparedModel.run": (lambda w: w.prepared.run, lambda w: {"inputs": [w.x]}),
        "PreparedModel.run of a dict": (lambda w: lambda x, out=None: w.prepared.run({"x": x}, out),
                                        lambda w: {"x": w.x}),
        "PreparedModel.run of a list": (lambda w: lambda x, out: w.prepared.run([x], [out]),
                                        lambda w: {"x": w.x, "out": np.empty(2, F32)}),
        "PreparedModel.signature": (lambda w: w.prepared.signature, lambda w: {"key": None}),
        "TensorInfo.quantize": (lambda w: quantized_info().quantize, lambda w: {"values": w.x}),
        "TensorInfo.dequantize": (lambda w: quantized_info().dequantize, lambda w: {"codes": np.ones(2, np.uint8)}),
        "tflite.register": (lambda w: nnfast.tflite.register,
                            lambda w: {"name": "Mine", "operation": extension_operation()}),
        "tflite.unregister": (lambda w: nnfast.tflite.unregister, lambda w: {"name": "Mine"}),
        "to_tflite": (lambda w: nnfast.to_tflite, lambda w: {"model": w.model}),
        "Model.save": (lambda w: w.model.save, lambda w: {"path": "m.nnapi"}),
        "PreparedModel.execute": (lambda w: w.prepared.execute, lambda w: {"request": request()}),
        "PreparedModel.submit_request": (
            lambda w: lambda request, done, deadline=None, loop_timeout=None, measure_timing=False:
            w.prepared.submit_request(request, done, deadline=deadline, loop_timeout=loop_timeout,
                                      measure_timing=measure_timing),
            lambda w: {"request": request(), "done": lambda result, error: None}),
        "PreparedModel.execute_fenced": (
            lambda w: lambda **options: w.prepared.execute_fenced(**options).fence.wait(LIMIT_SECONDS),
            lambda w: {"request": request(), **dict.fromkeys(("deadline", "loop_timeout", "duration")), "wait_for": (),
                       "measure_timing": False}),
        "PreparedModel.submit": (lambda w: w.prepared.submit, lambda w: {"inputs": [w.x]}),
        "PreparedModel.burst": (lambda w: lambda capacity, spin_us: w.prepared.burst(capacity, spin_us).close(),
                                lambda w: {"capacity": 64, "spin_us": 0}),
        "PreparedModel.configure_burst": (
            lambda w: lambda **options: w.prepared.configure_burst(**options).close(),
            lambda w: {"get_memories": lambda slots: [], "spin_us": 0,
                       "requests": fmq.MessageQueue.create(fmq.REQUEST_DATUM, 64),
                       "results": fmq.MessageQueue.create(fmq.RESULT_DATUM, 64)}),
        "Stream.run": (lambda w: w.prepared.stream().run, lambda w: {"inputs": [w.x]}),
        "PreparedModel.map": (lambda w: lambda **options: drained(w.prepared.map(**options)),
                              lambda w: {"inputs": [w.x, [w.x]], "batch": 1, "clients": 1, "ahead": 2, "prepare": None,
                                         "errors": "return"}),
        "Execution.result": (lambda w: w.prepared.submit([w.x]).result, none),
        "Execution.exception": (lambda w: w.prepared.submit([w.x]).exception, none),
        "Controller.run": (lambda w: lambda inputs: with_burst(w, lambda burst: burst.run(inputs)),
                           lambda w: {"inputs": [w.x]}),
        "Controller.execute": (lambda w: lambda **options: with_burst(w, lambda burst: burst.execute(**options)),
                               lambda w: {"request": request(), "measure_timing": False}),
        "Controller.free": (lambda w: lambda memory: with_burst(w, lambda burst: burst.free(memory)),
                            lambda w: {"memory": nnfast.Memory.create(4)}),
        "Request": (lambda w: lambda **changes: w.prepared.execute(request(**changes)),
                    lambda w: {name: getattr(request(), name) for name in fields(nnfast.Request)}),
        "Request with one pool": (lambda w: lambda pool: w.prepared.execute(request(pools=(pool,))),
                                  lambda w: {"pool": bytearray(16)}),
        "RequestArgument of an input": (lambda w: lambda **changes: argument(w, "inputs", **changes),
                                        lambda w: dict.fromkeys(fields(nnfast.RequestArgument), nnfast)),
        "RequestArgument": (lambda w: lambda **changes: argument(w, "outputs", **changes),
                            lambda w: dict.fromkeys(fields(nnfast.RequestArgument), nnfast)),
        "Role": (lambda w: lambda **changes: w.device.allocate(
            [nnfast.Role(**{"prepared": w.prepared, "index": 0, "frequency": 1.0, **changes})]), lambda w: {
                "prepared": w.prepared, "index": 0, "frequency": 1.0}),
        "CacheFiles": (lambda w: lambda **files: w.device.cached(nnfast.CacheFiles(**files), bytes(32)),
                       lambda w: {"model": (0,), "data": (0,)}),
        "Fence.wait": (lambda w: w.fence.wait, none),
        "Fence.from_fd": (lambda w: nnfast.Fence.from_fd, lambda w: {"fd": w.fence.fileno()}),
        "Memory": (lambda w: nnfast.Memory, lambda w: {"kind": "ashmem", "fd": 0, "size": 1, "prot": 3, "offset": 0}),
        "Memory.create": (lambda w: nnfast.Memory.create, lambda w: {"size": 8, "kind": "ashmem"}),
        "Memory.part": (lambda w: nnfast.Memory.create(8).part, lambda w: {"offset": 0, "size": 4, "writable": True}),
        "Memory.read": (lambda w: nnfast.Memory.create(8).read, lambda w: {"offset": 0, "length": 4}),
        "Memory.write": (lambda w: nnfast.Memory.create(8).write, lambda w: {"offset": 0, "array": np.ones(2, F32)}),
        "Buffer.copy_from": (lambda w: w.buffer().copy_from, lambda w: {"source": bytes(8), "dims": ()}),
        "Buffer.copy_to": (lambda w: w.buffer().copy_to, lambda w: {"target": bytearray(8)}),
        "load": (lambda w: nnfast.load, lambda w: {"source": b"TFL3", "relaxed": False}),
        "tflite.load": (lambda w: nnfast.tflite.load, lambda w: {"source": b"TFL3", "relaxed": False}),
        "connect": (lambda w: lambda path=None, precision=None: nnfast.connect(path, precision),
                    lambda w: {"path": "/nonexistent/s", "precision": None}),
        "profile.add": None,
        "vlog.set": (lambda w: vlog.set, lambda w: {"text": ""}),
        "vlog.parse": (lambda w: vlog.parse, lambda w: {"text": ""}),
        "trace.Recorder.save": (lambda w: nnfast.trace.Recorder().save, lambda w: {"path": os.devnull}),
        "conformance.run": (lambda w: nnfast.conformance.run, lambda w: {"paths": []}),
        "extensions.Type": (lambda w: lambda **changes: extension_type(**changes), lambda w: {
            "name": "T", "id": 1, "dtype": F32, "is_tensor": True, "parameters": None, "check": None}),
        "extensions.Type.pack": (lambda w: lambda unit: extension_type(parameters=[("unit", "i4")]).pack(unit=unit),
                                 lambda w: {"unit": 1}),
        "extensions.Type.unpack": (lambda w: extension_type(parameters=[("unit", "i4")]).unpack,
                                   lambda w: {"path": "p", "raw": bytes(4)}),
        "extensions.Operation": (lambda w: lambda **changes: extension_operation(**changes), lambda w: {
            "name": "OP", "id": 1, "signature": "x:F32 -> y:F32", "types": {}, "run": print, "infer": print,
            "validate": None, "data_dependent": False, "zero_sized": False}),
        "extensions.Extension": (lambda w: nnfast.extensions.Extension, lambda w: {"name": "com.example.odd"}),
        "extensions.register": (lambda w: nnfast.extensions.register, lambda w: {"extension": None}),
        "extensions.unregister": (lambda w: nnfast.extensions.unregister, lambda w: {"name": "com.example.odd"}),
        "extensions.load_installed": (lambda w: nnfast.extensions.load_installed,
                                      lambda w: {"failed": lambda entry, error: None}),
        "extensions.chosen": (lambda w: nnfast.extensions.chosen, lambda w: {"given": None}),
        "Model": (lambda w: lambda **changes: w.use(dataclasses.replace(w.model, **changes)),
                  lambda w: {name: getattr(w.model, name) for name in fields(nnfast.Model)}),
        "Model.with_main": (lambda w: lambda **changes: w.use(w.model.with_main(**changes)),
                            lambda w: {name: getattr(w.model.main, name) for name in fields(model_types.Subgraph)}),
        "Operation of a model": (
            lambda w: lambda **changes: w.use(w.model.with_main(operations=(
                dataclasses.replace(w.model.main.operations[0], **changes),))),
            lambda w: {name: getattr(w.model.main.operations[0], name) for name in fields(model_types.Operation)}),
        "State of a model": (lambda w: lambda **changes: w.use(dataclasses.replace(w.model, states=(
            model_types.State(**{"input": 0, "output": 0, **changes}),))),
            lambda w: {"input": 0, "output": 0, "initial": w.x}),
        "fmq.MessageQueue.create": (lambda w: fmq.MessageQueue.create,
                                    lambda w: {"dtype": F32, "capacity": 4, "event_flag": True}),
        "fmq.MessageQueue.attach": (lambda w: fmq.MessageQueue.attach,
                                    lambda w: {"descriptor": w.queue().descriptor, "dtype": F32, "reset": False}),
        "fmq.MessageQueue.write": (lambda w: w.queue().write, lambda w: {"elements": np.ones(2, F32), "timeout": 0}),
        "fmq.MessageQueue.read": (lambda w: w.queue().read, lambda w: {"n": 1, "timeout": 0}),
        "fmq.MessageQueue.wait_readable": (lambda w: w.queue().wait_readable, lambda w: {"n": 1, "timeout": 0}),
        "fmq.MessageQueue.wait_writable": (lambda w: w.queue().wait_writable, lambda w: {"n": 1, "timeout": 0}),
        "fmq.MessageQueue.begin_write": (lambda w: w.queue().begin_write, lambda w: {"n": 1}),
        "fmq.MessageQueue.commit_write": (lambda w: w.queue().commit_write, lambda w: {"n": 0}),
        "fmq.MessageQueue.begin_read": (lambda w: w.queue().begin_read, lambda w: {"n": 1}),
        "fmq.MessageQueue.commit_read": (lambda w: w.queue().commit_read, lambda w: {"n": 0}),
        "fmq.MessageQueue.wake": (lambda w: w.queue().wake, lambda w: {"mask": 1}),
        "fmq.Descriptor": (
            lambda w: lambda **changes: fmq.MessageQueue.attach(
                dataclasses.replace(w.queue().descriptor, **changes), F32),
            lambda w: {name: getattr(w.queue().descriptor, name) for name in fields(fmq.Descriptor)}),
        "fmq.Descriptor.from_table": (lambda w: fmq.Descriptor.from_table, lambda w: {
            "table": w.queue().descriptor.table(), "fds": (0,), "quantum": 4}),
        "fmq.Grantor": (
            lambda w: lambda **changes: fmq.MessageQueue.attach(dataclasses.replace(
                (queue := w.queue()).descriptor, grantors=(dataclasses.replace(queue.descriptor.grantors[0], **changes),
                                                           *queue.descriptor.grantors[1:])), F32),
            lambda w: {"flags": 0, "fd_index": 0, "offset": 0, "extent": 8}),
    }
    for place, kind in enumerate(("input", "constant", "scalar", "output")):
        found[f"Operand of a model, {kind}"] = (
            lambda w, place=place: lambda **changes: w.use(w.with_operand(place, **changes)),
            lambda w, place=place: {name: getattr(w.model.main.operands[place], name)
                                    for name in fields(model_types.Operand)})
    found |= builder_recipes() | hal_recipes()
    return {name: recipe for name, recipe in found.items() if recipe is not None}


def builder_recipes():
    def built(b):
        b.build()

    def method(name, valid):
        return (lambda w: lambda **options: (b := add_builder(), getattr(b, name)(**options), built(b)),
                lambda w: valid)

    operand = {"type": "TENSOR_FLOAT32", "dims": (2,), "scale": 0.0, "zero_point": 0, "channel_quant": None, "name": "",
               "parameters": None}
    return {
        "ModelBuilder": (lambda w: lambda name: nnfast.ModelBuilder(name).build(), lambda w: {"name": ""}),
        "ModelBuilder.operand": method("operand", operand), "ModelBuilder.input": method("input", operand),
        "ModelBuilder.output": method("output", operand),
        "ModelBuilder.constant": method("constant", {"array": np.ones(2, F32), "type": None, "scale": 0.0,
                                                     "zero_point": 0, "channel_quant": None, "name": "",
                                                     "parameters": None}),
        "ModelBuilder.constant of integers": method("constant", {"array": np.ones(2, np.int8), "scale": 1.0}),
        "ModelBuilder.scalar": method("scalar", {"value": 1, "type": None, "name": "", "parameters": None}),
        "ModelBuilder.omitted": method("omitted", {"type": "TENSOR_FLOAT32", "scale": 0, "zero_point": 0,
                                                   "channel_quant": None}),
        "ModelBuilder.subgraph": method("subgraph", {"builder": None, "name": ""}),
        "ModelBuilder.extension_code": method("extension_code", {"extension": "com.example.odd", "id": 1}),
        "ModelBuilder.operation": method("operation", {"code": "RELU", "inputs": [0], "outputs": [1]}),
        "ModelBuilder.add": method("add", {"code": "RELU", "inputs": [0], "out": None, "name": ""}),
        "ModelBuilder.inputs": ((lambda w: lambda handle: (b := add_builder(), b.inputs(handle), built(b))),
                                lambda w: {"handle": 0}),
        "ModelBuilder.outputs": ((lambda w: lambda handle: (b := add_builder(), b.outputs(handle), built(b))),
                                 lambda w: {"handle": 3}),
        "ModelBuilder.relaxed": method("relaxed", {"flag": True}),
        "ModelBuilder.state": method("state", {"input": 0, "output": 3, "initial": None}),
    }


def hal_recipes():
    """Functions of hal.utils, hal.convert and hal.validate; the methods of devices never raise at all (tests/hal)."""
    from nnfast.hal import convert, utils, validate

    valid = {"type": 3, "dimensions": [1], "a": (1,), "b": (1,), "length": 4, "index": 1, "numberOfOperands": 2,
             "operations": [], "duration": 5, "deadline": 5, "hal": "1.3",
             "performance": hal.v1_3.PerformanceInfo(1, 1), "check": hal.validate.validatePriority,
             "table": [], "default": hal.v1_3.PerformanceInfo(), "float32": hal.v1_3.PerformanceInfo(),
             "relaxed": hal.v1_3.PerformanceInfo(), "model": hal.v1_3.Model(), "value": hal.v1_3.Model()}
    found = {}
    for label, module, names in (("utils", utils, utils.__all__), ("validate", validate, public_names(validate)),
                                 ("convert", convert, public_names(convert))):
        for name in names:
            function = getattr(module, name)
            if isinstance(function, types.FunctionType) and f"{label}.{name}" not in PLUMBING:
                found[f"hal.{label}.{name}"] = (lambda w, function=function: function, lambda w, function=function: {
                    name: valid.get(name) for name in parameters(function)
                    if inspect.signature(function).parameters[name].default is inspect.Parameter.empty})
    found["hal.validate.reason"] = (lambda w: lambda check, value: validate.reason(check, value),
                                    lambda w: {"check": validate.validatePriority, "value": 1})
    return found


# -- what is public ----------------------------------------------------------------------------------------------------
def public_names(module):
    names = getattr(module, "__all__", None) or [
        name for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__]
    return [name for name in names if not name.startswith("_")]


CLASSES = {"Execution": submit.Execution, "Stream": stream.Stream, "Controller": controller.Controller,
           "FencedExecution": fenced.FencedExecution, "Explanation": explain.Explanation,
           "ExecutionResult": ExecutionResult}
"""What public calls return."""

MODULES = ("conformance", "extensions", "fmq", "tflite", "vlog", "trace")
SERVED = re.compile("(Device[.]|PreparedModel[.](?!configure)|Stream|Execution|Controller|Request|Role|Buffer|CacheF)")
"""Names of recipes over what a driver's process has too."""
RECORDS = {"OperandType", "OperationType", "fmq.RequestTag", "fmq.ResultTag", "conformance.Results",
           "conformance.TestResult", "ExecutionResult", "trace.record", "trace.pause", "trace.Recorder", "profile",
           "TensorInfo", "FailedItem"}
"""Enumerations, and records that calls return: a caller has no reason to make one, and no parameter to fill."""
INSIDE = {"Buffer", "PreparedModel", "Stream", "Execution", "Controller", "FencedExecution", "Explanation",
          "fmq.MessageQueue"}
"""Classes whose objects come from other calls."""
LITERT = {"Interpreter"}
"""Raises what LiteRT raises (tests/litert)."""
PLUMBING = {
    "PreparedModel.twin", "PreparedModel.perform", "PreparedModel.remember", "PreparedModel.narrowed",
    "Device.narrowed", "Device.variant", "Device.compile", "Stream.perform",
    "Buffer.check_role", "Buffer.read", "Buffer.misfit", "Buffer.place",
    "Buffer.store", "profile.add", "trace.Recorder.add",
    "Explanation.from_json", "conformance.Results.count", "vlog.log", "vlog.log_errors", "trace.mark", "trace.span",
    "convert.status", "convert.lookup", "Execution.set_result", "Execution.set_exception",
    "Execution.add_done_callback", "profile.copied",
}
"""What the parts of nnfast call on one another, with arguments of their own; not in the documents."""


def public_calls():
    """Names of all public callables with parameters."""
    found = {}

    def take(name, value):
        if inspect.isclass(value):
            if issubclass(value, Exception) or name in RECORDS:
                pass
            elif name not in INSIDE and parameters(value):
                found[name] = value
            for key in dir(value):
                member = inspect.getattr_static(value, key)
                function = member.__func__ if isinstance(member, classmethod | staticmethod) else member
                if not key.startswith("_") and inspect.isfunction(function):
                    names = parameters(function)
                    if names and names != ["cls"]:
                        found[f"{name}.{key}"] = function
        elif callable(value) and parameters(value):
            found[name] = value

    for name in set(nnfast.__all__) - LITERT:
        value = getattr(nnfast, name)
        if not isinstance(value, types.ModuleType) and not isinstance(value, str):
            take(name, value)
    for name, value in CLASSES.items():
        take(name, value)
    for module in MODULES:
        for name in public_names(getattr(nnfast, module)):
            take(f"{module}.{name}", getattr(getattr(nnfast, module), name))
    return {name for name, value in found.items() if name not in PLUMBING and name not in RECORDS}


# -- tests -------------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def world():
    return World(nnfast.Device(1))


@pytest.fixture(scope="module")
def served():
    """A world of a driver's process."""
    return World(service_device(1))


@pytest.fixture(autouse=True)
def quiet(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    yield
    vlog.set("")


def test_every_public_call_has_a_recipe():
    assert public_calls() - set(recipes()) == set()


@pytest.mark.parametrize("patience", [None, "1", True, float("nan"), [1], 1j, np.ones(2)])
def test_odd_patience(patience):
    with pytest.raises(nnfast.InvalidArgument, match="patience is .*, must be seconds"):
        nnfast.connect("/nonexistent/s", patience=patience)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", recipes())
def test_odd_values_of_each_parameter(world, name):
    check_parameters(world, name)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name in recipes() if SERVED.match(name)])
def test_odd_values_of_each_parameter_of_a_service_s_objects(served, name):
    check_parameters(served, name)
    assert served.device.is_available


def check_parameters(world, name):
    make, valid = recipes()[name]
    wrong = []
    names = list(dict.fromkeys([*valid(world), *(p for p in parameters(make(world)) if p != "cls")]))
    for parameter in names:
        for label, odd in ODD.items():
            options = {key: value for key, value in valid(world).items() if value is not nnfast}
            found = attempt(make(world), **{**options, parameter: odd()})
            if found:
                wrong.append(f"{name}({parameter}={label}): {found}")
    assert not wrong, "\n".join([f"{len(wrong)} of {len(names) * len(ODD)}", *wrong])
