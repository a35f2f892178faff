"""Declarations and helpers that the convolutions of all types share (csrc/kernels/conv2d/conv2d.h)."""

from libc.stdint cimport int32_t, uint8_t
from libc.string cimport memset

cdef extern from "quantize/quantize.h":
    ctypedef struct nnf_row_codes:
        float step
        int32_t zero

    ctypedef struct nnf_sum_scales:
        const int32_t *weights
        const float *scale
        const float *bias
        bint by_rows
        float lo, hi

cdef extern from "conv2d/conv2d.h":
    ctypedef struct nnf_conv2d_f32_tile:
        size_t rows
        size_t columns
        size_t taps
        size_t depth
        const float *const *a
        const float *w
        float *c
        size_t ldc
        float lo
        float hi
        const char *prefetch
        size_t lines
        size_t first

    size_t nnf_conv2d_f32_fetched(size_t taps, size_t depth, size_t lines) nogil
    size_t nnf_conv2d_f32_pace(size_t bytes, size_t tiles, size_t taps, size_t depth) nogil
    ctypedef void (*nnf_conv2d_f32_nhwc_fn)(const nnf_conv2d_f32_tile *tile) noexcept nogil

    size_t nnf_pack_conv2d_f32_size(size_t columns, size_t depth, size_t n) nogil
    void nnf_pack_conv2d_f32(size_t columns, size_t depth, size_t n, const float *weights, size_t ld,
                             const float *bias, float *packed) nogil
    void nnf_pack_conv2d_f32_rows(size_t columns, size_t depth, size_t n, const float *weights, size_t ld,
                                  const float *bias, float *packed) nogil

    ctypedef struct nnf_conv2d_q8_scheme:
        uint8_t flip
        int32_t weight_zero_point
        int32_t input_zero_point
        const int32_t *bias
        const int32_t *multiplier
        const int32_t *exponent

    ctypedef struct nnf_conv2d_q8_values:
        const nnf_row_codes *row
        size_t next
        nnf_sum_scales by

    ctypedef struct nnf_conv2d_q8_tile:
        size_t rows
        size_t columns
        size_t groups
        const uint8_t *a
        size_t lda
        const int32_t *offset
        const int32_t *w
        uint8_t *c
        size_t ldc
        int32_t zero_point
        int32_t lo
        int32_t hi
        uint8_t flip
        uint8_t streamed
        const nnf_conv2d_q8_values *values
        const double *scale

    size_t nnf_pack_conv2d_q8_size(size_t columns, size_t depth, size_t n, size_t k) nogil
    void nnf_pack_conv2d_q8(size_t columns, size_t depth, size_t n, size_t k, const uint8_t *weights, size_t ld,
                            const nnf_conv2d_q8_scheme *scheme, unsigned char *packed) nogil
    void nnf_limit_conv2d_q8(size_t columns, size_t depth, size_t n, unsigned char *packed) nogil
    void nnf_mark_mild_conv2d_q8(size_t columns, size_t depth, size_t n, unsigned char *packed) nogil


# Zeros behind the packed weights of a group, up to where the next group begins: whoever is handed the weights, or
# stores them, gets no byte that nobody has written.
cdef inline void clear_rest(unsigned char *group, size_t packed, size_t whole) noexcept nogil:
    memset(group + packed, 0, whole - packed)
