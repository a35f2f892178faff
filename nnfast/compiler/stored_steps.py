"""Native steps as records: the arguments that made a step, and what it reads and writes.

A step trusts its arguments, so a record from a file is checked before the step is made: `reach` raises for arguments
that no valid model leads to, and returns how many bytes of which slots the step accesses. A step without a record class
is made again by its operation (compiler/packing.py).
"""

from math import prod
from typing import Annotated, Literal

import numpy as np
from msgspec import Meta
from msgspec.structs import astuple

from .._native import conv, elementwise, engine, movement, recurrent, reduction, spatial
from ..errors import GeneralFailure
from ..model.records import Data, Record

Count = Annotated[int, Meta(ge=1, lt=1 << 32)]
Index = Annotated[int, Meta(ge=0, lt=1 << 32)]
Word = Annotated[int, Meta(gt=-(1 << 31), lt=1 << 31)]
Byte = Annotated[int, Meta(ge=-128, le=255)]
Counts, Places = tuple[Count, Count], tuple[Index, Index]
Slots = tuple[Index, ...]

_MOST = 1 << 32
_ONE = (1 << 31) - 1
"""1.0 in fixed point without integer bits [NN 13.5]."""


class Misfit(GeneralFailure):
    """The plan cannot be that of a valid model."""

    def __init__(self, what):
        super().__init__(f"compilation cache: {what}; prepare the model from its source")


class NoRecord(Exception):
    """The step has no record class."""


def _require(holds, what):
    if not holds:
        raise Misfit(f"a step of the plan has {what}")


class Window(Record):
    """An ops.window.Window as a record: same fields, usable in its place."""

    input: Counts
    filter: Counts
    stride: Counts
    dilation: Counts
    head: Places
    output: Counts

    def check(self):
        """Raise Misfit unless some padding leads to this window: each position overlaps the input, or spans it."""
        for axis in (0, 1):
            _require(self.head[axis] < (self.filter[axis] - 1) * self.dilation[axis] + 1
                     and (self.output[axis] - 1) * self.stride[axis] - self.head[axis] < self.input[axis],
                     "a window beside its input")

    @property
    def taps(self):
        return self.filter[0] * self.filter[1]

    def read(self, batch, channels, item):
        """Bytes of `batch` input images with `channels` items per pixel."""
        return batch * self.input[0] * self.input[1] * channels * item

    def made(self, batch, channels, item):
        """Bytes of the output images."""
        return batch * self.output[0] * self.output[1] * channels * item


class Walk(Record):
    """The arguments of a recurrent.Walk."""

    batch: Count
    times: Count
    in_strides: Places
    out_strides: Places
    out_start: Index
    backward: bool

    def read(self, row):
        """Bytes of the input, whose rows have `row` float32."""
        return 4 * ((self.times - 1) * self.in_strides[0] + (self.batch - 1) * self.in_strides[1] + row)

    def made(self, row):
        """Bytes of the output, likewise; its rows are contiguous."""
        time, batch = self.out_strides
        _require(self.out_start == 0 and (
            (self.batch == 1 or batch == row) and (self.times == 1 or time == self.batch * row)
            or (self.times == 1 or time == row) and (self.batch == 1 or batch == self.times * row)),
            "rows with gaps between them")
        return 4 * self.times * self.batch * row


class StepRecord(Record, tag=True):
    """The arguments of one step, in order. A subclass has the name of its step, whose class is `native`."""

    def reach(self, plan):
        """([(slot, bytes)] read, [(slot, bytes)] written). plan: a stored_plan.Restoring. Raises Misfit."""
        raise NotImplementedError

    def make(self, plan):
        """The step; call after `reach`."""
        return self.native(*astuple(self))


class StepWithArrays(StepRecord):
    """A record whose arguments refer to arrays."""

    def make(self, plan):
        """The step, over these arrays."""
        return self.native(*[plan.array(value) if type(value) is Data else value for value in astuple(self)])


def record_of(step, add):
    """The record of a step; add(array) turns its arrays into Data. Raises NoRecord if it has none."""
    kind = _KINDS.get(type(step).__name__)
    if kind is None or kind.native is not type(step) or step.reference is not None:
        raise NoRecord
    arguments, named = step.made_with
    fields = _FIELDS[kind]
    if len(arguments) > len(fields) or not named.keys() <= set(fields):
        raise NoRecord
    return kind(**{name: _plain(value, add) for name, value in (*zip(fields, arguments), *named.items())})


def _plain(value, add):
    """An argument in the form of a record's fields."""
    if isinstance(value, np.ndarray):
        return add(value)
    if isinstance(value, engine.Step):
        return record_of(value, add)
    if isinstance(value, recurrent.Walk):
        return Walk(*value.made_with)
    if hasattr(value, "dilation"):
        return Window(*(tuple(map(int, getattr(value, name))) for name in Window.__struct_fields__))
    if isinstance(value, np.dtype | type):
        return np.dtype(value).name
    if isinstance(value, tuple | list):
        return tuple([_plain(each, add) for each in value])
    if isinstance(value, np.generic):
        return value.item()
    if value is not None and not isinstance(value, str | int | float):
        raise NoRecord
    return value


# -- convolutions ------------------------------------------------------------------------------------------------------
class Conv2dF32(StepRecord):
    slots: Slots
    window: Window
    batch: Count
    channels: Count
    units: Count
    lo: float
    hi: float
    place: None = None
    prefetch_bytes: Index = 0

    def reach(self, plan):
        self.window.check()
        depth = self.window.taps * self.channels
        _require(len(self.slots) == (4 if self.prefetch_bytes else 3), f"{len(self.slots)} slots")
        weights = [(self.slots[1], 4 * self.units * depth)]
        plan.constant(*weights[0])  # before anything is computed from its size
        weights = [(self.slots[1], conv.packed_bytes_conv2d(self.units, depth, 1, False))]
        if self.prefetch_bytes:
            weights.append((self.slots[2], self.prefetch_bytes))
        return ([(self.slots[0], self.window.read(self.batch, self.channels, 4)), *weights],
                [(self.slots[-1], self.window.made(self.batch, self.units, 4))])


class Conv2dLineF32(StepRecord):
    slots: tuple[Index, Index, Index]
    window: Window
    batch: Count
    channels: Count
    units: Count
    lo: float
    hi: float

    def reach(self, plan):
        _require(conv.line_suits(self.window, self.channels), "a window for another kernel")
        return Conv2dF32.reach(self, plan)

    prefetch_bytes = 0


class Conv2dWinogradF32(StepWithArrays):
    slots: tuple[Index, Index, Index]
    window: Window
    batch: Count
    filter: Data
    bias: Data
    lo: float
    hi: float

    def reach(self, plan):
        self.window.check()
        filter_, bias = plan.array(self.filter), plan.array(self.bias)
        _require(filter_.dtype == bias.dtype == np.float32 and filter_.ndim == 4 and bias.ndim == 1
                 and filter_.shape[:3] == (len(bias), 3, 3), "a filter for another kernel")
        units, channels = filter_.shape[0], filter_.shape[3]
        _require(conv.winograd_suits(self.window, self.batch, units, channels), "a window for another kernel")
        x, w, y = self.slots
        return ([(x, self.window.read(self.batch, channels, 4)), (w, conv.packed_bytes_winograd(units, channels))],
                [(y, self.window.made(self.batch, units, 4))])


class Conv2dQ8(StepRecord):
    slots: tuple[Index, Index, Index]
    window: Window
    batch: Count
    channels: Count
    units: Count
    weights: tuple[Literal["int8", "uint8"], Byte]
    input_zero_point: Byte
    output: tuple[Byte, Byte, Byte]
    signed: bool
    place: None = None
    scale: Data | None = None
    values: None = None

    def reach(self, plan):
        self.window.check()
        x, w, y = self.slots
        _check_code(self.weights[1], self.weights[0] == "int8")
        _check_codes(self.input_zero_point, self.output, self.signed)
        if self.scale is not None:
            scale = plan.array(self.scale)
            _require(scale.dtype == np.float64 and scale.shape == (self.units,), "scales of another output")
        plan.constant(w, self.units * self.window.taps * self.channels)
        return [(x, self.window.read(self.batch, self.channels, 1)), (w, 0)], \
            [(y, self.window.made(self.batch, self.units, 1))]

    def make(self, plan):
        dtype, zero_point = self.weights
        scale = None if self.scale is None else plan.array(self.scale)
        step = conv.Conv2dQ8(self.slots, self.window, self.batch, self.channels, self.units,
                             (np.dtype(dtype), zero_point), self.input_zero_point, self.output, self.signed, None,
                             scale)
        depth = self.window.taps * self.channels
        _check_packed_q8(plan, step, self.units, depth, self.scale is not None)
        return step


class Conv2dLinesQ8(StepRecord):
    slots: tuple[Index, Index, Index]
    window: Window
    batch: Count
    channels: Count
    units: Count
    input_zero_point: Byte
    output: tuple[Byte, Byte, Byte]
    signed: bool

    def reach(self, plan):
        self.window.check()
        x, w, y = self.slots
        _check_codes(self.input_zero_point, self.output, self.signed)
        plan.constant(w, self.units * self.window.taps * self.channels)
        _require(conv.lines_q8_suits(self.window, self.channels, self.signed), "a window for another kernel")
        return [(x, self.window.read(self.batch, self.channels, 1)), (w, 0)], \
            [(y, self.window.made(self.batch, self.units, 1))]

    def make(self, plan):
        step = super().make(plan)
        _check_packed_q8(plan, step, self.units, conv.LinesBlocks(self.window, self.channels).depth, False)
        return step


def _check_packed_q8(plan, step, units, depth, raw):
    """Check the size of packed weights now, and their shift counts once these have been read. Raises Misfit."""
    packed = plan.constant(step.slots[1], step.packed)
    _require(packed.dtype == np.uint8 and packed.ndim == 1 and packed.nbytes == step.packed, "weights of another step")
    plan.later(packed, lambda array: conv.fits_conv2d_q8(array, units, depth, 1, raw))


def _check_code(code, signed):
    _require(-128 <= code <= 127 if signed else 0 <= code <= 255, "a code beyond its type")


def _check_codes(zero_point, output, signed):
    for code in (zero_point, *output):
        _check_code(code, signed)
    _require(output[1] <= output[2], "a clamp upside down")


class DepthwiseConv2DF32(StepWithArrays):
    slots: tuple[Index, Index]
    batch: Count
    window: Window
    packed: Data
    channels: Count
    multiplier: Count
    lo: float
    hi: float

    def reach(self, plan):
        self.window.check()
        packed = plan.array(self.packed)
        _require(packed.dtype == np.float32 and packed.ndim == 1 and self.channels % self.multiplier == 0
                 and 4 * self.channels * self.window.taps <= packed.nbytes, "weights of another step")
        return [(self.slots[0], self.window.read(self.batch, self.channels // self.multiplier, 4))], \
            [(self.slots[1], self.window.made(self.batch, self.channels, 4))]


class DepthwiseConv2DQ8(StepWithArrays):
    slots: tuple[Index, Index]
    batch: Count
    packed: Data
    shape: tuple[Window, Count, Count, Byte, tuple[Byte, Byte, Byte], bool]

    def reach(self, plan):
        window, channels, multiplier, zero_point, output, signed = self.shape
        window.check()
        _check_codes(zero_point, output, signed)
        packed = plan.array(self.packed, is_read=True)
        _require(packed.dtype == np.uint8 and packed.ndim == 1 and channels % multiplier == 0
                 and channels * window.taps <= packed.nbytes and conv.fits_depthwise_q8(packed, self.shape),
                 "weights of another step")
        return [(self.slots[0], window.read(self.batch, channels // multiplier, 1))], \
            [(self.slots[1], window.made(self.batch, channels, 1))]


class Pool2D(StepRecord):
    slots: tuple[Index, Index]
    op: Literal["average", "l2", "max"]
    batch: Count
    window: Window
    channels: Count
    dtype: Literal["float32", "int8", "uint8"]
    lo: float | Word
    hi: float | Word

    def reach(self, plan):
        window = self.window
        window.check()
        item = 4 if self.dtype == "float32" else 1
        _require(window.dilation == (1, 1), "a pool with holes")
        if item == 1:
            positions = min(window.filter[0], window.input[0]) * min(window.filter[1], window.input[1])
            _require(self.op == "max" or self.op == "average" and positions <= spatial.WINDOW_MAX, "another pool")
            _check_codes(self.lo, (self.lo, self.lo, self.hi), self.dtype == "int8")
        return [(self.slots[0], window.read(self.batch, self.channels, item))], \
            [(self.slots[1], window.made(self.batch, self.channels, item))]


# -- element by element ------------------------------------------------------------------------------------------------
def _reach_of_two(slots, shape_a, shape_b, item):
    """Reach of a step that broadcasts two operands."""
    rank = max(len(shape_a), len(shape_b))
    padded = [(1,) * (rank - len(shape)) + shape for shape in (shape_a, shape_b)]
    _require(all(a == b or 1 in (a, b) for a, b in zip(*padded)), "operands that do not broadcast")
    return [(slots[0], item * prod(shape_a)), (slots[1], item * prod(shape_b))], \
        [(slots[2], item * prod(map(max, *padded)))]


class BinaryF32(StepRecord):
    slots: tuple[Index, Index, Index]
    op: Literal["add", "sub", "mul", "div", "max", "min", "prelu", "pow"]
    shape_a: tuple[Count, ...]
    shape_b: tuple[Count, ...]
    lo: float = float("-inf")
    hi: float = float("inf")

    def reach(self, plan):
        return _reach_of_two(self.slots, self.shape_a, self.shape_b, 4)


class BinaryQ8(StepRecord):
    slots: tuple[Index, Index, Index]
    op: Literal["add", "mul", "prelu"]
    is_signed: bool
    shape_a: tuple[Count, ...]
    shape_b: tuple[Count, ...]
    zeros: tuple[Byte, Byte, Byte]
    scales: tuple[tuple[Word, Annotated[int, Meta(ge=-31, le=31)]], ...]
    clamp: tuple[Byte, Byte]

    def reach(self, plan):
        _require(len(self.scales) == {"add": 3, "mul": 1, "prelu": 2}[self.op], f"{len(self.scales)} scales")
        _require(self.op == "add" or min(self.scales)[0] >= 0, "a scale below 0")
        for zero_point in self.zeros:
            _check_codes(zero_point, (zero_point, *self.clamp), self.is_signed)
        return _reach_of_two(self.slots, self.shape_a, self.shape_b, 1)


class UnaryF32(StepRecord):
    slots: tuple[Index, Index]
    f: Literal["logistic", "tanh", "hard_swish", "abs", "neg", "floor", "sqrt", "rsqrt", "exp", "log", "sin", "cos"]
    count: Count

    def reach(self, plan):
        return [(self.slots[0], 4 * self.count)], [(self.slots[1], 4 * self.count)]


class ClampF32(StepRecord):
    slots: tuple[Index, Index]
    count: Count
    lo: float
    hi: float

    reach = UnaryF32.reach


class LookupQ8(StepWithArrays):
    slots: tuple[Index, Index]
    count: Count
    table: Data

    def reach(self, plan):
        _check_table(plan.array(self.table, is_read=True), np.uint8)
        return [(self.slots[0], self.count)], [(self.slots[1], self.count)]


def _check_table(table, dtype):
    _require(table.dtype == dtype and table.shape == (256,), "a table of another size")


# -- rows --------------------------------------------------------------------------------------------------------------
class SoftmaxF32(StepRecord):
    slots: tuple[Index, Index]
    rows: Count
    n: Count
    beta: float
    logarithm: bool = False

    def reach(self, plan):
        return [(self.slots[0], 4 * self.rows * self.n)], [(self.slots[1], 4 * self.rows * self.n)]


class SoftmaxQ8(StepWithArrays):
    slots: tuple[Index, Index]
    is_signed: bool
    rows: Count
    n: Count
    power: Data

    def reach(self, plan):
        power = plan.array(self.power, is_read=True)
        _check_table(power, np.int64)
        _require(power[0] == _ONE and power.min() >= 0 and power.max() == _ONE, "powers that are none")
        return [(self.slots[0], self.rows * self.n)], [(self.slots[1], self.rows * self.n)]


class Concatenate(StepRecord):
    slots: Slots
    rows: Count
    sizes: tuple[Index, ...]
    tables: tuple[Data | None, ...]

    def make(self, plan):
        tables = [None if table is None else plan.array(table) for table in self.tables]
        return movement.Concatenate(self.slots, self.rows, self.sizes, tables)

    def reach(self, plan):
        _require(len(self.slots) == len(self.sizes) + 1 == len(self.tables) + 1, f"{len(self.slots)} slots")
        for table in self.tables:
            if table is not None:
                _check_table(plan.array(table, is_read=True), np.uint8)
        return [(slot, self.rows * size) for slot, size in zip(self.slots, self.sizes)], \
            [(self.slots[-1], self.rows * sum(self.sizes))]


# -- recurrent layers --------------------------------------------------------------------------------------------------
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
        _require(len(self.slots) in (4, 5), f"{len(self.slots)} slots")
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
        _require(len(self.slots) == (8 if self.projects else 6), f"{len(self.slots)} slots")
        _require((self.projects or self.part == "cells") and (self.projects or outputs == units), "another layer")
        batch, cells = walk.batch, 4 * walk.batch * units
        x, before, cell_in, cell_out, y, packed = self.slots[:6]
        peepholes = gates - 1 if self.peephole else 0
        size = recurrent.packed_bytes_lstm(units, gates, peepholes, inputs + outputs, self.half)
        reads = [(packed, size)]
        writes = [] if self.cleared is None else [(self.cleared, 4 * self.clear_count)]
        whole = y, *(() if self.state_out is None else (self.state_out,))
        if self.part != "projection":
            _require(not self.projects or plan.gone(("projection", self.slots, walk)) == self.span[0],
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


# -- chains ------------------------------------------------------------------------------------------------------------
class Bands(StepRecord):
    steps: tuple[Conv2dF32 | Conv2dLineF32 | DepthwiseConv2DF32 | Pool2D, ...]
    budget: Index

    def reach(self, plan):
        _require(2 <= len(self.steps) <= engine.MAX_STEPS, f"{len(self.steps)} steps in bands")
        first, last, reads = self.steps[0], self.steps[-1], []
        for step in self.steps:
            found, made = step.reach(plan)
            _require(max(size for _, size in (*found, *made)) < _MOST, "a tensor beyond all tensors")
            reads += found if step is first else found[1:]
        return reads, [(last.slots[-1], made[0][1])]

    def make(self, plan):
        steps = [step.make(plan) for step in self.steps]
        _require(all(step.window is not None for step in steps), "a step that knows no bands")
        for step, after in zip(steps, steps[1:]):
            _require(step.slots[-1] == after.slots[0] and step.window[1] == after.window[0]
                     and step.out_row == after.in_row, "bands that do not follow each other")
        return engine.Bands(steps, self.budget)


_MODULES = conv, elementwise, engine, movement, recurrent, reduction, spatial
_KINDS = {kind.__name__: kind for kind in (*StepRecord.__subclasses__(), *StepWithArrays.__subclasses__())
          if kind is not StepWithArrays}
for _name, _kind in _KINDS.items():
    _kind.native = next(getattr(module, _name) for module in _MODULES if hasattr(module, _name))
_FIELDS = {kind: kind.__struct_fields__ for kind in _KINDS.values()}

AnyStep = Conv2dF32
for _kind in _KINDS.values():
    AnyStep = AnyStep | _kind
"""Union of all record classes."""
