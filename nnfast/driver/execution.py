"""Runs graphs segment after segment, and the graphs that IF and WHILE name (hal.md 10.2, 10.4)."""

import threading
from dataclasses import dataclass, replace

from .. import observe, trace
from .._native.threads import now_ns
from ..compiler.planner import Planner
from ..engine.segment import ControlStep, check_go_on
from ..errors import (
    GeneralFailure,
    MissedDeadlineTransient,
    ResourceExhaustedPersistent,
    ResourceExhaustedTransient,
)
from ..model.types import OperationType
from .durations import DEFAULT_LOOP_TIMEOUT_NS, deadline_to_ns, loop_timeout_to_ns

PRIORITIES = ("low", "medium", "high")


@dataclass(frozen=True, slots=True)
class Limits:
    """What can end an execution early: a Cancel flag, a deadline (0 = none), the time each WHILE may take.

    granted_ns: from the client's call to the deadline, when the execution may have waited in between.
    """

    cancel: object = None
    deadline_ns: int = 0
    loop_timeout_ns: int = DEFAULT_LOOP_TIMEOUT_NS
    granted_ns: int = 0

    def with_cancel(self, cancel):
        """The same, with a Cancel flag."""
        return replace(self, cancel=cancel)


def limits_of(deadline, loop_timeout, now):
    """Limits of an execution from seconds; MissedDeadlinePersistent when the deadline has passed."""
    deadline_ns = deadline_to_ns(deadline, now, "execute")
    return Limits(None, deadline_ns, loop_timeout_to_ns(loop_timeout), deadline_ns and deadline_ns - now)


class GraphRunner:
    """One graph of a model: its planner, and the runners of the graphs it refers to. resources: engine.Resources."""

    def __init__(self, model, graph, name, resources, keep=()):
        self.model, self.graph, self.name, self.resources = model, graph, name, resources
        self.planner = Planner(model, graph, name, resources, keep)
        self._inner = {}
        self._lock = threading.Lock()

    def segments(self):
        """All segments that are kept, those of the inner graphs too."""
        with self._lock:
            inner = list(self._inner.values())
        return [*self.planner.kept(), *(segment for runner in inner for segment in runner.segments())]

    def execute(self, shapes, values, limits, provide=None):
        """Run on arrays: `values` {operand: array} starts with the inputs and receives what is computed.

        shapes: {operand: shape, None when omitted} of the inputs; provide(operand, shape, dtype): array to write an
        output into, or None. Raises ResourceExhaustedTransient when memory runs out.
        """
        try:
            with trace.span("LC", "PE", self.name):
                self._execute(shapes, values, limits, provide)
        except (ResourceExhaustedTransient, ResourceExhaustedPersistent):
            raise
        except MemoryError as error:
            raise ResourceExhaustedTransient(f"execution: out of memory: {error}") from None

    def _execute(self, shapes, values, limits, provide):
        start = 0
        while True:
            segment = self.planner.segment(start, shapes, values.__getitem__, limits.deadline_ns)
            if isinstance(segment, ControlStep):
                self._control(segment, values, limits)
            else:
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
            start = segment.stop
            shapes = self.planner.alive({o: shapes.get(o, None) if o not in values else values[o].shape
                                         for o in (*shapes, *values)}, start)

    def _run_watched(self, segment, values, limits):
        from .report import report

        times, began = [], now_ns()
        segment.run(values, limits.cancel, limits.deadline_ns, times)
        report(self.model, self.name, segment, times, began)

    def call(self, arrays, limits):
        """Outputs of the graph for its inputs, as fresh arrays."""
        values = dict(zip(self.graph.inputs, arrays))
        self.execute({o: a.shape for o, a in values.items()}, values, limits)
        return [values[operand] for operand in self.graph.outputs]

    def _control(self, step, values, limits):
        check_go_on(limits.cancel, limits.deadline_ns, step.path)
        operation = self.graph.operations[step.start]
        run = self._if if step.type == OperationType.IF else self._while
        for place, (operand, array) in enumerate(zip(operation.outputs, run(step, operation, values, limits))):
            if step.merged(step.path, place, operand, array.shape) != array.shape:
                raise GeneralFailure(f"{step.path} output {place}: shape is {list(array.shape)}, the model declares "
                                     f"{list(self.graph.operands[operand].dims)}")
            values[operand] = array

    def _if(self, step, operation, values, limits):
        condition = self._value(operation.inputs[0], values)
        branch = self._runner(operation.inputs[1 if condition.reshape(-1)[0] else 2])
        return branch.call([self._value(o, values) for o in operation.inputs[3:]], limits)

    def _while(self, step, operation, values, limits):
        condition, body = (self._runner(operand) for operand in operation.inputs[:2])
        first = [self._value(operand, values) for operand in operation.inputs[2:]]
        state = list(first)
        began = now_ns()
        while condition.call(state, limits)[0].reshape(-1)[0]:
            if now_ns() - began > limits.loop_timeout_ns:
                raise MissedDeadlineTransient(f"{step.path}: the loop ran longer than "
                                              f"{limits.loop_timeout_ns / 1e6:g} ms; allow more time with loop_timeout")
            check_go_on(limits.cancel, limits.deadline_ns, step.path)
            # The body gives fresh arrays, so that it reads the old state while it writes the new.
            result = body.call(state, limits)
            state[:len(result)] = result
        # A loop that never ran hands out its initial values, which belong to somebody else.
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
