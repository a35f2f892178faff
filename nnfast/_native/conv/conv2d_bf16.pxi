"""Steps of CONV_2D and FULLY_CONNECTED with bfloat16 products, for clients that ask for that precision: the product of
conv2d.pxi over rows that are gathered and rounded. Inputs and outputs are float32; pointwise convolutions also read
bfloat16, where the step before has rounded (compiler/passes/bf16_activations.py): their rows lie in such an image as it
is.

Where a filter has several taps, an image is rounded once, with its padding, and the kernel reads the rows of the
product there, for gathering them takes long. Kernels of tall tiles do so if the channels of a pixel fill tile rows
(56x56x32, 3x3: 46 us instead of 75) or, with an even number of them to a pixel, the inputs of a filter row are no more
than a tile row holds: a filter row is then one tap (224x224x3, 7x7 with stride 2: 158 us instead of 358). Kernels of
low tiles take filter rows as taps whatever the channels, and tiles that end with the rows of the image (AVX-512 BF16,
the same two: 264 us instead of 307, and 592 instead of 725).
"""

from libc.stddef cimport ptrdiff_t
from libc.stdint cimport uint16_t
from libc.string cimport memset

from .engine cimport PART_PRODUCTS, Step
from .kernels cimport nnf_kernel, nnf_tuning, pick, release_tiles, tuning
from .threads cimport nnf_run, nnf_share, nnf_step, run_alone
from .window cimport axis_of

from math import prod

import numpy as np

from .engine import aligned_bytes

cdef extern from "conv2d/conv2d_bf16.h":
    ctypedef struct nnf_conv2d_bf16_tile:
        size_t rows
        size_t columns
        size_t taps
        size_t pairs
        const size_t *tap
        bint odd
        const uint16_t *a
        size_t lda
        size_t at
        size_t line
        size_t span
        const float *w
        float *c
        size_t ldc
        float lo
        float hi
        const char *prefetch
        size_t lines

    ctypedef void (*nnf_conv2d_bf16_nhwc_fn)(const nnf_conv2d_bf16_tile *tile) noexcept nogil
    ctypedef void (*nnf_conv2d_spread_bf16_nhwc_fn)(size_t pixels, size_t channels, const float *x, size_t pixel,
                                                    uint16_t *to) noexcept nogil

    size_t nnf_conv2d_bf16_steps(size_t rows, size_t panels, size_t taps, size_t pairs) nogil
    size_t nnf_conv2d_bf16_pairs(size_t depth, size_t k) nogil
    size_t nnf_conv2d_bf16_panel(size_t width, size_t pairs) nogil
    size_t nnf_pack_conv2d_bf16_size(size_t columns, size_t depth, size_t n, size_t k) nogil
    void nnf_pack_conv2d_bf16(size_t columns, size_t depth, size_t n, size_t k, const float *weights,
                              const float *bias, unsigned char *packed) nogil

cdef enum:
    TAPS = 64               # most taps of a filter that is not gathered
    BF16_NARROW = 14             # pixels of an output row below which tall tiles of one row are too low to pay
    LOW_NARROW = 7          # likewise low tiles
    BF16_BLOCK = 32              # rows that a kernel of tall tiles takes at once
    MOST_THREADS = 4        # so many find whole groups of tiles, if there are as many tiles
    FASTER = 8              # times that tiles multiply faster than other instructions
    TALLEST = 128           # rows of an image without gathering that are worth one tile
    MOST_LINES = 8          # cache lines of later weights that come in the time of a step of a tile, and no more
    MOST = 4                # one of so many rows of a tile may be dropped


cdef struct conv2d_bf16:
    nnf_conv2d_bf16_nhwc_fn kernel
    nnf_conv2d_gather_bf16_nhwc_fn gather
    nnf_conv2d_spread_bf16_nhwc_fn spread   # where pixels of the rounded image hold more than the channels, else NULL
    geometry g
    split s
    size_t pairs, lda           # of a row: 2 numbers each, those behind the depth zeros; numbers between rows
    size_t taps
    size_t tap[TAPS]            # where in the inputs of a row each tap begins
    bint odd                    # the last of a tap's pairs has one number
    bint rounded                # the inputs are bfloat16, and the rows of the product lie there
    bint direct                 # rows lie in an image that is rounded, with its padding; else they are gathered
    size_t pixel, wide          # numbers of a pixel and of a row of that image
    size_t slice                # output rows whose inputs are rounded at once
    size_t span                 # rows of the product for an output row: behind its pixels come those that none reads
    float lo, hi
    int next_weights, out              # which slots are the weights of a later step, if any, and the outputs
    size_t fetched              # bytes of those weights


def bf16_available():
    """Whether the level in force has instructions for such products."""
    return pick("conv2d_bf16_nhwc").isa > 0


cdef void round_image(const conv2d_bf16 *p, const float *x, ptrdiff_t first, ptrdiff_t last,
                      uint16_t *to) noexcept nogil:
    """Padded input rows that output rows first..last-1 read."""
    cdef const geometry *g = &p.g
    cdef ptrdiff_t iy = first * g.stride_y - g.top, item = sizeof(uint16_t)
    cdef ptrdiff_t end = (last - 1) * g.stride_y - g.top + (g.filter_height - 1) * g.dilation_y + 1
    cdef const float *row
    cdef size_t pixels, at
    for iy in range(iy, end):
        row = x + iy * g.width * g.channels
        at = pad_row(g, iy, p.pixel * item, p.wide * item, 0, <unsigned char *>to, &pixels) // item
        if pixels and p.spread == NULL:
            p.gather(1, pixels * p.pixel, row, 0, to + at, 0)
        elif pixels:
            p.spread(pixels, g.channels, row, p.pixel, to + at)
        to += p.wide


cdef void gather_bf16(const conv2d_bf16 *p, const void *x, size_t first, size_t last, uint16_t *rows) noexcept nogil:
    """Rows of the product for output pixels first..last-1."""
    cdef gathered_bf16 to
    cdef size_t r
    to.to, to.lda, to.copy = rows, p.lda, p.gather
    if p.s.depth < p.lda:
        for r in range(last - first):
            memset(rows + r * p.lda + p.s.depth, 0, (p.lda - p.s.depth) * sizeof(uint16_t))
    gather(&p.g, &to, x, first, last)


cdef void product(const conv2d_bf16 *p, const split *s, size_t origin, const void *x, const char *weights, float *y,
                  unsigned char *scratch, size_t item, size_t last, const char *prefetch, size_t bytes) noexcept nogil:
    """(tile, panel) pairs item..last-1 of the product that `s` cuts, whose first row is output pixel `origin`.

    Meanwhile, `bytes` bytes at `prefetch` go into the cache.
    """
    cdef uint16_t *rows = <uint16_t *>scratch
    cdef size_t panels, low, begin, row
    cdef size_t top = 0, done = 0, end = 0, width = p.g.out_width
    cdef size_t whole = nnf_conv2d_bf16_panel(s.n, p.taps * p.pairs)
    cdef size_t steps, fetched = (bytes + 63) // 64
    cdef nnf_conv2d_bf16_tile tile
    cdef walk w
    w.item, w.last = item, last
    tile.taps = p.taps
    tile.pairs = p.pairs
    tile.tap = <const size_t *>p.tap
    tile.odd = p.odd
    tile.lda = p.lda
    tile.ldc = s.columns
    tile.prefetch = prefetch
    tile.lines = 0
    if fetched and item < last:
        steps = nnf_conv2d_bf16_steps(s.height, last - item, p.taps, p.pairs)
        tile.lines = min((fetched + steps - 1) // steps, MOST_LINES)
    tile.at = 0
    tile.line = tile.span = s.m
    tile.lo = p.lo
    tile.hi = p.hi
    if p.direct and item < last:
        end = (origin + tile_start(s, (last - 1) // s.panels + 1) - 1) // p.span + 1
        tile.line, tile.span = width, p.span
    while next_group(s, &w):
        begin = origin + tile_start(s, w.base)
        if p.rounded:
            rows = <uint16_t *>x + begin * p.lda
        elif not p.direct:
            gather_bf16(p, x, begin, origin + tile_start(s, w.base + w.count), rows)
        while w.item < w.stop:
            low = origin + tile_start(s, w.tile)
            tile.rows = origin + tile_start(s, w.tile + 1) - low
            panels = panels_at_once(&w, True)
            tile.columns = min(panels * s.n, s.columns - w.panel * s.n)
            tile.w = <const float *>(weights + w.panel * whole)
            tile.c = y + w.panel * s.n
            if p.direct:
                row = low // p.span
                tile.at = low - row * p.span
                if (low + tile.rows - 1) // p.span >= done:
                    top = row
                    done = min(end, row + p.slice)
                    round_image(p, <const float *>x, top, done, rows)
                tile.a = rows + (row - top) * p.g.stride_y * p.wide + tile.at * p.lda
                tile.c += (row * width + min(tile.at, width)) * tile.ldc
            else:
                tile.a = rows + (low - begin) * p.lda
                tile.c += low * tile.ldc
            p.kernel(&tile)
            if tile.lines:
                steps = nnf_conv2d_bf16_steps(tile.rows, panels, p.taps, p.pairs)
                tile.prefetch += 64 * tile.lines * steps
                if tile.prefetch >= prefetch + bytes:
                    tile.lines = 0
            go_on(&w, panels)


cdef void run_bf16(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const conv2d_bf16 *p = <const conv2d_bf16 *>step.params
    cdef size_t item, last
    nnf_share(p.s.tiles * p.s.panels, thread, threads, &item, &last)
    product(p, &p.s, 0, run.slot[step.slots[0]], <const char *>run.slot[step.slots[1]],
            <float *>run.slot[step.slots[p.out]], run.scratch + thread * run.scratch_stride, item, last,
            <const char *>run.slot[step.slots[p.next_weights]], p.fetched)
    release_tiles()


cdef void band_bf16(const nnf_step *step, const nnf_run *run, const void *x, void *y, size_t first, size_t last,
                    unsigned char *scratch) noexcept nogil:
    cdef const conv2d_bf16 *p = <const conv2d_bf16 *>step.params
    cdef split s = p.s
    cdef size_t before = p.fetched * first // p.g.out_height, after = p.fetched * last // p.g.out_height
    cut(&s, (last - first - 1) * p.span + p.g.out_width)
    product(p, &s, first * p.span, x, <const char *>run.slot[step.slots[1]], <float *>y, scratch,
            0, s.tiles * s.panels, <const char *>run.slot[step.slots[p.next_weights]] + before, after - before)
    release_tiles()


def pack_conv2d_bf16(const float[:, ::1] weights, const float[::1] bias, window, size_t batch, int threads=1):
    """Weights [units, depth] in bfloat16 and bias [units], packed for the kernel that a step of such a window made now
    will run; uint8 array. threads: how many may share the work."""
    cdef const nnf_kernel *row = pick("conv2d_bf16_nhwc")
    cdef size_t taps = window.filter[0] * window.filter[1], channels = weights.shape[1] // taps
    cdef size_t pixel = spread_pixel(window, batch, channels), line = filter_line(window, batch, channels)
    cdef size_t each = channels if pixel else window.filter[1] * channels
    cdef packing p
    if pixel or line > each:
        whole = np.zeros((weights.shape[0], weights.shape[1] // each, pixel or line), np.float32)
        whole[:, :, :each] = np.asarray(weights).reshape(len(whole), -1, each)
        weights = whole.reshape(len(whole), -1)
    p.columns, p.depth, p.groups, p.n = weights.shape[0], weights.shape[1], 1, row.n
    p.ld, p.matrix = p.depth, p.columns * p.depth
    p.form, p.k = PACKED_BF16, 2 if pixel or line else row.k
    p.panel = nnf_conv2d_bf16_panel(p.n, nnf_conv2d_bf16_pairs(p.depth, p.k))
    p.packed = p.each = nnf_pack_conv2d_bf16_size(p.columns, p.depth, p.n, p.k)
    packed = aligned_bytes(p.each)
    cdef unsigned char[::1] to = packed
    p.weights, p.bias, p.to = &weights[0, 0], &bias[0], &to[0]
    run_alone(run_packing, &p, min(threads, <int>(p.each // PACKING_GRAIN) + 1))
    return packed


def packed_bytes_bf16(window, size_t batch, size_t channels, size_t units):
    """Size of what pack_conv2d_bf16 returns."""
    cdef const nnf_kernel *row = pick("conv2d_bf16_nhwc")
    cdef size_t pixel = spread_pixel(window, batch, channels), line = filter_line(window, batch, channels)
    cdef size_t each = line or window.filter[1] * (pixel or channels)
    return nnf_pack_conv2d_bf16_size(units, window.filter[0] * each, row.n, 2 if pixel or line else row.k)


cdef size_t filter_line(window, size_t batch, size_t channels) except? 0:
    """Numbers of a filter row, in whole pairs, where filter rows are taps in an image that is rounded as it is, for
    kernels of low tiles; else 0."""
    cdef const nnf_kernel *row = pick("conv2d_bf16_nhwc")
    if row.m >= BF16_BLOCK or row.k != 2 or batch != 1 or window.dilation[1] != 1 or prod(window.filter) == 1 \
            or window.filter[0] > TAPS or window.output[1] < LOW_NARROW:
        return 0
    return (window.filter[1] * channels + 1) // 2 * 2


cdef size_t spread_pixel(window, size_t batch, size_t channels) except? 0:
    """Numbers of a pixel in a rounded image whose filter rows are taps, less than a tile row each; 0 where there is
    no such image."""
    cdef const nnf_kernel *row = pick("conv2d_bf16_nhwc")
    cdef size_t pixel = channels + channels % 2
    if row.m < BF16_BLOCK or batch != 1 or window.dilation[1] != 1 or window.filter[1] == 1 or window.filter[0] > TAPS \
            or window.filter[1] * pixel > row.k or not part_of(window.output[1]):
        return 0
    return pixel


def bf16_suits(window, size_t channels, size_t units):
    """Whether products in bfloat16 are there and worth their error: not with windows so small that gathering them is
    most of the time."""
    return bf16_available() and not (prod(window.filter) * channels <= 32 and line_suits(window, channels, units))


cdef class Conv2dBf16(Step):
    """y = clamp(conv(x, weights) + bias, lo, hi), NHWC; slots x (float32), packed weights (bfloat16), y (float32).

    window, batch, channels, units: as Conv2dF32. prefetch_bytes: of a later step's weights that this one fetches into
    the cache while it runs; those are then the third slot, before y. rounded: x is bfloat16, `pixel` numbers to a
    pixel, the channels first, zeros behind them.
    """

    multiplies_bf16 = True

    cdef conv2d_bf16 p
    cdef readonly size_t pixel      # numbers of a pixel of a bfloat16 image that it can read; 0: it reads none
    cdef readonly size_t prefetch   # most bytes of a later step's weights that it should fetch

    def __init__(self, slots, window, size_t batch, size_t channels, size_t units, float lo, float hi,
                 size_t prefetch_bytes=0, bint rounded=False):
        cdef const nnf_kernel *row = pick("conv2d_bf16_nhwc")
        cdef const nnf_tuning *sizes = tuning()
        cdef geometry *g = &self.p.g
        measure(g, window, channels, channels)
        cdef size_t depth = g.filter_height * g.filter_width * channels, rows = batch * g.out_height * g.out_width
        cdef size_t blocks
        cdef double cost
        self.p.kernel = <nnf_conv2d_bf16_nhwc_fn>row.fn
        self.p.gather = <nnf_conv2d_gather_bf16_nhwc_fn>pick("conv2d_gather_bf16_nhwc").fn
        self.p.pairs = nnf_conv2d_bf16_pairs(depth, row.k)
        self.p.lda = row_pitch(4 * self.p.pairs, row.m >= BF16_BLOCK) // sizeof(uint16_t)
        self.p.next_weights, self.p.out, self.p.fetched = len(slots) - 2, len(slots) - 1, prefetch_bytes
        self.p.lo = lo
        self.p.hi = hi
        cdef size_t pixel = spread_pixel(window, batch, channels), line = filter_line(window, batch, channels)
        self.packed = packed_bytes_bf16(window, batch, channels, units)
        cdef size_t row_bytes = self.p.lda * sizeof(uint16_t)
        cdef nnf_kernel shape = row[0]
        if shape.m > BF16_BLOCK:
            blocks = max(1, sizes.bf16_tall // row_bytes // BF16_BLOCK)
            if rows >= 4 * BF16_BLOCK or self.packed <= 2 * sizes.bf16_nearest:
                # Two tiles even of a small image, so that two threads share rows, and find most of them where they
                # wrote them: 8x8x128 to 128 takes both together 2.7 us, and 5.3 where they share panels. Few rows are
                # not worth reading many weights twice.
                blocks = max(1, min(blocks, (rows + 2 * BF16_BLOCK - 1) // (2 * BF16_BLOCK)))
            shape.m = min(shape.m, blocks * BF16_BLOCK)
        self.p.taps = 1
        self.p.tap[0] = 0
        self.p.span = g.out_width
        self.scratch = self.by_row(pixel or channels, sizes.conv_rows // 2 if line else sizes.bf16_slice) \
            if pixel or line else self.in_place(row, batch)
        self.pixel = self.p.lda if g.plain else 0
        self.prefetch = sizes.bf16_prefetch
        if rounded and not self.pixel:
            raise ValueError("rounded is set, must not be: the rows of this product do not lie in the image")
        self.p.rounded = rounded
        cdef size_t panel = nnf_conv2d_bf16_panel(row.n, self.p.taps * self.p.pairs), near
        if self.p.span > <size_t>g.out_width or self.p.direct and not line and not part_of(g.out_width):
            # Tiles run on through the image.
            rows = (g.out_height - 1) * self.p.span + g.out_width
            # Blocks of rows follow each other under one panel where it is small, or all panels are too many to stay.
            shape.m = BF16_BLOCK if panel > sizes.bf16_nearest and self.packed <= sizes.bf16_nearer else 3 * BF16_BLOCK
        elif self.p.direct and not line:
            shape.m = part_of(g.out_width)
        # Panels that do not stay in the level 1 cache stream past the rows of one tile, which do.
        near = 0 if self.p.direct or self.p.rounded or panel > sizes.bf16_nearest else sizes.bf16_near
        plan_split(&self.p.s, rows, units, depth, &shape, self.packed, row_bytes, near,
                   g.out_width if line else 0)
        if self.packed <= sizes.conv_weights:
            # Likewise: a group is shared by its panels.
            self.p.s.group = max(1, min(self.p.s.group, self.p.s.tiles // MOST_THREADS))
        if self.p.direct:
            self.p.s.group = 1
        elif not self.p.rounded:
            self.scratch = lines(self.p.s.group * self.p.s.m * row_bytes)
        self.work = <double>batch * g.out_height * g.out_width * units * depth
        # Weights that meet few rows take as long as if those were a block.
        cost = self.work if row.m < BF16_BLOCK else self.work * max(rows, BF16_BLOCK) / max(rows, 1) / FASTER
        self.tiles = <int>min(<double>(self.p.s.tiles * self.p.s.panels), cost / CONV_GRAIN + 1)
        self.part = PART_PRODUCTS
        self.bind(run_bf16, &self.p, slots, row.name.decode())
        if batch == 1:
            self.bands(band_bf16, axis_of(window, 0),
                       g.width * (sizeof(uint16_t) * self.pixel if rounded else sizeof(float) * channels),
                       sizeof(float) * g.out_width * units)

    cdef size_t in_place(self, const nnf_kernel *row, size_t batch):
        """Whether rows of the product are read where they lie in a rounded image: its bytes then, else 0.

        Without strides, the last pixels of a row and the first of the next are neighbours but for the padding: tiles
        run on through the image, and what they make of windows that begin in it is dropped.
        """
        cdef conv2d_bf16 *p = &self.p
        cdef geometry *g = &p.g
        cdef size_t taps = g.filter_height * g.filter_width, i
        cdef size_t width = (g.out_width - 1) * g.stride_x + (g.filter_width - 1) * g.dilation_x + 1
        cdef size_t wide = width * g.channels, size = self.rows_read(g.out_height) * wide * sizeof(uint16_t)
        cdef bint on = g.stride_y == g.stride_x == 1 and MOST * (width - g.out_width) <= width
        if row.m < BF16_BLOCK or g.channels % row.k or not 1 < taps <= TAPS or batch > 1 or size > tuning().conv_rows \
                or not (on or part_of(g.out_width)):
            return 0
        if on:
            p.span = width
        p.direct, p.slice = True, g.out_height
        p.pixel, p.wide, p.taps = g.channels, wide, taps
        p.pairs, p.lda = g.channels // 2, g.stride_x * g.channels
        for i in range(taps):
            p.tap[i] = i // g.filter_width * g.dilation_y * wide + i % g.filter_width * g.dilation_x * g.channels
        return lines(size)

    cdef size_t by_row(self, size_t pixel, size_t most):
        """Read rows of the product in an image of such pixels, a filter row at a time; bytes of a slice of it, no more
        than `most` if that is two rows of outputs or more."""
        cdef conv2d_bf16 *p = &self.p
        cdef geometry *g = &p.g
        cdef size_t wide = pixel * ((g.out_width - 1) * g.stride_x + g.filter_width), row = wide * sizeof(uint16_t), i
        p.direct, p.slice = True, 1
        if pixel > <size_t>g.channels:
            p.spread = <nnf_conv2d_spread_bf16_nhwc_fn>pick("conv2d_spread_bf16_nhwc").fn
        p.pixel, p.wide, p.taps = pixel, wide, g.filter_height
        p.pairs, p.lda = (g.filter_width * pixel + 1) // 2, g.stride_x * pixel
        p.odd = g.filter_width * pixel % 2
        for i in range(p.taps):
            p.tap[i] = i * g.dilation_y * wide
        while p.slice < <size_t>g.out_height and self.rows_read(p.slice + 1) * row <= most:
            p.slice += 1
        return lines(self.rows_read(p.slice) * row)

    cdef size_t rows_read(self, size_t rows):
        """Input rows under so many neighbouring output rows."""
        return (rows - 1) * self.p.g.stride_y + (self.p.g.filter_height - 1) * self.p.g.dilation_y + 1


cdef size_t part_of(size_t width):
    """The longest equal parts of an output row that are tiles of good height; 0 where there are none."""
    cdef size_t parts = (width + TALLEST - 1) // TALLEST
    while width // parts >= BF16_NARROW:
        if width % parts == 0:
            return width // parts
        parts += 1
    return 0
