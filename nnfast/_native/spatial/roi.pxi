"""Steps of ROI_ALIGN and ROI_POOLING."""

from libc.math cimport INFINITY, ceilf, floor, floorf, frexp, roundf
from libc.stdint cimport int32_t, uint8_t, uint16_t
from libc.string cimport memset

from .engine cimport Step
from .kernels cimport nnf_kernel, pick
from .threads cimport nnf_decline, nnf_run, nnf_share, nnf_step
from .window cimport nnf_axis

import numpy as np

cdef extern from "roi/roi.h":
    ctypedef struct nnf_roi:
        size_t rows
        size_t columns
        const size_t *row
        const size_t *column

    ctypedef struct nnf_roi_q8:
        int32_t zero_x
        int32_t multiplier
        int32_t exponent
        int32_t zero_y
        int32_t lo
        int32_t hi

    ctypedef void (*nnf_roi_align_f32_nhwc_fn)(const nnf_roi *g, const float *w, size_t n, const float *x,
                                               float *y) noexcept nogil
    ctypedef void (*nnf_roi_align_q8_nhwc_fn)(const nnf_roi *g, const int32_t *w, size_t n, const uint8_t *x,
                                              uint8_t *y, const nnf_roi_q8 *q) noexcept nogil

cdef enum:
    ROI_GRAIN = 16384      # outputs below which a second thread costs more than it saves
    LONGEST = 4096     # samples along one side of a bin that the scratch memory has room for

LONGEST_RATIO = LONGEST


# -- regions -----------------------------------------------------------------------------------------------------------
cdef struct regions:
    size_t count, images, height, width, channels, out_height, out_width
    float across, down      # one over the strides
    bint coded              # corners are codes of this scale, zero point 0
    float scale


cdef struct region:
    size_t image
    float x1, y1, x2, y2    # in units of the feature map


cdef int plan_regions(regions *r, shape, size_t count, out, strides, roi_scale) except -1:
    r.images, r.height, r.width, r.channels = shape
    r.count = count
    r.out_height, r.out_width = out
    r.down, r.across = np.float32(1) / np.array(strides, np.float32)
    r.coded = roi_scale != 0
    r.scale = roi_scale
    return 0


# Region `number`; False when the reference refuses it.
cdef inline bint region_at(const regions *p, const void *rois, const int32_t *batch, size_t number,
                           region *r) noexcept nogil:
    cdef float at[4]
    cdef size_t i
    if batch[number] < 0 or <size_t>batch[number] >= p.images:
        return False
    r.image = <size_t>batch[number]
    for i in range(4):
        if p.coded:
            at[i] = <float>(<const uint16_t *>rois)[4 * number + i] * p.scale
        else:
            at[i] = (<const float *>rois)[4 * number + i]
        at[i] = at[i] * (p.down if i & 1 else p.across)
    r.x1, r.y1, r.x2, r.y2 = at[0], at[1], at[2], at[3]
    return r.x1 >= 0 and r.x1 <= r.x2 and r.x2 <= <float>p.width and \
        r.y1 >= 0 and r.y1 <= r.y2 and r.y2 <= <float>p.height


# -- ROI_ALIGN ---------------------------------------------------------------------------------------------------------
cdef struct align:
    nnf_roi_align_f32_nhwc_fn float_kernel   # one of the two
    nnf_roi_align_q8_nhwc_fn code_kernel
    nnf_roi_q8 q
    double scale_x, scale_y
    regions r
    size_t height_ratio, width_ratio, most_samples
    size_t row_room, column_room             # samples along either side that the scratch memory has room for


# The samples of a bin along one axis; all arrays have room for as many as may come.
cdef struct axis:
    size_t samples
    size_t places            # distinct positions that they touch
    size_t *place            # where each of these lies, in elements
    double *total            # sum of the weights of each
    int32_t *low             # number, among these, of the lower and of the upper neighbour of each sample
    int32_t *high
    float *weight            # of the upper one


cdef inline uint8_t *room_for(axis *a, size_t room, uint8_t *memory) noexcept nogil:
    a.place = <size_t *>memory
    a.total = <double *>(memory + 8 * room)
    a.low = <int32_t *>(memory + 16 * room)
    a.high = <int32_t *>(memory + 20 * room)
    a.weight = <float *>(memory + 24 * room)
    return memory + 32 * room


# Number of a position among the distinct ones, which come in ascending order of the lower neighbours.
cdef inline int32_t touch(axis *a, size_t place) noexcept nogil:
    if a.places and a.place[a.places - 1] == place:
        return <int32_t>a.places - 1
    if a.places > 1 and a.place[a.places - 2] == place:
        return <int32_t>a.places - 2
    a.place[a.places] = place
    a.total[a.places] = 0
    a.places += 1
    return <int32_t>a.places - 1


# Samples of bin `number`; the float arithmetic is that of the reference, step by step.
cdef inline void sample(axis *a, float start, float step, size_t number, size_t size, size_t stride) noexcept nogil:
    cdef float part = step / <float>a.samples, at
    cdef size_t i, low, high
    a.places = 0
    for i in range(a.samples):
        at = step * <float>number + start
        at = at + part / <float>2
        at = at + part * <float>i
        low = min(<size_t>floorf(at), size - 1)
        high = min(low + 1, size - 1)
        a.weight[i] = 0 if low >= size - 1 else at - <float>low
        a.low[i] = touch(a, low * stride)
        a.high[i] = touch(a, high * stride)
        a.total[a.low[i]] += <float>1 - a.weight[i]
        a.total[a.high[i]] += a.weight[i]


cdef inline int32_t part_of_255(float weight) noexcept nogil:
    return <int32_t>roundf(weight / (<float>(1.0 / 255)))


# Weights of the pixels of a bin of codes: whole 255ths of each of the four neighbours of every sample.
cdef inline void weigh_codes(const axis *rows, const axis *columns, int32_t *w) noexcept nogil:
    cdef size_t y, x
    cdef float down, across, one = 1  # a literal would make doubles of the products
    cdef int32_t *top
    cdef int32_t *bottom
    memset(w, 0, 4 * rows.places * columns.places)
    for y in range(rows.samples):
        down = rows.weight[y]
        top, bottom = w + rows.low[y] * columns.places, w + rows.high[y] * columns.places
        for x in range(columns.samples):
            across = columns.weight[x]
            top[columns.low[x]] += part_of_255((one - down) * (one - across))
            top[columns.high[x]] += part_of_255((one - down) * across)
            bottom[columns.low[x]] += part_of_255(down * (one - across))
            bottom[columns.high[x]] += part_of_255(down * across)


# The multiplier of so many samples [NN 13.4 QuantizeMultiplier]; False when it is not less than one.
cdef inline bint multiplier_of(const align *p, size_t samples, nnf_roi_q8 *q) noexcept nogil:
    cdef double real = <float>(p.scale_x / 255 / p.scale_y / <double>samples), fraction, whole
    cdef int exponent = 0
    q[0] = p.q
    if not real < 1:
        return False
    fraction = frexp(real, &exponent)
    whole = floor(fraction * 2147483648.0 + 0.5)
    if whole == 2147483648.0:
        whole, exponent = whole / 2, exponent + 1
    if exponent < -31:
        whole, exponent = 0, 0
    q.multiplier, q.exponent = <int32_t>whole, exponent
    return True


cdef inline float bin_step(float low, float high, size_t bins) noexcept nogil:
    return (high - low if high - low > 1 else <float>1) / <float>bins


cdef inline size_t samples_of(size_t ratio, float step) noexcept nogil:
    return ratio if ratio else <size_t>ceilf(step)


cdef void run_align(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const align *p = <const align *>step.params
    cdef const regions *r = &p.r
    cdef const uint8_t *x = <const uint8_t *>run.slot[step.slots[0]]
    cdef uint8_t *y = <uint8_t *>run.slot[step.slots[3]]
    cdef size_t item = 4 if p.float_kernel != NULL else 1
    cdef size_t image = item * r.height * r.width * r.channels
    cdef uint8_t *scratch = run.scratch + thread * run.scratch_stride
    cdef size_t line, first, last, column, i, k
    cdef float down, across
    cdef double share
    cdef axis rows, columns
    cdef region at
    cdef nnf_roi bin
    cdef nnf_roi_q8 q
    cdef void *w
    scratch = room_for(&rows, p.row_room, scratch)
    w = room_for(&columns, p.column_room, scratch)
    nnf_share(r.count * r.out_height, thread, threads, &first, &last)
    for line in range(first, last):
        if not region_at(r, run.slot[step.slots[1]], <const int32_t *>run.slot[step.slots[2]], line // r.out_height,
                         &at):
            nnf_decline(run)
            return
        down, across = bin_step(at.y1, at.y2, r.out_height), bin_step(at.x1, at.x2, r.out_width)
        rows.samples, columns.samples = samples_of(p.height_ratio, down), samples_of(p.width_ratio, across)
        if rows.samples * columns.samples > p.most_samples or \
                (p.code_kernel != NULL and not multiplier_of(p, rows.samples * columns.samples, &q)):
            nnf_decline(run)
            return
        share = <double>(rows.samples * columns.samples)
        sample(&rows, at.y1, down, line % r.out_height, r.height, r.width * r.channels)
        for column in range(r.out_width):
            sample(&columns, at.x1, across, column, r.width, r.channels)
            bin.rows, bin.columns, bin.row, bin.column = rows.places, columns.places, rows.place, columns.place
            if p.float_kernel != NULL:
                for i in range(rows.places):
                    for k in range(columns.places):
                        (<float *>w)[i * columns.places + k] = <float>(rows.total[i] * columns.total[k] / share)
                p.float_kernel(&bin, <const float *>w, r.channels, <const float *>(x + at.image * image),
                               <float *>y + (line * r.out_width + column) * r.channels)
            else:
                weigh_codes(&rows, &columns, <int32_t *>w)
                p.code_kernel(&bin, <const int32_t *>w, r.channels, x + at.image * image,
                              y + (line * r.out_width + column) * r.channels, &q)


cdef class RoiAlign(Step):
    """ROI_ALIGN of NHWC images; slots x, roi, batch_index, y.

    types: f32, qu8 or qs8; shape: of x; count: regions; out, strides, ratios: (height, width), ratios at most
    LONGEST_RATIO; roi_scale: of uint16 corners, 0 when they are float32; quantization: (scale, zero point) of x and of
    y. Declines regions outside of the image, unknown images, bins of more than most_samples samples, and multipliers
    of 1 or more.
    """

    cdef align p

    def __init__(self, slots, str types, shape, size_t count, out, strides, ratios, size_t most_samples,
                 float roi_scale=0, quantization=None):
        cdef const nnf_kernel *row = pick(f"roi_align_{types}_nhwc")
        cdef regions *r = &self.p.r
        if max(ratios) > LONGEST:
            raise ValueError(f"ratios are {ratios}, must be at most {LONGEST}")
        plan_regions(r, shape, count, out, strides, roi_scale)
        self.p.height_ratio, self.p.width_ratio = ratios
        self.p.most_samples = most_samples
        if types == "f32":
            self.p.float_kernel = <nnf_roi_align_f32_nhwc_fn>row.fn
        else:
            self.p.code_kernel = <nnf_roi_align_q8_nhwc_fn>row.fn
            (self.p.scale_x, self.p.q.zero_x), (self.p.scale_y, self.p.q.zero_y) = quantization
            self.p.q.lo = -128 if types == "qs8" else 0
            self.p.q.hi = self.p.q.lo + 255
        # An adaptive bin takes at most one sample for each position of the image, and one more position is touched.
        self.p.row_room = max(self.p.height_ratio, r.height) + 1
        self.p.column_room = max(self.p.width_ratio, r.width) + 1
        self.scratch = 32 * (self.p.row_room + self.p.column_room) + 4 * min(r.height * r.width, 4 * most_samples)
        self.work = r.count * r.out_height * r.out_width * r.channels
        self.tiles = <int>max(1, min(1 + <size_t>self.work // ROI_GRAIN, r.count * r.out_height, 64))
        self.bind(run_align, &self.p, slots, row.name.decode())


# -- ROI_POOLING -------------------------------------------------------------------------------------------------------
cdef struct pooling:
    nnf_pool_f32_fn float_kernel   # one of the two
    nnf_pool_q8_fn code_kernel
    regions r
    int32_t empty                  # what a bin without a position gives: the code, or 0
    int32_t lo
    int32_t hi


# Positions of one bin along an axis, as an axis of a pool with one output; returns the first of them.
cdef inline size_t span(nnf_axis *a, float low, float high, size_t number, size_t bins, size_t size) noexcept nogil:
    cdef size_t first = <size_t>roundf(low), length = <size_t>roundf(high) + 1 - first
    cdef size_t start = min(first + number * length // bins, size)
    cdef size_t stop = min(first + ((number + 1) * length + bins - 1) // bins, size)
    a.out = a.stride = a.dilation = 1
    a.head = 0
    a.taps = stop - start if stop > start else 0
    return start


cdef void run_pooling(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const pooling *p = <const pooling *>step.params
    cdef const regions *r = &p.r
    cdef const uint8_t *x = <const uint8_t *>run.slot[step.slots[0]]
    cdef uint8_t *y = <uint8_t *>run.slot[step.slots[3]]
    cdef uint8_t *target
    cdef size_t item = 4 if p.float_kernel != NULL else 1
    cdef size_t line, first, last, column, top, left, source
    cdef region at
    cdef nnf_pool g
    g.channels = r.channels
    nnf_share(r.count * r.out_height, thread, threads, &first, &last)
    for line in range(first, last):
        if not region_at(r, run.slot[step.slots[1]], <const int32_t *>run.slot[step.slots[2]], line // r.out_height,
                         &at):
            nnf_decline(run)
            return
        top = span(&g.y, at.y1, at.y2, line % r.out_height, r.out_height, r.height)
        for column in range(r.out_width):
            left = span(&g.x, at.x1, at.x2, column, r.out_width, r.width)
            target = y + (line * r.out_width + column) * r.channels * item
            if g.y.taps == 0 or g.x.taps == 0:
                memset(target, p.empty, r.channels * item)
                continue
            # The window lies inside whatever the sizes are; the width is the distance between its rows.
            g.y.size, g.x.size = g.y.taps, r.width
            source = ((at.image * r.height + top) * r.width + left) * r.channels * item
            if p.float_kernel != NULL:
                p.float_kernel(&g, 0, 1, 0, r.channels, <const float *>(x + source), <float *>target,
                               -INFINITY, INFINITY)
            else:
                p.code_kernel(&g, 0, 1, 0, r.channels, x + source, target, p.lo, p.hi)


cdef class RoiPooling(Step):
    """ROI_POOLING of NHWC images; slots x, roi, batch_index, y.

    types: f32, qu8 or qs8; shape: of x; count: regions; out, strides: (height, width); roi_scale: of uint16 corners, 0
    when they are float32; empty: code of a bin without a position, 0 in float32. Declines regions outside of the image
    and unknown images.
    """

    cdef pooling p

    def __init__(self, slots, str types, shape, size_t count, out, strides, float roi_scale=0, int empty=0):
        cdef const nnf_kernel *row = pick(f"max_pool2d_{types}_nhwc")
        cdef regions *r = &self.p.r
        plan_regions(r, shape, count, out, strides, roi_scale)
        if types == "f32":
            self.p.float_kernel = <nnf_pool_f32_fn>row.fn
        else:
            self.p.code_kernel = <nnf_pool_q8_fn>row.fn
            self.p.empty = empty & 255
            self.p.lo = -128 if types == "qs8" else 0
            self.p.hi = self.p.lo + 255
        self.work = r.count * r.out_height * r.out_width * r.channels
        self.tiles = <int>max(1, min(1 + <size_t>self.work // ROI_GRAIN, r.count * r.out_height, 64))
        self.bind(run_pooling, &self.p, slots, row.name.decode())
