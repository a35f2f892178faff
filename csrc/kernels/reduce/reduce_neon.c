#include "reduce.h"

#include <float.h>

#include "nnf/partial_neon.h"
#include "nnf/simd/u8_neon.h"
#include "nnf/unroll.h"

#include "reduce/reduce_simd.h"

/* Eight results on their way: sums as doubles, extremes as floats. */
typedef struct state {
    float64x2_t sum[4];
    float32x4_t best[2];
} state;

INLINE state start(enum op op)
{
    const float64x2_t zero = vdupq_n_f64(0);
    const float32x4_t worst = vdupq_n_f32(op == OP_MAX ? -FLT_MAX : FLT_MAX);
    return (state){{zero, zero, zero, zero}, {worst, worst}};
}

/* Four more values for one half of the results. */
INLINE void join(enum op op, state *s, const int half, float32x4_t x)
{
    if (op == OP_SUM) {
        s->sum[2 * half] = vaddq_f64(s->sum[2 * half], vcvt_f64_f32(vget_low_f32(x)));
        s->sum[2 * half + 1] = vaddq_f64(s->sum[2 * half + 1], vcvt_high_f64_f32(x));
    } else { /* a choice, since vmaxq would give a NaN of x */
        const float32x4_t best = s->best[half];
        s->best[half] = vbslq_f32(op == OP_MAX ? vcgtq_f32(x, best) : vcltq_f32(x, best), x, best);
    }
}

INLINE float better(enum op op, float x, float y)
{
    return (op == OP_MAX ? x > y : x < y) ? x : y;
}

INLINE void rows(enum op op, const nnf_reduce *p, size_t n, const float *x, float *y)
{
    state s = start(op);
    double rest = 0;
    float last = op == OP_MAX ? -FLT_MAX : FLT_MAX;
    for (size_t a = 0; a < p->count[0]; a++) {
        for (size_t b = 0; b < p->count[1]; b++) {
            const float *from = x + a * p->stride[0] + b * p->stride[1];
            size_t i = 0;
            for (; i + 8 <= n; i += 8) {
                join(op, &s, 0, vld1q_f32(from + i));
                join(op, &s, 1, vld1q_f32(from + i + 4));
            }
            for (; i < n; i++) {
                rest += from[i];
                last = better(op, from[i], last);
            }
        }
    }
    if (op == OP_SUM) {
        const float64x2_t sum = vaddq_f64(vaddq_f64(s.sum[0], s.sum[1]), vaddq_f64(s.sum[2], s.sum[3]));
        *y = (float)((vaddvq_f64(sum) + rest) / p->divisor);
    } else if (op == OP_MAX) {
        *y = better(op, vmaxvq_f32(vmaxq_f32(s.best[0], s.best[1])), last);
    } else {
        *y = better(op, vminvq_f32(vminq_f32(s.best[0], s.best[1])), last);
    }
}

/* Eight columns, or the `live` that are left. */
INLINE void eight_columns(enum op op, const nnf_reduce *p, size_t live, const float *x, float *y)
{
    const float64x2_t divisor = vdupq_n_f64(p->divisor);
    state s = start(op);
    for (size_t a = 0; a < p->count[0]; a++) {
        for (size_t b = 0; b < p->count[1]; b++) {
            const float *from = x + a * p->stride[0] + b * p->stride[1];
            join(op, &s, 0, nnf_load_f32_neon(from, live));
            if (live > 4)
                join(op, &s, 1, nnf_load_f32_neon(from + 4, live - 4));
        }
    }
    NNF_UNROLL
    for (int half = 0; op == OP_SUM && half < 2; half++)
        s.best[half] = vcvt_high_f32_f64(vcvt_f32_f64(vdivq_f64(s.sum[2 * half], divisor)),
                                         vdivq_f64(s.sum[2 * half + 1], divisor));
    nnf_store_f32_neon(y, s.best[0], live);
    if (live > 4)
        nnf_store_f32_neon(y + 4, s.best[1], live - 4);
}

INLINE void columns(enum op op, const nnf_reduce *p, size_t n, const float *x, float *y)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        eight_columns(op, p, 8, x + i, y + i);
    if (i < n)
        eight_columns(op, p, n - i, x + i, y + i);
}

void nnf_reduce_sum_f32_rows__neon_8(const nnf_reduce *p, size_t n, const float *x, float *y)
{
    rows(OP_SUM, p, n, x, y);
}

void nnf_reduce_max_f32_rows__neon_8(const nnf_reduce *p, size_t n, const float *x, float *y)
{
    rows(OP_MAX, p, n, x, y);
}

void nnf_reduce_min_f32_rows__neon_8(const nnf_reduce *p, size_t n, const float *x, float *y)
{
    rows(OP_MIN, p, n, x, y);
}

void nnf_reduce_sum_across_f32_rows__neon_8(const nnf_reduce *p, size_t n, const float *x, float *y)
{
    columns(OP_SUM, p, n, x, y);
}

void nnf_reduce_max_across_f32_rows__neon_8(const nnf_reduce *p, size_t n, const float *x, float *y)
{
    columns(OP_MAX, p, n, x, y);
}

void nnf_reduce_min_across_f32_rows__neon_8(const nnf_reduce *p, size_t n, const float *x, float *y)
{
    columns(OP_MIN, p, n, x, y);
}

void nnf_reduce_mean_qu8_rows__neon_16(const nnf_reduce *p, size_t n, const uint8_t *x, uint8_t *y)
{
    const uint8x16_t flip = vdupq_n_u8(p->flip);
    uint32x4_t sums = vdupq_n_u32(0);
    int32_t sum = 0;
    for (size_t a = 0; a < p->count[0]; a++) {
        for (size_t b = 0; b < p->count[1]; b++) {
            const uint8_t *from = x + a * p->stride[0] + b * p->stride[1];
            size_t i = 0;
            for (; i + 16 <= n; i += 16)
                sums = vpadalq_u16(sums, vpaddlq_u8(veorq_u8(vld1q_u8(from + i), flip)));
            for (; i < n; i++)
                sum += from[i] ^ p->flip;
        }
    }
    sum += (int32_t)vaddvq_u32(sums);
    *y = nnf_reduce_mean(p, sum - p->flip * (int32_t)(p->count[0] * p->count[1] * n));
}

INLINE void mean_across(const nnf_reduce *p, size_t live, const uint8_t *x, uint8_t *y)
{
    const int32_t excess = p->flip * (int32_t)(p->count[0] * p->count[1]);
    const uint8x8_t flip = vdup_n_u8(p->flip);
    uint32x4_t sums[2] = {vdupq_n_u32(0), vdupq_n_u32(0)};
    for (size_t a = 0; a < p->count[0]; a++) {
        for (size_t b = 0; b < p->count[1]; b++) {
            const uint8x8_t bytes = nnf_load_u8_neon(x + a * p->stride[0] + b * p->stride[1], live);
            const uint16x8_t codes = vmovl_u8(veor_u8(bytes, flip));
            sums[0] = vaddw_u16(sums[0], vget_low_u16(codes));
            sums[1] = vaddw_high_u16(sums[1], codes);
        }
    }
    uint32_t lanes[8];
    vst1q_u32(lanes, sums[0]);
    vst1q_u32(lanes + 4, sums[1]);
    for (size_t lane = 0; lane < live; lane++)
        y[lane] = nnf_reduce_mean(p, (int32_t)lanes[lane] - excess);
}

void nnf_reduce_mean_across_qu8_rows__neon_8(const nnf_reduce *p, size_t n, const uint8_t *x, uint8_t *y)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        mean_across(p, 8, x + i, y + i);
    if (i < n)
        mean_across(p, n - i, x + i, y + i);
}

void nnf_reduce_max_qu8_rows__neon_16(const nnf_reduce *p, size_t n, const uint8_t *x, uint8_t *y)
{
    codes(OP_MAX, p, n, x, y);
}

void nnf_reduce_min_qu8_rows__neon_16(const nnf_reduce *p, size_t n, const uint8_t *x, uint8_t *y)
{
    codes(OP_MIN, p, n, x, y);
}

void nnf_reduce_max_across_qu8_rows__neon_16(const nnf_reduce *p, size_t n, const uint8_t *x, uint8_t *y)
{
    codes_across(OP_MAX, p, n, x, y);
}

void nnf_reduce_min_across_qu8_rows__neon_16(const nnf_reduce *p, size_t n, const uint8_t *x, uint8_t *y)
{
    codes_across(OP_MIN, p, n, x, y);
}
