"""The interface for an operation's `lower`: slots, constants, temporaries and emission of steps."""

from bisect import bisect_right
from collections import Counter
from functools import cache
from math import prod
from types import MappingProxyType

import numpy as np

from .._native.movement import CopyBytes, FillBytes
from ..engine.reference import compute
from ..engine.rows import new_row
from ..errors import internal
from ..model.types import OperandType
from ..ops.base import ValueUnknown
from ..record import replace
from . import passes
from .packing import Packing, fact


class Lowering:
    """Collects the steps of one segment.

    A slot is a number that a frame maps to an address. Every operand gets one on first use; `temp` and `const` allocate
    more. Operands that share memory form a group (`alias`, `part`), of which at most one member is bound from outside
    (segment input, segment output or constant). Its representative has all of the memory.
    """

    def __init__(self, facts, threads, precision=None, packing=None, reserve=lambda nbytes: None, go_on=lambda: None,
                 without_passes=frozenset()):
        self.facts, self.threads, self.precision = facts, threads, precision
        self.packing = Packing() if packing is None else packing
        self.reserve = reserve     # reserve(nbytes): called before making a table that a step keeps; may raise
        self.go_on = go_on         # called at intervals in long work; raises to end the preparation
        self.items = []            # Step objects and NumpyItem objects, in order
        self.rows = []             # rows of explain(), one per operation
        self.rounds = []           # (first, last step) between which threads do not meet
        self.sizes = {}            # slot -> bytes, of slots that may be placed in the arena
        self.constants = {}        # slot -> array
        self.bound = set()         # slots bound to memory from outside
        self.in_pieces = set()     # representatives of groups of which some have a piece of the memory
        self.slot_of = {}          # operand -> slot
        self.channels_last = {}    # operand of an NCHW image -> stand-in that holds it in NHWC
        self._forms = [(name, form.lower) for name, form in passes.chosen(passes.FORMS, without_passes)]
        self._joins = [name for name in passes.JOINED if name not in without_passes]
        self._postponed = {}       # operand -> node that writes it, once somebody reads it
        self._by_definition = "native_kernels" in without_passes
        self._share = None if "share_memory" in without_passes else passes.find("share_memory")
        self._applied = []         # passes that have changed the node
        self._stand_ins = {}       # operand number below zero -> stand-in
        self._stands_for = {}      # the same number -> operand
        self._unread = {}          # operand -> steps that write it, to be emitted before its first reader
        self._made = {}            # key -> slots, of what several operations need
        self._group = {}           # slot -> representative
        self._behind = {}          # slot -> bytes from the beginning of that one's memory to its own
        self._count = 0
        self._node = None
        self._packed = set()       # operands of the node that only packing has read

    # -- slots ---------------------------------------------------------------------------------------------------
    def slot(self, tensor):
        """Slot of a node's tensor (or of an operand index)."""
        operand = tensor if isinstance(tensor, int) else tensor.operand
        for step in self._unread.pop(operand, ()):
            self.emit(step)
        if operand not in self.slot_of and operand < 0:
            stand_in = self._stand_ins[operand]
            self.slot_of[operand] = self.temp(prod(stand_in.shape) * stand_in.dtype.itemsize) \
                if stand_in.value is None else self.const(stand_in.value)
        elif operand not in self.slot_of:
            record, known = self.facts.graph.operands[operand], self.facts.of[operand]
            if record.is_constant or known.folded:
                self.packing.read.add(operand)
                self.slot_of[operand] = self.const(known.value)
            else:
                self.slot_of[operand] = self._new(prod(known.shape) * record.dtype.itemsize)
        return self.slot_of[operand]

    def stand_in(self, tensor, **changes):
        """A Tensor that replaces `tensor`, with these changes, in a rewritten node.

        It is not an operand of the graph: a constant if it has a value, else a temporary.
        """
        number = -1 - len(self._stand_ins)
        self._stand_ins[number] = made = replace(tensor, operand=number, **changes)
        self._stands_for[number] = self._stands_for.get(tensor.operand, tensor.operand)
        return made

    def in_bf16(self, tensor):
        """Whether to multiply this tensor in bfloat16: the client asked for that, and it is a TENSOR_FLOAT32."""
        operand = self._stands_for.get(tensor.operand, tensor.operand)
        return self.precision == "bf16" and self.facts.graph.operands[operand].type == OperandType.TENSOR_FLOAT32

    def _new(self, size):
        slot = self._count
        self._count += 1
        self.sizes[slot] = size
        self._group[slot], self._behind[slot] = slot, 0
        return slot

    def temp(self, nbytes):
        """Slot of `nbytes` bytes, live from the first to the last step that uses it."""
        return self._new(nbytes)

    def once(self, key, make):
        """The slots that make() returned for this key, once, when it emitted the steps that write them."""
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

    def const(self, array):
        """Slot of a constant array, which the plan keeps."""
        slot = self._new(array.nbytes)
        self.constants[slot] = np.ascontiguousarray(array)
        self.bound.add(slot)
        return slot

    def packed(self, sources, dtype, make, fits, is_read=False):
        """A one-dimensional array that make() derives from the values of constants, or the stored one (packing.py).

        sources: tensors whose values only make() reads; fits(array): whether a stored array has the right form and is
        harmless whatever numbers it holds; is_read: a step reads its numbers already when it is constructed.
        """
        self._packed.update(t.operand for t in sources)
        return self.packing.take(dtype, make, fits, is_read)

    def value(self, tensor):
        """The value of a constant that a step reads itself, in addition to what was packed from it."""
        self.packing.read.add(tensor.operand)
        return tensor.value

    def packed_fact(self, sources, find):
        """The result of find(), a bool derived from constants, which is stored like packed arrays."""
        self._packed.update(t.operand for t in sources)
        return fact(self.packing, find)

    def bind(self, operand):
        """Mark an operand as bound from outside; returns its slot."""
        if self.facts.of[operand].folded:
            self.slot_of[operand] = self._new(self.facts.of[operand].value.nbytes)
        slot = self.slot(operand)
        self.bound.add(slot)
        return slot

    def root(self, slot):
        """Representative of the slot's group: the bound member if there is one."""
        group, behind = self._group, self._behind
        while group[slot] != slot:
            behind[slot] += behind[group[slot]]
            group[slot] = slot = group[group[slot]]  # path halving
        return slot

    def behind(self, slot):
        """Bytes from the beginning of the memory of the slot's group to its own."""
        bytes_ = 0
        while self._group[slot] != slot:
            bytes_ += self._behind[slot]
            slot = self._group[slot]
        return bytes_

    def alias(self, output, input):
        """Let output number `output` of the node share the memory of input number `input`; False if impossible."""
        target, source = self.slot(self._node.outputs[output]), self.slot(self._node.inputs[input])
        return self._shared(self._share is not None and self._share.share(self, target, source))

    def part(self, tensor, whole, offset):
        """Let a tensor have the memory of another from a byte on; False if impossible."""
        target, source = self.slot(tensor), self.slot(whole)
        return self._shared(self._share is not None and self._share.share_part(self, target, source, offset))

    def _shared(self, is_shared):
        if is_shared:
            self._applied.append("share_memory")
        return is_shared

    def unite(self, root, other, offset=0):
        """Merge the group of one representative into that of another, from a byte of its memory on."""
        self._group[root], self._behind[root] = other, offset

    def extent(self, slot):
        """Where a slot lies: the representative of its group, the bytes from the beginning of its memory, its size."""
        return self.root(slot), self.behind(slot), self.sizes[slot]

    @property
    def slots(self):
        """Number of slots."""
        return self._count

    def private(self):
        """Set of the slots that one step writes and one other reads, and whose memory nothing else sees."""
        uses = Counter(slot for item in self.items for slot in item.slots)
        sharing = Counter(self.root(slot) for slot in range(self.slots))
        return {slot for slot, count in uses.items()
                if slot is not None and count == 2 and sharing[self.root(slot)] == 1 and slot not in self.bound}

    # -- steps ---------------------------------------------------------------------------------------------------
    def emit(self, step, declines=False):
        """Append a native step.

        declines: it may decline values at run time, and the node's reference then runs instead. So it must be the only
        step that reads the inputs and writes the outputs of the node.
        """
        if declines:
            step.reference = self._in_numpy(self._node)
        self.items.append(step)

    def remake(self, place, by, slots=None, **options):
        """Replace the step at a place by one with other options and perhaps other slots.

        by: module name of the pass, recorded in the operation's row together with the new kernel.
        """
        step = self.items[place]
        (_, *arguments), named = step.made_with
        made = type(step)(step.slots if slots is None else slots, *arguments, **{**named, **options})
        self.put(place, made, by)

    def put(self, place, step, by):
        """Replace the step at a place; `by` as for remake."""
        self.items[place] = step
        row = self._row(place)
        row["kernel"] = _names(self.items[slice(*row["steps"])])
        self.note(row, by)

    def _row(self, place):
        """The row of the operation whose step is at a place."""
        return self.rows[bisect_right(self.rows, place, key=lambda row: row["steps"][0]) - 1]

    def join(self, items, places, by, at=MappingProxyType({})):
        """Replace all steps by fewer; places: new position of each old one, and the end. by: module name of the pass.

        An operation without a step of its own then counts for the next one that has some, or for that of the step that
        does its work, of old positions {a step: that one} in `at`: "joined" in its row.
        """
        self.items = items
        waiting, moved = [], []
        for row in self.rows:
            old, row["steps"] = row["steps"], tuple(places[i] for i in row["steps"])
            steps = items[slice(*row["steps"])]
            if row["reason"] == "":
                row["work"] = sum(step.work for step in steps)
            if steps:
                for other in waiting:
                    other["joined"] = row["index"]
                    self.note(other, by)
                if waiting:
                    self.note(row, by)
                waiting = []
            elif old[0] in at:
                moved.append((row, at[old[0]]))
            elif old[0] != old[1]:
                waiting.append(row)
        for row, place in moved:
            while place in at:
                place = at[place]
            done = self._row(places[place])
            row["joined"] = done["index"]
            self.note(row, by)
            self.note(done, by)

    def note(self, row, by):
        """Add a pass, given by its module name, to those that changed the operation of a row."""
        name = by.rpartition(".")[2]
        if name not in row["passes"]:
            row["passes"].append(name)

    def note_at(self, place, by):
        """The same for the operation whose step is at a place."""
        self.note(self._row(place), by)

    def _in_numpy(self, node):
        self.packing.read.update(t.operand for t in node.inputs if t.value is not None)
        slots = [self.slot(t) if t.present and t.value is None else None for t in node.inputs]
        return NumpyItem(node, slots, [self.slot(t) for t in node.outputs])

    def emit_when_read(self, tensor, step):
        """Emit a step that writes a tensor of the graph: at once if the tensor leaves the segment, else right before
        its first reader, if there is one."""
        if self.root(self.slot_of[tensor.operand]) in self.bound:
            self.emit(step)
        else:
            self._unread[tensor.operand] = [step]

    def emit_or_postpone(self, node, steps):
        """Emit the steps of an operation with one output, or keep them until an operation cannot do without."""
        tensor = node.outputs[0]
        if self.root(self.slot_of[tensor.operand]) not in self.bound \
                and any(passes.find(name).postpone(node, self) for name in self._joins):
            self._unread[tensor.operand] = steps
            self._postponed[tensor.operand] = node
        else:
            for step in steps:
                self.emit(step)

    def postponed(self, tensor):
        """The node whose postponed steps would write a tensor, or None."""
        return self._postponed.get(tensor.operand) if tensor.operand in self._unread else None

    def readers(self, tensor):
        """Types of the operations that read a tensor of the graph as their first input; None in place of the others."""
        return [operation.type if operation.inputs[0] == tensor.operand else None
                for operation in self.facts.graph.operations if tensor.operand in operation.inputs]

    def native(self, node):
        """Emit native steps of a node by its own `lower`, or of its NHWC or float32 form; returns None, or why not."""
        if node.is_litert and any(0 in t.shape for t in (*node.inputs, *node.outputs) if t.present):
            return None if all(0 in t.shape for t in node.outputs) else "a tensor has no elements"
        if node.op.lower is None:
            return "no native kernel"
        if self._by_definition:
            return "native kernels are left out"
        outer, self._node = self._node, node
        before, unread, made, applied = len(self.items), dict(self._unread), dict(self._made), len(self._applied)
        joined = [(name, passes.find(name).lower) for name in self._joins] if self._postponed else []
        for name, attempt in (*joined, (None, node.op.lower), *self._forms):
            answer = attempt(node, self)
            if answer is NotImplemented:
                continue
            reason = answer
            if reason is None:
                if name is not None:
                    self._applied.append(name)
                break
            del self.items[before:], self._applied[applied:]
            self._unread, self._made = dict(unread), dict(made)
        self._node = outer
        return reason

    def lower(self, index, node):
        """Emit the steps of one operation, native if possible, else numpy, and record its row of explain()."""
        before = len(self.items)
        if all(self.facts.of[t.operand].folded for t in node.outputs):
            self._give_out(node)
            self.rows.append(new_row(index, node.op, "folded", output=[list(t.shape) for t in node.outputs],
                                     types=[_dtype_name(t.dtype) for t in node.outputs],
                                     steps=(before, len(self.items))))
            return
        self._packed.clear()
        self._applied.clear()
        try:
            reason = self.native(node)
        except ValueUnknown as unknown:
            raise ValueUnknown(self._stands_for.get(unknown.operand, unknown.operand)) from None
        if reason is not None:
            self.items.append(self._in_numpy(node))
        for tensor in self.facts.widened(node):
            self._clear(tensor)
        self.packing.read.update(t.operand for t in node.inputs
                                 if t.value is not None and t.operand not in self._packed)
        steps = self.items[before:]
        native = reason is None
        packed = sum(s.packed for s in steps) if native else 0
        self.rows.append(new_row(
            index, node.op, _names(steps) if native and steps else "no copy" if native else "numpy",
            reason=reason or "", output=[list(self.facts.of[t.operand].shape) for t in node.outputs],
            types=[_dtype_name(t.dtype) for t in node.outputs], packed_bytes=packed,
            bytes=packed + _traffic(node, constants=not native) if steps else 0,
            work=sum(s.work for s in steps) if native else 0.0, steps=(before, len(self.items)),
            passes=list(dict.fromkeys(self._applied)), bf16=any(getattr(s, "multiplies_bf16", False) for s in steps),
        ))

    def _give_out(self, node):
        """Emit steps that write the folded outputs of a node that leave the segment."""
        for tensor in node.outputs:
            if self.slot_of.get(tensor.operand) in self.bound:
                value = self.facts.of[tensor.operand].value
                self.emit(CopyBytes((self.const(value), self.slot_of[tensor.operand]), value.nbytes))

    def _clear(self, tensor):
        """Fill an output that no step writes with zeros, so that readers do not see stale memory.

        Its stand-in has the inferred shape, which has no elements, and only the node itself may use that.
        """
        self.channels_last.pop(tensor.operand, None)
        slot = self.slot(tensor)
        self.emit(FillBytes((slot,), self.sizes[slot], 0))


@cache
def _dtype_name(dtype):
    """dtype.name, cached, as numpy computes it each time."""
    return dtype.name


def _names(steps):
    """The kernels of an operation's steps, each once."""
    return " + ".join(dict.fromkeys(step.kernel for step in steps))


def _traffic(node, constants):
    """Bytes of the distinct inputs and the outputs of a node, with or without constants."""
    read = {t.operand: t for t in node.inputs if t.present and (constants or t.value is None)}
    return sum(prod(t.shape) * t.dtype.itemsize for t in (*read.values(), *node.outputs))


class NumpyItem:
    """An operation that runs by its numpy reference: between native programs, or in place of a step that declined.

    inputs: slots, None for omitted inputs and known values.
    """

    def __init__(self, node, inputs, outputs):
        self.node, self.inputs, self.outputs = node, tuple(inputs), tuple(outputs)
        self.kernel = "numpy"

    @property
    def slots(self):
        return tuple(s for s in self.inputs if s is not None) + self.outputs

    def run(self, frame, resources, go_on):
        """Read inputs from and write outputs to the frame's slots; see engine.reference.compute."""
        node = self.node
        arrays = [tensor.value if slot is None else frame.view(slot, tensor.shape, tensor.dtype)
                  for slot, tensor in zip(self.inputs, node.inputs)]
        results = compute(node, arrays, resources, go_on)
        for place, (slot, tensor, value) in enumerate(zip(self.outputs, node.outputs, results)):
            if value.size == 0 == prod(tensor.shape):
                continue  # nothing to write
            if value.shape != tensor.shape or value.dtype != tensor.dtype:
                raise internal(f"{node.path} output {place}", f"computed {value.dtype}{value.shape}, expected "
                                                              f"{tensor.dtype}{tensor.shape}")
            frame.view(slot, tensor.shape, tensor.dtype)[...] = value
