/* The end of a tile of codes. Include only from NEON files. */
#ifndef NNF_CONV2D_NARROW_Q8_NEON_H
#define NNF_CONV2D_NARROW_Q8_NEON_H

#include <arm_neon.h>

#include "conv2d_narrow/conv2d_narrow.h"
#include "conv2d_narrow/conv2d_narrow_scheme.h"
#include "nnf/requantize_neon.h"

typedef int32x4_t S;
typedef int8x16_t X, W;

static inline S no_sum(void) { return vdupq_n_s32(0); }

/* As signed bytes: code - 128. */
static inline X read_codes(const uint8_t *a, uint8_t from)
{
    return vreinterpretq_s8_u8(veorq_u8(vld1q_u8(a), vdupq_n_u8(from ^ 0x80)));
}

static inline W read_weights(const int8_t *w) { return vld1q_s8(w); }

/* The lanes of four sums added up, and scaled as those from `at` on. */
static inline int16x4_t finish_four(const S sum[4], const scheme_of_8 *s, int at)
{
    int32x4_t x = vpaddq_s32(vpaddq_s32(sum[0], sum[1]), vpaddq_s32(sum[2], sum[3]));
    x = nnf_mbqm_neon(vaddq_s32(x, vld1q_s32(s->bias + at)), vld1q_s32(s->multiplier + at), vld1q_s32(s->left + at),
                      vnegq_s32(vld1q_s32(s->right + at)));
    /* The clamp comes first, so that the zero point cannot overflow. */
    x = vminq_s32(vmaxq_s32(x, vdupq_n_s32(s->lo - s->zero_point)), vdupq_n_s32(s->hi - s->zero_point));
    return vmovn_s32(vaddq_s32(x, vdupq_n_s32(s->zero_point)));
}

static inline void finish(const S sum[8], const scheme_of_8 *s, uint8_t *y)
{
    const int16x8_t words = vcombine_s16(finish_four(sum, s, 0), finish_four(sum + 4, s, 4));
    vst1_u8(y, veor_u8(vqmovun_s16(words), vdup_n_u8(s->flip)));
}

#endif
