"""Records of steps that take element by element, or row by row."""

from math import prod
from typing import Annotated, Literal

import numpy as np

from ..._native import movement
from ...extras import msgspec
from ...model.records import Data
from .base import Byte, Count, Index, Slots, StepRecord, StepWithArrays, Word, check_codes, check_table, require

_ONE = (1 << 31) - 1
"""1.0 in fixed point without integer bits [NN 13.5]."""


def _reach_of_two(slots, shape_a, shape_b, item):
    """Reach of a step that broadcasts two operands."""
    rank = max(len(shape_a), len(shape_b))
    padded = [(1,) * (rank - len(shape)) + shape for shape in (shape_a, shape_b)]
    require(all(a == b or 1 in (a, b) for a, b in zip(*padded)), "operands that do not broadcast")
    return [(slots[0], item * prod(shape_a)), (slots[1], item * prod(shape_b))], \
        [(slots[2], item * prod(map(max, *padded)))]


class BinaryF32(StepRecord):
    slots: tuple[Index, Index, Index]
    op: Literal["add", "sub", "mul", "div", "max", "min", "prelu", "squared_difference", "pow"]
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
    scales: tuple[tuple[Word, Annotated[int, msgspec.Meta(ge=-31, le=31)]], ...]
    clamp: tuple[Byte, Byte]

    def reach(self, plan):
        require(len(self.scales) == {"add": 3, "mul": 1, "prelu": 2}[self.op], f"{len(self.scales)} scales")
        require(self.op == "add" or min(self.scales)[0] >= 0, "a scale below 0")
        for zero_point in self.zeros:
            check_codes(zero_point, (zero_point, *self.clamp), self.is_signed)
        return _reach_of_two(self.slots, self.shape_a, self.shape_b, 1)


class UnaryF32(StepRecord):
    slots: tuple[Index, Index]
    f: Literal["logistic", "tanh", "hard_swish", "abs", "neg", "floor", "ceil", "round", "sign", "sqrt", "rsqrt", "exp",
               "log", "sin", "cos", "gelu", "gelu_tanh", "silu"]
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
        check_table(plan.array(self.table, is_read=True), np.uint8)
        return [(self.slots[0], self.count)], [(self.slots[1], self.count)]


class SoftmaxF32(StepRecord):
    slots: tuple[Index, Index]
    rows: Count
    n: Count
    beta: float
    logarithm: bool = False

    def reach(self, plan):
        return [(self.slots[0], 4 * self.rows * self.n)], [(self.slots[1], 4 * self.rows * self.n)]


class LayerNormF32(StepRecord):
    slots: Slots
    rows: Count
    n: Count
    epsilon: float
    is_folded: bool = False
    divides: bool = False
    has_gamma: bool = True
    has_beta: bool = True

    def reach(self, plan):
        require(len(self.slots) == 2 + self.has_gamma + self.has_beta, f"{len(self.slots)} slots")
        x, *factors, y = self.slots
        require(not self.is_folded or self.has_gamma and self.has_beta and not self.divides, "a form that is none")
        size = 4 * self.rows * self.n
        return [(x, size), *((slot, 4 * self.n) for slot in factors)], [(y, size)]


class SoftmaxQ8(StepWithArrays):
    slots: tuple[Index, Index]
    is_signed: bool
    rows: Count
    n: Count
    power: Data

    def reach(self, plan):
        power = plan.array(self.power, is_read=True)
        check_table(power, np.int64)
        require(power[0] == _ONE and power.min() >= 0 and power.max() == _ONE, "powers out of range")
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
        require(len(self.slots) == len(self.sizes) + 1 == len(self.tables) + 1, f"{len(self.slots)} slots")
        for table in self.tables:
            if table is not None:
                check_table(plan.array(table, is_read=True), np.uint8)
        return [(slot, self.rows * size) for slot, size in zip(self.slots, self.sizes)], \
            [(self.slots[-1], self.rows * sum(self.sizes))]
