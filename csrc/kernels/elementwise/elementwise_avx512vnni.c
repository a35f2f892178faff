/* ADD of 8-bit codes by one product for most of them.
 *
 * In real numbers the code is floor(z), z = A (a - zero_a) + B (b - zero_b) + zero_y + 1/2, and the standard's roundings
 * move z by less than 3 * 2^-shift_y. Here z is an integer with FRACTION binary digits behind the point, from factors
 * of three digits of 8 bits: where it lies further from a whole number than both errors together, floor(z) is the code.
 * The few vectors with another lane in them go through the exact arithmetic. */
#include "elementwise.h"

#include <immintrin.h>
#include <math.h>

#include "nnf/unroll.h"

enum {
    VECTOR = 64,
    FRACTION = 21,
    RARE = 9, /* in so many codes, as a power of two, at most one may lie close: else the exact kernel is the faster */
};

void nnf_add_qu8_flat__avx512_16(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y,
                                 const nnf_binary_q8 *p);
void nnf_add_qs8_flat__avx512_16(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y,
                                 const nnf_binary_q8 *p);

/* Factors of the even and odd codes of a vector, highest digit first; close: bits of z that are all 0 where it lies
 * close to a whole number. */
typedef struct plan {
    __m512i digit[3][2], start, close;
} plan;

/* A factor as digits of 8 bits with a sign, lowest first. */
static void digits_of(int32_t factor, int8_t digit[3])
{
    for (int i = 0; i < 3; i++) {
        digit[i] = (int8_t)factor;
        factor = (factor - digit[i]) / 256;
    }
}

static int plan_add(int is_signed, const nnf_binary_q8 *p, plan *to)
{
    const double one = 1 << FRACTION, raise = 1 << NNF_ADD_SHIFT;
    const double scale_y = ldexp(p->multiplier_y, -31 - p->shift_y) * raise;
    const double a = ldexp(p->multiplier_a, -31 - p->shift_a) * scale_y;
    const double b = ldexp(p->multiplier_b, -31 - p->shift_b) * scale_y;
    if (p->multiplier_y <= 0 || 255 * (fabs(a) + fabs(b)) + 256 >= ldexp(1, 31 - FRACTION))
        return 0;
    const int32_t factor_a = (int32_t)lrint(a * one), factor_b = (int32_t)lrint(b * one);
    /* Errors of the factors, at codes around 128, of the standard, and of what is no whole number below. */
    const double off_a = a - factor_a / one, off_b = b - factor_b / one;
    const double error = 128 * (fabs(off_a) + fabs(off_b)) + ldexp(3, -p->shift_y) + 2 / one;
    int bits = 0;
    while (ldexp(1, bits) < 2 * error * one)
        bits++;
    if (bits > FRACTION - RARE)
        return 0;
    /* Codes as unsigned bytes; the zone around a whole number becomes the one above it. */
    const double zero_a = p->zero_a + (is_signed ? 128 : 0), zero_b = p->zero_b + (is_signed ? 128 : 0);
    const double start = p->zero_y + 0.5 - a * zero_a - b * zero_b + 128 * (off_a + off_b) + ldexp(1, bits - 1) / one;
    to->start = _mm512_set1_epi32((int32_t)lrint(start * one));
    to->close = _mm512_set1_epi32((1 << FRACTION) - (1 << bits));
    int8_t of_a[3], of_b[3];
    digits_of(factor_a, of_a);
    digits_of(factor_b, of_b);
    for (int i = 0; i < 3; i++) {
        const int32_t pair = (uint8_t)of_a[2 - i] | (uint8_t)of_b[2 - i] << 8;
        to->digit[i][0] = _mm512_set1_epi32(pair);
        to->digit[i][1] = _mm512_slli_epi32(to->digit[i][0], 16);
    }
    return 1;
}

/* z of every second pair of codes. */
INLINE __m512i products(const plan *p, __m512i pairs, const int odd)
{
    const __m512i high = _mm512_dpbusd_epi32(_mm512_setzero_si512(), pairs, p->digit[0][odd]);
    const __m512i middle = _mm512_dpbusd_epi32(_mm512_slli_epi32(high, 8), pairs, p->digit[1][odd]);
    return _mm512_dpbusd_epi32(_mm512_add_epi32(_mm512_slli_epi32(middle, 8), p->start), pairs, p->digit[2][odd]);
}

/* Codes in 16 bits; `close` gathers where one is not sure. */
INLINE __m512i codes(const plan *p, __m512i pairs, __mmask16 *close)
{
    const __m512i even = products(p, pairs, 0), odd = products(p, pairs, 1);
    *close |= _mm512_testn_epi32_mask(even, p->close) | _mm512_testn_epi32_mask(odd, p->close);
    return _mm512_mask_blend_epi16(0xAAAAAAAA, _mm512_srai_epi32(even, FRACTION),
                                   _mm512_srai_epi32(odd, FRACTION - 16));
}

INLINE void add(const int is_signed, size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b,
                uint8_t *y, const nnf_binary_q8 *c, nnf_binary_q8_flat_fn exact)
{
    plan p;
    size_t i = 0, unsure = 0;
    if (n >= 2 * VECTOR && step_a && step_b && plan_add(is_signed, c, &p)) {
        const __m512i flip = _mm512_set1_epi8(is_signed ? -128 : 0);
        const __m512i lo = _mm512_set1_epi8((char)c->lo), hi = _mm512_set1_epi8((char)c->hi);
        /* Operands whose sums are often whole numbers, as of equal scales, are for the exact kernel. */
        for (; i + VECTOR <= n && unsure * VECTOR * 8 <= i + 8 * VECTOR; i += VECTOR) {
            const __m512i x = _mm512_xor_si512(_mm512_loadu_si512(a + i), flip);
            const __m512i z = _mm512_xor_si512(_mm512_loadu_si512(b + i), flip);
            __mmask16 close = 0;
            const __m512i low = codes(&p, _mm512_unpacklo_epi8(x, z), &close);
            const __m512i high = codes(&p, _mm512_unpackhi_epi8(x, z), &close);
            if (close) {
                exact(VECTOR, a + i, 1, b + i, 1, y + i, c);
                unsure++;
            } else if (is_signed) {
                const __m512i bytes = _mm512_packs_epi16(low, high);
                _mm512_storeu_si512(y + i, _mm512_min_epi8(_mm512_max_epi8(bytes, lo), hi));
            } else {
                const __m512i bytes = _mm512_packus_epi16(low, high);
                _mm512_storeu_si512(y + i, _mm512_min_epu8(_mm512_max_epu8(bytes, lo), hi));
            }
        }
    }
    exact(n - i, a + i * step_a, step_a, b + i * step_b, step_b, y + i, c);
}

void nnf_add_qu8_flat__avx512vnni_64(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b,
                                     uint8_t *y, const nnf_binary_q8 *p)
{
    add(0, n, a, step_a, b, step_b, y, p, nnf_add_qu8_flat__avx512_16);
}

void nnf_add_qs8_flat__avx512vnni_64(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b,
                                     uint8_t *y, const nnf_binary_q8 *p)
{
    add(1, n, a, step_a, b, step_b, y, p, nnf_add_qs8_flat__avx512_16);
}
