"""Model -> segments: shapes, kernels, packing, memory.

A model whose shapes, and values that determine shapes, are all known becomes one segment at prepare. At an operation
that needs a run-time value, or whose output shape depends on data, planning stops, and goes on at execution; such plans
are kept in a small LRU cache by shapes and values.
"""

from collections import OrderedDict
from math import prod
from threading import Lock

import numpy as np

from .. import trace
from ..engine.arena import place
from ..engine.resources import Owner
from ..engine.segment import ControlStep, DataStep, Segment, check_go_on
from ..errors import GeneralFailure, InvalidArgument, guarded
from ..forks import importing, renewed
from ..ops.base import ValueUnknown
from ..ops.control_flow import ControlDef
from ..ops.registry import lookup
from . import passes
from .folding import fold
from .lowering import Lowering
from .nodes import Facts, check_zero_sized

KEPT_PLANS = 16

WHOLE_VALUES = 256
"""Bytes up to which a value itself is the cache key of a plan, instead of its digest."""

_INDEXES = np.dtype(np.int32), np.dtype(np.int64)

PATIENCE = 0.01
"""How often, in seconds, an execution that waits for another one's planning checks its own limits."""


class Planner:
    """Plans one graph of a validated model.

    name: the graph's, in messages; resources: the prepared model's; keep: operands to return besides the outputs.
    """

    def __init__(self, model, graph, name, resources, keep=()):
        self.model, self.graph, self.name, self.resources = model, graph, name, resources
        self.wanted = frozenset((*graph.outputs, *keep))
        self._given_out = frozenset(graph.outputs)
        self._last_read = {}
        for index, operation in enumerate(self.graph.operations):
            for operand in operation.inputs:
                self._last_read[operand] = index
        self._lock = renewed(Lock())
        self._kept = OrderedDict()
        self._needs = {}
        self._settled, self._settled_to = {}, 0

    def segment(self, start, shapes, values, deadline_ns=0, cancel=None, fits=None, packing=None):
        """Segment that begins at operation `start`.

        shapes: {operand: shape, None if omitted} of all live operands; values(operand) -> array, for values that
        planning needs. deadline_ns (0 = none) and cancel (a Cancel flag or None) are checked before every operation and
        during memory placement. fits({output of the graph: shape}): called before anything is allocated for these
        shapes, may raise. packing: a StoredPacking to plan with; the model then needs only structural checks
        (validate_model) beforehand.
        """
        if not self._lock.acquire(blocking=False):
            while not self._lock.acquire(timeout=PATIENCE):
                check_go_on(cancel, deadline_ns, self.name)
        try:
            self._limits, self._fits, self._packing = (cancel, deadline_ns), fits, packing
            return self._segment(start, shapes, values)
        finally:
            self._forget()
            self._lock.release()

    def _forget(self):
        """Drop references to the caller's functions, which may keep a whole request's memory alive."""
        self._limits, self._fits, self._packing = (None, 0), None, None

    def _go_on(self, path=None):
        """Raise if the preparation or execution was cancelled, or its deadline has passed."""
        check_go_on(*self._limits, path or self.name)

    def adopt(self, shapes, segment):
        """Use a Segment planned elsewhere as the whole plan for the declared input shapes."""
        with self._lock:
            self._kept[(0, tuple(sorted(shapes.items()))), ()] = segment

    def kept(self):
        """The segments kept for further executions."""
        with self._lock:
            return [segment for segment in self._kept.values() if isinstance(segment, Segment)]

    def latest(self):
        """(Segment, {input: shape}, ((operand, identity of its value), ...)) of the plan used last, if it covers the
        graph; None if not, or while another thread plans.
        """
        if not self._lock.acquire(blocking=False):
            return None
        try:
            key, found = next(reversed(self._kept.items()), (None, None))
        finally:
            self._lock.release()
        if not isinstance(found, Segment) or found.start or not found.complete:
            return None
        (_, shapes), values = key
        return found, dict(shapes), values

    def alive(self, shapes, start):
        """The part of `shapes` that operations from `start` on read."""
        return {operand: shape for operand, shape in shapes.items() if self._last_read.get(operand, -1) >= start}

    def _segment(self, start, shapes, values):
        place_key = (start, tuple(sorted(shapes.items())))
        while True:
            needs = self._needs.get(place_key, ())
            arrays = {operand: _own(values(operand)) for operand in needs}
            key = (place_key, tuple((o, identity(a)) for o, a in arrays.items()))
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
                return found
            with np.errstate(all="ignore"):
                found = self._plan(start, shapes, arrays)
            if found.stop == start and found.blocked_on is not None:
                if found.blocked_on in needs or found.blocked_on not in shapes:
                    path = Facts(self.model, self.graph, self.name).path(start)
                    raise GeneralFailure(f"{path}: the value of operand {found.blocked_on} cannot be known here")
                self._needs[place_key] = (*needs, found.blocked_on)
                continue
            sources = self._sources(found)
            if not needs and sources:
                self._needs[place_key] = sources
                continue
            self._kept[key] = found
            if len(self._kept) > KEPT_PLANS:
                self._kept.popitem(last=False)
            return found

    def _sources(self, segment):
        """What a segment reads from outside, if it only prepares, from a few integers, the value that planning needs to
        continue: with these known it is folded, and what follows needs no segment of its own.
        """
        if segment.blocked_on is None:
            return ()
        read = [segment.tensors[operand] for operand in segment.inputs]
        few = all(dtype in _INDEXES and prod(shape) * dtype.itemsize <= WHOLE_VALUES for shape, dtype in read)
        return tuple(segment.inputs) if few else ()

    def _plan(self, start, shapes, values):
        facts = Facts(self.model, self.graph, self.name, self._quantization(start))
        for operand, shape in shapes.items():
            known = facts.of[operand]
            known.present = shape is not None
            known.shape = shape
        for operand, array in values.items():
            facts.of[operand].value = array
        op, last = self._op(start), start + 1 == len(self.graph.operations)
        if isinstance(op, ControlDef):
            return ControlStep(start, facts.path(start), op, facts.merged, last)
        if op.data_dependent:
            return self._data_step(facts, start, last)
        with trace.span("LC", "PC", "infer shapes"):
            nodes, stop, blocked_on = self._infer(facts, start)
        if self._fits is not None:
            given = (t.operand for _, node in nodes for t in node.outputs if t.operand in self._given_out)
            self._fits({operand: facts.of[operand].shape for operand in given})
        with trace.span("LC", "PC", "choose kernels, pack, place memory"):
            return self._lower(facts, nodes, start, stop, blocked_on)

    def _quantization(self, start):
        """{operand: (scale, zero point)} of outputs of the operations before `start`, which do not depend on values."""
        if self._settled_to < start:
            facts = Facts(self.model, self.graph, self.name, self._settled)
            for index in range(self._settled_to, start):
                self._go_on()
                if isinstance(self._op(index), ControlDef):
                    continue
                node = facts.node(index, present=False)
                facts.settle_quantization(node)
                self._settled.update((t.operand, (t.scale, t.zero_point)) for t in node.outputs)
            self._settled_to = start
        return self._settled

    def _op(self, index):
        op = lookup(self.graph.operations[index].type)
        if op is None:
            path = Facts(self.model, self.graph, self.name).path(index)
            raise InvalidArgument(f"{path}: the operation is not supported")
        return op

    def _data_step(self, facts, start, last):
        node = facts.node(start)
        check_zero_sized(node)
        try:
            with guarded(node.path, ValueUnknown):
                node.op.infer(node)
        except ValueUnknown as unknown:
            return self._empty(start, unknown.operand)
        facts.settle_quantization(node)
        return DataStep(start, node, facts.merged, last, self.resources)

    def _infer(self, facts, start):
        """Nodes from `start` on, as far as shapes are known; where planning stopped, and which value it lacks."""
        nodes = []
        for index in range(start, len(self.graph.operations)):
            op = self._op(index)
            if isinstance(op, ControlDef) or op.data_dependent:
                return nodes, index, None
            node = facts.node(index)
            self._go_on(node.path)
            try:
                with guarded(node.path, ValueUnknown):
                    if self._packing is not None and op.validate is not None:
                        op.validate(node)
                    check_zero_sized(node)
                    shapes = node.op.infer(node)
            except ValueUnknown as unknown:
                return nodes, index, unknown.operand
            facts.settle(node, shapes)
            fold(facts, node, self.resources, self._go_on)
            nodes.append((index, node))
        return nodes, len(self.graph.operations), None

    def _lower(self, facts, nodes, start, stop, blocked_on):
        tables = Owner()
        lowering = Lowering(facts, self.resources.threads, self.resources.precision, self._packing,
                            lambda nbytes: self.resources.take(nbytes, tables, "prepare: tables of indices"),
                            self._go_on, self.resources.without_passes)
        made = {t.operand for _, node in nodes for t in node.outputs}
        read = {t.operand for _, node in nodes for t in node.inputs if t.present}
        inputs = sorted(o for o in read - made if not self.graph.operands[o].is_constant)
        outputs = sorted(o for o in made if o in self.wanted or self._last_read.get(o, -1) >= stop)
        bound_in = {operand: lowering.bind(operand) for operand in inputs}
        bound_out = {operand: lowering.bind(operand) for operand in outputs}
        for position, (index, node) in enumerate(nodes):
            self._go_on(node.path)
            try:
                with guarded(node.path, ValueUnknown, *lowering.packing.blamed), \
                        trace.span("LC", "PC", node.op.name, index=index):
                    lowering.lower(index, node)
            except ValueUnknown as unknown:
                if position == 0:
                    return self._empty(start, unknown.operand)
                return self._lower(facts, nodes[:position], start, index, unknown.operand)
        for name, step_pass in passes.refining(lowering, self.resources.without_passes, self.resources.precision):
            with trace.span("LC", "PC", name):
                step_pass.refine(lowering)
        tensors = {o: (facts.of[o].shape, self.graph.operands[o].dtype) for o in (*inputs, *outputs)}
        with trace.span("LC", "PC", "place memory"):
            spec, aliases = _memory(lowering, self._go_on)
        segment = Segment(start, stop, lowering.items, lowering.rows, spec, bound_in, bound_out, tensors, aliases,
                          blocked_on, stop == len(self.graph.operations), self.resources, tables, lowering.packing)
        # Outputs of a subgraph go to the operation that calls it.
        segment.inner = frozenset(outputs) - self.wanted if self.name == "main" else frozenset(outputs)
        return segment

    def _empty(self, start, blocked_on):
        spec = {"slots": 0, "offsets": {}, "arena_bytes": 0, "constants": {}}
        return Segment(start, start, [], [], spec, {}, {}, {}, (), blocked_on, False, self.resources)


def _own(array):
    """A copy that a plan may keep: the memory of a caller's array changes when the call is over."""
    copy = np.array(array)
    copy.flags.writeable = False
    return copy


def identity(array):
    """A short key that identifies the value of an array."""
    if array.nbytes <= WHOLE_VALUES:
        return array.tobytes()
    with importing:
        from ..digests import blake2b

    return blake2b(np.ascontiguousarray(array)).digest()


def _memory(lowering, go_on):
    """Frame layout of a lowering: arena offsets of groups not bound from outside, and the aliases of each slot."""
    first, last = {}, {}
    # A thread may be at the last step of a round while another is at its first one.
    rounds = {step: span for span in lowering.rounds for step in range(span[0], span[1] + 1)}
    for index, item in enumerate(lowering.items):
        begin, end = rounds.get(index, (index, index))
        for slot in item.slots:
            root = lowering.root(slot)
            first.setdefault(root, begin)
            last[root] = end
    blocks = {}
    for slot in range(lowering.slots):
        root = lowering.root(slot)
        if root in lowering.bound or root not in first:
            continue
        size = max(lowering.sizes[slot], blocks.get(root, (0,))[0])
        blocks[root] = (size, first[root], last[root])
    offsets, total = place(blocks, go_on)
    aliases, constants = [], dict(lowering.constants)
    for slot in range(lowering.slots):
        root = lowering.root(slot)
        if slot == root:
            continue
        if root in offsets:
            offsets[slot] = offsets[root] + lowering.behind(slot)
        elif root in constants:
            constants[slot] = constants[root]
        else:
            aliases.append((slot, root))
    spec = {"slots": lowering.slots, "offsets": offsets, "arena_bytes": total, "constants": constants}
    return spec, tuple(aliases)
