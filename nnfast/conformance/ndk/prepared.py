"""Compilations and executions of the library, with the methods of a PreparedModel."""

import ctypes
from math import prod

import numpy as np

from ... import errors
from ...driver.arguments import initial_value
from ...driver.memory import Memory
from ...driver.request import ExecutionResult, OutputShape, Timing
from ...driver.tensors import info_of
from .buffer import NdkBuffer
from .library import OUTPUT_INSUFFICIENT_SIZE, UNKNOWN_TIME, Handle, left, memory_of, type_of

GUESS_BYTES = 1 << 12
"""Room for an output whose size the model does not tell."""


class NdkPrepared:
    """A finished compilation. inputs, outputs: a TensorInfo each, without states."""

    def __init__(self, device, compilation, model):
        self.device, self.compilation, self.model, self.graph = device, compilation, model, model.main
        given, made = {s.input for s in model.states}, {s.output for s in model.states}
        self.inputs = [info_of(model, o, f"input_{i}") for i, o in enumerate(self.graph.inputs) if i not in given]
        self.outputs = [info_of(model, o, f"output_{i}") for i, o in enumerate(self.graph.outputs) if i not in made]

    def close(self):
        """Free the compilation."""
        self.compilation.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

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
        event = Event(self.device, execution, "startComputeWithDependencies", events, len(events),
                      ctypes.c_uint64(0 if duration is None else int(duration * 1e9)))
        return NdkFenced(self, execution, event, measure_timing)

    def burst(self):
        """A burst with execute(request, measure_timing)."""
        return NdkBurst(self)

    def run(self, arrays):
        """Outputs for arrays, from the initial states."""
        if self.model.states:
            return self.stream().run(arrays)
        return self.perform(arrays, lambda execution: self.device.function("Execution_compute")(execution.pointer))

    def submit(self, arrays):
        """As run, but asynchronous: the outputs are those of its `result()`. Not for models with states."""
        execution, rooms = self._start(False, None, None), self._rooms()
        self._set_all(execution, arrays, rooms)
        return NdkLaunched(self, execution, rooms)

    def stream(self):
        """Runs that follow each other: an NdkStream."""
        return NdkStream(self)

    def perform(self, arrays, compute):
        """Outputs for arrays of all inputs, those of states too; asked for again with the right room where the model
        does not tell their sizes. compute: function(execution) that gives the result code.
        """
        execution, rooms = self._start(False, None, None), self._rooms()
        for attempt in range(2):
            self._set_all(execution, arrays, rooms)
            code = compute(execution)
            if code != OUTPUT_INSUFFICIENT_SIZE or attempt:
                break
            rooms = [np.zeros(max(1, prod(shape.dims) * self._output(place).dtype.itemsize), np.uint8)
                     for place, shape in enumerate(self._shapes(execution))]
            execution = self._start(False, None, None)
        return self.arrays_in(rooms, execution, code)

    def arrays_in(self, rooms, execution, code):
        """Outputs of an execution that has ended with a code. Raises its Error."""
        result = self._result(execution, False, code)
        return [room[:prod(shape.dims) * self._output(place).dtype.itemsize].view(self._output(place).dtype)
                .reshape(shape.dims) for place, (room, shape) in enumerate(zip(rooms, result.shapes))]

    def _rooms(self):
        return [np.zeros(GUESS_BYTES if operand.shape is None or None in operand.shape else operand.nbytes, np.uint8)
                for operand in map(self._output, range(len(self.graph.outputs)))]

    def _set_all(self, execution, arrays, rooms):
        for place, array in enumerate(arrays):
            operand = self.graph.operands[self.graph.inputs[place]]
            dims = () if array is None or operand.is_scalar else array.shape
            self._set(execution, "Input", place, operand, dims,
                      None if array is None else np.ascontiguousarray(array).reshape(-1).view(np.uint8))
        for place, room in enumerate(rooms):
            self._set(execution, "Output", place, self._output(place), (), room)

    def _output(self, place):
        return self.graph.operands[self.graph.outputs[place]]

    def _start(self, measure_timing, deadline, loop_timeout):
        """An execution without arguments."""
        call = self.device.call
        execution = Handle(self.device, "Execution", "create", self.compilation.pointer, keep=[self.compilation])
        call("Execution_setMeasureTiming", execution.pointer, bool(measure_timing))
        if deadline is not None:
            call("Execution_setTimeout", execution.pointer, left(deadline))
        if loop_timeout is not None:
            call("Execution_setLoopTimeout", execution.pointer, ctypes.c_uint64(int(loop_timeout * 1e9)))
        return execution

    def _execution(self, request, measure_timing, deadline, loop_timeout):
        """An execution with the arguments of a request."""
        execution = self._start(measure_timing, deadline, loop_timeout)
        pools = [memory_of(self.device, pool) if isinstance(pool, Memory) else
                 pool.memory if isinstance(pool, NdkBuffer) else pool for pool in request.pools]
        for role, arguments, places in (("Input", request.inputs, self.graph.inputs),
                                        ("Output", request.outputs, self.graph.outputs)):
            for place, argument in enumerate(arguments):
                operand = self.graph.operands[places[place]]
                pool = None if argument.has_no_value else pools[argument.pool]
                if isinstance(pool, Handle):
                    kind = type_of(operand, argument.dims) if argument.dims else None
                    self.device.call(f"Execution_set{role}FromMemory", execution.pointer, place,
                                     kind and ctypes.byref(kind), pool.pointer, ctypes.c_size_t(argument.offset),
                                     ctypes.c_size_t(argument.length))
                    execution.kept.append(pool)
                else:
                    self._set(execution, role, place, operand, argument.dims, None if pool is None else
                              pool[argument.offset:argument.offset + argument.length])
        return execution

    def _set(self, execution, role, place, operand, dims, data):
        """Set an argument to bytes, which live as long as the execution; None: it is omitted."""
        kind = type_of(operand, dims) if dims else None
        self.device.call(f"Execution_set{role}", execution.pointer, place, kind and ctypes.byref(kind),
                         None if data is None else ctypes.c_void_p(data.ctypes.data),
                         ctypes.c_size_t(0 if data is None else data.nbytes))
        execution.kept.append(data)

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
        self._burst = Handle(prepared.device, "Burst", "create", prepared.compilation.pointer, keep=prepared)

    def execute(self, request, measure_timing=False):
        """As Controller.execute."""
        prepared = self._prepared
        execution = prepared._execution(request, measure_timing, None, None)
        return prepared._result(execution, measure_timing, self._compute(execution))

    def run(self, arrays):
        """As Controller.run."""
        return self._prepared.perform(arrays, self._compute)

    def close(self):
        """Free the burst."""
        self._burst.close()

    def _compute(self, execution):
        return self._prepared.device.function("Execution_burstCompute")(execution.pointer, self._burst.pointer)


class NdkStream:
    """As Stream: what a run makes of the states is what the next begins with."""

    def __init__(self, prepared):
        self._prepared = prepared
        self.reset()

    def reset(self):
        """Return to the initial state."""
        graph, states = self._prepared.graph, self._prepared.model.states
        self._state = [initial_value(graph.operands[graph.inputs[state.input]], state) for state in states]

    def run(self, arrays):
        """Outputs without states."""
        prepared, states = self._prepared, self._prepared.model.states
        given, taken = {state.input: value for state, value in zip(states, self._state)}, iter(arrays)
        places = range(len(prepared.graph.inputs))
        outputs = prepared.perform([given[place] if place in given else next(taken) for place in places],
                                   lambda execution: prepared.device.function("Execution_compute")(execution.pointer))
        self._state = [outputs[state.output] for state in states]
        made = {state.output for state in states}
        return [array for place, array in enumerate(outputs) if place not in made]


class Event:
    """The event of a launched execution, which serves as a fence. start: function that launches it; arguments: those
    between the execution and the event.
    """

    def __init__(self, device, execution, start, *arguments):
        self._device, self._execution, self.pointer = device, execution, ctypes.c_void_p()
        device.call(f"Execution_{start}", execution.pointer, *arguments, ctypes.byref(self.pointer))

    def wait(self, timeout=None):
        """State of the fence, once it has ended."""
        return "error" if self.code() else "signaled"

    def code(self):
        """Result code of the execution, once it has ended."""
        return self._device.function("Event_wait")(self.pointer)

    def __del__(self):
        if self.pointer:
            self._device.function("Event_free")(self.pointer)


class NdkLaunched:
    """A run that has been launched."""

    def __init__(self, prepared, execution, rooms):
        self._prepared, self._execution, self._rooms = prepared, execution, rooms
        self._event = Event(prepared.device, execution, "startCompute")

    def result(self, timeout=None):
        """Its outputs. timeout: not looked at, an event of the library is waited for without one."""
        return self._prepared.arrays_in(self._rooms, self._execution, self._event.code())


class NdkFenced:
    """A launched execution: `fence` and `info()`, as of PreparedModel.execute_fenced."""

    def __init__(self, prepared, execution, event, measured):
        self._prepared, self._execution, self.fence, self._measured = prepared, execution, event, measured

    def info(self):
        """Timing of the execution, twice: dependencies are waited for before it is launched. Raises its Error."""
        self._prepared.device.check("Execution", self.fence.code())
        return [self._prepared._timing(self._execution, self._measured)] * 2
