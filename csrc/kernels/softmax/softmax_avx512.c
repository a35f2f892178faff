#include "softmax.h"

#include "nnf/simd/f64_avx512.h"

#define KERNEL_PAIRS(op) op##__avx512_32
#define KERNEL(op) op##__avx512_16

#include "softmax/softmax_simd.h"

#define SHUFFLE(a, b, order) _mm512_shuffle_ps(a, b, order)

static inline V pieces(const float *x, size_t step)
{
    const __m512 two = _mm512_insertf32x4(_mm512_castps128_ps512(_mm_loadu_ps(x)), _mm_loadu_ps(x + step), 1);
    return _mm512_insertf32x4(_mm512_insertf32x4(two, _mm_loadu_ps(x + 2 * step), 2), _mm_loadu_ps(x + 3 * step), 3);
}

static inline void put_pieces(float *y, size_t step, V v)
{
    _mm_storeu_ps(y, _mm512_castps512_ps128(v));
    _mm_storeu_ps(y + step, _mm512_extractf32x4_ps(v, 1));
    _mm_storeu_ps(y + 2 * step, _mm512_extractf32x4_ps(v, 2));
    _mm_storeu_ps(y + 3 * step, _mm512_extractf32x4_ps(v, 3));
}

#include "softmax/softmax_columns_avx.h"
#include "softmax/softmax_narrow_simd.h"

#include "nnf/simd/s32_avx512.h"
#include "nnf/simd/u8_avx512.h"

static inline S looked_up(const int32_t *table, S place) { return _mm512_i32gather_epi32(place, table, 4); }
static inline int32_t s32_first(S x) { return _mm512_cvtsi512_si32(x); }

static inline S s32_rounded(S x, int shift)
{
    return _mm512_srl_epi32(s32_add(x, s32_all(shift ? (int32_t)(1U << (shift - 1)) : 0)), _mm_cvtsi32_si128(shift));
}

static inline S product_f0(S a, S b)
{
    const __m512i half = _mm512_set1_epi64(1 << 30);
    const __m512i even = _mm512_add_epi64(_mm512_mul_epi32(a, b), half);
    const __m512i odd = _mm512_add_epi64(_mm512_mul_epi32(_mm512_srli_epi64(a, 32), _mm512_srli_epi64(b, 32)), half);
    return _mm512_mask_mov_epi32(_mm512_srli_epi64(even, 31), 0xAAAA, _mm512_slli_epi64(odd, 1));
}

static inline void store_codes(size_t count, uint8_t *y, S x)
{
    _mm_mask_storeu_epi8(y, first_lanes(count), _mm512_cvtepi32_epi8(x));
}

#include "softmax/softmax_q8_simd.h"
