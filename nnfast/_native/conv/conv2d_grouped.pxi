"""Steps of grouped convolutions of few channels in each group, in 8-bit codes (csrc/kernels/conv2d_grouped): a tile
takes the channels of all groups from addresses of whole pixels. Where a kernel does not read such codes, a step before
turns the whole image into what it reads."""

from libc.stdint cimport int32_t, uint8_t

from .engine cimport PART_PRODUCTS, Step
from .kernels cimport nnf_kernel, pick
from .threads cimport nnf_run, nnf_share, nnf_share_runs, nnf_step

from .engine import aligned_bytes

cdef extern from "conv2d_grouped/conv2d_grouped.h":
    enum:
        NNF_CONV2D_GROUPED_ROWS

    ctypedef struct nnf_conv2d_groups:
        size_t groups
        size_t depth
        size_t units

    ctypedef struct nnf_conv2d_grouped_q8_tile:
        size_t rows
        size_t taps
        nnf_conv2d_groups in_ "in"
        const void *const *a
        const int32_t *w
        uint8_t *c
        size_t ldc
        int32_t zero_point
        int32_t lo
        int32_t hi
        uint8_t flip

    ctypedef void (*nnf_conv2d_grouped_inputs_qu8_flat_fn)(size_t n, const uint8_t *x, uint8_t flip,
                                                           void *y) noexcept nogil
    ctypedef void (*nnf_conv2d_grouped_qu8_qs8c_nhwc_fn)(const nnf_conv2d_grouped_q8_tile *tile) noexcept nogil
    size_t nnf_conv2d_grouped_item(size_t k) nogil
    bint nnf_conv2d_grouped_fits(const nnf_conv2d_groups *groups, size_t n, size_t k) nogil
    size_t nnf_pack_conv2d_grouped_q8_size(const nnf_conv2d_groups *groups, size_t taps, size_t n, size_t k) nogil
    void nnf_pack_conv2d_grouped_q8(const nnf_conv2d_groups *groups, size_t taps, size_t n, size_t k,
                                    const uint8_t *weights, const nnf_conv2d_q8_scheme *scheme,
                                    unsigned char *packed) nogil
    bint nnf_fits_conv2d_grouped_q8(const nnf_conv2d_groups *groups, size_t taps, size_t n, size_t k,
                                    const unsigned char *packed) nogil

cdef enum:
    # Output channels of a group beyond which the general step is faster: by dot products of bytes, and by words.
    GROUPED_BYTES = 96
    GROUPED_WORDS = 48          # the general step takes twice as long for large codes as for small ones
    INPUTS_GRAIN = 65536        # codes below which a second thread costs more than it saves


cdef struct grouped_q8:
    nnf_conv2d_grouped_qu8_qs8c_nhwc_fn kernel
    geometry g
    split s                     # of the rows
    nnf_conv2d_groups groups
    size_t taps
    const uint8_t *pads         # a pixel beside the image, as the kernel reads it
    nnf_codes codes


cdef struct grouped_inputs:
    nnf_conv2d_grouped_inputs_qu8_flat_fn kernel
    size_t count, item
    uint8_t flip


cdef const nnf_kernel *grouped_kernel():
    return pick("conv2d_grouped_qu8_qs8c_nhwc")


cdef nnf_conv2d_groups groups_of(size_t groups, size_t channels, size_t units):
    cdef nnf_conv2d_groups made
    made.groups, made.depth, made.units = groups, channels // groups, units // groups
    return made


def grouped_q8_suits(size_t groups, size_t channels, size_t units):
    """Whether a grouped convolution from so many channels to so many units can and should run as Conv2dGroupedQ8."""
    cdef const nnf_kernel *row = grouped_kernel()
    cdef nnf_conv2d_groups shape = groups_of(groups, channels, units)
    cdef size_t most = GROUPED_BYTES if row.k == 4 else GROUPED_WORDS
    return row.isa == pick("conv2d_qu8_qs8c_nhwc").isa and shape.units <= most \
        and nnf_conv2d_grouped_fits(&shape, row.n, row.k)


def pack_grouped_q8(weights, const int32_t[::1] bias, size_t groups, size_t taps, int input_zero_point,
                    bint signed_input, const int32_t[::1] multiplier, const int32_t[::1] exponent):
    """Weights [units, depth], int8, or uint8 with zero point 128, packed for Conv2dGroupedQ8; uint8 array. The rest as
    for pack_conv2d_q8."""
    cdef const nnf_kernel *row = grouped_kernel()
    cdef const uint8_t[:, ::1] codes = weights.view(np.uint8)
    cdef nnf_conv2d_groups shape = groups_of(groups, codes.shape[1] // taps * groups, codes.shape[0])
    cdef nnf_conv2d_q8_scheme scheme = scheme_of(weights.dtype, 0 if weights.dtype == np.int8 else 128,
                                                 input_zero_point, signed_input)
    packed = aligned_bytes(nnf_pack_conv2d_grouped_q8_size(&shape, taps, row.n, row.k))
    cdef unsigned char[::1] to = packed
    scheme.bias, scheme.multiplier, scheme.exponent = &bias[0], &multiplier[0], &exponent[0]
    nnf_pack_conv2d_grouped_q8(&shape, taps, row.n, row.k, &codes[0, 0], &scheme, &to[0])
    return packed


def fits_grouped_q8(const uint8_t[::1] packed, size_t groups, size_t channels, size_t units, size_t taps):
    """Whether an array has the form of what pack_grouped_q8 returns, and does no harm whatever it holds."""
    cdef const nnf_kernel *row = grouped_kernel()
    cdef nnf_conv2d_groups shape = groups_of(groups, channels, units)
    return <size_t>packed.shape[0] == nnf_pack_conv2d_grouped_q8_size(&shape, taps, row.n, row.k) \
        and nnf_fits_conv2d_grouped_q8(&shape, taps, row.n, row.k, &packed[0])


cdef void run_grouped_inputs(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const grouped_inputs *p = <const grouped_inputs *>step.params
    cdef size_t first, last
    nnf_share_runs(p.count, thread, threads, &first, &last)
    p.kernel(last - first, <const uint8_t *>run.slot[step.slots[0]] + first, p.flip,
             <uint8_t *>run.slot[step.slots[1]] + first * p.item)


def grouped_q8_item(bint signed):
    """Bytes of an input of Conv2dGroupedQ8 that GroupedInputs makes of a code; 0 where codes are read as they are."""
    cdef size_t item = nnf_conv2d_grouped_item(grouped_kernel().k)
    return item if signed or item > 1 else 0


cdef class GroupedInputs(Step):
    """y = the inputs of Conv2dGroupedQ8 from `count` codes; slots x, y, which has count * grouped_q8_item bytes."""

    cdef grouped_inputs p

    def __init__(self, slots, size_t count, bint signed):
        cdef const nnf_kernel *row = pick("conv2d_grouped_inputs_qu8_flat")
        self.p.kernel = <nnf_conv2d_grouped_inputs_qu8_flat_fn>row.fn
        self.p.count, self.p.item, self.p.flip = count, nnf_conv2d_grouped_item(row.k), 0x80 if signed else 0
        self.work = count
        self.tiles = <int>min(1 + count // INPUTS_GRAIN, 64)
        self.one_by_one(count, (1, self.p.item))
        self.bind(run_grouped_inputs, &self.p, slots, row.name.decode())


cdef void run_grouped_q8(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const grouped_q8 *p = <const grouped_q8 *>step.params
    cdef unsigned char *scratch = run.scratch + thread * run.scratch_stride
    cdef uint8_t *y = <uint8_t *>run.slot[step.slots[2]]
    cdef size_t tile, last, low, end, tap, row
    cdef gathered_codes codes
    cdef nnf_conv2d_grouped_q8_tile t
    codes.to, codes.m, codes.pads = <const uint8_t **>scratch, NNF_CONV2D_GROUPED_ROWS, p.pads
    codes.copies, codes.pad = NULL, 0
    t.taps, t.in_, t.w = p.taps, p.groups, <const int32_t *>run.slot[step.slots[1]]
    t.a, t.flip, t.ldc = <const void *const *>codes.to, p.codes.flip, p.s.columns
    t.zero_point, t.lo, t.hi = p.codes.zero_point, p.codes.lo, p.codes.hi
    nnf_share(p.s.tiles, thread, threads, &tile, &last)
    for tile in range(tile, last):
        low, end = tile_start(&p.s, tile), tile_start(&p.s, tile + 1)
        gather(&p.g, &codes, run.slot[step.slots[0]], low, end)
        for tap in range(p.taps):   # kernels read rows that are not there, too
            for row in range(end - low, NNF_CONV2D_GROUPED_ROWS):
                codes.to[tap * NNF_CONV2D_GROUPED_ROWS + row] = p.pads
        t.rows, t.c = end - low, y + low * t.ldc
        p.kernel(&t)


cdef class Conv2dGroupedQ8(Step):
    """y = requantize(conv(x, weights) + bias) in groups of channels, 8-bit codes, NHWC, where grouped_q8_suits says so
    and the weights have no zero point; slots x, of GroupedInputs where grouped_q8_item says so, weights packed by
    pack_grouped_q8, y.

    channels, units: of all groups together; the rest as Conv2dQ8.
    """

    cdef grouped_q8 p

    def __init__(self, slots, window, size_t batch, size_t channels, size_t units, size_t groups,
                 int input_zero_point, output, bint signed):
        cdef const nnf_kernel *row = grouped_kernel()
        cdef geometry *g = &self.p.g
        cdef int shift = 128 if signed else 0
        cdef size_t item = nnf_conv2d_grouped_item(row.k)
        measure(g, window, channels * item, channels * item)
        g.across = 1
        cdef size_t taps = g.filter_height * g.filter_width, rows = batch * g.out_height * g.out_width
        self.p.kernel = <nnf_conv2d_grouped_qu8_qs8c_nhwc_fn>row.fn
        self.p.groups, self.p.taps = groups_of(groups, channels, units), taps
        if not nnf_conv2d_grouped_fits(&self.p.groups, row.n, row.k):
            raise ValueError(f"{groups} groups of {channels} channels and {units} units are for another step")
        self.p.s.columns, self.p.s.m = units, NNF_CONV2D_GROUPED_ROWS
        cut(&self.p.s, rows)
        self.p.codes.zero_point, self.p.codes.lo, self.p.codes.hi = (value + shift for value in output)
        self.p.codes.flip = 0x80 if signed else 0
        pads = aligned_bytes(channels * item)
        pads.view(np.uint8 if item == 1 else np.uint16)[:] = (input_zero_point & 0xFF) ^ self.p.codes.flip
        cdef unsigned char[::1] view = pads
        self.keep = pads
        self.p.pads = &view[0]
        self.packed = nnf_pack_conv2d_grouped_q8_size(&self.p.groups, taps, row.n, row.k)
        self.scratch = lines(taps * NNF_CONV2D_GROUPED_ROWS * sizeof(void *))
        self.work = <double>rows * units * taps * self.p.groups.depth
        self.tiles = <int>min(<double>self.p.s.tiles, self.work / CONV_GRAIN + 1)
        self.part = PART_PRODUCTS
        self.bind(run_grouped_q8, &self.p, slots, row.name.decode())
