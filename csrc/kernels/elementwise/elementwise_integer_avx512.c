#include "elementwise.h"

#include <immintrin.h>

enum word_op { OP_ADD, OP_SUB, OP_MUL, OP_MAX, OP_MIN };

enum byte_op {
    OP_LARGER,
    OP_SMALLER,
    OP_LARGER_SIGNED,
    OP_SMALLER_SIGNED,
    OP_EQUAL,
    OP_NOT_EQUAL,
    OP_LESS,
    OP_LESS_EQUAL,
    OP_AND,
    OP_OR
};

static inline __mmask64 first(size_t count)
{
    return count >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << count) - 1;
}

static inline __attribute__((always_inline)) __m512i word(enum word_op op, __m512i a, __m512i b)
{
    switch (op) {
    case OP_ADD:
        return _mm512_add_epi32(a, b);
    case OP_SUB:
        return _mm512_sub_epi32(a, b);
    case OP_MUL:
        return _mm512_mullo_epi32(a, b);
    case OP_MAX:
        return _mm512_max_epi32(a, b);
    default:
        return _mm512_min_epi32(a, b);
    }
}

static inline __attribute__((always_inline)) void words(enum word_op op, size_t n, const int32_t *a, size_t step_a,
                                                        const int32_t *b, size_t step_b, int32_t *y)
{
    if (n == 0)
        return;
    __m512i left = _mm512_set1_epi32(*a), right = _mm512_set1_epi32(*b);
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        if (step_a)
            left = _mm512_loadu_si512(a + i);
        if (step_b)
            right = _mm512_loadu_si512(b + i);
        _mm512_storeu_si512(y + i, word(op, left, right));
    }
    if (i == n)
        return;
    const __mmask16 live = (__mmask16)first(n - i);
    if (step_a)
        left = _mm512_maskz_loadu_epi32(live, a + i);
    if (step_b)
        right = _mm512_maskz_loadu_epi32(live, b + i);
    _mm512_mask_storeu_epi32(y + i, live, word(op, left, right));
}

static inline __attribute__((always_inline)) __m512i byte(enum byte_op op, __m512i a, __m512i b)
{
    const __m512i one = _mm512_set1_epi8(1);
    switch (op) {
    case OP_LARGER:
        return _mm512_max_epu8(a, b);
    case OP_SMALLER:
        return _mm512_min_epu8(a, b);
    case OP_LARGER_SIGNED:
        return _mm512_max_epi8(a, b);
    case OP_SMALLER_SIGNED:
        return _mm512_min_epi8(a, b);
    case OP_EQUAL:
        return _mm512_maskz_mov_epi8(_mm512_cmpeq_epu8_mask(a, b), one);
    case OP_NOT_EQUAL:
        return _mm512_maskz_mov_epi8(_mm512_cmpneq_epu8_mask(a, b), one);
    case OP_LESS:
        return _mm512_maskz_mov_epi8(_mm512_cmplt_epu8_mask(a, b), one);
    case OP_LESS_EQUAL:
        return _mm512_maskz_mov_epi8(_mm512_cmple_epu8_mask(a, b), one);
    case OP_AND:
        return _mm512_min_epu8(_mm512_min_epu8(a, b), one);
    default:
        return _mm512_min_epu8(_mm512_or_si512(a, b), one);
    }
}

static inline __attribute__((always_inline)) void bytes(enum byte_op op, size_t n, const uint8_t *a, size_t step_a,
                                                        const uint8_t *b, size_t step_b, uint8_t *y)
{
    if (n == 0)
        return;
    __m512i left = _mm512_set1_epi8((char)*a), right = _mm512_set1_epi8((char)*b);
    size_t i = 0;
    for (; i + 64 <= n; i += 64) {
        if (step_a)
            left = _mm512_loadu_si512(a + i);
        if (step_b)
            right = _mm512_loadu_si512(b + i);
        _mm512_storeu_si512(y + i, byte(op, left, right));
    }
    if (i == n)
        return;
    const __mmask64 live = first(n - i);
    if (step_a)
        left = _mm512_maskz_loadu_epi8(live, a + i);
    if (step_b)
        right = _mm512_maskz_loadu_epi8(live, b + i);
    _mm512_mask_storeu_epi8(y + i, live, byte(op, left, right));
}

void nnf_add_s32_flat__avx512_16(size_t n, const int32_t *a, size_t step_a, const int32_t *b, size_t step_b, int32_t *y)
{
    words(OP_ADD, n, a, step_a, b, step_b, y);
}

void nnf_sub_s32_flat__avx512_16(size_t n, const int32_t *a, size_t step_a, const int32_t *b, size_t step_b, int32_t *y)
{
    words(OP_SUB, n, a, step_a, b, step_b, y);
}

void nnf_mul_s32_flat__avx512_16(size_t n, const int32_t *a, size_t step_a, const int32_t *b, size_t step_b, int32_t *y)
{
    words(OP_MUL, n, a, step_a, b, step_b, y);
}

void nnf_max_s32_flat__avx512_16(size_t n, const int32_t *a, size_t step_a, const int32_t *b, size_t step_b, int32_t *y)
{
    words(OP_MAX, n, a, step_a, b, step_b, y);
}

void nnf_min_s32_flat__avx512_16(size_t n, const int32_t *a, size_t step_a, const int32_t *b, size_t step_b, int32_t *y)
{
    words(OP_MIN, n, a, step_a, b, step_b, y);
}

void nnf_max_qu8_flat__avx512_64(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y)
{
    bytes(OP_LARGER, n, a, step_a, b, step_b, y);
}

void nnf_min_qu8_flat__avx512_64(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y)
{
    bytes(OP_SMALLER, n, a, step_a, b, step_b, y);
}

void nnf_max_qs8_flat__avx512_64(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y)
{
    bytes(OP_LARGER_SIGNED, n, a, step_a, b, step_b, y);
}

void nnf_min_qs8_flat__avx512_64(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y)
{
    bytes(OP_SMALLER_SIGNED, n, a, step_a, b, step_b, y);
}

void nnf_equal_b8_flat__avx512_64(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b,
                                  uint8_t *y)
{
    bytes(OP_EQUAL, n, a, step_a, b, step_b, y);
}

void nnf_not_equal_b8_flat__avx512_64(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b,
                                      uint8_t *y)
{
    bytes(OP_NOT_EQUAL, n, a, step_a, b, step_b, y);
}

void nnf_less_b8_flat__avx512_64(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y)
{
    bytes(OP_LESS, n, a, step_a, b, step_b, y);
}

void nnf_less_equal_b8_flat__avx512_64(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b,
                                       uint8_t *y)
{
    bytes(OP_LESS_EQUAL, n, a, step_a, b, step_b, y);
}

void nnf_and_b8_flat__avx512_64(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y)
{
    bytes(OP_AND, n, a, step_a, b, step_b, y);
}

void nnf_or_b8_flat__avx512_64(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y)
{
    bytes(OP_OR, n, a, step_a, b, step_b, y);
}

void nnf_select_qu8_flat__avx512_64(size_t n, const uint8_t *choice, const void *a, const void *b, void *y)
{
    for (size_t i = 0; i < n; i += 64) {
        const __mmask64 live = first(n - i);
        const __m512i byte_of = _mm512_maskz_loadu_epi8(live, choice + i);
        const __mmask64 taken = _mm512_test_epi8_mask(byte_of, byte_of);
        const __m512i second = _mm512_maskz_loadu_epi8(live, (const uint8_t *)b + i);
        _mm512_mask_storeu_epi8((uint8_t *)y + i, live,
                                _mm512_mask_loadu_epi8(second, taken, (const uint8_t *)a + i));
    }
}

void nnf_select_f16_flat__avx512_32(size_t n, const uint8_t *choice, const void *a, const void *b, void *y)
{
    for (size_t i = 0; i < n; i += 32) {
        const __mmask32 live = (__mmask32)first(n - i);
        const __m256i byte_of = _mm256_maskz_loadu_epi8(live, choice + i);
        const __mmask32 taken = _mm256_test_epi8_mask(byte_of, byte_of);
        const __m512i second = _mm512_maskz_loadu_epi16(live, (const uint16_t *)b + i);
        _mm512_mask_storeu_epi16((uint16_t *)y + i, live,
                                 _mm512_mask_loadu_epi16(second, taken, (const uint16_t *)a + i));
    }
}

void nnf_select_s32_flat__avx512_16(size_t n, const uint8_t *choice, const void *a, const void *b, void *y)
{
    for (size_t i = 0; i < n; i += 16) {
        const __mmask16 live = (__mmask16)first(n - i);
        const __m128i byte_of = _mm_maskz_loadu_epi8(live, choice + i);
        const __mmask16 taken = _mm_test_epi8_mask(byte_of, byte_of);
        const __m512i second = _mm512_maskz_loadu_epi32(live, (const int32_t *)b + i);
        _mm512_mask_storeu_epi32((int32_t *)y + i, live,
                                 _mm512_mask_loadu_epi32(second, taken, (const int32_t *)a + i));
    }
}
