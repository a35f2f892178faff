#include "reduce.h"

#include <float.h>
#include <immintrin.h>
#include <string.h>

#include "nnf/simd/u8_avx2.h"

#include "reduce/reduce_simd.h"

static inline __m256i first(size_t count)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(count < 8 ? (int)count : 8), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

/* Eight results on their way: sums as doubles in two halves, extremes as floats in the first. */
typedef struct state {
    __m256d half[2];
    __m256 best;
} state;

static inline __attribute__((always_inline)) state start(enum op op)
{
    return (state){{_mm256_setzero_pd(), _mm256_setzero_pd()}, _mm256_set1_ps(op == OP_MAX ? -FLT_MAX : FLT_MAX)};
}

static inline __attribute__((always_inline)) void join(enum op op, state *s, __m256 x)
{
    if (op == OP_SUM) {
        s->half[0] = _mm256_add_pd(s->half[0], _mm256_cvtps_pd(_mm256_castps256_ps128(x)));
        s->half[1] = _mm256_add_pd(s->half[1], _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1)));
    } else if (op == OP_MAX) { /* the second operand stays when x is NaN */
        s->best = _mm256_max_ps(x, s->best);
    } else {
        s->best = _mm256_min_ps(x, s->best);
    }
}

static inline __attribute__((always_inline)) void rows(enum op op, const nnf_reduce *p, size_t n, const float *x,
                                                       float *y)
{
    state s = start(op);
    for (size_t a = 0; a < p->count[0]; a++) {
        for (size_t b = 0; b < p->count[1]; b++) {
            const float *from = x + a * p->stride[0] + b * p->stride[1];
            size_t i = 0;
            for (; i + 8 <= n; i += 8)
                join(op, &s, _mm256_loadu_ps(from + i));
            if (i < n) {
                /* Lanes without an element get what changes nothing. */
                const __m256i live = first(n - i);
                const __m256 rest = _mm256_maskload_ps(from + i, live);
                join(op, &s, op == OP_SUM ? rest : _mm256_blendv_ps(s.best, rest, _mm256_castsi256_ps(live)));
            }
        }
    }
    if (op == OP_SUM) {
        double lanes[4];
        _mm256_storeu_pd(lanes, _mm256_add_pd(s.half[0], s.half[1]));
        *y = (float)(((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) / p->divisor);
        return;
    }
    float lanes[8];
    _mm256_storeu_ps(lanes, s.best);
    for (int lane = 1; lane < 8; lane++)
        lanes[0] = (op == OP_MAX ? lanes[lane] > lanes[0] : lanes[lane] < lanes[0]) ? lanes[lane] : lanes[0];
    *y = lanes[0];
}

static inline __attribute__((always_inline)) void columns(enum op op, const nnf_reduce *p, size_t n, const float *x,
                                                          float *y)
{
    const __m256d divisor = _mm256_set1_pd(p->divisor);
    for (size_t i = 0; i < n; i += 8) {
        const __m256i live = first(n - i);
        const int whole = n - i >= 8;
        state s = start(op);
        for (size_t a = 0; a < p->count[0]; a++) {
            for (size_t b = 0; b < p->count[1]; b++) {
                const float *from = x + a * p->stride[0] + b * p->stride[1] + i;
                join(op, &s, whole ? _mm256_loadu_ps(from) : _mm256_maskload_ps(from, live));
            }
        }
        if (op == OP_SUM)
            s.best = _mm256_set_m128(_mm256_cvtpd_ps(_mm256_div_pd(s.half[1], divisor)),
                                     _mm256_cvtpd_ps(_mm256_div_pd(s.half[0], divisor)));
        if (whole)
            _mm256_storeu_ps(y + i, s.best);
        else
            _mm256_maskstore_ps(y + i, live, s.best);
    }
}

void nnf_reduce_sum_f32_rows__avx2_8(const nnf_reduce *p, size_t n, const float *x, float *y)
{
    rows(OP_SUM, p, n, x, y);
}

void nnf_reduce_max_f32_rows__avx2_8(const nnf_reduce *p, size_t n, const float *x, float *y)
{
    rows(OP_MAX, p, n, x, y);
}

void nnf_reduce_min_f32_rows__avx2_8(const nnf_reduce *p, size_t n, const float *x, float *y)
{
    rows(OP_MIN, p, n, x, y);
}

void nnf_reduce_sum_across_f32_rows__avx2_8(const nnf_reduce *p, size_t n, const float *x, float *y)
{
    columns(OP_SUM, p, n, x, y);
}

void nnf_reduce_max_across_f32_rows__avx2_8(const nnf_reduce *p, size_t n, const float *x, float *y)
{
    columns(OP_MAX, p, n, x, y);
}

void nnf_reduce_min_across_f32_rows__avx2_8(const nnf_reduce *p, size_t n, const float *x, float *y)
{
    columns(OP_MIN, p, n, x, y);
}

void nnf_reduce_mean_qu8_rows__avx2_32(const nnf_reduce *p, size_t n, const uint8_t *x, uint8_t *y)
{
    const __m256i flip = _mm256_set1_epi8((char)p->flip);
    __m256i sums = _mm256_setzero_si256();
    int32_t sum = 0;
    for (size_t a = 0; a < p->count[0]; a++) {
        for (size_t b = 0; b < p->count[1]; b++) {
            const uint8_t *from = x + a * p->stride[0] + b * p->stride[1];
            size_t i = 0;
            for (; i + 32 <= n; i += 32) {
                const __m256i codes = _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)(from + i)), flip);
                sums = _mm256_add_epi64(sums, _mm256_sad_epu8(codes, _mm256_setzero_si256()));
            }
            for (; i < n; i++)
                sum += from[i] ^ p->flip;
        }
    }
    int64_t lanes[4];
    _mm256_storeu_si256((__m256i *)lanes, sums);
    sum += (int32_t)(lanes[0] + lanes[1] + lanes[2] + lanes[3]);
    *y = nnf_reduce_mean(p, sum - p->flip * (int32_t)(p->count[0] * p->count[1] * n));
}

void nnf_reduce_mean_across_qu8_rows__avx2_8(const nnf_reduce *p, size_t n, const uint8_t *x, uint8_t *y)
{
    const int32_t excess = p->flip * (int32_t)(p->count[0] * p->count[1]);
    const __m256i flip = _mm256_set1_epi32(p->flip);
    for (size_t i = 0; i < n; i += 8) {
        const size_t live = n - i < 8 ? n - i : 8;
        __m256i sums = _mm256_setzero_si256();
        for (size_t a = 0; a < p->count[0]; a++) {
            for (size_t b = 0; b < p->count[1]; b++) {
                uint64_t raw = 0;
                memcpy(&raw, x + a * p->stride[0] + b * p->stride[1] + i, live);
                const __m256i codes = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)raw));
                sums = _mm256_add_epi32(sums, _mm256_xor_si256(codes, flip));
            }
        }
        int32_t lanes[8];
        _mm256_storeu_si256((__m256i *)lanes, sums);
        for (size_t lane = 0; lane < live; lane++)
            y[i + lane] = nnf_reduce_mean(p, lanes[lane] - excess);
    }
}

void nnf_reduce_max_qu8_rows__avx2_32(const nnf_reduce *p, size_t n, const uint8_t *x, uint8_t *y)
{
    codes(OP_MAX, p, n, x, y);
}

void nnf_reduce_min_qu8_rows__avx2_32(const nnf_reduce *p, size_t n, const uint8_t *x, uint8_t *y)
{
    codes(OP_MIN, p, n, x, y);
}

void nnf_reduce_max_across_qu8_rows__avx2_32(const nnf_reduce *p, size_t n, const uint8_t *x, uint8_t *y)
{
    codes_across(OP_MAX, p, n, x, y);
}

void nnf_reduce_min_across_qu8_rows__avx2_32(const nnf_reduce *p, size_t n, const uint8_t *x, uint8_t *y)
{
    codes_across(OP_MIN, p, n, x, y);
}
