"""Records of steps that look at an image through windows: convolutions and pools."""

from typing import Literal

import numpy as np

from ..._native import conv, spatial
from ...model.records import Data
from .base import Byte, Count, Index, Slots, StepRecord, StepWithArrays, Window, Word, check_code, check_codes, require


class ConvolutionF32(StepRecord):
    """What convolutions of floats have in common."""

    slots: Slots
    window: Window
    batch: Count
    channels: Count
    units: Count
    lo: float
    hi: float

    def accesses(self, plan, prefetch_bytes=0):
        """As `reach`. prefetch_bytes: of weights in a slot before the output's, read ahead."""
        self.window.check()
        depth = self.window.taps * self.channels
        require(len(self.slots) == (4 if prefetch_bytes else 3), f"{len(self.slots)} slots")
        plan.constant(self.slots[1], 4 * self.units * depth)  # before anything is computed from its size
        weights = [(self.slots[1], conv.packed_bytes_conv2d(self.units, depth, 1, False))]
        if prefetch_bytes:
            weights.append((self.slots[2], prefetch_bytes))
        return ([(self.slots[0], self.window.read(self.batch, self.channels, 4)), *weights],
                [(self.slots[-1], self.window.made(self.batch, self.units, 4))])


class Conv2dF32(ConvolutionF32):
    place: None = None
    prefetch_bytes: Index = 0

    def reach(self, plan):
        return self.accesses(plan, self.prefetch_bytes)


class Conv2dLineF32(ConvolutionF32):
    def reach(self, plan):
        require(conv.line_suits(self.window, self.channels, self.units), "a window for another kernel")
        return self.accesses(plan)


class Conv2dNarrowF32(ConvolutionF32):
    place: None = None

    def reach(self, plan):
        require(len(self.slots) == 3, f"{len(self.slots)} slots")
        self.window.check()
        depth = self.window.taps * self.channels
        plan.constant(self.slots[1], 4 * self.units * (depth + 1))
        require(conv.narrow_suits(self.window, self.batch, self.channels, self.units, False),
                "a window for another kernel")
        x, w, y = self.slots
        return ([(x, self.window.read(self.batch, self.channels, 4)), (w, 4 * self.units * (depth + 1))],
                [(y, self.window.made(self.batch, self.units, 4))])


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
        require(filter_.dtype == bias.dtype == np.float32 and filter_.ndim == 4 and bias.ndim == 1
                and filter_.shape[:3] == (len(bias), *self.window.filter), "a filter for another kernel")
        units, channels = filter_.shape[0], filter_.shape[3]
        require(conv.winograd_suits(self.window, self.batch, units, channels), "a window for another kernel")
        x, w, y = self.slots
        packed = conv.packed_bytes_winograd(self.window.filter, units, channels)
        return ([(x, self.window.read(self.batch, channels, 4)), (w, packed)],
                [(y, self.window.made(self.batch, units, 4))])


class ConvolutionQ8(StepRecord):
    """What convolutions of codes have in common, besides input_zero_point, output and signed."""

    slots: tuple[Index, Index, Index]
    window: Window
    batch: Count
    channels: Count
    units: Count

    def reach(self, plan):
        self.window.check()
        check_codes(self.input_zero_point, self.output, self.signed)
        x, w, y = self.slots
        plan.constant(w, self.units * self.window.taps * self.channels)
        return [(x, self.window.read(self.batch, self.channels, 1)), (w, 0)], \
            [(y, self.window.made(self.batch, self.units, 1))]


class Conv2dQ8(ConvolutionQ8):
    weights: tuple[Literal["int8", "uint8"], Byte]
    input_zero_point: Byte
    output: tuple[Byte, Byte, Byte]
    signed: bool
    place: None = None
    scale: Data | None = None
    values: None = None

    def reach(self, plan):
        check_code(self.weights[1], self.weights[0] == "int8")
        if self.scale is not None:
            scale = plan.array(self.scale)
            require(scale.dtype == np.float64 and scale.shape == (self.units,), "scales of another output")
        return super().reach(plan)

    def make(self, plan):
        dtype, zero_point = self.weights
        scale = None if self.scale is None else plan.array(self.scale)
        step = conv.Conv2dQ8(self.slots, self.window, self.batch, self.channels, self.units,
                             (np.dtype(dtype), zero_point), self.input_zero_point, self.output, self.signed, None,
                             scale)
        depth = self.window.taps * self.channels
        _check_packed_q8(plan, step, self.units, depth, self.scale is not None)
        return step


class Conv2dNarrowQ8(ConvolutionQ8):
    input_zero_point: Byte
    output: tuple[Byte, Byte, Byte]
    signed: bool
    place: None = None

    def reach(self, plan):
        accesses = super().reach(plan)
        require(conv.narrow_suits(self.window, self.batch, self.channels, self.units, True),
                "a window for another kernel")
        return accesses

    def make(self, plan):
        step = super().make(plan)
        _check_packed(plan, step, lambda array: conv.fits_narrow_q8(array, self.units, step.packed))
        return step


class Conv2dLinesQ8(ConvolutionQ8):
    input_zero_point: Byte
    output: tuple[Byte, Byte, Byte]
    signed: bool

    def reach(self, plan):
        accesses = super().reach(plan)
        require(conv.lines_q8_suits(self.window, self.channels, self.signed), "a window for another kernel")
        return accesses

    def make(self, plan):
        step = super().make(plan)
        _check_packed_q8(plan, step, self.units, conv.LinesBlocks(self.window, self.channels).depth, False)
        return step


class Conv2dWinogradQ8(ConvolutionQ8):
    input_zero_point: Byte
    output: tuple[Byte, Byte, Byte]
    signed: bool
    patch: Literal[2, 3, 4]
    values: None = None

    def reach(self, plan):
        accesses = super().reach(plan)
        require(self.patch in conv.winograd_q8_patches(self.window, self.batch, self.units, self.channels),
                "a window for another kernel")
        return accesses

    def make(self, plan):
        step, channels = super().make(plan), self.channels * self.window.stride[0] * self.window.stride[1]
        _check_packed(plan, step, lambda array: conv.fits_winograd_q8(self.patch, array, self.units, channels))
        return step


def _check_packed_q8(plan, step, units, depth, raw):
    """As _check_packed, of the weights of a product of this depth."""
    _check_packed(plan, step, lambda array: conv.fits_conv2d_q8(array, units, depth, 1, raw))


def _check_packed(plan, step, fits):
    """Check the size of packed weights now, and their shift counts once these have been read. Raises Misfit."""
    packed = plan.constant(step.slots[1], step.packed)
    require(packed.dtype == np.uint8 and packed.ndim == 1 and packed.nbytes == step.packed, "weights of another step")
    plan.later(packed, fits)


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
        require(packed.dtype == np.float32 and packed.ndim == 1 and self.channels % self.multiplier == 0
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
        check_codes(zero_point, output, signed)
        packed = plan.array(self.packed, is_read=True)
        require(packed.dtype == np.uint8 and packed.ndim == 1 and channels % multiplier == 0
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
        require(window.dilation == (1, 1), "a pool with holes")
        if item == 1:
            positions = min(window.filter[0], window.input[0]) * min(window.filter[1], window.input[1])
            require(self.op == "max" or self.op == "average" and positions <= spatial.WINDOW_MAX, "another pool")
            check_codes(self.lo, (self.lo, self.lo, self.hi), self.dtype == "int8")
        return [(self.slots[0], window.read(self.batch, self.channels, item))], \
            [(self.slots[1], window.made(self.batch, self.channels, item))]
