"""CONV_2D in 8-bit codes for kernels that read tiles of pixels from the image, so that nobody gathers rows of codes.

A thread copies the input rows of a band of output rows between the codes of their padding. A block of 64 codes that
reaches beyond a filter row reads what follows there, and has zeros for weights.
"""

from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int32_t, uint8_t, uint32_t
from libc.string cimport memcpy

from .engine cimport PART_PRODUCTS, Step
from .kernels cimport nnf_kernel, pick, release_tiles, tuning
from .threads cimport nnf_run, nnf_step
from .window cimport axis_of, nnf_axis, portion, portion_of

import numpy as np

cdef extern from "conv2d/conv2d.h":
    ctypedef struct nnf_conv2d_q8_lines:
        nnf_conv2d_q8_tile tile
        size_t lines
        size_t line
        const uint32_t *at

    ctypedef void (*nnf_conv2d_lines_q8_nhwc_fn)(const nnf_conv2d_q8_lines *lines) noexcept nogil

cdef enum:
    LINES_BLOCK = NNF_CONV2D_Q8_BLOCK
    LINES_NARROW = 12             # output pixels of a row that fill tiles well enough
    LINES_MOST = 1 << 24          # bytes of copied rows that one window may need: a dilation can be any number


class LinesBlocks:
    """How the filter of a window lies in blocks of 64 codes, for `channels` input channels.

    row: codes that one read takes, all columns of a filter row where they lie side by side; rows: such reads of a
    window; per_row: blocks of a read; depth: codes of all blocks.
    """

    def __init__(self, window, channels):
        self.span = window.filter[1] if window.dilation[1] == 1 else 1
        self.row = self.span * channels
        self.rows = window.filter[0] * window.filter[1] // self.span
        self.per_row = -(-self.row // LINES_BLOCK)
        self.depth = self.rows * self.per_row * LINES_BLOCK
        across = (window.output[1] - 1) * window.stride[1] + (window.filter[1] // self.span - 1) * window.dilation[1]
        self.pitch = (-(-across * channels // LINES_BLOCK) + self.per_row) * LINES_BLOCK
        self.reach = (window.filter[0] - 1) * window.dilation[0] + 1

    def spread(self, weights, fill):
        """Matrix [units, taps * channels] of codes as the blocks lie: [units, depth], `fill` where there is no tap."""
        made = np.full((weights.shape[0], self.rows, self.per_row * LINES_BLOCK), fill, weights.dtype)
        made[:, :, :self.row] = weights.reshape(-1, self.rows, self.row)
        return made.reshape(-1, self.depth)


def lines_q8_suits(window, channels, bint signed):
    """Whether the step below takes such a convolution, and takes it well, at the level in force."""
    cdef const nnf_kernel *row = pick(_lines_op(signed))
    if row.k != LINES_BLOCK or window.output[1] < LINES_NARROW or window.filter == (1, 1):
        return False
    # Gathered rows lie in fewer blocks; so many more to go through cost less than the gathering.
    gathered = -(-window.filter[0] * window.filter[1] * channels // LINES_BLOCK)
    blocks = LinesBlocks(window, channels)
    return blocks.depth <= (2 * gathered + 4) * LINES_BLOCK and blocks.reach * blocks.pitch <= LINES_MOST


def _lines_op(bint signed):
    return "conv2d_lines_qs8_qs8c_nhwc" if signed else "conv2d_lines_qu8_qs8c_nhwc"


cdef struct conv2d_lines_q8:
    nnf_conv2d_lines_q8_nhwc_fn kernel
    geometry g
    nnf_axis rows
    size_t batch, units, n, panels, panel   # panel: bytes of one
    size_t height                           # most output rows of a band
    ptrdiff_t pitch                         # bytes from one copied row to the next
    uint8_t fill
    bint wide                               # the kernel takes several panels at once
    nnf_conv2d_q8_lines lines


cdef void copy_rows(const conv2d_lines_q8 *p, const uint8_t *x, ptrdiff_t row, ptrdiff_t count,
                    uint8_t *to) noexcept nogil:
    """Input rows row..row+count-1 of an image with their padding."""
    cdef const geometry *g = &p.g
    cdef size_t pixels, at
    for row in range(row, row + count):
        at = pad_row(g, row, g.channels, p.pitch, p.fill, to, &pixels)
        if pixels:
            memcpy(to + at, x + row * g.width * g.channels, pixels * g.channels)
        to += p.pitch


cdef void run_lines_q8(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const conv2d_lines_q8 *p = <const conv2d_lines_q8 *>step.params
    cdef const geometry *g = &p.g
    cdef const uint8_t *x = <const uint8_t *>run.slot[step.slots[0]]
    cdef const unsigned char *w = <const unsigned char *>run.slot[step.slots[1]]
    cdef uint8_t *y = <uint8_t *>run.slot[step.slots[2]]
    cdef uint8_t *scratch = run.scratch + thread * run.scratch_stride
    cdef nnf_conv2d_q8_lines job = p.lines
    cdef portion s = portion_of(step, &p.rows, p.batch, p.panels, thread, threads)
    cdef size_t row = s.first, height = g.out_height, image, first, left, copied, panel
    cdef size_t panels = s.end - s.begin if p.wide else 1
    job.tile.a = scratch
    while row < s.last and s.begin < s.end:
        image = row // height
        first = row - image * height
        left = min(height - first, s.last - row)
        job.lines = (left + p.height - 1) // p.height         # bands of about equal height
        job.lines = (left + job.lines - 1) // job.lines
        copied = (job.lines - 1) * g.stride_y + (g.filter_height - 1) * g.dilation_y + 1
        copy_rows(p, x + image * g.height * g.width * g.channels, <ptrdiff_t>first * g.stride_y - g.top, copied,
                  scratch)
        panel = s.begin
        while panel < s.end:
            job.tile.columns = min((panel + panels) * p.n, p.units) - panel * p.n
            job.tile.w = <const int32_t *>(w + panel * p.panel)
            job.tile.c = y + row * g.out_width * p.units + panel * p.n
            p.kernel(&job)
            panel += panels
        row += job.lines
    release_tiles()


cdef class Conv2dLinesQ8(Step):
    """y = requantize(conv(x, weights) + bias), 8-bit codes, NHWC; slots x, packed weights, y.

    window, batch, channels, units, input_zero_point, output, signed: as Conv2dQ8. The weights have zero point 0 and
    were spread by the LinesBlocks of the window before pack_q8. lines_q8_suits() says which windows it takes.
    """

    cdef conv2d_lines_q8 p

    def __init__(self, slots, window, size_t batch, size_t channels, size_t units, int input_zero_point, output,
                 bint signed):
        cdef const nnf_kernel *row = pick(_lines_op(signed))
        cdef geometry *g = &self.p.g
        cdef nnf_conv2d_q8_tile *tile = &self.p.lines.tile
        cdef int shift = 128 if signed else 0
        cdef size_t per_row, across, i, j, extra, fit
        blocks = LinesBlocks(window, channels)
        measure(g, window, channels, channels)
        self.p.rows = axis_of(window, 0)
        self.p.kernel = <nnf_conv2d_lines_q8_nhwc_fn>row.fn
        self.p.batch, self.p.units, self.p.n = batch, units, row.n
        self.p.panels = (units + row.n - 1) // row.n
        self.p.wide = row.k == LINES_BLOCK
        self.p.fill = <uint8_t>(input_zero_point & 0xFF)
        per_row, across = blocks.per_row, g.filter_width // blocks.span
        tile.rows, tile.groups, tile.ldc = g.out_width, blocks.depth // 4, units
        tile.lda = g.stride_x * channels
        tile.zero_point, tile.lo, tile.hi = (value + shift for value in output)
        tile.flip = 0x80 if signed else 0
        self.p.panel = nnf_conv2d_q8_panel(row.n, tile.groups)
        self.packed = lines(nnf_pack_conv2d_q8_size(units, blocks.depth, row.n, row.k))
        self.p.pitch = blocks.pitch
        self.p.lines.line = g.stride_y * self.p.pitch
        self.keep = np.zeros(blocks.depth // LINES_BLOCK, np.uint32)
        cdef uint32_t[::1] at = self.keep
        self.p.lines.at = &at[0]
        for i in range(blocks.depth // LINES_BLOCK):
            j = i // per_row
            at[i] = j // across * g.dilation_y * self.p.pitch + j % across * g.dilation_x * channels \
                + i % per_row * LINES_BLOCK
        # Rows of a window beyond its first one, and bands of as many output rows as fit beside them.
        extra, fit = blocks.reach - 1, tuning().lines_near // self.p.pitch
        self.p.height = min(<size_t>g.out_height, (fit - extra - 1) // g.stride_y + 1 if fit > extra else 1)
        self.scratch = ((self.p.height - 1) * g.stride_y + extra + 1) * self.p.pitch
        self.work = <double>batch * g.out_height * g.out_width * units * g.filter_height * g.filter_width * channels
        self.tiles = <int>min(<double>max(batch * g.out_height, self.p.panels), self.work / CONV_GRAIN + 1)
        self.part = PART_PRODUCTS
        self.even(batch * g.out_height, False)
        self.bind(run_lines_q8, &self.p, slots, row.name.decode())
