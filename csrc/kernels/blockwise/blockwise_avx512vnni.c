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

/* step: groups at once, which divides those of a block. */
INLINE void run(const nnf_blockwise_tile *t, const int rows, const int step)
{
    const char *block = t->panel;
    const __m512i lower = _mm512_set1_epi8(15), upper = _mm512_set1_epi8((char)0xF0), eight = _mm512_set1_epi8(8);
    __m512 total[NNF_BLOCKWISE_M];
    __m512i excess[NNF_BLOCKWISE_M];
    NNF_UNROLL
    for (int i = 0; i < rows; i++)
        total[i] = _mm512_setzero_ps(), excess[i] = _mm512_set1_epi32(-t->row[i].zero);
    const uint8_t *x = t->x;
    for (size_t b = 0; b < t->blocks; b++) {
        const __m512i weights = _mm512_load_si512(block);
        const __m512 scale = _mm512_load_ps(block + 64);
        __m512i sum[NNF_BLOCKWISE_M], high[NNF_BLOCKWISE_M];
        NNF_UNROLL
        for (int i = 0; i < rows; i++) {
            sum[i] = _mm512_sub_epi32(_mm512_mullo_epi32(weights, excess[i]),
                                      _mm512_set1_epi32(t->firsts[(size_t)i * t->blocks + b]));
            high[i] = _mm512_setzero_si512();
        }
        block += 128;
        for (size_t g = 0; g < t->groups; g += (size_t)step) {
            NNF_UNROLL
            for (int k = 0; k < step; k++, block += 64, x += NNF_BLOCKWISE_GROUP) {
                /* No shifts: weights of lower halves are 8 larger, which `firsts` makes up for, those of upper ones 16
                 * times as large, and so are their sums. */
                const __m512i both = _mm512_load_si512(block), top = _mm512_and_si512(both, upper);
                const __m512i low = _mm512_ternarylogic_epi32(both, lower, eight, 0x6A);
                NNF_UNROLL
                for (int i = 0; i < rows; i++) {
                    const uint8_t *codes = x + (size_t)i * t->ldx;
                    sum[i] = _mm512_dpbusd_epi32(sum[i], four(codes), low);
                    high[i] = _mm512_dpbusd_epi32(high[i], four(codes + 4), top);
                }
            }
        }
        NNF_UNROLL
        for (int i = 0; i < rows; i++) {
            const __m512 whole = _mm512_cvtepi32_ps(_mm512_add_epi32(sum[i], _mm512_srai_epi32(high[i], 4)));
            total[i] = _mm512_add_ps(total[i], _mm512_mul_ps(whole, scale));
        }
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

INLINE void run_rows(const nnf_blockwise_tile *t, const int rows)
{
    if (t->groups % 4 == 0)
        run(t, rows, 4);
    else
        run(t, rows, 1);
}

void nnf_blockwise_qu8_qs8_f32_tile__avx512vnni_4x16k8(const nnf_blockwise_tile *t)
{
    switch (t->rows) {
    case 1: run_rows(t, 1); break;
    case 2: run_rows(t, 2); break;
    case 3: run_rows(t, 3); break;
    default: run_rows(t, 4); break;
    }
}
