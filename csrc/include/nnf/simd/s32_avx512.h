/* Names that all levels share: 16 integers of 32 bits, which wrap; include only from AVX-512 files. */
#ifndef NNF_SIMD_S32_AVX512_H
#define NNF_SIMD_S32_AVX512_H

#include "nnf/simd/f32_avx512.h"

typedef __m512i S;
typedef __mmask16 P; /* lanes of which something holds */

static inline S s32_all(int32_t value) { return _mm512_set1_epi32(value); }
static inline S s32_load_whole(const int32_t *x) { return _mm512_loadu_si512(x); }
static inline void s32_store_whole(int32_t *y, S value) { _mm512_storeu_si512(y, value); }
static inline S s32_load(M live, const int32_t *x) { return _mm512_maskz_loadu_epi32(live, x); }
static inline void s32_store(int32_t *y, M live, S value) { _mm512_mask_storeu_epi32(y, live, value); }

/* Words of 16 bits; what is stored must be one. */
static inline S s32_load_s16(const void *x) { return _mm512_cvtepi16_epi32(_mm256_loadu_si256(x)); }
static inline void s32_store_s16(void *y, S value) { _mm256_storeu_si256(y, _mm512_cvtepi32_epi16(value)); }

static inline S s32_add(S a, S b) { return _mm512_add_epi32(a, b); }
static inline S s32_sub(S a, S b) { return _mm512_sub_epi32(a, b); }
static inline S s32_mul(S a, S b) { return _mm512_mullo_epi32(a, b); }
static inline S s32_max(S a, S b) { return _mm512_max_epi32(a, b); }
static inline S s32_min(S a, S b) { return _mm512_min_epi32(a, b); }
static inline S s32_xor(S a, S b) { return _mm512_xor_si512(a, b); }
static inline S s32_bits(V x) { return _mm512_castps_si512(x); }
static inline V s32_floats(S x) { return _mm512_castsi512_ps(x); }
/* The bits of floats as integers of the same order. */
static inline S s32_order(S x) { return s32_xor(x, _mm512_srli_epi32(_mm512_srai_epi32(x, 31), 1)); }

/* The first `count` bytes, at most as many as there are lanes. */
static inline S s32_from_u8(size_t count, const uint8_t *x)
{
    return _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(first_lanes(count), x));
}

static inline P s32_live(M live) { return live; }
static inline P s32_both(P a, P b) { return (P)(a & b); }
static inline P s32_equal(S a, S b) { return _mm512_cmpeq_epi32_mask(a, b); }
static inline P s32_greater(S a, S b) { return _mm512_cmpgt_epi32_mask(a, b); }
static inline P s32_is_number(V x) { return _mm512_cmp_ps_mask(x, x, _CMP_ORD_Q); }
static inline P s32_equal_floats(V a, V b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
static inline P s32_greater_floats(V a, V b) { return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ); }
static inline P s32_at_least_floats(V a, V b) { return _mm512_cmp_ps_mask(a, b, _CMP_GE_OQ); }
static inline S s32_choose(P p, S yes, S no) { return _mm512_mask_mov_epi32(no, p, yes); }
/* The first lane of p, or -1. */
static inline int s32_place(P p) { return p ? __builtin_ctz(p) : -1; }
/* The largest lane, in all. */
static inline S s32_most(S x) { return s32_all(_mm512_reduce_max_epi32(x)); }

static inline V s32_values(S x) { return _mm512_cvtepi32_ps(x); }
static inline S s32_cut(V x) { return _mm512_cvttps_epi32(x); }

#endif
