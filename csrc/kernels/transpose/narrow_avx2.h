/* A few columns side by side and apart, in vectors of 16 bytes; `item`, the bytes of an element, is a constant where these
 * are inlined. */
#ifndef NNF_NARROW_AVX2_H
#define NNF_NARROW_AVX2_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

static inline __m128i load16(const uint8_t *x) { return _mm_loadu_si128((const __m128i *)x); }
static inline void store16(uint8_t *y, __m128i value) { _mm_storeu_si128((__m128i *)y, value); }

static inline __m128i unpack_low(const size_t item, __m128i a, __m128i b)
{
    return item == 1   ? _mm_unpacklo_epi8(a, b)
           : item == 2 ? _mm_unpacklo_epi16(a, b)
           : item == 4 ? _mm_unpacklo_epi32(a, b)
                       : _mm_unpacklo_epi64(a, b);
}

static inline __m128i unpack_high(const size_t item, __m128i a, __m128i b)
{
    return item == 1   ? _mm_unpackhi_epi8(a, b)
           : item == 2 ? _mm_unpackhi_epi16(a, b)
           : item == 4 ? _mm_unpackhi_epi32(a, b)
                       : _mm_unpackhi_epi64(a, b);
}

/* Which of the 16 bytes of each of three columns comes where in three vectors, for elements of 1 and of 2 bytes; 128:
 * another column's. */
static const uint8_t THIRDS[2][3][3][16] = {
#define AT(item, k, c) ((k) / (item) % 3 == (c) ? (k) / (item) / 3 * (item) + (k) % (item) : 128)
#define FOUR(item, k, c) AT(item, k, c), AT(item, k + 1, c), AT(item, k + 2, c), AT(item, k + 3, c)
#define VECTOR(item, k, c) {FOUR(item, k, c), FOUR(item, k + 4, c), FOUR(item, k + 8, c), FOUR(item, k + 12, c)}
#define COLUMNS(item, k) {VECTOR(item, k, 0), VECTOR(item, k, 1), VECTOR(item, k, 2)}
    {COLUMNS(1, 0), COLUMNS(1, 16), COLUMNS(1, 32)},
    {COLUMNS(2, 0), COLUMNS(2, 16), COLUMNS(2, 32)},
#undef COLUMNS
#undef VECTOR
#undef FOUR
#undef AT
};

static inline void store_thirds(const size_t item, uint8_t *y, __m128i a, __m128i b, __m128i c)
{
    if (item == 4) {
        const __m128 low = _mm_castsi128_ps(_mm_unpacklo_epi32(a, b)), high = _mm_castsi128_ps(_mm_unpackhi_epi32(a, b));
        const __m128 bc = _mm_castsi128_ps(_mm_unpacklo_epi32(b, c)), bc2 = _mm_castsi128_ps(_mm_unpackhi_epi32(b, c));
        const __m128 first = _mm_castsi128_ps(a), last = _mm_castsi128_ps(c);
        const __m128 ca = _mm_shuffle_ps(last, first, _MM_SHUFFLE(1, 1, 0, 0));
        const __m128 ca2 = _mm_shuffle_ps(last, first, _MM_SHUFFLE(3, 3, 2, 2));
        store16(y, _mm_castps_si128(_mm_shuffle_ps(low, ca, _MM_SHUFFLE(2, 0, 1, 0))));
        store16(y + 16, _mm_castps_si128(_mm_shuffle_ps(bc, high, _MM_SHUFFLE(1, 0, 3, 2))));
        store16(y + 32, _mm_castps_si128(_mm_shuffle_ps(ca2, bc2, _MM_SHUFFLE(3, 2, 2, 0))));
        return;
    }
    if (item == 8) {
        store16(y, _mm_unpacklo_epi64(a, b));
        store16(y + 16, _mm_blend_epi32(c, a, 12));
        store16(y + 32, _mm_unpackhi_epi64(b, c));
        return;
    }
    for (size_t k = 0; k < 3; k++) {
        const uint8_t (*order)[16] = THIRDS[item - 1][k];
        store16(y + 16 * k, _mm_or_si128(_mm_or_si128(_mm_shuffle_epi8(a, load16(order[0])),
                                                      _mm_shuffle_epi8(b, load16(order[1]))),
                                         _mm_shuffle_epi8(c, load16(order[2]))));
    }
}

/* 2 to 4 columns of `rows` elements, which fill 16 bytes or more, side by side in `all`: a vector of each at a time, the
 * last again if need be. */
static inline void beside(const size_t item, size_t rows, const size_t columns, const uint8_t *const *x, uint8_t *all)
{
    const size_t each = 16 / item;
    const uint8_t *const first = x[0], *const second = x[1];
    const uint8_t *const third = columns > 2 ? x[2] : first, *const fourth = columns > 3 ? x[3] : first;
    for (size_t r = 0; r < rows; r += each) {
        const size_t at = (r + each <= rows ? r : rows - each) * item;
        uint8_t *y = all + at * columns;
        const __m128i a = load16(first + at), b = load16(second + at);
        if (columns == 2) {
            store16(y, unpack_low(item, a, b));
            store16(y + 16, unpack_high(item, a, b));
            continue;
        }
        const __m128i c = load16(third + at);
        if (columns == 3) {
            store_thirds(item, y, a, b, c);
            continue;
        }
        const __m128i d = load16(fourth + at);
        const __m128i ab = unpack_low(item, a, b), ab2 = unpack_high(item, a, b);
        const __m128i cd = unpack_low(item, c, d), cd2 = unpack_high(item, c, d);
        store16(y, item == 8 ? ab : unpack_low(2 * item, ab, cd));
        store16(y + 16, item == 8 ? cd : unpack_high(2 * item, ab, cd));
        store16(y + 32, item == 8 ? ab2 : unpack_low(2 * item, ab2, cd2));
        store16(y + 48, item == 8 ? cd2 : unpack_high(2 * item, ab2, cd2));
    }
}

/* beside() of columns whose number is no constant. */
static inline void beside_any(const size_t item, size_t rows, size_t columns, const uint8_t *const *x, uint8_t *all)
{
    if (columns == 2)
        beside(item, rows, 2, x, all);
    else if (columns == 3)
        beside(item, rows, 3, x, all);
    else
        beside(item, rows, 4, x, all);
}

/* The other way: elements that lie side by side in x, `rows` of them a pixel, to 2 to 4 rows. Each of four vectors has
 * pixels by rows, 4 bytes of each row; then whole rows. For elements of 1, 2 and 4 bytes. Returns how many pixels are
 * done: reads 16 bytes at a time, of which the last ones are behind the pixels that it takes. */
static inline size_t apart(const size_t item, const size_t rows, size_t pixels, const uint8_t *x, uint8_t *const *y)
{
    const size_t each = 4 / item, pixel = rows * item;
    uint8_t *const first = y[0], *const second = y[1];
    uint8_t *const third = rows > 2 ? y[2] : first, *const fourth = rows > 3 ? y[3] : first;
    uint8_t order[16];
    for (size_t k = 0; k < 16; k++)
        order[k] = (uint8_t)(k / 4 < rows ? k % 4 / item * pixel + k / 4 * item + k % item : 0);
    const __m128i by_rows = load16(order);
    size_t p = 0;
    for (; (p + 3 * each) * pixel + 16 <= pixels * pixel; p += 4 * each) {
        __m128i four[4];
        for (size_t k = 0; k < 4; k++) {
            four[k] = load16(x + (p + each * k) * pixel);
            four[k] = item == 4 ? four[k] : _mm_shuffle_epi8(four[k], by_rows);
        }
        const __m128i ab = _mm_unpacklo_epi32(four[0], four[1]), cd = _mm_unpacklo_epi32(four[2], four[3]);
        store16(first + p * item, _mm_unpacklo_epi64(ab, cd));
        store16(second + p * item, _mm_unpackhi_epi64(ab, cd));
        if (rows == 2)
            continue;
        const __m128i ab2 = _mm_unpackhi_epi32(four[0], four[1]), cd2 = _mm_unpackhi_epi32(four[2], four[3]);
        store16(third + p * item, _mm_unpacklo_epi64(ab2, cd2));
        if (rows > 3)
            store16(fourth + p * item, _mm_unpackhi_epi64(ab2, cd2));
    }
    return p;
}

/* apart() to rows whose number is no constant. */
static inline size_t apart_any(const size_t item, size_t rows, size_t pixels, const uint8_t *x, uint8_t *const *y)
{
    return rows == 2   ? apart(item, 2, pixels, x, y)
           : rows == 3 ? apart(item, 3, pixels, x, y)
                       : apart(item, 4, pixels, x, y);
}

#endif
