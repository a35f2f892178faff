/* Names that all levels share: 32 bytes; include only from AVX2 files. */
#ifndef NNF_SIMD_U8_AVX2_H
#define NNF_SIMD_U8_AVX2_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { BYTES = 32 };

typedef __m256i B;

static inline B u8_all(uint8_t value) { return _mm256_set1_epi8((char)value); }
static inline B u8_load_whole(const uint8_t *x) { return _mm256_loadu_si256((const __m256i *)x); }
static inline void u8_store_whole(uint8_t *y, B value) { _mm256_storeu_si256((__m256i *)y, value); }

/* The first `count` bytes, fewer than all, and zeros behind them. */
static inline B u8_load(size_t count, const uint8_t *x)
{
    uint8_t copy[BYTES] = {0};
    memcpy(copy, x, count);
    return u8_load_whole(copy);
}

static inline void u8_store(uint8_t *y, size_t count, B value)
{
    uint8_t copy[BYTES];
    u8_store_whole(copy, value);
    memcpy(y, copy, count);
}

static inline B u8_max(B a, B b) { return _mm256_max_epu8(a, b); }
static inline B u8_min(B a, B b) { return _mm256_min_epu8(a, b); }
static inline B u8_max_signed(B a, B b) { return _mm256_max_epi8(a, b); }
static inline B u8_min_signed(B a, B b) { return _mm256_min_epi8(a, b); }
static inline B u8_or(B a, B b) { return _mm256_or_si256(a, b); }
static inline B u8_xor(B a, B b) { return _mm256_xor_si256(a, b); }

/* The first `count` bytes, fewer than all, and those of `others` behind them. */
static inline B u8_load_or(B others, size_t count, const uint8_t *x)
{
    uint8_t copy[BYTES];
    u8_store_whole(copy, others);
    memcpy(copy, x, count);
    return u8_load_whole(copy);
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

#endif
