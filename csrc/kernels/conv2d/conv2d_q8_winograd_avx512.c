#include "conv2d_q8_winograd.h"

#include <immintrin.h>

#include "conv2d_pairs_avx512.h"
#include "conv2d_requantize_avx512.h"
#include "nnf/unroll.h"

enum { IN = 4, PRODUCTS = IN * IN, M = 12, N = 32 };

typedef struct products {
    __m512i m[PRODUCTS][M][2];
} products;

/* m[i][j] = sum over pairs of channels of v[i] * u[j], for `rows` patches i. */
INLINE void multiply(const int32_t *v, size_t pitch, const __m512i *u, size_t pairs, __m512i m[M][2], const int rows,
                     const int vectors)
{
    __m512i s[M][2];
    NNF_UNROLL
    for (int i = 0; i < rows; i++)
        s[i][0] = s[i][1] = _mm512_setzero_si512();
    for (size_t k = 0; k < pairs; k++, v++, u += vectors) {
        const __m512i low = u[0], high = u[vectors - 1];
        NNF_UNROLL
        for (int i = 0; i < rows; i++)
            nnf_pairs_add_avx512(s[i], v + (size_t)i * pitch, low, high, vectors);
    }
    NNF_UNROLL
    for (int i = 0; i < rows; i++) {
        NNF_UNROLL
        for (int h = 0; h < vectors; h++)
            m[i][h] = s[i][h];
    }
}

/* All 16 products of `rows` patches. */
INLINE void multiply_all(const nnf_winograd_q8_tile *t, products *p, const int rows, const int vectors)
{
    const __m512i *u = (const __m512i *)nnf_conv2d_q8_weights(t->w, (size_t)(16 * vectors));
    for (size_t k = 0; k < PRODUCTS; k++, u += 2 * t->groups * (size_t)vectors)
        multiply((const int32_t *)(t->v + k * t->stride), t->pitch / 2, u, 2 * t->groups, p->m[k], rows, vectors);
}

/* Four vectors to two. */
INLINE void output_line(const __m512i *m, const int step, __m512i *y)
{
    const __m512i m1 = m[step], m2 = m[2 * step];
    y[0] = _mm512_add_epi32(_mm512_add_epi32(m[0], m1), m2);
    y[1] = _mm512_sub_epi32(_mm512_sub_epi32(m1, m2), m[3 * step]);
}

/* Sums of the 2x2 outputs of a patch. */
INLINE void output_sums(const products *p, size_t patch, const __m512i bias[2], __m512i sum[4][2], const int vectors)
{
    NNF_UNROLL
    for (int v = 0; v < vectors; v++) {
        __m512i down[IN][2], y[2][2];
        NNF_UNROLL
        for (int j = 0; j < IN; j++) {
            __m512i column[IN];
            NNF_UNROLL
            for (int i = 0; i < IN; i++)
                column[i] = p->m[j * IN + i][patch][v];
            output_line(column, 1, down[j]);
        }
        NNF_UNROLL
        for (int i = 0; i < 2; i++) {
            output_line(&down[0][i], 2, y[i]);
            NNF_UNROLL
            for (int j = 0; j < 2; j++)
                sum[2 * i + j][v] = _mm512_add_epi32(_mm512_srai_epi32(y[i][j], 2), bias[v]);
        }
    }
}

INLINE void finish(const nnf_winograd_q8_tile *t, const nnf_conv2d_q8_tile *codes, const products *p, const int vectors,
                   const int kind)
{
    const nnf_conv2d_finish f = nnf_conv2d_finish_of(codes, vectors, kind);
    __m512i bias[2];
    NNF_UNROLL
    for (int v = 0; v < vectors; v++)
        bias[v] = _mm512_add_epi32(_mm512_load_si512(t->w + 16 * v), nnf_conv2d_start(kind));
    for (size_t patch = 0; patch < t->patches; patch++) {
        const nnf_winograd_q8_place *place = t->places + patch;
        uint8_t *c = t->c + place->at;
        __m512i sum[4][2];
        output_sums(p, patch, bias, sum, vectors);
        for (int i = 0; i < place->height; i++, c += t->row) {
            if (place->width == 2)
                nnf_conv2d_store(&f, c, t->pixel, 1, vectors, kind, sum + 2 * i);
            else
                nnf_conv2d_store(&f, c, t->pixel, 0, vectors, kind, sum + 2 * i);
        }
    }
}

INLINE void run(const nnf_winograd_q8_tile *t, const int vectors)
{
    products p;
    switch (t->patches) {
    case 1: multiply_all(t, &p, 1, vectors); break;
    case 2: multiply_all(t, &p, 2, vectors); break;
    case 3: multiply_all(t, &p, 3, vectors); break;
    case 4: multiply_all(t, &p, 4, vectors); break;
    case 5: multiply_all(t, &p, 5, vectors); break;
    case 6: multiply_all(t, &p, 6, vectors); break;
    case 7: multiply_all(t, &p, 7, vectors); break;
    case 8: multiply_all(t, &p, 8, vectors); break;
    case 9: multiply_all(t, &p, 9, vectors); break;
    case 10: multiply_all(t, &p, 10, vectors); break;
    case 11: multiply_all(t, &p, 11, vectors); break;
    default: multiply_all(t, &p, 12, vectors); break;
    }
    const nnf_conv2d_q8_tile codes = {.columns = t->columns, .w = t->w, .zero_point = t->zero_point, .lo = t->lo,
                                      .hi = t->hi, .flip = t->flip};
    switch (nnf_conv2d_finish_kind(&codes, vectors)) {
    case NNF_CONV2D_CLIPPED: finish(t, &codes, &p, vectors, NNF_CONV2D_CLIPPED); break;
    case NNF_CONV2D_SIMPLE: finish(t, &codes, &p, vectors, NNF_CONV2D_SIMPLE); break;
    default: finish(t, &codes, &p, vectors, NNF_CONV2D_ANY); break;
    }
}

void nnf_conv2d_winograd2_s16_qu8_tile__avx512_12x32(const nnf_winograd_q8_tile *t)
{
    if (nnf_conv2d_width(t->columns, N) == N)
        run(t, 2);
    else
        run(t, 1);
}
