"""Records of steps of recurrent layers."""

from typing import Literal

from ..._native import recurrent
from .base import Count, Index, Places, Slots, StepRecord, Walk, require

_GATES, _TILE = 4, recurrent.interleaved_rows(1, 1)


class RecurrentF32(StepRecord):
    slots: Slots
    walk: Walk
    units: Count
    inputs: Index
    span: Places
    alone: bool
    curve: Literal["logistic", "tanh"] | None
    clamp: tuple[float, float]
    as_is: Literal[False] = False

    def reach(self, plan):
        require(len(self.slots) in (4, 5), f"{len(self.slots)} slots")
        walk, state = self.walk, 4 * self.walk.batch * self.units
        x, before, y, packed, *after = self.slots
        plan.walk((self.slots, walk), self.span, walk.times, (y, *after))
        return [(x, walk.read(self.inputs or self.units)), (before, state),
                (packed, recurrent.packed_bytes_gemv(self.units, self.inputs + self.units))], \
            [(y, walk.made(self.units)), *((slot, state) for slot in after)]

    def make(self, plan):
        return recurrent.RecurrentF32(self.slots, plan.walk_of(self.walk), self.units, self.inputs, self.span,
                                      self.alone, self.curve, self.clamp)


class LstmF32(StepRecord):
    slots: Slots
    part: Literal["cells", "projection", "both"]
    walk: Walk
    sizes: tuple[Count, Index, Count]
    span: Places
    alone: bool
    cifg: bool
    peephole: bool
    activation: Literal[0, 1, 3, 4, 6]
    cell_clip: float
    clamp: tuple[float, float]
    projects: bool
    state_out: Index | None
    cleared: Index | None
    clear_count: Index
    half: bool

    def reach(self, plan):
        walk, gates, (units, inputs, outputs) = self.walk, _GATES - self.cifg, self.sizes
        require(len(self.slots) == (8 if self.projects else 6), f"{len(self.slots)} slots")
        require((self.projects or self.part == "cells") and (self.projects or outputs == units), "another layer")
        batch, cells = walk.batch, 4 * walk.batch * units
        x, before, cell_in, cell_out, y, packed = self.slots[:6]
        peepholes = gates - 1 if self.peephole else 0
        size = recurrent.packed_bytes_lstm(units, gates, peepholes, inputs + outputs, self.half)
        reads = [(packed, size)]
        writes = [] if self.cleared is None else [(self.cleared, 4 * self.clear_count)]
        whole = y, *(() if self.state_out is None else (self.state_out,))
        if self.part != "projection":
            require(not self.projects or plan.gone(("projection", self.slots, walk)) == self.span[0],
                    "a time whose last one is not there yet")
            plan.walk(("cells", self.slots, walk), self.span, walk.times, () if self.projects else whole)
            reads += [(x, walk.read(inputs or -(-units // _TILE) * _TILE * gates)), (before, 4 * batch * outputs),
                      (cell_in, cells)]
            writes += [(cell_out, cells), (self.slots[6], cells) if self.projects else (y, walk.made(units))]
        if self.part != "cells":
            plan.walk(("projection", self.slots, walk), self.span, walk.times, whole)
            if self.part == "projection":
                reads.append((self.slots[6], cells))
            reads.append((self.slots[7], recurrent.packed_bytes_gemv(outputs, units)))
            writes.append((y, walk.made(outputs)))
        if self.state_out is not None and (self.part != "cells") == self.projects:
            writes.append((self.state_out, 4 * batch * outputs))
        return reads, writes

    def make(self, plan):
        names = self.__struct_fields__[6:]
        return recurrent.LstmF32(list(self.slots), self.part, plan.walk_of(self.walk), self.sizes, self.span,
                                 self.alone, **{name: getattr(self, name) for name in names})
