/* Tiles of Winograd patches, of AVX-512 levels. Include only from files of them, behind
 *
 *   add(sum, a, low, high, vectors)   sum[0] += a * low, sum[1] += a * high, for pairs of 16 bits; the former alone of
 *                                     one vector
 *   KERNEL(op)                        the name of the kernel of an operation */
#include "conv2d_q8_winograd.h"

#include <immintrin.h>

#include "conv2d_requantize_avx512.h"
#include "nnf/unroll.h"

typedef __m512i S;

INLINE S s32_all(int32_t x) { return _mm512_set1_epi32(x); }
INLINE S s32_add(S a, S b) { return _mm512_add_epi32(a, b); }
INLINE S s32_sub(S a, S b) { return _mm512_sub_epi32(a, b); }
INLINE S s32_mul(S a, S b) { return _mm512_mullo_epi32(a, b); }
INLINE S s32_left(S a, const int bits) { return _mm512_slli_epi32(a, bits); }
INLINE S s32_right(S a, const int bits) { return _mm512_srai_epi32(a, bits); }

#include "conv2d_q8_winograd_simd.h"

enum { M = 12, N = 32 };

/* One matrix of all patches: m[i] = sum over pairs of channels of v[i] * u. */
typedef struct product {
    const int32_t *v;
    const __m512i *u;
    size_t pitch, pairs;
    __m512i (*m)[2];
} product;

INLINE void multiply(const product *p, const int rows, const int vectors)
{
    __m512i s[M][2];
    NNF_UNROLL
    for (int i = 0; i < rows; i++)
        s[i][0] = s[i][1] = _mm512_setzero_si512();
    const size_t pitch = p->pitch;
    /* Three rows hang on one address, by multiples of the pitch. */
    const int32_t *v[M / 3];
    NNF_UNROLL
    for (int i = 0; i < rows; i += 3)
        v[i / 3] = p->v + (size_t)i * pitch;
    const __m512i *u = p->u;
    for (size_t k = 0; k < p->pairs; k += 2, u += 2 * vectors) {
        NNF_UNROLL
        for (int half = 0; half < 2; half++) {
            const __m512i low = u[half * vectors], high = u[half * vectors + vectors - 1];
            NNF_UNROLL
            for (int i = 0; i < rows; i++)
                add(s[i], v[i / 3] + (size_t)(i % 3) * pitch + half, low, high, vectors);
        }
        NNF_UNROLL
        for (int i = 0; i < rows; i += 3)
            v[i / 3] += 2;
    }
    NNF_UNROLL
    for (int i = 0; i < rows; i++) {
        NNF_UNROLL
        for (int h = 0; h < vectors; h++)
            p->m[i][h] = s[i][h];
    }
}

INLINE void multiply_rows(const product *p, size_t rows, const int vectors)
{
    switch (rows) {
    case 1: multiply(p, 1, vectors); break;
    case 2: multiply(p, 2, vectors); break;
    case 3: multiply(p, 3, vectors); break;
    case 4: multiply(p, 4, vectors); break;
    case 5: multiply(p, 5, vectors); break;
    case 6: multiply(p, 6, vectors); break;
    case 7: multiply(p, 7, vectors); break;
    case 8: multiply(p, 8, vectors); break;
    case 9: multiply(p, 9, vectors); break;
    case 10: multiply(p, 10, vectors); break;
    case 11: multiply(p, 11, vectors); break;
    default: multiply(p, 12, vectors); break;
    }
}

/* Apart, for all patches and rows of matrices have the same loops. */
static __attribute__((noinline)) void multiply_wide(const product *p, size_t rows) { multiply_rows(p, rows, 2); }
static __attribute__((noinline)) void multiply_narrow(const product *p, size_t rows) { multiply_rows(p, rows, 1); }

/* The products of one column of matrices, and of every column what its products add up to: a column of outputs. */
typedef struct columns {
    __m512i products[IN][M][2], outputs[IN][OUT][M][2];
} columns;

/* Products of column j of all patches, and its outputs. */
INLINE void sum_column(const size_t out, const nnf_winograd_q8_tile *t, size_t j, columns *c, const int vectors)
{
    const size_t in = nnf_winograd_q8_in(out), pairs = 2 * t->groups, matrix = pairs * (size_t)vectors;
    const __m512i *u = (const __m512i *)nnf_conv2d_q8_weights(t->w, (size_t)(16 * vectors)) + j * in * matrix;
    const int16_t *v = t->v + j * in * t->stride;
    for (size_t i = 0; i < in; i++, u += matrix, v += t->stride) {
        const product p = {.v = (const int32_t *)v, .u = u, .pitch = t->pitch / 2, .pairs = pairs, .m = c->products[i]};
        if (vectors == 2)
            multiply_wide(&p, t->patches);
        else
            multiply_narrow(&p, t->patches);
    }
    for (size_t patch = 0; patch < t->patches; patch++) {
        NNF_UNROLL
        for (int h = 0; h < vectors; h++) {
            __m512i y[OUT];
            output_line(out, &c->products[0][patch][h], 2 * M, y);
            NNF_UNROLL
            for (size_t i = 0; i < out; i++)
                c->outputs[j][i][patch][h] = y[i];
        }
    }
}

/* Row i of the outputs of a patch. */
INLINE void sum_row(const size_t out, const columns *c, size_t i, size_t patch, const __m512i bias[2],
                    __m512i sum[OUT][2], const int vectors)
{
    NNF_UNROLL
    for (int h = 0; h < vectors; h++) {
        __m512i y[OUT];
        output_line(out, &c->outputs[0][i][patch][h], 2 * OUT * M, y);
        NNF_UNROLL
        for (size_t j = 0; j < out; j++)
            sum[j][h] = _mm512_add_epi32(unscaled(out, y[j]), bias[h]);
    }
}

/* Codes of `width` outputs of a row, `pixel` apart. */
INLINE void store_row(const nnf_conv2d_finish *f, uint8_t *c, size_t pixel, const size_t width, const int vectors,
                      const int kind, __m512i sum[][2])
{
    NNF_UNROLL
    for (size_t j = 0; j < width; j += 2)
        nnf_conv2d_store(f, c + j * pixel, pixel, j + 1 < width, vectors, kind, sum + j);
}

INLINE void finish(const size_t out, const nnf_winograd_q8_tile *t, const nnf_conv2d_q8_tile *codes, const columns *sums,
                   const int vectors, const int kind)
{
    const nnf_conv2d_finish f = nnf_conv2d_finish_of(codes, vectors, kind);
    __m512i bias[2];
    NNF_UNROLL
    for (int v = 0; v < vectors; v++)
        bias[v] = _mm512_add_epi32(_mm512_load_si512(t->w + 16 * v), nnf_conv2d_start(kind));
    for (size_t patch = 0; patch < t->patches; patch++) {
        const nnf_winograd_q8_place *place = t->places + patch;
        const size_t width = (size_t)place->width;
        uint8_t *c = t->c + place->at;
        for (size_t i = 0; i < (size_t)place->height; i++, c += t->row) {
            __m512i sum[OUT][2];
            sum_row(out, sums, i, patch, bias, sum, vectors);
            if (width == out) {
                store_row(&f, c, t->pixel, out, vectors, kind, sum);
                continue;
            }
            for (size_t k = 0; k < width; k++)
                store_row(&f, c + k * t->pixel, t->pixel, 1, vectors, kind, sum + k);
        }
    }
}

/* The sums themselves. */
INLINE void store_sums(const size_t out, const nnf_winograd_q8_tile *t, const columns *sums, const int vectors)
{
    const uint32_t live = UINT32_MAX >> (N - t->columns);
    const __m512i bias[2] = {_mm512_load_si512(t->w), _mm512_load_si512(t->w + 16 * (vectors - 1))};
    for (size_t patch = 0; patch < t->patches; patch++) {
        const nnf_winograd_q8_place *place = t->places + patch;
        int32_t *c = (int32_t *)t->c + place->at;
        for (size_t i = 0; i < (size_t)place->height; i++, c += t->row) {
            __m512i sum[OUT][2];
            sum_row(out, sums, i, patch, bias, sum, vectors);
            for (size_t j = 0; j < (size_t)place->width; j++) {
                NNF_UNROLL
                for (int h = 0; h < vectors; h++) {
                    int32_t *to = c + j * t->pixel + 16 * (size_t)h;
                    if (t->columns == (size_t)(16 * vectors))
                        _mm512_storeu_si512(to, sum[j][h]);
                    else
                        _mm512_mask_storeu_epi32(to, (__mmask16)(live >> (16 * h)), sum[j][h]);
                }
            }
        }
    }
}

INLINE void run_panel(const size_t out, const nnf_winograd_q8_tile *t, const int vectors)
{
    const nnf_conv2d_q8_tile codes = {.columns = t->columns, .w = t->w, .zero_point = t->zero_point, .lo = t->lo,
                                      .hi = t->hi, .flip = t->flip};
    columns c;
    for (size_t j = 0; j < nnf_winograd_q8_in(out); j++)
        sum_column(out, t, j, &c, vectors);
    if (t->raw) {
        store_sums(out, t, &c, vectors);
        return;
    }
    switch (nnf_conv2d_finish_kind(&codes, vectors)) {
    case NNF_CONV2D_CLIPPED: finish(out, t, &codes, &c, vectors, NNF_CONV2D_CLIPPED); break;
    case NNF_CONV2D_SIMPLE: finish(out, t, &codes, &c, vectors, NNF_CONV2D_SIMPLE); break;
    default: finish(out, t, &codes, &c, vectors, NNF_CONV2D_ANY); break;
    }
}

INLINE void run(const size_t out, const nnf_winograd_q8_tile *t)
{
    if (nnf_conv2d_width(t->columns, N) == N)
        run_panel(out, t, 2);
    else
        run_panel(out, t, 1);
}

void KERNEL(nnf_conv2d_winograd2_s16_qu8_tile)(const nnf_winograd_q8_tile *t)
{
    run(NNF_WINOGRAD_Q8_2, t);
}

void KERNEL(nnf_conv2d_winograd3_s16_qu8_tile)(const nnf_winograd_q8_tile *t)
{
    run(NNF_WINOGRAD_Q8_3, t);
}

void KERNEL(nnf_conv2d_winograd4_s16_qu8_tile)(const nnf_winograd_q8_tile *t)
{
    run(NNF_WINOGRAD_Q8_4, t);
}
