#include "elementwise.h"

#include "nnf/simd/u8_avx512.h"

#include "elementwise/elementwise_add.h"
#include "nnf/unroll.h"

#define KERNEL_ADD(op) op##__avx512vnni_64

void nnf_add_qu8_flat__avx512_16(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y,
                                 const nnf_binary_q8 *p);
void nnf_add_qs8_flat__avx512_16(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y,
                                 const nnf_binary_q8 *p);

#define exact_add_qu8 nnf_add_qu8_flat__avx512_16
#define exact_add_qs8 nnf_add_qs8_flat__avx512_16

/* Factors in three digits of 8 bits, of the even and odd codes of a vector, highest digit first. */
typedef struct T {
    __m512i digit[3][2], start, fraction, zone;
} T;

/* A factor as digits of 8 bits with a sign, lowest first. */
static void digits_of(int32_t factor, int8_t digit[3])
{
    for (int i = 0; i < 3; i++) {
        digit[i] = (int8_t)factor;
        factor = (factor - digit[i]) / 256;
    }
}

static T factors_of(const nnf_add_plan *p)
{
    T to = {.start = _mm512_set1_epi32(p->start), .fraction = _mm512_set1_epi32((1 << FRACTION) - 1),
            .zone = _mm512_set1_epi32(p->zone)};
    int8_t of_a[3], of_b[3];
    digits_of(p->factor_a, of_a);
    digits_of(p->factor_b, of_b);
    for (int i = 0; i < 3; i++) {
        const int32_t pair = (uint8_t)of_a[2 - i] | (uint8_t)of_b[2 - i] << 8;
        to.digit[i][0] = _mm512_set1_epi32(pair);
        to.digit[i][1] = _mm512_slli_epi32(to.digit[i][0], 16);
    }
    return to;
}

/* z of every second pair of codes. */
INLINE __m512i products(const T *p, __m512i pairs, const int odd)
{
    const __m512i high = _mm512_dpbusd_epi32(_mm512_setzero_si512(), pairs, p->digit[0][odd]);
    const __m512i middle = _mm512_dpbusd_epi32(_mm512_slli_epi32(high, 8), pairs, p->digit[1][odd]);
    return _mm512_dpbusd_epi32(_mm512_add_epi32(_mm512_slli_epi32(middle, 8), p->start), pairs, p->digit[2][odd]);
}

/* Codes in 16 bits. */
INLINE __m512i codes(const T *p, __m512i pairs, int *close)
{
    const __m512i even = products(p, pairs, 0), odd = products(p, pairs, 1);
    const __m512i nearest = _mm512_min_epi32(_mm512_and_si512(even, p->fraction), _mm512_and_si512(odd, p->fraction));
    *close |= _mm512_cmplt_epi32_mask(nearest, p->zone);
    return _mm512_mask_blend_epi16(0xAAAAAAAA, _mm512_srai_epi32(even, FRACTION),
                                   _mm512_srai_epi32(odd, FRACTION - 16));
}

INLINE B sums(const T *p, const bool is_signed, B a, B b, int *close)
{
    const __m512i low = codes(p, _mm512_unpacklo_epi8(a, b), close);
    const __m512i high = codes(p, _mm512_unpackhi_epi8(a, b), close);
    return is_signed ? _mm512_packs_epi16(low, high) : _mm512_packus_epi16(low, high);
}

#include "elementwise/elementwise_add_simd.h"
