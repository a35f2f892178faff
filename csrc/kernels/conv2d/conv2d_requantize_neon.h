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

/* Codes of so many rows and vectors, two rows at a time. simple: as the panel's header has it. */
INLINE void nnf_conv2d_store_codes(const nnf_conv2d_q8_tile *t, const int rows, const int first, const int vectors,
                                   const int32x4_t sum[][2], const int32x4_t multiplier[2], const int32x4_t left[2],
                                   const int32x4_t down[2], const int simple)
{
    const size_t columns = t->columns - (size_t)(4 * first);
    const int16x8_t zero_point = vdupq_n_s16((int16_t)t->zero_point);
    const uint8x16_t lo = vdupq_n_u8((uint8_t)t->lo), hi = vdupq_n_u8((uint8_t)t->hi), flip = vdupq_n_u8(t->flip);
    uint8_t *c = t->c + 4 * first;
    NNF_UNROLL
    for (int i = 0; i < rows; i += 2, c += 2 * t->ldc) {
        const int both = i + 1 < rows;
        int16x4_t words[2][2];
        NNF_UNROLL
        for (int j = 0; j < 1 + both; j++) {
            NNF_UNROLL
            for (int v = 0; v < vectors; v++)
                words[j][v] = vqmovn_s32(simple ? nnf_scale_down_neon(sum[i + j][v], multiplier[v], down[v])
                                                   : nnf_mbqm_neon(sum[i + j][v], multiplier[v], left[v], down[v]));
        }
        /* Saturation on the way to 16 and 8 bits is part of the clamp, as lo >= 0 and hi <= 255. */
        uint8x16_t codes;
        if (vectors == 1) {
            const uint8x8_t low = vqmovun_s16(vqaddq_s16(vcombine_s16(words[0][0], words[both][0]), zero_point));
            codes = vcombine_u8(low, vext_u8(low, low, 4));
        } else {
            const uint8x8_t low = vqmovun_s16(vqaddq_s16(vcombine_s16(words[0][0], words[0][1]), zero_point));
            codes = vcombine_u8(low, low);
            if (both)
                codes = vqmovun_high_s16(low, vqaddq_s16(vcombine_s16(words[1][0], words[1][1]), zero_point));
        }
        codes = veorq_u8(vminq_u8(vmaxq_u8(codes, lo), hi), flip);
        nnf_store_u8_neon(c, vget_low_u8(codes), columns);
        if (both)
            nnf_store_u8_neon(c + t->ldc, vget_high_u8(codes), columns);
    }
}

/* Row offsets, requantization and store of the sums of `rows` rows of so many vectors, from vector `first` on of those
 * `all` that a panel has. */
INLINE void nnf_conv2d_finish_tile(const nnf_conv2d_q8_tile *t, const int rows, const int all, const int first,
                                   const int vectors, int32x4_t sum[][2])
{
    int32x4_t multiplier[2], left[2], down[2];
    NNF_UNROLL
    for (int v = 0; v < vectors; v++) {
        const int32_t *header = t->w + 4 * (first + v);
        multiplier[v] = vld1q_s32(header + NNF_CONV2D_Q8_MULTIPLIER * 4 * all);
        left[v] = vld1q_s32(header + NNF_CONV2D_Q8_LEFT * 4 * all);
        down[v] = vnegq_s32(vld1q_s32(header + NNF_CONV2D_Q8_RIGHT * 4 * all));
    }
    if (t->offset) {
        NNF_UNROLL
        for (int i = 0; i < rows; i++) {
            NNF_UNROLL
            for (int v = 0; v < vectors; v++)
                sum[i][v] = vaddq_s32(sum[i][v], vdupq_n_s32(t->offset[i]));
        }
    }
    if (*nnf_conv2d_q8_simple(t->w, (size_t)(4 * all)))
        nnf_conv2d_store_codes(t, rows, first, vectors, sum, multiplier, left, down, 1);
    else
        nnf_conv2d_store_codes(t, rows, first, vectors, sum, multiplier, left, down, 0);
}

/* A kernel of strips: those of a tile, of at most `high` rows and as even as can be, of all panels of n columns. */
typedef void (*nnf_conv2d_q8_strip_fn)(const nnf_conv2d_q8_tile *strip);

static inline void nnf_conv2d_q8_strips(const nnf_conv2d_q8_tile *t, size_t high, size_t n,
                                        nnf_conv2d_q8_strip_fn whole_panel, nnf_conv2d_q8_strip_fn half_panel,
                                        size_t bytes)
{
    const size_t strips = (t->rows + high - 1) / high, height = t->rows / strips, taller = t->rows % strips;
    nnf_conv2d_q8_tile strip = *t;
    for (size_t j = 0; j < t->columns; j += n) {
        strip.columns = t->columns - j < n ? t->columns - j : n;
        strip.a = t->a;
        strip.c = t->c + j * bytes;
        strip.offset = t->offset;
        const size_t width = nnf_conv2d_width(strip.columns, n);
        const nnf_conv2d_q8_strip_fn run = width == n ? whole_panel : half_panel;
        for (size_t s = 0; s < strips; s++) {
            strip.rows = height + (s < taller);
            run(&strip);
            strip.a += strip.rows * t->lda;
            strip.c += strip.rows * t->ldc * bytes;
            if (t->offset)
                strip.offset += strip.rows;
        }
        strip.w += nnf_conv2d_q8_panel(width, t->groups) / sizeof(int32_t);
    }
}

#endif
