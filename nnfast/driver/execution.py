"""Runs graphs segment by segment, including the subgraphs of IF and WHILE [NN 10.2, 10.4]."""

import threading
from contextlib import nullcontext
from functools import partial

from .. import observe, trace
from .._native.threads import now_ns
from ..compiler.planner import Planner
from ..engine.resources import exhausted
from ..engine.segment import ControlStep, check_go_on
from ..errors import GeneralFailure, MissedDeadlineTransient
from ..forks import importing, renewed
from ..model.types import OperationType
from ..record import record
from .durations import DEFAULT_LOOP_TIMEOUT_NS, deadline_to_ns, loop_timeout_to_ns
from .rounds import native_rounds

PRIORITIES = ("low", "medium", "high")


@record(frozen=True, slots=True)
class Limits:
    """What can end an execution early: a Cancel flag, a deadline (0 = none), the time each WHILE may take.

    granted_ns: time from the client's call to the deadline, part of which the execution may have spent waiting.
    room(nbytes): called with the total bytes of results to allocate, before that is done; raises if they are too many.
    """

    cancel: object = None
    deadline_ns: int = 0
    loop_timeout_ns: int = DEFAULT_LOOP_TIMEOUT_NS
    granted_ns: int = 0
    room: object = None


NO_LIMITS = Limits()


def limits_of(deadline, loop_timeout, now, cancel=None):
    """Limits from times in seconds; raises MissedDeadlinePersistent if the deadline has passed."""
    deadline_ns = deadline_to_ns(deadline, now, "execute")
    return Limits(cancel, deadline_ns, loop_timeout_to_ns(loop_timeout), deadline_ns and deadline_ns - now)


class GraphRunner:
    """One graph of a model: its planner, and the runners of the graphs it refers to. resources: engine.Resources."""

    def __init__(self, model, graph, name, resources, keep=()):
        self.model, self.graph, self.name, self.resources = model, graph, name, resources
        self.planner = Planner(model, graph, name, resources, keep)
        self._inner = {}
        self._lock = renewed(threading.Lock())

    def adopt(self, segment):
        """Use a Segment that covers the whole graph as its plan for the declared shapes."""
        operands = self.graph.operands
        self.planner.adopt({operand: operands[operand].shape for operand in self.graph.inputs}, segment)

    def segments(self):
        """All segments kept, including those of subgraphs."""
        found, waiting = [], [self]
        while waiting:
            runner = waiting.pop()
            found += runner.planner.kept()
            with runner._lock:
                waiting += runner._inner.values()
        return found

    def walk(self, shapes, values, limits, provide=None, settle=None):
        """Run on arrays: `values` {operand: array} starts with the inputs and receives what is computed.

        shapes: {operand: shape, None if omitted} of the inputs; provide(operand, shape, dtype): array to write an
        output into, or None; settle(values, shapes): called with the shapes of outputs before they are computed, may
        raise.
        Raises ResourceExhaustedTransient if memory runs out.

        Graphs may be nested deeper than Python's recursion limit: each runs as a generator that yields the subgraph
        calls it needs, on an explicit stack.
        """
        pacing = self.resources.pacing
        try:
            with trace.span("LC", "PE", self.name), nullcontext() if pacing is None else pacing(limits):
                self._run(self._steps(shapes, values, limits, provide, settle), limits)
        except MemoryError as error:
            raise exhausted("execution", error) from None

    @staticmethod
    def _run(steps, limits):
        """Run a generator of `_steps` to its end, and those of the subgraphs that it yields."""
        graphs, answer = [steps], None
        while graphs:
            try:
                runner, arrays = graphs[-1].send(answer)
            except StopIteration as done:
                graphs.pop()
                answer = done.value
            else:
                graphs.append(runner._call(arrays, limits))
                answer = None

    def _steps(self, shapes, values, limits, provide=None, settle=None):
        """Run this graph; yields each subgraph call as (GraphRunner, input arrays) and is sent the output arrays."""
        start, fits = 0, None if settle is None else partial(settle, values)
        while True:
            segment = self.planner.segment(start, shapes, values.__getitem__, limits.deadline_ns, limits.cancel, fits)
            if isinstance(segment, ControlStep):
                yield from self._control(segment, values, limits)
            else:
                if fits is not None and segment.outputs:
                    fits({operand: segment.tensors[operand][0] for operand in segment.outputs})
                if provide is not None:
                    for operand in segment.outputs:
                        array = provide(operand, *segment.tensors[operand])
                        if array is not None:
                            values[operand] = array
                if observe.watchers:
                    self._run_watched(segment, values, limits)
                else:
                    segment.run(values, limits.cancel, limits.deadline_ns)
            if segment.complete:
                return
            made = segment.outputs or self.graph.operations[segment.start].outputs
            shapes = {**shapes, **{operand: values[operand].shape for operand in made if operand in values}}
            start = segment.stop
            shapes = self.planner.alive(shapes, start)

    def _run_watched(self, segment, values, limits):
        with importing:
            from .report import report

        times, began = [], now_ns()
        segment.run(values, limits.cancel, limits.deadline_ns, times)
        report(self.model, self.name, segment, times, began)

    def _call(self, arrays, limits):
        """As _steps, from input arrays; returns the outputs as fresh arrays."""
        values = dict(zip(self.graph.inputs, arrays))
        with trace.span("LC", "PE", self.name):
            yield from self._steps({o: a.shape for o, a in values.items()}, values, limits)
        return [values[operand] for operand in self.graph.outputs]

    def _control(self, step, values, limits):
        check_go_on(limits.cancel, limits.deadline_ns, step.path)
        operation = self.graph.operations[step.start]
        run = self._if if step.type == OperationType.IF else self._while
        results = yield from run(step, operation, values, limits)
        for place, (operand, array) in enumerate(zip(operation.outputs, results)):
            if step.merged(step.path, place, operand, array.shape) != array.shape:
                raise GeneralFailure(f"{step.path} output {place}: shape is {list(array.shape)}, the model declares "
                                     f"{list(self.graph.operands[operand].dims)}")
            values[operand] = array

    def _if(self, step, operation, values, limits):
        condition = self._value(operation.inputs[0], values)
        branch = self._runner(operation.inputs[1 if condition.reshape(-1)[0] else 2])
        return (yield branch, [self._value(o, values) for o in operation.inputs[3:]])

    def _while(self, step, operation, values, limits):
        condition, body = (self._runner(operand) for operand in operation.inputs[:2])
        first = [self._value(operand, values) for operand in operation.inputs[2:]]
        began = now_ns()

        def check():
            if now_ns() - began > limits.loop_timeout_ns:
                raise MissedDeadlineTransient(f"{step.path}: the loop ran longer than "
                                              f"{limits.loop_timeout_ns / 1e6:g} ms; allow more time with loop_timeout")
            check_go_on(limits.cancel, limits.deadline_ns, step.path)

        found = None if observe.watchers else native_rounds(condition, body, first, limits, check)
        state = first[:] if found is None else found
        while found is None:
            (go_round,) = yield condition, state
            if not go_round.reshape(-1)[0]:
                break
            check()
            # Results of the body are fresh arrays: it reads the old state while it writes the new one.
            result = yield body, state
            state[:len(result)] = result
        # A loop of no rounds would return its initial values, which belong to the caller.
        return [now.copy() if now is then else now for now, then in zip(state, first)][:len(operation.outputs)]

    def _value(self, operand, values):
        record = self.graph.operands[operand]
        return record.data if record.is_constant else values[operand]

    def _runner(self, operand):
        index = self.graph.operands[operand].subgraph
        with self._lock:
            if index not in self._inner:
                self._inner[index] = GraphRunner(self.model, self.model.referenced[index], f"referenced[{index}]",
                                                 self.resources)
            return self._inner[index]
