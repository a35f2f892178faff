#include "resize.h"

#include "nnf/partial_neon.h"

#define INLINE static inline __attribute__((always_inline))

/* The four neighbours in the order of the reference; no fused multiply-add, which would round less often. */
INLINE float32x4_t blend(const float32x4_t x[4], float down, float across)
{
    const float up = 1 - down, back = 1 - across;
    float32x4_t value = vmulq_n_f32(vmulq_n_f32(x[0], up), back);
    value = vaddq_f32(value, vmulq_n_f32(vmulq_n_f32(x[1], down), back));
    value = vaddq_f32(value, vmulq_n_f32(vmulq_n_f32(x[2], up), across));
    return vaddq_f32(value, vmulq_n_f32(vmulq_n_f32(x[3], down), across));
}

/* Where the four neighbours of an output pixel lie. */
typedef struct corners {
    size_t left, right;
    float down, across;
    int is_away;
} corners;

/* Four channels, or the `live` that are left. */
INLINE void pixel_f32(const corners *p, size_t live, const float *top, const float *bottom, float *y)
{
    const float32x4_t x[4] = {nnf_load_f32_neon(top + p->left, live), nnf_load_f32_neon(bottom + p->left, live),
                              nnf_load_f32_neon(top + p->right, live), nnf_load_f32_neon(bottom + p->right, live)};
    nnf_store_f32_neon(y, blend(x, p->down, p->across), live);
}

void nnf_resize_bilinear_f32_nhwc__neon_4(const nnf_resize *p, const float *top, const float *bottom, float down,
                                          float *y)
{
    for (size_t i = 0; i < p->width; i++, y += p->channels) {
        const corners at = {p->left[i] * p->channels, p->right[i] * p->channels, down, p->across[i]};
        size_t c = 0;
        for (; c + 4 <= p->channels; c += 4)
            pixel_f32(&at, 4, top + c, bottom + c, y + c);
        if (c < p->channels)
            pixel_f32(&at, p->channels - c, top + c, bottom + c, y + c);
    }
}

INLINE void load_q8(int is_signed, const uint8_t *x, size_t live, float32x4_t *first, float32x4_t *second)
{
    const uint8x8_t bytes = nnf_load_u8_neon(x, live);
    const int16x8_t code = is_signed ? vmovl_s8(vreinterpret_s8_u8(bytes)) : vreinterpretq_s16_u16(vmovl_u8(bytes));
    *first = vcvtq_f32_s32(vmovl_s16(vget_low_s16(code)));
    *second = vcvtq_f32_s32(vmovl_high_s16(code));
}

/* Cut after adding half, of the value's sign if is_away. */
INLINE int32x4_t nearest(float32x4_t value, int is_away)
{
    const float32x4_t half = vdupq_n_f32(0.5f);
    return vcvtq_s32_f32(vaddq_f32(value, is_away ? vbslq_f32(vdupq_n_u32(0x80000000), value, half) : half));
}

/* Eight channels, or the `live` that are left. */
INLINE void pixel_q8(int is_signed, const corners *p, size_t live, const uint8_t *top, const uint8_t *bottom,
                     uint8_t *y)
{
    float32x4_t x[2][4];
    load_q8(is_signed, top + p->left, live, &x[0][0], &x[1][0]);
    load_q8(is_signed, bottom + p->left, live, &x[0][1], &x[1][1]);
    load_q8(is_signed, top + p->right, live, &x[0][2], &x[1][2]);
    load_q8(is_signed, bottom + p->right, live, &x[0][3], &x[1][3]);
    const int32x4_t first = nearest(blend(x[0], p->down, p->across), p->is_away);
    const int32x4_t second = nearest(blend(x[1], p->down, p->across), p->is_away);
    const int16x8_t code = vcombine_s16(vmovn_s32(first), vmovn_s32(second));
    nnf_store_u8_neon(y, vreinterpret_u8_s8(vmovn_s16(code)), live);
}

INLINE void resize_q8(int is_signed, const nnf_resize *p, const uint8_t *top, const uint8_t *bottom, float down,
                      uint8_t *y)
{
    for (size_t i = 0; i < p->width; i++, y += p->channels) {
        const corners at = {p->left[i] * p->channels, p->right[i] * p->channels, down, p->across[i], p->is_away};
        size_t c = 0;
        for (; c + 8 <= p->channels; c += 8)
            pixel_q8(is_signed, &at, 8, top + c, bottom + c, y + c);
        if (c < p->channels)
            pixel_q8(is_signed, &at, p->channels - c, top + c, bottom + c, y + c);
    }
}

void nnf_resize_bilinear_qu8_nhwc__neon_8(const nnf_resize *p, const uint8_t *top, const uint8_t *bottom,
                                          float down, uint8_t *y)
{
    resize_q8(0, p, top, bottom, down, y);
}

void nnf_resize_bilinear_qs8_nhwc__neon_8(const nnf_resize *p, const uint8_t *top, const uint8_t *bottom,
                                          float down, uint8_t *y)
{
    resize_q8(1, p, top, bottom, down, y);
}
