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

/* A table of bytes in registers, for u8_at. */
enum { TABLE_ROWS = 4 };

static inline void u8_rows(B rows[TABLE_ROWS], const uint8_t table[256])
{
    for (int r = 0; r < TABLE_ROWS; r++)
        rows[r] = u8_load_whole(table + BYTES * r);
}

#if defined(__AVX512VBMI__)
/* Bytes of the table at codes, in its lower and in its upper half by 7 bits; bit 7 chooses. */
static inline B u8_at(const B rows[TABLE_ROWS], B codes)
{
    return _mm512_mask_mov_epi8(_mm512_permutex2var_epi8(rows[0], codes, rows[1]), _mm512_movepi8_mask(codes),
                                _mm512_permutex2var_epi8(rows[2], codes, rows[3]));
}
#else
/* The pair of bytes of the table that holds a code's. place: bits 1 to 6 of the code, an element's lowest six; upper:
 * where its bit 7 is set. */
static inline B u8_pair_at(const B rows[TABLE_ROWS], B place, __mmask32 upper)
{
    return _mm512_mask_mov_epi16(_mm512_permutex2var_epi16(rows[0], place, rows[1]), upper,
                                 _mm512_permutex2var_epi16(rows[2], place, rows[3]));
}

/* Bytes of the table at codes: pairs of them for the even and for the odd codes, of which bit 0 chooses one. */
static inline B u8_at(const B rows[TABLE_ROWS], B codes)
{
    const __mmask64 odd_bytes = UINT64_C(0xAAAAAAAAAAAAAAAA);
    const B even = u8_pair_at(rows, _mm512_srli_epi16(codes, 1), _mm512_movepi16_mask(_mm512_slli_epi16(codes, 8)));
    const B odd = u8_pair_at(rows, _mm512_srli_epi16(codes, 9), _mm512_movepi16_mask(codes));
    const B first = _mm512_mask_mov_epi8(even, odd_bytes, _mm512_slli_epi16(odd, 8));
    const B second = _mm512_mask_mov_epi8(_mm512_srli_epi16(even, 8), odd_bytes, odd);
    return _mm512_mask_mov_epi8(first, _mm512_test_epi8_mask(codes, u8_all(1)), second);
}
#endif

#endif
