#include "depthwise_conv2d.h"

#include <immintrin.h>
#include <stdbool.h>
#include <string.h>

#include "nnf/requantize_avx512.h"
#include "nnf/unroll.h"

#define LANES 64

/* One block of output channels: 64 channels of a pixel, 32 of two pixels or 16 of four. */
typedef struct block {
    const uint8_t *x;     /* first channel of the block, first pixel of the image */
    const int32_t *rows;  /* the packed block */
    __mmask64 channels;   /* those that exist */
    __m512i lo, hi, flip;
    const int32_t *round; /* the rows ROUND and ROUND_ODD; clipped: a copy with the 2^32 that sums of 0 or more add */
    _Alignas(64) int32_t copy[2 * LANES];
    bool is_signed;
    bool clipped;         /* no code below the zero point is left, so that negative sums need no care */
    uint8_t zero[LANES];  /* stands for positions outside of the image */
} block;

/* Address of a tap of the output in row y0 (of the window, in the image) and column `o`. */
INLINE const uint8_t *tap_at(const nnf_depthwise_q8 *p, const block *b, const nnf_depthwise_tap *tap, size_t y0,
                             size_t o)
{
    const size_t y = y0 + (size_t)tap->down, x = o * p->g.x.stride + (size_t)tap->across - p->g.x.head;
    if (y >= p->g.y.size || x >= p->g.x.size || o >= p->g.x.out)
        return b->zero;
    return b->x + (y * p->g.x.size + x) * p->g.channels;
}

/* The codes of one tap for the pixels of a block: `start` is the first tap of column `o`, which is inside the image
 * unless `border`. `flip` is a constant except at the border, where b->flip decides. */
INLINE __m512i load(const nnf_depthwise_q8 *p, const block *b, const int width, bool full, bool border, bool flip,
                    const nnf_depthwise_tap *tap, const uint8_t *start, size_t y0, size_t o)
{
    const size_t outputs = p->outputs, step = outputs * p->g.x.stride * p->g.channels;
    const uint8_t *at[4];
#pragma GCC unroll 4
    for (int s = 0; s < LANES / width; s++)
        at[s] = border ? tap_at(p, b, tap, y0, o + (size_t)s * outputs) : start + tap->offset + (size_t)s * step;
    __m512i v;
    if (width == 64) {
        v = full ? _mm512_loadu_si512(at[0]) : _mm512_maskz_loadu_epi8(b->channels, at[0]);
    } else if (width == 32 && full) {
        v = _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)at[0])),
                               _mm256_loadu_si256((const __m256i *)at[1]), 1);
    } else if (width == 32) {
        const __mmask32 m = (__mmask32)b->channels;
        v = _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_maskz_loadu_epi8(m, at[0])),
                               _mm256_maskz_loadu_epi8(m, at[1]), 1);
    } else if (full) {
        v = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)at[0]));
        v = _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i *)at[1]), 1);
        v = _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i *)at[2]), 2);
        v = _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i *)at[3]), 3);
    } else {
        const __mmask16 m = (__mmask16)b->channels;
        v = _mm512_castsi128_si512(_mm_maskz_loadu_epi8(m, at[0]));
        v = _mm512_inserti32x4(v, _mm_maskz_loadu_epi8(m, at[1]), 1);
        v = _mm512_inserti32x4(v, _mm_maskz_loadu_epi8(m, at[2]), 2);
        v = _mm512_inserti32x4(v, _mm_maskz_loadu_epi8(m, at[3]), 3);
    }
    if (border)
        return _mm512_xor_si512(v, b->flip);
    return flip ? _mm512_xor_si512(v, _mm512_set1_epi8(-128)) : v;
}

/* Scale, zero point and shift of small sums, by the formula in depthwise_conv2d.h; neighbouring outputs share what is
 * loaded. Clipped: the formula of sums of 0 or more takes no negative sum above the zero point, where it is clamped. */
INLINE void scale_small(const block *b, const bool clipped, __m512i sum[][4], const int outputs, const int v)
{
    const int32_t *rows = b->rows + 16 * v;
    const __m512i twice = _mm512_load_si512(rows + NNF_DEPTHWISE_DOUBLE * LANES);
    const __m512i twice_odd = _mm512_load_si512(rows + NNF_DEPTHWISE_DOUBLE_ODD * LANES);
    const __m512i round = _mm512_load_si512(b->round + 16 * v);
    const __m512i round_odd = _mm512_load_si512(b->round + LANES + 16 * v);
    const __m512i right = _mm512_load_si512(rows + NNF_DEPTHWISE_RIGHT * LANES);
#pragma GCC unroll 4
    for (int i = 0; i < outputs; i++) {
        const __m512i x = sum[i][v];
        const __m512i even = _mm512_add_epi64(_mm512_mul_epu32(x, twice), round);
        const __m512i odd = _mm512_add_epi64(_mm512_mul_epu32(_mm512_srli_epi64(x, 32), twice_odd), round_odd);
        __m512i high = _mm512_mask_shuffle_epi32(odd, 0x5555, even, (_MM_PERM_ENUM)0xF5);
        if (!clipped)
            high = _mm512_add_epi32(high, _mm512_srli_epi32(x, 31));
        sum[i][v] = _mm512_srav_epi32(high, right);
    }
}

INLINE void scale_all(const block *b, __m512i sum[][4], const int outputs)
{
    const block *one = b, *other = b;
    __asm__("" : "+r"(one), "+r"(other)); /* else both scales' operands are loaded before the branch, and spilled */
    if (b->clipped) {
#pragma GCC unroll 4
        for (int v = 0; v < 4; v++)
            scale_small(one, true, sum, outputs, v);
    } else {
#pragma GCC unroll 4
        for (int v = 0; v < 4; v++)
            scale_small(other, false, sum, outputs, v);
    }
}

/* Any sums and exponents. */
INLINE __m512i scale_any(__m512i x, const int32_t *rows, int32_t out_zero)
{
    x = nnf_mbqm_avx512(x, _mm512_load_si512(rows + NNF_DEPTHWISE_MULTIPLIER * LANES),
                        _mm512_load_si512(rows + NNF_DEPTHWISE_LEFT * LANES),
                        _mm512_load_si512(rows + NNF_DEPTHWISE_RIGHT * LANES));
    /* Far beyond any code, and safe to add to. */
    x = _mm512_max_epi32(_mm512_min_epi32(x, _mm512_set1_epi32(1000)), _mm512_set1_epi32(-1000));
    return _mm512_add_epi32(x, _mm512_set1_epi32(out_zero));
}

/* Codes of 64 scaled sums; saturation to 16 and 8 bits does not disturb a clamp that lies within 0..255. */
INLINE __m512i codes(const block *b, const __m512i x[4])
{
    __m512i code = _mm512_packus_epi16(_mm512_packs_epi32(x[0], x[1]), _mm512_packs_epi32(x[2], x[3]));
    code = _mm512_min_epu8(_mm512_max_epu8(code, b->lo), b->hi);
    return _mm512_xor_si512(code, b->flip);
}

/* Writes the pixels of a block that exist: columns o, o + apart, ... below `end`. */
INLINE void store(const block *b, const int width, bool full, __m512i code, uint8_t *y, size_t channels, size_t o,
                  size_t apart, size_t end)
{
    if (width == 64) {
        if (o >= end)
            return;
        if (full)
            _mm512_storeu_si512(y + o * channels, code);
        else
            _mm512_mask_storeu_epi8(y + o * channels, b->channels, code);
    } else if (width == 32 && full && o + apart < end) {
        _mm256_storeu_si256((__m256i *)(y + o * channels), _mm512_castsi512_si256(code));
        _mm256_storeu_si256((__m256i *)(y + (o + apart) * channels), _mm512_extracti64x4_epi64(code, 1));
    } else if (width == 32) {
        if (o < end)
            _mm256_mask_storeu_epi8(y + o * channels, (__mmask32)b->channels, _mm512_castsi512_si256(code));
        if (o + apart < end)
            _mm256_mask_storeu_epi8(y + (o + apart) * channels, (__mmask32)b->channels,
                                    _mm512_extracti64x4_epi64(code, 1));
    } else {
        const __mmask16 m = (__mmask16)b->channels;
        if (o < end)
            _mm_mask_storeu_epi8(y + o * channels, m, _mm512_castsi512_si128(code));
        if (o + apart < end)
            _mm_mask_storeu_epi8(y + (o + apart) * channels, m, _mm512_extracti32x4_epi32(code, 1));
        if (o + 2 * apart < end)
            _mm_mask_storeu_epi8(y + (o + 2 * apart) * channels, m, _mm512_extracti32x4_epi32(code, 2));
        if (o + 3 * apart < end)
            _mm_mask_storeu_epi8(y + (o + 3 * apart) * channels, m, _mm512_extracti32x4_epi32(code, 3));
    }
}

/* The four taps of a channel side by side. */
INLINE void interleave(const __m512i tap[4], __m512i x[4])
{
    const __m512i a = _mm512_unpacklo_epi8(tap[0], tap[1]), c = _mm512_unpackhi_epi8(tap[0], tap[1]);
    const __m512i d = _mm512_unpacklo_epi8(tap[2], tap[3]), e = _mm512_unpackhi_epi8(tap[2], tap[3]);
    x[0] = _mm512_unpacklo_epi16(a, d);
    x[1] = _mm512_unpackhi_epi16(a, d);
    x[2] = _mm512_unpacklo_epi16(c, e);
    x[3] = _mm512_unpackhi_epi16(c, e);
}

/* Adds the products of two neighbouring outputs with weights of one part. */
INLINE void multiply(__m512i sum[2][4], const __m512i x[4], const int32_t *w)
{
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) {
#pragma GCC unroll 4
        for (int v = 0; v < 4; v++)
            sum[i][v] = _mm512_dpbusd_epi32(sum[i][v], x[v], _mm512_loadu_si512(w + LANES * i + 16 * v));
    }
}

/* `outputs` neighbouring outputs of each pixel of the block, beginning at column o. */
INLINE void tile(const nnf_depthwise_q8 *p, const block *b, const int width, bool full, bool border, bool small,
                 bool flip, const int outputs, const bool single, size_t y0, size_t o, uint8_t *y)
{
    const uint8_t *start =
        border ? NULL : b->x + (y0 * p->g.x.size + o * p->g.x.stride - p->g.x.head) * p->g.channels;
    const int32_t *w = b->rows + NNF_DEPTHWISE_ROWS * LANES;
    const size_t parts = single ? 1 : p->parts;
    __m512i sum[2][4];
#pragma GCC unroll 2
    for (int i = 0; i < outputs; i++) {
#pragma GCC unroll 4
        for (int v = 0; v < 4; v++)
            sum[i][v] = _mm512_loadu_si512(b->rows + NNF_DEPTHWISE_FOLDED * LANES + 16 * v);
    }
    for (size_t g = 0; g < p->groups; g++) {
        __m512i tap[4], x[4];
#pragma GCC unroll 4
        for (int t = 0; t < 4; t++)
            tap[t] = load(p, b, width, full, border, flip, p->taps + 4 * g + t, start, y0, o);
        interleave(tap, x);
#pragma GCC unroll 2
        for (int i = 0; i < outputs; i++) {
            for (size_t part = 0; part < parts; part++, w += LANES) {
#pragma GCC unroll 4
                for (int v = 0; v < 4; v++)
                    sum[i][v] = _mm512_dpbusd_epi32(sum[i][v], x[v], _mm512_loadu_si512(w + 16 * v));
            }
        }
    }
    if (small)
        scale_all(b, sum, outputs);
#pragma GCC unroll 4
    for (int v = 0; v < 4 && !small; v++) {
#pragma GCC unroll 2
        for (int i = 0; i < outputs; i++)
            sum[i][v] = scale_any(sum[i][v], b->rows + 16 * v, p->out_zero);
    }
#pragma GCC unroll 2
    for (int i = 0; i < outputs; i++)
        store(b, width, full, codes(b, sum[i]), y, p->g.channels, o + (size_t)i, (size_t)outputs, p->g.x.out);
}

/* Tiles that touch a border, have rare scales or a block of fewer channels than its width: one function for all of
 * them at each width, since they are few and every copy costs code. */
INLINE void edge(const nnf_depthwise_q8 *p, const block *b, const int width, size_t y0, size_t o, uint8_t *y)
{
    if (p->outputs == 2)
        tile(p, b, width, false, true, p->small, false, 2, false, y0, o, y);
    else
        tile(p, b, width, false, true, p->small, false, 1, false, y0, o, y);
}

static void edge_64(const nnf_depthwise_q8 *p, const block *b, size_t y0, size_t o, uint8_t *y)
{
    edge(p, b, 64, y0, o, y);
}

static void edge_32(const nnf_depthwise_q8 *p, const block *b, size_t y0, size_t o, uint8_t *y)
{
    edge(p, b, 32, y0, o, y);
}

static void edge_16(const nnf_depthwise_q8 *p, const block *b, size_t y0, size_t o, uint8_t *y)
{
    edge(p, b, 16, y0, o, y);
}

/* Two neighbouring outputs of each pixel of a full block in each of `rows` neighbouring output rows, for windows of
 * 3x3: the interleaved taps of an image row serve the windows of all of them. `columns`: of the four under a row's
 * windows those inside of the image, by their bits; `inside`: all are, and all rows. */
INLINE void square(const nnf_depthwise_q8 *p, const block *b, const int width, const bool flip, const int rows,
                   const bool inside, const int columns, size_t y0, size_t o, uint8_t *y)
{
    const size_t line = p->g.x.size * p->g.channels;
    const uint8_t *start = b->x + y0 * line + (o - p->g.x.head) * p->g.channels;
    const int32_t *w = b->rows + NNF_DEPTHWISE_ROWS * LANES;
    __m512i sum[4][4];
#pragma GCC unroll 4
    for (int i = 0; i < 2 * rows; i++) {
#pragma GCC unroll 4
        for (int v = 0; v < 4; v++)
            sum[i][v] = _mm512_loadu_si512(b->rows + NNF_DEPTHWISE_FOLDED * LANES + 16 * v);
    }
#pragma GCC unroll 4
    for (int r = 0; r < rows + 2; r++, start += line, w += 2 * LANES) {
        const __m512i outside = _mm512_set1_epi8((char)p->in_zero);
        __m512i x[4] = {outside, outside, outside, outside};
        if (inside || y0 + (size_t)r < p->g.y.size) {
            __m512i tap[4];
#pragma GCC unroll 4
            for (int t = 0; t < 4; t++) {
                tap[t] = outside;
                if (inside || columns >> t & 1)
                    tap[t] = load(p, b, width, true, false, flip, p->taps + t, start, y0, o);
            }
            interleave(tap, x);
        }
        if (r < 3)
            multiply(sum, x, w);
        if (rows == 2 && r)
            multiply(sum + 2, x, w - 2 * LANES);
    }
    scale_all(b, sum, 2 * rows);
#pragma GCC unroll 4
    for (int i = 0; i < 2 * rows; i++)
        store(b, width, true, codes(b, sum[i]), y + (size_t)(i / 2) * p->g.x.out * p->g.channels, p->g.channels,
              o + (size_t)(i % 2), 2, p->g.x.out);
}

/* The same for 64 channels at a border. */
static void square_edge(const nnf_depthwise_q8 *p, const block *b, int rows, size_t y0, size_t o, uint8_t *y)
{
    int columns = 0;
    for (size_t t = 0; t < 4; t++)
        columns |= (o + t - p->g.x.head < p->g.x.size) << t;
    if (b->is_signed && rows == 2)
        square(p, b, 64, true, 2, false, columns, y0, o, y);
    else if (b->is_signed)
        square(p, b, 64, true, 1, false, columns, y0, o, y);
    else if (rows == 2)
        square(p, b, 64, false, 2, false, columns, y0, o, y);
    else
        square(p, b, 64, false, 1, false, columns, y0, o, y);
}

/* One or two output rows of a full block. */
INLINE void block_squares(const nnf_depthwise_q8 *p, const block *b, const int width, const bool flip, const int rows,
                          size_t row, uint8_t *y)
{
    const size_t y0 = row - p->g.y.head, each = (size_t)(2 * LANES / width), line = p->g.x.out * p->g.channels;
    size_t inner, outer;
    nnf_axis_full(&p->g.x, &inner, &outer);
    const bool whole = y0 < p->g.y.size && y0 + (size_t)rows + 2 <= p->g.y.size;
    for (size_t o = 0; o < p->g.x.out; o += each) {
        if (whole && o >= inner && o + each <= outer)
            square(p, b, width, flip, rows, true, 15, y0, o, y);
        else if (width == 64)
            square_edge(p, b, rows, y0, o, y);
        else
            for (size_t i = 0; i < (size_t)rows; i++)
                (width == 32 ? edge_32 : edge_16)(p, b, y0 + i, o, y + i * line);
    }
}

/* One output row of a block; `fast`: whole tiles may take the fast path. */
INLINE void block_row(const nnf_depthwise_q8 *p, const block *b, const int width, const bool fast, bool flip,
                      const int outputs, const bool single, size_t row, uint8_t *y)
{
    const size_t y0 = row * p->g.y.stride - p->g.y.head, each = (size_t)LANES / (size_t)width * p->outputs;
    size_t top, bottom, inner, outer;
    nnf_axis_taps(&p->g.y, row, &top, &bottom);
    nnf_axis_full(&p->g.x, &inner, &outer);
    const bool whole = fast && top == 0 && bottom == p->g.y.taps;
    for (size_t o = 0; o < p->g.x.out; o += each) {
        if (whole && o >= inner && o + each <= outer)
            tile(p, b, width, true, false, true, flip, outputs, single, y0, o, y);
        else if (width == 64)
            edge_64(p, b, y0, o, y);
        else if (width == 32)
            edge_32(p, b, y0, o, y);
        else
            edge_16(p, b, y0, o, y);
    }
}

INLINE void block_wide(const nnf_depthwise_q8 *p, const block *b, const int width, bool full, bool flip, size_t row,
                       uint8_t *y)
{
    if (!full || !p->small)
        block_row(p, b, width, false, flip, 1, false, row, y);
    else if (p->parts == 1 && p->outputs == 2)
        block_row(p, b, width, true, flip, 2, true, row, y);
    else if (p->parts == 1)
        block_row(p, b, width, true, flip, 1, true, row, y);
    else if (p->outputs == 2)
        block_row(p, b, width, true, flip, 2, false, row, y);
    else
        block_row(p, b, width, true, flip, 1, false, row, y);
}

/* One output row of the block that begins with channel c. */
INLINE void block_any(const nnf_depthwise_q8 *p, const block *b, size_t c, bool flip, size_t row, uint8_t *y)
{
    const size_t width = nnf_depthwise_width(p, c), rest = p->g.channels - c;
    if (rest >= 64)
        block_wide(p, b, 64, true, flip, row, y);
    else if (width == 64)
        block_wide(p, b, 64, false, flip, row, y);
    else if (rest == 32)
        block_wide(p, b, 32, true, flip, row, y);
    else if (width == 32)
        block_wide(p, b, 32, false, flip, row, y);
    else if (rest == 16)
        block_wide(p, b, 16, true, flip, row, y);
    else
        block_wide(p, b, 16, false, flip, row, y);
}

/* Sets what hangs on the block: the one that begins with channel c. */
INLINE void enter(const nnf_depthwise_q8 *p, block *b, size_t c, const uint8_t *x)
{
    const size_t rest = p->g.channels - c;
    const __m512i more = _mm512_set1_epi64(INT64_C(1) << 32);
    b->x = x + c;
    b->rows = p->blocks + c * (NNF_DEPTHWISE_ROWS + p->groups * p->parts * p->outputs);
    b->channels = rest >= 64 ? ~(__mmask64)0 : ((__mmask64)1 << rest) - 1;
    b->round = b->rows + NNF_DEPTHWISE_ROUND * LANES;
    if (b->clipped) {
        for (int i = 0; i < 2 * LANES; i += 16)
            _mm512_store_si512(b->copy + i, _mm512_add_epi64(_mm512_load_si512(b->round + i), more));
        b->round = b->copy;
    }
}

INLINE void q8(const nnf_depthwise_q8 *p, size_t first, size_t last, size_t begin, size_t end, const uint8_t *x,
               uint8_t *y, const bool flip)
{
    block b = {.is_signed = flip, .clipped = p->lo >= p->out_zero,
               .lo = _mm512_set1_epi8((char)p->lo), .hi = _mm512_set1_epi8((char)p->hi),
               .flip = flip ? _mm512_set1_epi8(-128) : _mm512_setzero_si512()};
    memset(b.zero, p->in_zero ^ (flip ? 128 : 0), sizeof b.zero);
    const bool squares = p->small && p->parts == 1 && p->outputs == 2 && p->g.x.taps == 3 && p->g.y.taps == 3 &&
                         p->g.y.stride == 1 && p->g.y.dilation == 1;
    const size_t line = p->g.x.out * p->g.channels;
    for (size_t row = first, count; row < last; row += count, y += count * line) {
        count = squares && last - row > 1 ? 2 : 1;
        for (size_t c = begin; c < end; c += LANES) {
            enter(p, &b, c, x);
            const size_t rest = p->g.channels - c;
            const bool done = squares && (rest >= 64 || (count == 2 && (rest == 32 || rest == 16)));
            if (done && rest >= 64 && count == 2)
                block_squares(p, &b, 64, flip, 2, row, y + c);
            else if (done && rest >= 64)
                block_squares(p, &b, 64, flip, 1, row, y + c);
            else if (done && rest == 32)
                block_squares(p, &b, 32, flip, 2, row, y + c);
            else if (done)
                block_squares(p, &b, 16, flip, 2, row, y + c);
            for (size_t i = 0; !done && i < count; i++)
                block_any(p, &b, c, flip, row + i, y + i * line + c);
        }
    }
}

void nnf_depthwise_conv2d_qu8_nhwc__avx512vnni_1x64k4(const nnf_depthwise_q8 *p, size_t first, size_t last,
                                                      size_t begin, size_t end, const uint8_t *x, uint8_t *y)
{
    q8(p, first, last, begin, end, x, y, false);
}

void nnf_depthwise_conv2d_qs8_nhwc__avx512vnni_1x64k4(const nnf_depthwise_q8 *p, size_t first, size_t last,
                                                      size_t begin, size_t end, const uint8_t *x, uint8_t *y)
{
    q8(p, first, last, begin, end, x, y, true);
}
