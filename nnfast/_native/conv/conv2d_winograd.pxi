"""Step of a CONV_2D with stride 1 in float32 by Winograd's F(4x4, 3x3), or by F(4, 3) of a line of 3 taps
(csrc/kernels/conv2d_winograd).

The output is cut into patches of 4x4 or 4, the patches into blocks, the output channels into the panels of the
convolution kernel. For a block the inputs of all patches are transformed once; then each panel takes 36 or 6 matrix
products, which are transformed into outputs while they are in the cache. A thread does a contiguous share of the
(block, panel) pairs. With a dilation of d the outputs of a patch are d apart: phases of the image are convolved side by
side.

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
        int is_line

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
        int is_line

    ctypedef int (*nnf_conv2d_winograd_output_f32_nhwc_fn)(const nnf_winograd_result *p, const float *m,
                                                           const float *bias, float *y) noexcept nogil
    void nnf_pack_conv2d_winograd_f32(int is_line, size_t units, size_t channels, size_t n, size_t panel,
                                      const float *filter, float *packed) nogil
    size_t nnf_winograd_products(int is_line) nogil

cdef extern from "math.h":
    float INFINITY

cdef enum:
    APART = 16          # floats between the matrices of a block: powers of two would fall into the same cache sets
    WINOGRAD_ROWS = 16           # most rows of a convolution tile
    WINOGRAD_NARROWEST = 16      # channels and units: fewer waste the width of the kernels
    # What else costs time, in multiply-adds, fitted to 234 layers of 3x3 and 45 of 1x3 at each of AVX2 and AVX-512
    # (Emerald Rapids): a sum of products, to begin and to store, there and in plain products; of each output its share
    # of the transforms, for each channel and unit; a patch, once for its inputs and for each panel of outputs. Fewer
    # patches than WINOGRAD_FEW take no less time.
    WINOGRAD_SUM = 8
    PLAIN_SUM = 8
    WINOGRAD_TRANSFORM = 6
    WINOGRAD_PATCH = 4000
    WINOGRAD_LINE_TRANSFORM = 8
    WINOGRAD_LINE_PATCH = 1500
    WINOGRAD_FEW = 2
    # Weights up to where they are near in most runs, and up to where they may come from memory in every run. Fixed, for
    # floats must not depend on the machine's caches.
    WINOGRAD_NEAR = 1 << 20
    WINOGRAD_MOST = 16 << 20


cdef struct winograd_axis:
    size_t size, out, head          # of the input, of the output, padding before the first
    size_t taps, step               # of the filter, and from one to the next
    size_t outputs, inputs          # of a patch, `step` from each other; both 1 where there is one tap
    size_t blocks, count            # patches of a phase, and of all `step` phases


cdef struct winograd_reach:
    size_t first, made              # output of a patch, and how many
    size_t low, high                # which of its inputs are inside


cdef struct winograd:
    nnf_conv2d_f32_nhwc_fn multiply
    nnf_conv2d_winograd_input_f32_nhwc_fn transform
    nnf_conv2d_winograd_output_f32_nhwc_fn finish
    winograd_axis down, across
    bint is_line, is_upright                        # 3 taps side by side or one above the other
    size_t matrices                                 # products of a patch
    size_t batch, channels, units
    size_t patches, blocks, panels                  # of everything
    size_t most                                     # patches of the largest block
    size_t m, n, panel                              # of the convolution kernel; floats of a packed matrix
    bint many                                       # weights: they are fetched ahead of the products
    size_t products                                 # offset of the products in the scratch, behind the inputs
    const float *bias
    const float *filter                             # [units, down.taps, across.taps, channels]
    float lo, hi


cdef winograd_axis made_axis(size_t size, size_t out, size_t head, size_t taps, size_t step):
    cdef winograd_axis a
    a.size, a.out, a.head, a.taps = size, out, head, taps
    a.step = step if taps > 1 else 1
    a.outputs = NNF_WINOGRAD_OUT if taps > 1 else 1
    a.inputs = NNF_WINOGRAD_IN if taps > 1 else 1
    a.blocks = ((out + a.step - 1) // a.step + a.outputs - 1) // a.outputs
    a.count = a.step * a.blocks
    return a


cdef inline size_t steps(size_t distance, size_t step, size_t most) noexcept nogil:
    """Steps that reach a distance, at most so many."""
    if step > 1:    # a division for each patch is worth avoiding
        distance = (distance + step - 1) // step
    return min(distance, most)


cdef inline winograd_reach reach_of(const winograd_axis *a, size_t place) noexcept nogil:
    cdef winograd_reach r
    r.first = place // a.blocks + place % a.blocks * a.outputs * a.step
    r.made = steps(a.out - r.first, a.step, a.outputs) if a.out > r.first else 0
    # The inputs begin `head` before the first output.
    r.high = steps(a.size + a.head - r.first, a.step, a.inputs) if a.size + a.head > r.first else 0
    r.low = steps(a.head - r.first, a.step, r.high) if a.head > r.first else 0
    return r


cdef size_t patch_of(const winograd *p, size_t patch, winograd_reach *y, winograd_reach *x) noexcept nogil:
    """Image of a patch, and its reach along both axes."""
    cdef size_t row = patch // p.across.count, image = row // p.down.count
    x[0] = reach_of(&p.across, patch - row * p.across.count)
    y[0] = reach_of(&p.down, row - image * p.down.count)
    return image


cdef void transform_block(const winograd *p, const float *x, size_t first, size_t last, float *v) noexcept nogil:
    """Inputs of patches first..last-1, as matrices [matrices][patches][channels]."""
    cdef nnf_winograd_patch w
    cdef winograd_reach y, column, line, other
    cdef size_t patch, image, row = p.across.size * p.channels
    w.channels = p.channels
    w.stride = p.most * p.channels + APART
    w.is_line = p.is_line
    w.row, w.pixel = p.down.step * row, p.across.step * p.channels
    if p.is_upright:
        w.pixel = w.row
    for patch in range(first, last):
        image = patch_of(p, patch, &y, &column)
        line, other = column, y
        if p.is_upright:
            line, other = y, column
        w.left, w.right, w.top, w.bottom = line.low, line.high, other.low, other.high
        p.transform(&w, x + (image * p.down.size + y.first) * row + column.first * p.channels
                    - p.down.head * row - p.across.head * p.channels, v + (patch - first) * p.channels)


cdef void multiply_panel(const winograd *p, const float *v, const float *w, size_t patches, bint streamed,
                         float *products) noexcept nogil:
    """Products [patches][n] of the block's inputs with all matrices of one panel."""
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
    for k in range(p.matrices):
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
    cdef winograd_reach row, column
    cdef size_t patch, image, unit = panel * p.n
    w.channels = min(p.n, p.units - unit)
    w.stride = p.most * p.n
    w.lo, w.hi, w.is_line = p.lo, p.hi, p.is_line
    w.row, w.pixel = p.down.step * p.across.out * p.units, p.across.step * p.units
    if p.is_upright:
        w.pixel = w.row
    for patch in range(first, last):
        image = patch_of(p, patch, &row, &column)
        if row.made == 0 or column.made == 0:
            continue
        w.height, w.width = (column.made, row.made) if p.is_upright else (row.made, column.made)
        if not p.finish(&w, products + (patch - first) * p.n, p.bias + unit,
                        y + ((image * p.down.out + row.first) * p.across.out + column.first) * p.units + unit):
            plain_patch(p, x, image, &row, &column, unit, w.channels, y)


cdef void plain_patch(const winograd *p, const float *x, size_t image, const winograd_reach *row,
                      const winograd_reach *column, size_t unit, size_t units, float *y) noexcept nogil:
    """Outputs of one patch from products of inputs and filter."""
    cdef size_t i, j, u, fy, fx, c, iy, ix, down, across
    cdef float total
    cdef const float *a
    cdef const float *f
    for down in range(row.made):
        i = row.first + down * p.down.step
        for across in range(column.made):
            j = column.first + across * p.across.step
            for u in range(unit, unit + units):
                total = p.bias[u]
                for fy in range(p.down.taps):
                    for fx in range(p.across.taps):
                        # Above and before the image these wrap around, and are beyond it too.
                        iy = i + fy * p.down.step - p.down.head
                        ix = j + fx * p.across.step - p.across.head
                        if iy < p.down.size and ix < p.across.size:
                            a = x + ((image * p.down.size + iy) * p.across.size + ix) * p.channels
                            f = p.filter + ((u * p.down.taps + fy) * p.across.taps + fx) * p.channels
                            for c in range(p.channels):
                                total += a[c] * f[c]
                y[((image * p.down.out + i) * p.across.out + j) * p.units + u] = \
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
            multiply_panel(p, v, w + panel * p.matrices * p.panel, last - first, p.many, products)
            finish_panel(p, x, products, first, last, panel, y)
            item += 1


cdef double weights_cost_f32(double nbytes):
    cdef double near = min(nbytes, <double>WINOGRAD_NEAR), middle = min(nbytes, <double>WINOGRAD_MOST) - near
    cdef double far = nbytes - near - middle
    if pick("conv2d_f32_nhwc").isa == NNF_ISA_AVX512:
        return near + 3 * middle + 5 * far
    return near / 4 + middle + 3 * far


cdef bint is_line_of(filter_) except -1:
    """Whether a filter of this height and width is a line of taps, not a square."""
    return filter_[0] == 1 or filter_[1] == 1


cdef bint is_window_of_3(window) except -1:
    return window.filter in ((3, 3), (1, 3), (3, 1)) and window.stride == (1, 1)


cdef winograd_axis axis_of_window(window, int which):
    return made_axis(window.input[which], window.output[which], window.head[which], window.filter[which],
                     window.dilation[which])


def winograd_suits(window, size_t batch, size_t units, size_t channels):
    """Whether a convolution can and should run as this step."""
    cdef const nnf_kernel *row = pick("conv2d_f32_nhwc")
    if not is_window_of_3(window) or channels < WINOGRAD_NARROWEST or units < WINOGRAD_NARROWEST \
            or pick("conv2d_winograd_input_f32_nhwc").isa != row.isa:
        return False
    cdef bint is_line = is_line_of(window.filter)
    cdef size_t products = nnf_winograd_products(is_line)
    cdef double taps = window.filter[0] * window.filter[1]
    cdef double outputs = batch * window.output[0] * window.output[1], columns = wide(row, units)
    cdef double patches = <double>batch * axis_of_window(window, 0).count * axis_of_window(window, 1).count
    cdef double sums = max(patches, <double>WINOGRAD_FEW) * products * columns
    cdef double calls = 1 + (units + row.n - 1) // row.n, patch
    if is_line:
        patch = NNF_WINOGRAD_OUT * WINOGRAD_LINE_TRANSFORM * (channels + units) + WINOGRAD_LINE_PATCH * calls
    else:
        patch = NNF_WINOGRAD_OUT**2 * WINOGRAD_TRANSFORM * (channels + units) + WINOGRAD_PATCH * calls
    cdef double weights = sizeof(float) * channels * columns
    return sums * (channels + WINOGRAD_SUM) + patches * patch + weights_cost_f32(products * weights) \
        < outputs * (taps * channels + PLAIN_SUM) * columns + weights_cost_f32(taps * weights)


cdef inline size_t panel_bytes(size_t channels, size_t n) noexcept nogil:
    return lines(sizeof(float) * n * (channels + 1))


def packed_bytes_winograd(filter, size_t units, size_t channels):
    """Size of what pack_winograd_f32 returns; filter: its height and width."""
    cdef size_t n = pick("conv2d_f32_nhwc").n
    return (units + n - 1) // n * nnf_winograd_products(is_line_of(filter)) * panel_bytes(channels, n)


def pack_winograd_f32(const float[:, :, :, ::1] filter):
    """Filter [units, 3, 3, channels], or with 1 for one of the 3, for the kernel that a step made now will run; uint8
    array."""
    cdef const nnf_kernel *row = pick("conv2d_f32_nhwc")
    cdef size_t units = filter.shape[0], channels = filter.shape[3]
    sides = filter.shape[1], filter.shape[2]
    cdef bint is_line = is_line_of(sides)
    packed = aligned_bytes(packed_bytes_winograd(sides, units, channels))
    cdef unsigned char[::1] to = packed
    with nogil:
        nnf_pack_conv2d_winograd_f32(is_line, units, channels, row.n, panel_bytes(channels, row.n) // sizeof(float),
                                     &filter[0, 0, 0, 0], <float *>&to[0])
    return packed


cdef class Conv2dWinogradF32(Step):
    """y = clamp(conv(x, filter) + bias, lo, hi) in float32, NHWC, of a filter of 3x3, 1x3 or 3x1 with stride 1 and any
    dilation; slots x, packed weights, y.

    window: an ops.window.Window; batch: of the input; filter: [units, height, width, channels]; bias: [units].
    """

    cdef winograd p

    def __init__(self, slots, window, size_t batch, const float[:, :, :, ::1] filter, const float[::1] bias, float lo,
                 float hi):
        cdef const nnf_kernel *row = pick("conv2d_f32_nhwc")
        cdef const nnf_kernel *transform = pick("conv2d_winograd_input_f32_nhwc")
        cdef winograd *p = &self.p
        cdef size_t near, block
        if not is_window_of_3(window):
            raise ValueError(f"the window is {window}, must be 3x3, 1x3 or 3x1 with stride 1")
        if (filter.shape[1], filter.shape[2]) != window.filter:
            raise ValueError(f"the filter is {filter.shape[1]}x{filter.shape[2]}, must be as the window's")
        p.multiply = <nnf_conv2d_f32_nhwc_fn>row.fn
        p.transform = <nnf_conv2d_winograd_input_f32_nhwc_fn>transform.fn
        p.finish = <nnf_conv2d_winograd_output_f32_nhwc_fn>pick("conv2d_winograd_output_f32_nhwc").fn
        p.batch, p.channels, p.units = batch, filter.shape[3], filter.shape[0]
        p.down, p.across = axis_of_window(window, 0), axis_of_window(window, 1)
        p.is_line = is_line_of(window.filter)
        p.is_upright = p.is_line and p.down.taps > 1
        p.matrices = nnf_winograd_products(p.is_line)
        p.m, p.n = row.m, row.n
        p.panel = panel_bytes(p.channels, p.n) // sizeof(float)
        p.panels = (p.units + p.n - 1) // p.n
        p.patches = batch * p.down.count * p.across.count
        self.packed = packed_bytes_winograd(window.filter, p.units, p.channels)
        if p.m > WINOGRAD_ROWS:
            raise ValueError(f"tiles of {p.m} rows, must be at most {WINOGRAD_ROWS}")
        p.many = self.packed > tuning().winograd_many
        near = tuning().winograd_roomy if p.many else tuning().winograd_near
        block = near // (p.matrices * p.channels * sizeof(float)) // p.m * p.m
        block = max(block, p.m)
        p.blocks = max(1, (p.patches + block - 1) // block)
        p.most = (p.patches + p.blocks - 1) // p.blocks
        p.bias, p.filter = &bias[0], &filter[0, 0, 0, 0]
        p.lo, p.hi = lo, hi
        self.keep = filter, bias
        p.products = lines(p.matrices * (p.most * p.channels + APART) * sizeof(float))
        self.scratch = p.products + p.matrices * p.most * p.n * sizeof(float)
        self.work = <double>batch * p.down.out * p.across.out * p.units * p.channels * p.down.taps * p.across.taps
        self.tiles = <int>min(<double>(p.blocks * p.panels), self.work / CONV_GRAIN + 1)
        self.part = PART_PRODUCTS
        self.bind(run_winograd, &self.p, slots, f"{transform.name.decode()} + {row.name.decode()}")
