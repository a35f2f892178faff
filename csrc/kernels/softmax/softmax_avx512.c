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

static inline S s32_up(S x, int bits) { return _mm512_slli_epi32(x, (unsigned)bits); }
static inline S s32_down(S x, int bits) { return _mm512_srli_epi32(x, (unsigned)bits); }
static inline S s32_up_each(S x, S bits) { return _mm512_sllv_epi32(x, bits); }
static inline S s32_down_each(S x, S bits) { return _mm512_srlv_epi32(x, bits); }

static inline S most_of_bytes(S x)
{
    x = u8_max(x, _mm512_rol_epi32(x, 16));
    return u8_max(x, _mm512_rol_epi32(x, 8));
}

static inline S row_starts(size_t step)
{
    const S row = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    return s32_mul(row, s32_all((int32_t)step));
}

static inline S fours(const uint8_t *x, size_t step)
{
    return step == 4 ? u8_load_whole(x) : _mm512_i32gather_epi32(row_starts(step), x, 1);
}

static inline void put_fours(uint8_t *y, size_t step, S x)
{
    if (step == 4)
        u8_store_whole(y, x);
    else
        _mm512_i32scatter_epi32(y, row_starts(step), x, 1);
}

static inline S threes(const uint8_t *x)
{
    const S place = _mm512_setr_epi32(0, 1, 2, 2, 3, 4, 5, 5, 6, 7, 8, 8, 9, 10, 11, 11);
    const S order = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1));
    return _mm512_shuffle_epi8(_mm512_permutexvar_epi32(place, _mm512_maskz_loadu_epi32(0x0FFF, x)), order);
}

static inline void put_threes(uint8_t *y, S x)
{
    const S order = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1));
    const S place = _mm512_setr_epi32(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 3, 3, 3, 3);
    _mm512_mask_storeu_epi32(y, 0x0FFF, _mm512_permutexvar_epi32(place, _mm512_shuffle_epi8(x, order)));
}

#include "softmax/softmax_narrow_q8_simd.h"
