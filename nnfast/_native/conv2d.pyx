"""Steps of CONV_2D and FULLY_CONNECTED: an implicit matrix product in tiles (csrc/kernels/conv2d/conv2d.h).

The output pixels of all batches form the rows of the product. They are cut into tiles of equal height, the output
channels into the panels the weights were packed in; a thread does a contiguous share of the (tile, panel) pairs. A
step may do several such products, the groups of a grouped convolution, and may scatter its output pixels.
"""

from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int32_t, uint8_t, uint32_t
from libc.string cimport memcpy, memset

from .kernels cimport nnf_kernel, pick
from .placement cimport placement, placement_of, scatter
from .plan cimport Step
from .threads cimport nnf_run, nnf_share, nnf_step

import numpy as np

from .plan import aligned_bytes

cdef extern from "conv2d/conv2d.h":
    ctypedef struct nnf_conv2d_f32_tile:
        size_t rows
        size_t columns
        size_t taps
        size_t depth
        const float *const *a
        const float *w
        float *c
        size_t ldc
        float lo
        float hi

    ctypedef void (*nnf_conv2d_f32_nhwc_fn)(const nnf_conv2d_f32_tile *tile) noexcept nogil

    ctypedef struct nnf_conv2d_q8_tile:
        size_t rows
        size_t columns
        size_t groups
        const uint8_t *a
        size_t lda
        const int32_t *offset
        const int32_t *w
        uint8_t *c
        size_t ldc
        int32_t zero_point
        int32_t lo
        int32_t hi
        uint8_t flip

    ctypedef void (*nnf_conv2d_qu8_qs8c_nhwc_fn)(const nnf_conv2d_q8_tile *tile) noexcept nogil
    ctypedef void (*nnf_conv2d_gather_qu8_nhwc_fn)(size_t rows, size_t n, const uint8_t *x, size_t ldx, uint8_t flip,
                                                   uint8_t *to, size_t ldt, uint32_t *sums) noexcept nogil

    size_t nnf_conv2d_q8_panel(size_t width, size_t groups) nogil

cdef enum:
    GRAIN = 65536           # multiply-adds below which a second thread costs more than it saves
    WEIGHTS = 5 << 18       # bytes of weights that may stream by for every tile: they stay in a level 2 cache
    ROWS = 1 << 19          # bytes of input rows that may stream by for every panel of larger weights
    NEAR = 1 << 13          # bytes of gathered rows that leave room in the level 1 cache
    SHALLOW = 32            # input channels below which a whole filter row is gathered as one tap


cdef struct geometry:
    ptrdiff_t height, width, channels           # of the input
    ptrdiff_t pixel                             # elements between input pixels
    ptrdiff_t out_height, out_width
    ptrdiff_t filter_height, filter_width
    ptrdiff_t stride_y, stride_x, dilation_y, dilation_x, top, left
    bint plain      # input pixel i is all that output pixel i reads
    bint by_row     # a tap is a filter row, all its columns and channels in one


cdef struct split:
    size_t rows, columns, depth     # of the whole product
    size_t m, n                     # of the kernel
    size_t tiles, panels, group     # group: tiles that share a panel before the next panel
    size_t height, taller           # of a tile; so many tiles are one row taller


cdef int measure(geometry *g, window, size_t channels, size_t pixel) except -1:
    g.height, g.width = window.input
    g.channels = channels
    g.pixel = pixel
    g.out_height, g.out_width = window.output
    g.filter_height, g.filter_width = window.filter
    g.stride_y, g.stride_x = window.stride
    g.dilation_y, g.dilation_x = window.dilation
    g.top, g.left = window.head
    g.plain = window.filter == (1, 1) and window.stride == (1, 1) and window.output == window.input \
        and window.head == (0, 0)
    g.by_row = channels < SHALLOW and pixel == channels and g.dilation_x == 1 and g.filter_width > 1
    return 0


cdef int plan_split(split *s, size_t rows, size_t columns, size_t depth, const nnf_kernel *kernel,
                    size_t weight_bytes, size_t row_bytes, size_t near) except -1:
    s.rows = rows
    s.columns = columns
    s.depth = depth
    s.m = kernel.m
    s.n = kernel.n
    s.tiles = (rows + s.m - 1) // s.m
    s.panels = (columns + s.n - 1) // s.n
    s.height = rows // s.tiles if s.tiles else 0
    s.taller = rows - s.tiles * s.height
    # One tile after the other over all panels keeps inputs and outputs near, and so do the few tiles of `near` bytes
    # that are worth gathering at once. Weights beyond the cache are read once for a group of tiles instead (float32
    # 49x1024x1024: 654 us instead of 960; but 196x512x512: 629 us instead of 601).
    cdef size_t budget = near if weight_bytes <= WEIGHTS else ROWS
    s.group = min(s.tiles, budget // (s.m * row_bytes))
    if s.group == 0:
        s.group = 1
    return 0


cdef inline size_t tile_start(const split *s, size_t tile) noexcept nogil:
    return tile * s.height + min(tile, s.taller)


cdef struct conv2d_f32:
    nnf_conv2d_f32_nhwc_fn kernel
    geometry g
    placement place
    split s
    size_t taps, depth          # as the kernel sees them
    size_t copies               # offset of the gathered rows in the scratch, behind the row addresses
    size_t tile                 # offset in the scratch of a tile that is yet to be scattered
    size_t weights              # bytes of a group's packed weights
    const float *zeros          # `depth` of them: a tap outside the input
    float lo, hi


cdef float *address_f32(const conv2d_f32 *p, const float *x, size_t first, size_t last, const float **a,
                        float *copies) noexcept nogil:
    """Row addresses a[taps][m] of output pixels first..last; what crosses the border is gathered in `copies`, whose
    new end is returned."""
    cdef const geometry *g = &p.g
    cdef ptrdiff_t area = g.out_height * g.out_width, pixel = first, end = last
    cdef ptrdiff_t image, y, x0, pixels, iy, ix, i, j, r, m = p.s.m
    cdef const float *row
    cdef const float **to
    if g.plain:
        for r in range(end - pixel):
            a[r] = x + (pixel + r) * g.pixel
        return copies
    while pixel < end:
        image = pixel // area
        y = (pixel - image * area) // g.out_width
        x0 = (pixel - image * area - y * g.out_width) * g.stride_x - g.left
        pixels = min(end - pixel, (y + 1) * g.out_width + image * area - pixel)
        for i in range(g.filter_height):
            iy = y * g.stride_y - g.top + i * g.dilation_y
            row = NULL
            if 0 <= iy < g.height:
                row = x + (image * g.height + iy) * g.width * g.pixel
            if g.by_row:
                copies = address_row(p, row, x0, pixels, a + i * m, copies)
                continue
            for j in range(g.filter_width):
                to = a + (i * g.filter_width + j) * m
                ix = x0 + j * g.dilation_x
                for r in range(pixels):
                    to[r] = row + ix * g.pixel if row != NULL and 0 <= ix < g.width else p.zeros
                    ix += g.stride_x
        a += pixels
        pixel += pixels
    return copies


cdef float *address_row(const conv2d_f32 *p, const float *row, ptrdiff_t x, ptrdiff_t pixels, const float **a,
                        float *copies) noexcept nogil:
    """Addresses under one whole filter row; what crosses the border is gathered in `copies`: the end of that."""
    cdef const geometry *g = &p.g
    cdef ptrdiff_t r = 0, ix, stop, lo, hi, channels = g.channels
    if row == NULL:
        for r in range(pixels):
            a[r] = p.zeros
        return copies
    while r < pixels:
        ix = x + r * g.stride_x
        if ix >= 0 and ix + g.filter_width <= g.width:
            stop = min(pixels, r + (g.width - g.filter_width - ix) // g.stride_x + 1)
            while r < stop:
                a[r] = row + ix * channels
                ix += g.stride_x
                r += 1
            continue
        lo = max(-ix, 0)
        hi = min(g.filter_width, g.width - ix)
        memset(copies, 0, p.depth * sizeof(float))
        if lo < hi:
            memcpy(copies + lo * channels, row + (ix + lo) * channels, (hi - lo) * channels * sizeof(float))
        a[r] = copies
        copies += p.depth
        r += 1
    return copies


cdef void group_f32(const conv2d_f32 *p, const float *x, const float *w, float *y, unsigned char *scratch, size_t item,
                    size_t last) noexcept nogil:
    """(tile, panel) pairs item..last-1 of one group."""
    cdef const split *s = &p.s
    cdef const float **a = <const float **>scratch
    cdef float *copies
    cdef size_t stop, block, base, count, panel, t, low, addresses = p.taps * s.m
    cdef nnf_conv2d_f32_tile tile
    tile.taps = p.taps
    tile.depth = p.depth
    tile.ldc = s.n if p.place.scattered else p.place.out_pixel
    tile.lo = p.lo
    tile.hi = p.hi
    while item < last:
        block = item // (s.group * s.panels)
        base = block * s.group
        count = min(s.group, s.tiles - base)
        stop = min(last, (base + count) * s.panels)
        copies = <float *>(scratch + p.copies)
        for t in range(base, base + count):
            copies = address_f32(p, x, tile_start(s, t), tile_start(s, t + 1), a + (t - base) * addresses, copies)
        panel = (item - base * s.panels) // count
        t = base + item - base * s.panels - panel * count
        while item < stop:
            low = tile_start(s, t)
            tile.rows = tile_start(s, t + 1) - low
            tile.columns = min(s.n, s.columns - panel * s.n)
            tile.a = a + (t - base) * addresses
            tile.w = w + panel * s.n * (s.depth + 1)
            tile.c = <float *>(scratch + p.tile) if p.place.scattered else y + low * tile.ldc + panel * s.n
            p.kernel(&tile)
            if p.place.scattered:
                scatter(&p.place, p.g.out_height, p.g.out_width, low, low + tile.rows, tile.c,
                        s.n * sizeof(float), y + panel * s.n, tile.columns, sizeof(float))
            item += 1
            t += 1
            if t == base + count:
                t = base
                panel += 1


cdef void run_f32(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const conv2d_f32 *p = <const conv2d_f32 *>step.params
    cdef const float *x = <const float *>run.slot[step.slots[0]]
    cdef const char *w = <const char *>run.slot[step.slots[1]]
    cdef float *y = <float *>run.slot[step.slots[2]] + p.place.out_first
    cdef unsigned char *scratch = run.scratch + thread * run.scratch_stride
    cdef size_t item, last, group, stop, each = p.s.tiles * p.s.panels
    nnf_share(p.place.groups * each, thread, threads, &item, &last)
    while item < last:
        group = item // each
        stop = min(last, (group + 1) * each)
        group_f32(p, x + group * p.place.group, <const float *>(w + group * p.weights), y + group * p.place.out_group,
                  scratch, item - group * each, stop - group * each)
        item = stop


def pack_f32(const float[:, ::1] weights, const float[::1] bias, size_t groups=1):
    """Weights [units, depth] and bias [units], packed for the kernel that a step made now will run; uint8 array.

    The units are those of all groups, one group after the other.
    """
    cdef const nnf_kernel *row = pick("conv2d_f32_nhwc")
    cdef size_t columns = weights.shape[0] // groups, depth = weights.shape[1], i
    cdef size_t each = lines(sizeof(float) * nnf_pack_conv2d_f32_size(columns, depth, row.n))
    packed = aligned_bytes(groups * each)
    cdef unsigned char[::1] to = packed
    with nogil:
        for i in range(groups):
            nnf_pack_conv2d_f32(columns, depth, row.n, &weights[i * columns, 0], &bias[i * columns],
                                <float *>&to[i * each])
    return packed


cdef class Conv2dF32(Step):
    """y = clamp(conv(x, weights) + bias, lo, hi) in float32, NHWC; slots x, packed weights, y.

    window: an ops.window.Window; batch, channels: of the input; units: output channels. FULLY_CONNECTED is the window
    of a 1 x 1 image. place: an ops.conv2d.Placement; channels and units are then those of one group.
    """

    cdef conv2d_f32 p

    def __init__(self, slots, window, size_t batch, size_t channels, size_t units, float lo, float hi,
                 place=None):
        cdef const nnf_kernel *row = pick("conv2d_f32_nhwc")
        cdef geometry *g = &self.p.g
        self.p.place = placement_of(place, channels, units, window.output[0], window.output[1])
        measure(g, window, channels, self.p.place.pixel)
        cdef size_t taps = g.filter_height * g.filter_width, rows = batch * g.out_height * g.out_width
        self.p.kernel = <nnf_conv2d_f32_nhwc_fn>row.fn
        self.p.taps = g.filter_height if g.by_row else taps
        self.p.depth = g.filter_width * channels if g.by_row else channels
        self.p.lo = lo
        self.p.hi = hi
        self.p.weights = lines(sizeof(float) * nnf_pack_conv2d_f32_size(units, taps * channels, row.n))
        self.packed = self.p.place.groups * self.p.weights
        cdef size_t row_bytes = sizeof(float) * taps * channels
        plan_split(&self.p.s, rows, units, taps * channels, row, self.p.weights, row_bytes, 0)
        zeros = aligned_bytes(self.p.depth * sizeof(float))
        zeros[:] = 0
        cdef unsigned char[::1] view = zeros
        self.keep = zeros
        self.p.zeros = <const float *>&view[0]
        self.p.copies = lines(self.p.s.group * self.p.taps * self.p.s.m * sizeof(void *))
        self.p.tile = self.p.copies + lines(self.p.s.group * row_bytes * self.p.s.m if g.by_row else 0)
        self.scratch = self.p.tile + (self.p.s.m * self.p.s.n * sizeof(float) if self.p.place.scattered else 0)
        self.work = <double>self.p.place.groups * rows * units * taps * channels
        self.tiles = <int>min(<double>(self.p.place.groups * self.p.s.tiles * self.p.s.panels), self.work / GRAIN + 1)
        self.bind(run_f32, &self.p, slots, row.name.decode())


cdef struct conv2d_q8:
    nnf_conv2d_qu8_qs8c_nhwc_fn kernel
    nnf_conv2d_gather_qu8_nhwc_fn gather
    geometry g
    placement place
    split s
    size_t groups, lda          # of a row of the product: 4 codes each; bytes between gathered rows
    size_t rows                 # where in the scratch, behind the row offsets, the gathered rows of a block begin
    size_t tile                 # offset in the scratch of a tile that is yet to be scattered
    size_t weights              # bytes of a group's packed weights
    bint direct                 # the input can be read in place
    int32_t weight_zero_point, input_zero_point
    int32_t zero_point, lo, hi
    uint8_t flip


cdef void gather_row_q8(const conv2d_q8 *p, const uint8_t *row, ptrdiff_t x, ptrdiff_t pixels, ptrdiff_t span,
                        uint8_t *to, uint32_t *sums) noexcept nogil:
    """Codes under `span` neighbouring filter columns, for `pixels` output pixels of an output row from input column x.

    row: the input row, NULL where the filter lies above or below the image.
    """
    cdef const geometry *g = &p.g
    cdef ptrdiff_t r = 0, ix, run, lo, hi, channels = g.channels, n = span * channels
    while r < pixels:
        ix = x + r * g.stride_x
        run = 1
        if row != NULL and ix >= 0 and ix + span <= g.width:
            run = min(pixels - r, (g.width - span - ix) // g.stride_x + 1)
            p.gather(run, n, row + ix * g.pixel, g.stride_x * g.pixel, p.flip, to + r * p.lda, p.lda, sums)
        else:
            lo = max(-ix, 0)
            hi = max(lo, min(span, g.width - ix)) if row != NULL else lo
            memset(to + r * p.lda, p.input_zero_point, n)
            if lo < hi:
                p.gather(1, (hi - lo) * channels, row + (ix + lo) * g.pixel, 0, p.flip, to + r * p.lda + lo * channels,
                         0, sums)
            if sums != NULL:
                sums[0] += <uint32_t>(p.input_zero_point * (n - (hi - lo) * channels))
        if sums != NULL:
            sums += run
        r += run


cdef void gather_q8(const conv2d_q8 *p, const uint8_t *x, size_t first, size_t last, uint8_t *to,
                    uint32_t *sums) noexcept nogil:
    """Rows of the product for output pixels first..last, and -zw times the sum of each where `sums` is not NULL."""
    cdef const geometry *g = &p.g
    cdef ptrdiff_t area = g.out_height * g.out_width, pixel = first, end = last
    cdef ptrdiff_t image, y, x0, pixels, i, j, iy, ix, span, depth = p.s.depth, lda = p.lda
    cdef const uint8_t *row
    cdef size_t r
    if sums != NULL:
        memset(sums, 0, (last - first) * sizeof(uint32_t))
    if depth & 3:
        memset(to, 0, (last - first) * p.lda)
    if g.plain and depth == lda and g.pixel == depth and sums == NULL:
        p.gather(1, (last - first) * depth, x + first * depth, 0, p.flip, to, 0, sums)
    elif g.plain:
        p.gather(last - first, depth, x + first * g.pixel, g.pixel, p.flip, to, p.lda, sums)
    else:
        span = g.filter_width if g.dilation_x == 1 and g.pixel == g.channels else 1
        while pixel < end:
            image = pixel // area
            y = (pixel - image * area) // g.out_width
            x0 = pixel - image * area - y * g.out_width
            pixels = min(end - pixel, g.out_width - x0)
            for i in range(g.filter_height):
                iy = y * g.stride_y - g.top + i * g.dilation_y
                row = NULL
                if 0 <= iy < g.height:
                    row = x + (image * g.height + iy) * g.width * g.pixel
                j = 0
                while j < g.filter_width:
                    ix = x0 * g.stride_x - g.left + j * g.dilation_x
                    r = pixel - first
                    gather_row_q8(p, row, ix, pixels, span, to + r * p.lda + (i * g.filter_width + j) * g.channels,
                                  sums + r if sums != NULL else NULL)
                    j += span
            pixel += pixels
    if sums != NULL:
        for r in range(last - first):
            sums[r] *= <uint32_t>-p.weight_zero_point


cdef void group_q8(const conv2d_q8 *p, const uint8_t *x, const unsigned char *w, uint8_t *y, unsigned char *scratch,
                   size_t item, size_t last) noexcept nogil:
    """(tile, panel) pairs item..last-1 of one group."""
    cdef const split *s = &p.s
    cdef uint32_t *offsets = <uint32_t *>scratch if p.weight_zero_point else NULL
    cdef uint8_t *rows = scratch + p.rows
    cdef size_t stop, block, base, count, panel, t, low, begin
    cdef nnf_conv2d_q8_tile tile
    tile.groups = p.groups
    tile.lda = p.g.pixel if p.direct else p.lda
    tile.ldc = s.n if p.place.scattered else p.place.out_pixel
    tile.zero_point = p.zero_point
    tile.lo = p.lo
    tile.hi = p.hi
    tile.flip = p.flip
    while item < last:
        block = item // (s.group * s.panels)
        base = block * s.group
        count = min(s.group, s.tiles - base)
        stop = min(last, (base + count) * s.panels)
        begin = tile_start(s, base)
        if not p.direct:
            gather_q8(p, x, begin, tile_start(s, base + count), rows, offsets)
        panel = (item - base * s.panels) // count
        t = base + item - base * s.panels - panel * count
        while item < stop:
            low = tile_start(s, t)
            tile.rows = tile_start(s, t + 1) - low
            tile.columns = min(s.n, s.columns - panel * s.n)
            tile.a = x + low * p.g.pixel if p.direct else rows + (low - begin) * p.lda
            tile.offset = <const int32_t *>offsets + (low - begin) if offsets != NULL else NULL
            tile.w = <const int32_t *>(w + panel * nnf_conv2d_q8_panel(s.n, p.groups))
            tile.c = scratch + p.tile if p.place.scattered else y + low * tile.ldc + panel * s.n
            p.kernel(&tile)
            if p.place.scattered:
                scatter(&p.place, p.g.out_height, p.g.out_width, low, low + tile.rows, tile.c, s.n,
                        y + panel * s.n, tile.columns, 1)
            item += 1
            t += 1
            if t == base + count:
                t = base
                panel += 1


cdef void run_q8(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const conv2d_q8 *p = <const conv2d_q8 *>step.params
    cdef const uint8_t *x = <const uint8_t *>run.slot[step.slots[0]]
    cdef const unsigned char *w = <const unsigned char *>run.slot[step.slots[1]]
    cdef uint8_t *y = <uint8_t *>run.slot[step.slots[2]] + p.place.out_first
    cdef unsigned char *scratch = run.scratch + thread * run.scratch_stride
    cdef size_t item, last, group, stop, each = p.s.tiles * p.s.panels
    nnf_share(p.place.groups * each, thread, threads, &item, &last)
    while item < last:
        group = item // each
        stop = min(last, (group + 1) * each)
        group_q8(p, x + group * p.place.group, w + group * p.weights, y + group * p.place.out_group, scratch,
                 item - group * each, stop - group * each)
        item = stop


cdef size_t groups_of(size_t depth):
    return (depth + 3) // 4


def pack_q8(weights, const int32_t[::1] bias, int weight_zero_point, int input_zero_point, bint signed_input,
            const int32_t[::1] multiplier, const int32_t[::1] exponent, size_t groups=1):
    """Weights [units, depth], uint8 or int8, packed with all that turns sums into output codes; uint8 array.

    bias, multiplier, exponent: int32 [units]; the zero points are those of the operands; groups as in pack_f32.
    """
    cdef const nnf_kernel *row = pick("conv2d_qu8_qs8c_nhwc")
    cdef bint signed_weights = weights.dtype == np.int8
    cdef const uint8_t[:, ::1] codes = weights.view(np.uint8)
    cdef size_t columns = codes.shape[0] // groups, depth = codes.shape[1], i
    cdef size_t each = lines(nnf_pack_conv2d_q8_size(columns, depth, row.n))
    cdef nnf_conv2d_q8_scheme scheme
    scheme.flip = 0 if signed_weights else 0x80
    scheme.weight_zero_point = weight_zero_point if signed_weights else weight_zero_point - 128
    scheme.input_zero_point = input_zero_point + 128 if signed_input else input_zero_point
    packed = aligned_bytes(groups * each)
    cdef unsigned char[::1] to = packed
    with nogil:
        for i in range(groups):
            scheme.bias = &bias[i * columns]
            scheme.multiplier = &multiplier[i * columns]
            scheme.exponent = &exponent[i * columns]
            nnf_pack_conv2d_q8(columns, depth, row.n, &codes[i * columns, 0], &scheme, &to[i * each])
    return packed


cdef class Conv2dQ8(Step):
    """y = requantize(conv(x, weights) + bias), 8-bit codes, NHWC; slots x, packed weights, y.

    window, batch, channels, units, place: as Conv2dF32. weights: (int8 or uint8, zero point). input_zero_point; output:
    (zero point, low, high) of the output's codes; signed: input and output are int8, else uint8.
    """

    cdef conv2d_q8 p

    def __init__(self, slots, window, size_t batch, size_t channels, size_t units, weights, int input_zero_point,
                 output, bint signed, place=None):
        cdef const nnf_kernel *row = pick("conv2d_qu8_qs8c_nhwc")
        cdef geometry *g = &self.p.g
        cdef int shift = 128 if signed else 0
        self.p.place = placement_of(place, channels, units, window.output[0], window.output[1])
        measure(g, window, channels, self.p.place.pixel)
        cdef size_t depth = g.filter_height * g.filter_width * channels, rows = batch * g.out_height * g.out_width
        dtype, zero_point = weights
        self.p.kernel = <nnf_conv2d_qu8_qs8c_nhwc_fn>row.fn
        self.p.gather = <nnf_conv2d_gather_qu8_nhwc_fn>pick("conv2d_gather_qu8_nhwc").fn
        self.p.groups = groups_of(depth)
        self.p.lda = 4 * self.p.groups
        self.p.weight_zero_point = zero_point if dtype == np.int8 else zero_point - 128
        self.p.input_zero_point = input_zero_point + shift
        self.p.zero_point, self.p.lo, self.p.hi = (value + shift for value in output)
        self.p.flip = 0x80 if signed else 0
        self.p.direct = g.plain and not signed and self.p.weight_zero_point == 0 and depth % 4 == 0
        self.p.weights = lines(nnf_pack_conv2d_q8_size(units, depth, row.n))
        self.packed = self.p.place.groups * self.p.weights
        plan_split(&self.p.s, rows, units, depth, row, self.p.weights, self.p.lda, NEAR)
        cdef size_t gathered = 0 if self.p.direct else self.p.s.group * self.p.s.m
        self.p.rows = lines(gathered * sizeof(uint32_t))
        self.p.tile = self.p.rows + lines(gathered * self.p.lda)
        self.scratch = self.p.tile + (self.p.s.m * self.p.s.n if self.p.place.scattered else 0)
        self.work = <double>self.p.place.groups * rows * units * depth
        self.tiles = <int>min(<double>(self.p.place.groups * self.p.s.tiles * self.p.s.panels), self.work / GRAIN + 1)
        self.bind(run_q8, &self.p, slots, row.name.decode())
