"""A compiled model and its executions [NN 3.8, 2.5].

What the first result does not need is imported by the method that needs it: a cold start is half imports.
"""

from math import prod
from weakref import WeakSet, ref

import numpy as np

from .. import observe, trace, vlog
from .._native.engine import MAX_RANK, Runner, trim
from .._native.threads import Turn, now_ns
from ..checks import flag
from ..compiler.check import check_model, has_open_form, require_supported
from ..compiler.resolve import resolve
from ..engine.resources import Resources, counted
from ..engine.segment import Segment, check_go_on
from ..errors import (
    Cancelled,
    Error,
    InvalidArgument,
    MissedDeadlinePersistent,
    MissedDeadlineTransient,
    ResourceExhaustedPersistent,
    ResourceExhaustedTransient,
)
from ..forks import importing
from ..model.mapped import release
from ..model.types import is_raw
from ..model.validate import check_structure
from ..model.withheld import Withheld, withholding
from .arguments import (
    check_output,
    find_operand,
    in_list,
    initial_value,
    named,
    plain_keys,
    resized,
    taken_inputs,
)
from .closing import ClosedGraph, Closing
from .durations import deadline_to_ns, duration_to_ns, loop_timeout_to_ns
from .execution import NO_LIMITS, PRIORITIES, GraphRunner, limits_of
from .pools import bind_request, failed, read_back
from .real import run_real
from .request import ExecutionResult, OutputShape, Timing
from .signature import signature_of
from .stream import Stream
from .tensors import info_of
from .watchdog import watch


def _as(array, dtype):
    """A value as a caller has it: booleans may be numpy's or bytes."""
    return array if array is None or array.dtype.kind != "u" or dtype.kind != "b" else array.view(dtype)


def _plain(array):
    """An array of a caller as steps take it: booleans are bytes."""
    return array.view(np.uint8) if array.dtype.kind == "b" else array


class PreparedModel(Closing):
    """A model compiled for one device. Immutable; any number of threads may run it at once.

    Large constants that only packing has read are not kept: they go with the caller's Model.
    """

    def __init__(self, device, model, preference="fast_single_answer", priority="medium", input_shapes=None,
                 keep=None, deadline=None, cancel=None, packing=None):
        """cancel: a Cancel flag that stops the preparation, or None; packing: a StoredPacking, to plan with, where the
        model comes from a cache (driver/cache.py), who finishes it. See Device.prepare for the rest."""
        began = now_ns()
        deadline_ns = deadline_to_ns(deadline, began, "prepare")

        def go_on(path):
            check_go_on(cancel, deadline_ns, path)

        self._options = (preference, priority, input_shapes, keep)
        self._original, self._whole = model, ref(model) if packing is None else _gone
        with counted("prepare"):
            with trace.span("LU", "PU", "validateModel"):
                if packing is None:
                    check_model(model, extensions=device.extensions, go_on=go_on)
                else:
                    check_structure(model, go_on)
            model = resolve(model, device.extensions)
            graph = model.main
            if any(is_raw(graph.operands[operand].type) for operand in (*graph.inputs, *graph.outputs)):
                require_supported(model, go_on)  # what it is cannot be said: some operation on it will not run
            self._set_up(device, resized(model, input_shapes))
            with trace.span("LD", "PC", "plan"):
                segment = None if packing is None else packing.restored(self.model, self._kept, self._resources)
                if segment is None:
                    segment = self._plan_ahead(deadline_ns, cancel, go_on, packing)
                else:
                    self._main.adopt(segment)
            self._start(segment)
        if vlog.mask & vlog.COMPILATION:
            _tell_plan(self, now_ns() - began)

    @classmethod
    def restored(cls, device, model, options, deadline, plan):
        """A prepared model whose plan exists: plan(resources) gives the Segment of the model."""
        deadline_to_ns(deadline, now_ns(), "prepare")
        self = cls.__new__(cls)
        self._options, self._original, self._whole = options, model, _gone
        self._set_up(device, model)
        segment = plan(self._resources)
        self._main.adopt(segment)
        self._start(segment)
        return self

    def _set_up(self, device, model):
        """What can be said of a checked model before it is planned."""
        self.preference, priority, _, keep = self._options
        self.device, self.num_threads, self.priority = device, device.num_threads, priority
        self.model = model
        graph = model.main
        self._state_inputs = {s.input: s for s in model.states}
        self._state_outputs = {s.output: s for s in model.states}
        self._kept = tuple(find_operand(graph, key) for key in plain_keys(keep) or ())
        self.inputs = tuple(info_of(model, o, f"input_{i}") for i, o in enumerate(graph.inputs)
                            if i not in self._state_inputs)
        self.outputs = tuple(info_of(model, o, f"output_{i}") for i, o in enumerate(graph.outputs)
                             if i not in self._state_outputs) + \
            tuple(info_of(model, o, f"operand_{o}") for o in self._kept)
        self._input_operands = tuple(i.operand for i in self.inputs)
        self._output_operands = tuple(o.operand for o in self.outputs)
        self._initial = tuple((graph.inputs[s.input], initial_value(graph.operands[graph.inputs[s.input]], s))
                              for s in model.states)
        self._state_pairs = tuple((graph.inputs[s.input], graph.outputs[s.output]) for s in model.states)
        self.read_back = read_back(graph)
        self._bursts = WeakSet()
        turn = Turn(device.gate, PRIORITIES.index(priority))
        self._resources = Resources(self.num_threads, turn, device.budget, device.precision, device.client.pacing,
                                    device.without_passes)
        self._main = GraphRunner(model, graph, "main", self._resources, self._kept)
        self.spare = None

    def _start(self, segment):
        """Be ready to run; segment: the plan when all of it is known, else None."""
        self._static = segment
        self._runner = self._make_runner()
        if self._static is not None:
            release(self.model)
            if "drop_constants" not in self.device.without_passes:
                with importing:
                    from ..compiler.passes.drop_constants import spare

                self._withhold(spare(self._original, self.model, segment, self._kept))
            trim()
        self._best_ns = 0  # of the shortest measured execution of the static plan
        self.device.models.add(self)
        watch(self)

    def _withhold(self, operands):
        """Do without the values of these constants. None: all of them are needed."""
        self.spare = operands
        operands = [o for o in operands or () if not isinstance(self._original.main.operands[o].data, Withheld)]
        if operands:
            is_original = self.model is self._original
            self._original = withholding(self._original, operands)
            self.model = self._original if is_original else withholding(self.model, operands)
            self._main = GraphRunner(self.model, self.model.main, "main", self._resources, self._kept)
            self._main.adopt(self._static)

    def _plan_ahead(self, deadline_ns, cancel, go_on, packing=None):
        """The only segment when everything is known now, else None; refuses what a first execution would refuse.

        A plan that holds all operations proves that each is supported; whatever has none is asked about that first.
        """
        graph = self.model.main
        shapes = {o: graph.operands[o].shape for o in graph.inputs}

        def unknown(operand):
            raise _NotYet

        if all(s is not None and None not in s for s in shapes.values()):
            try:
                segment = self._main.planner.segment(0, shapes, unknown, deadline_ns, cancel, packing=packing)
                if segment.complete and isinstance(segment, Segment):
                    return segment
            except _NotYet:
                pass
            except (Cancelled, MissedDeadlineTransient, ResourceExhaustedTransient, ResourceExhaustedPersistent):
                raise
            except Error:
                require_supported(self.model, go_on)
                if not has_open_form(self.model):
                    raise  # else: what is wrong with all inputs may be right without the optional ones
        require_supported(self.model, go_on)
        return None

    def _make_runner(self):
        """The fast path for a plan that is one native program, else None."""
        segment, graph = self._static, self.model.main
        if segment is None or not segment.native or not segment.items:
            return None
        if any(len(self._shape(o)) > MAX_RANK for o in (*graph.inputs, *self._output_operands)):
            return None

        aliases = {}
        for slot, root in segment.aliases:
            aliases.setdefault(root, []).append(slot)

        dtypes = {info.operand: info.dtype for info in (*self.inputs, *self.outputs)}

        def rows(operands):
            result = []
            for operand in operands:
                slot = segment.inputs.get(operand, segment.outputs.get(operand))
                dtype = dtypes.get(operand) or graph.operands[operand].dtype
                result.append((slot, dtype, self._shape(operand), aliases.get(slot, [])))
            return result

        return Runner(segment.items[0], segment.new_frame, self.num_threads,
                      rows(self._input_operands), rows(self._output_operands),
                      rows(o for o, _ in self._state_pairs), rows(o for _, o in self._state_pairs),
                      [array for _, array in self._initial])

    @property
    def is_plain(self):
        """True when a request has exactly `inputs` and `outputs`: no states, no intermediate operands beside them."""
        return not self._kept and not self._state_pairs

    @property
    def result_shapes(self):
        """Shapes of `outputs` where every run has the same, else None."""
        return None if self._static is None else [tuple(self._shape(operand)) for operand in self._output_operands]

    def _shape(self, operand):
        segment = self._static
        return segment.shape_of(operand) if operand in segment.tensors else self.model.main.operands[operand].dims

    # -- running -------------------------------------------------------------------------------------------------
    def run(self, inputs, out=None, quantize=False, dequantize=False):
        """Run on arrays: a list in model order gives a list, a dict by name gives a dict by name.

        inputs: arrays of exactly the dtype and shape of `self.inputs` (None omits an optional input): numpy's, or
        objects with `__array__`, DLPack or a buffer. Arrays that are not C-contiguous are copied, which a profile tells
        of. out: numpy arrays to write into (same order or names), instead of fresh ones. quantize: arrays of floats
        become the codes of quantized inputs (TensorInfo.quantize). dequantize: quantized outputs are returned as
        float32 (TensorInfo.dequantize). State inputs start from their initial value every time; use stream() to carry
        them. Raises InvalidArgument, GeneralFailure.
        """
        if quantize is not False or dequantize is not False:
            return run_real(self.run, self, inputs, out, flag(quantize, "run quantize:"),
                            flag(dequantize, "run dequantize:"))
        by_name = isinstance(inputs, dict)
        if out is not None and type(out) is not list and not by_name:
            out = in_list(out, "run", "out")
        if not by_name and self._runner is not None and not observe.watchers:
            try:
                results = self._runner.run(list(inputs) if type(inputs) is list else in_list(inputs, "run"), out)
            except MemoryError:
                results = None  # the general path says what was exhausted
            if results is not None:
                return results
        inputs, out = self._in_order(inputs, out) if by_name else (in_list(inputs, "run"), out)
        results = self._run(inputs, out, dict(self._initial))
        return dict(zip((o.name for o in self.outputs), results)) if by_name else results

    def _quick_run(self, inputs, out, cancel=None):
        """As run on lists where the plan is one native program; None elsewhere, when it is cancelled, and where only
        the long path can tell what is wrong.
        """
        if self._runner is None or observe.watchers:
            return None
        try:
            return self._runner.run(inputs, out, None, None, cancel)
        except MemoryError:
            return None

    @vlog.log_errors(vlog.EXECUTION, "run")
    def _in_order(self, inputs, out):
        return named(inputs, self.inputs, "input"), None if out is None else named(out, self.outputs, "output")

    @vlog.log_errors(vlog.EXECUTION, "run")
    def _run(self, inputs, out, values, limits=NO_LIMITS, state=None):
        """As run, on lists. values: starts with the state inputs; state: {operand: array} for state outputs."""
        if not observe.watchers:
            return self._run_lists(inputs, out, values, limits, state)
        began = now_ns()
        with trace.span("LD", "PE", "run"):
            results = self._run_lists(inputs, out, values, limits, state)
        if vlog.mask & vlog.EXECUTION:
            vlog.log(vlog.EXECUTION, "%r: run took %.1f us", self, (now_ns() - began) / 1e3)
        return results

    def _run_lists(self, inputs, out, values, limits, state):
        if len(inputs) != len(self.inputs):
            raise InvalidArgument(f"run: got {len(inputs)} inputs, must be {len(self.inputs)}"
                                  f" ({', '.join(i.name for i in self.inputs)})")
        if out is not None and len(out) != len(self.outputs):
            raise InvalidArgument(f"run: got {len(out)} output arrays, must be {len(self.outputs)}")
        shapes = {operand: array.shape for operand, array in values.items()}
        inputs = taken_inputs(self.inputs, inputs)
        for info, array in zip(self.inputs, inputs):
            shapes[info.operand] = None if array is None else array.shape
            if array is not None:
                values[info.operand] = _plain(array)

        def provide(operand, shape, dtype):
            if out is not None and operand in self._output_operands:
                info = self.outputs[self._output_operands.index(operand)]
                array = out[self._output_operands.index(operand)]
                check_output(info, array, shape, dtype, [*inputs, *(o for o in out if o is not array)])
                return _plain(array)
            return state.get(operand) if state else None

        sizes = {}

        def settle(values, made):
            sizes.update((operand, prod(shape) * self.model.main.operands[operand].dtype.itemsize)
                         for operand, shape in made.items() if operand in self._output_operands)
            limits.room(sum(sizes.values()))

        self._main.execute(shapes, values, limits, provide, settle if limits.room and out is None else None)
        results = [_as(values[info.operand], info.dtype) for info in self.outputs]
        return results if out is None else self._deliver(results, inputs, out)

    def _deliver(self, results, inputs, out):
        """Copy what could not be computed in place into the caller's arrays."""
        for info, result, array in zip(self.outputs, results, out):
            if array is not result:
                check_output(info, array, result.shape, result.dtype, [*inputs, *(o for o in out if o is not array)])
        for result, array in zip(results, out):
            if array is not result:
                array[...] = result
        return list(out)

    @vlog.log_errors(vlog.EXECUTION, "execute")
    def execute(self, request, measure_timing=False, deadline=None, loop_timeout=None):
        """Canonical execution on memory pools [NN 2.5, 3.8].

        request: nnfast.Request. deadline: absolute time.monotonic() seconds, checked between steps. loop_timeout:
        seconds that each WHILE may take; 2 where not given, 15 at most. Returns ExecutionResult. Raises
        InvalidArgument for a bad request, OutputInsufficientSize (with shapes) when a buffer is too small,
        GeneralFailure for bad values.
        """
        if measure_timing is not False:
            measure_timing = flag(measure_timing, "execute measure_timing:")
        began = now_ns()
        try:
            with trace.span("LD", "PE", "execute") as mark:
                mark.switch("LD", "PIO", "request")
                arguments = bind_request(self, request)
                mark.switch("LD", "PE", "execute")
                limits = limits_of(deadline, loop_timeout, began)
                return self.execute_arguments(arguments, limits, began, measure_timing)
        except Error as error:
            failed(request, error)
            raise

    def submit_request(self, request, done, **options):
        """Launch execute(request, **options); done(result, error) is called exactly once, in the background, with one
        of them None. Raises InvalidArgument for a bad request, GeneralFailure when nothing can be started; `done` is
        not called then.
        """
        with importing:
            from .launch import submit_request

        submit_request(self, request, done, **options)

    def execute_arguments(self, arguments, limits, began, measure_timing):
        """As execute, on bound arguments; began: nanoseconds at which the call was seen."""
        shapes, device_ns = self.run_arguments(arguments, limits)
        timing = Timing()
        if measure_timing:
            timing = Timing(device_ns // 1000, (now_ns() - began) // 1000)
        return ExecutionResult(tuple(OutputShape(shape, True) for shape in shapes), timing)

    def run_arguments(self, arguments, limits):
        """Run bound arguments (pools.Arguments) within Limits; (shapes of the outputs, nanoseconds of the plan)."""
        values, shapes = dict(arguments.inputs), dict(arguments.shapes)
        started = now_ns()
        self._check_time(started, limits)
        with arguments:
            if not self._run_short(arguments, values, limits):
                self._main.execute(shapes, values, limits, arguments.place, arguments.settle)
            spent = now_ns() - started
            if self._static is not None:
                self._best_ns = min(self._best_ns or spent, spent)
            if vlog.mask & vlog.EXECUTION:
                vlog.log(vlog.EXECUTION, "%r: execution took %.1f us", self, spent / 1e3)
            with trace.span("LD", "PR", "outputs"):
                return arguments.finish(values), spent

    def _run_short(self, arguments, values, limits):
        """Fast path of `run`; False where the arguments do not lie so that it can work on them."""
        if self._runner is None or self._kept or self._state_pairs or limits.deadline_ns or observe.watchers:
            return False
        outputs = []
        for info in self.outputs:
            array = arguments.place(info.operand, self._shape(info.operand), info.dtype)
            if array is None:
                return False
            outputs.append(array)
        inputs = [_as(values.get(info.operand), info.dtype) for info in self.inputs]
        if self._quick_run(inputs, outputs, limits.cancel) is None:
            return False
        values.update(zip(self._output_operands, outputs))
        return True

    def _check_time(self, now, limits):
        """Refuse to start what has never been done in the time that is left [NN 8.2]."""
        left = limits.deadline_ns - now
        if limits.deadline_ns and left < self._best_ns:
            error = MissedDeadlineTransient if limits.granted_ns > self._best_ns else MissedDeadlinePersistent
            raise error(f"execution: {max(0, left) / 1e6:.3f} ms are left, the shortest execution so far took "
                        f"{self._best_ns / 1e6:.3f} ms; allow more time")

    @vlog.log_errors(vlog.EXECUTION, "execute_fenced")
    def execute_fenced(self, request, wait_for=(), measure_timing=False, deadline=None, loop_timeout=None,
                       duration=None):
        """Launch an execution that starts when all fences of `wait_for` have signalled [NN 3.9].

        duration: seconds it may take from then on; the rest as execute. Returns a FencedExecution with `.fence` and
        `.info()`. Every output must be of a known size. Raises InvalidArgument at once for a bad request or a fence in
        error; what fails later puts the fence into the error state.
        """
        with importing:
            from .fenced import execute_fenced

        loop_timeout_ns = loop_timeout_to_ns(loop_timeout)
        duration_ns = duration_to_ns(duration, "execute_fenced duration")
        try:
            deadline_ns = deadline_to_ns(deadline, now_ns(), "execute_fenced")
            return execute_fenced(self, request, wait_for, measure_timing, deadline_ns, loop_timeout_ns, duration_ns)
        except Error as error:
            failed(request, error)
            raise

    def run_count(self):
        """How often memory was used for a run; for the watchdog."""
        own = self._runner.runs if self._runner is not None else 0
        return own + sum(burst.runs for burst in list(self._bursts)) + \
            sum(segment.runs for segment in self._main.segments())

    def release_idle(self):
        """Give working memory that no execution uses back to the system; the next execution takes it anew."""
        if self._runner is not None:
            self._runner.release_idle()
        for burst in list(self._bursts):
            burst.release_idle()
        for segment in self._main.segments():
            segment.release_idle()

    @vlog.log_errors(vlog.EXECUTION, "submit")
    def submit(self, inputs, timeout=None):
        """Run in the background; returns a Future (result(), cancel(), timing). timeout: seconds from now."""
        with importing:
            from .submit import submit

        return submit(self, inputs, timeout)

    @vlog.log_errors(vlog.EXECUTION, "burst")
    def burst(self, capacity=1024, spin_us=None):
        """A Controller, whose execute and run go through queues in shared memory to a thread of this model's.

        capacity: elements of the queues; spin_us: how long a waiting call polls before it sleeps, None takes
        NNFAST_BURST_CONTROLLER_WINDOW.
        """
        with importing:
            from .controller import Controller

        return Controller(self, capacity, spin_us)

    @vlog.log_errors(vlog.EXECUTION, "configure_burst")
    def configure_burst(self, get_memories, requests, results, spin_us=None):
        """Serve a burst [NN 4]: a Burst, whose thread reads request packets and writes result packets.

        get_memories(slots): the Memory of each slot, or an Error. requests, results: fmq.Descriptor of queues with an
        event flag, or the queues. spin_us: how long the thread polls before it sleeps, None takes
        NNFAST_BURST_DRIVER_WINDOW. The burst ends with its `close`. Raises InvalidArgument for what is no such queue.
        """
        with importing:
            from .burst import Burst

        return Burst(self, get_memories, requests, results, spin_us)

    def signature(self, key=None):
        """The model's signature of that name as a function: signature(x=array) gives {output name: array}.

        None: the only one. Its `inputs` and `outputs` are {name: TensorInfo}. Raises InvalidArgument for a signature
        that the model has not.
        """
        return signature_of(self, key)

    def stream(self):
        """A Stream, which carries state (LSTM, RNN, TFLite variables) from call to call."""
        return Stream(self)

    def explain(self):
        """What runs: kernel, shapes and bytes of every operation, or why numpy does it."""
        with importing:
            from .explain import Explanation

        return Explanation(self)

    def __reduce__(self):
        preference, priority, input_shapes, keep = self._options
        made = type(self.device), self.num_threads, self.device.precision, sorted(self.device.without_passes)
        model = self._original if self.spare is None else self._whole()
        if model is not None:
            return _prepare_again, (*made, model, preference, priority, input_shapes, keep)
        with importing:
            from .cache import to_memory

        return _restore_again, (*made, *to_memory(self))

    def close(self):
        """Give the plan, the packed weights and working memory back; later calls raise InvalidArgument.

        Executions that run now end as they would; bursts of the model end. Closing twice does no harm.
        """
        for burst in list(self._bursts):
            burst.close()
        self._runner = self._static = None
        self._main = ClosedGraph()

    def __repr__(self):
        return f"PreparedModel({self.model.name or 'model'}: {len(self.model.main.operations)} operations)"


def _tell_plan(prepared, spent_ns):
    """Lines of the tag compilation: what came of a prepare, operation by operation."""
    preference, priority, _, _ = prepared._options
    vlog.log(vlog.COMPILATION, "%r: prepared in %.3f ms, %s, priority %s, %d threads", prepared, spent_ns / 1e6,
              preference, priority, prepared.num_threads)
    for line in str(prepared.explain()).splitlines():
        vlog.log(vlog.COMPILATION, "%s", line)


class _NotYet(Exception):
    """Planning ahead met a value that only an execution has."""


def _gone():
    """In place of a weak reference to the model with all its constants."""
    return None


def _restore_again(device, num_threads, precision, without_passes, model, data):
    with importing:
        from .cache import from_memory

    return from_memory(device(num_threads, precision=precision, without_passes=without_passes), model, data)


def _prepare_again(device, num_threads, precision, without_passes, model, preference, priority, input_shapes, keep):
    device = device(num_threads, precision=precision, without_passes=without_passes)
    return device.prepare(model, preference, priority, input_shapes=input_shapes, keep=keep)
