#include "blockwise.h"

#include <immintrin.h>
#include <string.h>

#include "nnf/unroll.h"

INLINE __m512i four(const uint8_t *x)
{
    int32_t codes;
    memcpy(&codes, x, sizeof codes);
    return _mm512_set1_epi32(codes);
}

INLINE void run(const nnf_blockwise_tile *t, const int rows)
{
    const char *block = t->panel;
    const __m512i upper = _mm512_set1_epi8((char)0xF0);
    __m512 total[NNF_BLOCKWISE_M];
    __m512i excess[NNF_BLOCKWISE_M];
    NNF_UNROLL
    for (int i = 0; i < rows; i++)
        total[i] = _mm512_setzero_ps(), excess[i] = _mm512_set1_epi32(-16 * t->row[i].zero);
    const uint8_t *x = t->x;
    for (size_t b = 0; b < t->blocks; b++) {
        const __m512i weights = _mm512_load_si512(block);
        const __m512 scale = _mm512_load_ps(block + 64);
        __m512i sum[NNF_BLOCKWISE_M];
        NNF_UNROLL
        for (int i = 0; i < rows; i++)
            sum[i] = _mm512_mullo_epi32(weights, excess[i]);
        block += 128;
        for (size_t g = 0; g < t->groups; g++, block += 64, x += NNF_BLOCKWISE_GROUP) {
            /* Weights in the upper halves of bytes are 16 times as large, and so are the sums. */
            const __m512i both = _mm512_load_si512(block);
            const __m512i low = _mm512_and_si512(_mm512_slli_epi16(both, 4), upper), high = _mm512_and_si512(both, upper);
            NNF_UNROLL
            for (int i = 0; i < rows; i++) {
                const uint8_t *codes = x + (size_t)i * t->ldx;
                sum[i] = _mm512_dpbusd_epi32(_mm512_dpbusd_epi32(sum[i], four(codes), low), four(codes + 4), high);
            }
        }
        NNF_UNROLL
        for (int i = 0; i < rows; i++)
            total[i] = _mm512_add_ps(total[i], _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_srai_epi32(sum[i], 4)), scale));
    }
    const __mmask16 live = (__mmask16)((1u << t->columns) - 1);
    const __m512 bias = _mm512_maskz_loadu_ps(live, t->bias), lo = _mm512_set1_ps(t->lo), hi = _mm512_set1_ps(t->hi);
    NNF_UNROLL
    for (int i = 0; i < rows; i++) {
        const __m512 value = _mm512_add_ps(_mm512_mul_ps(_mm512_set1_ps(t->row[i].step), total[i]), bias);
        /* min/max return the second operand when either is NaN, so that a NaN stays one. */
        _mm512_mask_storeu_ps(t->y + (size_t)i * t->ldy, live, _mm512_min_ps(hi, _mm512_max_ps(lo, value)));
    }
}

void nnf_blockwise_qu8_qs8_f32_tile__avx512vnni_4x16k8(const nnf_blockwise_tile *t)
{
    switch (t->rows) {
    case 1: run(t, 1); break;
    case 2: run(t, 2); break;
    case 3: run(t, 3); break;
    default: run(t, 4); break;
    }
}
