#include "activation.h"

#include "nnf/simd/f64_avx2.h"

#define KERNEL(op) op##__avx2_8

#include "activation/activation_simd.h"

/* Bytes of the table at 32 codes: a shuffle for each of its 16 rows, then bits 4 to 7 of the code halve the choice. */
static inline __m256i lookup(const __m256i *rows, __m256i codes)
{
    const __m256i low = _mm256_and_si256(codes, _mm256_set1_epi8(15));
    /* blendv looks at bit 7 of each byte. */
    const __m256i bit4 = _mm256_slli_epi16(codes, 3), bit5 = _mm256_slli_epi16(codes, 2);
    const __m256i bit6 = _mm256_slli_epi16(codes, 1);
    __m256i half[2];
    for (int h = 0; h < 2; h++) {
        __m256i quarter[2];
        for (int q = 0; q < 2; q++) {
            const __m256i *r = rows + 8 * h + 4 * q;
            const __m256i even = _mm256_blendv_epi8(_mm256_shuffle_epi8(r[0], low), _mm256_shuffle_epi8(r[1], low),
                                                    bit4);
            const __m256i odd = _mm256_blendv_epi8(_mm256_shuffle_epi8(r[2], low), _mm256_shuffle_epi8(r[3], low),
                                                   bit4);
            quarter[q] = _mm256_blendv_epi8(even, odd, bit5);
        }
        half[h] = _mm256_blendv_epi8(quarter[0], quarter[1], bit6);
    }
    return _mm256_blendv_epi8(half[0], half[1], codes);
}

void nnf_lookup_qu8_flat__avx2_32(size_t n, const uint8_t *x, uint8_t *y, const uint8_t table[256])
{
    __m256i rows[16];
    for (int r = 0; r < 16; r++)
        rows[r] = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(table + 16 * r)));
    size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        const __m256i codes = _mm256_loadu_si256((const __m256i *)(x + i));
        _mm256_storeu_si256((__m256i *)(y + i), lookup(rows, codes));
    }
    for (; i < n; i++)
        y[i] = table[x[i]];
}
