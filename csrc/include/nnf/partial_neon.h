/* The first elements of a vector, without a call of memcpy, which would spill every vector register. Include only from
 * NEON files. */
#ifndef NNF_PARTIAL_NEON_H
#define NNF_PARTIAL_NEON_H

#include <arm_neon.h>
#include <stddef.h>
#include <stdint.h>

#include "nnf/partial.h"

/* `count` floats, 1 or more, and zeros behind them; reads no more than 4. */
static inline float32x4_t nnf_load_f32_neon(const float *x, size_t count)
{
    const float32x2_t none = vdup_n_f32(0);
    if (count >= 4)
        return vld1q_f32(x);
    if (count == 3)
        return vcombine_f32(vld1_f32(x), vld1_lane_f32(x + 2, none, 0));
    return vcombine_f32(count == 2 ? vld1_f32(x) : vld1_lane_f32(x, none, 0), none);
}

/* Writes `count` floats, 1 or more, but no more than 4. */
static inline void nnf_store_f32_neon(float *y, float32x4_t v, size_t count)
{
    if (count >= 4) {
        vst1q_f32(y, v);
    } else if (count >= 2) {
        vst1_f32(y, vget_low_f32(v));
        if (count == 3)
            vst1q_lane_f32(y + 2, v, 2);
    } else {
        vst1q_lane_f32(y, v, 0);
    }
}

/* `count` bytes and zeros behind them; reads no more than 8. */
static inline uint8x8_t nnf_load_u8_neon(const uint8_t *x, size_t count)
{
    return count >= 8 ? vld1_u8(x) : vcreate_u8(nnf_load_bytes(x, count));
}

/* Writes `count` bytes, but no more than 8. */
static inline void nnf_store_u8_neon(uint8_t *y, uint8x8_t v, size_t count)
{
    if (count >= 8)
        vst1_u8(y, v);
    else
        nnf_store_bytes(y, vget_lane_u64(vreinterpret_u64_u8(v), 0), count);
}

/* The same for 16 bytes. */
static inline uint8x16_t nnf_loadq_u8_neon(const uint8_t *x, size_t count)
{
    if (count >= 16)
        return vld1q_u8(x);
    const uint8x8_t high = count > 8 ? nnf_load_u8_neon(x + 8, count - 8) : vdup_n_u8(0);
    return vcombine_u8(nnf_load_u8_neon(x, count), high);
}

static inline void nnf_storeq_u8_neon(uint8_t *y, uint8x16_t v, size_t count)
{
    nnf_store_u8_neon(y, vget_low_u8(v), count);
    if (count > 8)
        nnf_store_u8_neon(y + 8, vget_high_u8(v), count - 8);
}

#endif
