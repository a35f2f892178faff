#include "conv2d.h"

#include <immintrin.h>
#include <string.h>

#include "nnf/unroll.h"

/* Bytes 0..15 of a row of n: two parts of `size` bytes, which overlap. Returns their sum, of all bytes once. */
INLINE uint32_t move_two(const uint8_t *x, uint8_t *to, size_t n, const size_t size, uint64_t flips)
{
    uint64_t head = 0, tail = 0;
    memcpy(&head, x, size);
    memcpy(&tail, x + n - size, size);
    head ^= flips;
    tail ^= flips;
    memcpy(to, &head, size);
    memcpy(to + n - size, &tail, size);
    /* What of the tail is in the head as well goes out at the bottom; for n = size that is all of it. */
    tail = n == size ? 0 : tail >> (8 * (2 * size - n));
    const __m128i both = _mm_sad_epu8(_mm_set_epi64x((int64_t)tail, (int64_t)head), _mm_setzero_si128());
    return (uint32_t)(_mm_cvtsi128_si64(both) + _mm_extract_epi64(both, 1));
}

INLINE void gather_short(size_t rows, size_t n, const uint8_t *x, size_t ldx, uint64_t flips, uint8_t *to, size_t ldt,
                         uint32_t *sums, const size_t size)
{
    for (size_t i = 0; i < rows; i++, x += ldx, to += ldt) {
        const uint32_t sum = move_two(x, to, n, size, flips);
        if (sums)
            sums[i] += sum;
    }
}

/* Of a vector loaded at LAST + r, the last r bytes are set. */
static const uint8_t LAST[64] = {
    [32] = 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
    255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
};

/* Rows of 16..31 codes: two vectors, which overlap. */
INLINE void gather_middle(size_t rows, size_t n, const uint8_t *x, size_t ldx, __m128i flips, uint8_t *to, size_t ldt,
                          uint32_t *sums)
{
    const __m128i zero = _mm_setzero_si128(), mask = _mm_loadu_si128((const __m128i *)(LAST + 16 + (n - 16)));
    for (size_t i = 0; i < rows; i++, x += ldx, to += ldt) {
        const __m128i head = _mm_xor_si128(_mm_loadu_si128((const __m128i *)x), flips);
        const __m128i tail = _mm_xor_si128(_mm_loadu_si128((const __m128i *)(x + n - 16)), flips);
        _mm_storeu_si128((__m128i *)to, head);
        _mm_storeu_si128((__m128i *)(to + n - 16), tail);
        if (sums) {
            const __m128i all = _mm_add_epi64(_mm_sad_epu8(head, zero), _mm_sad_epu8(_mm_and_si128(tail, mask), zero));
            sums[i] += (uint32_t)(_mm_cvtsi128_si64(all) + _mm_extract_epi64(all, 1));
        }
    }
}

/* Rows of 32 codes and more: whole vectors, then one that overlaps. */
INLINE void gather_long(size_t rows, size_t n, const uint8_t *x, size_t ldx, __m256i flips, uint8_t *to, size_t ldt,
                        uint32_t *sums)
{
    const __m256i zero = _mm256_setzero_si256(), mask = _mm256_loadu_si256((const __m256i *)(LAST + n % 32));
    for (size_t i = 0; i < rows; i++, x += ldx, to += ldt) {
        __m256i sum = zero;
        for (size_t k = 0; k + 32 <= n; k += 32) {
            const __m256i codes = _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)(x + k)), flips);
            _mm256_storeu_si256((__m256i *)(to + k), codes);
            sum = _mm256_add_epi64(sum, _mm256_sad_epu8(codes, zero));
        }
        if (n % 32) {
            const __m256i codes = _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)(x + n - 32)), flips);
            _mm256_storeu_si256((__m256i *)(to + n - 32), codes);
            sum = _mm256_add_epi64(sum, _mm256_sad_epu8(_mm256_and_si256(codes, mask), zero));
        }
        if (sums) {
            const __m128i half = _mm_add_epi64(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
            sums[i] += (uint32_t)(_mm_cvtsi128_si64(half) + _mm_extract_epi64(half, 1));
        }
    }
}

void nnf_conv2d_gather_qu8_nhwc__avx2_32(size_t rows, size_t n, const uint8_t *x, size_t ldx, uint8_t flip,
                                         uint8_t *to, size_t ldt, uint32_t *sums)
{
    const uint64_t flips = flip * UINT64_C(0x0101010101010101);
    if (n >= 32)
        gather_long(rows, n, x, ldx, _mm256_set1_epi8((char)flip), to, ldt, sums);
    else if (n >= 16)
        gather_middle(rows, n, x, ldx, _mm_set1_epi8((char)flip), to, ldt, sums);
    else if (n >= 8)
        gather_short(rows, n, x, ldx, flips, to, ldt, sums, 8);
    else if (n >= 4)
        gather_short(rows, n, x, ldx, flips & UINT32_MAX, to, ldt, sums, 4);
    else if (n >= 2)
        gather_short(rows, n, x, ldx, flips & UINT16_MAX, to, ldt, sums, 2);
    else if (n)
        gather_short(rows, n, x, ldx, flips & UINT8_MAX, to, ldt, sums, 1);
}
