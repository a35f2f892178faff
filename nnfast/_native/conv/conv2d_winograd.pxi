"""Step of a 3x3 CONV_2D with stride 1 in float32 by Winograd's F(4x4, 3x3) (csrc/kernels/conv2d_winograd).

The output is cut into patches of 4x4, the patches into blocks, the output channels into the panels of the convolution
kernel. For a block the inputs of all patches are transformed once; then each panel takes 36 matrix products, which are
transformed into outputs while they are in the cache. A thread does a contiguous share of the (block, panel) pairs.

An infinity or a NaN in the input, or an overflow on the way, would spread over a patch: outputs of a patch that is not
all finite are computed again, product by product.
"""

from .engine cimport PART_PRODUCTS, Step
from .kernels cimport NNF_ISA_AVX512, nnf_kernel, pick, tuning
from .threads cimport nnf_run, nnf_share, nnf_step

from .engine import aligned_bytes


cdef extern from "conv2d_winograd/conv2d_winograd.h":
    enum:
        NNF_WINOGRAD_OUT
        NNF_WINOGRAD_IN
        NNF_WINOGRAD_PRODUCTS

    ctypedef struct nnf_winograd_patch:
        size_t channels
        size_t row
        size_t pixel
        size_t stride
        size_t top
        size_t bottom
        size_t left
        size_t right

    ctypedef void (*nnf_conv2d_winograd_input_f32_nhwc_fn)(const nnf_winograd_patch *p, const float *x,
                                                           float *v) noexcept nogil

    ctypedef struct nnf_winograd_result:
        size_t channels
        size_t row
        size_t pixel
        size_t stride
        size_t height
        size_t width
        float lo
        float hi

    ctypedef int (*nnf_conv2d_winograd_output_f32_nhwc_fn)(const nnf_winograd_result *p, const float *m,
                                                           const float *bias, float *y) noexcept nogil
    void nnf_pack_conv2d_winograd_f32(size_t units, size_t channels, size_t n, size_t panel, const float *filter,
                                      float *packed) nogil

cdef extern from "math.h":
    float INFINITY

cdef enum:
    APART = 16          # floats between the matrices of a block: powers of two would fall into the same cache sets
    WINOGRAD_ROWS = 16           # most rows of a convolution tile
    WINOGRAD_NARROWEST = 16      # channels and units: fewer waste the width of the kernels
    # What else costs time, in multiply-adds, fitted to 234 layers at each of AVX2 and AVX-512 (Emerald Rapids): a sum
    # of products, to begin and to store, there and in plain products; of each output its share of the transforms, for
    # each channel and unit. Fewer patches than WINOGRAD_FEW take no less time.
    WINOGRAD_SUM = 8
    PLAIN_SUM = 8
    WINOGRAD_TRANSFORM = 12
    WINOGRAD_FEW = 2
    # A byte of weights costs a quarter where half of level 2 holds them, one behind that; at AVX-512 a half and one and
    # a half, and twice that with a level 2 of twice this size: there products run at twice the rate, and what lies
    # behind is slow. More than WINOGRAD_MOST may come from memory in every run.
    WINOGRAD_LEVEL2 = 1 << 20
    WINOGRAD_MOST = 16 << 20


cdef struct winograd:
    nnf_conv2d_f32_nhwc_fn multiply
    nnf_conv2d_winograd_input_f32_nhwc_fn transform
    nnf_conv2d_winograd_output_f32_nhwc_fn finish
    size_t batch, height, width, channels           # of the input
    size_t out_height, out_width, units
    size_t top, left                                # padding
    size_t across, patches, blocks, panels          # patches of a row, of everything
    size_t most                                     # patches of the largest block
    size_t m, n, panel                              # of the convolution kernel; floats of a packed matrix
    bint many                                       # weights: they are fetched ahead of the products
    size_t products                                 # offset of the products in the scratch, behind the inputs
    const float *bias
    const float *filter                             # [units, 3, 3, channels]
    float lo, hi


cdef void patch_of(const winograd *p, size_t patch, size_t *image, size_t *y, size_t *x) noexcept nogil:
    """Image of a patch, row and column of its first output."""
    cdef size_t row = patch // p.across, down = (p.out_height + NNF_WINOGRAD_OUT - 1) // NNF_WINOGRAD_OUT
    x[0] = (patch - row * p.across) * NNF_WINOGRAD_OUT
    image[0] = row // down
    y[0] = (row - image[0] * down) * NNF_WINOGRAD_OUT


cdef void transform_block(const winograd *p, const float *x, size_t first, size_t last, float *v) noexcept nogil:
    """Inputs of patches first..last-1, as matrices [36][patches][channels]."""
    cdef nnf_winograd_patch w
    cdef size_t patch, image, y, column
    w.channels = w.pixel = p.channels
    w.row = p.width * p.channels
    w.stride = p.most * p.channels + APART
    for patch in range(first, last):
        patch_of(p, patch, &image, &y, &column)
        # The patch begins `top` rows above and `left` columns before its first output.
        w.top = p.top - y if p.top > y else 0
        w.left = p.left - column if p.left > column else 0
        w.bottom = min(p.height + p.top - y, NNF_WINOGRAD_IN) if p.height + p.top > y else 0
        w.right = min(p.width + p.left - column, NNF_WINOGRAD_IN) if p.width + p.left > column else 0
        w.top, w.left = min(w.top, w.bottom), min(w.left, w.right)
        p.transform(&w, x + ((image * p.height + y) * p.width + column) * p.channels
                    - (p.top * p.width + p.left) * p.channels, v + (patch - first) * p.channels)


cdef void multiply_panel(const winograd *p, const float *v, const float *w, size_t patches, bint streamed,
                         float *products) noexcept nogil:
    """36 products [patches][n] of the block's inputs with the matrices of one panel."""
    cdef const float *a[WINOGRAD_ROWS]
    cdef nnf_conv2d_f32_tile tile
    cdef size_t k, r, row, t, reach, tiles = (patches + p.m - 1) // p.m, size = p.panel * sizeof(float)
    cdef size_t pace = nnf_conv2d_f32_pace(size, tiles, 1, p.channels) if streamed else 0
    cdef const float *matrix
    tile.columns = tile.ldc = p.n
    tile.taps = 1
    tile.depth = p.channels
    tile.a = a
    tile.lo, tile.hi, tile.first = -INFINITY, INFINITY, 0
    for k in range(NNF_WINOGRAD_PRODUCTS):
        matrix = v + k * (p.most * p.channels + APART)
        tile.w = w + k * p.panel
        for t in range(tiles):
            row = patches * t // tiles
            tile.rows = patches * (t + 1) // tiles - row
            for r in range(tile.rows):
                a[r] = matrix + (row + r) * p.channels
            tile.c = products + (k * p.most + row) * p.n
            reach = t * nnf_conv2d_f32_fetched(1, p.channels, pace)
            tile.prefetch = <const char *>tile.w + size + reach
            tile.lines = pace if reach < size else 0
            p.multiply(&tile)


cdef void finish_panel(const winograd *p, const float *x, const float *products, size_t first, size_t last,
                       size_t panel, float *y) noexcept nogil:
    """Outputs of patches first..last-1 in the channels of one panel."""
    cdef nnf_winograd_result w
    cdef size_t patch, image, row, column, unit = panel * p.n
    w.channels = min(p.n, p.units - unit)
    w.pixel = p.units
    w.row = p.out_width * p.units
    w.stride = p.most * p.n
    w.lo, w.hi = p.lo, p.hi
    for patch in range(first, last):
        patch_of(p, patch, &image, &row, &column)
        w.height = min(NNF_WINOGRAD_OUT, p.out_height - row)
        w.width = min(NNF_WINOGRAD_OUT, p.out_width - column)
        if not p.finish(&w, products + (patch - first) * p.n, p.bias + unit,
                        y + ((image * p.out_height + row) * p.out_width + column) * p.units + unit):
            plain_patch(p, &w, x, image, row, column, unit, y)


cdef void plain_patch(const winograd *p, const nnf_winograd_result *w, const float *x, size_t image, size_t row,
                      size_t column, size_t unit, float *y) noexcept nogil:
    """Outputs of one patch from products of inputs and filter."""
    cdef size_t i, j, u, fy, fx, c, iy, ix
    cdef float total
    cdef const float *a
    cdef const float *f
    for i in range(row, row + w.height):
        for j in range(column, column + w.width):
            for u in range(unit, unit + w.channels):
                total = p.bias[u]
                for fy in range(3):
                    for fx in range(3):
                        # Above and before the image these wrap around, and are beyond it too.
                        iy = i + fy - p.top
                        ix = j + fx - p.left
                        if iy < p.height and ix < p.width:
                            a = x + ((image * p.height + iy) * p.width + ix) * p.channels
                            f = p.filter + ((u * 3 + fy) * 3 + fx) * p.channels
                            for c in range(p.channels):
                                total += a[c] * f[c]
                y[((image * p.out_height + i) * p.out_width + j) * p.units + u] = \
                    p.lo if total < p.lo else p.hi if total > p.hi else total


cdef void run_winograd(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const winograd *p = <const winograd *>step.params
    cdef const float *x = <const float *>run.slot[step.slots[0]]
    cdef const float *w = <const float *>run.slot[step.slots[1]]
    cdef float *y = <float *>run.slot[step.slots[2]]
    cdef unsigned char *scratch = run.scratch + thread * run.scratch_stride
    cdef float *v = <float *>scratch
    cdef float *products = <float *>(scratch + p.products)
    cdef size_t item, end, block, panel, first, last
    nnf_share(p.blocks * p.panels, thread, threads, &item, &end)
    while item < end:
        block = item // p.panels
        first, last = p.patches * block // p.blocks, p.patches * (block + 1) // p.blocks
        transform_block(p, x, first, last, v)
        for panel in range(item - block * p.panels, min(p.panels, end - block * p.panels)):
            multiply_panel(p, v, w + panel * NNF_WINOGRAD_PRODUCTS * p.panel, last - first, p.many, products)
            finish_panel(p, x, products, first, last, panel, y)
            item += 1


cdef double weights_cost_f32(double nbytes):
    cdef double larger = max(1.0, tuning().level2 / <double>WINOGRAD_LEVEL2), near, middle
    cdef double cost = 0.5, far = 2
    if pick("conv2d_f32_nhwc").isa == NNF_ISA_AVX512:
        cost, far = larger, 3 * larger
    near = min(nbytes, tuning().level2 / 2.0)
    middle = min(nbytes, <double>WINOGRAD_MOST) - near
    return (cost * near + far * max(middle, 0.0) + (far + 4) * max(nbytes - WINOGRAD_MOST, 0.0)) / 2


def winograd_suits(window, size_t batch, size_t units, size_t channels):
    """Whether a convolution can and should run as this step."""
    if window.filter != (3, 3) or window.stride != (1, 1) or window.dilation != (1, 1):
        return False
    cdef const nnf_kernel *row = pick("conv2d_f32_nhwc")
    if channels < WINOGRAD_NARROWEST or units < WINOGRAD_NARROWEST \
            or pick("conv2d_winograd_input_f32_nhwc").isa != row.isa:
        return False
    cdef double outputs = batch * window.output[0] * window.output[1], columns = wide(row, units)
    cdef double patches = batch * ((window.output[0] + 3) // 4) * ((window.output[1] + 3) // 4)
    cdef double sums = max(patches, <double>WINOGRAD_FEW) * NNF_WINOGRAD_PRODUCTS * columns
    cdef double transforms = patches * NNF_WINOGRAD_OUT**2 * WINOGRAD_TRANSFORM * (channels + units)
    cdef double weights = sizeof(float) * channels * columns
    return sums * (channels + WINOGRAD_SUM) + transforms + weights_cost_f32(NNF_WINOGRAD_PRODUCTS * weights) \
        < outputs * (9.0 * channels + PLAIN_SUM) * columns + weights_cost_f32(9 * weights)


cdef inline size_t panel_bytes(size_t channels, size_t n) noexcept nogil:
    return lines(sizeof(float) * n * (channels + 1))


def packed_bytes_winograd(size_t units, size_t channels):
    """Size of what pack_winograd_f32 returns."""
    cdef size_t n = pick("conv2d_f32_nhwc").n
    return (units + n - 1) // n * NNF_WINOGRAD_PRODUCTS * panel_bytes(channels, n)


def pack_winograd_f32(const float[:, :, :, ::1] filter):
    """Filter [units, 3, 3, channels] for the kernel that a step made now will run; uint8 array."""
    cdef const nnf_kernel *row = pick("conv2d_f32_nhwc")
    cdef size_t units = filter.shape[0], channels = filter.shape[3]
    packed = aligned_bytes(packed_bytes_winograd(units, channels))
    cdef unsigned char[::1] to = packed
    with nogil:
        nnf_pack_conv2d_winograd_f32(units, channels, row.n, panel_bytes(channels, row.n) // sizeof(float),
                                     &filter[0, 0, 0, 0], <float *>&to[0])
    return packed


cdef class Conv2dWinogradF32(Step):
    """y = clamp(conv(x, filter) + bias, lo, hi) in float32, NHWC, of a 3x3 filter with stride and dilation 1; slots
    x, packed weights, y.

    window: an ops.window.Window; batch: of the input; filter: [units, 3, 3, channels]; bias: [units].
    """

    cdef winograd p

    def __init__(self, slots, window, size_t batch, const float[:, :, :, ::1] filter, const float[::1] bias, float lo,
                 float hi):
        cdef const nnf_kernel *row = pick("conv2d_f32_nhwc")
        cdef const nnf_kernel *transform = pick("conv2d_winograd_input_f32_nhwc")
        cdef winograd *p = &self.p
        cdef size_t near, block
        if window.filter != (3, 3) or window.stride != (1, 1) or window.dilation != (1, 1):
            raise ValueError(f"the window is {window}, must be 3x3 with stride and dilation 1")
        p.multiply = <nnf_conv2d_f32_nhwc_fn>row.fn
        p.transform = <nnf_conv2d_winograd_input_f32_nhwc_fn>transform.fn
        p.finish = <nnf_conv2d_winograd_output_f32_nhwc_fn>pick("conv2d_winograd_output_f32_nhwc").fn
        p.batch, p.channels, p.units = batch, filter.shape[3], filter.shape[0]
        p.height, p.width = window.input
        p.out_height, p.out_width = window.output
        p.top, p.left = window.head
        p.m, p.n = row.m, row.n
        p.panel = panel_bytes(p.channels, p.n) // sizeof(float)
        p.panels = (p.units + p.n - 1) // p.n
        p.across = (p.out_width + NNF_WINOGRAD_OUT - 1) // NNF_WINOGRAD_OUT
        p.patches = batch * ((p.out_height + NNF_WINOGRAD_OUT - 1) // NNF_WINOGRAD_OUT) * p.across
        self.packed = packed_bytes_winograd(p.units, p.channels)
        if p.m > WINOGRAD_ROWS:
            raise ValueError(f"tiles of {p.m} rows, must be at most {WINOGRAD_ROWS}")
        p.many = self.packed > tuning().winograd_many
        near = tuning().winograd_roomy if p.many else tuning().winograd_near
        block = near // (NNF_WINOGRAD_PRODUCTS * p.channels * sizeof(float)) // p.m * p.m
        block = max(block, p.m)
        p.blocks = max(1, (p.patches + block - 1) // block)
        p.most = (p.patches + p.blocks - 1) // p.blocks
        p.bias, p.filter = &bias[0], &filter[0, 0, 0, 0]
        p.lo, p.hi = lo, hi
        self.keep = filter, bias
        p.products = lines(NNF_WINOGRAD_PRODUCTS * (p.most * p.channels + APART) * sizeof(float))
        self.scratch = p.products + NNF_WINOGRAD_PRODUCTS * p.most * p.n * sizeof(float)
        self.work = <double>batch * p.out_height * p.out_width * p.units * p.channels * 9
        self.tiles = <int>min(<double>(p.blocks * p.panels), self.work / CONV_GRAIN + 1)
        self.part = PART_PRODUCTS
        self.bind(run_winograd, &self.p, slots, f"{transform.name.decode()} + {row.name.decode()}")
