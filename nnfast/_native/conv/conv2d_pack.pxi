"""Steps that pack the weights of a convolution step while a program runs, for products of two computed matrices."""

from libc.stdint cimport int32_t, uint8_t

from .engine cimport Step
from .kernels cimport nnf_kernel, pick
from .threads cimport nnf_run, nnf_share, nnf_step

import numpy as np


cdef struct packing_step:
    size_t columns, depth, groups, n, k
    size_t packed                   # bytes of a group's packed weights
    size_t each                     # from one group to the next
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


cdef void run_pack_step_f32(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const packing_step *p = <const packing_step *>step.params
    cdef const float *x = <const float *>run.slot[step.slots[0]]
    cdef unsigned char *y = <unsigned char *>run.slot[step.slots[1]]
    cdef size_t group, last
    nnf_share(p.groups, thread, threads, &group, &last)
    for group in range(group, last):
        nnf_pack_conv2d_f32(p.columns, p.depth, p.n, x + group * p.columns * p.depth, p.bias,
                            <float *>(y + group * p.each))
        clear_rest(y + group * p.each, p.packed, p.each)


cdef class PackF32(Step):
    """Matrices [groups, columns, depth] of slot x, packed in slot y as conv2d.pack_f32 does with a bias of zeros."""

    cdef packing_step p

    def __init__(self, slots, size_t columns, size_t depth, size_t groups):
        cdef const nnf_kernel *row = pick("conv2d_f32_nhwc")
        cdef const float[::1] bias = np.zeros(columns, np.float32)
        self.p.columns, self.p.depth, self.p.groups, self.p.n = columns, depth, groups, row.n
        self.p.packed = bytes_of(columns, depth, False)
        self.p.each = lines(self.p.packed)
        self.p.bias = &bias[0]
        self.keep = bias
        self.work = <double>groups * columns * depth
        self.tiles = <int>min(groups, 64)
        self.bind(run_pack_step_f32, &self.p, slots, "pack")


cdef void run_pack_step_q8(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const packing_step *p = <const packing_step *>step.params
    cdef const uint8_t *x = <const uint8_t *>run.slot[step.slots[0]]
    cdef unsigned char *y = <unsigned char *>run.slot[step.slots[1]]
    cdef size_t group, last
    nnf_share(p.groups, thread, threads, &group, &last)
    for group in range(group, last):
        nnf_pack_conv2d_q8(p.columns, p.depth, p.n, p.k, x + group * p.columns * p.depth, &p.scheme, y + group * p.each)
        clear_rest(y + group * p.each, p.packed, p.each)


cdef class PackQ8(Step):
    """int8 matrices as PackF32 does, with what conv2d_q8.pack_q8 needs for sums of int8 inputs without a bias.

    zero_points: of the input and of the matrices; multiplier, exponent: from sums to output codes.
    """

    cdef packing_step p

    def __init__(self, slots, size_t columns, size_t depth, size_t groups, zero_points, int32_t multiplier,
                 int32_t exponent):
        cdef const nnf_kernel *row = pick("conv2d_qu8_qs8c_nhwc")
        rows = np.empty((3, columns), np.int32)
        rows[:] = np.int32([[0], [multiplier], [exponent]])
        cdef const int32_t[:, ::1] view = rows
        self.p.columns, self.p.depth, self.p.groups, self.p.n = columns, depth, groups, row.n
        self.p.k = row.k
        self.p.packed = bytes_of(columns, depth, True)
        self.p.each = lines(self.p.packed)
        self.p.scheme.input_zero_point = zero_points[0] + 128
        self.p.scheme.weight_zero_point = zero_points[1]
        self.p.scheme.bias = &view[0, 0]
        self.p.scheme.multiplier = &view[1, 0]
        self.p.scheme.exponent = &view[2, 0]
        self.keep = rows
        self.work = <double>groups * columns * depth
        self.tiles = <int>min(groups, 64)
        self.bind(run_pack_step_q8, &self.p, slots, "pack")
