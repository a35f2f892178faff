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

static inline S s32_up(S x, int bits) { return _mm256_slli_epi32(x, bits); }
static inline S s32_down(S x, int bits) { return _mm256_srli_epi32(x, bits); }
static inline S s32_up_each(S x, S bits) { return _mm256_sllv_epi32(x, bits); }
static inline S s32_down_each(S x, S bits) { return _mm256_srlv_epi32(x, bits); }

static inline S most_of_bytes(S x)
{
    const __m128i halves = _mm_setr_epi8(2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
    const __m128i bytes = _mm_setr_epi8(1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
    x = u8_max(x, _mm256_shuffle_epi8(x, _mm256_broadcastsi128_si256(halves)));
    return u8_max(x, _mm256_shuffle_epi8(x, _mm256_broadcastsi128_si256(bytes)));
}

static inline S fours(const uint8_t *x, size_t step)
{
    if (step == 4)
        return u8_load_whole(x);
    const S row = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_i32gather_epi32((const int *)x, s32_mul(row, s32_all((int32_t)step)), 1);
}

static inline void put_fours(uint8_t *y, size_t step, S x)
{
    if (step == 4) {
        u8_store_whole(y, x);
        return;
    }
    int32_t words[LANES];
    s32_store_whole(words, x);
    NNF_UNROLL
    for (size_t row = 0; row < LANES; row++)
        memcpy(y + row * step, words + row, 4);
}

static inline S threes(const uint8_t *x)
{
    const __m128i low_order = _mm_setr_epi8(0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1);
    const __m128i high_order = _mm_setr_epi8(4, 5, 6, -1, 7, 8, 9, -1, 10, 11, 12, -1, 13, 14, 15, -1);
    const __m128i low = _mm_loadu_si128((const __m128i *)x), high = _mm_loadu_si128((const __m128i *)(x + 8));
    return _mm256_shuffle_epi8(_mm256_set_m128i(high, low), _mm256_set_m128i(high_order, low_order));
}

static inline void put_threes(uint8_t *y, S x)
{
    const __m128i order = _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
    x = _mm256_shuffle_epi8(x, _mm256_broadcastsi128_si256(order));
    x = _mm256_permutevar8x32_epi32(x, _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 3, 7));
    _mm_storeu_si128((__m128i *)y, _mm256_castsi256_si128(x));
    _mm_storel_epi64((__m128i *)(y + 16), _mm256_extracti128_si256(x, 1));
}

#include "softmax/softmax_narrow_q8_simd.h"
