/* Tiles by dot products of bytes, in vectors of 8 sums. Include only from files of levels that have them, behind
 * DOT(sum, codes, weights): the sum with four products more in each lane. */
#ifndef NNF_CONV2D_DOT_AVX2_H
#define NNF_CONV2D_DOT_AVX2_H

#include "conv2d.h"

#include <immintrin.h>
#include <string.h>

#include "conv2d_requantize_avx2.h"
#include "nnf/partial_avx2.h"
#include "nnf/simd/codes_f64_avx2.h"
#include "nnf/simd/s32_avx2.h"
#include "nnf/unroll.h"

#define STORE_FIRST(y, count, value) nnf_store_f32_avx2(y, (ptrdiff_t)(count), value)

#include "conv2d_values_simd.h"

enum {
    SHARING = NNF_CONV2D_FINISH_M, /* rows that share a panel in the level 1 cache */
    WIDTH = NNF_CONV2D_FINISH_N,
    HIGH = 6  /* rows whose sums are in registers at once */
};

/* What a panel gives. */
enum { TO_SUMS, TO_VALUES, TO_CODES_ONCE };

/* Columns of a panel, the first one `first`; sum: where the sums go, [rows][WIDTH], if these are what it gives. */
typedef struct panel_sums {
    const int32_t *panel;
    size_t first, columns;
    int32_t *sum;
} panel_sums;

INLINE __m256i four(const uint8_t *a)
{
    int32_t codes;
    memcpy(&codes, a, 4);
    return _mm256_set1_epi32(codes);
}

INLINE void multiply(const nnf_conv2d_q8_tile *t, const panel_sums *p, size_t row, const int rows, const int vectors,
                     const int what)
{
    /* With few sums one per output would wait for its own additions: split the depth over several. */
    const int chains = rows == 1 ? 4 : rows <= 3 || vectors == 1 ? 2 : 1;
    const size_t lda = t->lda, groups = t->groups;
    const int32_t *panel = p->panel;
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
    const uint8_t *at[2] = {t->a + row * lda, t->a + (row + 3) * lda};
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
            if (what == TO_SUMS)
                ((__m256i *)(p->sum + (row + (size_t)i) * WIDTH))[v] = s[0][i][v];
        }
    }
    if (what == TO_VALUES)
        nnf_conv2d_store_values(t, row, p->first, p->columns, rows, vectors, s[0]);
    if (what == TO_CODES_ONCE)
        nnf_conv2d_store_once(t, row, p->first, p->columns, rows, vectors, s[0]);
}

/* All rows of a panel, by tiles of about equal height. */
INLINE void multiply_panel(const nnf_conv2d_q8_tile *t, const panel_sums *p, const int vectors, const int what)
{
    const size_t tiles = (t->rows + HIGH - 1) / HIGH, height = t->rows / tiles, taller = t->rows % tiles;
    for (size_t i = 0, tile = 0; tile < tiles; tile++) {
        const size_t rows = height + (tile < taller);
        switch (rows) {
        case 1: multiply(t, p, i, 1, vectors, what); break;
        case 2: multiply(t, p, i, 2, vectors, what); break;
        case 3: multiply(t, p, i, 3, vectors, what); break;
        case 4: multiply(t, p, i, 4, vectors, what); break;
        case 5: multiply(t, p, i, 5, vectors, what); break;
        default: multiply(t, p, i, 6, vectors, what); break;
        }
        i += rows;
    }
}

INLINE void sum_panel(const nnf_conv2d_q8_tile *t, const int32_t *panel, void *work, int32_t *sum, const int vectors)
{
    (void)work;
    const panel_sums p = {.panel = panel, .sum = sum};
    multiply_panel(t, &p, vectors, TO_SUMS);
}

INLINE void multiply_tile(const nnf_conv2d_q8_tile *t, const int raw)
{
    _Alignas(64) int32_t sum[SHARING * WIDTH];
    nnf_conv2d_each_panel(t, raw, NULL, sum, sum_panel);
}

/* To values, or to codes that are rounded once. */
INLINE void multiply_to(const nnf_conv2d_q8_tile *t, const int what)
{
    panel_sums p = {.panel = t->w};
    for (; p.first < t->columns; p.first += WIDTH, p.panel += nnf_conv2d_q8_panel(WIDTH, t->groups) / 4) {
        p.columns = t->columns - p.first < WIDTH ? t->columns - p.first : WIDTH;
        if (nnf_conv2d_width(p.columns, WIDTH) == WIDTH)
            multiply_panel(t, &p, 2, what);
        else
            multiply_panel(t, &p, 1, what);
    }
}

#endif
