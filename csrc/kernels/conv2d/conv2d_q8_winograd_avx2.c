#define KERNEL(op) op##__avx2_18x16

#include "conv2d_q8_winograd_avx2.h"
#include "nnf/partial.h"

enum { LANES = 16 };

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
