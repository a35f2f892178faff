"""A run of operations with all shapes known: native programs with numpy operations between them, and their memory."""

from contextlib import nullcontext
from copy import copy

import numpy as np

from .._native.plan import Frame, Program
from .._native.threads import now_ns
from ..errors import Cancelled, MissedDeadlineTransient


class Segment:
    """Operations start..stop-1 of a graph, planned for one set of shapes; immutable once made.

    inputs, outputs: {operand: slot} bound from outside at each run; shapes: {operand: shape}, dtypes likewise.
    blocked_on: operand whose value planning needs to go on, or None; complete: the graph ends here.
    """

    def __init__(self, start, stop, items, rows, frame_spec, inputs, outputs, tensors, aliases, blocked_on, last,
                 resources):
        self.start, self.stop, self.rows, self.blocked_on, self.complete = start, stop, rows, blocked_on, last
        self.inputs, self.outputs, self.tensors, self.aliases = inputs, outputs, tensors, aliases
        self.items = _programs(items)
        self.native = len(self.items) <= 1 and all(isinstance(item, Program) for item in self.items)
        self.arena_bytes = frame_spec["arena_bytes"]
        self.constant_bytes = sum(a.nbytes for a in frame_spec["constants"].values())
        programs = [item for item in self.items if isinstance(item, Program)]
        self.scratch = max((p.scratch for p in programs), default=0)
        self.threads = max((p.threads for p in programs), default=1)
        self.resources = resources
        self.frame_spec = frame_spec
        self._frames = []
        self.runs = 0  # how often a frame was given back
        resources.take(self.constant_bytes, self, "prepare: packed weights")

    def shared(self, resources):
        """The same plan for other resources: programs and packed weights in common, frames of its own."""
        twin = copy(self)
        twin.resources, twin._frames, twin.runs = resources, [], 0
        if resources.budget is not None:
            resources.budget.share(self.constant_bytes, twin, "prepare: packed weights")
        return twin

    def frame(self):
        """A frame to run in, from the pool or new. Give it back with `give_back`."""
        try:
            return self._frames.pop()
        except IndexError:
            return self.new_frame()

    def new_frame(self):
        """A frame for a run. Raises ResourceExhausted* when the memory budget does not allow it."""
        spec, resources = self.frame_spec, self.resources
        frame = Frame(spec["slots"], spec["offsets"], spec["arena_bytes"], spec["constants"], self.scratch,
                      resources.threads, resources.turn)
        resources.take(spec["arena_bytes"] + self.scratch * resources.threads, frame, "execution: working memory")
        return frame

    def give_back(self, frame):
        """Return a frame to the pool; forgets the caller's arrays."""
        frame.release(self._bound_slots())
        self._frames.append(frame)
        self.runs += 1

    def release_idle(self):
        """Give the memory of idle frames back to the system."""
        self._frames.clear()

    def _bound_slots(self):
        return [*self.inputs.values(), *self.outputs.values(), *(slot for slot, _ in self.aliases)]

    def output_array(self, operand):
        """Fresh array of an output's shape and type."""
        shape, dtype = self.tensors[operand]
        return np.empty(shape, dtype)

    def run(self, values, cancel=None, deadline_ns=0, times=None):
        """Run on arrays: `values` maps operands to arrays; outputs are written into values[operand], made if absent.

        times: list that collects (row index, nanoseconds) per operation.
        """
        frame = self.frame()
        try:
            for operand, slot in self.inputs.items():
                frame.bind(slot, values[operand])
            for operand, slot in self.outputs.items():
                if operand not in values:
                    values[operand] = self.output_array(operand)
                frame.bind(slot, values[operand])
            for slot, root in self.aliases:
                frame.alias(slot, root)
            self.run_items(frame, cancel, deadline_ns, times)
        finally:
            self.give_back(frame)

    def run_items(self, frame, cancel=None, deadline_ns=0, times=None):
        """Run everything in a frame whose outer slots are bound."""
        threads, turn = self.resources.threads, self.resources.turn
        for item in self.items:
            if isinstance(item, Program):
                ticks = None if times is None else np.zeros(len(item.steps), np.int64)
                outcome, done = item.run(frame, threads, cancel, deadline_ns, ticks)
                while outcome == "declined":
                    item.steps[done - 1].definition.run(frame)
                    outcome, done = item.run(frame, threads, cancel, deadline_ns, ticks, done)
                if times is not None:
                    times += [(step, int(t)) for step, t in zip(item.steps, ticks)]
                if outcome != "done":
                    _stop(outcome, f"step {done} of {len(item.steps)}")
            else:
                with nullcontext() if turn is None else turn.use(deadline_ns):
                    check_go_on(cancel, deadline_ns, item.node.path)
                    began = now_ns()
                    item.run(frame)
                    if times is not None:
                        times.append((item, now_ns() - began))

    def shape_of(self, operand):
        return self.tensors[operand][0]


class DataStep:
    """One operation whose output shapes only its data give; runs on arrays of the caller's values, in numpy.

    merged(path, place, operand, shape): the shape with the declared one merged in.
    """

    blocked_on = None
    outputs = {}
    rows = ()

    def __init__(self, start, node, merged, last):
        self.start, self.stop, self.complete = start, start + 1, last
        self._node, self._merged = node, merged
        self.rows = ({"index": start, "operation": node.op.name, "kernel": "numpy",
                      "reason": "output shapes depend on the data", "output": [], "types": [], "packed_bytes": 0,
                      "bytes": 0, "work": 0.0, "steps": (0, 1), "joined": None},)

    def run(self, values, cancel=None, deadline_ns=0, times=None):
        """As Segment.run; puts arrays of the shapes that came out into `values`."""
        node = self._node
        check_go_on(cancel, deadline_ns, node.path)
        began = now_ns()
        arrays = [t.value if t.value is not None else values.get(t.operand) if t.present else None for t in node.inputs]
        results = node.op.compute(node.with_values(arrays), arrays)
        for place, (tensor, array) in enumerate(zip(node.outputs, results)):
            shape = self._merged(node.path, place, tensor.operand, array.shape)
            # Against a declared size, a result without elements leaves the output as it is: zeros here.
            values[tensor.operand] = array if shape == array.shape else np.zeros(shape, tensor.dtype)
        if times is not None:
            times.append((node, now_ns() - began))


class ControlStep:
    """IF or WHILE at operation `start`; the driver's execution runs the graphs it names."""

    blocked_on = None
    outputs = {}

    def __init__(self, start, path, type_, merged, last):
        self.start, self.stop, self.complete = start, start + 1, last
        self.path, self.type, self.merged = path, type_, merged
        self.rows = ({"index": start, "operation": type_.name, "kernel": "control flow", "reason": "", "output": [],
                      "types": [], "packed_bytes": 0, "bytes": 0, "work": 0.0, "steps": (0, 0), "joined": None},)


def check_go_on(cancel, deadline_ns, path):
    """Stop at `path` when the execution was cancelled or is late."""
    if cancel is not None and cancel.is_set:
        _stop("cancelled", path)
    if deadline_ns and now_ns() >= deadline_ns:
        _stop("deadline", path)


def _stop(outcome, where):
    if outcome == "cancelled":
        raise Cancelled(f"execution: cancelled, stopped at {where}")
    raise MissedDeadlineTransient(f"execution: the deadline passed, stopped at {where}; allow more time")


def _programs(items):
    """Consecutive native steps become programs."""
    result, steps = [], []
    for item in items:
        if hasattr(item, "compute"):
            if steps:
                result.append(Program(steps))
                steps = []
            result.append(item)
        else:
            steps.append(item)
    if steps:
        result.append(Program(steps))
    return result
