#include "elementwise.h"

#include <immintrin.h>
#include <string.h>

enum word_op { OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_MAX, OP_MIN };

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

/* Quotients of four: a and b are whole doubles, and one more bit than a quotient of 32-bit numbers needs to be on the
 * right side of a whole number fits into 53 bits. 2^31 and every quotient by 0 give INT32_MIN, which wraps. */
static inline __m128i quotients(__m128i a, __m128i b)
{
    const __m256d ratio = _mm256_div_pd(_mm256_cvtepi32_pd(a), _mm256_cvtepi32_pd(b));
    return _mm_andnot_si128(_mm_cmpeq_epi32(b, _mm_setzero_si128()), _mm256_cvttpd_epi32(_mm256_floor_pd(ratio)));
}

static inline __attribute__((always_inline)) __m256i word(enum word_op op, __m256i a, __m256i b)
{
    switch (op) {
    case OP_ADD:
        return _mm256_add_epi32(a, b);
    case OP_SUB:
        return _mm256_sub_epi32(a, b);
    case OP_MUL:
        return _mm256_mullo_epi32(a, b);
    case OP_DIV:
        return _mm256_set_m128i(quotients(_mm256_extracti128_si256(a, 1), _mm256_extracti128_si256(b, 1)),
                                quotients(_mm256_castsi256_si128(a), _mm256_castsi256_si128(b)));
    case OP_MAX:
        return _mm256_max_epi32(a, b);
    default:
        return _mm256_min_epi32(a, b);
    }
}

static inline __attribute__((always_inline)) void words(enum word_op op, size_t n, const int32_t *a, size_t step_a,
                                                        const int32_t *b, size_t step_b, int32_t *y)
{
    if (n == 0)
        return;
    const __m256i first_a = _mm256_set1_epi32(*a), first_b = _mm256_set1_epi32(*b);
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const __m256i left = step_a ? _mm256_loadu_si256((const __m256i *)(a + i)) : first_a;
        const __m256i right = step_b ? _mm256_loadu_si256((const __m256i *)(b + i)) : first_b;
        _mm256_storeu_si256((__m256i *)(y + i), word(op, left, right));
    }
    if (i == n)
        return;
    const __m256i mask = _mm256_cmpgt_epi32(_mm256_set1_epi32((int)(n - i)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    const __m256i left = step_a ? _mm256_maskload_epi32(a + i, mask) : first_a;
    const __m256i right = step_b ? _mm256_maskload_epi32(b + i, mask) : first_b;
    _mm256_maskstore_epi32(y + i, mask, word(op, left, right));
}

static inline __attribute__((always_inline)) __m256i byte(enum byte_op op, __m256i a, __m256i b)
{
    const __m256i one = _mm256_set1_epi8(1);
    switch (op) {
    case OP_LARGER:
        return _mm256_max_epu8(a, b);
    case OP_SMALLER:
        return _mm256_min_epu8(a, b);
    case OP_LARGER_SIGNED:
        return _mm256_max_epi8(a, b);
    case OP_SMALLER_SIGNED:
        return _mm256_min_epi8(a, b);
    case OP_EQUAL:
        return _mm256_and_si256(_mm256_cmpeq_epi8(a, b), one);
    case OP_NOT_EQUAL:
        return _mm256_andnot_si256(_mm256_cmpeq_epi8(a, b), one);
    case OP_LESS: /* not b <= a */
        return _mm256_andnot_si256(_mm256_cmpeq_epi8(_mm256_min_epu8(a, b), b), one);
    case OP_LESS_EQUAL:
        return _mm256_and_si256(_mm256_cmpeq_epi8(_mm256_min_epu8(a, b), a), one);
    case OP_AND:
        return _mm256_min_epu8(_mm256_min_epu8(a, b), one);
    default:
        return _mm256_min_epu8(_mm256_or_si256(a, b), one);
    }
}

static inline __attribute__((always_inline)) void bytes(enum byte_op op, size_t n, const uint8_t *a, size_t step_a,
                                                        const uint8_t *b, size_t step_b, uint8_t *y)
{
    if (n == 0)
        return;
    __m256i left = _mm256_set1_epi8((char)*a), right = _mm256_set1_epi8((char)*b);
    size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        if (step_a)
            left = _mm256_loadu_si256((const __m256i *)(a + i));
        if (step_b)
            right = _mm256_loadu_si256((const __m256i *)(b + i));
        _mm256_storeu_si256((__m256i *)(y + i), byte(op, left, right));
    }
    if (i == n)
        return;
    uint8_t rest[32] = {0};
    if (step_a) {
        memcpy(rest, a + i, n - i);
        left = _mm256_loadu_si256((const __m256i *)rest);
    }
    if (step_b) {
        memcpy(rest, b + i, n - i);
        right = _mm256_loadu_si256((const __m256i *)rest);
    }
    _mm256_storeu_si256((__m256i *)rest, byte(op, left, right));
    memcpy(y + i, rest, n - i);
}

void nnf_add_s32_flat__avx2_8(size_t n, const int32_t *a, size_t step_a, const int32_t *b, size_t step_b, int32_t *y)
{
    words(OP_ADD, n, a, step_a, b, step_b, y);
}

void nnf_sub_s32_flat__avx2_8(size_t n, const int32_t *a, size_t step_a, const int32_t *b, size_t step_b, int32_t *y)
{
    words(OP_SUB, n, a, step_a, b, step_b, y);
}

void nnf_mul_s32_flat__avx2_8(size_t n, const int32_t *a, size_t step_a, const int32_t *b, size_t step_b, int32_t *y)
{
    words(OP_MUL, n, a, step_a, b, step_b, y);
}

void nnf_div_s32_flat__avx2_8(size_t n, const int32_t *a, size_t step_a, const int32_t *b, size_t step_b, int32_t *y)
{
    words(OP_DIV, n, a, step_a, b, step_b, y);
}

void nnf_max_s32_flat__avx2_8(size_t n, const int32_t *a, size_t step_a, const int32_t *b, size_t step_b, int32_t *y)
{
    words(OP_MAX, n, a, step_a, b, step_b, y);
}

void nnf_min_s32_flat__avx2_8(size_t n, const int32_t *a, size_t step_a, const int32_t *b, size_t step_b, int32_t *y)
{
    words(OP_MIN, n, a, step_a, b, step_b, y);
}

void nnf_max_qu8_flat__avx2_32(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y)
{
    bytes(OP_LARGER, n, a, step_a, b, step_b, y);
}

void nnf_min_qu8_flat__avx2_32(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y)
{
    bytes(OP_SMALLER, n, a, step_a, b, step_b, y);
}

void nnf_max_qs8_flat__avx2_32(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y)
{
    bytes(OP_LARGER_SIGNED, n, a, step_a, b, step_b, y);
}

void nnf_min_qs8_flat__avx2_32(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y)
{
    bytes(OP_SMALLER_SIGNED, n, a, step_a, b, step_b, y);
}

void nnf_equal_b8_flat__avx2_32(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y)
{
    bytes(OP_EQUAL, n, a, step_a, b, step_b, y);
}

void nnf_not_equal_b8_flat__avx2_32(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b,
                                    uint8_t *y)
{
    bytes(OP_NOT_EQUAL, n, a, step_a, b, step_b, y);
}

void nnf_less_b8_flat__avx2_32(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y)
{
    bytes(OP_LESS, n, a, step_a, b, step_b, y);
}

void nnf_less_equal_b8_flat__avx2_32(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b,
                                     uint8_t *y)
{
    bytes(OP_LESS_EQUAL, n, a, step_a, b, step_b, y);
}

void nnf_and_b8_flat__avx2_32(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y)
{
    bytes(OP_AND, n, a, step_a, b, step_b, y);
}

void nnf_or_b8_flat__avx2_32(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y)
{
    bytes(OP_OR, n, a, step_a, b, step_b, y);
}

/* Items of `item` bytes: `second` where the byte of the choice, stretched to an item, is 0. */
static inline __attribute__((always_inline)) void choose(int item, size_t n, const uint8_t *choice, const uint8_t *a,
                                                         const uint8_t *b, uint8_t *y)
{
    const __m256i zero = _mm256_setzero_si256();
    const size_t each = 32 / (size_t)item;
    size_t i = 0;
    for (; i + each <= n; i += each) {
        const __m256i first = _mm256_loadu_si256((const __m256i *)(a + (size_t)item * i));
        const __m256i second = _mm256_loadu_si256((const __m256i *)(b + (size_t)item * i));
        __m256i none;
        if (item == 1)
            none = _mm256_cmpeq_epi8(_mm256_loadu_si256((const __m256i *)(choice + i)), zero);
        else if (item == 2)
            none = _mm256_cmpeq_epi16(_mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(choice + i))), zero);
        else
            none = _mm256_cmpeq_epi32(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(choice + i))), zero);
        _mm256_storeu_si256((__m256i *)(y + (size_t)item * i), _mm256_blendv_epi8(first, second, none));
    }
    for (; i < n; i++)
        memcpy(y + (size_t)item * i, (choice[i] ? a : b) + (size_t)item * i, (size_t)item);
}

void nnf_select_qu8_flat__avx2_32(size_t n, const uint8_t *choice, const void *a, const void *b, void *y)
{
    choose(1, n, choice, a, b, y);
}

void nnf_select_f16_flat__avx2_16(size_t n, const uint8_t *choice, const void *a, const void *b, void *y)
{
    choose(2, n, choice, a, b, y);
}

void nnf_select_s32_flat__avx2_8(size_t n, const uint8_t *choice, const void *a, const void *b, void *y)
{
    choose(4, n, choice, a, b, y);
}
