"""Steps of CONV_2D and FULLY_CONNECTED in float32: an implicit matrix product in tiles (csrc/kernels/conv2d/conv2d.h).


The output pixels of all batches form the rows of the product. They are cut into tiles of equal height, the output
channels into the panels the weights were packed in; a thread does a contiguous share of the (tile, panel) pairs. Of
small weights a tile meets all panels before the next tile, which keeps inputs and outputs near; a panel of large
weights meets a group of tiles, which fetch the next panel meanwhile (float32 49x1024x1024: 576 us instead of 859).
There a share would be panels: instead a thread does all panels of its own pixels where these are enough, since inputs
that lie in another core's cache are what nobody prefetches (196x512x512 on two threads: 300 us instead of 325). A
step may do several such products, the groups of a grouped convolution, and may scatter its output pixels.
"""

from libc.stddef cimport ptrdiff_t
from libc.string cimport memcpy, memset

from .engine cimport PART_PRODUCTS, Step
from .kernels cimport nnf_kernel, pick
from .threads cimport nnf_run, nnf_share, nnf_step, run_alone
from .tuning cimport (NNF_CONV_OWN_WEIGHTS, NNF_CONV_PREFETCH, NNF_CONV_ROWS, NNF_CONV_STREAMED,
                      NNF_PACKING_GRAIN)
from .window cimport axis_of

from .engine import aligned_bytes

cdef enum:
    OWN = 24                # output pixels of a thread above which it may read all weights; twice as many for large
    HIGH = 4                # rows of a tile above which its height no longer decides how it adds: see the kernels


cdef struct conv2d_f32:
    nnf_conv2d_f32_nhwc_fn kernel
    geometry g
    placement place
    split s
    size_t taps, depth          # as the kernel sees them
    size_t copies               # offset of the gathered rows in the scratch, behind the row addresses
    size_t tile                 # offset in the scratch of a tile that is yet to be scattered
    size_t weights              # bytes of a group's packed weights
    bint streamed               # they come from beyond the level 2 cache
    const float *zeros          # `depth` of them: a tap outside the input
    float lo, hi
    int next_weights, out              # which slots are the weights of a later step, if any, and the outputs
    size_t fetched              # bytes of those weights


cdef float *address_f32(const conv2d_f32 *p, const float *x, size_t first, size_t last, const float **a,
                        float *copies) noexcept nogil:
    """Row addresses a[taps][m] of output pixels first..last; what crosses the border is gathered in `copies`, whose
    new end is returned."""
    cdef const geometry *g = &p.g
    cdef ptrdiff_t area = g.out_height * g.out_width, pixel = first, end = last
    cdef ptrdiff_t image, y, x0, pixels, iy, ix, i, j, r, m = p.s.m
    cdef const float *row
    cdef const float **to
    if g.plain:
        for r in range(end - pixel):
            a[r] = x + (pixel + r) * g.pixel
        return copies
    while pixel < end:
        image = pixel // area
        y = (pixel - image * area) // g.out_width
        x0 = (pixel - image * area - y * g.out_width) * g.stride_x - g.left
        pixels = min(end - pixel, (y + 1) * g.out_width + image * area - pixel)
        for i in range(g.filter_height):
            iy = y * g.stride_y - g.top + i * g.dilation_y
            row = NULL
            if 0 <= iy < g.height:
                row = x + (image * g.height + iy) * g.width * g.pixel
            if g.by_row:
                copies = address_row(p, row, x0, pixels, a + i * m, copies)
                continue
            for j in range(g.filter_width):
                to = a + (i * g.filter_width + j) * m
                ix = x0 + j * g.dilation_x
                for r in range(pixels):
                    to[r] = row + ix * g.pixel if row != NULL and 0 <= ix < g.width else p.zeros
                    ix += g.stride_x
        a += pixels
        pixel += pixels
    return copies


cdef float *address_row(const conv2d_f32 *p, const float *row, ptrdiff_t x, ptrdiff_t pixels, const float **a,
                        float *copies) noexcept nogil:
    """Addresses under one whole filter row; what crosses the border is gathered in `copies`: the end of that."""
    cdef const geometry *g = &p.g
    cdef ptrdiff_t r = 0, ix, stop, lo, hi, channels = g.channels
    if row == NULL:
        for r in range(pixels):
            a[r] = p.zeros
        return copies
    while r < pixels:
        ix = x + r * g.stride_x
        if ix >= 0 and ix + g.filter_width <= g.width:
            stop = min(pixels, r + (g.width - g.filter_width - ix) // g.stride_x + 1)
            while r < stop:
                a[r] = row + ix * channels
                ix += g.stride_x
                r += 1
            continue
        lo = max(-ix, 0)
        hi = min(g.filter_width, g.width - ix)
        memset(copies, 0, p.depth * sizeof(float))
        if lo < hi:
            memcpy(copies + lo * channels, row + (ix + lo) * channels, (hi - lo) * channels * sizeof(float))
        a[r] = copies
        copies += p.depth
        r += 1
    return copies


cdef void group_f32(const conv2d_f32 *p, const split *s, size_t origin, const float *x, const float *w, float *y,
                    unsigned char *scratch, size_t item, size_t last, const char *prefetch,
                    size_t bytes) noexcept nogil:
    """(tile, panel) pairs item..last-1 of one group; the first of the split's rows is output pixel `origin`.

    Under the last panel `bytes` bytes at `prefetch` go into the cache.
    """
    cdef const float **a = <const float **>scratch
    cdef float *copies
    cdef size_t stop, block, base, count, panel, panels, t, low, addresses = p.taps * s.m
    cdef size_t panel_bytes = s.n * (s.depth + 1) * sizeof(float), pace, reach, wanted
    cdef nnf_conv2d_f32_tile tile
    tile.taps = p.taps
    tile.depth = p.depth
    tile.ldc = s.n if p.place.scattered else p.place.out_pixel
    tile.lo = p.lo
    tile.hi = p.hi
    while item < last:
        block = item // (s.group * s.panels)
        base = block * s.group
        count = min(s.group, s.tiles - base)
        stop = min(last, (base + count) * s.panels)
        copies = <float *>(scratch + p.copies)
        for t in range(base, base + count):
            copies = address_f32(p, x, origin + tile_start(s, t), origin + tile_start(s, t + 1),
                                 a + (t - base) * addresses, copies)
        panel = (item - base * s.panels) // count
        t = base + item - base * s.panels - panel * count
        while item < stop:
            low = origin + tile_start(s, t)
            tile.rows = origin + tile_start(s, t + 1) - low
            # A tile that is alone in its group takes all panels that are left of its share.
            panels = min(s.panels - panel, stop - item) if count == 1 and not p.place.scattered else 1
            tile.columns = min(panels * s.n, s.columns - panel * s.n)
            tile.a = a + (t - base) * addresses
            tile.w = w + panel * s.n * (s.depth + 1)
            # The panel that follows comes from afar, and there are `count` tiles of time to get it.
            tile.lines = 0
            if count > 1:
                tile.prefetch, wanted = <const char *>tile.w + panel_bytes, panel_bytes
                if panel + 1 == s.panels:
                    tile.prefetch, wanted = prefetch, bytes if base + count == s.tiles else 0
                pace = nnf_conv2d_f32_pace(wanted, count, p.taps, p.depth)
                reach = (t - base) * nnf_conv2d_f32_fetched(p.taps, p.depth, pace)
                tile.prefetch += reach
                tile.lines = pace if reach < wanted else 0
            tile.c = <float *>(scratch + p.tile) if p.place.scattered else y + low * tile.ldc + panel * s.n
            p.kernel(&tile)
            if p.place.scattered:
                scatter(&p.place, p.g.out_height, p.g.out_width, low, low + tile.rows, tile.c,
                        s.n * sizeof(float), y + panel * s.n, tile.columns, sizeof(float))
            item += panels
            t += 1
            if t == base + count:
                t = base
                panel += panels


cdef void run_conv2d_f32(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const conv2d_f32 *p = <const conv2d_f32 *>step.params
    cdef const float *x = <const float *>run.slot[step.slots[0]]
    cdef const char *w = <const char *>run.slot[step.slots[1]]
    cdef float *y = <float *>run.slot[step.slots[p.out]] + p.place.out_first
    cdef const char *prefetch = <const char *>run.slot[step.slots[p.next_weights]]
    cdef unsigned char *scratch = run.scratch + thread * run.scratch_stride
    cdef size_t item, last, group, stop, each = p.s.tiles * p.s.panels
    cdef split s
    if p.streamed and threads > 1 and p.place.groups == 1 \
            and p.s.rows >= <size_t>(OWN * threads if p.weights <= NNF_CONV_OWN_WEIGHTS else 2 * OWN * threads):
        s = p.s
        nnf_share(s.rows, thread, threads, &item, &last)
        cut(&s, last - item)
        s.group = min(s.group, s.tiles)
        group_f32(p, &s, item, x, <const float *>w, y, scratch, 0, s.tiles * s.panels, prefetch, p.fetched)
        return
    nnf_share(p.place.groups * each, thread, threads, &item, &last)
    while item < last:
        group = item // each
        stop = min(last, (group + 1) * each)
        group_f32(p, &p.s, 0, x + group * p.place.group, <const float *>(w + group * p.weights),
                  y + group * p.place.out_group, scratch, item - group * each, stop - group * each, prefetch,
                  p.fetched if stop == last else 0)
        item = stop


cdef void band_conv2d_f32(const nnf_step *step, const nnf_run *run, const void *x, void *y, size_t first, size_t last,
                          unsigned char *scratch) noexcept nogil:
    cdef const conv2d_f32 *p = <const conv2d_f32 *>step.params
    cdef split s = p.s
    cut(&s, (last - first) * p.g.out_width)
    group_f32(p, &s, first * p.g.out_width, <const float *>x, <const float *>run.slot[step.slots[1]], <float *>y,
              scratch, 0, s.tiles * s.panels, NULL, 0)


cdef struct packing_f32:
    size_t columns, depth, groups, n
    size_t packed                   # bytes of a group's packed weights
    size_t each                     # from one group to the next
    const float *weights
    const float *bias
    unsigned char *to


cdef void run_pack_f32(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const packing_f32 *p = <const packing_f32 *>step.params
    cdef size_t panels = (p.columns + p.n - 1) // p.n, item, last, first, count, unit
    nnf_share(p.groups * panels, thread, threads, &item, &last)
    while item < last:
        first = item % panels
        count = min(panels - first, last - item)
        unit = item // panels * p.columns + first * p.n
        # Whole panels lie one behind the other, so that a run of them is packed as if it were all there is.
        nnf_pack_conv2d_f32(min(count * p.n, p.columns - first * p.n), p.depth, p.n, p.weights + unit * p.depth,
                            p.bias + unit, <float *>(p.to + item // panels * p.each) + first * p.n * (p.depth + 1))
        if first + count == panels:
            clear_rest(p.to + item // panels * p.each, p.packed, p.each)
        item += count


def pack_conv2d_f32(const float[:, ::1] weights, const float[::1] bias, size_t groups=1, int threads=1):
    """Weights [units, depth] and bias [units], packed for the kernel that a step made now will run; uint8 array.

    The units are those of all groups, one group after the other. threads: how many may share the work.
    """
    cdef const nnf_kernel *row = pick("conv2d_f32_nhwc")
    cdef packing_f32 p
    p.columns, p.depth, p.groups, p.n = weights.shape[0] // groups, weights.shape[1], groups, row.n
    p.packed = sizeof(float) * nnf_pack_conv2d_f32_size(p.columns, p.depth, p.n)
    p.each = lines(p.packed)
    packed = aligned_bytes(groups * p.each)
    cdef unsigned char[::1] to = packed
    p.weights, p.bias, p.to = &weights[0, 0], &bias[0], &to[0]
    run_alone(run_pack_f32, &p, min(threads, <int>(groups * p.each // NNF_PACKING_GRAIN) + 1))
    return packed


cdef class Conv2dF32(Step):
    """y = clamp(conv(x, weights) + bias, lo, hi) in float32, NHWC; slots x, packed weights, y.

    window: an ops.window.Window; batch, channels: of the input; units: output channels. FULLY_CONNECTED is the window
    of a 1 x 1 image. place: an ops.conv2d.Placement; channels and units are then those of one group. prefetch_bytes:
    of a later step's weights that this one fetches into the cache at its end, where its own are streamed: more than a
    level 2 cache holds. They are then the third slot, before y.
    """

    cdef conv2d_f32 p
    cdef readonly bint streamed
    cdef readonly size_t prefetch   # most bytes of a later step's weights that it should fetch

    def __init__(self, slots, window, size_t batch, size_t channels, size_t units, float lo, float hi,
                 place=None, size_t prefetch_bytes=0):
        cdef const nnf_kernel *row = pick("conv2d_f32_nhwc")
        cdef geometry *g = &self.p.g
        self.p.place = placement_of(place, channels, units, window.output[0], window.output[1])
        measure(g, window, channels, self.p.place.pixel)
        cdef size_t taps = g.filter_height * g.filter_width, rows = batch * g.out_height * g.out_width
        self.p.kernel = <nnf_conv2d_f32_nhwc_fn>row.fn
        self.p.taps = g.filter_height if g.by_row else taps
        self.p.depth = g.filter_width * channels if g.by_row else channels
        self.p.lo = lo
        self.p.hi = hi
        self.p.next_weights, self.p.out, self.p.fetched = len(slots) - 2, len(slots) - 1, prefetch_bytes
        self.p.weights = lines(sizeof(float) * nnf_pack_conv2d_f32_size(units, taps * channels, row.n))
        self.packed = self.p.place.groups * self.p.weights
        cdef size_t row_bytes = sizeof(float) * taps * channels, near
        plan_split(&self.p.s, rows, units, taps * channels, row, self.p.weights, row_bytes, 0)
        self.p.s.group = 1
        self.p.streamed = self.streamed = self.p.weights > NNF_CONV_STREAMED
        self.prefetch = NNF_CONV_PREFETCH if self.streamed else 0
        if self.p.streamed:
            # Input bytes of a tile, counted once where its windows overlap.
            near = g.channels * g.stride_x * g.stride_y * sizeof(float) * self.p.s.m
            self.p.s.group = max(1, min(self.p.s.tiles, NNF_CONV_ROWS // near))
        zeros = aligned_bytes(self.p.depth * sizeof(float))
        zeros[:] = 0
        cdef unsigned char[::1] view = zeros
        self.keep = zeros
        self.p.zeros = <const float *>&view[0]
        self.p.copies = lines(self.p.s.group * self.p.taps * self.p.s.m * sizeof(void *))
        self.p.tile = self.p.copies + lines(self.p.s.group * row_bytes * self.p.s.m if g.by_row else 0)
        self.scratch = self.p.tile + (self.p.s.m * self.p.s.n * sizeof(float) if self.p.place.scattered else 0)
        self.work = <double>self.p.place.groups * rows * units * taps * channels
        self.tiles = <int>min(<double>(self.p.place.groups * self.p.s.tiles * self.p.s.panels),
                              self.work / CONV_GRAIN + 1)
        self.part = PART_PRODUCTS
        self.bind(run_conv2d_f32, &self.p, slots, row.name.decode())
        if batch == 1 and place is None and g.out_width >= HIGH:
            self.bands(band_conv2d_f32, axis_of(window, 0), sizeof(float) * g.width * channels,
                       sizeof(float) * g.out_width * units)
