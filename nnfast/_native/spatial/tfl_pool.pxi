"""Steps of MediaPipe's MaxPoolingWithArgmax2D and MaxUnpooling2D."""

from libc.stdint cimport int64_t
from libc.string cimport memset

from .threads cimport nnf_decline, nnf_share

cdef extern from "tfl_pool/tfl_pool.h":
    ctypedef void (*nnf_max_pool_places_f32_nhwc_fn)(const nnf_pool *g, size_t row, const float *x, float *y,
                                                     float *places) noexcept nogil

cdef enum:
    PLACES_GRAIN = 100000  # positions of windows, times channels, below which a second thread costs more than it saves
    UNPOOL_GRAIN = 100000  # values, likewise
    UNPOOL_CHANNELS = 16   # a thread's channels are multiples of this: one cache line


cdef struct pool_places:
    nnf_max_pool_places_f32_nhwc_fn kernel
    nnf_pool g
    size_t batch


cdef void run_pool_places(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const pool_places *p = <const pool_places *>step.params
    cdef const float *x = <const float *>run.slot[step.slots[0]]
    cdef float *y = <float *>run.slot[step.slots[1]]
    cdef float *places = <float *>run.slot[step.slots[2]]
    cdef size_t row, first, last, line = p.g.x.out * p.g.channels
    nnf_share(p.batch * p.g.y.out, thread, threads, &first, &last)
    for row in range(first, last):
        p.kernel(&p.g, row % p.g.y.out, x + row // p.g.y.out * p.g.y.size * p.g.x.size * p.g.channels, y + row * line,
                 places + row * line)


cdef class MaxPoolPlaces(Step):
    """Largest values of windows of NHWC float32 images, and their places; slots x, y, places.

    batch: images; win: geometry (ops.window.Window), without dilation.
    """

    cdef pool_places p

    def __init__(self, slots, size_t batch, win, size_t channels):
        cdef const nnf_kernel *row = pick("max_pool_places_f32_nhwc")
        self.p.kernel = <nnf_max_pool_places_f32_nhwc_fn>row.fn
        self.p.g.y, self.p.g.x, self.p.g.channels, self.p.batch = axis_of(win, 0), axis_of(win, 1), channels, batch
        cdef size_t rows = batch * self.p.g.y.out
        cdef size_t work = rows * self.p.g.x.out * channels * self.p.g.y.taps * self.p.g.x.taps
        self.work = work
        self.tiles = <int>max(1, min(rows, work // PLACES_GRAIN + 1, 64))
        self.bind(run_pool_places, &self.p, slots, row.name.decode())


cdef struct unpool:
    size_t batch, positions, channels, plane


cdef void run_unpool(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    # A thread has all positions of its channels: two of them may go to one place, where the last one stays.
    cdef const unpool *p = <const unpool *>step.params
    cdef const float *x = <const float *>run.slot[step.slots[0]]
    cdef const float *places = <const float *>run.slot[step.slots[1]]
    cdef float *y = <float *>run.slot[step.slots[2]]
    cdef size_t n, k, c, begin, end, channels = p.channels
    cdef float place
    nnf_share((channels + UNPOOL_CHANNELS - 1) // UNPOOL_CHANNELS, thread, threads, &begin, &end)
    begin, end = begin * UNPOOL_CHANNELS, min(end * UNPOOL_CHANNELS, channels)
    if begin >= end:
        return
    for n in range(p.batch):
        if begin == 0 and end == channels:
            memset(y, 0, p.plane * channels * sizeof(float))
        else:
            for k in range(p.plane):
                memset(y + k * channels + begin, 0, (end - begin) * sizeof(float))
        for k in range(p.positions):
            for c in range(begin, end):
                place = (<const volatile float *>places)[c]  # read once: a client may change its memory meanwhile
                if not (place > -1.0 and place < <double>p.plane):
                    nnf_decline(run)
                    return
                y[<size_t><int64_t>place * channels + c] = x[c]
            x += channels
            places += channels
        y += p.plane * channels


cdef class MaxUnpool(Step):
    """float32 values to their places in planes of zeros; slots x, places, y.

    x, places: [batch, positions, channels], y: [batch, plane, channels]. Declines when a place is outside of the plane.
    """

    cdef unpool p

    def __init__(self, slots, size_t batch, size_t positions, size_t channels, size_t plane):
        self.p.batch, self.p.positions, self.p.channels, self.p.plane = batch, positions, channels, plane
        self.work = batch * plane * channels
        self.tiles = <int>max(1, min(1 + <size_t>self.work // UNPOOL_GRAIN, channels // UNPOOL_CHANNELS, 64))
        self.bind(run_unpool, &self.p, slots, "unpool")
