"""Plans and runs a model, for prepared models, streams, bursts and the service alike.

If the plan is one native program and nothing observes the run, `quick` executes it on arrays that match the plan.
Everything else takes the general path, which computes the results or raises what is wrong.
"""

from functools import partial
from math import prod
from weakref import WeakSet

from .. import observe, trace, vlog
from .._native.engine import MAX_RANK, Runner
from .._native.threads import Turn, now_ns
from ..checks import counted
from ..compiler.check import has_open_form, require_supported
from ..engine.resources import Resources
from ..engine.segment import Segment
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
from .arguments import as_given, as_stored, check_output, initial_value, taken_inputs
from .closing import ClosedGraph
from .execution import NO_LIMITS, PRIORITIES, GraphRunner
from .form import RequestForm
from .recent import RecentPlans
from .request import ExecutionResult, OutputShape, Timing
from .tensors import info_of


class Executor:
    """A checked and resolved model on a device, its plan and its working memory. Any number of threads may use it.

    inputs, outputs: TensorInfos of the arguments of `perform`, without states. form: RequestForm of its requests, which
    name the states too. initial: what each state starts from, as an array. resources: engine.Resources of a run.
    segment: the plan of the whole graph, None if shapes or values are known only at execution; runner: the native
    Runner of that plan, None if it is not one native program. bursts: open bursts on the model. kept: intermediate
    operands returned after the model's outputs. recent: RecentPlans of a graph that has no such plan.
    """

    def __init__(self, device, model, priority, kept=()):
        self.model, graph, states = model, model.main, model.states
        given, made = {s.input for s in states}, {s.output for s in states}
        self.inputs = tuple(info_of(model, o, f"input_{i}") for i, o in enumerate(graph.inputs) if i not in given)
        self.outputs = tuple(info_of(model, o, f"output_{i}") for i, o in enumerate(graph.outputs)
                             if i not in made) + tuple(info_of(model, o, f"operand_{o}") for o in kept)
        self.form = RequestForm(graph)
        self.is_plain = not kept and not states
        self.initial = [initial_value(graph.operands[graph.inputs[s.input]], s) for s in states]
        self.resources = _resources(device, priority)
        self.segment = self.runner = None
        self.quick = _declined
        self.bursts = WeakSet()
        self.kept = kept
        self._inputs, self._outputs = (tuple([info.operand for info in infos]) for infos in (self.inputs, self.outputs))
        self._states_in = tuple([graph.inputs[s.input] for s in states])
        self._states_out = tuple([graph.outputs[s.output] for s in states])
        self.recent = RecentPlans({operand: place for place, operand in enumerate(self._inputs)})
        self._best_ns = 0  # of the shortest measured execution of the plan

    def twin(self, device, priority):
        """The same model and plan (there must be one) for another device, with working memory of its own."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)  # `recent`, too, which is for models without a plan
        twin.form, twin.bursts, twin._best_ns = self.form.twin(), WeakSet(), 0
        twin.resources = _resources(device, priority)
        twin.__dict__.pop("_walker", None)
        twin._keep(self.segment.shared(twin.resources))
        return twin

    @property
    def _graph(self):
        """The GraphRunner, made when it is first asked for: native runs of a twin never do."""
        return self.__dict__.get("_walker") or self.__dict__.setdefault("_walker", self._new_walker())

    def _new_walker(self):
        walker = GraphRunner(self.model, self.model.main, "main", self.resources, self.kept)
        if self.segment is not None:
            walker.adopt(self.segment)
        return walker

    # -- planning ------------------------------------------------------------------------------------------------------
    def plan(self, deadline_ns, cancel, go_on, packing=None):
        """Plan as far as shapes and values are known; raises what a first execution would raise.

        A complete plan proves that every operation is supported; without one, support is checked separately.
        packing: a StoredPacking to plan with, or None.
        """
        segment = None if packing is None else packing.restored(self.model, self.kept, self.resources)
        if segment is not None:
            self.adopt(segment)
            return
        graph = self.model.main
        shapes = {o: graph.operands[o].shape for o in graph.inputs}

        def unknown(operand):
            raise _NotYet

        if all(s is not None and None not in s for s in shapes.values()):
            try:
                segment = self._graph.planner.segment(0, shapes, unknown, deadline_ns, cancel, packing=packing)
                if segment.complete and isinstance(segment, Segment):
                    self._keep(segment)
                    return
            except _NotYet:
                pass
            except (Cancelled, MissedDeadlineTransient, ResourceExhaustedTransient, ResourceExhaustedPersistent):
                raise
            except Error:
                require_supported(self.model, go_on)
                if not has_open_form(self.model):
                    raise  # else the model may be valid once optional inputs are omitted
        require_supported(self.model, go_on)
        self.quick = self.recent.run

    def adopt(self, segment):
        """Use a Segment that covers the whole graph, planned for these resources."""
        self._graph.adopt(segment)
        self._keep(segment)

    def replace_model(self, model):
        """Switch to the same model without the values of constants that the plan does not read."""
        self.model = model
        self._walker = self._new_walker()

    def _keep(self, segment):
        self.segment = segment
        self.form.results = {operand: self._shape(operand) for operand, _ in self.form.outputs}
        self.runner = self._make_runner(segment, {})
        if self.runner is not None:
            self.quick = self.runner.run
            observe.follow(self)

    def _make_runner(self, segment, given):
        """A Runner of a Segment that covers the graph, planned for these shapes of inputs ({}: those declared); None if
        it is not one native program, or arguments are omitted."""
        graph = self.model.main
        if not segment.native or not segment.items:
            return None

        arguments = (*graph.inputs, *graph.outputs, *self.kept)
        shapes = {o: given.get(o, graph.operands[o].shape) for o in arguments}
        shapes.update((o, shape) for o, (shape, _) in segment.tensors.items() if o in shapes)
        if any(shape is None or None in shape or len(shape) > MAX_RANK for shape in shapes.values()):
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
                result.append((slot, dtype, shapes[operand], aliases.get(slot, [])))
            return result

        return Runner(segment.items[0], segment.new_frame, self.resources.threads, rows(self._inputs),
                      rows(self._outputs), rows(self._states_in), rows(self._states_out), self.initial)

    def _shape(self, operand):
        segment = self.segment  # None after close, which may happen on another thread
        planned = segment is not None and operand in segment.tensors
        return segment.shape_of(operand) if planned else self.model.main.operands[operand].dims

    def observed(self, watchers):
        """Let `quick` decline while there are watchers: profiles, traces and log lines need executions in Python."""
        for runner in self._runners():
            runner.watched = watchers > 0

    def _runners(self):
        runner = self.runner
        return self.recent.runners() if runner is None else [runner]

    # -- arrays --------------------------------------------------------------------------------------------------------
    # quick(inputs, out, state, new_state, cancel): Runner.run if there is a Runner; returns None if it declines.

    def perform(self, inputs, out=None, limits=NO_LIMITS, state=None, new_state=None):
        """Results of one run in the order of `outputs`, from a list of arrays in the order of `inputs`.

        out: list of arrays to write them into; limits: execution.Limits. state: array that each state starts from,
        None: `initial`; new_state: arrays that receive the new states, None: discard them.
        Raises InvalidArgument, GeneralFailure, and what the limits raise.
        """
        if not limits.deadline_ns and (limits.room is None or out is not None):
            results = self.quick(inputs, out, state, new_state, limits.cancel)
            if results is not None:
                return results
        return self._perform(inputs, out, limits, self.initial if state is None else state, new_state or ())

    @vlog.log_errors(vlog.EXECUTION, "run")
    def _perform(self, inputs, out, limits, state, new_state):
        """The general path of perform."""
        if not observe.watchers:
            return self._walk(inputs, out, limits, state, new_state)
        began = now_ns()
        with trace.span("LD", "PE", "run"):
            results = self._walk(inputs, out, limits, state, new_state)
        if vlog.mask & vlog.EXECUTION:
            vlog.log(vlog.EXECUTION, "%r: run took %.1f us", self, (now_ns() - began) / 1e3)
        return results

    def _walk(self, inputs, out, limits, state, new_state):
        if len(inputs) != len(self.inputs):
            raise InvalidArgument(f"run: got {counted(len(inputs), 'input')}, must be {len(self.inputs)}"
                                  f" ({', '.join(i.name for i in self.inputs)})")
        if out is not None and len(out) != len(self.outputs):
            raise InvalidArgument(f"run: got {len(out)} output arrays, must be {len(self.outputs)}")
        values, places = dict(zip(self._states_in, state)), dict(zip(self._states_out, new_state))
        shapes = {operand: array.shape for operand, array in values.items()}
        inputs = taken_inputs(self.inputs, inputs)
        for info, array in zip(self.inputs, inputs):
            shapes[info.operand] = None if array is None else array.shape
            if array is not None:
                values[info.operand] = as_stored(array)

        def provide(operand, shape, dtype):
            if out is not None and operand in self._outputs:
                place = self._outputs.index(operand)
                array = out[place]
                check_output(self.outputs[place], array, shape, dtype,
                             [*inputs, *(other for other in out if other is not array)])
                return as_stored(array)
            return places.get(operand)

        sizes = {}

        def settle(values, made):
            sizes.update((operand, prod(shape) * self.model.main.operands[operand].dtype.itemsize)
                         for operand, shape in made.items() if operand in self._outputs)
            limits.room(sum(sizes.values()))

        graph = self._graph
        graph.walk(shapes, values, limits, provide, settle if limits.room and out is None else None)
        if self.segment is None and self.recent.learn(graph.planner, self._make_runner):
            observe.follow(self)
        results = [as_given(values[info.operand], info.dtype) for info in self.outputs]
        return results if out is None else self._deliver(results, inputs, out)

    def _deliver(self, results, inputs, out):
        """Copy results that were not computed in place into the caller's arrays."""
        for info, result, array in zip(self.outputs, results, out):
            if array is not result:
                check_output(info, array, result.shape, result.dtype, [*inputs, *(o for o in out if o is not array)])
        for result, array in zip(results, out):
            if array is not result:
                array[...] = result
        return list(out)

    # -- requests ------------------------------------------------------------------------------------------------------
    def bind(self, request):
        """pools.Arguments of a Request. Raises InvalidArgument."""
        with importing:
            from .pools import bind_request

        self.bind = partial(bind_request, self.form)  # from now on without this function
        return self.bind(request)

    def perform_request(self, arguments, limits, began, measure_timing=False):
        """ExecutionResult of a bound request (pools.Arguments) within Limits; began: start of the call in nanoseconds.
        Raises as PreparedModel.execute.
        """
        values, shapes = dict(arguments.inputs), dict(arguments.shapes)
        started = now_ns()
        self._check_time(started, limits)
        with arguments:
            if not self._perform_in_place(arguments, values, limits):
                self._graph.walk(shapes, values, limits, arguments.place, arguments.settle)
            spent = now_ns() - started
            if self.segment is not None:
                self._best_ns = min(self._best_ns or spent, spent)
            if vlog.mask & vlog.EXECUTION:
                vlog.log(vlog.EXECUTION, "%r: execution took %.1f us", self, spent / 1e3)
            with trace.span("LD", "PR", "outputs"):
                shapes = arguments.finish(values)
        timing = Timing(spent // 1000, (now_ns() - began) // 1000) if measure_timing else Timing()
        return ExecutionResult(tuple(OutputShape(shape, True) for shape in shapes), timing)

    def _perform_in_place(self, arguments, values, limits):
        """Fast path of perform_request; returns False if the arguments' memory does not allow it."""
        if self.runner is None or not self.is_plain or limits.deadline_ns or observe.watchers:
            return False
        outputs = []
        for info in self.outputs:
            array = arguments.place(info.operand, self._shape(info.operand), info.dtype)
            if array is None:
                return False
            outputs.append(array)
        inputs = [as_given(values.get(info.operand), info.dtype) for info in self.inputs]
        results = [as_given(array, info.dtype) for array, info in zip(outputs, self.outputs)]
        if self.quick(inputs, results, None, None, limits.cancel) is None:
            return False
        values.update(zip(self._outputs, outputs))
        return True

    def _check_time(self, now, limits):
        """Raise MissedDeadline* if even the fastest execution so far took longer than the time left [NN 8.2]."""
        left = limits.deadline_ns - now
        if limits.deadline_ns and left < self._best_ns:
            error = MissedDeadlineTransient if limits.granted_ns > self._best_ns else MissedDeadlinePersistent
            raise error(f"execution: {max(0, left) / 1e6:.3f} ms are left, the shortest execution so far took "
                        f"{self._best_ns / 1e6:.3f} ms; allow more time")

    # -- memory --------------------------------------------------------------------------------------------------------
    @property
    def result_shapes(self):
        """Shapes of `outputs` if every run has the same, else None."""
        return None if self.segment is None else [tuple(self._shape(operand)) for operand in self._outputs]

    def segments(self):
        """All plans kept, including those for other shapes and for subgraphs of IF and WHILE."""
        return self._graph.segments()

    def run_count(self):
        """Count of runs that used working memory; for the watchdog."""
        return sum(holder.runs for holder in (*self._runners(), *list(self.bursts), *self.segments()))

    def release_idle(self):
        """Return unused working memory to the system; the next execution allocates it again."""
        for holder in (*self._runners(), *list(self.bursts), *self.segments()):
            holder.release_idle()

    def close(self):
        """Free the plan, the packed weights and working memory, and end the bursts. Running executions finish; later
        ones raise InvalidArgument."""
        for burst in list(self.bursts):
            burst.close()
        self.quick = _declined
        self.recent.close()
        self.runner = self.segment = self.form.results = None
        self._walker = ClosedGraph()

    def __repr__(self):
        """As the user's PreparedModel, for log lines."""
        return f"PreparedModel({self.model.name or 'model'}: {counted(len(self.model.main.operations), 'operation')})"


def _resources(device, priority):
    return Resources(device.num_threads, Turn(device.gate, PRIORITIES.index(priority)), device.budget,
                     device.precision, device.client.pacing, device.without_passes, device.team)


class _NotYet(Exception):
    """Planning needs a value that is known only at execution."""


def _declined(inputs, out=None, state=None, new_state=None, cancel=None):
    """Replaces Runner.run if there is no Runner: declines always."""
    return None
