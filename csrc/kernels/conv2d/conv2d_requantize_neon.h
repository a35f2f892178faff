/* From a tile of int32 sums to 8-bit codes. Include only from NEON files. */
#ifndef NNF_CONV2D_REQUANTIZE_NEON_H
#define NNF_CONV2D_REQUANTIZE_NEON_H

#include "conv2d.h"
#include "nnf/partial_neon.h"
#include "nnf/requantize_neon.h"
#include "nnf/unroll.h"

/* Row offsets and store of the sums of `rows` rows of so many vectors, from vector `first` of the tile on. */
INLINE void nnf_conv2d_store_s32(const nnf_conv2d_q8_tile *t, const int rows, const int first, const int vectors,
                                 int32x4_t sum[][2])
{
    NNF_UNROLL
    for (int i = 0; i < rows; i++) {
        const int32x4_t offset = vdupq_n_s32(t->offset ? t->offset[i] : 0);
        int32_t *c = (int32_t *)t->c + (size_t)i * t->ldc;
        NNF_UNROLL
        for (int v = 0; v < vectors; v++) {
            const size_t at = (size_t)(4 * (first + v)), left = t->columns > at ? t->columns - at : 0;
            int32_t lanes[4];
            vst1q_s32(lanes, vaddq_s32(sum[i][v], offset));
            memcpy(c + at, lanes, 4 * (left < 4 ? left : 4));
        }
    }
}

/* Row offsets, requantization and store of the sums of `rows` rows of so many vectors, from vector `first` on of those
 * `all` that a panel has. */
INLINE void nnf_conv2d_finish_tile(const nnf_conv2d_q8_tile *t, const int rows, const int all, const int first,
                                   const int vectors, int32x4_t sum[][2])
{
    const size_t columns = t->columns - (size_t)(4 * first), ldc = t->ldc;
    int32x4_t multiplier[2], left[2], down[2];
    NNF_UNROLL
    for (int v = 0; v < vectors; v++) {
        const int32_t *header = t->w + 4 * (first + v);
        multiplier[v] = vld1q_s32(header + NNF_CONV2D_Q8_MULTIPLIER * 4 * all);
        left[v] = vld1q_s32(header + NNF_CONV2D_Q8_LEFT * 4 * all);
        down[v] = vnegq_s32(vld1q_s32(header + NNF_CONV2D_Q8_RIGHT * 4 * all));
    }
    const int16x8_t zero_point = vdupq_n_s16((int16_t)t->zero_point);
    const uint8x8_t lo = vdup_n_u8((uint8_t)t->lo), hi = vdup_n_u8((uint8_t)t->hi), flip = vdup_n_u8(t->flip);
    if (t->offset) {
        NNF_UNROLL
        for (int i = 0; i < rows; i++) {
            NNF_UNROLL
            for (int v = 0; v < vectors; v++)
                sum[i][v] = vaddq_s32(sum[i][v], vdupq_n_s32(t->offset[i]));
        }
    }
    uint8_t *c = t->c + 4 * first;
    NNF_UNROLL
    for (int i = 0; i < rows; i++, c += ldc) {
        int32x4_t x[2];
        NNF_UNROLL
        for (int v = 0; v < vectors; v++)
            x[v] = nnf_mbqm_neon(sum[i][v], multiplier[v], left[v], down[v]);
        /* Saturation on the way to 16 and 8 bits is part of the clamp, as lo >= 0 and hi <= 255. */
        const int16x8_t words = vcombine_s16(vqmovn_s32(x[0]), vqmovn_s32(x[vectors - 1]));
        uint8x8_t codes = vqmovun_s16(vqaddq_s16(words, zero_point));
        codes = veor_u8(vmin_u8(vmax_u8(codes, lo), hi), flip);
        nnf_store_u8_neon(c, codes, columns);
    }
}

#endif
