/* Tiles of Winograd patches, of 256-bit levels. Include only from files of them, behind
 *
 *   KERNEL(op)   the name of the kernel of an operation */
#include "conv2d_q8_winograd.h"

#include <immintrin.h>
#include <stdbool.h>

#include "conv2d_pairs_avx2.h"
#include "conv2d_requantize_avx2.h"
#include "nnf/partial_avx2.h"
#include "nnf/unroll.h"

typedef __m256i S;

INLINE S s32_all(int32_t x) { return _mm256_set1_epi32(x); }
INLINE S s32_add(S a, S b) { return _mm256_add_epi32(a, b); }
INLINE S s32_sub(S a, S b) { return _mm256_sub_epi32(a, b); }
INLINE S s32_mul(S a, S b) { return _mm256_mullo_epi32(a, b); }
INLINE S s32_left(S a, const int bits) { return _mm256_slli_epi32(a, bits); }
INLINE S s32_right(S a, const int bits) { return _mm256_srai_epi32(a, bits); }

#include "conv2d_q8_winograd_simd.h"

/* Patches whose products are summed before one goes on: so many that weights from beyond level 1 are used often. */
enum { MOST = 18, N = NNF_PAIRS_N };

/* The products of one column of matrices, and of every column what its products add up to: a column of outputs. */
typedef struct columns {
    _Alignas(64) int32_t products[IN][MOST][N];
    int32_t outputs[IN][OUT][MOST][N];
} columns;

/* Products of column j of all patches, and its outputs. */
INLINE void sum_column(const size_t out, const nnf_winograd_q8_tile *t, size_t j, columns *c, const int vectors)
{
    static const int32_t zeros[N];
    const size_t in = nnf_winograd_q8_in(out), matrix = 2 * t->groups * (size_t)vectors;
    const __m256i *w = (const __m256i *)nnf_conv2d_q8_weights(t->w, (size_t)(8 * vectors)) + j * in * matrix;
    const int16_t *v = t->v + j * in * t->stride;
    for (size_t i = 0; i < in; i++, w += matrix, v += t->stride) {
        const nnf_pairs pairs = {.a = (const int32_t *)v, .pitch = t->pitch / 2, .w = w, .count = t->groups,
                                 .from = zeros, .step = 0, .sum = c->products[i][0]};
        nnf_pairs_rows(&pairs, t->patches, vectors);
    }
    for (size_t patch = 0; patch < t->patches; patch++) {
        NNF_UNROLL
        for (int h = 0; h < vectors; h++) {
            __m256i y[OUT];
            output_line(out, (const __m256i *)c->products[0][patch] + h, MOST * N / 8, y);
            NNF_UNROLL
            for (size_t i = 0; i < out; i++)
                ((__m256i *)c->outputs[j][i][patch])[h] = y[i];
        }
    }
}

/* Row i of the outputs of a patch. */
INLINE void sum_row(const size_t out, const columns *c, size_t i, size_t patch, const __m256i *bias, __m256i *sum,
                    const int vectors)
{
    NNF_UNROLL
    for (int h = 0; h < vectors; h++) {
        __m256i y[OUT];
        output_line(out, (const __m256i *)c->outputs[0][i][patch] + h, OUT * MOST * N / 8, y);
        NNF_UNROLL
        for (size_t j = 0; j < out; j++)
            sum[2 * j + (size_t)h] = _mm256_add_epi32(unscaled(out, y[j]), bias[h]);
    }
}

INLINE void finish(const size_t out, const nnf_winograd_q8_tile *t, const columns *sums, const nnf_conv2d_finish *f,
                   const int vectors, const int kind)
{
    const bool is_full = t->columns == (size_t)(8 * vectors);
    uint8_t whole[OUT * N];
    const size_t pixel = is_full ? t->pixel : N;
    for (size_t patch = 0; patch < t->patches; patch++) {
        const nnf_winograd_q8_place *place = t->places + patch;
        const size_t width = (size_t)place->width;
        uint8_t *c = t->c + place->at;
        for (size_t i = 0; i < (size_t)place->height; i++, c += t->row) {
            _Alignas(32) int32_t sum[OUT * N];
            sum_row(out, sums, i, patch, (const __m256i *)t->w, (__m256i *)sum, vectors);
            nnf_conv2d_finish_rows(f, width, NULL, sum, is_full ? c : whole, pixel, vectors, kind);
            if (!is_full)
                nnf_conv2d_copy_codes(whole, width, t->columns, c, t->pixel);
        }
    }
}

/* The sums themselves. */
INLINE void store_sums(const size_t out, const nnf_winograd_q8_tile *t, const columns *sums, const int vectors)
{
    for (size_t patch = 0; patch < t->patches; patch++) {
        const nnf_winograd_q8_place *place = t->places + patch;
        int32_t *c = (int32_t *)t->c + place->at;
        for (size_t i = 0; i < (size_t)place->height; i++, c += t->row) {
            _Alignas(32) int32_t sum[OUT * N];
            sum_row(out, sums, i, patch, (const __m256i *)t->w, (__m256i *)sum, vectors);
            for (size_t j = 0; j < (size_t)place->width; j++) {
                NNF_UNROLL
                for (int h = 0; h < vectors; h++)
                    nnf_store_s32_avx2(c + j * t->pixel + 8 * (size_t)h, (ptrdiff_t)t->columns - 8 * h,
                                       ((const __m256i *)sum)[2 * j + (size_t)h]);
            }
        }
    }
}

INLINE void run_panel(const size_t out, const nnf_winograd_q8_tile *t, const int vectors)
{
    const nnf_conv2d_q8_tile codes = {.zero_point = t->zero_point, .lo = t->lo, .hi = t->hi, .flip = t->flip};
    nnf_conv2d_finish f;
    columns c;
    for (size_t j = 0; j < nnf_winograd_q8_in(out); j++)
        sum_column(out, t, j, &c, vectors);
    if (t->raw) {
        store_sums(out, t, &c, vectors);
        return;
    }
    nnf_conv2d_finish_of(&f, &codes, t->w, vectors);
    switch (f.kind) {
    case NNF_CONV2D_CLIPPED: finish(out, t, &c, &f, vectors, NNF_CONV2D_CLIPPED); break;
    case NNF_CONV2D_SIMPLE: finish(out, t, &c, &f, vectors, NNF_CONV2D_SIMPLE); break;
    default: finish(out, t, &c, &f, vectors, NNF_CONV2D_ANY);
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
