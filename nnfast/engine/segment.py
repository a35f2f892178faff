"""A sequence of operations with known shapes: native programs, numpy operations between them, and their memory."""

from contextlib import nullcontext
from functools import partial
from math import prod

import numpy as np

from .. import pace
from .._native.engine import Frame, Poison, Program, Step, poison
from .._native.threads import now_ns
from ..errors import Cancelled, MissedDeadlineTransient
from .reference import compute
from .resources import Owner
from .rows import new_row


class _CountedFrame(Frame):
    """A frame that keeps the Owner of its memory."""

    __slots__ = ("memory_owner",)

ROW_BYTES, SLOT_BYTES = 4096, 256
"""Bytes of a plan's tables per operation and per tensor, besides packed weights (measured: 2.0 KB of Python objects for
each ADD of a chain, 5.2 KB with allocator overhead)."""


class Segment:
    """Operations start..stop-1 of a graph, planned for one set of shapes; immutable.

    inputs, outputs: {operand: slot} bound from outside at each run; shapes: {operand: shape}, dtypes likewise. inner:
    outputs that only other segments read. blocked_on: operand whose value planning needs to continue, or None;
    complete: the graph ends here. tables: Owner of memory that steps keep besides constants; packing: its packed arrays
    (compiler/packing.py).
    """

    inner = frozenset()

    def __init__(self, start, stop, items, rows, frame_spec, inputs, outputs, tensors, aliases, blocked_on, last,
                 resources, tables=None, packing=None):
        self.start, self.stop, self.rows, self.blocked_on, self.complete = start, stop, rows, blocked_on, last
        self.inputs, self.outputs, self.tensors, self.aliases = inputs, outputs, tensors, aliases
        self.packing = packing
        self.items = _programs(items, _poison(frame_spec, outputs, tensors, resources.threads))
        self.native = len(self.items) <= 1 and all(isinstance(item, Program) for item in self.items)
        self.arena_bytes = frame_spec["arena_bytes"]
        self.constant_bytes = sum(a.nbytes for a in frame_spec["constants"].values())
        programs = [item for item in self.items if isinstance(item, Program)]
        self.scratch = max((p.scratch for p in programs), default=0)
        self.threads = max((p.threads for p in programs), default=1)
        self.resources, self._tables = resources, tables
        self.frame_spec = frame_spec
        self._frames, self._charge = [], None
        self.runs = 0  # number of frames returned
        self.held_bytes = self.constant_bytes + ROW_BYTES * len(rows) + SLOT_BYTES * frame_spec["slots"]
        resources.take(self.held_bytes, self, "prepare: packed weights")

    def shared(self, resources):
        """The same plan for other resources: shares programs and packed weights, but not frames."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin.resources, twin._frames, twin.runs, twin._charge = resources, [], 0, None
        if resources.budget is not None and resources.budget is not self.resources.budget:
            twin._charge = resources.budget.share(self.held_bytes, "prepare: packed weights")
        return twin

    def frame(self):
        """A frame to run in, from the pool or new; return it by `give_back`."""
        try:
            return self._frames.pop()
        except IndexError:
            return self.new_frame()

    def new_frame(self):
        """A new frame. Raises ResourceExhausted* if the memory budget does not allow it."""
        spec, resources, memory = self.frame_spec, self.resources, Owner()
        resources.take(spec["arena_bytes"] + self.scratch * resources.threads, memory, "execution: working memory")
        frame = _CountedFrame(spec["slots"], spec["offsets"], spec["arena_bytes"], spec["constants"], self.scratch,
                              resources.threads, resources.turn, resources.team)
        frame.memory_owner = memory
        return frame

    def give_back(self, frame):
        """Return a frame to the pool, without the caller's arrays."""
        frame.release(self._bound_slots())
        self._frames.append(frame)
        self.runs += 1

    def release_idle(self):
        """Return the memory of idle frames to the system."""
        self._frames.clear()

    def _bound_slots(self):
        return [*self.inputs.values(), *self.outputs.values(), *(slot for slot, _ in self.aliases)]

    def output_array(self, operand):
        """New array of an output's shape and type, charged as working memory unless the caller gets it."""
        shape, dtype = self.tensors[operand]
        array = np.empty(shape, dtype)
        if operand in self.inner:
            self.resources.take(array.nbytes, array, "execution: values between operations")
        return array

    def run(self, values, cancel=None, deadline_ns=0, times=None):
        """Run on arrays: `values` maps operands to arrays; outputs are written into values[operand], allocated if
        absent.

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
        """Run all items in a frame whose inputs and outputs are bound."""
        threads, turn = self.resources.threads, self.resources.turn
        for item in self.items:
            if isinstance(item, Program):
                ticks = None if times is None else np.zeros(len(item.steps), np.int64)
                outcome, done = item.run(frame, threads, cancel, deadline_ns, ticks)
                while outcome == "declined":
                    reference = item.steps[done - 1].reference
                    reference.run(frame, self.resources,
                                   partial(check_go_on, cancel, deadline_ns, reference.node.path))
                    outcome, done = item.run(frame, threads, cancel, deadline_ns, ticks, done)
                if times is not None:
                    times += [(step, int(t)) for step, t in zip(item.steps, ticks)]
                if outcome != "done":
                    _raise_stopped(outcome, f"step {done} of {len(item.steps)}")
            else:
                with nullcontext() if turn is None else turn.use(deadline_ns, cancel):
                    go_on = partial(check_go_on, cancel, deadline_ns, item.node.path)
                    go_on()
                    began = now_ns()
                    item.run(frame, self.resources, go_on)
                    if times is not None:
                        times.append((item, now_ns() - began))

    def shape_of(self, operand):
        return self.tensors[operand][0]


class DataStep:
    """One operation whose output shapes depend on data; runs in numpy.

    merged(path, place, operand, shape): the shape merged with the declared one.
    """

    blocked_on = None
    outputs = {}
    rows = ()

    def __init__(self, start, node, merged, last, resources):
        self.start, self.stop, self.complete = start, start + 1, last
        self._node, self._merged, self._resources = node, merged, resources
        self.rows = (new_row(start, node.op, "numpy", reason="output shapes depend on the data", steps=(0, 1)),)

    def run(self, values, cancel=None, deadline_ns=0, times=None):
        """As Segment.run; puts arrays of the resulting shapes into `values`."""
        node = self._node
        turn = self._resources.turn

        go_on = partial(check_go_on, cancel, deadline_ns, node.path)
        arrays = [t.value if t.value is not None else values.get(t.operand) if t.present else None for t in node.inputs]
        with nullcontext() if turn is None else turn.use(deadline_ns, cancel):
            go_on()
            began = now_ns()
            results = compute(node, arrays, self._resources, go_on)
        for place, (tensor, array) in enumerate(zip(node.outputs, results)):
            shape = self._merged(node.path, place, tensor.operand, array.shape)
            self._resources.take(array.nbytes, array, f"{node.path} output {place}")
            # A declared size overrides an empty result; no element is computed, so the output is zeros.
            values[tensor.operand] = array if shape == array.shape else np.zeros(shape, tensor.dtype)
        if times is not None:
            times.append((node, now_ns() - began))


class ControlStep:
    """IF or WHILE at operation `start`; driver/execution.py runs its subgraphs."""

    blocked_on = None
    outputs = {}

    def __init__(self, start, path, op, merged, last):
        self.start, self.stop, self.complete = start, start + 1, last
        self.path, self.type, self.merged = path, op.type, merged
        self.rows = (new_row(start, op, "control flow"),)


def check_go_on(cancel, deadline_ns, path):
    """Raise if the execution was cancelled or its deadline has passed; also a step of long work (nnfast.pace)."""
    pace.step()
    if cancel is not None and cancel.is_set:
        _raise_stopped("cancelled", path)
    if deadline_ns and now_ns() >= deadline_ns:
        _raise_stopped("deadline", path)


def _raise_stopped(outcome, where):
    if outcome == "cancelled":
        raise Cancelled(f"execution: cancelled, stopped at {where}")
    raise MissedDeadlineTransient(f"execution: the deadline passed, stopped at {where}; allow more time")


def _poison(spec, outputs, tensors, threads):
    """The step that fills the memory a run will write with the byte NNFAST_POISON, or None if that is not set."""
    byte = poison()
    if byte is None:
        return None
    sizes = {slot: prod(tensors[operand][0]) * tensors[operand][1].itemsize for operand, slot in outputs.items()}
    if spec["offsets"]:
        lowest = min(spec["offsets"], key=spec["offsets"].get)
        sizes[lowest] = spec["arena_bytes"] - spec["offsets"][lowest]
    return Poison(tuple(sizes), tuple(sizes.values()), byte, threads)


def _programs(items, head):
    """Group consecutive native steps into programs; head: a step before the first item, or None."""
    result, steps = [], []
    for item in items:
        if not isinstance(item, Step):
            if steps or head is not None:
                result.append(Program(steps, head))
                steps, head = [], None
            result.append(item)
        else:
            steps.append(item)
    if steps:
        result.append(Program(steps, head))
    return result
