#include "arg.h"

#include "nnf/simd/s32_avx512.h"

#define KERNEL(op) op##__avx512_16

static inline S fours(const uint8_t *x, size_t bytes)
{
    S found = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)x));
    found = _mm512_inserti32x4(found, _mm_loadu_si128((const __m128i *)(x + bytes)), 1);
    found = _mm512_inserti32x4(found, _mm_loadu_si128((const __m128i *)(x + 2 * bytes)), 2);
    return _mm512_inserti32x4(found, _mm_loadu_si128((const __m128i *)(x + 3 * bytes)), 3);
}

static inline S fours_of_bytes(const uint8_t *x, size_t bytes)
{
    const __m128i first = _mm_unpacklo_epi32(_mm_loadu_si32(x), _mm_loadu_si32(x + bytes));
    const __m128i last = _mm_unpacklo_epi32(_mm_loadu_si32(x + 2 * bytes), _mm_loadu_si32(x + 3 * bytes));
    return _mm512_cvtepu8_epi32(_mm_unpacklo_epi64(first, last));
}

static inline void turn_fours(S value[4])
{
    const S ab = _mm512_unpacklo_epi32(value[0], value[1]), cd = _mm512_unpacklo_epi32(value[2], value[3]);
    const S ab2 = _mm512_unpackhi_epi32(value[0], value[1]), cd2 = _mm512_unpackhi_epi32(value[2], value[3]);
    value[0] = _mm512_unpacklo_epi64(ab, cd);
    value[1] = _mm512_unpackhi_epi64(ab, cd);
    value[2] = _mm512_unpacklo_epi64(ab2, cd2);
    value[3] = _mm512_unpackhi_epi64(ab2, cd2);
}

#include "arg/arg_simd.h"

void nnf_arg_qu8_rows__avx512_16(size_t count, size_t n, const uint8_t *x, int32_t *y, uint32_t flip)
{
    rows(QU8, count, n, x, y, flip);
}
