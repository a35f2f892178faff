"""The device of `--via ndk`: libneuralnetworks.so through its C functions, before a driver's process of its own."""

import ctypes
import mmap
import os
import secrets
import tempfile
import time
from math import prod
from pathlib import Path

import numpy as np

from .. import errors
from ..driver.memory import Memory
from ..driver.request import ExecutionResult, OutputShape, Timing
from ..model.types import LifeTime
from ..service.spawn import IDLE_SECONDS, reach, start

LIBRARY = Path(__file__).resolve().parents[1] / "lib" / "libneuralnetworks.so"

OUTPUT_INSUFFICIENT_SIZE, UNKNOWN_TIME, GUESS_BYTES = 8, (1 << 64) - 1, 1 << 12
_ERRORS = {
    3: errors.InvalidArgument, 4: errors.InvalidArgument, 6: errors.InvalidArgument, 9: errors.DeviceUnavailable,
    10: errors.MissedDeadlineTransient, 11: errors.MissedDeadlinePersistent, 12: errors.ResourceExhaustedTransient,
    13: errors.ResourceExhaustedPersistent, 14: errors.DeadObject,
}
_PREFERENCES = {"low_power": 0, "fast_single_answer": 1, "sustained_speed": 2}
_PRIORITIES = {"low": 90, "medium": 100, "high": 110}


class _OperandType(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("count", ctypes.c_uint32), ("dims", ctypes.POINTER(ctypes.c_uint32)),
                ("scale", ctypes.c_float), ("zero_point", ctypes.c_int32)]


class _ChannelScales(ctypes.Structure):
    _fields_ = [("dim", ctypes.c_uint32), ("count", ctypes.c_uint32), ("scales", ctypes.POINTER(ctypes.c_float))]


def _type(operand, dims):
    """The C type of an operand with these dimensions."""
    return _OperandType(operand.type, len(dims), (ctypes.c_uint32 * len(dims))(*dims) if dims else None,
                        operand.scale, operand.zero_point)


def _indexes(values):
    return (ctypes.c_uint32 * len(values))(*values)


class _Handle:
    """An object of the library, freed with the last reference to it. keep: what must live longer."""

    def __init__(self, device, kind, create, *arguments, keep=()):
        self.pointer, self._free, self._keep = ctypes.c_void_p(), device.function(f"{kind}_free"), keep
        device.call(f"{kind}_{create}", *arguments, ctypes.byref(self.pointer))

    def __del__(self):
        if self.pointer:
            self._free(self.pointer)


class NdkDevice:
    """A device with the methods that the canonical face calls."""

    def __init__(self, num_threads=None):
        if not LIBRARY.exists():
            raise errors.InvalidArgument(f"{LIBRARY}: is not there; build it with python setup.py build_ext --inplace")
        path = os.path.join(tempfile.gettempdir(), f"nnfast-{secrets.token_hex(8)}.sock")
        threads = [] if num_threads is None else ["--threads", str(num_threads)]
        with reach(path, start(path, "--exit-idle", str(IDLE_SECONDS), *threads)):
            os.putenv("NNFAST_SOCKET", path)  # for the library, which looks at the first call that needs a driver
            self._library = ctypes.CDLL(str(LIBRARY))
            self._one = ctypes.c_void_p()
            self.call("_getDevice", 0, ctypes.byref(self._one))
            self.call("Device_wait", self._one)

    def function(self, name):
        """The C function of a name without its prefix."""
        return getattr(self._library, f"ANeuralNetworks{name}")

    def call(self, name, *arguments):
        """Call a function; raises the Error that its result code stands for."""
        self.check(name, self.function(name)(*arguments))

    def check(self, name, code):
        """Raise the Error that a result code stands for."""
        if code:
            raise _ERRORS.get(code, errors.GeneralFailure)(f"{name}: result code {code}")

    # -- models ------------------------------------------------------------------------------------------------------
    def _model(self, model):
        """The finished C model."""
        return self._graph(model, model.main, {})

    def _graph(self, model, graph, known):
        inner = [operand.subgraph for operand in graph.operands if operand.lifetime == LifeTime.SUBGRAPH]
        for place in inner:
            if place not in known:
                known[place] = self._graph(model, model.referenced[place], known)
        made = _Handle(self, "Model", "create", keep=[known[place] for place in inner])
        for index, operand in enumerate(graph.operands):
            self._operand(made, index, operand, known)
        for operation in graph.operations:
            self.call("Model_addOperation", made.pointer, operation.type, len(operation.inputs),
                      _indexes(operation.inputs), len(operation.outputs), _indexes(operation.outputs))
        self.call("Model_identifyInputsAndOutputs", made.pointer, len(graph.inputs), _indexes(graph.inputs),
                  len(graph.outputs), _indexes(graph.outputs))
        self.call("Model_relaxComputationFloat32toFloat16", made.pointer, bool(model.relaxed))
        self.call("Model_finish", made.pointer)
        return made

    def _operand(self, made, index, operand, known):
        kind = _type(operand, operand.dims)
        self.call("Model_addOperand", made.pointer, ctypes.byref(kind))
        if operand.channel_quant is not None:
            scales = operand.channel_quant.scales
            quant = _ChannelScales(operand.channel_quant.dim, len(scales), (ctypes.c_float * len(scales))(*scales))
            self.call("Model_setOperandSymmPerChannelQuantParams", made.pointer, index, ctypes.byref(quant))
        if operand.is_constant and operand.data.nbytes:
            data = np.ascontiguousarray(operand.data)
            self.call("Model_setOperandValue", made.pointer, index, ctypes.c_void_p(data.ctypes.data),
                      ctypes.c_size_t(data.nbytes))
        elif operand.is_constant or operand.lifetime == LifeTime.NO_VALUE:
            self.call("Model_setOperandValue", made.pointer, index, None, ctypes.c_size_t(0))
        elif operand.lifetime == LifeTime.SUBGRAPH:
            self.call("Model_setOperandValueFromModel", made.pointer, index, known[operand.subgraph].pointer)

    def supported_operations(self, model):
        """One flag per operation; raises an Error for a wrong model."""
        flags, made = (ctypes.c_bool * len(model.main.operations))(), self._model(model)
        self.call("Model_getSupportedOperationsForDevices", made.pointer, ctypes.byref(self._one), 1, flags)
        return list(flags)

    def prepare(self, model, preference="fast_single_answer", priority="medium", deadline=None):
        """As Device.prepare, for one device."""
        made = self._model(model)
        compilation = _Handle(self, "Compilation", "createForDevices", made.pointer, ctypes.byref(self._one), 1,
                              keep=made)
        self.call("Compilation_setPreference", compilation.pointer, _PREFERENCES[preference])
        self.call("Compilation_setPriority", compilation.pointer, _PRIORITIES[priority])
        if deadline is not None:
            self.call("Compilation_setTimeout", compilation.pointer, _left(deadline))
        self.call("Compilation_finish", compilation.pointer)
        return NdkPrepared(self, compilation, model)

    def allocate(self, input_roles=(), output_roles=()):
        """As Device.allocate. Raises GeneralFailure for shapes that are not known."""
        desc = _Handle(self, "MemoryDesc", "create")
        for kind, roles in (("Input", input_roles), ("Output", output_roles)):
            for role in roles:
                self.call(f"MemoryDesc_add{kind}Role", desc.pointer, role.prepared.compilation.pointer, role.index,
                          ctypes.c_float(role.frequency))
        self.call("MemoryDesc_finish", desc.pointer)
        roles = [*input_roles, *output_roles]
        return NdkBuffer(self, _Handle(self, "Memory", "createFromDesc", desc.pointer, keep=roles))


class NdkBuffer:
    """A memory of the device."""

    def __init__(self, device, memory):
        self._device, self.memory = device, memory

    def copy_from(self, array, shape):
        """As Buffer.copy_from."""
        shared = Memory.create(array.nbytes)
        shared.array()[:] = array
        source = _memory(self._device, shared)
        self._device.call("Memory_copy", source.pointer, self.memory.pointer)

    def copy_to(self, array):
        """As Buffer.copy_to."""
        shared = Memory.create(array.nbytes)
        target = _memory(self._device, shared)
        self._device.call("Memory_copy", self.memory.pointer, target.pointer)
        array[:] = shared.array()


class NdkPrepared:
    """A finished compilation, with the methods of a PreparedModel that the canonical face calls."""

    def __init__(self, device, compilation, model):
        self.device, self.compilation, self.graph = device, compilation, model.main

    # -- executions --------------------------------------------------------------------------------------------------
    def execute(self, request, measure_timing=False, deadline=None, loop_timeout=None):
        """As PreparedModel.execute."""
        execution = self._execution(request, measure_timing, deadline, loop_timeout)
        return self._result(execution, measure_timing, self.device.function("Execution_compute")(execution.pointer))

    def execute_fenced(self, request, wait_for=(), measure_timing=False, deadline=None, loop_timeout=None,
                       duration=None):
        """As PreparedModel.execute_fenced; wait_for: fences of this kind."""
        execution = self._execution(request, measure_timing, deadline, loop_timeout)
        events = (ctypes.c_void_p * len(wait_for))(*(fence.pointer for fence in wait_for))
        return NdkFenced(self, execution, _Event(self.device, execution, events, duration), measure_timing)

    def burst(self):
        """A burst with execute(request, measure_timing)."""
        return NdkBurst(self)

    def run(self, arrays):
        """Outputs for arrays; asked for again with the right room where the model does not tell their sizes."""
        execution = self._start(False, None, None)
        rooms = [np.zeros(GUESS_BYTES if operand.shape is None or None in operand.shape else operand.nbytes, np.uint8)
                 for operand in map(self._output, range(len(self.graph.outputs)))]
        for attempt in range(2):
            for place, array in enumerate(arrays):
                operand = self.graph.operands[self.graph.inputs[place]]
                dims = () if array is None or operand.is_scalar else array.shape
                self._set(execution, "Input", place, operand, dims,
                          None if array is None else np.ascontiguousarray(array).reshape(-1).view(np.uint8))
            for place, room in enumerate(rooms):
                self._set(execution, "Output", place, self._output(place), (), room)
            code = self.device.function("Execution_compute")(execution.pointer)
            if code != OUTPUT_INSUFFICIENT_SIZE or attempt:
                break
            rooms = [np.zeros(max(1, prod(shape.dims) * self._output(place).dtype.itemsize), np.uint8)
                     for place, shape in enumerate(self._shapes(execution))]
            execution = self._start(False, None, None)
        result = self._result(execution, False, code)
        return [room[:prod(shape.dims) * self._output(place).dtype.itemsize].view(self._output(place).dtype)
                .reshape(shape.dims) for place, (room, shape) in enumerate(zip(rooms, result.shapes))]

    def _output(self, place):
        return self.graph.operands[self.graph.outputs[place]]

    def _start(self, measure_timing, deadline, loop_timeout):
        """An execution without arguments."""
        call = self.device.call
        execution = _Handle(self.device, "Execution", "create", self.compilation.pointer, keep=[self.compilation])
        call("Execution_setMeasureTiming", execution.pointer, bool(measure_timing))
        if deadline is not None:
            call("Execution_setTimeout", execution.pointer, _left(deadline))
        if loop_timeout is not None:
            call("Execution_setLoopTimeout", execution.pointer, ctypes.c_uint64(int(loop_timeout * 1e9)))
        return execution

    def _execution(self, request, measure_timing, deadline, loop_timeout):
        """An execution with the arguments of a request."""
        execution = self._start(measure_timing, deadline, loop_timeout)
        pools = [_memory(self.device, pool) if isinstance(pool, Memory) else
                 pool.memory if isinstance(pool, NdkBuffer) else pool for pool in request.pools]
        for role, arguments, places in (("Input", request.inputs, self.graph.inputs),
                                        ("Output", request.outputs, self.graph.outputs)):
            for place, argument in enumerate(arguments):
                operand = self.graph.operands[places[place]]
                pool = None if argument.has_no_value else pools[argument.pool]
                if isinstance(pool, _Handle):
                    kind = _type(operand, argument.dims) if argument.dims else None
                    self.device.call(f"Execution_set{role}FromMemory", execution.pointer, place,
                                     kind and ctypes.byref(kind), pool.pointer, ctypes.c_size_t(argument.offset),
                                     ctypes.c_size_t(argument.length))
                    execution._keep.append(pool)
                else:
                    self._set(execution, role, place, operand, argument.dims, None if pool is None else
                              pool[argument.offset:argument.offset + argument.length])
        return execution

    def _set(self, execution, role, place, operand, dims, data):
        """Set an argument to bytes, which live as long as the execution; None: it is omitted."""
        kind = _type(operand, dims) if dims else None
        self.device.call(f"Execution_set{role}", execution.pointer, place, kind and ctypes.byref(kind),
                         None if data is None else ctypes.c_void_p(data.ctypes.data),
                         ctypes.c_size_t(0 if data is None else data.nbytes))
        execution._keep.append(data)

    # -- results -----------------------------------------------------------------------------------------------------
    def _shapes(self, execution):
        """An OutputShape of each output."""
        found = []
        for place in range(len(self.graph.outputs)):
            rank, dims = ctypes.c_uint32(), (ctypes.c_uint32 * 64)()
            code = self.device.function("Execution_getOutputOperandRank")(execution.pointer, place, ctypes.byref(rank))
            if rank.value:
                again = self.device.function("Execution_getOutputOperandDimensions")(execution.pointer, place, dims)
                if again != code:
                    raise errors.GeneralFailure(f"output {place}: rank has code {code}, dimensions have {again}")
            found.append(OutputShape(tuple(dims[:rank.value]), not code))
        return found

    def _result(self, execution, measured, code):
        """What an execution that has ended with a code came to. Raises its Error."""
        if code == OUTPUT_INSUFFICIENT_SIZE:
            raise errors.OutputInsufficientSize("Execution: an output is too small", self._shapes(execution))
        self.device.check("Execution", code)
        return ExecutionResult(tuple(self._shapes(execution)), self._timing(execution, measured))

    def _timing(self, execution, measured):
        times = []
        for code in (0, 1):
            duration = ctypes.c_uint64()
            found = self.device.function("Execution_getDuration")(execution.pointer, code, ctypes.byref(duration))
            if bool(found) == measured:
                raise errors.GeneralFailure(f"getDuration: result code {found}, timing was {measured}")
            times.append(None if duration.value == UNKNOWN_TIME else duration.value // 1000)
        return Timing(*times)


class NdkBurst:
    """A burst of the library."""

    fallbacks = 0

    def __init__(self, prepared):
        self._prepared = prepared
        self._burst = _Handle(prepared.device, "Burst", "create", prepared.compilation.pointer, keep=prepared)

    def execute(self, request, measure_timing=False):
        """As Controller.execute."""
        prepared = self._prepared
        execution = prepared._execution(request, measure_timing, None, None)
        code = prepared.device.function("Execution_burstCompute")(execution.pointer, self._burst.pointer)
        return prepared._result(execution, measure_timing, code)


class _Event:
    """The event of an execution behind others, which serves as a fence."""

    def __init__(self, device, execution, events, duration):
        self._device, self._execution, self.pointer = device, execution, ctypes.c_void_p()
        device.call("Execution_startComputeWithDependencies", execution.pointer, events, len(events),
                    ctypes.c_uint64(0 if duration is None else int(duration * 1e9)), ctypes.byref(self.pointer))

    def wait(self, timeout=None):
        """State of the fence, once it has ended."""
        return "error" if self.code() else "signaled"

    def code(self):
        """Result code of the execution, once it has ended."""
        return self._device.function("Event_wait")(self.pointer)

    def __del__(self):
        if self.pointer:
            self._device.function("Event_free")(self.pointer)


class NdkFenced:
    """A launched execution: `fence` and `info()`, as of PreparedModel.execute_fenced."""

    def __init__(self, prepared, execution, event, measured):
        self._prepared, self._execution, self.fence, self._measured = prepared, execution, event, measured

    def info(self):
        """Timing of the execution, twice: dependencies are waited for before it is launched. Raises its Error."""
        self._prepared.device.check("Execution", self.fence.code())
        return [self._prepared._timing(self._execution, self._measured)] * 2


def _memory(device, memory):
    """A C memory of a Memory."""
    return _Handle(device, "Memory", "createFromFd", ctypes.c_size_t(memory.size), mmap.PROT_READ | mmap.PROT_WRITE,
                   memory.fileno(), ctypes.c_size_t(memory.offset))


def _left(deadline):
    """Nanoseconds until a deadline; 1 for one that has passed, as 0 is none."""
    return ctypes.c_uint64(max(1, int((deadline - time.monotonic()) * 1e9)))
