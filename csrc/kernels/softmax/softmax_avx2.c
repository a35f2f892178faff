#include "softmax.h"

#include "nnf/simd/f64_avx2.h"

#define KERNEL_PAIRS(op) op##__avx2_16
#define KERNEL(op) op##__avx2_8

#include "softmax/softmax_simd.h"

#define SHUFFLE(a, b, order) _mm256_shuffle_ps(a, b, order)

static inline V pieces(const float *x, size_t step)
{
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(x)), _mm_loadu_ps(x + step), 1);
}

static inline void put_pieces(float *y, size_t step, V v)
{
    _mm_storeu_ps(y, _mm256_castps256_ps128(v));
    _mm_storeu_ps(y + step, _mm256_extractf128_ps(v, 1));
}

#include "softmax/softmax_columns_avx.h"
#include "softmax/softmax_narrow_simd.h"

#include "nnf/simd/s32_avx2.h"
#include "nnf/simd/u8_avx2.h"

static inline S looked_up(const int32_t *table, S place) { return _mm256_i32gather_epi32(table, place, 4); }
static inline int32_t s32_first(S x) { return _mm256_cvtsi256_si32(x); }

static inline S s32_rounded(S x, int shift)
{
    return _mm256_srl_epi32(s32_add(x, s32_all(shift ? (int32_t)(1U << (shift - 1)) : 0)), _mm_cvtsi32_si128(shift));
}

static inline S product_f0(S a, S b)
{
    const __m256i half = _mm256_set1_epi64x(1 << 30);
    const __m256i even = _mm256_add_epi64(_mm256_mul_epi32(a, b), half);
    const __m256i odd = _mm256_add_epi64(_mm256_mul_epi32(_mm256_srli_epi64(a, 32), _mm256_srli_epi64(b, 32)), half);
    return _mm256_blend_epi32(_mm256_srli_epi64(even, 31), _mm256_slli_epi64(odd, 1), 0xAA);
}

static inline void store_codes(size_t count, uint8_t *y, S x)
{
    const __m128i words = _mm_packus_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    nnf_store_bytes(y, (uint64_t)_mm_cvtsi128_si64(_mm_packus_epi16(words, words)), count);
}

#include "softmax/softmax_q8_simd.h"
