#include "elementwise.h"

#include <string.h>

#include "nnf/simd/s32_avx2.h"
#include "nnf/simd/u8_avx2.h"
#include "nnf/unroll.h"

/* Quotients of four: a and b are whole doubles, and one more bit than a quotient of 32-bit numbers needs to be on the
 * right side of a whole number fits into 53 bits. 2^31 and every quotient by 0 give INT32_MIN, which wraps. */
static inline __m128i quotients(__m128i a, __m128i b)
{
    const __m256d ratio = _mm256_div_pd(_mm256_cvtepi32_pd(a), _mm256_cvtepi32_pd(b));
    return _mm_andnot_si128(_mm_cmpeq_epi32(b, _mm_setzero_si128()), _mm256_cvttpd_epi32(_mm256_floor_pd(ratio)));
}

static inline S s32_div(S a, S b)
{
    return _mm256_set_m128i(quotients(_mm256_extracti128_si256(a, 1), _mm256_extracti128_si256(b, 1)),
                            quotients(_mm256_castsi256_si128(a), _mm256_castsi256_si128(b)));
}

#define KERNEL(op) op##__avx2_8
#define KERNEL_BYTES(op) op##__avx2_32

#include "elementwise/elementwise_integer_simd.h"

/* 1 for each lane of BYTES / LANES vectors of which something holds, else 0. */
INLINE B u8_of_lanes(const P *x)
{
    const __m256i near = _mm256_packs_epi16(_mm256_packs_epi32(x[0], x[1]), _mm256_packs_epi32(x[2], x[3]));
    const __m256i ordered = _mm256_permutevar8x32_epi32(near, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    return _mm256_and_si256(ordered, u8_all(1));
}

#include "elementwise/elementwise_relation_simd.h"

/* Items of `item` bytes: `second` where the byte of the choice, stretched to an item, is 0. */
INLINE void choose_items(int item, size_t n, const uint8_t *choice, const uint8_t *a, const uint8_t *b, uint8_t *y)
{
    const __m256i zero = _mm256_setzero_si256();
    const size_t each = 32 / (size_t)item;
    size_t i = 0;
    for (; i + each <= n; i += each) {
        const __m256i first = _mm256_loadu_si256((const __m256i *)(a + (size_t)item * i));
        const __m256i second = _mm256_loadu_si256((const __m256i *)(b + (size_t)item * i));
        __m256i none;
        if (item == 1)
            none = _mm256_cmpeq_epi8(_mm256_loadu_si256((const __m256i *)(choice + i)), zero);
        else if (item == 2)
            none = _mm256_cmpeq_epi16(_mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(choice + i))), zero);
        else if (item == 4)
            none = _mm256_cmpeq_epi32(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(choice + i))), zero);
        else
            none = _mm256_cmpeq_epi64(_mm256_cvtepu8_epi64(_mm_loadu_si32(choice + i)), zero);
        _mm256_storeu_si256((__m256i *)(y + (size_t)item * i), _mm256_blendv_epi8(first, second, none));
    }
    for (; i < n; i++)
        memcpy(y + (size_t)item * i, (choice[i] ? a : b) + (size_t)item * i, (size_t)item);
}

void nnf_select_qu8_flat__avx2_32(size_t n, const uint8_t *choice, const void *a, const void *b, void *y)
{
    choose_items(1, n, choice, a, b, y);
}

void nnf_select_f16_flat__avx2_16(size_t n, const uint8_t *choice, const void *a, const void *b, void *y)
{
    choose_items(2, n, choice, a, b, y);
}

void nnf_select_s32_flat__avx2_8(size_t n, const uint8_t *choice, const void *a, const void *b, void *y)
{
    choose_items(4, n, choice, a, b, y);
}

void nnf_select_x64_flat__avx2_4(size_t n, const uint8_t *choice, const void *a, const void *b, void *y)
{
    choose_items(8, n, choice, a, b, y);
}
