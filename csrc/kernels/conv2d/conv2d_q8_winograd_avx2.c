#include "conv2d_q8_winograd.h"

#include <immintrin.h>
#include <stdbool.h>

#include "conv2d_pairs_avx2.h"
#include "conv2d_requantize_avx2.h"
#include "nnf/partial.h"
#include "nnf/unroll.h"

enum { IN = NNF_WINOGRAD_Q8_IN, PRODUCTS = NNF_WINOGRAD_Q8_PRODUCTS, LANES = 16, M = 24, N = NNF_PAIRS_N };

INLINE __m256i widen(__m128i codes, const bool is_signed)
{
    return is_signed ? _mm256_cvtepi8_epi16(codes) : _mm256_cvtepu8_epi16(codes);
}

INLINE __m256i load_codes(const uint8_t *x, size_t count, const bool is_signed)
{
    if (count >= LANES)
        return widen(_mm_loadu_si128((const __m128i *)x), is_signed);
    const uint64_t low = nnf_load_bytes(x, count), high = count > 8 ? nnf_load_bytes(x + 8, count - 8) : 0;
    return widen(_mm_set_epi64x((int64_t)high, (int64_t)low), is_signed);
}

/* Column j of the inputs, transformed. whole: all of its rows are inside. */
INLINE void input_column(const nnf_winograd_q8_run *r, const uint8_t *x, size_t j, size_t count, __m256i pad,
                         const bool whole, const bool is_signed, __m256i to[IN])
{
    __m256i d[IN];
    const bool inside = j >= r->left && j < r->right;
    x += j * r->channels;
    NNF_UNROLL
    for (size_t i = 0; i < IN; i++)
        d[i] = inside && (whole || (i >= r->top && i < r->bottom)) ? load_codes(x + i * r->row, count, is_signed) : pad;
    to[0] = _mm256_sub_epi16(d[0], d[2]);
    to[1] = _mm256_add_epi16(d[1], d[2]);
    to[2] = _mm256_sub_epi16(d[2], d[1]);
    to[3] = _mm256_sub_epi16(d[1], d[3]);
}

/* Sixteen channels of all patches, of which `count` are there. Two columns of a patch are the first of the next. */
INLINE void input_block(const nnf_winograd_q8_run *r, const uint8_t *x, int16_t *v, size_t count, const bool whole,
                        const bool is_signed)
{
    static const int16_t ones[2 * LANES] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
    const size_t pitch = nnf_winograd_q8_pitch(r->channels), here = count < LANES ? count : LANES;
    const __m256i live = _mm256_loadu_si256((const __m256i *)(ones + LANES - here));
    const __m256i pad = _mm256_and_si256(_mm256_set1_epi16(r->pad), live);
    __m256i d[IN][IN];
    input_column(r, x, 0, count, pad, whole, is_signed, d[0]);
    input_column(r, x, 1, count, pad, whole, is_signed, d[1]);
    for (size_t patch = 0; patch < r->patches; patch++, v += pitch) {
        input_column(r, x, 2 * patch + 2, count, pad, whole, is_signed, d[2]);
        input_column(r, x, 2 * patch + 3, count, pad, whole, is_signed, d[3]);
        int16_t *to = v;
        NNF_UNROLL
        for (size_t i = 0; i < IN; i++, to += IN * r->stride) {
            _mm256_storeu_si256((__m256i *)to, _mm256_sub_epi16(d[0][i], d[2][i]));
            _mm256_storeu_si256((__m256i *)(to + r->stride), _mm256_add_epi16(d[1][i], d[2][i]));
            _mm256_storeu_si256((__m256i *)(to + 2 * r->stride), _mm256_sub_epi16(d[2][i], d[1][i]));
            _mm256_storeu_si256((__m256i *)(to + 3 * r->stride), _mm256_sub_epi16(d[1][i], d[3][i]));
            d[0][i] = d[2][i];
            d[1][i] = d[3][i];
        }
    }
}

INLINE void input_run(const nnf_winograd_q8_run *r, const uint8_t *x, int16_t *v, const bool is_signed)
{
    size_t c = 0;
    if (r->top == 0 && r->bottom == IN) {
        for (; c + LANES <= r->channels; c += LANES)
            input_block(r, x + c, v + c, LANES, true, is_signed);
    }
    for (; c < r->channels; c += LANES)
        input_block(r, x + c, v + c, r->channels - c, false, is_signed);
}

void nnf_conv2d_winograd_input_qu8_s16_nhwc__avx2_16(const nnf_winograd_q8_run *r, const uint8_t *x, int16_t *v)
{
    if (r->is_signed)
        input_run(r, x, v, true);
    else
        input_run(r, x, v, false);
}

/* Four vectors to two. */
INLINE void output_line(const __m256i *m, const int step, __m256i *y)
{
    const __m256i m1 = m[step], m2 = m[2 * step];
    y[0] = _mm256_add_epi32(_mm256_add_epi32(m[0], m1), m2);
    y[1] = _mm256_sub_epi32(_mm256_sub_epi32(m1, m2), m[3 * step]);
}

/* Sums [2][2][N] of a patch, of its products [16], `step` vectors apart. */
INLINE void output_sums(const __m256i *m, const size_t step, const __m256i *bias, __m256i *sum, const int vectors)
{
    NNF_UNROLL
    for (int v = 0; v < vectors; v++) {
        __m256i down[IN][2], y[2][2];
        NNF_UNROLL
        for (int j = 0; j < IN; j++) {
            __m256i column[IN];
            NNF_UNROLL
            for (int i = 0; i < IN; i++)
                column[i] = m[(size_t)(i * IN + j) * step + (size_t)v];
            output_line(column, 1, down[j]);
        }
        NNF_UNROLL
        for (int i = 0; i < 2; i++) {
            output_line(&down[0][i], 2, y[i]);
            NNF_UNROLL
            for (int j = 0; j < 2; j++)
                sum[(i * 2 + j) * 2 + v] = _mm256_add_epi32(_mm256_srai_epi32(y[i][j], 2), bias[v]);
        }
    }
}

typedef struct products {
    _Alignas(64) int32_t m[PRODUCTS][M][N];
} products;

INLINE void finish(const nnf_winograd_q8_tile *t, const products *p, const nnf_conv2d_finish *f, const int vectors,
                   const int simple, const int clipped)
{
    const bool is_full = t->columns == (size_t)(8 * vectors);
    uint8_t whole[NNF_WINOGRAD_Q8_OUT * N];
    const size_t pixel = is_full ? t->pixel : N;
    for (size_t patch = 0; patch < t->patches; patch++) {
        const nnf_winograd_q8_place *place = t->places + patch;
        _Alignas(32) int32_t sum[NNF_WINOGRAD_Q8_OUT][NNF_WINOGRAD_Q8_OUT * N];
        output_sums((const __m256i *)p->m[0][patch], M * N / 8, (const __m256i *)t->w, (__m256i *)sum, vectors);
        const size_t width = (size_t)place->width;
        uint8_t *c = t->c + place->at;
        for (size_t i = 0; i < (size_t)place->height; i++, c += t->row) {
            nnf_conv2d_finish_rows(f, width, NULL, sum[i], is_full ? c : whole, pixel, vectors, simple, clipped);
            if (!is_full)
                nnf_conv2d_copy_codes(whole, width, t->columns, c, t->pixel);
        }
    }
}

INLINE void run(const nnf_winograd_q8_tile *t, const int vectors)
{
    static const int32_t zeros[N];
    const nnf_conv2d_q8_tile codes = {.zero_point = t->zero_point, .lo = t->lo, .hi = t->hi, .flip = t->flip};
    const __m256i *w = (const __m256i *)nnf_conv2d_q8_weights(t->w, (size_t)(8 * vectors));
    nnf_conv2d_finish f;
    products p;
    for (size_t k = 0; k < PRODUCTS; k++, w += 2 * t->groups * (size_t)vectors) {
        const nnf_pairs pairs = {.a = (const int32_t *)(t->v + k * t->stride), .pitch = t->pitch / 2, .w = w,
                                 .count = t->groups, .from = zeros, .step = 0, .sum = p.m[k][0]};
        nnf_pairs_rows(&pairs, t->patches, vectors);
    }
    nnf_conv2d_finish_of(&f, &codes, t->w, vectors);
    if (f.clipped)
        finish(t, &p, &f, vectors, 1, 1);
    else if (f.simple)
        finish(t, &p, &f, vectors, 1, 0);
    else
        finish(t, &p, &f, vectors, 0, 0);
}

void nnf_conv2d_winograd_s16_qu8_tile__avx2_24x16(const nnf_winograd_q8_tile *t)
{
    if (nnf_conv2d_width(t->columns, N) == N)
        run(t, 2);
    else
        run(t, 1);
}
