#include "activation.h"

#include "nnf/simd/f64_avx2.h"

#define KERNEL(op) op##__avx2_8

#include "activation/activation_simd.h"

/* Bytes of the table at 32 codes. Bits 5 to 7 of a code halve the choice of 8 pairs of rows; of a pair bit 4 leaves the
 * even row, or adds what makes it the odd one: a shuffle whose index has bit 7 gives 0. */
static inline __m256i lookup(const __m256i *rows, __m256i codes)
{
    const __m256i low = _mm256_and_si256(codes, _mm256_set1_epi8(15));
    /* blendv looks at bit 7 of each byte. */
    const __m256i bit4 = _mm256_slli_epi16(codes, 3), bit5 = _mm256_slli_epi16(codes, 2);
    const __m256i bit6 = _mm256_slli_epi16(codes, 1);
    const __m256i added = _mm256_or_si256(low, _mm256_andnot_si256(bit4, _mm256_set1_epi8(-128)));
    __m256i pair[8];
    NNF_UNROLL
    for (int p = 0; p < 8; p++)
        pair[p] = _mm256_xor_si256(_mm256_shuffle_epi8(rows[2 * p], low), _mm256_shuffle_epi8(rows[2 * p + 1], added));
    __m256i half[2];
    NNF_UNROLL
    for (int h = 0; h < 2; h++)
        half[h] = _mm256_blendv_epi8(_mm256_blendv_epi8(pair[4 * h], pair[4 * h + 1], bit5),
                                     _mm256_blendv_epi8(pair[4 * h + 2], pair[4 * h + 3], bit5), bit6);
    return _mm256_blendv_epi8(half[0], half[1], codes);
}

void nnf_lookup_qu8_flat__avx2_32(size_t n, const uint8_t *x, uint8_t *y, const uint8_t table[256])
{
    __m256i rows[16]; /* the odd ones as their differences from the even ones before */
    NNF_UNROLL
    for (int r = 0; r < 16; r += 2) {
        const __m128i even = _mm_loadu_si128((const __m128i *)(table + 16 * r));
        const __m128i odd = _mm_loadu_si128((const __m128i *)(table + 16 * r + 16));
        rows[r] = _mm256_broadcastsi128_si256(even);
        rows[r + 1] = _mm256_broadcastsi128_si256(_mm_xor_si128(even, odd));
    }
    size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        const __m256i codes = _mm256_loadu_si256((const __m256i *)(x + i));
        _mm256_storeu_si256((__m256i *)(y + i), lookup(rows, codes));
    }
    for (; i < n; i++)
        y[i] = table[x[i]];
}
