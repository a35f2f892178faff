#include "reduce.h"

#include <float.h>

#include "nnf/simd/u8_avx512.h"

#include "reduce/reduce_simd.h"

static inline __mmask16 first(size_t count)
{
    return count >= 16 ? 0xFFFF : (__mmask16)((1u << count) - 1);
}

/* Sixteen results on their way: sums as doubles in two halves, extremes as floats. */
typedef struct state {
    __m512d half[2];
    __m512 best;
} state;

static inline __attribute__((always_inline)) state start(enum op op)
{
    return (state){{_mm512_setzero_pd(), _mm512_setzero_pd()}, _mm512_set1_ps(op == OP_MAX ? -FLT_MAX : FLT_MAX)};
}

/* Lanes that are not live hold 0, which changes no sum. */
static inline __attribute__((always_inline)) void join(enum op op, state *s, __mmask16 live, __m512 x)
{
    if (op == OP_SUM) {
        s->half[0] = _mm512_add_pd(s->half[0], _mm512_cvtps_pd(_mm512_castps512_ps256(x)));
        s->half[1] = _mm512_add_pd(s->half[1], _mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1)));
    } else if (op == OP_MAX) { /* the second operand stays when x is NaN */
        s->best = _mm512_mask_max_ps(s->best, live, x, s->best);
    } else {
        s->best = _mm512_mask_min_ps(s->best, live, x, s->best);
    }
}

static inline __attribute__((always_inline)) void rows(enum op op, const nnf_reduce *p, size_t n, const float *x,
                                                       float *y)
{
    state s = start(op);
    for (size_t a = 0; a < p->count[0]; a++) {
        for (size_t b = 0; b < p->count[1]; b++) {
            const float *from = x + a * p->stride[0] + b * p->stride[1];
            for (size_t i = 0; i < n; i += 16)
                join(op, &s, first(n - i), _mm512_maskz_loadu_ps(first(n - i), from + i));
        }
    }
    if (op == OP_SUM)
        *y = (float)(_mm512_reduce_add_pd(_mm512_add_pd(s.half[0], s.half[1])) / p->divisor);
    else
        *y = op == OP_MAX ? _mm512_reduce_max_ps(s.best) : _mm512_reduce_min_ps(s.best);
}

static inline __attribute__((always_inline)) void columns(enum op op, const nnf_reduce *p, size_t n, const float *x,
                                                          float *y)
{
    const __m512d divisor = _mm512_set1_pd(p->divisor);
    for (size_t i = 0; i < n; i += 16) {
        const __mmask16 live = first(n - i);
        state s = start(op);
        for (size_t a = 0; a < p->count[0]; a++) {
            for (size_t b = 0; b < p->count[1]; b++)
                join(op, &s, live, _mm512_maskz_loadu_ps(live, x + a * p->stride[0] + b * p->stride[1] + i));
        }
        if (op == OP_SUM) {
            const __m512 low = _mm512_castps256_ps512(_mm512_cvtpd_ps(_mm512_div_pd(s.half[0], divisor)));
            s.best = _mm512_insertf32x8(low, _mm512_cvtpd_ps(_mm512_div_pd(s.half[1], divisor)), 1);
        }
        _mm512_mask_storeu_ps(y + i, live, s.best);
    }
}

void nnf_reduce_sum_f32_rows__avx512_16(const nnf_reduce *p, size_t n, const float *x, float *y)
{
    rows(OP_SUM, p, n, x, y);
}

void nnf_reduce_max_f32_rows__avx512_16(const nnf_reduce *p, size_t n, const float *x, float *y)
{
    rows(OP_MAX, p, n, x, y);
}

void nnf_reduce_min_f32_rows__avx512_16(const nnf_reduce *p, size_t n, const float *x, float *y)
{
    rows(OP_MIN, p, n, x, y);
}

void nnf_reduce_sum_across_f32_rows__avx512_16(const nnf_reduce *p, size_t n, const float *x, float *y)
{
    columns(OP_SUM, p, n, x, y);
}

void nnf_reduce_max_across_f32_rows__avx512_16(const nnf_reduce *p, size_t n, const float *x, float *y)
{
    columns(OP_MAX, p, n, x, y);
}

void nnf_reduce_min_across_f32_rows__avx512_16(const nnf_reduce *p, size_t n, const float *x, float *y)
{
    columns(OP_MIN, p, n, x, y);
}

void nnf_reduce_mean_qu8_rows__avx512_64(const nnf_reduce *p, size_t n, const uint8_t *x, uint8_t *y)
{
    const __m512i flip = _mm512_set1_epi8((char)p->flip);
    __m512i sums = _mm512_setzero_si512();
    for (size_t a = 0; a < p->count[0]; a++) {
        for (size_t b = 0; b < p->count[1]; b++) {
            const uint8_t *from = x + a * p->stride[0] + b * p->stride[1];
            for (size_t i = 0; i < n; i += 64) {
                const __mmask64 live = n - i >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << (n - i)) - 1;
                const __m512i raw = _mm512_mask_loadu_epi8(flip, live, from + i);
                const __m512i codes = _mm512_xor_si512(raw, flip); /* 0 where nothing is loaded */
                sums = _mm512_add_epi64(sums, _mm512_sad_epu8(codes, _mm512_setzero_si512()));
            }
        }
    }
    const int32_t sum = (int32_t)_mm512_reduce_add_epi64(sums);
    *y = nnf_reduce_mean(p, sum - p->flip * (int32_t)(p->count[0] * p->count[1] * n));
}

void nnf_reduce_mean_across_qu8_rows__avx512_16(const nnf_reduce *p, size_t n, const uint8_t *x, uint8_t *y)
{
    const int32_t excess = p->flip * (int32_t)(p->count[0] * p->count[1]);
    const __m512i flip = _mm512_set1_epi32(p->flip);
    for (size_t i = 0; i < n; i += 16) {
        const __mmask16 live = first(n - i);
        __m512i sums = _mm512_setzero_si512();
        for (size_t a = 0; a < p->count[0]; a++) {
            for (size_t b = 0; b < p->count[1]; b++) {
                const __m128i raw = _mm_maskz_loadu_epi8(live, x + a * p->stride[0] + b * p->stride[1] + i);
                sums = _mm512_add_epi32(sums, _mm512_xor_si512(_mm512_cvtepu8_epi32(raw), flip));
            }
        }
        int32_t lanes[16];
        _mm512_storeu_si512(lanes, sums);
        for (size_t lane = 0; lane < 16 && i + lane < n; lane++)
            y[i + lane] = nnf_reduce_mean(p, lanes[lane] - excess);
    }
}

void nnf_reduce_max_qu8_rows__avx512_64(const nnf_reduce *p, size_t n, const uint8_t *x, uint8_t *y)
{
    codes(OP_MAX, p, n, x, y);
}

void nnf_reduce_min_qu8_rows__avx512_64(const nnf_reduce *p, size_t n, const uint8_t *x, uint8_t *y)
{
    codes(OP_MIN, p, n, x, y);
}

void nnf_reduce_max_across_qu8_rows__avx512_64(const nnf_reduce *p, size_t n, const uint8_t *x, uint8_t *y)
{
    codes_across(OP_MAX, p, n, x, y);
}

void nnf_reduce_min_across_qu8_rows__avx512_64(const nnf_reduce *p, size_t n, const uint8_t *x, uint8_t *y)
{
    codes_across(OP_MIN, p, n, x, y);
}
