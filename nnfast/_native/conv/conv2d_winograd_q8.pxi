"""Step of a CONV_2D in 8-bit codes by Winograd's F(2x2, 3x3), F(4x4, 3x3) or F(3x3, 4x4), exact in integers
(csrc/kernels/conv2d/conv2d_q8_winograd.h). With stride 2, filters of 5 to 8 taps are such of 3 or 4 over pixels of
phases.pxi.

As in conv2d_winograd.pxi the output is cut into patches, these into blocks, and the output channels into panels. For a
block the inputs of all patches are transformed once; then tiles of patches meet one panel after the other. A thread
does a contiguous share of the (block, panel) pairs.
"""

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t
from libc.stdlib cimport abs

from .engine cimport PART_PRODUCTS, Step
from .kernels cimport nnf_kernel, pick, pick_scalar, tuning
from .threads cimport nnf_run, nnf_share, nnf_step

from .engine import aligned_bytes

cdef extern from "conv2d/conv2d_q8_winograd.h":
    enum:
        NNF_WINOGRAD_Q8_2
        NNF_WINOGRAD_Q8_3
        NNF_WINOGRAD_Q8_4
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
        bint raw

    ctypedef void (*nnf_conv2d_winograd_s16_qu8_tile_fn)(const nnf_winograd_q8_tile *tile) noexcept nogil
    size_t nnf_winograd_q8_taps(size_t out) nogil
    size_t nnf_winograd_q8_in(size_t out) nogil
    size_t nnf_winograd_q8_products(size_t out) nogil
    int64_t nnf_winograd_q8_most(bint is_signed) nogil
    int nnf_winograd_q8_far(size_t out) nogil
    size_t nnf_winograd_q8_pitch(size_t channels) nogil
    size_t nnf_winograd_q8_groups(size_t channels) nogil
    size_t nnf_winograd_q8_depth(size_t out, size_t channels) nogil
    void nnf_pack_conv2d_winograd_q8(size_t out, size_t units, size_t channels, size_t n, const uint8_t *filter,
                                     const nnf_conv2d_q8_scheme *scheme, unsigned char *packed) nogil

cdef enum:
    APART_Q8 = 32           # codes between the matrices of a block: powers of two would fall into the same cache sets
    # What else costs time, in multiply-adds of 16 bits, found by measuring at AVX2, AVX-512 and VNNI: a sum of
    # products, to begin and to store; of each output its share of the transforms, for each channel, for each unit, and
    # for each channel of pixels that stride 2 is made of; a window that plain products gather, and their codes
    WINOGRAD_Q8_SUM = 8
    WINOGRAD_Q8_SUM_BYTES = 14  # likewise, where plain products are of bytes
    WINOGRAD_Q8_IN = 8
    WINOGRAD_Q8_OUT = 8
    WINOGRAD_Q8_PHASE = 16
    PLAIN_Q8_GATHER = 300
    PLAIN_Q8_OUT = 8
    PLAIN_Q8_FEW = 14       # tenths of what products cost in a kernel for few columns, which loads as much for half
    WINOGRAD_Q8_FEW = 4     # patches; with fewer, it is the weights that take the time of products
    # Twice that of a byte of weights: up to twice the size of level 2 they are near in most runs, others are not
    WINOGRAD_Q8_NEAR = 1
    WINOGRAD_Q8_FAR = 6
    # The size of level 2 at which a byte costs so much. Where it is twice as large, a byte that is not near costs half
    # as much; beside VNNI of 512 bits, whose products run at twice the rate there, it costs twice as much, and only
    # weights up to half of level 2 are near.
    WINOGRAD_Q8_LEVEL2 = 1 << 20


cdef struct winograd_q8:
    nnf_conv2d_winograd_s16_qu8_tile_fn multiply
    nnf_conv2d_winograd_input_qu8_s16_nhwc_fn transform
    size_t out                                      # outputs of a patch on a side
    size_t stride, image                            # of the convolution; bytes of an image
    size_t batch, height, width                     # of the input
    phases pixels                                   # of stride 2, and where in the scratch those of a run begin
    size_t strip
    size_t out_height, out_width, units
    size_t top, left                                # padding
    size_t across, down, patches, blocks, panels    # patches of a row, of a column, of everything
    size_t m, n, panel                              # of the kernel; bytes of a panel
    size_t inputs                                   # offset of the inputs in the scratch, behind the places
    nnf_winograd_q8_run run                         # what all runs and tiles have in common
    nnf_winograd_q8_tile tile
    nnf_dequantize_s32_f32_rows_fn dequantize       # of sums over codes that were made at run time; NULL: codes
    nnf_sum_scales by
    size_t bytes                                    # of an output


cdef inline size_t inside(size_t size, size_t head, size_t first, size_t count) noexcept nogil:
    """Positions before `size`, of `count` from `first` on in an image with `head` before it."""
    return min(size + head - first, count) if size + head > first else 0


cdef void transform_block_q8(const winograd_q8 *p, const uint8_t *x, const nnf_row_codes *images, size_t first,
                             size_t last, int16_t *v, nnf_winograd_q8_place *places, uint8_t *strip) noexcept nogil:
    """Inputs of patches first..last-1, as matrices [products][patches][pitch], and the places of their outputs.

    images: how each was quantized, NULL where all have the input's zero point. strip: room for the pixels of a run of
    stride 2.
    """
    cdef nnf_winograd_q8_run r = p.run
    cdef phases pixels = p.pixels
    cdef size_t patch = first, out = p.out, in_ = nnf_winograd_q8_in(out), row, image, y, column, columns, i
    while patch < last:
        row = patch // p.across
        image = row // p.down
        y = (row - image * p.down) * out
        column = (patch - row * p.across) * out
        r.patches = min(last, (row + 1) * p.across) - patch
        columns = out * (r.patches - 1) + in_
        if images != NULL:
            r.pad = <int16_t>images[image].zero
            pixels.pad = <uint8_t>images[image].zero
        if p.stride == 2:
            r.top, r.left, r.bottom, r.right, r.row = 0, 0, in_, columns, columns * r.channels
            copy_phases(&pixels, x + image * p.image, 2 * (<ptrdiff_t>y - <ptrdiff_t>p.top),
                        2 * (<ptrdiff_t>column - <ptrdiff_t>p.left), in_, columns, strip)
            p.transform(&r, strip, v + (patch - first) * p.tile.pitch)
        else:
            # The run begins `top` rows above and `left` columns before its first output.
            r.top = p.top - y if p.top > y else 0
            r.left = p.left - column if p.left > column else 0
            r.bottom = inside(p.height, p.top, y, in_)
            r.right = inside(p.width, p.left, column, columns)
            r.top, r.left = min(r.top, r.bottom), min(r.left, r.right)
            p.transform(&r, x + image * p.image + (y * p.width + column) * r.channels
                        - (p.top * p.width + p.left) * r.channels, v + (patch - first) * p.tile.pitch)
        for i in range(r.patches):
            places[i].at = ((image * p.out_height + y) * p.out_width + column) * p.units
            places[i].height = <int32_t>min(out, p.out_height - y)
            places[i].width = <int32_t>min(out, p.out_width - column)
            column += out
        places += r.patches
        patch += r.patches


cdef void dequantize_patches(const winograd_q8 *p, const nnf_winograd_q8_tile *tile, const dynamic_codes *from_,
                             size_t unit) noexcept nogil:
    """Values in place of the sums of a tile whose first column is `unit`: a row of neighbouring patches at a time."""
    cdef size_t patch = 0, end, pixels, i, area = p.out_height * p.out_width * p.units
    cdef const nnf_winograd_q8_place *place
    cdef const nnf_row_codes *image
    cdef int32_t *values
    cdef nnf_sum_scales by = p.by
    by.weights = from_.sums + unit
    by.scale += unit
    by.bias = from_.bias + unit
    while patch < tile.patches:
        place = tile.places + patch
        image = from_.images + place.at // area
        pixels, end = <size_t>place.width, patch + 1
        while end < tile.patches and tile.places[end].at == place.at + pixels * p.units \
                and from_.images + tile.places[end].at // area == image:
            pixels += <size_t>tile.places[end].width
            end += 1
        for i in range(<size_t>place.height):
            values = <int32_t *>tile.c + place.at + i * tile.row
            p.dequantize(pixels, tile.columns, values, tile.pixel, image, 0, &by, <float *>values, tile.pixel)
        patch = end


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
    cdef dynamic_codes from_
    from_.images, from_.sums, from_.bias = NULL, NULL, NULL
    if p.dequantize != NULL:
        from_.images = <const nnf_row_codes *>run.slot[step.slots[3]]
        from_.sums = <const int32_t *>run.slot[step.slots[4]]
        from_.bias = <const float *>run.slot[step.slots[5]]
    nnf_share(p.blocks * p.panels, thread, threads, &item, &end)
    while item < end:
        block = item // p.panels
        first = p.patches * block // p.blocks
        patches = p.patches * (block + 1) // p.blocks - first
        transform_block_q8(p, x, from_.images, first, first + patches, v, places, scratch + p.strip)
        tiles = (patches + p.m - 1) // p.m
        for panel in range(item - block * p.panels, min(p.panels, end - block * p.panels)):
            tile.w = <const int32_t *>(w + panel * p.panel)
            tile.columns = min(p.n, p.units - panel * p.n)
            tile.c = y + panel * p.n * p.bytes
            for t in range(tiles):
                row = patches * t // tiles
                tile.patches = patches * (t + 1) // tiles - row
                tile.v = v + row * tile.pitch
                tile.places = places + row
                p.multiply(&tile)
                if p.dequantize != NULL:
                    dequantize_patches(p, &tile, &from_, panel * p.n)
            item += 1


cdef str _tile_op(size_t out):
    return f"conv2d_winograd{out}_s16_qu8_tile"


cdef const nnf_kernel *tile_kernel(size_t out):
    return pick(_tile_op(out))


cdef double wide(const nnf_kernel *row, size_t units):
    """Columns of the panels of a kernel, which units do not fill."""
    cdef size_t half = row.n // 2
    return (units + half - 1) // half * half


cdef double weights_cost(double nbytes):
    cdef double larger = max(1.0, tuning().level2 / <double>WINOGRAD_Q8_LEVEL2)
    cdef double limit = 2.0 * tuning().level2, far, near
    if pick("conv2d_qu8_qs8c_nhwc").isa == NNF_ISA_AVX512VNNI:
        limit, far = limit / (larger * larger), WINOGRAD_Q8_FAR * larger
    else:
        far = WINOGRAD_Q8_FAR / larger
    near = min(nbytes, limit)
    return (WINOGRAD_Q8_NEAR * near + far * (nbytes - near)) / 2


cdef double winograd_q8_cost(size_t out, window, size_t batch, size_t units, size_t channels):
    """Of a whole convolution by patches of `out`, in multiply-adds of 16 bits."""
    cdef size_t height = window.output[0], width = window.output[1], stride = window.stride[0]
    cdef size_t patches = batch * ((height + out - 1) // out) * ((width + out - 1) // out)
    cdef double products = nnf_winograd_q8_products(out), columns = wide(tile_kernel(out), units)
    cdef double depth = 4 * nnf_winograd_q8_groups(channels * stride * stride)
    cdef double sum_ = WINOGRAD_Q8_SUM if adds_in_16_bits(tiles_of(False, units)) else WINOGRAD_Q8_SUM_BYTES
    cdef double transforms = WINOGRAD_Q8_OUT * columns \
        + WINOGRAD_Q8_IN * <double>nnf_winograd_q8_pitch(channels * stride * stride)
    if stride == 2:
        transforms += WINOGRAD_Q8_PHASE * depth
    return max(patches, <size_t>WINOGRAD_Q8_FEW) * products * (depth + sum_) * columns \
        + patches * out * out * transforms + weights_cost(sizeof(int16_t) * products * depth * columns)


cdef double plain_cost(window, size_t batch, size_t units, size_t channels):
    """The same of plain products, of which those of bytes count half."""
    cdef const nnf_kernel *row = tiles_of(False, units)
    cdef double outputs = batch * window.output[0] * window.output[1], columns = wide(row, units)
    cdef double weights = 4 * nnf_winograd_q8_groups(window.filter[0] * window.filter[1] * channels) * columns
    cdef double products = weights if adds_in_16_bits(row) else weights / 2
    if row.fn != pick("conv2d_qu8_qs8c_nhwc").fn:
        products *= PLAIN_Q8_FEW / 10.0
    return outputs * (products + PLAIN_Q8_OUT * columns + PLAIN_Q8_GATHER) + weights_cost(weights)


cdef bint has_kernel(size_t out):
    """Whether patches of `out` have a kernel of the fastest products in 16 bits; scalar ones are for comparison."""
    cdef const nnf_kernel *kernel = tile_kernel(out)
    return kernel.isa != pick_scalar(_tile_op(out)).isa and kernel.isa == pick("conv2d_qu8_qs8c_nhwc").isa


cdef bint is_window_of(size_t out, window):
    """Whether a convolution is one of the taps of patches of `out`, or as much as that, in pixels of stride 1."""
    if window.dilation != (1, 1) or window.stride not in ((1, 1), (2, 2)):
        return False
    size, taps = dense_window(window)[0], nnf_winograd_q8_taps(out)
    return max(size) == taps and min(size) >= taps - 1


def winograd_q8_taps(size_t out):
    """Taps on a side of the filters of patches of `out`."""
    return nnf_winograd_q8_taps(out)


def winograd_q8_patches(window, size_t batch, size_t units, size_t channels):
    """By which patches a convolution can and should run as this step, at the level in force.

    Sides of their outputs, the fastest first: none, or some of 2, 3 and 4.
    """
    cdef size_t out
    cdef double cost
    found = []
    if window.filter == (1, 1):
        return ()
    for out in (NNF_WINOGRAD_Q8_2, NNF_WINOGRAD_Q8_3, NNF_WINOGRAD_Q8_4):
        if is_window_of(out, window) and has_kernel(out):
            cost = winograd_q8_cost(out, window, batch, units, channels)
            if cost < plain_cost(window, batch, units, channels) \
                    and (out != NNF_WINOGRAD_Q8_2
                         or channels * window.stride[0] * window.stride[1] <= NNF_WINOGRAD_Q8_CHANNELS):
                found.append((cost, out))
    return tuple(out for cost, out in sorted(found))


cdef bint is_exact(const uint8_t *weights, size_t depth, int flip, int zero_point, int far,
                   int64_t most) noexcept nogil:
    """Whether no weight of a unit, without its sign, is above `far`, and all add up to `most` at most."""
    cdef int64_t total = 0
    cdef int largest = 0, weight
    cdef size_t i
    for i in range(depth):
        weight = abs((weights[i] ^ flip) - zero_point)
        total += weight
        largest = max(largest, weight)
    return total <= most and largest <= far


def patches_are_exact(size_t out, filter_, int zero_point, bint signed_input):
    """Whether sums of a filter [units, height, width, channels] of codes with this zero point are exact by patches of
    `out`, for any input; for those of 2 they always are."""
    cdef const uint8_t[:, :, :, ::1] codes = filter_.view(np.uint8)
    cdef size_t unit, depth = codes.shape[1] * codes.shape[2] * codes.shape[3]
    cdef int64_t most = nnf_winograd_q8_most(signed_input)
    cdef int flip = 0x80 if filter_.dtype == np.int8 else 0, zero = zero_point + flip, far = nnf_winograd_q8_far(out)
    cdef int farthest = max(zero, 255 - zero)
    cdef bint exact = out == NNF_WINOGRAD_Q8_2 or farthest <= far and <int64_t>(depth * farthest) <= most
    if not exact:
        with nogil:
            exact = True
            for unit in range(codes.shape[0]):
                exact = exact and is_exact(&codes[unit, 0, 0, 0], depth, flip, zero, far, most)
    return exact


cdef inline size_t packed_size_q8(size_t out, size_t units, size_t channels, size_t n) noexcept nogil:
    return lines(nnf_pack_conv2d_q8_size(units, nnf_winograd_q8_depth(out, channels), n, NNF_CONV2D_Q8_GROUP))


def pack_winograd_q8(size_t out, filter_, const int32_t[::1] bias, int weight_zero_point, int input_zero_point,
                     const int32_t[::1] multiplier, const int32_t[::1] exponent):
    """Filter [units, taps, taps, channels], uint8 or int8, as dense_filter makes it, for patches of out x out outputs
    and the kernel that a step made now will run; uint8 array.

    bias, multiplier, exponent: int32 [units]; the zero points are those of the operands.
    """
    cdef const nnf_kernel *row = tile_kernel(out)
    cdef const uint8_t[:, :, :, ::1] codes = filter_.view(np.uint8)
    cdef size_t units = codes.shape[0], channels = codes.shape[3], packed = packed_size_q8(out, units, channels, row.n)
    cdef size_t size = nnf_pack_conv2d_q8_size(units, nnf_winograd_q8_depth(out, channels), row.n, NNF_CONV2D_Q8_GROUP)
    cdef nnf_conv2d_q8_scheme scheme = scheme_of(filter_.dtype, weight_zero_point, input_zero_point, False)
    made = aligned_bytes(packed)
    cdef unsigned char[::1] to = made
    scheme.bias, scheme.multiplier, scheme.exponent = &bias[0], &multiplier[0], &exponent[0]
    with nogil:
        nnf_pack_conv2d_winograd_q8(out, units, channels, row.n, &codes[0, 0, 0, 0], &scheme, &to[0])
        clear_rest(&to[0], size, packed)
    return made


def fits_winograd_q8(size_t out, packed, size_t units, size_t channels):
    """Whether an array has the form of what pack_winograd_q8 returns, and does no harm whatever it holds. channels: of
    pixels of stride 1."""
    cdef const uint8_t[::1] codes = packed
    cdef size_t n = tile_kernel(out).n, depth = nnf_winograd_q8_depth(out, channels)
    cdef bint fits = <size_t>codes.shape[0] == packed_size_q8(out, units, channels, n)
    return fits and nnf_fits_conv2d_q8(units, depth, n, NNF_CONV2D_Q8_GROUP, &codes[0])


cdef class Conv2dWinogradQ8(Step):
    """y = requantize(conv(x, filter) + bias), 8-bit codes, NHWC; slots x, packed weights, y.

    window, batch, channels, units, input_zero_point, output, signed: as Conv2dQ8, the window with dilation 1 and the
    same stride of 1 or 2 both ways; values: as there, for float32 results, of weights that were packed without bias.
    patch: outputs of a patch on a side: 2 or 4 for filters of 3x3, 3 for those of 4x4 pixels of stride 1; 2 for at most
    917 channels of such pixels, others for weights with patches_are_exact.
    """

    cdef winograd_q8 p

    def __init__(self, slots, window, size_t batch, size_t channels, size_t units, int input_zero_point, output,
                 bint signed, size_t patch, values=None):
        if patch not in (NNF_WINOGRAD_Q8_2, NNF_WINOGRAD_Q8_3, NNF_WINOGRAD_Q8_4):
            raise ValueError(f"the patch is {patch}, must be 2, 3 or 4")
        cdef const nnf_kernel *row = tile_kernel(patch)
        cdef const nnf_kernel *transform = pick(f"conv2d_winograd{patch}_input_qu8_s16_nhwc")
        cdef winograd_q8 *p = &self.p
        cdef const float[::1] scales
        cdef int shift = 128 if signed else 0
        cdef size_t block, most, bytes_, products = nnf_winograd_q8_products(patch)
        if not is_window_of(patch, window):
            raise ValueError(f"the window is {window}, must be of the taps of patches of {patch}")
        p.stride, p.image = window.stride[0], window.input[0] * window.input[1] * channels
        p.pixels.height, p.pixels.width = window.input
        p.pixels.channels, p.pixels.pad = channels, <uint8_t>(input_zero_point & 0xFF)
        channels *= p.stride * p.stride
        if patch == NNF_WINOGRAD_Q8_2 and channels > NNF_WINOGRAD_Q8_CHANNELS:
            raise ValueError(f"{channels} channels, must be at most {NNF_WINOGRAD_Q8_CHANNELS}")
        p.multiply = <nnf_conv2d_winograd_s16_qu8_tile_fn>row.fn
        p.transform = <nnf_conv2d_winograd_input_qu8_s16_nhwc_fn>transform.fn
        p.out, p.batch, p.units = patch, batch, units
        p.height, p.width = window.input
        p.out_height, p.out_width = window.output
        p.top, p.left = dense_window(window)[1]
        p.m, p.n = row.m, row.n
        p.panels = (units + p.n - 1) // p.n
        p.across = (p.out_width + patch - 1) // patch
        p.down = (p.out_height + patch - 1) // patch
        p.patches = batch * p.down * p.across
        p.panel = nnf_conv2d_q8_panel(p.n, nnf_winograd_q8_depth(patch, channels) // NNF_CONV2D_Q8_GROUP)
        self.packed = packed_size_q8(patch, units, channels, p.n)
        p.tile.pitch, p.tile.groups = nnf_winograd_q8_pitch(channels), nnf_winograd_q8_groups(channels)
        bytes_ = products * p.tile.pitch * sizeof(int16_t)
        # Few weights may pass by again for every tile; then the inputs of one stay in level 1.
        block = tuning().winograd_nearest if p.panels * p.panel <= tuning().winograd_few else tuning().winograd_near
        block = max(<size_t>1, block // bytes_ // p.m) * p.m
        p.blocks = max(<size_t>1, (p.patches + block - 1) // block)
        most = (p.patches + p.blocks - 1) // p.blocks
        p.run.channels, p.run.row = channels, p.width * channels
        p.run.stride = p.tile.stride = most * p.tile.pitch + APART_Q8
        p.run.is_signed, p.run.pad = signed, input_zero_point
        p.tile.row, p.tile.pixel = p.out_width * units, units
        p.tile.zero_point, p.tile.lo, p.tile.hi = (value + shift for value in output)
        p.tile.flip = 0x80 if signed else 0
        p.bytes = 1
        if values is not None:
            scales, p.by.by_rows, p.by.lo, p.by.hi = values
            if <size_t>scales.shape[0] != units:
                raise ValueError("there must be a scale for each unit")
            self.keep = values
            p.by.scale = &scales[0]
            p.dequantize = <nnf_dequantize_s32_f32_rows_fn>pick("dequantize_s32_f32_rows").fn
            p.bytes, p.tile.raw = sizeof(float), True
        p.inputs = lines(most * sizeof(nnf_winograd_q8_place))
        p.strip = p.inputs + lines(products * p.tile.stride * sizeof(int16_t))
        self.scratch = p.strip
        if p.stride == 2:
            self.scratch += nnf_winograd_q8_in(patch) * (patch * min(p.across, most) + nnf_winograd_q8_taps(patch)) \
                * channels
        self.work = <double>batch * p.out_height * p.out_width * units * channels * nnf_winograd_q8_taps(patch)**2
        self.tiles = <int>min(<double>(p.blocks * p.panels), self.work / CONV_GRAIN + 1)
        self.part = PART_PRODUCTS
        self.bind(run_winograd_q8, &self.p, slots, f"{transform.name.decode()} + {row.name.decode()}")
