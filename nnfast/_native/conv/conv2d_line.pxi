"""Step of a float32 CONV_2D of an image with few channels, output row by output row (csrc/kernels/conv2d/conv2d.h).

The windows of an output row lie evenly in each input row, and a filter row is one run of columns times channels: the
kernel needs one address for each; a 1x1 filter has one for a whole row. Where windows cross the left or right border,
they are copied with their padding, or the whole input rows are, if that is less.
"""

from libc.stddef cimport ptrdiff_t
from libc.string cimport memcpy, memset

from .engine cimport PART_PRODUCTS, Step
from .kernels cimport nnf_kernel, pick
from .threads cimport nnf_run, nnf_share, nnf_step
from .window cimport axis_of, nnf_axis

cdef extern from "nnf/window.h":
    void nnf_axis_full(const nnf_axis *a, size_t *first, size_t *last) noexcept nogil

cdef extern from "conv2d/conv2d.h":
    ctypedef struct nnf_conv2d_f32_line:
        size_t rows
        size_t columns
        size_t taps
        size_t depth
        const float *const *a
        size_t step
        const float *w
        float *c
        size_t ldc
        float lo
        float hi

    ctypedef void (*nnf_conv2d_line_f32_nhwc_fn)(const nnf_conv2d_f32_line *line) noexcept nogil

cdef enum:
    LINE_NARROW = 12     # outputs of a row below which tiles over several rows are better
    LINE_UNITS = 32      # of 1x1 filters, beyond which tiles are better: then their addresses are the least of the work
    LINE_COPIES = 8192   # floats of all input rows with padding, at most


cdef struct conv2d_line:
    nnf_conv2d_line_f32_nhwc_fn kernel
    nnf_axis y, x
    size_t batch, channels, units, n
    size_t depth                # of a filter row: columns times channels
    size_t inner, outer         # outputs of a row whose windows are whole
    size_t length               # of an input row with its padding, which is copied; 0: windows are, one by one
    size_t copies               # offset of the copied windows in the scratch, behind the addresses
    float lo, hi


def line_suits(window, size_t channels, size_t units):
    """Whether a convolution can and should run as this step."""
    if pick("conv2d_line_f32_nhwc").isa != pick("conv2d_f32_nhwc").isa:
        return False
    return channels < SHALLOW and window.dilation[1] == 1 and window.output[1] >= LINE_NARROW \
        and (window.filter[1] > 1 or window.filter[0] == 1 and units <= LINE_UNITS)


cdef void draw(const conv2d_line *p, const float *const *a, size_t count, const float *w, float *y) noexcept nogil:
    """`count` pixels from addresses of filter rows, in all channels."""
    cdef nnf_conv2d_f32_line line
    cdef size_t unit = 0
    line.rows = count
    line.taps = p.y.taps
    line.depth = p.depth
    line.a = a
    line.step = p.x.stride * p.channels
    line.ldc = p.units
    line.lo, line.hi = p.lo, p.hi
    while unit < p.units:
        line.columns = min(p.n, p.units - unit)
        line.w = w + unit * (p.y.taps * p.depth + 1)
        line.c = y + unit
        p.kernel(&line)
        unit += p.n


cdef void draw_edge(const conv2d_line *p, const float *const *rows, size_t at, const float **a, float *copies,
                    const float *w, float *y) noexcept nogil:
    """Output `at` of a row, whose window crosses the border; rows: the input row under each filter row, or NULL."""
    # Not by gather(): the kernel leaves out the filter rows that have no input, rather than read zeros.
    cdef size_t t
    cdef ptrdiff_t left = <ptrdiff_t>(at * p.x.stride) - <ptrdiff_t>p.x.head
    cdef ptrdiff_t first = max(-left, 0), last = min(<ptrdiff_t>p.x.taps, <ptrdiff_t>p.x.size - left)
    for t in range(p.y.taps):
        a[t] = NULL
        if rows[t] != NULL and first < last:
            memset(copies, 0, p.depth * sizeof(float))
            memcpy(copies + first * p.channels, rows[t] + (left + first) * <ptrdiff_t>p.channels,
                   (last - first) * p.channels * sizeof(float))
            a[t] = copies
        copies += p.depth
    draw(p, a, 1, w, y + at * p.units)


cdef void draw_padded(const conv2d_line *p, const float *const *rows, const float **a, float *copies, const float *w,
                      float *y) noexcept nogil:
    """An output row from copies of the input rows."""
    cdef size_t t, head = min(p.x.head * p.channels, p.length), body = min(p.x.size * p.channels, p.length - head)
    for t in range(p.y.taps):
        a[t] = NULL
        if rows[t] != NULL:
            memset(copies, 0, head * sizeof(float))
            memcpy(copies + head, rows[t], body * sizeof(float))
            memset(copies + head + body, 0, (p.length - head - body) * sizeof(float))
            a[t] = copies
        copies += p.length
    draw(p, a, p.x.out, w, y)


cdef void draw_row(const conv2d_line *p, const float *x, const float *w, size_t row, float *y,
                   unsigned char *scratch) noexcept nogil:
    """Output row `row` of an image, at y."""
    cdef const float **rows = <const float **>scratch
    cdef const float **a = rows + p.y.taps
    cdef float *copies = <float *>(scratch + p.copies)
    cdef ptrdiff_t t, at, begin = <ptrdiff_t>(p.inner * p.x.stride) - <ptrdiff_t>p.x.head
    for t in range(<ptrdiff_t>p.y.taps):
        at = <ptrdiff_t>(row * p.y.stride + t * p.y.dilation) - <ptrdiff_t>p.y.head
        rows[t] = x + at * <ptrdiff_t>(p.x.size * p.channels) if 0 <= at < <ptrdiff_t>p.y.size else NULL
    if p.length:
        draw_padded(p, rows, a, copies, w, y)
        return
    for t in range(<ptrdiff_t>p.inner):
        draw_edge(p, rows, t, a, copies, w, y)
    for t in range(<ptrdiff_t>p.outer, <ptrdiff_t>p.x.out):
        draw_edge(p, rows, t, a, copies, w, y)
    if p.inner < p.outer:
        for t in range(<ptrdiff_t>p.y.taps):
            a[t] = rows[t] + begin * <ptrdiff_t>p.channels if rows[t] != NULL else NULL
        draw(p, a, p.outer - p.inner, w, y + p.inner * p.units)


cdef void run_line(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const conv2d_line *p = <const conv2d_line *>step.params
    cdef const float *x = <const float *>run.slot[step.slots[0]]
    cdef const float *w = <const float *>run.slot[step.slots[1]]
    cdef float *y = <float *>run.slot[step.slots[2]]
    cdef size_t row, last, image
    nnf_share(p.batch * p.y.out, thread, threads, &row, &last)
    for row in range(row, last):
        image = row // p.y.out
        draw_row(p, x + image * p.y.size * p.x.size * p.channels, w, row - image * p.y.out,
                 y + row * p.x.out * p.units, run.scratch + thread * run.scratch_stride)


cdef void band_line(const nnf_step *step, const nnf_run *run, const void *x, void *y, size_t first, size_t last,
                    unsigned char *scratch) noexcept nogil:
    cdef const conv2d_line *p = <const conv2d_line *>step.params
    cdef size_t row
    for row in range(first, last):
        draw_row(p, <const float *>x, <const float *>run.slot[step.slots[1]], row,
                 <float *>y + row * p.x.out * p.units, scratch)


cdef size_t padded_length(const conv2d_line *p) noexcept nogil:
    """Floats of an input row with its padding, or 0 where windows at the borders are the better copies: a window is a
    tile of its own, whose sums wait for each other, about 4 cycles for each product and 40 for the call; a copy takes
    one for 8 floats and 30 for the call.
    """
    cdef size_t length = ((p.x.out - 1) * p.x.stride + p.x.taps) * p.channels
    cdef size_t edges = p.inner + p.x.out - p.outer
    return length if edges * (4 * p.depth + 40) > length // 8 + 30 and length * p.y.taps <= LINE_COPIES else 0


cdef class Conv2dLineF32(Step):
    """y = clamp(conv(x, weights) + bias, lo, hi) in float32, NHWC, where `suits` says so; slots x, weights packed by
    conv2d.pack_f32, y.

    window: an ops.window.Window; batch, channels: of the input; units: output channels.
    """

    cdef conv2d_line p

    def __init__(self, slots, window, size_t batch, size_t channels, size_t units, float lo, float hi):
        cdef const nnf_kernel *row = pick("conv2d_line_f32_nhwc")
        cdef conv2d_line *p = &self.p
        p.kernel = <nnf_conv2d_line_f32_nhwc_fn>row.fn
        p.y, p.x = axis_of(window, 0), axis_of(window, 1)
        p.batch, p.channels, p.units, p.n = batch, channels, units, row.n
        p.depth = p.x.taps * channels
        nnf_axis_full(&p.x, &p.inner, &p.outer)
        p.length = padded_length(p)
        p.lo, p.hi = lo, hi
        self.packed = lines(sizeof(float) * nnf_pack_conv2d_f32_size(units, p.y.taps * p.depth, row.n))
        p.copies = lines(2 * p.y.taps * sizeof(float *))
        self.scratch = p.copies + p.y.taps * max(p.depth, p.length) * sizeof(float)
        self.work = <double>batch * p.y.out * p.x.out * units * p.y.taps * p.depth
        self.tiles = <int>min(<double>batch * p.y.out, self.work / CONV_GRAIN + 1)
        self.part = PART_PRODUCTS
        self.even(batch * p.y.out, window.filter == window.stride == (1, 1) and window.output == window.input)
        self.bind(run_line, p, slots, row.name.decode())
        if batch == 1:
            self.bands(band_line, p.y, sizeof(float) * p.x.size * channels, sizeof(float) * p.x.out * units)
