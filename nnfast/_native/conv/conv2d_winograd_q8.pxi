"""Step of a 3x3 CONV_2D with stride 1 in 8-bit codes by Winograd's F(2x2, 3x3), exact in integers
(csrc/kernels/conv2d/conv2d_q8_winograd.h).

As in conv2d_winograd.pxi the output is cut into patches, these into blocks, and the output channels into panels. For a
block the inputs of all patches are transformed once; then tiles of patches meet one panel after the other. A thread
does a contiguous share of the (block, panel) pairs.
"""

from libc.stdint cimport int16_t, int32_t, uint8_t

from .engine cimport PART_PRODUCTS, Step
from .kernels cimport nnf_kernel, pick, pick_scalar, tuning
from .threads cimport nnf_run, nnf_share, nnf_step

from .engine import aligned_bytes

cdef extern from "conv2d/conv2d_q8_winograd.h":
    enum:
        NNF_WINOGRAD_Q8_OUT
        NNF_WINOGRAD_Q8_IN
        NNF_WINOGRAD_Q8_PRODUCTS
        NNF_WINOGRAD_Q8_CHANNELS

    ctypedef struct nnf_winograd_q8_run:
        size_t patches
        size_t channels
        size_t row
        size_t stride
        size_t top
        size_t bottom
        size_t left
        size_t right
        int is_signed
        int16_t pad

    ctypedef void (*nnf_conv2d_winograd_input_qu8_s16_nhwc_fn)(const nnf_winograd_q8_run *r, const uint8_t *x,
                                                               int16_t *v) noexcept nogil

    ctypedef struct nnf_winograd_q8_place:
        size_t at
        int32_t height
        int32_t width

    ctypedef struct nnf_winograd_q8_tile:
        size_t patches
        size_t columns
        size_t groups
        size_t pitch
        size_t stride
        const int16_t *v
        const int32_t *w
        const nnf_winograd_q8_place *places
        uint8_t *c
        size_t row
        size_t pixel
        int32_t zero_point
        int32_t lo
        int32_t hi
        uint8_t flip

    ctypedef void (*nnf_conv2d_winograd_s16_qu8_tile_fn)(const nnf_winograd_q8_tile *tile) noexcept nogil
    size_t nnf_winograd_q8_pitch(size_t channels) nogil
    size_t nnf_winograd_q8_groups(size_t channels) nogil
    size_t nnf_winograd_q8_depth(size_t channels) nogil
    void nnf_pack_conv2d_winograd_q8(size_t units, size_t channels, size_t n, const uint8_t *filter,
                                     const nnf_conv2d_q8_scheme *scheme, unsigned char *packed) nogil

cdef enum:
    APART_Q8 = 32           # codes between the matrices of a block: powers of two would fall into the same cache sets
    # What transforms cost in multiply-adds, found by measuring: of each channel of a patch, and of each of its units
    WINOGRAD_Q8_IN = 48
    WINOGRAD_Q8_OUT = 64
    WINOGRAD_Q8_FEW = 4     # patches below which the weights, 3.6 times as many bytes, cost more than the products


cdef struct winograd_q8:
    nnf_conv2d_winograd_s16_qu8_tile_fn multiply
    nnf_conv2d_winograd_input_qu8_s16_nhwc_fn transform
    size_t batch, height, width                     # of the input
    size_t out_height, out_width, units
    size_t top, left                                # padding
    size_t across, down, patches, blocks, panels    # patches of a row, of a column, of everything
    size_t m, n, panel                              # of the kernel; bytes of a panel
    size_t inputs                                   # offset of the inputs in the scratch, behind the places
    nnf_winograd_q8_run run                         # what all runs and tiles have in common
    nnf_winograd_q8_tile tile


cdef inline size_t inside(size_t size, size_t head, size_t first, size_t count) noexcept nogil:
    """Positions before `size`, of `count` from `first` on in an image with `head` before it."""
    return min(size + head - first, count) if size + head > first else 0


cdef void transform_block_q8(const winograd_q8 *p, const uint8_t *x, size_t first, size_t last, int16_t *v,
                             nnf_winograd_q8_place *places) noexcept nogil:
    """Inputs of patches first..last-1, as matrices [16][patches][pitch], and the places of their outputs."""
    cdef nnf_winograd_q8_run r = p.run
    cdef size_t patch = first, row, image, y, column, i
    while patch < last:
        row = patch // p.across
        image = row // p.down
        y = (row - image * p.down) * NNF_WINOGRAD_Q8_OUT
        column = (patch - row * p.across) * NNF_WINOGRAD_Q8_OUT
        r.patches = min(last, (row + 1) * p.across) - patch
        # The run begins `top` rows above and `left` columns before its first output.
        r.top = p.top - y if p.top > y else 0
        r.left = p.left - column if p.left > column else 0
        r.bottom = inside(p.height, p.top, y, NNF_WINOGRAD_Q8_IN)
        r.right = inside(p.width, p.left, column, NNF_WINOGRAD_Q8_OUT * r.patches + 2)
        r.top, r.left = min(r.top, r.bottom), min(r.left, r.right)
        p.transform(&r, x + ((image * p.height + y) * p.width + column) * r.channels
                    - (p.top * p.width + p.left) * r.channels, v + (patch - first) * p.tile.pitch)
        for i in range(r.patches):
            places[i].at = ((image * p.out_height + y) * p.out_width + column) * p.units
            places[i].height = <int32_t>min(<size_t>NNF_WINOGRAD_Q8_OUT, p.out_height - y)
            places[i].width = <int32_t>min(<size_t>NNF_WINOGRAD_Q8_OUT, p.out_width - column)
            column += NNF_WINOGRAD_Q8_OUT
        places += r.patches
        patch += r.patches


cdef void run_winograd_q8(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const winograd_q8 *p = <const winograd_q8 *>step.params
    cdef const uint8_t *x = <const uint8_t *>run.slot[step.slots[0]]
    cdef const unsigned char *w = <const unsigned char *>run.slot[step.slots[1]]
    cdef uint8_t *y = <uint8_t *>run.slot[step.slots[2]]
    cdef unsigned char *scratch = run.scratch + thread * run.scratch_stride
    cdef nnf_winograd_q8_place *places = <nnf_winograd_q8_place *>scratch
    cdef int16_t *v = <int16_t *>(scratch + p.inputs)
    cdef nnf_winograd_q8_tile tile = p.tile
    cdef size_t item, end, block, panel, first, patches, tiles, t, row
    nnf_share(p.blocks * p.panels, thread, threads, &item, &end)
    while item < end:
        block = item // p.panels
        first = p.patches * block // p.blocks
        patches = p.patches * (block + 1) // p.blocks - first
        transform_block_q8(p, x, first, first + patches, v, places)
        tiles = (patches + p.m - 1) // p.m
        for panel in range(item - block * p.panels, min(p.panels, end - block * p.panels)):
            tile.w = <const int32_t *>(w + panel * p.panel)
            tile.columns = min(p.n, p.units - panel * p.n)
            tile.c = y + panel * p.n
            for t in range(tiles):
                row = patches * t // tiles
                tile.patches = patches * (t + 1) // tiles - row
                tile.v = v + row * tile.pitch
                tile.places = places + row
                p.multiply(&tile)
            item += 1


def winograd_q8_suits(window, size_t batch, size_t units, size_t channels):
    """Whether a convolution can and should run as this step, at the level in force."""
    cdef const nnf_kernel *row = pick("conv2d_winograd_s16_qu8_tile")
    if window.filter != (3, 3) or window.stride != (1, 1) or window.dilation != (1, 1):
        return False
    # Other products are faster than those of 16 bits, or they are what these are compared with.
    if channels > NNF_WINOGRAD_Q8_CHANNELS or not adds_in_16_bits(pick("conv2d_qu8_qs8c_nhwc")) \
            or row.isa == pick_scalar("conv2d_winograd_s16_qu8_tile").isa:
        return False
    cdef double depth = 4 * nnf_winograd_q8_groups(channels), wide = (units + 7) // 8 * 8
    cdef size_t height = window.output[0], width = window.output[1]
    cdef size_t patches = batch * ((height + 1) // 2) * ((width + 1) // 2)
    cdef double patch = NNF_WINOGRAD_Q8_PRODUCTS * depth * wide + WINOGRAD_Q8_OUT * wide \
        + WINOGRAD_Q8_IN * <double>nnf_winograd_q8_pitch(channels)
    return patches >= WINOGRAD_Q8_FEW and 1.1 * patches * patch < 9.0 * batch * height * width * depth * wide


cdef inline size_t packed_size_q8(size_t units, size_t channels, size_t n) noexcept nogil:
    return lines(nnf_pack_conv2d_q8_size(units, nnf_winograd_q8_depth(channels), n, NNF_CONV2D_Q8_GROUP))


def pack_winograd_q8(filter_, const int32_t[::1] bias, int weight_zero_point, int input_zero_point,
                     const int32_t[::1] multiplier, const int32_t[::1] exponent):
    """Filter [units, 3, 3, channels], uint8 or int8, for the kernel that a step made now will run; uint8 array.

    bias, multiplier, exponent: int32 [units]; the zero points are those of the operands.
    """
    cdef const nnf_kernel *row = pick("conv2d_winograd_s16_qu8_tile")
    cdef const uint8_t[:, :, :, ::1] codes = filter_.view(np.uint8)
    cdef size_t units = codes.shape[0], channels = codes.shape[3], packed = packed_size_q8(units, channels, row.n)
    cdef size_t size = nnf_pack_conv2d_q8_size(units, nnf_winograd_q8_depth(channels), row.n, NNF_CONV2D_Q8_GROUP)
    cdef nnf_conv2d_q8_scheme scheme = scheme_of(filter_.dtype, weight_zero_point, input_zero_point, False)
    made = aligned_bytes(packed)
    cdef unsigned char[::1] to = made
    scheme.bias, scheme.multiplier, scheme.exponent = &bias[0], &multiplier[0], &exponent[0]
    with nogil:
        nnf_pack_conv2d_winograd_q8(units, channels, row.n, &codes[0, 0, 0, 0], &scheme, &to[0])
        clear_rest(&to[0], size, packed)
    return made


def fits_winograd_q8(packed, size_t units, size_t channels):
    """Whether an array has the form of what pack_winograd_q8 returns, and does no harm whatever it holds."""
    cdef const uint8_t[::1] codes = packed
    cdef size_t n = pick("conv2d_winograd_s16_qu8_tile").n, depth = nnf_winograd_q8_depth(channels)
    cdef bint fits = <size_t>codes.shape[0] == packed_size_q8(units, channels, n)
    return fits and nnf_fits_conv2d_q8(units, depth, n, NNF_CONV2D_Q8_GROUP, &codes[0])


cdef class Conv2dWinogradQ8(Step):
    """y = requantize(conv(x, filter) + bias), 8-bit codes, NHWC, of a 3x3 filter with stride and dilation 1; slots x,
    packed weights, y.

    window, batch, channels, units, input_zero_point, output, signed: as Conv2dQ8; at most 917 channels.
    """

    cdef winograd_q8 p

    def __init__(self, slots, window, size_t batch, size_t channels, size_t units, int input_zero_point, output,
                 bint signed):
        cdef const nnf_kernel *row = pick("conv2d_winograd_s16_qu8_tile")
        cdef const nnf_kernel *transform = pick("conv2d_winograd_input_qu8_s16_nhwc")
        cdef winograd_q8 *p = &self.p
        cdef int shift = 128 if signed else 0
        cdef size_t block, most, patch
        if window.filter != (3, 3) or window.stride != (1, 1) or window.dilation != (1, 1):
            raise ValueError(f"the window is {window}, must be 3x3 with stride and dilation 1")
        if channels > NNF_WINOGRAD_Q8_CHANNELS:
            raise ValueError(f"{channels} channels, must be at most {NNF_WINOGRAD_Q8_CHANNELS}")
        p.multiply = <nnf_conv2d_winograd_s16_qu8_tile_fn>row.fn
        p.transform = <nnf_conv2d_winograd_input_qu8_s16_nhwc_fn>transform.fn
        p.batch, p.units = batch, units
        p.height, p.width = window.input
        p.out_height, p.out_width = window.output
        p.top, p.left = window.head
        p.m, p.n = row.m, row.n
        p.panels = (units + p.n - 1) // p.n
        p.across = (p.out_width + NNF_WINOGRAD_Q8_OUT - 1) // NNF_WINOGRAD_Q8_OUT
        p.down = (p.out_height + NNF_WINOGRAD_Q8_OUT - 1) // NNF_WINOGRAD_Q8_OUT
        p.patches = batch * p.down * p.across
        p.panel = nnf_conv2d_q8_panel(p.n, nnf_winograd_q8_depth(channels) // NNF_CONV2D_Q8_GROUP)
        self.packed = packed_size_q8(units, channels, p.n)
        p.tile.pitch, p.tile.groups = nnf_winograd_q8_pitch(channels), nnf_winograd_q8_groups(channels)
        patch = NNF_WINOGRAD_Q8_PRODUCTS * p.tile.pitch * sizeof(int16_t)
        block = max(<size_t>1, tuning().winograd_near // patch // p.m) * p.m
        p.blocks = max(<size_t>1, (p.patches + block - 1) // block)
        most = (p.patches + p.blocks - 1) // p.blocks
        p.run.channels, p.run.row = channels, p.width * channels
        p.run.stride = p.tile.stride = most * p.tile.pitch + APART_Q8
        p.run.is_signed, p.run.pad = signed, input_zero_point
        p.tile.row, p.tile.pixel = p.out_width * units, units
        p.tile.zero_point, p.tile.lo, p.tile.hi = (value + shift for value in output)
        p.tile.flip = 0x80 if signed else 0
        p.inputs = lines(most * sizeof(nnf_winograd_q8_place))
        self.scratch = p.inputs + NNF_WINOGRAD_Q8_PRODUCTS * p.tile.stride * sizeof(int16_t)
        self.work = <double>batch * p.out_height * p.out_width * units * channels * 9
        self.tiles = <int>min(<double>(p.blocks * p.panels), self.work / CONV_GRAIN + 1)
        self.part = PART_PRODUCTS
        self.bind(run_winograd_q8, &self.p, slots, f"{transform.name.decode()} + {row.name.decode()}")
