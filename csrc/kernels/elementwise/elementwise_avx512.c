#include "elementwise.h"

#include <immintrin.h>

#include "nnf/requantize_avx512.h"
#include "nnf/simd/f32_avx512.h"

/* a where either is NaN */
static inline V first_or_larger(V a, V b) { return _mm512_max_ps(b, a); }
static inline V first_or_smaller(V a, V b) { return _mm512_min_ps(b, a); }

static inline V sloped(V a, V b)
{
    return _mm512_mask_mov_ps(_mm512_mul_ps(a, b), _mm512_cmp_ps_mask(a, _mm512_setzero_ps(), _CMP_GE_OQ), a);
}

#include "elementwise/elementwise_f32_simd.h"

/* Sixteen codes less the zero point; a repeated operand gives its first one. */
INLINE __m512i load_codes(int is_signed, const uint8_t *x, size_t i, size_t step,
                                                          __mmask16 live, __m512i zero)
{
    const __m128i bytes = step ? _mm_maskz_loadu_epi8(live, x + i) : _mm_set1_epi8((char)*x);
    return _mm512_sub_epi32(is_signed ? _mm512_cvtepi8_epi32(bytes) : _mm512_cvtepu8_epi32(bytes), zero);
}

INLINE __m512i scale(__m512i value, const nnf_binary_q8 *p)
{
    return nnf_mbqm_avx512(value, _mm512_set1_epi32(p->multiplier_y), _mm512_setzero_si512(),
                           _mm512_set1_epi32(p->shift_y));
}

/* Clamped before the zero point is added: a multiplier above 1 reaches the ends of 32 bits. */
INLINE void store_codes(uint8_t *y, __mmask16 live, __m512i value,
                                                        const nnf_binary_q8 *p)
{
    value = _mm512_max_epi32(value, _mm512_set1_epi32(p->lo - p->zero_y));
    value = _mm512_min_epi32(value, _mm512_set1_epi32(p->hi - p->zero_y));
    value = _mm512_add_epi32(value, _mm512_set1_epi32(p->zero_y));
    _mm_mask_storeu_epi8(y, live, _mm512_cvtepi32_epi8(value));
}

/* An operand of ADD whose multiplier m splits into 16-bit halves, m = high 2^16 + low. Raised by 20 bits it is
 *   (x 2^20 m + 2^30) >> 31 = (x high << 5) + ((x low + 2^10) >> 11), exactly, as x high 2^16 is a multiple of 2^11
 * and the operand of the larger scale just x << 19 (m = 2^30, no shift). */
typedef struct operand {
    const uint8_t *x;
    size_t step;
    __m512i zero, high, low, half;
    __m128i shift;
    int plain, rounded;
} operand;

/* Whether the halves fit; fills in the operand. */
static int split(const uint8_t *x, size_t step, int32_t zero, int32_t multiplier, int32_t shift, operand *o)
{
    const int32_t low = (int16_t)(multiplier & 0xFFFF), high = (int32_t)(((int64_t)multiplier - low) / 65536);
    *o = (operand){.x = x, .step = step, .zero = _mm512_set1_epi32(zero), .high = _mm512_set1_epi32(high & 0xFFFF),
                   .low = _mm512_set1_epi32(low & 0xFFFF), .half = _mm512_set1_epi32(shift ? 1 << (shift - 1) : 0),
                   .shift = _mm_cvtsi32_si128(shift), .plain = multiplier == 1 << 30 && shift == 0,
                   .rounded = shift != 0};
    return high >= -32768 && high <= 32767 && shift <= 28;
}

INLINE __m512i raised(int is_signed, const operand *o, size_t i)
{
    const __m512i x = load_codes(is_signed, o->x, i, o->step, 0xFFFF, o->zero);
    if (o->plain)
        return _mm512_slli_epi32(x, NNF_ADD_SHIFT - 1);
    const __m512i low = _mm512_add_epi32(_mm512_madd_epi16(x, o->low), _mm512_set1_epi32(1 << 10));
    const __m512i v =
        _mm512_add_epi32(_mm512_slli_epi32(_mm512_madd_epi16(x, o->high), 5), _mm512_srai_epi32(low, 11));
    if (!o->rounded)
        return v;
    return _mm512_sra_epi32(_mm512_add_epi32(_mm512_add_epi32(v, o->half), _mm512_srai_epi32(v, 31)), o->shift);
}

/* As many whole vectors of 64 codes as there are, where the constants are those of a usual ADD; returns how many codes
 * that is. The result's roundings, zero point and shift are one sum (conv2d_requantize_avx512.h):
 *   code = (2 v m + 2^31 + (2^(shift - 1) - (v < 0)) 2^32 + zero_y 2^(32 + shift)) >> (32 + shift), |v| < 2^29 */
INLINE size_t add_q8_whole(int is_signed, size_t n, const uint8_t *a,
                                                                 size_t step_a, const uint8_t *b, size_t step_b,
                                                                 uint8_t *y, const nnf_binary_q8 *p)
{
    operand first_operand, second_operand;
    if (p->multiplier_y < 0 || p->shift_y < 1 || p->shift_y > 20 ||
        !split(a, step_a, p->zero_a, p->multiplier_a, p->shift_a, &first_operand) ||
        !split(b, step_b, p->zero_b, p->multiplier_b, p->shift_b, &second_operand))
        return 0;
    const __m512i multiplier = _mm512_set1_epi32(p->multiplier_y);
    const int64_t high = (INT64_C(1) << (p->shift_y - 1)) + p->zero_y * (INT64_C(1) << p->shift_y);
    const __m512i terms = _mm512_set1_epi64(high * (INT64_C(1) << 32) + (INT64_C(1) << 31));
    const __m128i shift = _mm_cvtsi32_si128(p->shift_y);
    const __m512i lo = _mm512_set1_epi8((char)p->lo), hi = _mm512_set1_epi8((char)p->hi);
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    size_t i = 0;
    for (; i + 64 <= n; i += 64) {
        __m512i code[4];
#pragma GCC unroll 4
        for (int k = 0; k < 4; k++) {
            const size_t at = i + 16 * (size_t)k;
            const __m512i sum = _mm512_add_epi32(raised(is_signed, &first_operand, at),
                                                 raised(is_signed, &second_operand, at));
            const __m512i twice = _mm512_add_epi32(sum, sum);
            const __m512i even = _mm512_add_epi64(_mm512_mul_epi32(twice, multiplier), terms);
            const __m512i odd =
                _mm512_add_epi64(_mm512_mul_epi32(_mm512_srli_epi64(twice, 32), multiplier), terms);
            const __m512i both = _mm512_mask_shuffle_epi32(odd, 0x5555, even, _MM_PERM_DDBB);
            code[k] = _mm512_sra_epi32(_mm512_add_epi32(both, _mm512_srai_epi32(sum, 31)), shift);
        }
        const __m512i low = _mm512_packs_epi32(code[0], code[1]), upper = _mm512_packs_epi32(code[2], code[3]);
        __m512i bytes;
        if (is_signed)
            bytes = _mm512_min_epi8(_mm512_max_epi8(_mm512_packs_epi16(low, upper), lo), hi);
        else
            bytes = _mm512_min_epu8(_mm512_max_epu8(_mm512_packus_epi16(low, upper), lo), hi);
        _mm512_storeu_si512(y + i, _mm512_permutexvar_epi32(order, bytes));
    }
    return i;
}

INLINE void add_q8(int is_signed, size_t n, const uint8_t *a, size_t step_a,
                                                         const uint8_t *b, size_t step_b, uint8_t *y,
                                                         const nnf_binary_q8 *p)
{
    const __m512i zero_a = _mm512_set1_epi32(p->zero_a), zero_b = _mm512_set1_epi32(p->zero_b);
    const __m512i multiplier_a = _mm512_set1_epi32(p->multiplier_a), multiplier_b = _mm512_set1_epi32(p->multiplier_b);
    const __m512i shift_a = _mm512_set1_epi32(p->shift_a), shift_b = _mm512_set1_epi32(p->shift_b);
    const __m512i raise = _mm512_set1_epi32(NNF_ADD_SHIFT);
    for (size_t i = add_q8_whole(is_signed, n, a, step_a, b, step_b, y, p); i < n; i += 16) {
        const __mmask16 live = first_lanes(n - i);
        const __m512i scaled_a = nnf_mbqm_avx512(load_codes(is_signed, a, i, step_a, live, zero_a), multiplier_a, raise,
                                                 shift_a);
        const __m512i scaled_b = nnf_mbqm_avx512(load_codes(is_signed, b, i, step_b, live, zero_b), multiplier_b, raise,
                                                 shift_b);
        store_codes(y + i, live, scale(_mm512_add_epi32(scaled_a, scaled_b), p), p);
    }
}

INLINE void mul_q8(int is_signed, size_t n, const uint8_t *a, size_t step_a,
                                                         const uint8_t *b, size_t step_b, uint8_t *y,
                                                         const nnf_binary_q8 *p)
{
    const __m512i zero_a = _mm512_set1_epi32(p->zero_a), zero_b = _mm512_set1_epi32(p->zero_b);
    for (size_t i = 0; i < n; i += 16) {
        const __mmask16 live = first_lanes(n - i);
        const __m512i product = _mm512_mullo_epi32(load_codes(is_signed, a, i, step_a, live, zero_a),
                                                   load_codes(is_signed, b, i, step_b, live, zero_b));
        store_codes(y + i, live, scale(product, p), p);
    }
}

INLINE void prelu_q8(int is_signed, size_t n, const uint8_t *a, size_t step_a,
                                                           const uint8_t *b, size_t step_b, uint8_t *y,
                                                           const nnf_binary_q8 *p)
{
    const __m512i zero_a = _mm512_set1_epi32(p->zero_a), zero_b = _mm512_set1_epi32(p->zero_b);
    const __m512i multipliers[2] = {_mm512_set1_epi32(p->multiplier_a), _mm512_set1_epi32(p->multiplier_y)};
    const __m512i lefts[2] = {_mm512_set1_epi32(p->left_a), _mm512_set1_epi32(p->left_y)};
    const __m512i rights[2] = {_mm512_set1_epi32(p->shift_a), _mm512_set1_epi32(p->shift_y)};
    for (size_t i = 0; i < n; i += 16) {
        const __mmask16 live = first_lanes(n - i);
        const __m512i value = load_codes(is_signed, a, i, step_a, live, zero_a);
        const __mmask16 below = _mm512_movepi32_mask(value);
        const __m512i slope = load_codes(is_signed, b, i, step_b, live, zero_b);
        store_codes(y + i, live,
              nnf_mbqm_avx512(_mm512_mask_mullo_epi32(value, below, value, slope),
                              _mm512_mask_mov_epi32(multipliers[0], below, multipliers[1]),
                              _mm512_mask_mov_epi32(lefts[0], below, lefts[1]),
                              _mm512_mask_mov_epi32(rights[0], below, rights[1])), p);
    }
}

void nnf_add_f32_flat__avx512_16(size_t n, const float *a, size_t step_a, const float *b, size_t step_b, float *y,
                                 float lo, float hi)
{
    binary(OP_ADD, n, a, step_a, b, step_b, y, lo, hi);
}

void nnf_sub_f32_flat__avx512_16(size_t n, const float *a, size_t step_a, const float *b, size_t step_b, float *y,
                                 float lo, float hi)
{
    binary(OP_SUB, n, a, step_a, b, step_b, y, lo, hi);
}

void nnf_mul_f32_flat__avx512_16(size_t n, const float *a, size_t step_a, const float *b, size_t step_b, float *y,
                                 float lo, float hi)
{
    binary(OP_MUL, n, a, step_a, b, step_b, y, lo, hi);
}

void nnf_div_f32_flat__avx512_16(size_t n, const float *a, size_t step_a, const float *b, size_t step_b, float *y,
                                 float lo, float hi)
{
    binary(OP_DIV, n, a, step_a, b, step_b, y, lo, hi);
}

void nnf_max_f32_flat__avx512_16(size_t n, const float *a, size_t step_a, const float *b, size_t step_b, float *y,
                                 float lo, float hi)
{
    binary(OP_MAX, n, a, step_a, b, step_b, y, lo, hi);
}

void nnf_min_f32_flat__avx512_16(size_t n, const float *a, size_t step_a, const float *b, size_t step_b, float *y,
                                 float lo, float hi)
{
    binary(OP_MIN, n, a, step_a, b, step_b, y, lo, hi);
}

void nnf_prelu_f32_flat__avx512_16(size_t n, const float *a, size_t step_a, const float *b, size_t step_b, float *y,
                                   float lo, float hi)
{
    binary(OP_PRELU, n, a, step_a, b, step_b, y, lo, hi);
}

void nnf_add_qu8_flat__avx512_16(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y,
                                 const nnf_binary_q8 *p)
{
    add_q8(0, n, a, step_a, b, step_b, y, p);
}

void nnf_add_qs8_flat__avx512_16(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y,
                                 const nnf_binary_q8 *p)
{
    add_q8(1, n, a, step_a, b, step_b, y, p);
}

void nnf_mul_qu8_flat__avx512_16(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y,
                                 const nnf_binary_q8 *p)
{
    mul_q8(0, n, a, step_a, b, step_b, y, p);
}

void nnf_mul_qs8_flat__avx512_16(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y,
                                 const nnf_binary_q8 *p)
{
    mul_q8(1, n, a, step_a, b, step_b, y, p);
}

void nnf_prelu_qu8_flat__avx512_16(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b,
                                   uint8_t *y, const nnf_binary_q8 *p)
{
    prelu_q8(0, n, a, step_a, b, step_b, y, p);
}

void nnf_prelu_qs8_flat__avx512_16(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b,
                                   uint8_t *y, const nnf_binary_q8 *p)
{
    prelu_q8(1, n, a, step_a, b, step_b, y, p);
}
