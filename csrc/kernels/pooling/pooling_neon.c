#include "pooling.h"

#include <math.h>
#include <stdbool.h>

#include "nnf/partial_neon.h"
#include "nnf/unroll.h"

#define INLINE static inline __attribute__((always_inline))

/* One output, 4 channels in each of `vectors`; only a single vector may have fewer. */
INLINE void window_f32(const nnf_pool *g, const nnf_pool_window *w, const int vectors, size_t channels, bool average,
                       const float *x, float *y, float lo, float hi)
{
    float32x4_t sum[4];
    NNF_UNROLL
    for (int v = 0; v < vectors; v++)
        sum[v] = vdupq_n_f32(average ? 0.0f : -INFINITY);
    for (size_t i = 0; i < w->rows; i++, x += g->x.size * g->channels) {
        float32x4_t part[4];
        NNF_UNROLL
        for (int v = 0; v < vectors; v++)
            part[v] = average ? vdupq_n_f32(0.0f) : sum[v];
        const float *at = x;
        for (size_t j = 0; j < w->columns; j++, at += g->channels) {
            NNF_UNROLL
            for (int v = 0; v < vectors; v++) {
                const float32x4_t value = nnf_load_f32_neon(at + 4 * v, channels);
                part[v] = average ? vaddq_f32(part[v], value) : vmaxq_f32(part[v], value); /* keeps a NaN */
            }
        }
        NNF_UNROLL
        for (int v = 0; v < vectors; v++)
            sum[v] = average ? vaddq_f32(sum[v], part[v]) : part[v];
    }
    const float32x4_t count = vdupq_n_f32((float)(w->rows * w->columns));
    NNF_UNROLL
    for (int v = 0; v < vectors; v++) {
        const float32x4_t value = average ? vdivq_f32(sum[v], count) : sum[v];
        nnf_store_f32_neon(y + 4 * v, vminq_f32(vdupq_n_f32(hi), vmaxq_f32(vdupq_n_f32(lo), value)), channels);
    }
}

INLINE void pool_f32(const nnf_pool *g, size_t first, size_t last, size_t begin, size_t end, const float *x, float *y,
                     float lo, float hi, bool average)
{
    for (size_t row = first; row < last; row++) {
        for (size_t column = 0; column < g->x.out; column++, y += g->channels) {
            const nnf_pool_window w = nnf_pool_at(g, row, column);
            size_t c = begin;
            for (; c + 16 <= end; c += 16)
                window_f32(g, &w, 4, 4, average, x + w.start + c, y + c, lo, hi);
            for (; c + 4 <= end; c += 4)
                window_f32(g, &w, 1, 4, average, x + w.start + c, y + c, lo, hi);
            if (c < end)
                window_f32(g, &w, 1, end - c, average, x + w.start + c, y + c, lo, hi);
        }
    }
}

/* `channels` codes, at most 16. */
INLINE uint8x16_t load(const uint8_t *x, size_t channels)
{
    if (channels >= 16)
        return vld1q_u8(x);
    const uint8x8_t high = channels > 8 ? nnf_load_u8_neon(x + 8, channels - 8) : vdup_n_u8(0);
    return vcombine_u8(nnf_load_u8_neon(x, channels), high);
}

/* Signed codes are ordered as unsigned ones once their top bit is flipped. */
INLINE void max_q8(const nnf_pool *g, const nnf_pool_window *w, size_t channels, const uint8_t *x, uint8_t *y,
                   int32_t lo, int32_t hi, uint8_t flip)
{
    const uint8x16_t flips = vdupq_n_u8(flip);
    uint8x16_t most = vdupq_n_u8(0);
    for (size_t i = 0; i < w->rows; i++, x += g->x.size * g->channels) {
        const uint8_t *at = x;
        for (size_t j = 0; j < w->columns; j++, at += g->channels)
            most = vmaxq_u8(most, veorq_u8(load(at, channels), flips));
    }
    const uint8x16_t low = vdupq_n_u8((uint8_t)(lo + flip)), high = vdupq_n_u8((uint8_t)(hi + flip));
    nnf_storeq_u8_neon(y, veorq_u8(vminq_u8(vmaxq_u8(most, low), high), flips), channels);
}

/* So many codes fit into a sum of 16 bits. */
enum { SHORT_SUM = 256 };

/* The mean of four sums, rounded away from zero. */
INLINE int16x4_t mean(int32x4_t sum, int32_t n)
{
    const int32x4_t half = vdupq_n_s32(n / 2), negative = vshrq_n_s32(vsubq_s32(sum, vdupq_n_s32(1)), 31);
    /* half, or -half where the sum is not above zero: (half ^ -1) + 1 */
    const int32x4_t rounded = vaddq_s32(sum, vsubq_s32(veorq_s32(half, negative), negative));
    return vmovn_s32(vcvtq_s32_f32(vdivq_f32(vcvtq_f32_s32(rounded), vdupq_n_f32((float)n))));
}

INLINE void average_q8(const nnf_pool *g, const nnf_pool_window *w, size_t channels, const uint8_t *x, uint8_t *y,
                       int32_t lo, int32_t hi, uint8_t flip)
{
    const uint8x16_t flips = vdupq_n_u8(flip);
    uint32x4_t sum[4];
    NNF_UNROLL
    for (int v = 0; v < 4; v++)
        sum[v] = vdupq_n_u32(0);
    for (size_t i = 0; i < w->rows; i++, x += g->x.size * g->channels) {
        const uint8_t *at = x;
        for (size_t j = 0; j < w->columns;) {
            const size_t stop = w->columns - j < SHORT_SUM ? w->columns : j + SHORT_SUM;
            uint16x8_t low = vdupq_n_u16(0), high = low;
            for (; j < stop; j++, at += g->channels) {
                const uint8x16_t codes = veorq_u8(load(at, channels), flips);
                low = vaddw_u8(low, vget_low_u8(codes));
                high = vaddw_high_u8(high, codes);
            }
            sum[0] = vaddw_u16(sum[0], vget_low_u16(low));
            sum[1] = vaddw_high_u16(sum[1], low);
            sum[2] = vaddw_u16(sum[2], vget_low_u16(high));
            sum[3] = vaddw_high_u16(sum[3], high);
        }
    }
    const int32_t n = (int32_t)(w->rows * w->columns);
    const int16x8_t lows = vdupq_n_s16((int16_t)lo), highs = vdupq_n_s16((int16_t)hi);
    int16x4_t code[4];
    NNF_UNROLL
    for (int v = 0; v < 4; v++)
        code[v] = mean(vsubq_s32(vreinterpretq_s32_u32(sum[v]), vdupq_n_s32(n * flip)), n);
    const int8x8_t first = vmovn_s16(vminq_s16(vmaxq_s16(vcombine_s16(code[0], code[1]), lows), highs));
    const int8x8_t second = vmovn_s16(vminq_s16(vmaxq_s16(vcombine_s16(code[2], code[3]), lows), highs));
    nnf_storeq_u8_neon(y, vreinterpretq_u8_s8(vcombine_s8(first, second)), channels);
}

INLINE void pool_q8(const nnf_pool *g, size_t first, size_t last, size_t begin, size_t end, const uint8_t *x,
                    uint8_t *y, int32_t lo, int32_t hi, bool average, uint8_t flip)
{
    for (size_t row = first; row < last; row++) {
        for (size_t column = 0; column < g->x.out; column++, y += g->channels) {
            const nnf_pool_window w = nnf_pool_at(g, row, column);
            size_t c = begin;
            for (; average && c + 16 <= end; c += 16)
                average_q8(g, &w, 16, x + w.start + c, y + c, lo, hi, flip);
            if (average && c < end)
                average_q8(g, &w, end - c, x + w.start + c, y + c, lo, hi, flip);
            for (; !average && c + 16 <= end; c += 16)
                max_q8(g, &w, 16, x + w.start + c, y + c, lo, hi, flip);
            if (!average && c < end)
                max_q8(g, &w, end - c, x + w.start + c, y + c, lo, hi, flip);
        }
    }
}

void nnf_average_pool2d_f32_nhwc__neon_16(const nnf_pool *g, size_t first, size_t last, size_t begin, size_t end,
                                          const float *x, float *y, float lo, float hi)
{
    pool_f32(g, first, last, begin, end, x, y, lo, hi, true);
}

void nnf_average_pool2d_qu8_nhwc__neon_16(const nnf_pool *g, size_t first, size_t last, size_t begin, size_t end,
                                          const uint8_t *x, uint8_t *y, int32_t lo, int32_t hi)
{
    pool_q8(g, first, last, begin, end, x, y, lo, hi, true, 0);
}

void nnf_average_pool2d_qs8_nhwc__neon_16(const nnf_pool *g, size_t first, size_t last, size_t begin, size_t end,
                                          const uint8_t *x, uint8_t *y, int32_t lo, int32_t hi)
{
    pool_q8(g, first, last, begin, end, x, y, lo, hi, true, 128);
}

void nnf_max_pool2d_f32_nhwc__neon_16(const nnf_pool *g, size_t first, size_t last, size_t begin, size_t end,
                                      const float *x, float *y, float lo, float hi)
{
    pool_f32(g, first, last, begin, end, x, y, lo, hi, false);
}

void nnf_max_pool2d_qu8_nhwc__neon_16(const nnf_pool *g, size_t first, size_t last, size_t begin, size_t end,
                                      const uint8_t *x, uint8_t *y, int32_t lo, int32_t hi)
{
    pool_q8(g, first, last, begin, end, x, y, lo, hi, false, 0);
}

void nnf_max_pool2d_qs8_nhwc__neon_16(const nnf_pool *g, size_t first, size_t last, size_t begin, size_t end,
                                      const uint8_t *x, uint8_t *y, int32_t lo, int32_t hi)
{
    pool_q8(g, first, last, begin, end, x, y, lo, hi, false, 128);
}

/* Four channels, or fewer, of one output. */
INLINE void root_mean_square(const nnf_pool *g, const nnf_pool_window *w, size_t channels, const float *x, float *y,
                             float lo, float hi)
{
    const float64x2_t count = vdupq_n_f64((double)(w->rows * w->columns));
    float64x2_t sum[2] = {vdupq_n_f64(0), vdupq_n_f64(0)};
    for (size_t i = 0; i < w->rows; i++, x += g->x.size * g->channels) {
        const float *at = x;
        for (size_t j = 0; j < w->columns; j++, at += g->channels) {
            const float32x4_t value = nnf_load_f32_neon(at, channels);
            const float64x2_t low = vcvt_f64_f32(vget_low_f32(value)), high = vcvt_high_f64_f32(value);
            sum[0] = vfmaq_f64(sum[0], low, low);
            sum[1] = vfmaq_f64(sum[1], high, high);
        }
    }
    NNF_UNROLL
    for (int half = 0; half < 2; half++) {
        const float64x2_t root = vsqrtq_f64(vdivq_f64(sum[half], count));
        sum[half] = vminq_f64(vdupq_n_f64((double)hi), vmaxq_f64(vdupq_n_f64((double)lo), root));
    }
    nnf_store_f32_neon(y, vcvt_high_f32_f64(vcvt_f32_f64(sum[0]), sum[1]), channels);
}

void nnf_l2_pool2d_f32_nhwc__neon_4(const nnf_pool *g, size_t first, size_t last, size_t begin, size_t end,
                                    const float *x, float *y, float lo, float hi)
{
    for (size_t row = first; row < last; row++) {
        for (size_t column = 0; column < g->x.out; column++, y += g->channels) {
            const nnf_pool_window w = nnf_pool_at(g, row, column);
            size_t c = begin;
            for (; c + 4 <= end; c += 4)
                root_mean_square(g, &w, 4, x + w.start + c, y + c, lo, hi);
            if (c < end)
                root_mean_square(g, &w, end - c, x + w.start + c, y + c, lo, hi);
        }
    }
}
