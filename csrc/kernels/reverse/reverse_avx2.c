#include <immintrin.h>

#include "reverse_each.h"

static inline __m128i load16(const uint8_t *x) { return _mm_loadu_si128((const __m128i *)x); }
static inline void store16(uint8_t *y, __m128i value) { _mm_storeu_si128((__m128i *)y, value); }
static inline __m256i load32(const uint8_t *x) { return _mm256_loadu_si256((const __m256i *)x); }
static inline void store32(uint8_t *y, __m256i value) { _mm256_storeu_si256((__m256i *)y, value); }

/* The order of bytes that turns as many rows of n elements as 16 bytes hold whole. */
static inline __m128i order_of(const size_t item, size_t n)
{
    uint8_t order[16];
    for (size_t k = 0; k < 16; k++) {
        const size_t row = k / (n * item) * n, at = k / item % n;
        order[k] = (uint8_t)((row + n - 1 - at) * item + k % item);
    }
    return load16(order);
}

/* Rows of less than 16 bytes that follow each other in x, as many at a time as a vector holds. Returns how many are
 * done; the last bytes of a vector are no whole row and come again with the next. */
static inline size_t narrow(const size_t item, size_t rows, size_t n, const uint8_t *x, uint8_t *y)
{
    const size_t row = n * item, together = 16 / row;
    const __m128i order = order_of(item, n);
    size_t r = 0;
    for (; (rows - r) * row >= 16; r += together)
        store16(y + r * row, _mm_shuffle_epi8(load16(x + r * row), order));
    return r;
}

static inline void reverse_rows(const size_t item, size_t rows, size_t n, const uint8_t *x, ptrdiff_t from, uint8_t *y)
{
    const size_t row = n * item, dense = row > 0 && row < 16 && from == (ptrdiff_t)row;
    const size_t done = dense ? narrow(item, rows, n, x, y) : 0;
    const __m128i half = order_of(item, 16 / item);
    const __m256i order = _mm256_broadcastsi128_si256(half);
    for (size_t r = done; r < rows; r++) {
        const uint8_t *in = x + (ptrdiff_t)r * from;
        uint8_t *out = y + r * row;
        if (row >= 32) { /* the last vector again over what is done, if need be */
            for (size_t at = 0; at < row; at += 32) {
                const size_t to = at + 32 <= row ? at : row - 32;
                const __m256i turned = _mm256_shuffle_epi8(load32(in + row - 32 - to), order);
                store32(out + to, _mm256_permute4x64_epi64(turned, 0x4e));
            }
        } else if (row >= 16) {
            store16(out, _mm_shuffle_epi8(load16(in + row - 16), half));
            store16(out + row - 16, _mm_shuffle_epi8(load16(in), half));
        } else {
            nnf_reverse_each(item, n, in, out);
        }
    }
}

void nnf_reverse_x8_rows__avx2_32(size_t rows, size_t n, const uint8_t *x, ptrdiff_t from, uint8_t *y)
{
    reverse_rows(1, rows, n, x, from, y);
}

void nnf_reverse_x16_rows__avx2_16(size_t rows, size_t n, const uint8_t *x, ptrdiff_t from, uint8_t *y)
{
    reverse_rows(2, rows, n, x, from, y);
}

void nnf_reverse_x32_rows__avx2_8(size_t rows, size_t n, const uint8_t *x, ptrdiff_t from, uint8_t *y)
{
    reverse_rows(4, rows, n, x, from, y);
}

void nnf_reverse_x64_rows__avx2_4(size_t rows, size_t n, const uint8_t *x, ptrdiff_t from, uint8_t *y)
{
    reverse_rows(8, rows, n, x, from, y);
}
