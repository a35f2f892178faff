"""Steps of CONV_2D and FULLY_CONNECTED in 8-bit codes: the product of conv2d.pxi over gathered rows of codes."""

from libc.stdint cimport int32_t, uint8_t, uint32_t
from libc.string cimport memset

from .engine cimport PART_PRODUCTS, Step
from .kernels cimport (NNF_ISA_AVX2, NNF_ISA_AVX512, NNF_ISA_AVX512VNNI, NNF_ISA_NEON, nnf_kernel, nnf_tuning, pick,
                       release_tiles, tuning)
from .threads cimport nnf_run, nnf_share, nnf_step, nnf_step_is_even

import numpy as np

from .engine import aligned_bytes

cdef extern from "conv2d/conv2d.h":
    enum:
        NNF_CONV2D_Q8_BLOCK
        NNF_CONV2D_Q8_GROUP

    ctypedef void (*nnf_conv2d_qu8_qs8c_nhwc_fn)(const nnf_conv2d_q8_tile *tile) noexcept nogil
    bint nnf_conv2d_q8_wide(size_t m, size_t k) nogil
    size_t nnf_conv2d_q8_groups(size_t depth, size_t k) nogil
    size_t nnf_conv2d_q8_panel(size_t width, size_t groups) nogil
    bint nnf_fits_conv2d_q8(size_t columns, size_t depth, size_t n, size_t k, const unsigned char *packed) nogil

cdef extern from "quantize/quantize.h":
    ctypedef struct nnf_codes:
        int32_t zero_point, lo, hi
        uint8_t flip

    ctypedef void (*nnf_requantize_s32_qu8_rows_fn)(size_t rows, size_t columns, const int32_t *x, size_t ldx,
                                                    const double *scale, const nnf_codes *codes, uint8_t *y,
                                                    size_t ldy) noexcept nogil

    ctypedef void (*nnf_dequantize_s32_f32_rows_fn)(size_t rows, size_t columns, const int32_t *x, size_t ldx,
                                                    const nnf_row_codes *row, size_t next, const nnf_sum_scales *by,
                                                    float *y, size_t ldy) noexcept nogil

cdef enum:
    FEW = 4                 # rows that are gathered rather than read as signed codes: a kernel of few rows takes them
    Q8_BLOCK = 32              # rows that a kernel of tall tiles takes at once
    Q8_PANELS = 4              # panels of a `panel` for kernels that look at all codes first
    Q8_SUMS = 4096             # least room for the sums of a tile: 16 KB, several panels of most tiles


cdef struct conv2d_q8:
    nnf_conv2d_qu8_qs8c_nhwc_fn kernel
    nnf_conv2d_gather_qu8_nhwc_fn gather
    geometry g
    placement place
    split s
    size_t groups, lda          # of a row: 4 codes each, those behind the depth without weight; bytes between rows
    size_t panel                # bytes of weights from one panel of the split to the next
    size_t rows                 # where in the scratch, behind the row offsets, the gathered rows of a block begin
    size_t tile                 # offset in the scratch of a tile that is yet to be scattered, or of its sums
    size_t weights              # bytes of a group's packed weights
    bint direct                 # the input can be read in place
    bint by_rows                # threads share the rows of a single tile
    bint wide                   # the kernel takes several panels at once
    bint streamed               # the weights come from beyond the level 2 cache
    size_t sums                 # of a tile for which there is room, where the kernel gives sums
    int32_t weight_zero_point, input_zero_point
    nnf_codes codes
    nnf_requantize_s32_qu8_rows_fn requantize   # of the sums that the kernel gives; NULL where it gives codes
    const double *scale         # NULL where sums are scaled by multipliers
    bint is_dynamic             # codes were made at run time, and floats come of them, an image at a time:
    nnf_dequantize_s32_f32_rows_fn dequantize   # of the sums that the kernel gives; NULL where it gives values
    nnf_sum_scales by
    bint in_images              # padding of each image is the zero point of its codes
    size_t bytes                # of an output value


# Of codes that were made at run time: how each image was quantized, sums of the weights of each unit, and its bias.
ctypedef struct dynamic_codes:
    const nnf_row_codes *images     # NULL: all have the input's zero point
    const int32_t *sums
    const float *bias


cdef void gather_q8(const conv2d_q8 *p, const uint8_t *x, const nnf_row_codes *images, size_t first, size_t last,
                    uint8_t *rows, uint32_t *sums) noexcept nogil:
    """Rows of the product for output pixels first..last-1, and -zw times the sum of each where `sums` is not NULL.

    images: how each was quantized, NULL where all have the input's zero point.
    """
    cdef gathered_q8 to
    cdef size_t r
    to.to, to.lda, to.copy, to.flip = rows, p.lda, p.gather, p.codes.flip
    to.pad, to.images, to.sums = p.input_zero_point, images, sums
    if sums != NULL:
        memset(sums, 0, (last - first) * sizeof(uint32_t))
    gather(&p.g, &to, x, first, last)
    if sums != NULL:
        for r in range(last - first):
            sums[r] *= <uint32_t>-p.weight_zero_point


cdef void put_values(const conv2d_q8 *p, nnf_conv2d_q8_tile *tile, const dynamic_codes *from_, size_t low, size_t unit,
                     float *y) noexcept nogil:
    """Values of a tile whose first row is output pixel `low`, and whose first column belongs to `unit`."""
    cdef size_t area = p.g.out_height * p.g.out_width, rows = tile.rows, row = 0, image, end
    cdef nnf_conv2d_q8_values values
    values.next = area == 1
    values.by = p.by
    values.by.weights = from_.sums + unit
    values.by.scale += unit
    values.by.bias = from_.bias + unit
    if p.dequantize != NULL:
        p.kernel(tile)
    else:
        tile.values = &values
        tile.ldc = p.place.out_pixel
    while row < rows:
        image = (low + row) // area
        end = rows if area == 1 else min(rows, (image + 1) * area - low)
        values.row = from_.images + image
        if p.dequantize != NULL:
            p.dequantize(end - row, tile.columns, <const int32_t *>tile.c + row * tile.ldc, tile.ldc, values.row,
                         values.next, &values.by, y + row * p.place.out_pixel, p.place.out_pixel)
        else:
            tile.rows = end - row
            tile.c = <uint8_t *>(y + row * p.place.out_pixel)
            p.kernel(tile)
            tile.a += tile.rows * tile.lda
            if tile.offset != NULL:
                tile.offset += tile.rows
        row = end


cdef bint gives_sums(const conv2d_q8 *p) noexcept nogil:
    """Whether the kernel gives sums, which are no result."""
    return p.requantize != NULL or p.dequantize != NULL


cdef void begin_tile(const conv2d_q8 *p, const split *s, nnf_conv2d_q8_tile *tile) noexcept nogil:
    """What all tiles of a split have."""
    tile.groups = p.groups
    tile.lda = p.g.pixel if p.direct else p.lda
    tile.ldc = s.n if p.place.scattered else p.place.out_pixel
    tile.zero_point = p.codes.zero_point
    tile.lo = p.codes.lo
    tile.hi = p.codes.hi
    tile.flip = p.codes.flip
    tile.streamed = p.streamed


cdef void put_panels(const conv2d_q8 *p, const split *s, nnf_conv2d_q8_tile *tile, size_t low, size_t panel,
                     size_t panels, const unsigned char *weights, uint8_t *y, const dynamic_codes *from_, size_t unit,
                     unsigned char *scratch) noexcept nogil:
    """Some panels of a tile of the group whose first output is `unit`; low: the first output pixel."""
    cdef size_t column = panel * s.n
    tile.columns = min(panels * s.n, s.columns - column)
    tile.w = <const int32_t *>(weights + panel * p.panel)
    tile.c = y + (low * p.place.out_pixel + column) * p.bytes
    if p.scale != NULL:
        tile.scale = p.scale + column
    if gives_sums(p):
        tile.ldc = tile.columns
        tile.c = scratch + p.tile
    elif p.place.scattered:
        tile.c = scratch + p.tile
    if p.is_dynamic:
        put_values(p, tile, from_, low, unit + column, <float *>y + low * p.place.out_pixel + column)
        return
    p.kernel(tile)
    if p.requantize != NULL:
        p.requantize(tile.rows, tile.columns, <const int32_t *>tile.c, tile.ldc, tile.scale, &p.codes,
                     y + low * p.place.out_pixel + column, p.place.out_pixel)
    elif p.place.scattered:
        scatter(&p.place, p.g.out_height, p.g.out_width, low, low + tile.rows, tile.c, s.n, y + column, tile.columns, 1)


cdef void one_tile_q8(const conv2d_q8 *p, const split *s, const uint8_t *x, const unsigned char *weights, uint8_t *y,
                      const dynamic_codes *from_, unsigned char *scratch, size_t panel, size_t last) noexcept nogil:
    """Panels panel..last-1 of the only tile of the only group, as small layers have it: nothing is to be worked out."""
    cdef uint32_t *offsets = <uint32_t *>scratch if p.weight_zero_point else NULL
    cdef uint8_t *rows = scratch + p.rows
    cdef size_t panels = last - panel if p.wide else 1
    cdef nnf_conv2d_q8_tile tile
    begin_tile(p, s, &tile)
    if gives_sums(p):
        panels = min(panels, max(1, p.sums // (s.rows * s.n)))
    if not p.direct:
        gather_q8(p, x, from_.images, 0, s.rows, rows, offsets)
    while panel < last:
        tile.rows = s.rows
        tile.a = x if p.direct else rows
        tile.offset = <const int32_t *>offsets
        panels = min(panels, last - panel)
        put_panels(p, s, &tile, 0, panel, panels, weights, y, from_, 0, scratch)
        panel += panels


cdef void group_q8(const conv2d_q8 *p, const split *s, size_t origin, const uint8_t *x, const unsigned char *weights,
                   uint8_t *y, const dynamic_codes *from_, size_t unit, unsigned char *scratch, size_t item,
                   size_t last) noexcept nogil:
    """(tile, panel) pairs item..last-1 of one group, whose first output is `unit`; the rows of the split begin with
    output pixel `origin`."""
    cdef uint32_t *offsets = <uint32_t *>scratch if p.weight_zero_point else NULL
    cdef uint8_t *rows = scratch + p.rows
    cdef size_t low, begin, panels
    cdef nnf_conv2d_q8_tile tile
    cdef walk w
    w.item, w.last = item, last
    begin_tile(p, s, &tile)
    while next_group(s, &w):
        begin = origin + tile_start(s, w.base)
        if not p.direct:
            gather_q8(p, x, from_.images, begin, origin + tile_start(s, w.base + w.count), rows, offsets)
        while w.item < w.stop:
            low = origin + tile_start(s, w.tile)
            tile.rows = origin + tile_start(s, w.tile + 1) - low
            panels = panels_at_once(&w, p.wide)
            if gives_sums(p):
                panels = min(panels, max(1, p.sums // (tile.rows * s.n)))
            tile.a = x + low * p.g.pixel if p.direct else rows + (low - begin) * p.lda
            tile.offset = <const int32_t *>offsets + (low - begin) if offsets != NULL else NULL
            put_panels(p, s, &tile, low, w.panel, panels, weights, y, from_, unit, scratch)
            go_on(&w, panels)


cdef void run_conv2d_q8(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const conv2d_q8 *p = <const conv2d_q8 *>step.params
    cdef const uint8_t *x = <const uint8_t *>run.slot[step.slots[0]]
    cdef const unsigned char *w = <const unsigned char *>run.slot[step.slots[1]]
    cdef uint8_t *y = <uint8_t *>run.slot[step.slots[2]] + p.place.out_first * p.bytes
    cdef dynamic_codes from_
    from_.images, from_.sums, from_.bias = NULL, NULL, NULL
    if p.in_images:
        from_.images = <const nnf_row_codes *>run.slot[step.slots[3]]
    if p.is_dynamic:
        from_.sums = <const int32_t *>run.slot[step.slots[4]]
        from_.bias = <const float *>run.slot[step.slots[5]]
    cdef unsigned char *scratch = run.scratch + thread * run.scratch_stride
    cdef size_t item, last, group, stop, each
    cdef split s = p.s
    if nnf_step_is_even(step, threads):
        nnf_share(s.rows, thread, threads, &item, &last)
        cut(&s, last - item)
        s.group = min(s.group, s.tiles)
        group_q8(p, &s, item, x, w, y, &from_, 0, scratch, 0, s.tiles * s.panels)
        release_tiles()
        return
    if s.tiles == 1 and p.place.groups == 1 and not p.by_rows:
        nnf_share(s.panels, thread, threads, &item, &last)
        one_tile_q8(p, &s, x, w, y, &from_, scratch, item, last)
        release_tiles()
        return
    if p.by_rows and threads > 1:
        # What a thread reads is then mostly what it wrote: another processor's cache is further than shared weights.
        s.m = max(<size_t>Q8_BLOCK, (s.rows + threads - 1) // threads)
        cut(&s, s.rows)
    each = s.tiles * s.panels
    nnf_share(p.place.groups * each, thread, threads, &item, &last)
    while item < last:
        group = item // each
        stop = min(last, (group + 1) * each)
        group_q8(p, &s, 0, x + group * p.place.group, w + group * p.weights, y + group * p.place.out_group * p.bytes,
                 &from_, group * s.columns, scratch, item - group * each, stop - group * each)
        item = stop
    release_tiles()


cdef const nnf_kernel *tiles_of(bint raw, size_t columns):
    """The kernel for products of so many columns; raw: which gives sums."""
    cdef str op = "s32_qu8_qs8c_nhwc" if raw else "qu8_qs8c_nhwc"
    cdef const nnf_kernel *row = pick(f"conv2d_{op}")
    cdef const nnf_kernel *few = pick(f"conv2d_few_{op}")
    return few if few.isa == row.isa and few.n < row.n and columns <= <size_t>few.n // 2 else row


cdef nnf_conv2d_q8_scheme scheme_of(dtype, int weight_zero_point, int input_zero_point, bint signed_input):
    """What of a scheme follows from the quantization."""
    cdef nnf_conv2d_q8_scheme scheme
    cdef bint signed_weights = dtype == np.int8
    scheme.flip = 0 if signed_weights else 0x80
    scheme.weight_zero_point = weight_zero_point if signed_weights else weight_zero_point - 128
    scheme.input_zero_point = input_zero_point + 128 if signed_input else input_zero_point
    return scheme


cdef bint adds_in_16_bits(const nnf_kernel *row) noexcept nogil:
    """Whether a kernel has no dot products of bytes, and looks at the limits of panels instead."""
    return row.isa == NNF_ISA_AVX2 or row.isa == NNF_ISA_AVX512


def narrow_panel_q8():
    """Columns of the narrowest panel of weights, which fewer units do not fill."""
    return pick("conv2d_qu8_qs8c_nhwc").n // 2


def pack_conv2d_q8(weights, const int32_t[::1] bias, int weight_zero_point, int input_zero_point, bint signed_input,
                   const int32_t[::1] multiplier, const int32_t[::1] exponent, size_t groups=1, bint raw=False):
    """Weights [units, depth], uint8 or int8, packed with all that turns sums into output codes; uint8 array.

    bias, multiplier, exponent: int32 [units]; the zero points are those of the operands; groups as in pack_f32; raw:
    for a step with a `scale`, which has no use for multiplier and exponent.
    """
    cdef const uint8_t[:, ::1] codes = weights.view(np.uint8)
    cdef size_t columns = codes.shape[0] // groups, depth = codes.shape[1], i
    cdef const nnf_kernel *row = tiles_of(raw, columns)
    cdef size_t size = nnf_pack_conv2d_q8_size(columns, depth, row.n, row.k), each = lines(size)
    cdef nnf_conv2d_q8_scheme scheme = scheme_of(weights.dtype, weight_zero_point, input_zero_point, signed_input)
    packed = aligned_bytes(groups * each)
    cdef unsigned char[::1] to = packed
    with nogil:
        for i in range(groups):
            scheme.bias = &bias[i * columns]
            scheme.multiplier = &multiplier[i * columns]
            scheme.exponent = &exponent[i * columns]
            nnf_pack_conv2d_q8(columns, depth, row.n, row.k, &codes[i * columns, 0], depth, &scheme, &to[i * each])
            if adds_in_16_bits(row):
                nnf_limit_conv2d_q8(columns, depth, row.n, &to[i * each])
            elif row.isa == NNF_ISA_NEON:
                nnf_mark_mild_conv2d_q8(columns, depth, row.n, &to[i * each])
            clear_rest(&to[i * each], size, each)
    return packed


def fits_conv2d_q8(const uint8_t[::1] packed, size_t columns, size_t depth, size_t groups=1, bint raw=False):
    """Whether an array has the form of what pack_conv2d_q8 returns, and does no harm whatever it holds."""
    cdef const nnf_kernel *row = tiles_of(raw, columns)
    cdef size_t each = lines(nnf_pack_conv2d_q8_size(columns, depth, row.n, row.k)), i
    cdef bint fits = <size_t>packed.shape[0] == groups * each
    with nogil:
        for i in range(groups):
            fits = fits and nnf_fits_conv2d_q8(columns, depth, row.n, row.k, &packed[i * each])
    return fits


def image_zeros(zeros):
    """uint8 array that says of images what the zero point of the codes of each is: Conv2dQ8 with as_sums."""
    made = np.zeros(len(zeros), np.dtype([("step", np.float32), ("zero", np.int32)]))
    made["zero"] = zeros
    return made.view(np.uint8)


cdef class Conv2dQ8(Step):
    """y = requantize(conv(x, weights) + bias), 8-bit codes, NHWC; slots x, packed weights, y.

    window, batch, channels, units, place: as Conv2dF32. weights: (int8 or uint8, zero point). input_zero_point; output:
    (zero point, low, high) of the output's codes; signed: input and output are int8, else uint8. scale: None, or a
    float64 array [units] by which sums are multiplied, then rounded once; only for dense tensors. values: None, or
    (float32 scales of all units, by_rows, low, high) for float32 results of codes that QuantizeRowsF32 has made, whose
    third slot is the fourth here, before those of the units' int32 sums of weights and their float32 biases; `output`
    and `scale` do not count then.
    as_sums: y is the int32 sums with their bias, and the fourth slot has the zero point of each image's codes, as
    image_zeros() makes them; nothing else counts then.
    """

    cdef conv2d_q8 p

    def __init__(self, slots, window, size_t batch, size_t channels, size_t units, weights, int input_zero_point,
                 output, bint signed, place=None, const double[::1] scale=None,
                 values=None, bint as_sums=False):
        cdef bint raw = scale is not None or values is not None or as_sums
        cdef const float[::1] scales
        cdef const nnf_kernel *row = tiles_of(raw, units)
        cdef const nnf_kernel *in_place = pick("conv2d_qs8_qs8c_nhwc")
        cdef const nnf_kernel *scaled = pick("conv2d_f32_qu8_qs8c_nhwc")
        cdef const nnf_kernel *once = pick("conv2d_once_qu8_qs8c_nhwc")
        cdef geometry *g = &self.p.g
        cdef int shift = 128 if signed else 0
        self.p.place = placement_of(place, channels, units, window.output[0], window.output[1])
        measure(g, window, channels, self.p.place.pixel)
        cdef size_t depth = g.filter_height * g.filter_width * channels, rows = batch * g.out_height * g.out_width
        dtype, zero_point = weights
        self.p.kernel = <nnf_conv2d_qu8_qs8c_nhwc_fn>row.fn
        self.p.gather = <nnf_conv2d_gather_qu8_nhwc_fn>pick("conv2d_gather_qu8_nhwc").fn
        self.p.groups = nnf_conv2d_q8_groups(depth, row.k)
        self.p.lda = row_pitch(4 * self.p.groups, row.k == NNF_CONV2D_Q8_BLOCK)
        if row.k != NNF_CONV2D_Q8_BLOCK and units >= <size_t>COPIED * row.n:
            self.p.lda = apart(self.p.lda, min(rows, <size_t>row.m))
        self.p.weight_zero_point = zero_point if dtype == np.int8 else zero_point - 128
        self.p.input_zero_point = input_zero_point + shift
        self.p.codes.zero_point, self.p.codes.lo, self.p.codes.hi = (value + shift for value in output)
        self.p.codes.flip = 0x80 if signed else 0
        self.p.bytes = sizeof(int32_t) if as_sums else 1
        self.p.in_images = values is not None or as_sums
        if raw and self.p.place.scattered:
            raise ValueError("sums are for dense outputs")
        if values is not None:
            scales, self.p.by.by_rows, self.p.by.lo, self.p.by.hi = values
            if <size_t>scales.shape[0] != units * self.p.place.groups:
                raise ValueError("there must be a scale for each unit")
            self.keep = values
            self.p.by.scale = &scales[0]
            self.p.is_dynamic = True
            self.p.bytes = sizeof(float)
            if scaled.isa == row.isa and scaled.n == row.n:     # from the same packed weights
                row = scaled
                self.p.kernel = <nnf_conv2d_qu8_qs8c_nhwc_fn>row.fn
            else:
                self.p.dequantize = <nnf_dequantize_s32_f32_rows_fn>pick("dequantize_s32_f32_rows").fn
        elif scale is not None:
            if <size_t>scale.shape[0] != units:
                raise ValueError("there must be a scale for each unit")
            self.keep = scale
            self.p.scale = &scale[0]
            if once.isa == row.isa and once.n == row.n:
                row = once
                self.p.kernel = <nnf_conv2d_qu8_qs8c_nhwc_fn>row.fn
            else:
                self.p.requantize = <nnf_requantize_s32_qu8_rows_fn>pick("requantize_s32_qu8_rows").fn
        self.p.direct = g.plain and self.p.weight_zero_point == 0 and depth == self.p.lda
        if self.p.direct and signed:
            # One kernel of this level reads signed codes as they are, from the same packed weights, or none does.
            self.p.direct = in_place.isa == row.isa and rows >= FEW and not raw
            if self.p.direct:
                self.p.kernel = <nnf_conv2d_qu8_qs8c_nhwc_fn>in_place.fn
                row = in_place
        self.p.weights = lines(nnf_pack_conv2d_q8_size(units, depth, row.n, row.k))
        self.packed = self.p.place.groups * self.p.weights
        self.p.streamed = self.p.weights > tuning().q8_streamed
        self.p.wide = nnf_conv2d_q8_wide(row.m, row.k) and not self.p.place.scattered
        cdef bint whole = self.p.wide and not raw
        cdef nnf_kernel shape = row[0]
        cdef const nnf_tuning *sizes = tuning()
        if shape.m > Q8_BLOCK and not (self.p.direct and row.k == NNF_CONV2D_Q8_BLOCK):
            shape.m = min(shape.m, max(1, sizes.q8_tall // self.p.lda // Q8_BLOCK) * Q8_BLOCK)
        # A tile that takes all panels at once needs no others beside it.
        cdef size_t near = 0 if self.p.wide else sizes.q8_near
        # Each call of such a kernel looks at the largest codes of its tile: not for every panel of large weights.
        cdef int together = Q8_PANELS if whole and adds_in_16_bits(row) else 1
        self.p.panel = <size_t>together * nnf_conv2d_q8_panel(row.n, self.p.groups)
        shape.n *= together
        plan_split(&self.p.s, rows, units, depth, &shape, self.p.weights, self.p.lda, near)
        cdef size_t gathered = 0 if self.p.direct else self.p.s.group * self.p.s.m
        self.p.rows = lines(gathered * sizeof(uint32_t))
        self.p.tile = self.p.rows + lines(gathered * self.p.lda)
        self.scratch = self.p.tile
        if gives_sums(&self.p):
            self.p.sums = max(self.p.s.m * self.p.s.n, Q8_SUMS)
            self.scratch += self.p.sums * sizeof(int32_t)
        elif self.p.place.scattered:
            self.scratch += self.p.s.m * self.p.s.n
        self.p.by_rows = self.p.s.tiles == 1 and rows >= 2 * Q8_BLOCK and shape.m > Q8_BLOCK \
            and self.p.weights < sizes.q8_light
        self.work = <double>self.p.place.groups * rows * units * depth
        cdef size_t tiles = rows // Q8_BLOCK if self.p.by_rows else self.p.s.tiles
        self.tiles = <int>min(<double>(self.p.place.groups * tiles * self.p.s.panels), self.work / CONV_GRAIN + 1)
        self.part = PART_PRODUCTS
        # Even shares are for steps whose last slot is the output.
        if self.p.place.groups == 1 and not self.p.place.scattered and not self.p.in_images \
                and self.p.weights <= sizes.q8_light:
            self.even(rows, g.plain)
        self.bind(run_conv2d_q8, &self.p, slots, row.name.decode())
