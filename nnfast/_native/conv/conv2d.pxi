"""Steps of CONV_2D and FULLY_CONNECTED in float32: an implicit matrix product in tiles (csrc/kernels/conv2d/conv2d.h).


The output pixels of all batches form the rows of the product. They are cut into tiles of equal height, the output
channels into the panels the weights were packed in; a thread does a contiguous share of the (tile, panel) pairs. Of
small weights a tile meets all panels before the next tile, which keeps inputs and outputs near; a panel of large
weights meets a group of tiles, which fetch the next panel meanwhile (float32 49x1024x1024: 576 us instead of 859).
There a share would be panels: instead a thread does all panels of its own pixels where these are enough, since inputs
that lie in another core's cache are what nobody prefetches (196x512x512 on two threads: 300 us instead of 325). A
step may do several such products, the groups of a grouped convolution, and may scatter its output pixels.
"""

from .engine cimport PART_PRODUCTS, Step
from .kernels cimport nnf_kernel, nnf_tuning, pick, tuning
from .threads cimport nnf_run, nnf_share, nnf_step, nnf_step_is_even, run_alone
from .window cimport axis_of

from .engine import aligned_bytes

cdef enum:
    SHALLOW = 32            # input channels below which a whole filter row is gathered as one tap
    OWN = 24                # output pixels of a thread from which on it may read all weights; twice as many for large
    LEAST = 4               # tiles that a panel of streamed weights meets, however deep: rows cost less than weights
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
    size_t pitch                # floats between copies of a tile's input rows, where these are crowded; else 0
    size_t own                  # output pixels of a thread from which on it reads all weights
    bint beside                 # the inputs of groups lie side by side, and each has one panel
    const float *zeros          # of a tap outside the input, as many as the taps of all groups read there
    float lo, hi
    int next_weights, out              # which slots are the weights of a later step, if any, and the outputs
    size_t fetched              # bytes of those weights


cdef inline void lay_apart(const float **a, size_t rows, size_t depth, float *to, size_t pitch) noexcept nogil:
    """Copies rows, whose addresses become those of the copies."""
    cdef size_t r
    for r in range(rows):
        memcpy(to + r * pitch, a[r], depth * sizeof(float))
        a[r] = to + r * pitch


cdef void group_f32(const conv2d_f32 *p, const split *s, size_t origin, const float *x, const float *weights, float *y,
                    unsigned char *scratch, size_t item, size_t last, const char *prefetch,
                    size_t bytes) noexcept nogil:
    """(tile, panel) pairs item..last-1 of one group; the first of the split's rows is output pixel `origin`.

    Under the last panel `bytes` bytes at `prefetch` go into the cache.
    """
    cdef const float **a = <const float **>scratch
    cdef size_t t, low, panels, addresses = p.taps * s.m, pace, reach, wanted
    cdef size_t panel_bytes = s.n * (s.depth + 1) * sizeof(float)
    cdef nnf_conv2d_f32_tile tile
    cdef gathered_f32 to
    cdef walk w
    w.item, w.last, tile.first = item, last, 0
    to.m, to.zeros = s.m, p.zeros
    tile.taps = p.taps
    tile.depth = p.depth
    tile.ldc = s.n if p.place.scattered else p.place.out_pixel
    tile.lo = p.lo
    tile.hi = p.hi
    while next_group(s, &w):
        to.copies = <float *>(scratch + p.copies)
        for t in range(w.base, w.base + w.count):
            to.to = a + (t - w.base) * addresses
            low = tile_start(s, t)
            gather(&p.g, &to, x, origin + low, origin + tile_start(s, t + 1))
            if p.pitch:
                lay_apart(to.to, tile_start(s, t + 1) - low, p.depth, to.copies + (t - w.base) * s.m * p.pitch, p.pitch)
        while w.item < w.stop:
            low = origin + tile_start(s, w.tile)
            tile.rows = origin + tile_start(s, w.tile + 1) - low
            panels = panels_at_once(&w, not p.place.scattered)
            tile.columns = min(panels * s.n, s.columns - w.panel * s.n)
            tile.a = a + (w.tile - w.base) * addresses
            tile.w = weights + w.panel * s.n * (s.depth + 1)
            # The panel that follows comes from afar, and there are `count` tiles of time to get it.
            tile.lines = 0
            if w.count > 1:
                tile.prefetch, wanted = <const char *>tile.w + panel_bytes, panel_bytes
                if w.panel + 1 == s.panels:
                    tile.prefetch, wanted = prefetch, bytes if w.base + w.count == s.tiles else 0
                pace = nnf_conv2d_f32_pace(wanted, w.count, p.taps, p.depth)
                reach = (w.tile - w.base) * nnf_conv2d_f32_fetched(p.taps, p.depth, pace)
                tile.prefetch += reach
                tile.lines = pace if reach < wanted else 0
            tile.c = <float *>(scratch + p.tile) if p.place.scattered else y + low * tile.ldc + w.panel * s.n
            p.kernel(&tile)
            if p.place.scattered:
                scatter(&p.place, p.g.out_height, p.g.out_width, low, low + tile.rows, tile.c,
                        s.n * sizeof(float), y + w.panel * s.n, tile.columns, sizeof(float))
            go_on(&w, panels)


cdef void tiles_of_groups_f32(const conv2d_f32 *p, const float *x, const char *weights, float *y,
                              unsigned char *scratch, size_t tile, size_t last) noexcept nogil:
    """Tiles tile..last-1 of all groups, of one panel each: the addresses of the first group serve all of them."""
    cdef const float **a = <const float **>scratch
    cdef gathered_f32 to
    cdef nnf_conv2d_f32_tile t
    cdef size_t low, group
    to.to, to.m, to.zeros, to.copies = a, p.s.m, p.zeros, NULL
    t.columns, t.taps, t.depth, t.a, t.lines = p.s.columns, p.taps, p.depth, a, 0
    t.ldc, t.lo, t.hi = p.s.n if p.place.scattered else p.place.out_pixel, p.lo, p.hi
    for tile in range(tile, last):
        low = tile_start(&p.s, tile)
        t.rows = tile_start(&p.s, tile + 1) - low
        gather(&p.g, &to, x, low, low + t.rows)
        for group in range(p.place.groups):
            t.w = <const float *>(weights + group * p.weights)
            t.first = group * p.place.group
            t.c = y + group * p.place.out_group + low * t.ldc
            if p.place.scattered:
                t.c = <float *>(scratch + p.tile)
            p.kernel(&t)
            if p.place.scattered:
                scatter(&p.place, p.g.out_height, p.g.out_width, low, low + t.rows, t.c, p.s.n * sizeof(float),
                        y + group * p.place.out_group, t.columns, sizeof(float))


cdef void run_conv2d_f32(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const conv2d_f32 *p = <const conv2d_f32 *>step.params
    cdef const float *x = <const float *>run.slot[step.slots[0]]
    cdef const char *w = <const char *>run.slot[step.slots[1]]
    cdef float *y = <float *>run.slot[step.slots[p.out]] + p.place.out_first
    cdef const char *prefetch = <const char *>run.slot[step.slots[p.next_weights]]
    cdef unsigned char *scratch = run.scratch + thread * run.scratch_stride
    cdef size_t item, last, group, stop, each = p.s.tiles * p.s.panels
    cdef split s
    if nnf_step_is_even(step, threads) \
            or p.streamed and threads > 1 and p.place.groups == 1 and p.s.rows >= p.own * threads:
        s = p.s
        nnf_share(s.rows, thread, threads, &item, &last)
        cut(&s, last - item)
        s.group = min(s.group, s.tiles)
        group_f32(p, &s, item, x, <const float *>w, y, scratch, 0, s.tiles * s.panels, prefetch, p.fetched)
        return
    if p.beside and p.s.tiles >= <size_t>threads:
        nnf_share(p.s.tiles, thread, threads, &item, &last)
        tiles_of_groups_f32(p, x, w, y, scratch, item, last)
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


def pack_conv2d_f32(const float[:, ::1] weights, const float[::1] bias, size_t groups=1, int threads=1):
    """Weights [units, depth] and bias [units], packed for the kernel that a step made now will run; uint8 array.

    The units are those of all groups, one group after the other. threads: how many may share the work.
    """
    cdef const nnf_kernel *row = pick("conv2d_f32_nhwc")
    cdef packing p
    p.form, p.columns, p.depth, p.groups, p.n = PACKED_F32, weights.shape[0] // groups, weights.shape[1], groups, row.n
    p.ld, p.matrix = p.depth, p.columns * p.depth
    p.panel = sizeof(float) * p.n * (p.depth + 1)
    p.packed = sizeof(float) * nnf_pack_conv2d_f32_size(p.columns, p.depth, p.n)
    p.each = lines(p.packed)
    packed = aligned_bytes(groups * p.each)
    cdef unsigned char[::1] to = packed
    p.weights, p.bias, p.to = &weights[0, 0], &bias[0], &to[0]
    run_alone(run_packing, &p, min(threads, <int>(groups * p.each // PACKING_GRAIN) + 1))
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
        cdef const nnf_tuning *sizes = tuning()
        cdef geometry *g = &self.p.g
        self.p.place = placement_of(place, channels, units, window.output[0], window.output[1])
        measure(g, window, channels, self.p.place.pixel)
        cdef size_t taps = g.filter_height * g.filter_width, rows = batch * g.out_height * g.out_width
        self.p.kernel = <nnf_conv2d_f32_nhwc_fn>row.fn
        if channels >= SHALLOW:
            g.across = 1
        self.p.taps = taps // g.across
        self.p.depth = g.across * channels
        self.p.lo = lo
        self.p.hi = hi
        self.p.next_weights, self.p.out, self.p.fetched = len(slots) - 2, len(slots) - 1, prefetch_bytes
        self.p.weights = lines(sizeof(float) * nnf_pack_conv2d_f32_size(units, taps * channels, row.n))
        self.packed = self.p.place.groups * self.p.weights
        cdef size_t row_bytes = sizeof(float) * taps * channels, near, outside
        plan_split(&self.p.s, rows, units, taps * channels, row, self.p.weights, row_bytes, 0)
        self.p.s.group = 1
        self.p.streamed = self.streamed = self.p.weights > sizes.conv_streamed
        self.p.own = OWN if self.p.weights <= sizes.conv_own_weights else 2 * OWN
        self.prefetch = sizes.conv_prefetch if self.streamed else 0
        if self.p.streamed:
            # Input bytes of a tile, counted once where its windows overlap.
            near = g.channels * g.stride_x * g.stride_y * sizeof(float) * self.p.s.m
            self.p.s.group = min(self.p.s.tiles, max(LEAST, sizes.conv_rows // near))
        if taps == 1 and self.p.s.panels >= COPIED \
                and is_crowded(sizeof(float) * g.stride_x * g.pixel, min(rows, self.p.s.m)):
            self.p.pitch = apart(sizeof(float) * channels, self.p.s.m) // sizeof(float)
        self.p.beside = self.p.place.groups > 1 and self.p.s.panels == 1 and not g.plain and g.across == 1
        outside = self.p.depth + ((self.p.place.groups - 1) * self.p.place.group if self.p.beside else 0)
        zeros = aligned_bytes(outside * sizeof(float))
        zeros[:] = 0
        cdef unsigned char[::1] view = zeros
        self.keep = zeros
        self.p.zeros = <const float *>&view[0]
        self.p.copies = lines(self.p.s.group * self.p.taps * self.p.s.m * sizeof(void *))
        if self.p.pitch:
            row_bytes = sizeof(float) * self.p.pitch
        elif g.across == 1:
            row_bytes = 0
        self.p.tile = self.p.copies + lines(self.p.s.group * row_bytes * self.p.s.m)
        self.scratch = self.p.tile + (self.p.s.m * self.p.s.n * sizeof(float) if self.p.place.scattered else 0)
        self.work = <double>self.p.place.groups * rows * units * taps * channels
        self.tiles = <int>min(<double>(self.p.place.groups * self.p.s.tiles * self.p.s.panels),
                              self.work / CONV_GRAIN + 1)
        self.part = PART_PRODUCTS
        if self.p.place.groups == 1 and not self.p.place.scattered and not self.p.streamed:
            self.even(rows, g.plain, 2 * HIGH)
        self.bind(run_conv2d_f32, &self.p, slots, row.name.decode())
        if batch == 1 and place is None and g.out_width >= HIGH:
            self.bands(band_conv2d_f32, axis_of(window, 0), sizeof(float) * g.width * channels,
                       sizeof(float) * g.out_width * units)
