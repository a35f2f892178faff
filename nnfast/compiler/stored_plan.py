"""Whole plans as records, so that a stored model need not be planned again (driver/stored_model.py).

Records are treated as untrusted, though only the driver itself can sign one. Checked is that every slot that a step
accesses exists and is large enough, that nothing writes to inputs or constants, that no memory is read before a step
has written it, and that all outputs are written completely. So a record can determine the numbers only.
"""

from bisect import bisect_right
from math import prod

from .._native.engine import ALIGNMENT
from .._native.recurrent import Walk
from ..engine.segment import Segment
from ..extras import msgspec
from ..model.records import Data, Record
from ..model.types import UINT32_MAX
from .stored_steps import AnyStep, record_of
from .stored_steps.base import Index, Misfit, NoRecord

Pairs = list[tuple[Index, Index]]

UNUSED = 64
"""Most slots of a plan per slot that has memory."""


class Row(Record):
    """A row of explain() (engine/rows.py)."""

    index: Index
    operation: str
    kernel: str
    reason: str
    output: list[list[Index]]
    types: list[str]
    packed_bytes: int
    bytes: int
    work: float
    steps: tuple[Index, Index]
    joined: Index | None
    passes: list[str]
    moves: bool
    multiply_adds: bool
    bf16: bool


class PlanRecord(Record):
    """A Segment that covers a whole graph. offsets, constants: by slot; inputs, outputs: slots of operands; shapes: of
    operands; aliases: slots that share memory with others. threads: number that it was planned for. pieces: of steps
    whose shares are even, and whether they follow (nnf/step.h)."""

    threads: int
    slots: Index
    arena_bytes: Index
    offsets: Pairs
    constants: list[tuple[Index, Data]]
    inputs: Pairs
    outputs: Pairs
    shapes: list[tuple[Index, tuple[Index, ...]]]
    aliases: Pairs
    steps: list[AnyStep]
    pieces: list[tuple[Index, Index, bool]]
    rows: list[Row]


def plan_of(segment, threads, add):
    """The PlanRecord of a Segment, or None if a step has no record. add(array): stores an array, returns its Data."""
    if not segment.native or not segment.items:
        return None
    try:
        steps = [record_of(step, add) for step in segment.items[0].steps]
    except NoRecord:
        return None
    spec = segment.frame_spec
    return PlanRecord(
        threads, spec["slots"], spec["arena_bytes"], list(spec["offsets"].items()),
        [(slot, add(array)) for slot, array in spec["constants"].items()], list(segment.inputs.items()),
        list(segment.outputs.items()), [(o, tuple(shape)) for o, (shape, _) in segment.tensors.items()],
        list(segment.aliases), steps, _pieces(segment), [Row(**row) for row in segment.rows])


def _pieces(segment):
    return [(place, step.pieces, step.follows) for place, step in enumerate(segment.items[0].steps) if step.pieces]


def restore(record, model, kept, resources, array_of, is_late):
    """(Segment, checks) of a PlanRecord for the main graph of a resolved, valid model.

    kept: operands returned besides the outputs; array_of(data): the array of a Data; is_late(data): whether its numbers
    are still being read. checks: [(array, fits)]; fits(array), to be called once the numbers are there, is False for
    harmful ones. Raises Misfit.
    """
    made = Restoring(record, model.main, kept, array_of, is_late)
    spec = {"slots": record.slots, "offsets": made.offsets, "arena_bytes": record.arena_bytes,
            "constants": made.constants}
    rows = [msgspec.structs.asdict(row) for row in record.rows]
    segment = Segment(0, len(model.main.operations), made.steps, rows, spec, dict(record.inputs), dict(record.outputs),
                      made.tensors, tuple(record.aliases), None, True, resources)
    return segment, made.checks


class Restoring:
    """Restores a plan from its record, step by step."""

    def __init__(self, record, graph, kept, array_of, is_late):
        self._array_of, self._is_late, self._slots = array_of, is_late, record.slots
        self._walks, self._times, self._ends, self._partial = {}, {}, {}, set()
        self.checks = []
        self._place(record, graph, kept)
        self.steps = [self._step(step) for step in record.steps]
        self._cut(record.pieces)
        if any(self._times[key] != times for key, times in self._ends.items()):
            raise Misfit("the plan ends within a sequence")
        if any(self._written.get(slot, 0) < self._room[slot] for _, slot in record.outputs):
            raise Misfit("the plan does not write all outputs")
        for row in record.rows:
            if not row.steps[0] <= row.steps[1] <= len(self.steps) or row.index >= len(graph.operations):
                raise Misfit("the plan tells of operations that it does not have")

    def _place(self, record, graph, kept):
        """Set the location and size of each slot."""
        self.offsets, self.constants = dict(record.offsets), {s: self._array_of(data) for s, data in record.constants}
        self._room, self._covered = {}, []
        for slot, offset in self.offsets.items():
            if offset % ALIGNMENT or offset > record.arena_bytes:
                raise Misfit(f"slot {slot} lies beside the working memory")
            self._room[slot] = record.arena_bytes - offset
        self._room.update((slot, array.nbytes) for slot, array in self.constants.items())
        self.tensors = _tensors(dict(record.shapes), record, graph, kept)
        outer = record.inputs + record.outputs
        self._room.update((slot, prod(self.tensors[operand][0]) * self.tensors[operand][1].itemsize)
                          for operand, slot in outer)
        of = dict(record.aliases)
        if len(self._room) != len(self.offsets) + len(self.constants) + len(outer) or len(of) != len(record.aliases) \
                or not of.keys().isdisjoint(self._room) or max((*self._room, *of), default=0) >= record.slots \
                or record.slots > UNUSED * (len(self._room) + len(of)):
            raise Misfit("a slot lies in several places")
        self._root = of
        for slot, root in record.aliases:
            if root in of or root in self.offsets or root not in self._room:
                raise Misfit(f"slot {slot} lies where no slot does")
        self._written = dict.fromkeys((slot for _, slot in record.outputs), 0)

    def _step(self, step):
        """Make a step after checking every byte that it accesses."""
        self._partial = set()
        try:
            reads, writes = step.reach(self)
        except (TypeError, ValueError, OverflowError) as error:
            raise Misfit(f"a step of the plan has numbers that no step has: {error}") from None
        offsets, root, room, spans, whole = self.offsets, self._root, self._room, [], []
        for own, nbytes in writes:
            slot = root.get(own, own)
            if nbytes > room.get(slot, -1):
                raise Misfit(f"a step writes {nbytes} bytes to slot {slot}")
            if own not in self._partial:
                whole.append((slot, nbytes))
            if slot in offsets:
                spans.append((offsets[slot], nbytes))
            elif slot not in self._written:
                raise Misfit(f"a step writes to slot {slot}, which is not its to write")
        for slot, nbytes in reads:
            slot = root.get(slot, slot)
            if nbytes > room.get(slot, -1):
                raise Misfit(f"a step reads {nbytes} bytes of slot {slot}")
            if slot in offsets:
                start = offsets[slot]
                if not self._is_covered(start, nbytes):
                    raise Misfit(f"a step reads {nbytes} bytes of slot {slot} before they are written")
                _keep_apart(spans, start, nbytes)
            elif nbytes > self._written.get(slot, nbytes):
                raise Misfit(f"a step reads {nbytes} bytes of an output before they are written")
        for place, (start, nbytes) in enumerate(spans):
            if place:
                _keep_apart(spans[:place], start, nbytes)
        for slot, nbytes in whole:
            if slot in offsets:
                self._cover(offsets[slot], nbytes)
            else:
                self._written[slot] = max(self._written[slot], nbytes)
        try:
            made = step.make(self)
        except (TypeError, ValueError, OverflowError) as error:
            raise Misfit(f"a step of the plan cannot be made: {error}") from None
        if max(made.slots) >= self._slots:
            raise Misfit("a step names a slot that is not there")
        return made

    def _cut(self, pieces):
        """Let shares of steps be even. What they then read of each other's determines numbers only."""
        try:
            for place, count, follows in pieces:
                self.steps[place].cut(count, follows)
        except (IndexError, ValueError, OverflowError) as error:
            raise Misfit(f"a step of the plan cannot have even shares: {error}") from None

    def _cover(self, start, nbytes):
        """Note that bytes of the working memory hold values, as sorted, disjoint spans."""
        end, spans = start + nbytes, self._covered
        first = bisect_right(spans, (start,))
        if first and spans[first - 1][1] >= start:
            first -= 1
            if spans[first][1] >= end:
                return
            start = spans[first][0]
        last = first
        while last < len(spans) and spans[last][0] <= end:
            end = max(end, spans[last][1])
            last += 1
        spans[first:last] = [(start, end)]

    def _is_covered(self, start, nbytes):
        place = bisect_right(self._covered, (start, UINT32_MAX << 1))
        return nbytes == 0 or place > 0 and self._covered[place - 1][1] >= start + nbytes

    # -- for records of steps --------------------------------------------------------------------------------------
    def array(self, data, is_read=False):
        """The array of a Data; is_read: the caller reads its numbers now. Raises Misfit."""
        if is_read and self._is_late(data):
            raise Misfit("a table of the plan lies in the data file")
        return self._array_of(data)

    def constant(self, slot, nbytes):
        """The constant in a slot, of at least `nbytes` bytes. Raises Misfit."""
        array = self.constants.get(self._root.get(slot, slot))
        if array is None or array.nbytes < nbytes:
            raise Misfit(f"slot {slot} is not a constant of {nbytes} bytes")
        return array

    def later(self, array, fits):
        """Check fits(array) once all numbers have been read."""
        self.checks.append((array, fits))

    def walk_of(self, record):
        """The Walk of a record."""
        if record not in self._walks:
            self._walks[record] = Walk(record.batch, record.times, record.in_strides, record.out_strides,
                                       record.out_start, record.backward)
        return self._walks[record]

    def walk(self, key, span, times, results):
        """Note that a step processes part of a sequence; the last one completes the slots `results`. Raises Misfit if
        it does not continue the previous part.
        """
        first, last = span
        if not self.gone(key) == first < last <= times:
            raise Misfit("the plan leaves out a part of a sequence")
        self._times[key], self._ends[key] = last, times
        if last < times:
            self._partial.update(results)

    def gone(self, key):
        """Progress within a sequence."""
        return self._times.get(key, 0)


def _keep_apart(spans, start, nbytes):
    """Raise Misfit if an output overlaps an input partially: only exactly the same bytes may be shared."""
    for other, more in spans:
        if start != other and start < other + more and other < start + nbytes:
            raise Misfit("a step writes over what it reads")


def _tensors(shapes, record, graph, kept):
    """{operand: (shape, dtype)} of a plan's inputs and outputs, as in the model."""
    inputs, outputs = ({operand for operand, _ in pairs} for pairs in (record.inputs, record.outputs))
    if len(inputs) + len(outputs) != len(record.inputs) + len(record.outputs):
        raise Misfit("the plan has an operand in several slots")
    if not inputs.issubset(graph.inputs) or outputs != {*graph.outputs, *kept} or shapes.keys() != inputs | outputs \
            or not inputs.isdisjoint(outputs):
        raise Misfit("the plan has other inputs or outputs than the model")
    tensors = {}
    for operand, shape in shapes.items():
        described = graph.operands[operand]
        declared = described.shape
        if declared is not None and (len(declared) != len(shape)
                                     or any(d not in (None, got) for d, got in zip(declared, shape))) \
                or operand in inputs and declared != shape or prod(shape) * described.dtype.itemsize > UINT32_MAX:
            raise Misfit(f"the plan gives operand {operand} the shape {list(shape[:8])}")
        tensors[operand] = shape, described.dtype
    return tensors
