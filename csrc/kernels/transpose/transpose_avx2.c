#include "narrow_avx2.h"
#include "transpose_blocks.h"

static inline __m256 load32(const uint8_t *x) { return _mm256_loadu_ps((const float *)x); }
static inline void store32(uint8_t *y, __m256 value) { _mm256_storeu_ps((float *)y, value); }
static inline __m256d load64(const uint8_t *x) { return _mm256_loadu_pd((const double *)x); }
static inline void store64(uint8_t *y, __m256d value) { _mm256_storeu_pd((double *)y, value); }

static inline void store_halves(uint8_t *y, size_t to, __m128i value)
{
    _mm_storel_epi64((__m128i *)y, value);
    _mm_storeh_pi((__m64 *)(y + to), _mm_castsi128_ps(value));
}

static inline void store_quarters(uint8_t *y, size_t to, __m128i value)
{
    for (size_t r = 0; r < 4; r++, value = _mm_srli_si128(value, 4)) {
        const int quarter = _mm_cvtsi128_si32(value);
        memcpy(y + r * to, &quarter, 4);
    }
}

/* -- 8 bits ------------------------------------------------------------------------------------------------------- */
/* 16 rows of 4 columns, 4 rows in each vector. */
static inline void quads_x8(const uint8_t *x, size_t from, __m128i rows[4])
{
    const __m128i a = load16(x), b = load16(x + from), c = load16(x + 2 * from), d = load16(x + 3 * from);
    const __m128i ab = _mm_unpacklo_epi8(a, b), cd = _mm_unpacklo_epi8(c, d);
    const __m128i ab8 = _mm_unpackhi_epi8(a, b), cd8 = _mm_unpackhi_epi8(c, d);
    rows[0] = _mm_unpacklo_epi16(ab, cd);
    rows[1] = _mm_unpackhi_epi16(ab, cd);
    rows[2] = _mm_unpacklo_epi16(ab8, cd8);
    rows[3] = _mm_unpackhi_epi16(ab8, cd8);
}

INLINE void block_x8_16x4(const uint8_t *x, size_t from, uint8_t *y, size_t to)
{
    __m128i rows[4];
    quads_x8(x, from, rows);
    for (size_t k = 0; k < 4; k++)
        store_quarters(y + 4 * k * to, to, rows[k]);
}

INLINE void block_x8_16x8(const uint8_t *x, size_t from, uint8_t *y, size_t to)
{
    __m128i first[4], last[4];
    quads_x8(x, from, first);
    quads_x8(x + 4 * from, from, last);
    for (size_t k = 0; k < 4; k++, y += 4 * to) {
        store_halves(y, to, _mm_unpacklo_epi32(first[k], last[k]));
        store_halves(y + 2 * to, to, _mm_unpackhi_epi32(first[k], last[k]));
    }
}

/* -- few rows or columns ------------------------------------------------------------------------------------------- */
/* Dense pixels of 2 to 4 rows, if these are such; or else returns 0. */
static inline int try_narrow(const size_t item, size_t rows, size_t columns, const uint8_t *x, size_t from, uint8_t *y,
                            size_t to)
{
    if (from != rows * item || rows < 2 || rows > 4)
        return 0;
    uint8_t *const parts[4] = {y, y + to, y + (rows > 2 ? 2 : 0) * to, y + (rows > 3 ? 3 : 0) * to};
    const size_t done = apart_any(item, rows, columns, x, parts);
    nnf_transpose_each(item, rows, columns - done, x + done * from, from, y + done * item, to);
    return 1;
}

/* 2 to 4 columns that lie side by side in y, if this is such a matrix; or else returns 0. */
static inline int try_beside(const size_t item, size_t rows, size_t columns, const uint8_t *x, size_t from, uint8_t *y,
                            size_t to)
{
    if (to != columns * item || columns < 2 || columns > 4 || rows * item < 16)
        return 0;
    const uint8_t *const parts[4] = {x, x + from, x + (columns > 2 ? 2 : 0) * from, x + (columns > 3 ? 3 : 0) * from};
    beside_any(item, rows, columns, parts, y);
    return 1;
}

void nnf_transpose_x8_tile__avx2_16x8(size_t rows, size_t columns, const uint8_t *x, size_t from, uint8_t *y, size_t to)
{
    if (try_beside(1, rows, columns, x, from, y, to) || try_narrow(1, rows, columns, x, from, y, to))
        return;
    size_t c = nnf_transpose_by(block_x8_16x8, 16, 8, 1, rows, columns, x, from, y, to);
    c += nnf_transpose_by(block_x8_16x4, 16, 4, 1, rows, columns - c, x + c * from, from, y + c, to);
    nnf_transpose_each(1, rows, columns - c, x + c * from, from, y + c, to);
}

/* -- 16 bits ------------------------------------------------------------------------------------------------------ */
/* 8 rows of 4 columns, 2 rows in each vector. */
static inline void quads_x16(const uint8_t *x, size_t from, __m128i rows[4])
{
    const __m128i a = load16(x), b = load16(x + from), c = load16(x + 2 * from), d = load16(x + 3 * from);
    const __m128i ab = _mm_unpacklo_epi16(a, b), cd = _mm_unpacklo_epi16(c, d);
    const __m128i ab4 = _mm_unpackhi_epi16(a, b), cd4 = _mm_unpackhi_epi16(c, d);
    rows[0] = _mm_unpacklo_epi32(ab, cd);
    rows[1] = _mm_unpackhi_epi32(ab, cd);
    rows[2] = _mm_unpacklo_epi32(ab4, cd4);
    rows[3] = _mm_unpackhi_epi32(ab4, cd4);
}

INLINE void block_x16_8x4(const uint8_t *x, size_t from, uint8_t *y, size_t to)
{
    __m128i rows[4];
    quads_x16(x, from, rows);
    for (size_t k = 0; k < 4; k++)
        store_halves(y + 2 * k * to, to, rows[k]);
}

INLINE void block_x16_8x8(const uint8_t *x, size_t from, uint8_t *y, size_t to)
{
    __m128i first[4], last[4];
    quads_x16(x, from, first);
    quads_x16(x + 4 * from, from, last);
    for (size_t k = 0; k < 4; k++, y += 2 * to) {
        store16(y, _mm_unpacklo_epi64(first[k], last[k]));
        store16(y + to, _mm_unpackhi_epi64(first[k], last[k]));
    }
}

void nnf_transpose_x16_tile__avx2_8x8(size_t rows, size_t columns, const uint8_t *x, size_t from, uint8_t *y, size_t to)
{
    if (try_beside(2, rows, columns, x, from, y, to) || try_narrow(2, rows, columns, x, from, y, to))
        return;
    size_t c = nnf_transpose_by(block_x16_8x8, 8, 8, 2, rows, columns, x, from, y, to);
    c += nnf_transpose_by(block_x16_8x4, 8, 4, 2, rows, columns - c, x + c * from, from, y + c * 2, to);
    nnf_transpose_each(2, rows, columns - c, x + c * from, from, y + c * 2, to);
}

/* -- 32 bits ------------------------------------------------------------------------------------------------------ */
INLINE void block_x32_4x4(const uint8_t *x, size_t from, uint8_t *y, size_t to)
{
    const __m128i a = load16(x), b = load16(x + from), c = load16(x + 2 * from), d = load16(x + 3 * from);
    const __m128i ab = _mm_unpacklo_epi32(a, b), cd = _mm_unpacklo_epi32(c, d);
    const __m128i ab2 = _mm_unpackhi_epi32(a, b), cd2 = _mm_unpackhi_epi32(c, d);
    store16(y, _mm_unpacklo_epi64(ab, cd));
    store16(y + to, _mm_unpackhi_epi64(ab, cd));
    store16(y + 2 * to, _mm_unpacklo_epi64(ab2, cd2));
    store16(y + 3 * to, _mm_unpackhi_epi64(ab2, cd2));
}

/* 8 rows of 4 columns: rows k and k + 4 in the halves of vector k. */
static inline void quads_x32(const uint8_t *x, size_t from, __m256 rows[4])
{
    const __m256 a = load32(x), b = load32(x + from), c = load32(x + 2 * from), d = load32(x + 3 * from);
    const __m256d ab = _mm256_castps_pd(_mm256_unpacklo_ps(a, b)), cd = _mm256_castps_pd(_mm256_unpacklo_ps(c, d));
    const __m256d ab2 = _mm256_castps_pd(_mm256_unpackhi_ps(a, b)), cd2 = _mm256_castps_pd(_mm256_unpackhi_ps(c, d));
    rows[0] = _mm256_castpd_ps(_mm256_unpacklo_pd(ab, cd));
    rows[1] = _mm256_castpd_ps(_mm256_unpackhi_pd(ab, cd));
    rows[2] = _mm256_castpd_ps(_mm256_unpacklo_pd(ab2, cd2));
    rows[3] = _mm256_castpd_ps(_mm256_unpackhi_pd(ab2, cd2));
}

INLINE void block_x32_8x8(const uint8_t *x, size_t from, uint8_t *y, size_t to)
{
    __m256 first[4], last[4];
    quads_x32(x, from, first);
    quads_x32(x + 4 * from, from, last);
    for (size_t k = 0; k < 4; k++, y += to) {
        store32(y, _mm256_permute2f128_ps(first[k], last[k], 0x20));
        store32(y + 4 * to, _mm256_permute2f128_ps(first[k], last[k], 0x31));
    }
}

static inline __m256 load_apart(const uint8_t *low, const uint8_t *high)
{
    return _mm256_castsi256_ps(_mm256_set_m128i(load16(high), load16(low)));
}

/* 2 to 4 rows, 8 columns at a time: columns k and k + 4 in the halves of a vector. Returns how many columns are done:
 * reads 4 elements of each, of fewer rows only where another column follows. */
static inline size_t narrow_x32(const size_t rows, size_t columns, const uint8_t *x, size_t from, uint8_t *y, size_t to)
{
    size_t c = 0;
    for (; c + 8 + (rows < 4) <= columns; c += 8, x += 8 * from, y += 32) {
        const __m256 a = load_apart(x, x + 4 * from), b = load_apart(x + from, x + 5 * from);
        const __m256 e = load_apart(x + 2 * from, x + 6 * from), f = load_apart(x + 3 * from, x + 7 * from);
        const __m256d ab = _mm256_castps_pd(_mm256_unpacklo_ps(a, b)), ef = _mm256_castps_pd(_mm256_unpacklo_ps(e, f));
        store32(y, _mm256_castpd_ps(_mm256_unpacklo_pd(ab, ef)));
        store32(y + to, _mm256_castpd_ps(_mm256_unpackhi_pd(ab, ef)));
        if (rows == 2)
            continue;
        const __m256d ab2 = _mm256_castps_pd(_mm256_unpackhi_ps(a, b));
        const __m256d ef2 = _mm256_castps_pd(_mm256_unpackhi_ps(e, f));
        store32(y + 2 * to, _mm256_castpd_ps(_mm256_unpacklo_pd(ab2, ef2)));
        if (rows == 4)
            store32(y + 3 * to, _mm256_castpd_ps(_mm256_unpackhi_pd(ab2, ef2)));
    }
    return c;
}

/* Fewer than 8 rows. */
static void strip_x32(size_t rows, size_t columns, const uint8_t *x, size_t from, uint8_t *y, size_t to)
{
    if (rows >= 4) {
        size_t c = narrow_x32(4, columns, x, from, y, to);
        c += nnf_transpose_by(block_x32_4x4, 4, 4, 4, 4, columns - c, x + c * from, from, y + c * 4, to);
        nnf_transpose_each(4, 4, columns - c, x + c * from, from, y + c * 4, to);
        rows -= 4;
        x += 16;
        y += 4 * to;
    }
    const size_t c = rows == 3   ? narrow_x32(3, columns, x, from, y, to)
                     : rows == 2 ? narrow_x32(2, columns, x, from, y, to)
                                 : 0;
    nnf_transpose_each(4, rows, columns - c, x + c * from, from, y + c * 4, to);
}

void nnf_transpose_x32_tile__avx2_8x8(size_t rows, size_t columns, const uint8_t *x, size_t from, uint8_t *y, size_t to)
{
    if (try_beside(4, rows, columns, x, from, y, to))
        return;
    const size_t whole = rows / 8 * 8;
    strip_x32(rows - whole, columns, x + whole * 4, from, y + whole * to, to);
    rows = whole;
    const size_t c = nnf_transpose_by(block_x32_8x8, 8, 8, 4, rows, columns, x, from, y, to);
    const uint8_t *beside = x + c * from;
    const size_t done = c + nnf_transpose_by(block_x32_4x4, 4, 4, 4, rows, columns - c, beside, from, y + c * 4, to);
    nnf_transpose_each(4, rows, columns - done, x + done * from, from, y + done * 4, to);
}

/* -- 64 bits ------------------------------------------------------------------------------------------------------ */
INLINE void block_x64_4x4(const uint8_t *x, size_t from, uint8_t *y, size_t to)
{
    const __m256d a = load64(x), b = load64(x + from), c = load64(x + 2 * from), d = load64(x + 3 * from);
    const __m256d ab = _mm256_unpacklo_pd(a, b), cd = _mm256_unpacklo_pd(c, d);
    const __m256d ab1 = _mm256_unpackhi_pd(a, b), cd1 = _mm256_unpackhi_pd(c, d);
    store64(y, _mm256_permute2f128_pd(ab, cd, 0x20));
    store64(y + to, _mm256_permute2f128_pd(ab1, cd1, 0x20));
    store64(y + 2 * to, _mm256_permute2f128_pd(ab, cd, 0x31));
    store64(y + 3 * to, _mm256_permute2f128_pd(ab1, cd1, 0x31));
}

void nnf_transpose_x64_tile__avx2_4x4(size_t rows, size_t columns, const uint8_t *x, size_t from, uint8_t *y, size_t to)
{
    if (try_beside(8, rows, columns, x, from, y, to))
        return;
    const size_t c = nnf_transpose_by(block_x64_4x4, 4, 4, 8, rows, columns, x, from, y, to);
    nnf_transpose_each(8, rows, columns - c, x + c * from, from, y + c * 8, to);
}
