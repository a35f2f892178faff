/* Names that all levels share: 64 bytes; include only from AVX-512 files. */
#ifndef NNF_SIMD_U8_AVX512_H
#define NNF_SIMD_U8_AVX512_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

enum { BYTES = 64 };

typedef __m512i B;

static inline B u8_all(uint8_t value) { return _mm512_set1_epi8((char)value); }
static inline B u8_load_whole(const uint8_t *x) { return _mm512_loadu_si512(x); }
static inline void u8_store_whole(uint8_t *y, B value) { _mm512_storeu_si512(y, value); }
static inline __mmask64 u8_first(size_t count) { return count < BYTES ? (UINT64_C(1) << count) - 1 : ~UINT64_C(0); }
/* The first `count` bytes, fewer than all, and zeros behind them. */
static inline B u8_load(size_t count, const uint8_t *x) { return _mm512_maskz_loadu_epi8(u8_first(count), x); }
static inline void u8_store(uint8_t *y, size_t count, B value) { _mm512_mask_storeu_epi8(y, u8_first(count), value); }
static inline B u8_sub(B a, B b) { return _mm512_sub_epi8(a, b); }
static inline B u8_max(B a, B b) { return _mm512_max_epu8(a, b); }
static inline B u8_min(B a, B b) { return _mm512_min_epu8(a, b); }
static inline B u8_max_signed(B a, B b) { return _mm512_max_epi8(a, b); }
static inline B u8_min_signed(B a, B b) { return _mm512_min_epi8(a, b); }
static inline B u8_or(B a, B b) { return _mm512_or_si512(a, b); }
static inline B u8_xor(B a, B b) { return _mm512_xor_si512(a, b); }
/* Not on other processors: bytes of a and b in turns, of the lower and of the upper halves of all 128 bits. */
static inline B u8_pairs_low(B a, B b) { return _mm512_unpacklo_epi8(a, b); }
static inline B u8_pairs_high(B a, B b) { return _mm512_unpackhi_epi8(a, b); }

/* The first `count` bytes, fewer than all, and those of `others` behind them. */
static inline B u8_load_or(B others, size_t count, const uint8_t *x)
{
    return _mm512_mask_loadu_epi8(others, u8_first(count), x);
}

/* 1 where the relation holds, else 0. */
static inline B u8_equal(B a, B b) { return _mm512_maskz_mov_epi8(_mm512_cmpeq_epu8_mask(a, b), u8_all(1)); }
static inline B u8_not_equal(B a, B b) { return _mm512_maskz_mov_epi8(_mm512_cmpneq_epu8_mask(a, b), u8_all(1)); }
static inline B u8_less(B a, B b) { return _mm512_maskz_mov_epi8(_mm512_cmplt_epu8_mask(a, b), u8_all(1)); }
static inline B u8_less_equal(B a, B b) { return _mm512_maskz_mov_epi8(_mm512_cmple_epu8_mask(a, b), u8_all(1)); }

typedef __m512i U; /* sums of bytes */

static inline U u8_sum_none(void) { return _mm512_setzero_si512(); }
static inline U u8_sum(U sum, B x) { return _mm512_add_epi64(sum, _mm512_sad_epu8(x, _mm512_setzero_si512())); }
static inline int64_t u8_sum_total(U sum) { return _mm512_reduce_add_epi64(sum); }

/* The smallest byte. */
static inline uint8_t u8_least(B x)
{
    const __m256i half = _mm256_min_epu8(_mm512_castsi512_si256(x), _mm512_extracti64x4_epi64(x, 1));
    __m128i best = _mm_min_epu8(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
    best = _mm_min_epu8(best, _mm_srli_epi16(best, 8)); /* of each pair, with a 0 above it */
    return (uint8_t)_mm_extract_epi8(_mm_minpos_epu16(best), 0);
}

/* Sums of 16 bits, and QUARTERS of them in 32. What is where concerns only what goes back through u8_of_s32. */
enum { QUARTERS = 4 };

typedef struct {
    __m512i low, high;
} H;

static inline H u8_short_none(void) { return (H){u8_all(0), u8_all(0)}; }

static inline H u8_short_sum(H sum, B x)
{
    return (H){_mm512_add_epi16(sum.low, _mm512_unpacklo_epi8(x, u8_all(0))),
               _mm512_add_epi16(sum.high, _mm512_unpackhi_epi8(x, u8_all(0)))};
}

static inline void u8_long_sum(__m512i *sum, H x)
{
    sum[0] = _mm512_add_epi32(sum[0], _mm512_unpacklo_epi16(x.low, u8_all(0)));
    sum[1] = _mm512_add_epi32(sum[1], _mm512_unpackhi_epi16(x.low, u8_all(0)));
    sum[2] = _mm512_add_epi32(sum[2], _mm512_unpacklo_epi16(x.high, u8_all(0)));
    sum[3] = _mm512_add_epi32(sum[3], _mm512_unpackhi_epi16(x.high, u8_all(0)));
}

/* Of numbers between 0 and 255. */
static inline B u8_of_s32(const __m512i *x)
{
    return _mm512_packus_epi16(_mm512_packs_epi32(x[0], x[1]), _mm512_packs_epi32(x[2], x[3]));
}

/* The 16 rows of a table of bytes, for u8_at. */
static inline void u8_rows(B rows[16], const uint8_t table[256])
{
    for (int r = 0; r < 16; r++)
        rows[r] = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(table + 16 * r)));
}

/* Bytes of the table at codes: a shuffle for each of its rows, kept where the high half of the code names the row. */
static inline B u8_at(const B rows[16], B codes)
{
    const B nibble = u8_all(15), low = _mm512_and_si512(codes, nibble);
    const B high = _mm512_and_si512(_mm512_srli_epi16(codes, 4), nibble);
    B value = _mm512_shuffle_epi8(rows[0], low);
    for (int r = 1; r < 16; r++)
        value = _mm512_mask_shuffle_epi8(value, _mm512_cmpeq_epi8_mask(high, u8_all((uint8_t)r)), rows[r], low);
    return value;
}

#endif
