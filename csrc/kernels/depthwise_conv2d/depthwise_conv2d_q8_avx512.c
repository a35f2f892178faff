#include "depthwise_conv2d_q8_avx512.h"

/* Rows of a block's weights for `square`, of each of two neighbouring outputs; as at AVX2. */
enum { ACROSS = 0, DOWN = 3, SQUARE_ROWS = 7 };

/* Two taps of a channel side by side, widened to 16 bits. */
INLINE void interleave(__m512i first, __m512i second, __m512i x[4])
{
    const __m512i zero = _mm512_setzero_si512();
    const __m512i low = _mm512_unpacklo_epi8(first, second), high = _mm512_unpackhi_epi8(first, second);
    x[0] = _mm512_unpacklo_epi8(low, zero);
    x[1] = _mm512_unpackhi_epi8(low, zero);
    x[2] = _mm512_unpacklo_epi8(high, zero);
    x[3] = _mm512_unpackhi_epi8(high, zero);
}

/* Adds the products of a pair of taps. */
INLINE void multiply(__m512i sum[4], const __m512i x[4], const int32_t *w)
{
#pragma GCC unroll 4
    for (int v = 0; v < 4; v++) {
        sum[v] = _mm512_add_epi32(sum[v], _mm512_madd_epi16(x[v], _mm512_load_si512(w + 16 * v)));
        __asm__("" : "+v"(sum[v])); /* else the sums become trees, whose leaves are spilled */
    }
}

INLINE void begin_sums(const block *b, __m512i sum[4])
{
#pragma GCC unroll 4
    for (int v = 0; v < 4; v++)
        sum[v] = _mm512_load_si512(b->rows + NNF_DEPTHWISE_FOLDED * LANES + 16 * v);
}

/* One output of each pixel of the block, beginning at column o. */
INLINE void tile(const nnf_depthwise_q8 *p, const block *b, const int width, bool full, bool border, bool small,
                 bool flip, size_t y0, size_t o, uint8_t *y)
{
    const uint8_t *start =
        border ? NULL : b->x + (y0 * p->g.x.size + o * p->g.x.stride - p->g.x.head) * p->g.channels;
    const int32_t *w = b->rows + NNF_DEPTHWISE_ROWS * LANES;
    __m512i sum[1][4];
    begin_sums(b, sum[0]);
    for (size_t g = 0; g < p->groups; g++, w += LANES) {
        __m512i x[4];
        interleave(load(p, b, width, full, border, flip, 1, p->taps + 2 * g, start, y0, o),
                   load(p, b, width, full, border, flip, 1, p->taps + 2 * g + 1, start, y0, o), x);
        multiply(sum[0], x, w);
    }
    scale_codes(p, b, small, sum, 1);
    store(b, width, full, codes(b, sum[0]), y, p->g.channels, o, 1, p->g.x.out);
}

/* The same of a dense image. */
INLINE void tile_dense(const nnf_depthwise_q8 *p, const block *b, bool border, bool small, bool flip, size_t y0,
                       size_t o, uint8_t *y)
{
    const int32_t *w = b->rows + NNF_DEPTHWISE_ROWS * LANES;
    __m512i sum[1][4];
    begin_sums(b, sum[0]);
    for (size_t g = 0; g < p->groups; g++, w += LANES) {
        __m512i x[4];
        interleave(load_dense(p, b, border, flip, p->taps + 2 * g, y0, o),
                   load_dense(p, b, border, flip, p->taps + 2 * g + 1, y0, o), x);
        multiply(sum[0], x, w);
    }
    scale_codes(p, b, small, sum, 1);
    store_dense(codes(b, sum[0]), y, o, p->g.x.out);
}

/* Tiles that touch a border, have rare scales or a block of fewer channels than its width. */
static void edge(const nnf_depthwise_q8 *p, const block *b, int width, size_t y0, size_t o, uint8_t *y)
{
    if (width == 64)
        tile(p, b, 64, false, true, p->small, false, y0, o, y);
    else if (width == 32)
        tile(p, b, 32, false, true, p->small, false, y0, o, y);
    else if (width == 16)
        tile(p, b, 16, false, true, p->small, false, y0, o, y);
    else
        tile(p, b, 8, false, true, p->small, false, y0, o, y);
}

static void edge_dense(const nnf_depthwise_q8 *p, const block *b, size_t y0, size_t o, uint8_t *y)
{
    tile_dense(p, b, true, p->small, false, y0, o, y);
}

/* One output row of a block. */
INLINE void block_row(const nnf_depthwise_q8 *p, const block *b, const int width, bool fast, bool flip, size_t row,
                      uint8_t *y)
{
    const size_t y0 = row * p->g.y.stride - p->g.y.head, each = (size_t)LANES / (size_t)width;
    size_t top, bottom, inner, outer;
    nnf_axis_taps(&p->g.y, row, &top, &bottom);
    nnf_axis_full(&p->g.x, &inner, &outer);
    const bool whole = fast && top == 0 && bottom == p->g.y.taps;
    for (size_t o = 0; o < p->g.x.out; o += each) {
        const bool inside = whole && o >= inner && o + each <= outer;
        if (width == 8 && is_dense(p) && inside)
            tile_dense(p, b, false, true, flip, y0, o, y);
        else if (width == 8 && is_dense(p))
            edge_dense(p, b, y0, o, y);
        else if (inside)
            tile(p, b, width, true, false, true, flip, y0, o, y);
        else
            edge(p, b, width, y0, o, y);
    }
}

/* Codes of the pixels in row r and column c of four under two windows; the pixels of a block lie two outputs apart. */
INLINE __m512i under(const nnf_depthwise_q8 *p, const block *b, const int width, const bool inside, const bool flip,
                     size_t y, size_t x)
{
    const uint8_t *at[8];
#pragma GCC unroll 4
    for (size_t s = 0; s < (size_t)(LANES / width); s++) {
        const bool there = inside || (y < p->g.y.size && x + 2 * s < p->g.x.size);
        at[s] = there ? b->x + (y * p->g.x.size + x + 2 * s) * p->g.channels : b->zero;
    }
    const __m512i v = pixels(b, width, true, at);
    if (!inside)
        return _mm512_xor_si512(v, b->flip);
    return flip ? _mm512_xor_si512(v, _mm512_set1_epi8(-128)) : v;
}

/* Two neighbouring outputs of each pixel of a full block in each of two neighbouring output rows, for windows of 3x3 at
 * stride 1 and small sums: a pair of taps serves two outputs, or four in the middle columns. `inside`: all pixels are. */
INLINE void square(const nnf_depthwise_q8 *p, const block *b, const int32_t *pairs, const int width, const bool inside,
                   const bool flip, size_t y0, size_t o, uint8_t *y)
{
    const size_t x0 = o - p->g.x.head;
    __m512i sum[4][4], x[4]; /* of output row i and output j at 2 i + j */
#pragma GCC unroll 4
    for (int k = 0; k < 4; k++)
        begin_sums(b, sum[k]);
#pragma GCC unroll 4
    for (size_t r = 0; r < 4; r++) {
        interleave(under(p, b, width, inside, flip, y0 + r, x0 + 1), under(p, b, width, inside, flip, y0 + r, x0 + 2), x);
#pragma GCC unroll 2
        for (size_t j = 0; j < 2; j++) {
            const int32_t *across = pairs + (j * SQUARE_ROWS + ACROSS + r) * LANES;
            if (r < 3)
                multiply(sum[j], x, across);
            if (r > 0)
                multiply(sum[2 + j], x, across - LANES);
        }
    }
#pragma GCC unroll 4
    for (size_t k = 0; k < 4; k++) {
        const size_t j = k / 2, s = k % 2;
        interleave(under(p, b, width, inside, flip, y0 + 2 * s, x0 + 3 * j),
                   under(p, b, width, inside, flip, y0 + 2 * s + 1, x0 + 3 * j), x);
#pragma GCC unroll 2
        for (size_t i = 0; i < 2; i++)
            multiply(sum[2 * i + j], x, pairs + (j * SQUARE_ROWS + DOWN + 2 * i + s) * LANES);
    }
    scale_all(b, sum, 4);
#pragma GCC unroll 4
    for (size_t k = 0; k < 4; k++)
        store(b, width, true, codes(b, sum[k]), y + k / 2 * p->g.x.out * p->g.channels, p->g.channels, o + k % 2, 2,
              p->g.x.out);
}

static void square_edge(const nnf_depthwise_q8 *p, const block *b, const int32_t *pairs, int width, size_t y0, size_t o,
                        uint8_t *y)
{
    if (width == 64)
        square(p, b, pairs, 64, false, false, y0, o, y);
    else if (width == 32)
        square(p, b, pairs, 32, false, false, y0, o, y);
    else
        square(p, b, pairs, 16, false, false, y0, o, y);
}

/* Pairs the taps of a block, (0 1) (2 3) ... of the 9 in its pack, as `square` wants them. */
static void pair_weights(const block *b, int32_t *pairs)
{
    const __m512i low = _mm512_set1_epi32(0xFFFF);
    for (int v = 0; v < LANES; v += 16) {
        __m512i w[5], odd[5], even[5]; /* odd: the second tap of a pair as a first one; even: the first as a second */
#pragma GCC unroll 5
        for (int g = 0; g < 5; g++) {
            w[g] = _mm512_load_si512(b->rows + (NNF_DEPTHWISE_ROWS + g) * LANES + v);
            odd[g] = _mm512_srli_epi32(w[g], 16);
            even[g] = _mm512_slli_epi32(w[g], 16);
        }
        const __m512i rows[2 * SQUARE_ROWS] = {
            _mm512_or_si512(odd[0], even[1]), w[2], _mm512_or_si512(odd[3], even[4]),
            _mm512_mask_blend_epi16(0xAAAAAAAA, w[0], w[1]), _mm512_and_si512(w[3], low),
            even[0], _mm512_or_si512(odd[1], even[3]),
            w[0], _mm512_or_si512(odd[1], even[2]), w[3],
            _mm512_mask_blend_epi16(0xAAAAAAAA, w[1], w[2]), w[4],
            even[1], _mm512_or_si512(odd[2], even[4])};
#pragma GCC unroll 14
        for (int k = 0; k < 2 * SQUARE_ROWS; k++)
            _mm512_store_si512(pairs + k * LANES + v, rows[k]);
    }
}

/* Two output rows of a full block. */
INLINE void block_squares(const nnf_depthwise_q8 *p, const block *b, const int32_t *pairs, const int width,
                          const bool flip, size_t row, uint8_t *y)
{
    const size_t y0 = row - p->g.y.head, each = (size_t)(2 * LANES / width);
    size_t inner, outer;
    nnf_axis_full(&p->g.x, &inner, &outer);
    const bool whole = y0 < p->g.y.size && y0 + 4 <= p->g.y.size;
    for (size_t o = 0; o < p->g.x.out; o += each) {
        if (whole && o >= inner && o + each <= outer)
            square(p, b, pairs, width, true, flip, y0, o, y);
        else
            square_edge(p, b, pairs, width, y0, o, y);
    }
}

/* `count` output rows of a block of `width` channels; full: it has so many. */
INLINE void block_rows(const nnf_depthwise_q8 *p, const block *b, const int32_t *pairs, const int width, bool full,
                       bool flip, size_t row, size_t count, uint8_t *y)
{
    if (full && pairs && width > 8) {
        block_squares(p, b, pairs, width, flip, row, y);
        return;
    }
    for (size_t i = 0; i < count; i++)
        block_row(p, b, width, full && p->small, flip, row + i, y + i * p->g.x.out * p->g.channels);
}

INLINE void q8(const nnf_depthwise_q8 *p, size_t first, size_t last, size_t begin, size_t end, const uint8_t *x,
               uint8_t *y, const bool flip)
{
    _Alignas(64) int32_t pairs[2 * SQUARE_ROWS * LANES];
    block b = begin_block(p, flip);
    const bool squares = p->small && p->g.x.taps == 3 && p->g.y.taps == 3 && p->g.x.stride == 1 &&
                         p->g.y.stride == 1 && p->g.x.dilation == 1 && p->g.y.dilation == 1;
    const size_t line = p->g.x.out * p->g.channels;
    for (size_t row = first, count; row < last; row += count, y += count * line) {
        count = squares && last - row > 1 ? 2 : 1;
        const int32_t *found = count == 2 ? pairs : NULL;
        for (size_t c = begin; c < end; c += LANES) {
            const size_t width = nnf_depthwise_width(p, c);
            const bool full = p->g.channels - c >= width;
            enter(p, &b, c, x);
            if (found && full && width > 8)
                pair_weights(&b, pairs);
            if (width == 64)
                block_rows(p, &b, found, 64, full, flip, row, count, y + c);
            else if (width == 32)
                block_rows(p, &b, found, 32, full, flip, row, count, y + c);
            else if (width == 16)
                block_rows(p, &b, found, 16, full, flip, row, count, y + c);
            else
                block_rows(p, &b, NULL, 8, full, flip, row, count, y + c);
        }
    }
}

void nnf_depthwise_conv2d_qu8_nhwc__avx512_1x64k2(const nnf_depthwise_q8 *p, size_t first, size_t last, size_t begin,
                                                  size_t end, const uint8_t *x, uint8_t *y)
{
    q8(p, first, last, begin, end, x, y, false);
}

void nnf_depthwise_conv2d_qs8_nhwc__avx512_1x64k2(const nnf_depthwise_q8 *p, size_t first, size_t last, size_t begin,
                                                  size_t end, const uint8_t *x, uint8_t *y)
{
    q8(p, first, last, begin, end, x, y, true);
}
