"""Steps of DEPTHWISE_CONV_2D."""

from libc.stdint cimport int16_t, int32_t, uint8_t, uint16_t

from .engine cimport PART_PRODUCTS, Step
from .kernels cimport nnf_kernel, pick, pick_scalar
from .threads cimport nnf_run, nnf_step
from .window cimport axis_of, nnf_axis, portion, portion_of

import numpy as np

from .engine import aligned_bytes

cdef extern from "depthwise_conv2d/depthwise_conv2d.h":
    ctypedef struct nnf_depthwise:
        nnf_axis y
        nnf_axis x
        size_t channels
        size_t multiplier

    ctypedef void (*nnf_depthwise_conv2d_f32_nhwc_fn)(
        const nnf_depthwise *g, size_t first, size_t last, size_t begin, size_t end, const float *x,
        const float *packed, float *y, float lo, float hi) noexcept nogil

    ctypedef void (*nnf_depthwise_conv2d_f32_bf16_nhwc_fn)(
        const nnf_depthwise *g, size_t first, size_t last, size_t begin, size_t end, const float *x,
        const float *packed, uint16_t *y, size_t pixel, float lo, float hi) noexcept nogil

    size_t nnf_pack_depthwise_conv2d_f32_size(size_t channels, size_t taps) nogil
    void nnf_pack_depthwise_conv2d_f32(size_t channels, size_t taps, const float *filter, const float *bias,
                                       float *packed) nogil
    ctypedef void (*nnf_depthwise_conv2d_qs16_s32_nhwc_fn)(
        const nnf_depthwise *g, size_t first, size_t last, size_t begin, size_t end, const int16_t *x,
        const int32_t *weights, int32_t *y) noexcept nogil
    enum:
        NNF_DEPTHWISE_BLOCK
        NNF_DEPTHWISE_WORDS

    ctypedef struct nnf_depthwise_tap:
        pass

    ctypedef struct nnf_depthwise_q8:
        nnf_depthwise g
        size_t n
        size_t k
        int32_t in_zero
        int32_t out_zero
        int32_t lo
        int32_t hi
        size_t parts
        bint small

    ctypedef void (*nnf_depthwise_conv2d_q8_nhwc_fn)(
        const nnf_depthwise_q8 *p, size_t first, size_t last, size_t begin, size_t end, const uint8_t *x,
        uint8_t *y) noexcept nogil

    void nnf_judge_depthwise_conv2d_q8(nnf_depthwise_q8 *p, const int16_t *filter, const int32_t *bias,
                                       const int32_t *exponent) nogil
    size_t nnf_plan_depthwise_conv2d_q8(nnf_depthwise_q8 *p, size_t *table) nogil
    void nnf_pack_depthwise_conv2d_q8(const nnf_depthwise_q8 *p, const int16_t *filter, const int32_t *bias,
                                      const int32_t *multiplier, const int32_t *exponent, int32_t *blocks) nogil
    bint nnf_fits_depthwise_conv2d_q8(const nnf_depthwise_q8 *p, const int32_t *blocks) nogil
    void nnf_place_depthwise_conv2d_q8(nnf_depthwise_q8 *p, nnf_depthwise_tap *table, const int32_t *blocks) nogil

# Taps of a window that DepthwiseSumsQ16 takes.
MOST_WORDS = NNF_DEPTHWISE_WORDS

# Multiply-adds below which a second thread costs more than it saves.
cdef enum:
    DEPTHWISE_GRAIN = 50000
    HEADER = 64     # bytes before the blocks of 8-bit packed weights
    PARTS = 3       # most s8 values that add up to a weight


cdef struct depthwise_f32:
    nnf_depthwise_conv2d_f32_nhwc_fn kernel
    nnf_depthwise_conv2d_f32_bf16_nhwc_fn rounding  # in its place, where outputs are bfloat16
    size_t pixel                                    # numbers of a pixel then
    nnf_depthwise g
    size_t batch
    const float *packed
    float lo
    float hi


cdef nnf_depthwise depthwise_geometry(win, size_t channels, size_t multiplier):
    cdef nnf_depthwise g
    g.y = axis_of(win, 0)
    g.x = axis_of(win, 1)
    g.channels = channels
    g.multiplier = multiplier
    return g


cdef int most_threads(const nnf_depthwise *g, size_t batch, size_t block):
    cdef size_t blocks = (g.channels + block - 1) // block, rows = batch * g.y.out
    return min(max(rows, blocks), rows * g.x.out * g.channels * g.y.taps * g.x.taps // DEPTHWISE_GRAIN + 1)


cdef inline void rows_f32(const depthwise_f32 *p, size_t first, size_t last, size_t begin, size_t end, const float *x,
                          void *y, size_t row) noexcept nogil:
    """Output rows first..last-1 of an image, channels begin..end-1, from row `row` of y on."""
    if p.rounding == NULL:
        p.kernel(&p.g, first, last, begin, end, x, p.packed, <float *>y + row * p.g.x.out * p.g.channels, p.lo, p.hi)
    else:
        p.rounding(&p.g, first, last, begin, end, x, p.packed, <uint16_t *>y + row * p.g.x.out * p.pixel, p.pixel,
                   p.lo, p.hi)


cdef void run_depthwise_f32(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const depthwise_f32 *p = <const depthwise_f32 *>step.params
    cdef const nnf_depthwise *g = &p.g
    cdef const float *x = <const float *>run.slot[step.slots[0]]
    cdef size_t image = g.y.size * g.x.size * (g.channels // g.multiplier)
    cdef size_t rows = g.y.out, blocks = (g.channels + NNF_DEPTHWISE_BLOCK - 1) // NNF_DEPTHWISE_BLOCK
    cdef portion s = portion_of(step, &g.y, p.batch, blocks, thread, threads)
    cdef size_t row = s.first, n, first, count
    cdef size_t end = min(s.end * NNF_DEPTHWISE_BLOCK, g.channels)
    while row < s.last:
        n = row // rows
        first = row - n * rows
        count = min(rows - first, s.last - row)
        rows_f32(p, first, first + count, s.begin * NNF_DEPTHWISE_BLOCK, end, x + n * image,
                 run.slot[step.slots[1]], row)
        row += count


cdef void band_depthwise_f32(const nnf_step *step, const nnf_run *run, const void *x, void *y, size_t first,
                             size_t last, unsigned char *scratch) noexcept nogil:
    cdef const depthwise_f32 *p = <const depthwise_f32 *>step.params
    rows_f32(p, first, last, 0, p.g.channels, <const float *>x, y, first)


def pack_depthwise_f32(filter, bias):
    """Filter [1, kh, kw, c_out] and bias [c_out], packed; float32 array."""
    cdef size_t channels = filter.shape[3], taps = filter.shape[1] * filter.shape[2]
    cdef const float[::1] weights = np.ascontiguousarray(filter, np.float32).reshape(-1)
    cdef const float[::1] offsets = np.ascontiguousarray(bias, np.float32)
    made = aligned_bytes(packed_bytes_depthwise_f32(channels, taps)).view(np.float32)
    cdef float[::1] packed = made
    nnf_pack_depthwise_conv2d_f32(channels, taps, &weights[0], &offsets[0], &packed[0])
    return made


def packed_bytes_depthwise_f32(size_t channels, size_t taps):
    """Size of what pack_depthwise_f32 returns."""
    return sizeof(float) * nnf_pack_depthwise_conv2d_f32_size(channels, taps)


cdef class DepthwiseConv2DF32(Step):
    """DEPTHWISE_CONV_2D of float32 images, NHWC; slots x, y.

    batch: images; win: geometry (ops.window.Window); packed: by pack_depthwise_f32, kept; channels: c_out; multiplier:
    c_out / c_in; lo, hi: clamp of the fused activation. pixel: 0, or how many numbers a pixel of y has if y is
    bfloat16, zeros behind the c_out channels.
    """

    cdef depthwise_f32 p

    def __init__(self, slots, size_t batch, win, const float[::1] packed, size_t channels, size_t multiplier, float lo,
                 float hi, size_t pixel=0):
        cdef const nnf_kernel *row = pick("depthwise_conv2d_f32_bf16_nhwc" if pixel else "depthwise_conv2d_f32_nhwc")
        cdef size_t taps = win.filter[0] * win.filter[1]
        self.packed = packed_bytes_depthwise_f32(channels, taps)
        if packed.nbytes != self.packed:
            raise ValueError(f"packed weights of {packed.nbytes} bytes, must be {self.packed}")
        self.keep = packed
        if pixel and pixel < channels:
            raise ValueError(f"pixel is {pixel}, must be 0 or at least {channels} channels")
        if pixel:
            self.p.rounding = <nnf_depthwise_conv2d_f32_bf16_nhwc_fn>row.fn
        else:
            self.p.kernel = <nnf_depthwise_conv2d_f32_nhwc_fn>row.fn
        self.p.pixel = pixel
        self.p.g = depthwise_geometry(win, channels, multiplier)
        self.p.batch = batch
        self.p.packed = &packed[0]
        self.p.lo = lo
        self.p.hi = hi
        self.work = <double>batch * self.p.g.y.out * self.p.g.x.out * channels * taps
        self.tiles = most_threads(&self.p.g, batch, NNF_DEPTHWISE_BLOCK)
        self.part = PART_PRODUCTS
        self.even(batch * self.p.g.y.out, False)
        self.bind(run_depthwise_f32, &self.p, slots, row.name.decode())
        if batch == 1:
            self.bands(band_depthwise_f32, self.p.g.y, sizeof(float) * self.p.g.x.size * (channels // multiplier),
                       self.p.g.x.out * (sizeof(uint16_t) * pixel if pixel else sizeof(float) * channels))


cdef struct depthwise_q8:
    nnf_depthwise_conv2d_q8_nhwc_fn kernel
    nnf_depthwise_q8 q
    size_t batch


cdef void run_depthwise_q8(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const depthwise_q8 *p = <const depthwise_q8 *>step.params
    cdef const nnf_depthwise *g = &p.q.g
    cdef const uint8_t *x = <const uint8_t *>run.slot[step.slots[0]]
    cdef uint8_t *y = <uint8_t *>run.slot[step.slots[1]]
    cdef size_t image = g.y.size * g.x.size * (g.channels // g.multiplier), line = g.x.out * g.channels
    cdef size_t rows = g.y.out, blocks = (g.channels + p.q.n - 1) // p.q.n
    cdef portion s = portion_of(step, &g.y, p.batch, blocks, thread, threads)
    cdef size_t row = s.first, n, first, count
    cdef size_t end = min(s.end * p.q.n, g.channels)
    while row < s.last:
        n = row // rows
        first = row - n * rows
        count = min(rows - first, s.last - row)
        p.kernel(&p.q, first, first + count, s.begin * p.q.n, end, x + n * image, y + row * line)
        row += count


cdef const nnf_kernel *shape_q8(nnf_depthwise_q8 *q, shape) except NULL:
    """The kernel, with what is known of `q` before the weights."""
    win, channels, multiplier, zero_point, output, signed = shape
    op = "depthwise_conv2d_qs8_nhwc" if signed else "depthwise_conv2d_qu8_nhwc"
    # Only the scalar kernel lets several output channels read one input channel.
    cdef const nnf_kernel *row = pick(op) if multiplier == 1 else pick_scalar(op)
    cdef int shift = 128 if signed else 0
    q.g = depthwise_geometry(win, channels, multiplier)
    q.n, q.k = row.n, row.k
    q.in_zero = zero_point + shift
    q.out_zero, q.lo, q.hi = (value + shift for value in output)
    return row


cdef bint plan_q8(nnf_depthwise_q8 *q, const uint8_t[::1] packed, size_t *table, size_t *size):
    """Read the header of packed weights; False where it is none of q."""
    cdef const int32_t *header
    if packed.shape[0] < HEADER:
        return False
    header = <const int32_t *>&packed[0]
    if not 1 <= header[0] <= PARTS or not 0 <= header[1] <= (q.k > 1):
        return False
    q.parts, q.small = header[0], header[1]
    size[0] = HEADER + nnf_plan_depthwise_conv2d_q8(q, table)
    return <size_t>packed.shape[0] == size[0]


def pack_depthwise_q8(filter, bias, multipliers, exponents, shape):
    """Packed weights of a DepthwiseConv2DQ8: a header of HEADER bytes with what their values decide, and the blocks.

    filter: int16 [1, kh, kw, c_out], less its zero point; bias: int32 [c_out]; multipliers, exponents: of a
    Requantizer; shape: as that of the step. Returns an uint8 array.
    """
    cdef nnf_depthwise_q8 q
    cdef size_t channels = filter.shape[3], table, size
    cdef const int16_t[::1] weights = np.ascontiguousarray(filter, np.int16).reshape(-1)
    cdef const int32_t[::1] offsets = np.ascontiguousarray(bias, np.int32)
    cdef const int32_t[::1] mantissas = _per_channel(multipliers, channels)
    cdef const int32_t[::1] powers = _per_channel(exponents, channels)
    shape_q8(&q, shape)
    nnf_judge_depthwise_conv2d_q8(&q, &weights[0], &offsets[0], &powers[0])
    size = HEADER + nnf_plan_depthwise_conv2d_q8(&q, &table)
    made = aligned_bytes(size)
    made[:HEADER] = 0
    made[:8].view(np.int32)[:] = q.parts, q.small
    cdef uint8_t[::1] packed = made
    nnf_pack_depthwise_conv2d_q8(&q, &weights[0], &offsets[0], &mantissas[0], &powers[0], <int32_t *>&packed[HEADER])
    return made


def fits_depthwise_q8(const uint8_t[::1] packed, shape):
    """Whether an array can be packed weights of a step of this shape, and does no harm whatever it holds."""
    cdef nnf_depthwise_q8 q
    cdef size_t table, size
    shape_q8(&q, shape)
    return plan_q8(&q, packed, &table, &size) and nnf_fits_depthwise_conv2d_q8(&q, <const int32_t *>&packed[HEADER])


cdef class DepthwiseConv2DQ8(Step):
    """DEPTHWISE_CONV_2D of uint8 or int8 images, NHWC; slots x, y.

    batch: images; packed: by pack_depthwise_q8, kept. shape: win, c_out and multiplier as in DepthwiseConv2DF32; the
    input's zero point; (zero point, low, high) of the output's codes; whether codes are int8, else uint8.
    """

    cdef depthwise_q8 p

    def __init__(self, slots, size_t batch, const uint8_t[::1] packed, shape):
        cdef const nnf_kernel *row = shape_q8(&self.p.q, shape)
        cdef size_t table, size
        if not plan_q8(&self.p.q, packed, &table, &size):
            raise ValueError("these are not packed weights of such a step")
        self.p.kernel = <nnf_depthwise_conv2d_q8_nhwc_fn>row.fn
        self.p.batch = batch
        taps = aligned_bytes(table)
        taps[:] = 0
        cdef uint8_t[::1] to = taps
        nnf_place_depthwise_conv2d_q8(&self.p.q, <nnf_depthwise_tap *>&to[0], <const int32_t *>&packed[HEADER])
        self.keep = packed, taps
        self.packed = table + size - HEADER
        self.work = <double>batch * self.p.q.g.y.out * self.p.q.g.x.out * self.p.q.g.channels \
            * self.p.q.g.y.taps * self.p.q.g.x.taps
        self.tiles = most_threads(&self.p.q.g, batch, row.n)
        self.part = PART_PRODUCTS
        self.even(batch * self.p.q.g.y.out, False)
        self.bind(run_depthwise_q8, &self.p, slots, row.name.decode())


cdef struct depthwise_q16:
    nnf_depthwise_conv2d_qs16_s32_nhwc_fn kernel
    nnf_depthwise g
    size_t batch
    const int32_t *weights


cdef void run_depthwise_q16(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const depthwise_q16 *p = <const depthwise_q16 *>step.params
    cdef const nnf_depthwise *g = &p.g
    cdef const int16_t *x = <const int16_t *>run.slot[step.slots[0]]
    cdef int32_t *y = <int32_t *>run.slot[step.slots[1]]
    cdef size_t image = g.y.size * g.x.size * g.channels, line = g.x.out * g.channels
    cdef size_t rows = g.y.out, blocks = (g.channels + NNF_DEPTHWISE_BLOCK - 1) // NNF_DEPTHWISE_BLOCK
    cdef portion s = portion_of(step, &g.y, p.batch, blocks, thread, threads)
    cdef size_t row = s.first, n, first, count
    cdef size_t end = min(s.end * NNF_DEPTHWISE_BLOCK, g.channels)
    while row < s.last:
        n = row // rows
        first = row - n * rows
        count = min(rows - first, s.last - row)
        p.kernel(g, first, first + count, s.begin * NNF_DEPTHWISE_BLOCK, end, x + n * image, p.weights, y + row * line)
        row += count


cdef class DepthwiseSumsQ16(Step):
    """Sums of DEPTHWISE_CONV_2D of int16 images with int8 weights, NHWC, one output a channel; slots x, y (int32).

    batch: images; win: geometry (ops.window.Window) of at most MOST_WORDS taps; weights: [taps * channels].
    """

    cdef depthwise_q16 p

    def __init__(self, slots, size_t batch, win, const int32_t[::1] weights, size_t channels):
        cdef const nnf_kernel *row = pick("depthwise_conv2d_qs16_s32_nhwc")
        cdef size_t taps = win.filter[0] * win.filter[1]
        if taps > NNF_DEPTHWISE_WORDS or <size_t>weights.shape[0] != taps * channels:
            raise ValueError(f"{weights.shape[0]} weights of {taps} taps, must be of at most {NNF_DEPTHWISE_WORDS} "
                             f"and {channels} channels")
        self.keep = weights
        self.packed = weights.nbytes
        self.p.kernel = <nnf_depthwise_conv2d_qs16_s32_nhwc_fn>row.fn
        self.p.g = depthwise_geometry(win, channels, 1)
        self.p.batch = batch
        self.p.weights = &weights[0]
        self.work = <double>batch * self.p.g.y.out * self.p.g.x.out * channels * taps
        self.tiles = most_threads(&self.p.g, batch, NNF_DEPTHWISE_BLOCK)
        self.part = PART_PRODUCTS
        self.even(batch * self.p.g.y.out, False)
        self.bind(run_depthwise_q16, &self.p, slots, row.name.decode())


def _per_channel(values, channels):
    return values if len(values) == channels else np.full(channels, values, np.int32)
