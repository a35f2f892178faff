"""Packing of the weights of convolution steps: before any run, shared by threads; or as a step of a program, for
products of two computed matrices."""

from libc.stdint cimport int32_t, uint8_t

from .engine cimport Step
from .kernels cimport nnf_kernel, pick
from .threads cimport nnf_run, nnf_share, nnf_step

import numpy as np


cdef struct packing:
    size_t columns, depth, groups, n, k     # k: 0 for float32, else that of a bfloat16 kernel
    size_t panel                    # bytes of a whole panel
    size_t packed                   # bytes of a group's packed weights
    size_t each                     # from one group to the next
    const float *weights
    const float *bias
    unsigned char *to


cdef void run_packing(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    """A thread's share of the panels."""
    cdef const packing *p = <const packing *>step.params
    cdef size_t panels = (p.columns + p.n - 1) // p.n, item, last, group, first, count, unit, columns
    cdef unsigned char *to
    nnf_share(p.groups * panels, thread, threads, &item, &last)
    while item < last:
        group, first = item // panels, item % panels
        count = min(panels - first, last - item)
        unit = group * p.columns + first * p.n
        # Whole panels lie one behind the other, so that a run of them is packed as if it were all there is.
        columns, to = min(count * p.n, p.columns - first * p.n), p.to + group * p.each + first * p.panel
        if p.k:
            nnf_pack_conv2d_bf16(columns, p.depth, p.n, p.k, p.weights + unit * p.depth, p.bias + unit, to)
        else:
            nnf_pack_conv2d_f32(columns, p.depth, p.n, p.weights + unit * p.depth, p.bias + unit, <float *>to)
        if first + count == panels:
            clear_rest(p.to + group * p.each, p.packed, p.each)
        item += count


cdef struct packing_step:
    size_t columns, depth, groups, n, k     # k: 0 for float32, else that of an 8-bit kernel
    size_t packed, each             # as above
    const float *bias
    nnf_conv2d_q8_scheme scheme


def packed_bytes_conv2d(size_t columns, size_t depth, size_t groups, bint quantized):
    """Size of what PackF32 or PackQ8 writes."""
    return groups * lines(bytes_of(columns, depth, quantized))


cdef size_t bytes_of(size_t columns, size_t depth, bint quantized) except 0:
    cdef const nnf_kernel *row
    if quantized:
        row = pick("conv2d_qu8_qs8c_nhwc")
        return nnf_pack_conv2d_q8_size(columns, depth, row.n, row.k)
    return sizeof(float) * nnf_pack_conv2d_f32_size(columns, depth, pick("conv2d_f32_nhwc").n)


cdef void run_packing_step(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const packing_step *p = <const packing_step *>step.params
    cdef const void *x = run.slot[step.slots[0]]
    cdef unsigned char *y = <unsigned char *>run.slot[step.slots[1]]
    cdef size_t group, last, size = p.columns * p.depth
    nnf_share(p.groups, thread, threads, &group, &last)
    for group in range(group, last):
        if p.k:
            nnf_pack_conv2d_q8(p.columns, p.depth, p.n, p.k, <const uint8_t *>x + group * size, &p.scheme,
                               y + group * p.each)
        else:
            nnf_pack_conv2d_f32(p.columns, p.depth, p.n, <const float *>x + group * size, p.bias,
                                <float *>(y + group * p.each))
        clear_rest(y + group * p.each, p.packed, p.each)


cdef class Packing(Step):
    """Matrices [groups, columns, depth] of slot x, packed in slot y."""

    cdef packing_step p

    def __init__(self, slots, size_t columns, size_t depth, size_t groups, bint quantized):
        cdef const nnf_kernel *row = pick("conv2d_qu8_qs8c_nhwc" if quantized else "conv2d_f32_nhwc")
        self.p.columns, self.p.depth, self.p.groups, self.p.n = columns, depth, groups, row.n
        self.p.k = row.k if quantized else 0
        self.p.packed = bytes_of(columns, depth, quantized)
        self.p.each = lines(self.p.packed)
        self.work = <double>groups * columns * depth
        self.tiles = <int>min(groups, 64)
        self.bind(run_packing_step, &self.p, slots, "pack")


cdef class PackF32(Packing):
    """float32 matrices as pack_conv2d_f32 packs them with a bias of zeros."""

    def __init__(self, slots, size_t columns, size_t depth, size_t groups):
        cdef const float[::1] bias = np.zeros(columns, np.float32)
        super().__init__(slots, columns, depth, groups, False)
        self.p.bias = &bias[0]
        self.keep = bias


cdef class PackQ8(Packing):
    """int8 matrices as PackF32 does, with what pack_conv2d_q8 needs for sums of int8 inputs without a bias.

    zero_points: of the input and of the matrices; multiplier, exponent: from sums to output codes.
    """

    def __init__(self, slots, size_t columns, size_t depth, size_t groups, zero_points, int32_t multiplier,
                 int32_t exponent):
        rows = np.empty((3, columns), np.int32)
        rows[:] = np.int32([[0], [multiplier], [exponent]])
        cdef const int32_t[:, ::1] view = rows
        super().__init__(slots, columns, depth, groups, True)
        self.p.scheme.input_zero_point = zero_points[0] + 128
        self.p.scheme.weight_zero_point = zero_points[1]
        self.p.scheme.bias = &view[0, 0]
        self.p.scheme.multiplier = &view[1, 0]
        self.p.scheme.exponent = &view[2, 0]
        self.keep = rows
