#include "blockwise.h"

#include <immintrin.h>
#include <string.h>

#include "nnf/partial_avx2.h"
#include "nnf/unroll.h"

/* Groups whose products of codes with weights of 4 bits, in pairs, add up within 16 bits: 2 * 2 * 4 * 255 * 8 < 32768. */
enum { NARROW = 4, HALVES = 2 };

INLINE __m256i four(const uint8_t *x)
{
    int32_t codes;
    memcpy(&codes, x, sizeof codes);
    return _mm256_set1_epi32(codes);
}

/* The numbers from -8 to 7 of the lower halves of bytes. */
INLINE __m256i numbers(__m256i bytes)
{
    const __m256i of_half = _mm256_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1,
                                             0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1);
    return _mm256_shuffle_epi8(of_half, _mm256_and_si256(bytes, _mm256_set1_epi8(15)));
}

INLINE void run(const nnf_blockwise_tile *t, const int rows)
{
    const char *block = t->panel;
    const __m256i ones = _mm256_set1_epi16(1);
    __m256 total[NNF_BLOCKWISE_M][HALVES];
    NNF_UNROLL
    for (int i = 0; i < rows; i++)
        total[i][0] = total[i][1] = _mm256_setzero_ps();
    const uint8_t *x = t->x;
    for (size_t b = 0; b < t->blocks; b++) {
        const char *header = block;
        __m256i sum[NNF_BLOCKWISE_M][HALVES];
        NNF_UNROLL
        for (int i = 0; i < rows; i++) {
            NNF_UNROLL
            for (int h = 0; h < HALVES; h++)
                sum[i][h] = _mm256_mullo_epi32(_mm256_load_si256((const __m256i *)header + h),
                                               _mm256_set1_epi32(-t->row[i].zero));
        }
        block += 128;
        for (size_t g = 0; g < t->groups;) {
            const size_t stop = t->groups - g < NARROW ? t->groups : g + NARROW;
            __m256i pairs[NNF_BLOCKWISE_M][HALVES];
            NNF_UNROLL
            for (int i = 0; i < rows; i++)
                pairs[i][0] = pairs[i][1] = _mm256_setzero_si256();
            for (; g < stop; g++, block += 64, x += NNF_BLOCKWISE_GROUP) {
                NNF_UNROLL
                for (int h = 0; h < HALVES; h++) {
                    const __m256i both = _mm256_load_si256((const __m256i *)block + h);
                    const __m256i low = numbers(both), high = numbers(_mm256_srli_epi16(both, 4));
                    NNF_UNROLL
                    for (int i = 0; i < rows; i++) {
                        const uint8_t *codes = x + (size_t)i * t->ldx;
                        pairs[i][h] = _mm256_add_epi16(pairs[i][h], _mm256_add_epi16(
                            _mm256_maddubs_epi16(four(codes), low), _mm256_maddubs_epi16(four(codes + 4), high)));
                    }
                }
            }
            NNF_UNROLL
            for (int i = 0; i < rows; i++) {
                NNF_UNROLL
                for (int h = 0; h < HALVES; h++)
                    sum[i][h] = _mm256_add_epi32(sum[i][h], _mm256_madd_epi16(pairs[i][h], ones));
            }
        }
        NNF_UNROLL
        for (int i = 0; i < rows; i++) {
            NNF_UNROLL
            for (int h = 0; h < HALVES; h++)
                total[i][h] = _mm256_add_ps(total[i][h], _mm256_mul_ps(_mm256_cvtepi32_ps(sum[i][h]),
                                                                       _mm256_load_ps((const float *)header + 16 + 8 * h)));
        }
    }
    const __m256 lo = _mm256_set1_ps(t->lo), hi = _mm256_set1_ps(t->hi);
    NNF_UNROLL
    for (int h = 0; h < HALVES; h++) {
        const ptrdiff_t live = (ptrdiff_t)t->columns - 8 * h;
        const __m256 bias = _mm256_maskload_ps(t->bias + 8 * h, nnf_lanes_avx2(live));
        NNF_UNROLL
        for (int i = 0; i < rows; i++) {
            const __m256 value = _mm256_add_ps(_mm256_mul_ps(_mm256_set1_ps(t->row[i].step), total[i][h]), bias);
            /* min/max return the second operand when either is NaN, so that a NaN stays one. */
            nnf_store_f32_avx2(t->y + (size_t)i * t->ldy + 8 * h, live, _mm256_min_ps(hi, _mm256_max_ps(lo, value)));
        }
    }
}

void nnf_blockwise_qu8_qs8_f32_tile__avx2_4x16k8(const nnf_blockwise_tile *t)
{
    switch (t->rows) {
    case 1: run(t, 1); break;
    case 2: run(t, 2); break;
    case 3: run(t, 3); break;
    default: run(t, 4); break;
    }
}
