/* Tiles by dot products of bytes, in vectors of 8 sums. Include only from files of levels that have them, behind
 * DOT(sum, codes, weights): the sum with four products more in each lane. */
#ifndef NNF_CONV2D_DOT_AVX2_H
#define NNF_CONV2D_DOT_AVX2_H

#include "conv2d.h"

#include <immintrin.h>
#include <string.h>

#include "conv2d_requantize_avx2.h"
#include "nnf/unroll.h"

enum {
    M = NNF_CONV2D_FINISH_M, /* rows that share a panel in the level 1 cache */
    N = 16,
    HIGH = 6  /* rows whose sums are in registers at once */
};

INLINE __m256i four(const uint8_t *a)
{
    int32_t codes;
    memcpy(&codes, a, 4);
    return _mm256_set1_epi32(codes);
}

INLINE void multiply(const uint8_t *a, size_t lda, size_t groups, const int32_t *panel, int32_t *sum, const int rows,
                     const int vectors)
{
    /* With few sums one per output would wait for its own additions: split the depth over several. */
    const int chains = rows == 1 ? 4 : rows <= 3 || vectors == 1 ? 2 : 1;
    const int8_t *w = nnf_conv2d_q8_weights(panel, (size_t)(8 * vectors));
    __m256i s[4][HIGH][2];
    NNF_UNROLL
    for (int i = 0; i < rows; i++) {
        NNF_UNROLL
        for (int v = 0; v < vectors; v++) {
            s[0][i][v] = ((const __m256i *)panel)[v];
            NNF_UNROLL
            for (int c = 1; c < chains; c++)
                s[c][i][v] = _mm256_setzero_si256();
        }
    }
    /* Three rows hang on one address, by multiples of lda. */
    const uint8_t *at[2] = {a, a + 3 * lda};
    size_t g = 0;
    for (; g + 4 <= groups; g += 4) {
        NNF_UNROLL
        for (int k = 0; k < 4; k++) {
            const __m256i low = _mm256_load_si256((const __m256i *)w);
            const __m256i high = _mm256_load_si256((const __m256i *)w + vectors - 1);
            NNF_UNROLL
            for (int i = 0; i < rows; i++) {
                const __m256i x = four(at[i / 3] + (size_t)(i % 3) * lda + 4 * k);
                __m256i *to = s[k % chains][i];
                to[0] = DOT(to[0], x, low);
                if (vectors == 2)
                    to[1] = DOT(to[1], x, high);
            }
            w += 32 * vectors;
        }
        at[0] += 16;
        at[1] += 16;
    }
    for (; g < groups; g++) {
        const __m256i low = _mm256_load_si256((const __m256i *)w);
        const __m256i high = _mm256_load_si256((const __m256i *)w + vectors - 1);
        NNF_UNROLL
        for (int i = 0; i < rows; i++) {
            const __m256i x = four(at[i / 3] + (size_t)(i % 3) * lda);
            s[0][i][0] = DOT(s[0][i][0], x, low);
            if (vectors == 2)
                s[0][i][1] = DOT(s[0][i][1], x, high);
        }
        w += 32 * vectors;
        at[0] += 4;
        at[1] += 4;
    }
    NNF_UNROLL
    for (int i = 0; i < rows; i++) {
        NNF_UNROLL
        for (int v = 0; v < vectors; v++) {
            NNF_UNROLL
            for (int c = 1; c < chains; c++)
                s[0][i][v] = _mm256_add_epi32(s[0][i][v], s[c][i][v]);
            ((__m256i *)(sum + i * N))[v] = s[0][i][v];
        }
    }
}

/* All rows of a panel, by tiles of about equal height. */
INLINE void run_panel(const nnf_conv2d_q8_tile *t, const int32_t *panel, void *work, int32_t *sum, const int vectors)
{
    (void)work;
    const size_t tiles = (t->rows + HIGH - 1) / HIGH, height = t->rows / tiles, taller = t->rows % tiles;
    for (size_t i = 0, tile = 0; tile < tiles; tile++) {
        const size_t rows = height + (tile < taller);
        const uint8_t *a = t->a + i * t->lda;
        int32_t *to = sum + i * N;
        switch (rows) {
        case 1: multiply(a, t->lda, t->groups, panel, to, 1, vectors); break;
        case 2: multiply(a, t->lda, t->groups, panel, to, 2, vectors); break;
        case 3: multiply(a, t->lda, t->groups, panel, to, 3, vectors); break;
        case 4: multiply(a, t->lda, t->groups, panel, to, 4, vectors); break;
        case 5: multiply(a, t->lda, t->groups, panel, to, 5, vectors); break;
        default: multiply(a, t->lda, t->groups, panel, to, 6, vectors); break;
        }
        i += rows;
    }
}

INLINE void multiply_tile(const nnf_conv2d_q8_tile *t, const int raw)
{
    _Alignas(64) int32_t sum[M * N];
    nnf_conv2d_each_panel(t, raw, NULL, sum, run_panel);
}

#endif
