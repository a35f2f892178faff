"""CONV_2D in 8-bit codes for kernels that read tiles of pixels from the image, so that nobody gathers rows of codes.

A thread copies the input rows of a band of output rows between the codes of their padding. Where a filter row is too
short to fill a block of 64 codes, those of several input rows are stacked beside each other once for all windows over
them.
"""

from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int32_t, uint8_t, uint32_t
from libc.string cimport memcpy, memset

from .conv2d cimport nnf_pack_conv2d_q8_size
from .conv2d_window cimport GRAIN, geometry, lines, measure
from .kernels cimport nnf_kernel, pick, release_tiles
from .plan cimport Step
from .threads cimport nnf_run, nnf_step
from .window cimport portion, portion_of

import numpy as np

cdef extern from "conv2d/conv2d.h":
    enum:
        NNF_CONV2D_Q8_BLOCK

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

    ctypedef struct nnf_conv2d_q8_lines:
        nnf_conv2d_q8_tile tile
        size_t lines
        size_t line
        const uint32_t *at

    ctypedef void (*nnf_conv2d_lines_q8_nhwc_fn)(const nnf_conv2d_q8_lines *lines) noexcept nogil
    ctypedef void (*nnf_conv2d_stack_qu8_nhwc_fn)(size_t pixels, size_t slot, size_t count, const uint8_t *const *x,
                                                  size_t step, uint8_t *to) noexcept nogil

    size_t nnf_conv2d_q8_panel(size_t width, size_t groups) nogil

cdef enum:
    BLOCK = NNF_CONV2D_Q8_BLOCK
    SLOTS = 4               # most input rows in a block
    NEAR = 1 << 15          # bytes of copied rows that leave room in the level 1 cache
    STACKED = 1 << 17       # bytes of stacked rows: beside all else in a level 2 cache
    NARROW = 12             # output pixels of a row that fill tiles well enough


class Blocks:
    """How the filter of a window lies in blocks of 64 codes, for `channels` input channels.

    span: filter columns that one read takes; count: its blocks. slot: 0, or the codes in which a stacked filter row
    lies, `stack` of them in a block.
    """

    def __init__(self, window, channels):
        columns = window.filter[1] if window.dilation[1] == 1 else 1
        taps = window.filter[0] * window.filter[1] // columns
        self.span, self.slot, self.stack, row = columns, 0, 1, columns * channels
        per_row = -(-row // BLOCK)
        self.count, self.row = taps * per_row, row
        if row <= BLOCK // 2 and window.dilation == (1, 1):
            slot, rows, stride = 16 if row <= 16 else 32, window.filter[0], window.stride[0]
            # All rows in one block, or as many as the next window lies further, so that windows share blocks.
            for stack in range(min(rows, BLOCK // slot), 1, -1):
                if stack >= rows or stack % stride == 0:
                    self.slot, self.stack, self.count = slot, stack, -(-rows // stack)
                    break
        self.depth = self.count * BLOCK

    def spread(self, weights, fill):
        """Matrix [units, taps * channels] of codes as the blocks lie: [units, depth], `fill` where there is no tap."""
        units = weights.shape[0]
        if self.slot == 0:
            rows = self.count * BLOCK // -(-self.row // BLOCK) // BLOCK
            return self._filled(weights.reshape(units, rows, self.row), (rows, self.depth // rows), fill)
        rows = weights.shape[1] // self.row
        stacked = self._filled(weights.reshape(units, rows, self.row), (self.count * self.stack, self.slot), fill)
        return self._filled(stacked.reshape(units, self.count, -1), (self.count, BLOCK), fill)

    def _filled(self, codes, shape, fill):
        made = np.full((codes.shape[0], *shape), fill, codes.dtype)
        made[:, :codes.shape[1], :codes.shape[2]] = codes
        return made.reshape(codes.shape[0], -1)


def suits(window, channels, bint signed):
    """Whether the step below takes such a convolution, and takes it well, at the level in force."""
    cdef const nnf_kernel *row = pick(_op(signed))
    if row.k != BLOCK or window.output[1] < NARROW or window.filter == (1, 1):
        return False
    blocks = Blocks(window, channels)
    return blocks.slot > 0 or blocks.depth <= 2 * window.filter[0] * window.filter[1] * channels


def _op(bint signed):
    return "conv2d_lines_qs8_qs8c_nhwc" if signed else "conv2d_lines_qu8_qs8c_nhwc"


cdef struct conv2d_lines_q8:
    nnf_conv2d_lines_q8_nhwc_fn kernel
    nnf_conv2d_stack_qu8_nhwc_fn stack      # or NULL
    geometry g
    size_t batch, units, n, panels, panel   # panel: bytes of one
    size_t height                           # most output rows of a band
    ptrdiff_t pitch                         # bytes from one copied row to the next
    size_t slot, rows                       # of a block: codes of a filter row, filter rows
    size_t ahead                            # rows of blocks that a window reaches beyond its first one
    size_t blocks                           # where in the scratch the stacked blocks begin
    uint8_t fill
    nnf_conv2d_q8_lines lines


cdef void copy_rows(const conv2d_lines_q8 *p, const uint8_t *x, ptrdiff_t row, ptrdiff_t count,
                    uint8_t *to) noexcept nogil:
    """Input rows row..row+count-1 of an image with their padding."""
    cdef const geometry *g = &p.g
    cdef ptrdiff_t head = min(g.left * g.channels, p.pitch), width = min(g.width * g.channels, p.pitch - head)
    for row in range(row, row + count):
        if row < 0 or row >= g.height:
            memset(to, p.fill, p.pitch)
        else:
            memset(to, p.fill, head)
            memcpy(to + head, x + row * g.width * g.channels, width)
            memset(to + head + width, p.fill, p.pitch - head - width)
        to += p.pitch


cdef void stack_rows(const conv2d_lines_q8 *p, const uint8_t *rows, size_t count, size_t copied,
                     uint8_t *to) noexcept nogil:
    """`count` rows of blocks from so many copied rows; behind the last of those no tap is left."""
    cdef const uint8_t *x[4]
    cdef size_t t, r, first
    for t in range(count):
        first = t * p.g.stride_y
        for r in range(min(p.rows, copied - first)):
            x[r] = rows + (first + r) * p.pitch
        p.stack(p.g.out_width, p.slot, min(p.rows, copied - first), x, p.g.stride_x * p.g.channels,
                to + t * p.lines.line)


cdef void run_lines_q8(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const conv2d_lines_q8 *p = <const conv2d_lines_q8 *>step.params
    cdef const geometry *g = &p.g
    cdef const uint8_t *x = <const uint8_t *>run.slot[step.slots[0]]
    cdef const unsigned char *w = <const unsigned char *>run.slot[step.slots[1]]
    cdef uint8_t *y = <uint8_t *>run.slot[step.slots[2]]
    cdef uint8_t *scratch = run.scratch + thread * run.scratch_stride
    cdef nnf_conv2d_q8_lines job = p.lines
    cdef portion s = portion_of(p.batch * g.out_height, p.panels, thread, threads)
    cdef size_t row = s.first, height = g.out_height, image, first, left, copied, panel
    job.tile.a = scratch + p.blocks
    while row < s.last and s.begin < s.end:
        image = row // height
        first = row - image * height
        left = min(height - first, s.last - row)
        job.lines = (left + p.height - 1) // p.height         # bands of about equal height
        job.lines = (left + job.lines - 1) // job.lines
        copied = (job.lines - 1) * g.stride_y + (g.filter_height - 1) * g.dilation_y + 1
        copy_rows(p, x + image * g.height * g.width * g.channels, <ptrdiff_t>first * g.stride_y - g.top, copied,
                  scratch)
        if p.stack != NULL:
            stack_rows(p, scratch, job.lines + p.ahead, copied, scratch + p.blocks)
        for panel in range(s.begin, s.end):
            job.tile.columns = min(p.n, p.units - panel * p.n)
            job.tile.w = <const int32_t *>(w + panel * p.panel)
            job.tile.c = y + row * g.out_width * p.units + panel * p.n
            p.kernel(&job)
        row += job.lines
    release_tiles()


cdef class Conv2dLinesQ8(Step):
    """y = requantize(conv(x, weights) + bias), 8-bit codes, NHWC; slots x, packed weights, y.

    window, batch, channels, units, input_zero_point, output, signed: as Conv2dQ8. The weights have zero point 0 and
    were spread by the Blocks of the window before pack_q8. suits() says which windows it takes.
    """

    cdef conv2d_lines_q8 p

    def __init__(self, slots, window, size_t batch, size_t channels, size_t units, int input_zero_point, output,
                 bint signed):
        cdef const nnf_kernel *row = pick(_op(signed))
        cdef geometry *g = &self.p.g
        cdef nnf_conv2d_q8_tile *tile = &self.p.lines.tile
        cdef int shift = 128 if signed else 0
        cdef size_t taps, reach, i, j, b, per_row, extra
        blocks = Blocks(window, channels)
        measure(g, window, channels, channels)
        self.p.kernel = <nnf_conv2d_lines_q8_nhwc_fn>row.fn
        self.p.batch, self.p.units, self.p.n = batch, units, row.n
        self.p.panels = (units + row.n - 1) // row.n
        self.p.fill = <uint8_t>(input_zero_point & 0xFF)
        tile.rows, tile.groups, tile.ldc = g.out_width, blocks.count * BLOCK // 4, units
        tile.zero_point, tile.lo, tile.hi = (value + shift for value in output)
        tile.flip = 0x80 if signed else 0
        self.p.panel = nnf_conv2d_q8_panel(row.n, tile.groups)
        self.packed = lines(nnf_pack_conv2d_q8_size(units, blocks.depth, row.n, row.k))
        per_row = blocks.count // (g.filter_height * g.filter_width // blocks.span) if blocks.slot == 0 else 0
        reach = blocks.slot or (g.filter_width // blocks.span - 1) * g.dilation_x * channels + per_row * BLOCK
        self.p.pitch = lines((g.out_width - 1) * g.stride_x * channels + reach)
        self.keep = np.zeros(blocks.count, np.uint32)
        cdef uint32_t[::1] at = self.keep
        self.p.lines.at = &at[0]
        extra = (g.filter_height - 1) * g.dilation_y
        if blocks.slot:
            self.p.stack = <nnf_conv2d_stack_qu8_nhwc_fn>pick("conv2d_stack_qu8_nhwc").fn
            self.p.slot, self.p.rows = blocks.slot, blocks.stack
            self.p.ahead = (blocks.count - 1) * blocks.stack // g.stride_y
            self.p.lines.line = g.out_width * BLOCK
            tile.lda = BLOCK
            for i in range(blocks.count):
                at[i] = i * blocks.stack // g.stride_y * self.p.lines.line
            self.p.height = max(1, STACKED // self.p.lines.line - min(self.p.ahead, STACKED // self.p.lines.line))
        else:
            self.p.lines.line = g.stride_y * self.p.pitch
            tile.lda = g.stride_x * channels
            for i in range(blocks.count):
                j = i // per_row
                taps = g.filter_width // blocks.span
                at[i] = j // taps * g.dilation_y * self.p.pitch + j % taps * g.dilation_x * channels \
                    + i % per_row * BLOCK
            b = NEAR // self.p.pitch
            self.p.height = max(1, (b - min(extra + 1, b)) // g.stride_y + 1)
        self.p.height = min(self.p.height, g.out_height)
        b = (self.p.height - 1) * g.stride_y + extra + 1
        self.p.blocks = b * self.p.pitch if blocks.slot else 0
        self.scratch = self.p.blocks + (self.p.height + self.p.ahead) * self.p.lines.line if blocks.slot \
            else b * self.p.pitch
        self.work = <double>batch * g.out_height * g.out_width * units * g.filter_height * g.filter_width * channels
        self.tiles = <int>min(<double>max(batch * g.out_height, self.p.panels), self.work / GRAIN + 1)
        self.bind(run_lines_q8, &self.p, slots, row.name.decode())
