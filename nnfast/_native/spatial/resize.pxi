"""Steps of bilinear interpolation."""

from libc.stdint cimport int32_t, uint8_t, uint32_t

from .engine cimport Step
from .kernels cimport nnf_kernel, pick
from .threads cimport nnf_run, nnf_share, nnf_step

import numpy as np

cdef extern from "resize/resize.h":
    enum:
        NNF_RESIZE_SPARE

    ctypedef struct nnf_resize:
        size_t width
        size_t channels
        size_t columns
        const uint32_t *left
        const uint32_t *right
        const float *across
        int is_fixed
        int is_exact

    size_t nnf_resize_work(const nnf_resize *p) nogil
    ctypedef void (*nnf_resize_bilinear_f32_nhwc_fn)(const nnf_resize *p, const float *top, const float *bottom,
                                                     float down, void *work, float *y) noexcept nogil
    ctypedef void (*nnf_resize_bilinear_q8_nhwc_fn)(const nnf_resize *p, const uint8_t *top, const uint8_t *bottom,
                                                    float down, void *work, uint8_t *y) noexcept nogil

cdef extern from "resize/resize_near.h":
    size_t nnf_resize_near_size(const nnf_resize *p, size_t lanes)
    bint nnf_resize_find_near(nnf_resize *p, size_t lanes, void *table)

cdef enum:
    RESIZE_GRAIN = 8192  # elements below which a second thread costs more than it saves


cdef struct bilinear:
    nnf_resize_bilinear_f32_nhwc_fn float_kernel   # one of the two
    nnf_resize_bilinear_q8_nhwc_fn code_kernel
    nnf_resize over
    size_t images, height, image, row              # height of the output; elements of an input image and row
    const uint32_t *top
    const uint32_t *bottom
    const float *down
    bint needs_work


cdef void run_bilinear(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const bilinear *p = <const bilinear *>step.params
    cdef const void *x = run.slot[step.slots[0]]
    cdef void *y = run.slot[step.slots[1]]
    cdef void *work = run.scratch + <size_t>thread * run.scratch_stride if p.needs_work else NULL
    cdef size_t line, first, last, image, target, up, low, at, width = p.over.width * p.over.channels
    nnf_share(p.images * p.height, thread, threads, &first, &last)
    for line in range(first, last):
        image, at, target = line // p.height * p.image, line % p.height, line * width
        up, low = image + p.top[at] * p.row, image + p.bottom[at] * p.row
        if p.float_kernel != NULL:
            p.float_kernel(&p.over, <const float *>x + up, <const float *>x + low, p.down[at], work,
                           <float *>y + target)
        else:
            p.code_kernel(&p.over, <const uint8_t *>x + up, <const uint8_t *>x + low, p.down[at], work,
                          <uint8_t *>y + target)


cdef class ResizeBilinear(Step):
    """Bilinear interpolation of images [batch, height, width, channels]; slots x, y.

    types: f32, qu8 or qs8; rows, columns: (lower index, upper index, float32 weight of the upper) of each output
    position along height and width; is_fixed: qs8 only, weights are multiples of 2^-10 and exact sums rounded, halves
    away from zero; is_exact: float32 rounds no sum of codes with these weights.
    """

    cdef bilinear p

    def __init__(self, slots, str types, shape, rows, columns, bint is_fixed=False, bint is_exact=False):
        if is_fixed and types != "qs8":
            raise ValueError(f"weights of {types} cannot be fixed")
        cdef const nnf_kernel *row = pick(f"resize_bilinear_{types}_nhwc")
        cdef size_t height, width, most
        batch, height, width, channels = shape
        tables = []
        for (low, high, weight), size in ((rows, height), (columns, width)):
            if not len(low) == len(high) == len(weight) > 0:
                raise ValueError("indices and weights must be as many as there are outputs")
            most = max(np.max(low), np.max(high))
            if most >= size or min(np.min(low), np.min(high)) < 0:
                raise ValueError(f"an index is {most}, must be in [0, {size})")
            tables += [np.ascontiguousarray(low, np.uint32), np.ascontiguousarray(high, np.uint32),
                       np.ascontiguousarray(weight, np.float32)]
        cdef const uint32_t[::1] top = tables[0], bottom = tables[1], left = tables[3], right = tables[4]
        cdef const float[::1] down = tables[2], across = tables[5]
        self.keep = tables
        if types == "f32":
            self.p.float_kernel = <nnf_resize_bilinear_f32_nhwc_fn>row.fn
        else:
            self.p.code_kernel = <nnf_resize_bilinear_q8_nhwc_fn>row.fn
        self.p.top, self.p.bottom, self.p.down = &top[0], &bottom[0], &down[0]
        self.p.over.left, self.p.over.right, self.p.over.across = &left[0], &right[0], &across[0]
        self.p.over.width, self.p.over.channels, self.p.over.columns = left.shape[0], channels, width
        self.p.over.is_fixed, self.p.over.is_exact = is_fixed, is_exact
        if types != "f32":
            self.scratch = nnf_resize_work(&self.p.over) * sizeof(int32_t)
        elif self.find_near(row.n, tables):
            self.scratch = 2 * (width * self.p.over.channels + NNF_RESIZE_SPARE) * sizeof(float)
        self.p.needs_work = self.scratch > 0
        self.p.images, self.p.height = batch, top.shape[0]
        self.p.row = width * self.p.over.channels
        self.p.image = height * self.p.row
        self.packed = sum(table.nbytes for table in tables)
        self.work = self.p.images * self.p.height * self.p.over.width * self.p.over.channels
        self.tiles = <int>max(1, min(1 + <size_t>self.work // RESIZE_GRAIN, self.p.images * self.p.height, 64))
        self.bind(run_bilinear, &self.p, slots, row.name.decode())

    cdef bint find_near(self, size_t lanes, list tables):
        # Whether values have too few channels for vectors of them, and lie where those of several pixels can.
        cdef size_t channels = self.p.over.channels
        if not lanes or 3 * channels >= 2 * ((channels + lanes - 1) // lanes * lanes):
            return False
        cdef uint32_t[::1] table = np.empty(nnf_resize_near_size(&self.p.over, lanes), np.uint32)
        if not nnf_resize_find_near(&self.p.over, lanes, &table[0]):
            return False
        tables.append(table.base)
        return True
