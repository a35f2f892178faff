/* Names that all levels share: 32 bytes; include only from AVX2 files. */
#ifndef NNF_SIMD_U8_AVX2_H
#define NNF_SIMD_U8_AVX2_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#include "nnf/partial.h"
#include "nnf/unroll.h"

enum { BYTES = 32 };

typedef __m256i B;

static inline B u8_all(uint8_t value) { return _mm256_set1_epi8((char)value); }
static inline B u8_load_whole(const uint8_t *x) { return _mm256_loadu_si256((const __m256i *)x); }
static inline void u8_store_whole(uint8_t *y, B value) { _mm256_storeu_si256((__m256i *)y, value); }

static inline __m128i u8_half(size_t count, const uint8_t *x)
{
    if (count >= 16)
        return _mm_loadu_si128((const __m128i *)x);
    const uint64_t high = count > 8 ? nnf_load_bytes(x + 8, count - 8) : 0;
    return _mm_set_epi64x((long long)high, (long long)nnf_load_bytes(x, count));
}

static inline void u8_store_half(uint8_t *y, size_t count, __m128i value)
{
    if (count >= 16) {
        _mm_storeu_si128((__m128i *)y, value);
        return;
    }
    nnf_store_bytes(y, (uint64_t)_mm_cvtsi128_si64(value), count);
    if (count > 8)
        nnf_store_bytes(y + 8, (uint64_t)_mm_extract_epi64(value, 1), count - 8);
}

/* The first `count` bytes, fewer than all, and zeros behind them. */
static inline B u8_load(size_t count, const uint8_t *x)
{
    return _mm256_set_m128i(count > 16 ? u8_half(count - 16, x + 16) : _mm_setzero_si128(), u8_half(count, x));
}

static inline void u8_store(uint8_t *y, size_t count, B value)
{
    u8_store_half(y, count, _mm256_castsi256_si128(value));
    if (count > 16)
        u8_store_half(y + 16, count - 16, _mm256_extracti128_si256(value, 1));
}

static inline B u8_add(B a, B b) { return _mm256_add_epi8(a, b); }
static inline B u8_sub(B a, B b) { return _mm256_sub_epi8(a, b); }
static inline B u8_max(B a, B b) { return _mm256_max_epu8(a, b); }
static inline B u8_min(B a, B b) { return _mm256_min_epu8(a, b); }
static inline B u8_max_signed(B a, B b) { return _mm256_max_epi8(a, b); }
static inline B u8_min_signed(B a, B b) { return _mm256_min_epi8(a, b); }
static inline B u8_or(B a, B b) { return _mm256_or_si256(a, b); }
static inline B u8_xor(B a, B b) { return _mm256_xor_si256(a, b); }
/* Not on other processors: bytes of a and b in turns, of the lower and of the upper halves of all 128 bits. */
static inline B u8_pairs_low(B a, B b) { return _mm256_unpacklo_epi8(a, b); }
static inline B u8_pairs_high(B a, B b) { return _mm256_unpackhi_epi8(a, b); }
/* Not on other processors: words of 16 bits, in two registers those of such pairs. */
static inline B u16_all(uint16_t value) { return _mm256_set1_epi16((short)value); }
static inline B u16_max(B a, B b) { return _mm256_max_epu16(a, b); }
static inline B u16_min(B a, B b) { return _mm256_min_epu16(a, b); }
static inline B u16_add(B a, B b) { return _mm256_add_epi16(a, b); }
static inline B u16_mul_high(B a, B b) { return _mm256_mulhi_epu16(a, b); }
static inline B s16_lower(B x, int bits) { return _mm256_sra_epi16(x, _mm_cvtsi32_si128(bits)); }
/* Bytes with a sign, saturated. */
static inline B u8_of_s16(B low, B high) { return _mm256_packs_epi16(low, high); }

/* The first `count` bytes, fewer than all, and those of `others` behind them. */
static inline B u8_load_or(B others, size_t count, const uint8_t *x)
{
    const __m256i number = _mm256_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                                            22, 23, 24, 25, 26, 27, 28, 29, 30, 31);
    return _mm256_blendv_epi8(others, u8_load(count, x), _mm256_cmpgt_epi8(u8_all((uint8_t)count), number));
}

/* 1 where the relation holds, else 0. */
static inline B u8_equal(B a, B b) { return _mm256_and_si256(_mm256_cmpeq_epi8(a, b), u8_all(1)); }
static inline B u8_not_equal(B a, B b) { return _mm256_andnot_si256(_mm256_cmpeq_epi8(a, b), u8_all(1)); }

static inline B u8_less(B a, B b)
{
    return _mm256_andnot_si256(_mm256_cmpeq_epi8(_mm256_min_epu8(a, b), b), u8_all(1));
}

static inline B u8_less_equal(B a, B b)
{
    return _mm256_and_si256(_mm256_cmpeq_epi8(_mm256_min_epu8(a, b), a), u8_all(1));
}

typedef __m256i U; /* sums of bytes */

static inline U u8_sum_none(void) { return _mm256_setzero_si256(); }
static inline U u8_sum(U sum, B x) { return _mm256_add_epi64(sum, _mm256_sad_epu8(x, _mm256_setzero_si256())); }

static inline int64_t u8_sum_total(U sum)
{
    const __m128i half = _mm_add_epi64(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
    return _mm_cvtsi128_si64(half) + _mm_extract_epi64(half, 1);
}

/* The smallest byte. */
static inline uint8_t u8_least(B x)
{
    __m128i best = _mm_min_epu8(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    best = _mm_min_epu8(best, _mm_srli_epi16(best, 8)); /* of each pair, with a 0 above it */
    return (uint8_t)_mm_extract_epi8(_mm_minpos_epu16(best), 0);
}

/* Sums of 16 bits, and QUARTERS of them in 32. What is where concerns only what goes back through u8_of_s32. */
enum { QUARTERS = 4 };

typedef struct {
    __m256i low, high;
} H;

static inline H u8_short_none(void) { return (H){u8_all(0), u8_all(0)}; }

static inline H u8_short_sum(H sum, B x)
{
    return (H){_mm256_add_epi16(sum.low, _mm256_unpacklo_epi8(x, u8_all(0))),
               _mm256_add_epi16(sum.high, _mm256_unpackhi_epi8(x, u8_all(0)))};
}

static inline void u8_long_sum(__m256i *sum, H x)
{
    sum[0] = _mm256_add_epi32(sum[0], _mm256_unpacklo_epi16(x.low, u8_all(0)));
    sum[1] = _mm256_add_epi32(sum[1], _mm256_unpackhi_epi16(x.low, u8_all(0)));
    sum[2] = _mm256_add_epi32(sum[2], _mm256_unpacklo_epi16(x.high, u8_all(0)));
    sum[3] = _mm256_add_epi32(sum[3], _mm256_unpackhi_epi16(x.high, u8_all(0)));
}

/* Of numbers between 0 and 255. */
static inline B u8_of_s32(const __m256i *x)
{
    return _mm256_packus_epi16(_mm256_packs_epi32(x[0], x[1]), _mm256_packs_epi32(x[2], x[3]));
}

/* A table of bytes in registers, for u8_at: its rows of 16 bytes, the odd ones as their differences from the even ones
 * before. */
enum { TABLE_ROWS = 16 };

INLINE void u8_rows(B rows[TABLE_ROWS], const uint8_t table[256])
{
    NNF_UNROLL
    for (int r = 0; r < TABLE_ROWS; r += 2) {
        const __m128i even = _mm_loadu_si128((const __m128i *)(table + 16 * r));
        const __m128i odd = _mm_loadu_si128((const __m128i *)(table + 16 * r + 16));
        rows[r] = _mm256_broadcastsi128_si256(even);
        rows[r + 1] = _mm256_broadcastsi128_si256(_mm_xor_si128(even, odd));
    }
}

/* Bytes of the table at codes. Bits 5 to 7 of a code halve the choice of 8 pairs of rows; of a pair bit 4 leaves the even
 * row, or adds what makes it the odd one: a shuffle whose index has bit 7 gives 0. */
INLINE B u8_at(const B rows[TABLE_ROWS], B codes)
{
    const B low = _mm256_and_si256(codes, _mm256_set1_epi8(15));
    /* blendv looks at bit 7 of each byte. */
    const B bit4 = _mm256_slli_epi16(codes, 3), bit5 = _mm256_slli_epi16(codes, 2), bit6 = _mm256_slli_epi16(codes, 1);
    const B added = _mm256_or_si256(low, _mm256_andnot_si256(bit4, _mm256_set1_epi8(-128)));
    B pair[8], half[2];
    NNF_UNROLL
    for (int p = 0; p < 8; p++)
        pair[p] = _mm256_xor_si256(_mm256_shuffle_epi8(rows[2 * p], low), _mm256_shuffle_epi8(rows[2 * p + 1], added));
    NNF_UNROLL
    for (int h = 0; h < 2; h++)
        half[h] = _mm256_blendv_epi8(_mm256_blendv_epi8(pair[4 * h], pair[4 * h + 1], bit5),
                                     _mm256_blendv_epi8(pair[4 * h + 2], pair[4 * h + 3], bit5), bit6);
    return _mm256_blendv_epi8(half[0], half[1], codes);
}

#endif
