#include "activation.h"

#include "nnf/simd/f64_avx512.h"

#define KERNEL(op) op##__avx512_16

#include "activation/activation_simd.h"

void nnf_lookup_qu8_flat__avx512_64(size_t n, const uint8_t *x, uint8_t *y, const uint8_t table[256])
{
    /* One shuffle for each row of 16 bytes of the table, kept where the high half of the code names the row. */
    __m512i rows[16];
    for (int r = 0; r < 16; r++)
        rows[r] = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(table + 16 * r)));
    const __m512i nibble = _mm512_set1_epi8(15);
    for (size_t i = 0; i < n; i += 64) {
        const __mmask64 live = n - i >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << (n - i)) - 1;
        const __m512i codes = _mm512_maskz_loadu_epi8(live, x + i);
        const __m512i low = _mm512_and_si512(codes, nibble);
        const __m512i high = _mm512_and_si512(_mm512_srli_epi16(codes, 4), nibble);
        __m512i value = _mm512_shuffle_epi8(rows[0], low);
        for (int r = 1; r < 16; r++)
            value = _mm512_mask_shuffle_epi8(value, _mm512_cmpeq_epi8_mask(high, _mm512_set1_epi8((char)r)), rows[r],
                                             low);
        _mm512_mask_storeu_epi8(y + i, live, value);
    }
}
