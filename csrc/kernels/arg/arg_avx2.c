#include "arg.h"

#include "nnf/simd/s32_avx2.h"

#define KERNEL(op) op##__avx2_8

static inline S fours(const uint8_t *x, size_t bytes)
{
    const __m128i first = _mm_loadu_si128((const __m128i *)x);
    return _mm256_inserti128_si256(_mm256_castsi128_si256(first), _mm_loadu_si128((const __m128i *)(x + bytes)), 1);
}

static inline S fours_of_bytes(const uint8_t *x, size_t bytes)
{
    return _mm256_cvtepu8_epi32(_mm_unpacklo_epi32(_mm_loadu_si32(x), _mm_loadu_si32(x + bytes)));
}

static inline void turn_fours(S value[4])
{
    const S ab = _mm256_unpacklo_epi32(value[0], value[1]), cd = _mm256_unpacklo_epi32(value[2], value[3]);
    const S ab2 = _mm256_unpackhi_epi32(value[0], value[1]), cd2 = _mm256_unpackhi_epi32(value[2], value[3]);
    value[0] = _mm256_unpacklo_epi64(ab, cd);
    value[1] = _mm256_unpackhi_epi64(ab, cd);
    value[2] = _mm256_unpacklo_epi64(ab2, cd2);
    value[3] = _mm256_unpackhi_epi64(ab2, cd2);
}

#include "arg/arg_simd.h"

void nnf_arg_qu8_rows__avx2_8(size_t count, size_t n, const uint8_t *x, int32_t *y, uint32_t flip)
{
    rows(QU8, count, n, x, y, flip);
}
