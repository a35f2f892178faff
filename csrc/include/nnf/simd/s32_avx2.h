/* Names that all levels share: 8 integers of 32 bits, which wrap; include only from AVX2 files. */
#ifndef NNF_SIMD_S32_AVX2_H
#define NNF_SIMD_S32_AVX2_H

#include "nnf/partial.h"
#include "nnf/simd/f32_avx2.h"

typedef __m256i S;
typedef __m256i P; /* lanes of which something holds */

static inline S s32_all(int32_t value) { return _mm256_set1_epi32(value); }
static inline S s32_load_whole(const int32_t *x) { return _mm256_loadu_si256((const __m256i *)x); }
static inline void s32_store_whole(int32_t *y, S value) { _mm256_storeu_si256((__m256i *)y, value); }
static inline S s32_load(M live, const int32_t *x)
{
    return live.whole ? s32_load_whole(x) : _mm256_maskload_epi32(x, live.lanes);
}

static inline void s32_store(int32_t *y, M live, S value)
{
    if (live.whole)
        s32_store_whole(y, value);
    else
        _mm256_maskstore_epi32(y, live.lanes, value);
}

/* Words of 16 bits; what is stored must be one. */
static inline S s32_load_s16(const void *x) { return _mm256_cvtepi16_epi32(_mm_loadu_si128(x)); }
static inline void s32_store_s16(void *y, S value)
{
    _mm_storeu_si128(y, _mm_packs_epi32(_mm256_castsi256_si128(value), _mm256_extracti128_si256(value, 1)));
}

static inline S s32_add(S a, S b) { return _mm256_add_epi32(a, b); }
static inline S s32_sub(S a, S b) { return _mm256_sub_epi32(a, b); }
static inline S s32_mul(S a, S b) { return _mm256_mullo_epi32(a, b); }
static inline S s32_max(S a, S b) { return _mm256_max_epi32(a, b); }
static inline S s32_min(S a, S b) { return _mm256_min_epi32(a, b); }
static inline S s32_xor(S a, S b) { return _mm256_xor_si256(a, b); }
static inline S s32_bits(V x) { return _mm256_castps_si256(x); }
static inline V s32_floats(S x) { return _mm256_castsi256_ps(x); }
/* The bits of floats as integers of the same order. */
static inline S s32_order(S x) { return s32_xor(x, _mm256_srli_epi32(_mm256_srai_epi32(x, 31), 1)); }

/* The first `count` bytes, at most as many as there are lanes. */
static inline S s32_from_u8(size_t count, const uint8_t *x)
{
    return _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)nnf_load_bytes(x, count)));
}

static inline P s32_live(M live) { return live.lanes; }
static inline P s32_both(P a, P b) { return _mm256_and_si256(a, b); }
static inline P s32_equal(S a, S b) { return _mm256_cmpeq_epi32(a, b); }
static inline P s32_greater(S a, S b) { return _mm256_cmpgt_epi32(a, b); }
static inline P s32_is_number(V x) { return _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_ORD_Q)); }
static inline P s32_equal_floats(V a, V b) { return _mm256_castps_si256(_mm256_cmp_ps(a, b, _CMP_EQ_OQ)); }
static inline P s32_greater_floats(V a, V b) { return _mm256_castps_si256(_mm256_cmp_ps(a, b, _CMP_GT_OQ)); }
static inline P s32_at_least_floats(V a, V b) { return _mm256_castps_si256(_mm256_cmp_ps(a, b, _CMP_GE_OQ)); }
static inline S s32_choose(P p, S yes, S no) { return _mm256_blendv_epi8(no, yes, p); }

/* The first lane of p, or -1. */
static inline int s32_place(P p)
{
    const int found = _mm256_movemask_ps(_mm256_castsi256_ps(p));
    return found ? __builtin_ctz((unsigned)found) : -1;
}

/* The largest lane, in all. */
static inline S s32_most(S x)
{
    x = s32_max(x, _mm256_permute2x128_si256(x, x, 1));
    x = s32_max(x, _mm256_shuffle_epi32(x, 0x4E));
    return s32_max(x, _mm256_shuffle_epi32(x, 0xB1));
}

static inline V s32_values(S x) { return _mm256_cvtepi32_ps(x); }
static inline S s32_cut(V x) { return _mm256_cvttps_epi32(x); }

#endif
