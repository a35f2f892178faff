#include "quantize.h"

#include "nnf/partial_neon.h"

#define INLINE static inline __attribute__((always_inline))

/* Constants of a row. */
typedef struct row {
    float32x4_t scale;
    int16x8_t zero, lo, hi;
} row;

/* Steps to codes before the clamp. The minimum of numbers leaves a NaN out; the conversion rounds ties away from
 * zero. */
INLINE int16x4_t steps(float32x4_t x, float32x4_t scale)
{
    const float32x4_t far = vdupq_n_f32(NNF_QUANTIZE_FAR), near = vminnmq_f32(vdivq_f32(x, scale), far);
    return vmovn_s32(vcvtaq_s32_f32(vmaxq_f32(near, vnegq_f32(far))));
}

/* Up to eight elements; `live` is a constant but at the end of a row. */
INLINE void quantize(const row *r, size_t live, const float *x, uint8_t *y)
{
    const float32x4_t first = nnf_load_f32_neon(x, live);
    const float32x4_t second = live > 4 ? nnf_load_f32_neon(x + 4, live - 4) : first;
    const int16x8_t code = vaddq_s16(vcombine_s16(steps(first, r->scale), steps(second, r->scale)), r->zero);
    nnf_store_u8_neon(y, vreinterpret_u8_s8(vmovn_s16(vminq_s16(vmaxq_s16(code, r->lo), r->hi))), live);
}

void nnf_quantize_f32_qu8_flat__neon_8(size_t n, const float *x, uint8_t *y, float scale, int32_t zero, int32_t lo,
                                       int32_t hi)
{
    const row r = {vdupq_n_f32(scale), vdupq_n_s16((int16_t)zero), vdupq_n_s16((int16_t)lo), vdupq_n_s16((int16_t)hi)};
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        quantize(&r, 8, x + i, y + i);
    if (i < n)
        quantize(&r, n - i, x + i, y + i);
}

/* Up to eight elements; scale is NULL where all have that of the row. */
INLINE void dequantize(int is_signed, const row *r, size_t live, const uint8_t *x, const float *scale, float *y)
{
    const uint8x8_t bytes = nnf_load_u8_neon(x, live);
    const int16x8_t code = is_signed ? vmovl_s8(vreinterpret_s8_u8(bytes)) : vreinterpretq_s16_u16(vmovl_u8(bytes));
    const int16x8_t centred = vsubq_s16(code, r->zero);
    const float32x4_t first = vcvtq_f32_s32(vmovl_s16(vget_low_s16(centred)));
    const float32x4_t second = vcvtq_f32_s32(vmovl_high_s16(centred));
    nnf_store_f32_neon(y, vmulq_f32(first, scale ? nnf_load_f32_neon(scale, live) : r->scale), live);
    if (live > 4)
        nnf_store_f32_neon(y + 4, vmulq_f32(second, scale ? nnf_load_f32_neon(scale + 4, live - 4) : r->scale),
                           live - 4);
}

INLINE void dequantize_row(int is_signed, size_t n, const uint8_t *x, float *y, int32_t zero, const float *scale,
                           size_t step)
{
    if (n == 0)
        return;
    const row r = {.scale = vdupq_n_f32(*scale), .zero = vdupq_n_s16((int16_t)zero)};
    size_t i = 0;
    if (step) {
        for (; i + 8 <= n; i += 8)
            dequantize(is_signed, &r, 8, x + i, scale + i, y + i);
    } else {
        for (; i + 8 <= n; i += 8)
            dequantize(is_signed, &r, 8, x + i, NULL, y + i);
    }
    if (i < n)
        dequantize(is_signed, &r, n - i, x + i, step ? scale + i : NULL, y + i);
}

void nnf_dequantize_qu8_f32_flat__neon_8(size_t n, const uint8_t *x, float *y, int32_t zero, const float *scale,
                                         size_t step)
{
    dequantize_row(0, n, x, y, zero, scale, step);
}

void nnf_dequantize_qs8_f32_flat__neon_8(size_t n, const uint8_t *x, float *y, int32_t zero, const float *scale,
                                         size_t step)
{
    dequantize_row(1, n, x, y, zero, scale, step);
}
