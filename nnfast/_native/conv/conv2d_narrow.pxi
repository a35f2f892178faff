"""Steps of convolutions to few output channels (csrc/kernels/conv2d_narrow): rows of addresses, as for conv2d.pxi, but
all output channels of a tile at once."""

from libc.stdint cimport int32_t, uint8_t

from .engine cimport PART_PRODUCTS, Step
from .kernels cimport nnf_kernel, pick
from .threads cimport nnf_run, nnf_share, nnf_step, nnf_step_is_even
from .window cimport axis_of

from .engine import aligned_bytes

cdef extern from "conv2d_narrow/conv2d_narrow.h":
    enum:
        NNF_CONV2D_NARROW_ROWS

    ctypedef struct nnf_conv2d_narrow_q8_tile:
        size_t rows
        size_t columns
        size_t taps
        size_t depth
        const uint8_t *const *a
        uint8_t from_ "from"
        const int32_t *w
        uint8_t *c
        size_t ldc
        int32_t zero_point
        int32_t lo
        int32_t hi
        uint8_t flip

    ctypedef void (*nnf_conv2d_narrow_qu8_qs8c_nhwc_fn)(const nnf_conv2d_narrow_q8_tile *tile) noexcept nogil
    size_t nnf_conv2d_narrow_blocks(size_t depth, size_t k) nogil
    size_t nnf_pack_conv2d_narrow_q8_size(size_t columns, size_t taps, size_t depth, size_t k) nogil
    void nnf_pack_conv2d_narrow_q8(size_t columns, size_t taps, size_t depth, size_t k, const uint8_t *weights,
                                   const nnf_conv2d_q8_scheme *scheme, unsigned char *packed) nogil
    bint nnf_fits_conv2d_narrow_q8(size_t columns, const unsigned char *packed) nogil

cdef enum:
    NARROW_END = 6              # vectors that the end of a sum costs, in the time of its products
    NARROW_ROWS = 8             # output pixels that a kernel computes at once


cdef struct narrow:
    geometry g
    placement place
    split s                     # of the rows; all columns are one panel
    size_t taps, depth          # as the kernel sees them
    size_t copies               # offset in the scratch of stretches that cross the border, behind the row addresses
    size_t tile                 # offset in the scratch of a tile that is yet to be scattered
    nnf_conv2d_f32_nhwc_fn kernel_f32
    const float *zeros          # `depth` of them: a tap outside the input
    float lo, hi
    nnf_conv2d_narrow_qu8_qs8c_nhwc_fn kernel_q8
    const uint8_t *pads         # likewise, of codes
    int32_t pad
    nnf_codes codes


cdef str _narrow_op(bint quantized):
    return "conv2d_narrow_qu8_qs8c_nhwc" if quantized else "conv2d_narrow_f32_nhwc"


cdef size_t narrow_across(window, size_t channels, size_t pixel, bint quantized) except 0:
    """Filter columns that are one tap: all where they lie side by side and are few inputs."""
    cdef size_t few = pick(_narrow_op(True)).k if quantized else SHALLOW
    return window.filter[1] if window.dilation[1] == 1 and pixel == channels and channels < few else 1


def narrow_suits(window, size_t batch, size_t channels, size_t units, bint quantized, place=None):
    """Whether a convolution can and should run as these steps, by the vectors of products that it takes."""
    cdef const nnf_kernel *row = pick(_narrow_op(quantized))
    cdef const nnf_kernel *wide = pick("conv2d_qu8_qs8c_nhwc" if quantized else "conv2d_f32_nhwc")
    if row.isa != wide.isa or row.k == 1 or place is not None and place.groups > 1:
        return False
    if units > <size_t>wide.n // 2 or batch * window.output[0] * window.output[1] < NARROW_ROWS:
        return False
    cdef size_t across = narrow_across(window, channels, channels if place is None else place.pixel, quantized)
    cdef size_t taps = window.filter[0] * window.filter[1] // across, depth = across * channels
    if quantized and depth < <size_t>row.k:
        return False
    cdef size_t here = units * (taps * nnf_conv2d_narrow_blocks(depth, row.k) + NARROW_END)
    cdef size_t there = taps * ((depth + 3) // 4 if quantized else depth)
    return 3 * here < 2 * there


cdef void narrow_tiles(const narrow *p, const split *s, size_t origin, const void *x, const void *w, void *y,
                       unsigned char *scratch, size_t tile, size_t last) noexcept nogil:
    """Tiles tile..last-1 of a split whose first row is output pixel `origin`."""
    cdef gathered_f32 floats
    cdef gathered_codes codes
    cdef nnf_conv2d_f32_tile t
    cdef nnf_conv2d_narrow_q8_tile q
    cdef size_t low, end, item = 1 if p.kernel_q8 != NULL else sizeof(float)
    cdef size_t ldc = s.columns if p.place.scattered else p.place.out_pixel
    cdef void *to
    floats.to, floats.m, floats.zeros = <const float **>scratch, NNF_CONV2D_NARROW_ROWS, p.zeros
    codes.to, codes.m, codes.pads = <const uint8_t **>scratch, NNF_CONV2D_NARROW_ROWS, p.pads
    codes.pad = p.pad
    t.columns, t.taps, t.depth, t.a, t.w = s.columns, p.taps, p.depth, floats.to, <const float *>w
    t.ldc, t.lo, t.hi, t.prefetch, t.lines, t.first = ldc, p.lo, p.hi, NULL, 0, 0
    q.columns, q.taps, q.depth, q.a, q.w = s.columns, p.taps, p.depth, codes.to, <const int32_t *>w
    q.from_, q.ldc, q.flip = p.codes.flip, ldc, p.codes.flip
    q.zero_point, q.lo, q.hi = p.codes.zero_point, p.codes.lo, p.codes.hi
    for tile in range(tile, last):
        low, end = origin + tile_start(s, tile), origin + tile_start(s, tile + 1)
        to = scratch + p.tile if p.place.scattered else <char *>y + low * ldc * item
        if p.kernel_q8 != NULL:
            codes.copies = scratch + p.copies
            gather(&p.g, &codes, x, low, end)
            q.rows, q.c = end - low, <uint8_t *>to
            p.kernel_q8(&q)
        else:
            floats.copies = <float *>(scratch + p.copies)
            gather(&p.g, &floats, x, low, end)
            t.rows, t.c = end - low, <float *>to
            p.kernel_f32(&t)
        if p.place.scattered:
            scatter(&p.place, p.g.out_height, p.g.out_width, low, end, to, ldc * item, y, s.columns, item)


cdef void run_narrow(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const narrow *p = <const narrow *>step.params
    cdef size_t tile, last, origin = 0, item = 1 if p.kernel_q8 != NULL else sizeof(float)
    cdef split s = p.s
    if nnf_step_is_even(step, threads):
        nnf_share(s.rows, thread, threads, &origin, &last)
        cut(&s, last - origin)
        tile, last = 0, s.tiles
    else:
        nnf_share(s.tiles, thread, threads, &tile, &last)
    narrow_tiles(p, &s, origin, run.slot[step.slots[0]], run.slot[step.slots[1]],
                 <char *>run.slot[step.slots[2]] + p.place.out_first * item,
                 run.scratch + thread * run.scratch_stride, tile, last)


cdef void band_narrow(const nnf_step *step, const nnf_run *run, const void *x, void *y, size_t first, size_t last,
                      unsigned char *scratch) noexcept nogil:
    cdef const narrow *p = <const narrow *>step.params
    cdef split s = p.s
    cut(&s, (last - first) * p.g.out_width)
    narrow_tiles(p, &s, first * p.g.out_width, x, run.slot[step.slots[1]], y, scratch, 0, s.tiles)


cdef class Conv2dNarrow(Step):
    """What such steps have in common; the arguments as Conv2dF32, whose places of one group these take."""

    cdef narrow p

    cdef int plan(self, window, size_t batch, size_t channels, size_t units, place, bint quantized) except -1:
        cdef geometry *g = &self.p.g
        cdef size_t item = 1 if quantized else sizeof(float)
        self.p.place = placement_of(place, channels, units, window.output[0], window.output[1])
        if self.p.place.groups != 1:
            raise ValueError("groups are for other steps")
        measure(g, window, channels, self.p.place.pixel)
        g.across = narrow_across(window, channels, self.p.place.pixel, quantized)
        cdef size_t taps = g.filter_height * g.filter_width, rows = batch * g.out_height * g.out_width
        self.p.taps, self.p.depth = taps // g.across, g.across * channels
        self.p.s.columns, self.p.s.m = units, NNF_CONV2D_NARROW_ROWS
        cut(&self.p.s, rows)
        self.p.copies = lines(self.p.taps * NNF_CONV2D_NARROW_ROWS * sizeof(void *))
        self.p.tile = self.p.copies
        if g.across > 1:
            self.p.tile += lines(taps * channels * item * NNF_CONV2D_NARROW_ROWS)
        self.scratch = self.p.tile
        if self.p.place.scattered:
            self.scratch += NNF_CONV2D_NARROW_ROWS * units * item
        self.work = <double>rows * units * taps * channels
        self.tiles = <int>min(<double>self.p.s.tiles, self.work / CONV_GRAIN + 1)
        self.part = PART_PRODUCTS
        if not self.p.place.scattered:
            self.even(rows, g.plain)
        return 0


cdef class Conv2dNarrowF32(Conv2dNarrow):
    """y = clamp(conv(x, weights) + bias, lo, hi) in float32, NHWC, where narrow_suits says so; slots x, bias [units]
    followed by weights [units, depth], y. The arguments as Conv2dF32."""

    def __init__(self, slots, window, size_t batch, size_t channels, size_t units, float lo, float hi, place=None):
        cdef const nnf_kernel *row = pick(_narrow_op(False))
        self.plan(window, batch, channels, units, place, False)
        self.p.kernel_f32 = <nnf_conv2d_f32_nhwc_fn>row.fn
        self.p.lo, self.p.hi = lo, hi
        zeros = aligned_bytes(self.p.depth * sizeof(float))
        zeros[:] = 0
        cdef unsigned char[::1] view = zeros
        self.keep = zeros
        self.p.zeros = <const float *>&view[0]
        self.packed = sizeof(float) * units * (self.p.taps * self.p.depth + 1)
        self.bind(run_narrow, &self.p, slots, row.name.decode())
        if batch == 1 and place is None:
            self.bands(band_narrow, axis_of(window, 0), sizeof(float) * window.input[1] * channels,
                       sizeof(float) * window.output[1] * units)


cdef class Conv2dNarrowQ8(Conv2dNarrow):
    """y = requantize(conv(x, weights) + bias), 8-bit codes, NHWC, where narrow_suits says so and the weights have no
    zero point; slots x, weights packed by pack_narrow_q8, y. The arguments as Conv2dQ8."""

    def __init__(self, slots, window, size_t batch, size_t channels, size_t units, int input_zero_point, output,
                 bint signed, place=None):
        cdef const nnf_kernel *row = pick(_narrow_op(True))
        cdef int shift = 128 if signed else 0
        self.plan(window, batch, channels, units, place, True)
        self.p.kernel_q8 = <nnf_conv2d_narrow_qu8_qs8c_nhwc_fn>row.fn
        self.p.codes.zero_point, self.p.codes.lo, self.p.codes.hi = (value + shift for value in output)
        self.p.codes.flip = 0x80 if signed else 0
        self.p.pad = input_zero_point & 0xFF
        pads = aligned_bytes(self.p.depth)
        pads[:] = self.p.pad
        cdef unsigned char[::1] view = pads
        self.keep = pads
        self.p.pads = &view[0]
        self.packed = nnf_pack_conv2d_narrow_q8_size(units, self.p.taps, self.p.depth, row.k)
        self.bind(run_narrow, &self.p, slots, row.name.decode())


def pack_narrow_q8(weights, const int32_t[::1] bias, window, size_t channels, int input_zero_point, bint signed_input,
                   const int32_t[::1] multiplier, const int32_t[::1] exponent, place=None):
    """Weights [units, depth], int8, or uint8 with zero point 128, packed for Conv2dNarrowQ8; uint8 array.

    The rest as for pack_conv2d_q8; window, channels, place: as of the step.
    """
    cdef const nnf_kernel *row = pick(_narrow_op(True))
    cdef const uint8_t[:, ::1] codes = weights.view(np.uint8)
    cdef nnf_conv2d_q8_scheme scheme = scheme_of(weights.dtype, 0 if weights.dtype == np.int8 else 128,
                                                 input_zero_point, signed_input)
    cdef size_t across = narrow_across(window, channels, channels if place is None else place.pixel, True)
    cdef size_t depth = across * channels, taps = window.filter[0] * window.filter[1] // across
    packed = aligned_bytes(packed_bytes_narrow_q8(window, channels, codes.shape[0], place))
    cdef unsigned char[::1] to = packed
    if <size_t>codes.shape[1] != taps * depth:
        raise ValueError(f"weights have {codes.shape[1]} values for each unit, must have {taps * depth}")
    scheme.bias, scheme.multiplier, scheme.exponent = &bias[0], &multiplier[0], &exponent[0]
    nnf_pack_conv2d_narrow_q8(codes.shape[0], taps, depth, row.k, &codes[0, 0], &scheme, &to[0])
    return packed


def packed_bytes_narrow_q8(window, size_t channels, size_t units, place=None):
    """Size of what pack_narrow_q8 returns for so many units."""
    cdef size_t across = narrow_across(window, channels, channels if place is None else place.pixel, True)
    return nnf_pack_conv2d_narrow_q8_size(units, window.filter[0] * window.filter[1] // across, across * channels,
                                          pick(_narrow_op(True)).k)


def fits_narrow_q8(const uint8_t[::1] packed, size_t units, size_t nbytes):
    """Whether an array has the form of what pack_narrow_q8 returns for a step that wants `nbytes`, and does no harm
    whatever it holds."""
    return <size_t>packed.shape[0] == nbytes and nnf_fits_conv2d_narrow_q8(units, &packed[0])
