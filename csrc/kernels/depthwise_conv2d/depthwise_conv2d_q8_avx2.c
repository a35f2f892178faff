#include "depthwise_conv2d.h"

#include <immintrin.h>
#include <stdbool.h>
#include <string.h>

#include "nnf/requantize_avx2.h"
#include "nnf/unroll.h"

#define LANES 32

/* Rows of a block's weights for `square`, of each of two neighbouring outputs: ACROSS + r pairs the taps of row r that
 * lie in the two middle columns of four, DOWN + 2 i + s those in the outer column and rows 2 s, 2 s + 1 of four for
 * output row i of two. */
enum { ACROSS = 0, DOWN = 3, SQUARE_ROWS = 7 };

/* Rows of a block's scales where small sums below zero are clipped, as in depthwise_conv2d_q8_avx512.h. */
enum { CLIPPED_ROUND, CLIPPED_ROUND_ODD, CLIPPED_RIGHT, CLIPPED_ROWS };

/* One block of output channels: 32 channels of a pixel, 16 of two or 8 of four. */
typedef struct block {
    const uint8_t *x;    /* first channel of the block, first pixel of the image */
    const int32_t *rows; /* the packed block */
    size_t channels;     /* those that exist */
    ptrdiff_t last;      /* where from x the last vector of `width` channels begins that the image has whole */
    __m256i flip, out_zero, lo, hi;
    bool clipped;        /* small sums below zero end at the lower limit, however they round */
    uint8_t zero[LANES]; /* stands for positions outside of the image */
    _Alignas(32) int32_t scales[CLIPPED_ROWS * LANES];
    _Alignas(32) int32_t weights[2 * SQUARE_ROWS * LANES];
} block;

/* As in depthwise_conv2d_q8_avx512.h. */
INLINE const uint8_t *tap_at(const nnf_depthwise_q8 *p, const block *b, const nnf_depthwise_tap *tap, size_t y0,
                             size_t o)
{
    const size_t y = y0 + (size_t)tap->down, x = o * p->g.x.stride + (size_t)tap->across - p->g.x.head;
    if (y >= p->g.y.size || x >= p->g.x.size || o >= p->g.x.out)
        return b->zero;
    return b->x + (y * p->g.x.size + x) * p->g.channels;
}

INLINE __m256i load(const nnf_depthwise_q8 *p, const block *b, const int width, bool careful, bool border,
                    const nnf_depthwise_tap *tap, const uint8_t *start, size_t y0, size_t o)
{
    const size_t step = p->g.x.stride * p->g.channels;
    const uint8_t *at[4];
#pragma GCC unroll 4
    for (int s = 0; s < LANES / width; s++)
        at[s] = border ? tap_at(p, b, tap, y0, o + (size_t)s) : start + tap->offset + (size_t)s * step;
    /* Channels of the next pixel do no harm, but behind the image there is none. */
    uint8_t copy[LANES];
    if (careful) {
        for (int s = 0; s < LANES / width; s++) {
            if (at[s] != b->zero && at[s] - b->x > b->last) {
                memcpy(copy + s * width, at[s], b->channels);
                at[s] = copy + s * width;
            }
        }
    }
    __m256i v;
    if (width == 32) {
        v = _mm256_loadu_si256((const __m256i *)at[0]);
    } else if (width == 16) {
        v = _mm256_set_m128i(_mm_loadu_si128((const __m128i *)at[1]), _mm_loadu_si128((const __m128i *)at[0]));
    } else {
        const __m128i low = _mm_unpacklo_epi64(_mm_loadl_epi64((const __m128i *)at[0]),
                                               _mm_loadl_epi64((const __m128i *)at[1]));
        const __m128i high = _mm_unpacklo_epi64(_mm_loadl_epi64((const __m128i *)at[2]),
                                                _mm_loadl_epi64((const __m128i *)at[3]));
        v = _mm256_set_m128i(high, low);
    }
    return _mm256_xor_si256(v, b->flip);
}

INLINE __m256i row_of(const int32_t *rows, int row)
{
    return _mm256_load_si256((const __m256i *)(rows + row * LANES));
}

/* As in depthwise_conv2d_q8_avx512.h, on 8 lanes. */
INLINE __m256i scale_small(__m256i x, const int32_t *rows)
{
    __m256i even = _mm256_mul_epu32(x, row_of(rows, NNF_DEPTHWISE_DOUBLE));
    __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(x, 32), row_of(rows, NNF_DEPTHWISE_DOUBLE_ODD));
    even = _mm256_srli_epi64(_mm256_add_epi64(even, row_of(rows, NNF_DEPTHWISE_ROUND)), 32);
    odd = _mm256_add_epi64(odd, row_of(rows, NNF_DEPTHWISE_ROUND_ODD));
    x = _mm256_add_epi32(_mm256_blend_epi32(even, odd, 0xAA), _mm256_srli_epi32(x, 31));
    return _mm256_srav_epi32(x, row_of(rows, NNF_DEPTHWISE_RIGHT));
}

/* The same where the rounding has the term of sums >= 0. Of each four lanes the even ones come first, until `ordered`
 * has the bytes. */
INLINE __m256i scale_clipped(__m256i x, const int32_t *rows, const int32_t *scales)
{
    const __m256i even = _mm256_mul_epu32(x, row_of(rows, NNF_DEPTHWISE_DOUBLE));
    const __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(x, 32), row_of(rows, NNF_DEPTHWISE_DOUBLE_ODD));
    const __m256 low = _mm256_castsi256_ps(_mm256_add_epi64(even, row_of(scales, CLIPPED_ROUND)));
    const __m256 high = _mm256_castsi256_ps(_mm256_add_epi64(odd, row_of(scales, CLIPPED_ROUND_ODD)));
    return _mm256_srav_epi32(_mm256_castps_si256(_mm256_shuffle_ps(low, high, 0xDD)), row_of(scales, CLIPPED_RIGHT));
}

INLINE __m256i ordered(__m256i code)
{
    return _mm256_shuffle_epi8(code, _mm256_setr_epi8(0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15,
                                                      0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15));
}

INLINE __m256i scale(__m256i x, const int32_t *rows)
{
    return nnf_mbqm_avx2(x, row_of(rows, NNF_DEPTHWISE_MULTIPLIER), row_of(rows, NNF_DEPTHWISE_LEFT),
                         row_of(rows, NNF_DEPTHWISE_RIGHT));
}

INLINE __m256i clamp(const block *b, __m256i code)
{
    return _mm256_xor_si256(_mm256_min_epu8(_mm256_max_epu8(code, b->lo), b->hi), b->flip);
}

/* Codes of 32 sums; saturation to 16 and 8 bits does not disturb a clamp that lies within 0..255. */
INLINE __m256i codes(const nnf_depthwise_q8 *p, const block *b, const __m256i sum[4])
{
    __m256i x[4];
    if (b->clipped) {
#pragma GCC unroll 4
        for (int v = 0; v < 4; v++)
            x[v] = scale_clipped(sum[v], b->rows + 8 * v, b->scales + 8 * v);
    } else if (p->small) {
#pragma GCC unroll 4
        for (int v = 0; v < 4; v++)
            x[v] = scale_small(sum[v], b->rows + 8 * v);
    } else {
#pragma GCC unroll 4
        for (int v = 0; v < 4; v++)
            x[v] = scale(sum[v], b->rows + 8 * v);
    }
    /* 0 after the small scale, which adds the zero point itself. */
    const __m256i low = _mm256_adds_epi16(_mm256_packs_epi32(x[0], x[1]), b->out_zero);
    const __m256i high = _mm256_adds_epi16(_mm256_packs_epi32(x[2], x[3]), b->out_zero);
    const __m256i code = _mm256_packus_epi16(low, high);
    return clamp(b, b->clipped ? ordered(code) : code);
}

/* One output of each pixel of the block, beginning at column o. */
INLINE void tile(const nnf_depthwise_q8 *p, const block *b, const int width, bool full, bool border, bool careful,
                 size_t y0, size_t o, uint8_t *y)
{
    const uint8_t *start =
        border ? NULL : b->x + (y0 * p->g.x.size + o * p->g.x.stride - p->g.x.head) * p->g.channels;
    const int32_t *w = b->rows + NNF_DEPTHWISE_ROWS * LANES;
    const __m256i zero = _mm256_setzero_si256();
    __m256i sum[4];
#pragma GCC unroll 4
    for (int v = 0; v < 4; v++)
        sum[v] = row_of(b->rows + 8 * v, NNF_DEPTHWISE_FOLDED);
    for (size_t g = 0; g < p->groups; g++, w += LANES) {
        const __m256i r = load(p, b, width, careful, border, p->taps + 2 * g, start, y0, o);
        const __m256i s = load(p, b, width, careful, border, p->taps + 2 * g + 1, start, y0, o);
        /* The two taps of a channel side by side, widened to 16 bits. */
        const __m256i low = _mm256_unpacklo_epi8(r, s), high = _mm256_unpackhi_epi8(r, s);
        const __m256i x[4] = {_mm256_unpacklo_epi8(low, zero), _mm256_unpackhi_epi8(low, zero),
                              _mm256_unpacklo_epi8(high, zero), _mm256_unpackhi_epi8(high, zero)};
#pragma GCC unroll 4
        for (int v = 0; v < 4; v++)
            sum[v] = _mm256_add_epi32(sum[v], _mm256_madd_epi16(x[v], row_of(w + 8 * v, 0)));
    }
    const __m256i code = codes(p, b, sum);
    uint8_t *target = y + o * p->g.channels;
    if (width == 32 && full) {
        _mm256_storeu_si256((__m256i *)target, code);
        return;
    }
    uint8_t copy[LANES];
    _mm256_storeu_si256((__m256i *)copy, code);
    for (size_t s = 0; s < (size_t)(LANES / width) && o + s < p->g.x.out; s++)
        memcpy(target + s * p->g.channels, copy + s * (size_t)width, full ? (size_t)width : b->channels);
}

/* Adds the products of a pair of taps in half a block: two vectors of sums. */
INLINE void multiply(__m256i sum[2], const __m256i x[2], const int32_t *w)
{
    sum[0] = _mm256_add_epi32(sum[0], _mm256_madd_epi16(x[0], row_of(w, 0)));
    sum[1] = _mm256_add_epi32(sum[1], _mm256_madd_epi16(x[1], row_of(w + 8, 0)));
    __asm__("" : "+x"(sum[0]), "+x"(sum[1])); /* else the sums become trees, whose leaves are spilled */
}

/* Two taps side by side, as in `tile`, of one half of a block. */
INLINE void interleave(const block *b, const int half, const uint8_t *first, const uint8_t *second, __m256i x[2])
{
    __asm__ volatile("" : : : "memory"); /* else taps and weights stay loaded for their next use, spilled */
    const __m256i r = _mm256_loadu_si256((const __m256i *)first), s = _mm256_loadu_si256((const __m256i *)second);
    const __m256i both = _mm256_xor_si256(half ? _mm256_unpackhi_epi8(r, s) : _mm256_unpacklo_epi8(r, s), b->flip);
    x[0] = _mm256_unpacklo_epi8(both, _mm256_setzero_si256());
    x[1] = _mm256_unpackhi_epi8(both, _mm256_setzero_si256());
}

/* One half of `square`: its scaled sums in 16 bits. Eight vectors of sums and their pairs stay in registers. */
INLINE void square_half(const block *b, const int half, const bool clipped, const uint8_t *const taps[4][4],
                        __m256i scaled[2][2])
{
    const int32_t *rows = b->rows + 16 * half, *w = b->weights + 16 * half, *scales = b->scales + 16 * half;
    __m256i sum[2][2][2], x[2];
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++)
        sum[i / 4][i / 2 % 2][i % 2] = row_of(rows + 8 * (i % 2), NNF_DEPTHWISE_FOLDED);
#pragma GCC unroll 4
    for (int r = 0; r < 4; r++) {
        interleave(b, half, taps[r][1], taps[r][2], x);
#pragma GCC unroll 2
        for (int j = 0; j < 2; j++) {
            const int32_t *across = w + (j * SQUARE_ROWS + ACROSS + r) * LANES;
            if (r < 3)
                multiply(sum[0][j], x, across);
            if (r > 0)
                multiply(sum[1][j], x, across - LANES);
        }
    }
#pragma GCC unroll 4
    for (int k = 0; k < 4; k++) {
        const int j = k / 2, s = k % 2;
        interleave(b, half, taps[2 * s][3 * j], taps[2 * s + 1][3 * j], x);
#pragma GCC unroll 2
        for (int i = 0; i < 2; i++)
            multiply(sum[i][j], x, w + (j * SQUARE_ROWS + DOWN + 2 * i + s) * LANES);
    }
#pragma GCC unroll 4
    for (int k = 0; k < 4; k++) {
        const __m256i *two = sum[k / 2][k % 2];
        if (clipped)
            scaled[k / 2][k % 2] = _mm256_packs_epi32(scale_clipped(two[0], rows, scales),
                                                      scale_clipped(two[1], rows + 8, scales + 8));
        else
            scaled[k / 2][k % 2] = _mm256_packs_epi32(scale_small(two[0], rows), scale_small(two[1], rows + 8));
    }
}

/* Two neighbouring outputs of 32 channels in each of two neighbouring output rows, for windows of 3x3 at stride 1 and
 * small sums: a pair of taps serves two outputs, or four in the middle columns. `inside`: all 4x4 pixels are. */
INLINE void square(const nnf_depthwise_q8 *p, const block *b, const bool inside, const bool clipped, size_t y0,
                   size_t o, uint8_t *y)
{
    const size_t channels = p->g.channels, line = p->g.x.size * channels, x0 = o - p->g.x.head;
    const uint8_t *taps[4][4];
#pragma GCC unroll 4
    for (size_t r = 0; r < 4; r++) {
#pragma GCC unroll 4
        for (size_t c = 0; c < 4; c++) {
            const bool there = inside || (y0 + r < p->g.y.size && x0 + c < p->g.x.size);
            taps[r][c] = there ? b->x + (y0 + r) * line + (x0 + c) * channels : b->zero;
        }
    }
    __m256i low[2][2], high[2][2];
    square_half(b, 0, clipped, taps, low);
    square_half(b, 1, clipped, taps, high);
    y += o * channels;
#pragma GCC unroll 4
    for (size_t k = 0; k < 4; k++) {
        const __m256i code = _mm256_packus_epi16(low[k / 2][k % 2], high[k / 2][k % 2]);
        _mm256_storeu_si256((__m256i *)(y + (k / 2 * p->g.x.out + k % 2) * channels),
                            clamp(b, clipped ? ordered(code) : code));
    }
}

/* Pairs the taps of a block, (0 1) (2 3) ... of the 9 in its pack, as `square` wants them. */
INLINE void pair_weights(block *b)
{
    const __m256i low = _mm256_set1_epi32(0xFFFF);
    for (int v = 0; v < LANES; v += 8) {
        __m256i w[5], odd[5], even[5]; /* odd: the second tap of a pair as a first one; even: the first as a second */
#pragma GCC unroll 5
        for (int g = 0; g < 5; g++) {
            w[g] = row_of(b->rows + v, NNF_DEPTHWISE_ROWS + g);
            odd[g] = _mm256_srli_epi32(w[g], 16);
            even[g] = _mm256_slli_epi32(w[g], 16);
        }
        const __m256i pairs[2 * SQUARE_ROWS] = {
            _mm256_or_si256(odd[0], even[1]), w[2], _mm256_or_si256(odd[3], even[4]),
            _mm256_blend_epi16(w[0], w[1], 0xAA), _mm256_and_si256(w[3], low),
            even[0], _mm256_or_si256(odd[1], even[3]),
            w[0], _mm256_or_si256(odd[1], even[2]), w[3],
            _mm256_blend_epi16(w[1], w[2], 0xAA), w[4],
            even[1], _mm256_or_si256(odd[2], even[4])};
#pragma GCC unroll 14
        for (int k = 0; k < 2 * SQUARE_ROWS; k++)
            _mm256_store_si256((__m256i *)(b->weights + k * LANES + v), pairs[k]);
    }
}

/* Two output rows of a full block. */
INLINE void squares(const nnf_depthwise_q8 *p, const block *b, const bool clipped, size_t row, uint8_t *y)
{
    const size_t y0 = row - p->g.y.head, line = p->g.x.out * p->g.channels;
    size_t inner, outer, o = 0;
    nnf_axis_full(&p->g.x, &inner, &outer);
    const bool whole = y0 < p->g.y.size && y0 + 4 <= p->g.y.size;
    for (; o + 1 < p->g.x.out; o += 2) {
        if (whole && o >= inner && o + 2 <= outer)
            square(p, b, true, clipped, y0, o, y);
        else
            square(p, b, false, clipped, y0, o, y);
    }
    for (size_t i = 0; o < p->g.x.out && i < 2; i++)
        tile(p, b, 32, true, true, false, y0 + i, o, y + i * line);
}

static void block_squares(const nnf_depthwise_q8 *p, block *b, size_t row, uint8_t *y)
{
    pair_weights(b);
    if (b->clipped)
        squares(p, b, true, row, y);
    else
        squares(p, b, false, row, y);
}

/* Adds the products of a pair of taps, or of a last one, whose codes are already unsigned. */
INLINE void multiply_pair(__m256i sum[4], __m256i low, __m256i high, const int32_t *w)
{
    const __m256i zero = _mm256_setzero_si256();
    multiply(sum, (const __m256i[2]){_mm256_unpacklo_epi8(low, zero), _mm256_unpackhi_epi8(low, zero)}, w);
    multiply(sum + 2, (const __m256i[2]){_mm256_unpacklo_epi8(high, zero), _mm256_unpackhi_epi8(high, zero)}, w + 16);
}

/* The outputs first..last-1 of a row, 32 channels each, of windows of 3x3: `tile` without its table of taps. `inside`:
 * all their pixels are. */
INLINE void nines(const nnf_depthwise_q8 *p, const block *b, const bool inside, size_t y0, size_t first, size_t last,
                  uint8_t *y)
{
    /* All that the memory barriers below would have the loop read again. */
    const size_t channels = p->g.channels, pixel = p->g.x.dilation * channels;
    const size_t line = p->g.y.dilation * p->g.x.size * channels, step = p->g.x.stride * channels;
    const uint8_t *at = b->x + (y0 * p->g.x.size + first * p->g.x.stride - p->g.x.head) * channels;
    const int32_t *rows = b->rows;
    const __m256i flip = b->flip, zero = _mm256_setzero_si256();
    y += first * channels;
    for (size_t o = first; o < last; o++, at += step, y += channels) {
        const uint8_t *taps[9];
        __m256i sum[4];
#pragma GCC unroll 9
        for (size_t k = 0; k < 9; k++) {
            const size_t down = y0 + k / 3 * p->g.y.dilation;
            const size_t across = o * p->g.x.stride + k % 3 * p->g.x.dilation - p->g.x.head;
            const bool there = inside || (down < p->g.y.size && across < p->g.x.size);
            taps[k] = there ? at + k / 3 * line + k % 3 * pixel : b->zero;
        }
#pragma GCC unroll 4
        for (int v = 0; v < 4; v++)
            sum[v] = row_of(rows + 8 * v, NNF_DEPTHWISE_FOLDED);
        const int32_t *w = rows + NNF_DEPTHWISE_ROWS * LANES;
#pragma GCC unroll 4
        for (int g = 0; g < 4; g++, w += LANES) {
            __asm__ volatile("" : : : "memory"); /* as in `interleave` */
            const __m256i r = _mm256_loadu_si256((const __m256i *)taps[2 * g]);
            const __m256i s = _mm256_loadu_si256((const __m256i *)taps[2 * g + 1]);
            multiply_pair(sum, _mm256_xor_si256(_mm256_unpacklo_epi8(r, s), flip),
                          _mm256_xor_si256(_mm256_unpackhi_epi8(r, s), flip), w);
        }
        const __m256i r = _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)taps[8]), flip);
        multiply_pair(sum, _mm256_unpacklo_epi8(r, zero), _mm256_unpackhi_epi8(r, zero), w);
        _mm256_storeu_si256((__m256i *)y, codes(p, b, sum));
    }
}

/* One output row of a full block, for windows of 3x3. */
static void nine_row(const nnf_depthwise_q8 *p, const block *b, size_t row, uint8_t *y)
{
    const size_t y0 = row * p->g.y.stride - p->g.y.head;
    size_t top, bottom, inner, outer;
    nnf_axis_taps(&p->g.y, row, &top, &bottom);
    nnf_axis_full(&p->g.x, &inner, &outer);
    if (bottom - top < 3)
        inner = outer = p->g.x.out;
    nines(p, b, false, y0, 0, inner, y);
    nines(p, b, true, y0, inner, outer, y);
    nines(p, b, false, y0, outer, p->g.x.out, y);
}

/* One output row of a block. */
INLINE void block_row(const nnf_depthwise_q8 *p, const block *b, const int width, bool full, size_t row, uint8_t *y)
{
    const size_t y0 = row * p->g.y.stride - p->g.y.head, each = (size_t)(LANES / width);
    size_t top, bottom, inner, outer;
    nnf_axis_taps(&p->g.y, row, &top, &bottom);
    nnf_axis_full(&p->g.x, &inner, &outer);
    const bool whole = top == 0 && bottom == p->g.y.taps;
    const size_t below = (p->g.y.taps - 1) * p->g.y.dilation, beside = (p->g.x.taps - 1) * p->g.x.dilation;
    for (size_t o = 0; o < p->g.x.out; o += each) {
        if (!whole || o < inner || o + each > outer)
            tile(p, b, width, full, true, !full, y0, o, y);
        else if (full || (ptrdiff_t)(((y0 + below) * p->g.x.size + (o + each - 1) * p->g.x.stride - p->g.x.head + beside) *
                                     p->g.channels) <= b->last)
            tile(p, b, width, full, false, false, y0, o, y);
        else
            tile(p, b, width, full, false, true, y0, o, y);
    }
}

/* One output row of the block that begins with channel c. */
static void block_any(const nnf_depthwise_q8 *p, const block *b, size_t c, size_t row, uint8_t *y)
{
    const size_t width = nnf_depthwise_width(p, c), rest = p->g.channels - c;
    if (rest >= 32 && p->g.x.taps == 3 && p->g.y.taps == 3)
        nine_row(p, b, row, y);
    else if (rest >= 32)
        block_row(p, b, 32, true, row, y);
    else if (width == 32)
        block_row(p, b, 32, false, row, y);
    else if (rest == 16)
        block_row(p, b, 16, true, row, y);
    else if (width == 16)
        block_row(p, b, 16, false, row, y);
    else if (rest == 8)
        block_row(p, b, 8, true, row, y);
    else
        block_row(p, b, 8, false, row, y);
}

/* Sets what hangs on the block: the one that begins with channel c. */
static void enter(const nnf_depthwise_q8 *p, block *b, size_t c, const uint8_t *x)
{
    const size_t width = nnf_depthwise_width(p, c), rest = p->g.channels - c;
    b->x = x + c;
    b->rows = p->blocks + c * (NNF_DEPTHWISE_ROWS + p->groups);
    b->channels = rest < width ? rest : width;
    b->last = (ptrdiff_t)(p->g.y.size * p->g.x.size * p->g.channels - c) - (ptrdiff_t)width;
    const __m256i more = _mm256_set1_epi64x(INT64_C(1) << 32);
    for (int v = 0; b->clipped && v < LANES; v += 8) {
        const __m256i even = row_of(b->rows + v, NNF_DEPTHWISE_ROUND);
        const __m256i odd = row_of(b->rows + v, NNF_DEPTHWISE_ROUND_ODD);
        const __m256i right = row_of(b->rows + v, NNF_DEPTHWISE_RIGHT);
        __m256i *rows = (__m256i *)(b->scales + v);
        _mm256_store_si256(rows + CLIPPED_ROUND * LANES / 8, _mm256_add_epi64(even, more));
        _mm256_store_si256(rows + CLIPPED_ROUND_ODD * LANES / 8, _mm256_add_epi64(odd, more));
        _mm256_store_si256(rows + CLIPPED_RIGHT * LANES / 8, _mm256_shuffle_epi32(right, _MM_SHUFFLE(3, 1, 2, 0)));
    }
}

static void q8(const nnf_depthwise_q8 *p, size_t first, size_t last, size_t begin, size_t end, const uint8_t *x,
               uint8_t *y, int flip)
{
    block b = {.flip = _mm256_set1_epi8((char)flip), .out_zero = _mm256_set1_epi16((short)(p->small ? 0 : p->out_zero)),
               .lo = _mm256_set1_epi8((char)p->lo), .hi = _mm256_set1_epi8((char)p->hi),
               .clipped = p->small && p->lo >= p->out_zero};
    memset(b.zero, p->in_zero ^ flip, sizeof b.zero);
    const bool squares = p->small && p->g.x.taps == 3 && p->g.y.taps == 3 && p->g.x.stride == 1 &&
                         p->g.y.stride == 1 && p->g.x.dilation == 1 && p->g.y.dilation == 1;
    const size_t line = p->g.x.out * p->g.channels;
    for (size_t row = first, count; row < last; row += count, y += count * line) {
        count = squares && last - row > 1 ? 2 : 1;
        for (size_t c = begin; c < end; c += LANES) {
            enter(p, &b, c, x);
            if (count == 2 && p->g.channels - c >= LANES) {
                block_squares(p, &b, row, y + c);
                continue;
            }
            for (size_t i = 0; i < count; i++)
                block_any(p, &b, c, row + i, y + i * line + c);
        }
    }
}

void nnf_depthwise_conv2d_qu8_nhwc__avx2_1x32k2(const nnf_depthwise_q8 *p, size_t first, size_t last, size_t begin,
                                                size_t end, const uint8_t *x, uint8_t *y)
{
    q8(p, first, last, begin, end, x, y, 0);
}

void nnf_depthwise_conv2d_qs8_nhwc__avx2_1x32k2(const nnf_depthwise_q8 *p, size_t first, size_t last, size_t begin,
                                                size_t end, const uint8_t *x, uint8_t *y)
{
    q8(p, first, last, begin, end, x, y, 128);
}
