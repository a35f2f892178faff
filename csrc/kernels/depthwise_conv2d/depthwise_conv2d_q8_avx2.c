#include "depthwise_conv2d.h"

#include <immintrin.h>
#include <stdbool.h>
#include <string.h>

#include "nnf/requantize_avx2.h"

#define INLINE static inline __attribute__((always_inline))
#define LANES 32

/* One block of output channels: 32 channels of a pixel, 16 of two or 8 of four. */
typedef struct block {
    const uint8_t *x;    /* first channel of the block, first pixel of the image */
    const int32_t *rows; /* the packed block */
    size_t channels;     /* those that exist */
    ptrdiff_t last;      /* where from x the last vector of `width` channels begins that the image has whole */
    __m256i flip, out_zero, lo, hi;
    uint8_t zero[LANES]; /* stands for positions outside of the image */
} block;

/* As in the VNNI file. */
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

/* As in the VNNI file, on 8 lanes. */
INLINE __m256i scale_small(__m256i x, const int32_t *rows)
{
    __m256i even = _mm256_mul_epu32(x, row_of(rows, NNF_DEPTHWISE_DOUBLE));
    __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(x, 32), row_of(rows, NNF_DEPTHWISE_DOUBLE_ODD));
    even = _mm256_srli_epi64(_mm256_add_epi64(even, row_of(rows, NNF_DEPTHWISE_ROUND)), 32);
    odd = _mm256_add_epi64(odd, row_of(rows, NNF_DEPTHWISE_ROUND_ODD));
    x = _mm256_add_epi32(_mm256_blend_epi32(even, odd, 0xAA), _mm256_srli_epi32(x, 31));
    return _mm256_srav_epi32(x, row_of(rows, NNF_DEPTHWISE_RIGHT));
}

INLINE __m256i scale(__m256i x, const int32_t *rows)
{
    return nnf_mbqm_avx2(x, row_of(rows, NNF_DEPTHWISE_MULTIPLIER), row_of(rows, NNF_DEPTHWISE_LEFT),
                         row_of(rows, NNF_DEPTHWISE_RIGHT));
}

/* Codes of 32 sums; saturation to 16 and 8 bits does not disturb a clamp that lies within 0..255. */
INLINE __m256i codes(const nnf_depthwise_q8 *p, const block *b, const __m256i sum[4])
{
    __m256i x[4];
    if (p->small) {
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
    return _mm256_xor_si256(_mm256_min_epu8(_mm256_max_epu8(code, b->lo), b->hi), b->flip);
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

static void q8(const nnf_depthwise_q8 *p, size_t first, size_t last, size_t begin, size_t end, const uint8_t *x,
               uint8_t *y, int flip)
{
    const size_t rows = NNF_DEPTHWISE_ROWS + p->groups, image = p->g.y.size * p->g.x.size * p->g.channels;
    block b = {.flip = _mm256_set1_epi8((char)flip), .out_zero = _mm256_set1_epi16((short)(p->small ? 0 : p->out_zero)),
               .lo = _mm256_set1_epi8((char)p->lo), .hi = _mm256_set1_epi8((char)p->hi)};
    memset(b.zero, p->in_zero ^ flip, sizeof b.zero);
    for (size_t row = first; row < last; row++, y += p->g.x.out * p->g.channels) {
        for (size_t c = begin; c < end; c += LANES) {
            const size_t width = nnf_depthwise_width(p, c), rest = p->g.channels - c;
            b.x = x + c;
            b.rows = p->blocks + c * rows;
            b.channels = rest < width ? rest : width;
            b.last = (ptrdiff_t)(image - c) - (ptrdiff_t)width;
            if (rest >= 32)
                block_row(p, &b, 32, true, row, y + c);
            else if (width == 32)
                block_row(p, &b, 32, false, row, y + c);
            else if (rest == 16)
                block_row(p, &b, 16, true, row, y + c);
            else if (width == 16)
                block_row(p, &b, 16, false, row, y + c);
            else if (rest == 8)
                block_row(p, &b, 8, true, row, y + c);
            else
                block_row(p, &b, 8, false, row, y + c);
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
