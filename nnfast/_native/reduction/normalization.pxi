"""Steps of L2_NORMALIZATION, LOCAL_RESPONSE_NORMALIZATION and INSTANCE_NORMALIZATION, and of layer normalisation."""

from libc.stdint cimport int32_t, uint8_t

from .engine cimport Step
from .kernels cimport nnf_kernel, pick
from .threads cimport nnf_run, nnf_share, nnf_step

cdef extern from "normalization/normalization.h":
    ctypedef void (*nnf_l2_norm_f32_rows_fn)(size_t n, const float *x, float *y) noexcept nogil
    ctypedef void (*nnf_l2_norm_q8_rows_fn)(size_t n, const uint8_t *x, uint8_t *y, int32_t zero_x,
                                            int once) noexcept nogil

    ctypedef struct nnf_lrn:
        size_t radius
        double bias
        double alpha
        double beta

    ctypedef void (*nnf_lrn_f32_rows_fn)(const nnf_lrn *p, size_t n, const float *x, float *y,
                                         double *sums) noexcept nogil

    ctypedef struct nnf_instance_norm:
        size_t pixels
        size_t stride
        double gamma
        double beta
        double epsilon

    ctypedef void (*nnf_instance_norm_f32_fn)(const nnf_instance_norm *p, size_t n, const float *x,
                                              float *y) noexcept nogil

    ctypedef struct nnf_layer_norm:
        float epsilon
        bint is_folded
        bint divides
        bint has_gamma
        bint has_beta

    ctypedef void (*nnf_layer_norm_f32_rows_fn)(const nnf_layer_norm *p, size_t rows, size_t n, const float *x,
                                                const float *gamma, const float *beta, float *y) noexcept nogil

# Elements below which a second thread costs more than it saves.
cdef enum:
    NORM_GRAIN = 8192
    NORM_BLOCK = 16   # channels of an instance that a thread takes together


cdef int norm_tiles(size_t rows, size_t work):
    return <int>max(1, min(1 + work // NORM_GRAIN, rows, 64))


cdef struct l2:
    nnf_l2_norm_f32_rows_fn float_kernel   # one of the two
    nnf_l2_norm_q8_rows_fn code_kernel
    size_t rows, n
    int32_t zero
    int once


cdef void run_l2(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const l2 *p = <const l2 *>step.params
    cdef const void *x = run.slot[step.slots[0]]
    cdef void *y = run.slot[step.slots[1]]
    cdef size_t row, first, last
    nnf_share(p.rows, thread, threads, &first, &last)
    for row in range(first, last):
        if p.float_kernel != NULL:
            p.float_kernel(p.n, <const float *>x + row * p.n, <float *>y + row * p.n)
        else:
            p.code_kernel(p.n, <const uint8_t *>x + row * p.n, <uint8_t *>y + row * p.n, p.zero, p.once)


cdef class L2Norm(Step):
    """Each of `rows` rows of n values over its norm; slots x, y.

    types: f32, qu8 or qs8; zero_point: of x; once: the quantized product is rounded once less [NN 14.11].
    """

    cdef l2 p

    def __init__(self, slots, str types, size_t rows, size_t n, int zero_point=0, bint once=False):
        cdef const nnf_kernel *row = pick(f"l2_norm_{types}_rows")
        if types == "f32":
            self.p.float_kernel = <nnf_l2_norm_f32_rows_fn>row.fn
        else:
            self.p.code_kernel = <nnf_l2_norm_q8_rows_fn>row.fn
        self.p.rows, self.p.n = rows, n
        self.p.zero, self.p.once = zero_point, once
        self.work = rows * n
        self.tiles = norm_tiles(rows, rows * n)
        self.bind(run_l2, &self.p, slots, row.name.decode())


cdef struct lrn:
    nnf_lrn_f32_rows_fn kernel
    nnf_lrn constants
    size_t rows, n


cdef void run_lrn(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const lrn *p = <const lrn *>step.params
    cdef const float *x = <const float *>run.slot[step.slots[0]]
    cdef float *y = <float *>run.slot[step.slots[1]]
    cdef double *sums = <double *>(run.scratch + thread * run.scratch_stride)
    cdef size_t row, first, last
    nnf_share(p.rows, thread, threads, &first, &last)
    for row in range(first, last):
        p.kernel(&p.constants, p.n, x + row * p.n, y + row * p.n, sums)


cdef class LocalResponse(Step):
    """Local response normalisation of `rows` rows of n float32 values; slots x, y."""

    cdef lrn p

    def __init__(self, slots, size_t rows, size_t n, size_t radius, double bias, double alpha, double beta):
        cdef const nnf_kernel *row = pick("lrn_f32_rows")
        self.p.kernel = <nnf_lrn_f32_rows_fn>row.fn
        self.p.rows, self.p.n = rows, n
        self.p.constants.radius = min(radius, n - 1)
        self.p.constants.bias, self.p.constants.alpha, self.p.constants.beta = bias, alpha, beta
        self.scratch = 16 * (n + self.p.constants.radius)
        self.work = rows * n
        self.tiles = norm_tiles(rows, rows * n)
        self.bind(run_lrn, &self.p, slots, row.name.decode())


cdef struct instance:
    nnf_instance_norm_f32_fn kernel
    nnf_instance_norm constants
    size_t images, channels
    bint channels_first


cdef void run_instance(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const instance *p = <const instance *>step.params
    cdef const float *x = <const float *>run.slot[step.slots[0]]
    cdef float *y = <float *>run.slot[step.slots[1]]
    cdef size_t blocks = (p.channels + NORM_BLOCK - 1) // NORM_BLOCK, size = p.constants.pixels
    cdef size_t number, first, last, channel, at
    if p.channels_first:
        nnf_share(p.images * p.channels, thread, threads, &first, &last)
        for number in range(first, last):
            p.kernel(&p.constants, 1, x + number * size, y + number * size)
        return
    nnf_share(p.images * blocks, thread, threads, &first, &last)
    for number in range(first, last):
        channel = number % blocks * NORM_BLOCK
        at = number // blocks * size * p.channels + channel
        p.kernel(&p.constants, min(<size_t>NORM_BLOCK, p.channels - channel), x + at, y + at)


cdef class InstanceNorm(Step):
    """Instance normalisation of float32 images; slots x, y.

    channels_first: images are [images, channels, pixels], else [images, pixels, channels].
    """

    cdef instance p

    def __init__(self, slots, bint channels_first, size_t images, size_t pixels, size_t channels, double gamma,
                 double beta, double epsilon):
        cdef const nnf_kernel *row = pick(f"instance_norm_f32_{'nchw' if channels_first else 'nhwc'}")
        cdef nnf_instance_norm *c = &self.p.constants
        self.p.kernel = <nnf_instance_norm_f32_fn>row.fn
        self.p.images, self.p.channels, self.p.channels_first = images, channels, channels_first
        c.pixels, c.stride = pixels, 1 if channels_first else channels
        c.gamma, c.beta, c.epsilon = gamma, beta, epsilon
        self.work = images * pixels * channels
        cdef size_t parts = images * (channels if channels_first else (channels + NORM_BLOCK - 1) // NORM_BLOCK)
        self.tiles = norm_tiles(parts, <size_t>self.work)
        self.bind(run_instance, &self.p, slots, row.name.decode())


cdef struct layer_norm:
    nnf_layer_norm_f32_rows_fn kernel
    nnf_layer_norm form
    size_t rows, n


cdef void run_layer_norm(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const layer_norm *p = <const layer_norm *>step.params
    cdef const float *x = <const float *>run.slot[step.slots[0]]
    cdef const float *gamma = <const float *>run.slot[step.slots[1]] if p.form.has_gamma else NULL
    cdef const float *beta = <const float *>run.slot[step.slots[1 + p.form.has_gamma]] if p.form.has_beta else NULL
    cdef float *y = <float *>run.slot[step.slots[1 + p.form.has_gamma + p.form.has_beta]]
    cdef size_t first, last
    nnf_share(p.rows, thread, threads, &first, &last)
    p.kernel(&p.form, last - first, p.n, x + first * p.n, gamma, beta, y + first * p.n)


cdef class LayerNormF32(Step):
    """Layer normalisation of `rows` rows of n float32 values; slots x, gamma and beta if there are such, y.

    is_folded: y = x factor + (beta - mean factor), which has both gamma and beta; divides: by the deviation, else times
    its inverse.
    """

    cdef layer_norm p

    def __init__(self, slots, size_t rows, size_t n, float epsilon, bint is_folded=False, bint divides=False,
                 bint has_gamma=True, bint has_beta=True):
        cdef const nnf_kernel *row = pick("layer_norm_f32_rows")
        if len(slots) != 2 + has_gamma + has_beta or is_folded and (divides or not has_gamma or not has_beta):
            raise ValueError("the slots do not fit the form")
        self.p.kernel = <nnf_layer_norm_f32_rows_fn>row.fn
        self.p.rows, self.p.n = rows, n
        self.p.form.epsilon, self.p.form.is_folded, self.p.form.divides = epsilon, is_folded, divides
        self.p.form.has_gamma, self.p.form.has_beta = has_gamma, has_beta
        self.work = rows * n
        self.tiles = norm_tiles(rows, rows * n)
        self.bind(run_layer_norm, &self.p, slots, row.name.decode())
