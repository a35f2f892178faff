#include "conv2d_q8_winograd.h"

#include <immintrin.h>
#include <stdbool.h>

#include "conv2d_pairs_avx2.h"
#include "conv2d_requantize_avx2.h"
#include "nnf/partial.h"
#include "nnf/unroll.h"

/* Sizes at most; patches whose products are summed before one goes on: so many that weights from beyond level 1 are
 * used often. */
enum { IN = NNF_WINOGRAD_Q8_IN, OUT = NNF_WINOGRAD_Q8_OUT, LANES = 16, MOST = 18, N = NNF_PAIRS_N };

INLINE __m256i widen(__m128i codes, const bool is_signed)
{
    return is_signed ? _mm256_cvtepi8_epi16(codes) : _mm256_cvtepu8_epi16(codes);
}

INLINE __m256i load_codes(const uint8_t *x, size_t count, const bool is_signed)
{
    if (count >= LANES)
        return widen(_mm_loadu_si128((const __m128i *)x), is_signed);
    if (count <= 8)
        return widen(_mm_cvtsi64_si128((int64_t)nnf_load_bytes(x, count)), is_signed);
    const uint64_t high = nnf_load_bytes(x + count - 8, 8) >> 8 * (LANES - count);
    return widen(_mm_set_epi64x((int64_t)high, (int64_t)nnf_load_bytes(x, 8)), is_signed);
}

INLINE __m256i times(__m256i x, const int power)
{
    return _mm256_slli_epi16(x, power);
}

/* The inputs of a patch on a side, `step` vectors apart, transformed. */
INLINE void input_line(const size_t out, const __m256i *d, const size_t step, __m256i to[IN])
{
    const __m256i d0 = d[0], d1 = d[step], d2 = d[2 * step], d3 = d[3 * step];
    if (out == NNF_WINOGRAD_Q8_2) {
        to[0] = _mm256_sub_epi16(d0, d2);
        to[1] = _mm256_add_epi16(d1, d2);
        to[2] = _mm256_sub_epi16(d2, d1);
        to[3] = _mm256_sub_epi16(d1, d3);
    } else {
        const __m256i d4 = d[4 * step], d5 = d[5 * step];
        const __m256i even = _mm256_sub_epi16(times(d2, 2), d4), odd = _mm256_sub_epi16(times(d1, 2), d3);
        const __m256i evens = _mm256_sub_epi16(d4, d2), odds = times(_mm256_sub_epi16(d3, d1), 1);
        to[0] = _mm256_add_epi16(times(_mm256_sub_epi16(d0, d2), 2), evens);
        to[1] = _mm256_add_epi16(even, odd);
        to[2] = _mm256_sub_epi16(even, odd);
        to[3] = _mm256_add_epi16(evens, odds);
        to[4] = _mm256_sub_epi16(evens, odds);
        to[5] = _mm256_sub_epi16(_mm256_sub_epi16(d5, d3), times(odds, 1));
    }
}

/* Column j of the inputs, transformed. whole: all of its rows are inside. */
INLINE void input_column(const size_t out, const nnf_winograd_q8_run *r, const uint8_t *x, size_t j, size_t count,
                         __m256i pad, const bool whole, const bool is_signed, __m256i to[IN])
{
    __m256i d[IN];
    const bool inside = j >= r->left && j < r->right;
    x += j * r->channels;
    NNF_UNROLL
    for (size_t i = 0; i < nnf_winograd_q8_in(out); i++)
        d[i] = inside && (whole || (i >= r->top && i < r->bottom)) ? load_codes(x + i * r->row, count, is_signed) : pad;
    input_line(out, d, 1, to);
}

/* Sixteen channels of all patches, of which `count` are there. The last columns of a patch are the first of the next
 * one. */
INLINE void input_block(const size_t out, const nnf_winograd_q8_run *r, const uint8_t *x, int16_t *v, size_t count,
                        const bool whole, const bool is_signed)
{
    static const int16_t ones[2 * LANES] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
    const size_t pitch = nnf_winograd_q8_pitch(r->channels), here = count < LANES ? count : LANES;
    const size_t in = nnf_winograd_q8_in(out), common = in - out;
    const __m256i live = _mm256_loadu_si256((const __m256i *)(ones + LANES - here));
    const __m256i pad = _mm256_and_si256(_mm256_set1_epi16(r->pad), live);
    __m256i d[IN][IN];
    NNF_UNROLL
    for (size_t j = 0; j < common; j++)
        input_column(out, r, x, j, count, pad, whole, is_signed, d[j]);
    for (size_t patch = 0; patch < r->patches; patch++, v += pitch) {
        NNF_UNROLL
        for (size_t j = common; j < in; j++)
            input_column(out, r, x, out * patch + j, count, pad, whole, is_signed, d[j]);
        int16_t *to = v;
        NNF_UNROLL
        for (size_t i = 0; i < in; i++, to += r->stride) {
            __m256i row[IN];
            input_line(out, &d[0][i], IN, row);
            NNF_UNROLL
            for (size_t j = 0; j < in; j++)
                _mm256_storeu_si256((__m256i *)(to + j * in * r->stride), row[j]);
            NNF_UNROLL
            for (size_t j = 0; j < common; j++)
                d[j][i] = d[j + out][i];
        }
    }
}

INLINE void input_rows(const size_t out, const nnf_winograd_q8_run *r, const uint8_t *x, int16_t *v,
                       const bool is_signed)
{
    size_t c = 0;
    if (r->top == 0 && r->bottom == nnf_winograd_q8_in(out)) {
        for (; c + LANES <= r->channels; c += LANES)
            input_block(out, r, x + c, v + c, LANES, true, is_signed);
    }
    for (; c < r->channels; c += LANES)
        input_block(out, r, x + c, v + c, r->channels - c, false, is_signed);
}

INLINE void input_run(const size_t out, const nnf_winograd_q8_run *r, const uint8_t *x, int16_t *v)
{
    if (r->is_signed)
        input_rows(out, r, x, v, true);
    else
        input_rows(out, r, x, v, false);
}

void nnf_conv2d_winograd2_input_qu8_s16_nhwc__avx2_16(const nnf_winograd_q8_run *r, const uint8_t *x, int16_t *v)
{
    input_run(NNF_WINOGRAD_Q8_2, r, x, v);
}

void nnf_conv2d_winograd3_input_qu8_s16_nhwc__avx2_16(const nnf_winograd_q8_run *r, const uint8_t *x, int16_t *v)
{
    input_run(NNF_WINOGRAD_Q8_3, r, x, v);
}

void nnf_conv2d_winograd4_input_qu8_s16_nhwc__avx2_16(const nnf_winograd_q8_run *r, const uint8_t *x, int16_t *v)
{
    input_run(NNF_WINOGRAD_Q8_4, r, x, v);
}

/* The products of a patch on a side to outputs, `step` vectors apart. */
INLINE void output_line(const size_t out, const __m256i *m, const size_t step, __m256i y[OUT])
{
    const __m256i m1 = m[step], m2 = m[2 * step], m3 = m[3 * step];
    if (out == NNF_WINOGRAD_Q8_2) {
        y[0] = _mm256_add_epi32(_mm256_add_epi32(m[0], m1), m2);
        y[1] = _mm256_sub_epi32(_mm256_sub_epi32(m1, m2), m3);
    } else {
        const __m256i m4 = m[4 * step], m5 = m[5 * step];
        const __m256i sum = _mm256_slli_epi32(_mm256_add_epi32(m1, m2), 2);
        const __m256i difference = _mm256_slli_epi32(_mm256_sub_epi32(m1, m2), 2);
        const __m256i sums = _mm256_add_epi32(m3, m4), differences = _mm256_sub_epi32(m3, m4);
        y[0] = _mm256_add_epi32(_mm256_add_epi32(_mm256_slli_epi32(m[0], 1), sum), sums);
        y[1] = _mm256_add_epi32(difference, _mm256_slli_epi32(differences, 1));
        y[2] = _mm256_add_epi32(sum, _mm256_slli_epi32(sums, 2));
        if (out == NNF_WINOGRAD_Q8_3)
            y[2] = _mm256_add_epi32(y[2], _mm256_slli_epi32(m5, 3));
        else
            y[3] = _mm256_add_epi32(difference, _mm256_slli_epi32(_mm256_add_epi32(differences, m5), 3));
    }
}

/* An output without the scale that it got on the way: 4, or 9 * 64. */
INLINE __m256i unscaled(const size_t out, __m256i y)
{
    const __m256i ninth = _mm256_set1_epi32(0x38E38E39); /* modulo 2^32 */
    return out == NNF_WINOGRAD_Q8_2 ? _mm256_srai_epi32(y, 2) : _mm256_srai_epi32(_mm256_mullo_epi32(y, ninth), 6);
}

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

INLINE void run_panel(const size_t out, const nnf_winograd_q8_tile *t, const int vectors)
{
    const nnf_conv2d_q8_tile codes = {.zero_point = t->zero_point, .lo = t->lo, .hi = t->hi, .flip = t->flip};
    nnf_conv2d_finish f;
    columns c;
    for (size_t j = 0; j < nnf_winograd_q8_in(out); j++)
        sum_column(out, t, j, &c, vectors);
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

void nnf_conv2d_winograd2_s16_qu8_tile__avx2_18x16(const nnf_winograd_q8_tile *t)
{
    run(NNF_WINOGRAD_Q8_2, t);
}

void nnf_conv2d_winograd3_s16_qu8_tile__avx2_18x16(const nnf_winograd_q8_tile *t)
{
    run(NNF_WINOGRAD_Q8_3, t);
}

void nnf_conv2d_winograd4_s16_qu8_tile__avx2_18x16(const nnf_winograd_q8_tile *t)
{
    run(NNF_WINOGRAD_Q8_4, t);
}
