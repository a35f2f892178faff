"""What records of steps share: types of fields, windows and walks, and checks."""

from typing import Annotated

from ...errors import GeneralFailure
from ...extras import msgspec
from ...model.records import Data, Record

Count = Annotated[int, msgspec.Meta(ge=1, lt=1 << 32)]
Index = Annotated[int, msgspec.Meta(ge=0, lt=1 << 32)]
Word = Annotated[int, msgspec.Meta(gt=-(1 << 31), lt=1 << 31)]
Byte = Annotated[int, msgspec.Meta(ge=-128, le=255)]
Counts, Places = tuple[Count, Count], tuple[Index, Index]
Slots = tuple[Index, ...]


class Misfit(GeneralFailure):
    """The plan cannot be that of a valid model."""

    def __init__(self, what):
        super().__init__(f"compilation cache: {what}; prepare the model from its source")


class NoRecord(Exception):
    """The step has no record class."""


def require(holds, what):
    """Raise Misfit where a step does not hold together; what: what it has."""
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
            require(self.head[axis] < (self.filter[axis] - 1) * self.dilation[axis] + 1
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
        require(self.out_start == 0 and (
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
        return self.native(*msgspec.structs.astuple(self))


class StepWithArrays(StepRecord):
    """A record whose arguments refer to arrays."""

    def make(self, plan):
        """The step, over these arrays."""
        values = msgspec.structs.astuple(self)
        return self.native(*[plan.array(value) if type(value) is Data else value for value in values])


def check_code(code, signed):
    """Raise Misfit unless a code is one of int8 (signed) or uint8."""
    require(-128 <= code <= 127 if signed else 0 <= code <= 255, "a code beyond its type")


def check_codes(zero_point, output, signed):
    """The same for an input's zero point and for those of an output: zero point, lowest code, highest code."""
    for code in (zero_point, *output):
        check_code(code, signed)
    require(output[1] <= output[2], "a clamp whose low limit exceeds the high one")


def check_table(table, dtype):
    """Raise Misfit unless a table has a value for each 8-bit code."""
    require(table.dtype == dtype and table.shape == (256,), "a table of another size")
