#include "depthwise_conv2d_q8_avx512.h"

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

enum { WALK_TAPS = 5 };

/* Taps of a column: of its first four rows, and of the fifth. */
typedef struct column {
    __m512i upper[2], lower[2];
} column;

INLINE column interleave_column(const __m512i tap[WALK_TAPS], const int half)
{
    const __m512i zero = _mm512_setzero_si512();
    const __m512i a = half ? _mm512_unpackhi_epi8(tap[0], tap[1]) : _mm512_unpacklo_epi8(tap[0], tap[1]);
    const __m512i c = half ? _mm512_unpackhi_epi8(tap[2], tap[3]) : _mm512_unpacklo_epi8(tap[2], tap[3]);
    const __m512i d = half ? _mm512_unpackhi_epi8(tap[4], zero) : _mm512_unpacklo_epi8(tap[4], zero);
    return (column){{_mm512_unpacklo_epi16(a, c), _mm512_unpackhi_epi16(a, c)},
                    {_mm512_unpacklo_epi16(d, zero), _mm512_unpackhi_epi16(d, zero)}};
}

INLINE void multiply_columns(__m512i *first, __m512i *second, const column *a, const column *b, const int32_t *w)
{
    NNF_UNROLL
    for (int v = 0; v < 2; v++) {
        const __m512i upper = _mm512_load_si512(w + 16 * v), lower = _mm512_load_si512(w + LANES + 16 * v);
        first[v] = _mm512_dpbusd_epi32(_mm512_dpbusd_epi32(first[v], a->upper[v], upper), a->lower[v], lower);
        second[v] = _mm512_dpbusd_epi32(_mm512_dpbusd_epi32(second[v], b->upper[v], upper), b->lower[v], lower);
    }
}

#include "depthwise_conv2d_q8_walk_avx512.h"

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
            tap[t] = load(p, b, width, full, border, flip, p->outputs, p->taps + 4 * g + t, start, y0, o);
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
    scale_codes(p, b, small, sum, outputs);
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

static void edge_8(const nnf_depthwise_q8 *p, const block *b, size_t y0, size_t o, uint8_t *y)
{
    edge(p, b, 8, y0, o, y);
}

/* Neighbouring outputs of a dense image from column o on. */
INLINE void tile_dense(const nnf_depthwise_q8 *p, const block *b, bool border, bool small, bool flip, size_t y0,
                       size_t o, uint8_t *y)
{
    const int32_t *w = b->rows + NNF_DEPTHWISE_ROWS * LANES;
    __m512i sum[1][4];
#pragma GCC unroll 4
    for (int v = 0; v < 4; v++)
        sum[0][v] = _mm512_load_si512(b->rows + NNF_DEPTHWISE_FOLDED * LANES + 16 * v);
    for (size_t g = 0; g < p->groups; g++) {
        __m512i tap[4], x[4];
#pragma GCC unroll 4
        for (int t = 0; t < 4; t++)
            tap[t] = load_dense(p, b, border, flip, p->taps + 4 * g + t, y0, o);
        interleave(tap, x);
        for (size_t part = 0; part < p->parts; part++, w += LANES) {
#pragma GCC unroll 4
            for (int v = 0; v < 4; v++)
                sum[0][v] = _mm512_dpbusd_epi32(sum[0][v], x[v], _mm512_load_si512(w + 16 * v));
        }
    }
    scale_codes(p, b, small, sum, 1);
    store_dense(codes(b, sum[0]), y, o, p->g.x.out);
}

static void edge_dense(const nnf_depthwise_q8 *p, const block *b, size_t y0, size_t o, uint8_t *y)
{
    tile_dense(p, b, true, p->small, false, y0, o, y);
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
                    tap[t] = load(p, b, width, true, false, flip, 2, p->taps + t, start, y0, o);
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
INLINE void block_row(const nnf_depthwise_q8 *p, const block *b, const int width, bool fast, bool flip,
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
        else if (width == 16)
            edge_16(p, b, y0, o, y);
        else
            edge_8(p, b, y0, o, y);
    }
}

INLINE void dense_row(const nnf_depthwise_q8 *p, const block *b, bool flip, size_t row, uint8_t *y)
{
    const size_t y0 = row * p->g.y.stride - p->g.y.head, each = LANES / NNF_DEPTHWISE_DENSE;
    size_t top, bottom, inner, outer;
    nnf_axis_taps(&p->g.y, row, &top, &bottom);
    nnf_axis_full(&p->g.x, &inner, &outer);
    const bool whole = p->small && top == 0 && bottom == p->g.y.taps;
    for (size_t o = 0; o < p->g.x.out; o += each) {
        if (whole && o >= inner && o + each <= outer)
            tile_dense(p, b, false, true, flip, y0, o, y);
        else
            edge_dense(p, b, y0, o, y);
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
    else if (width == 16)
        block_wide(p, b, 16, false, flip, row, y);
    else if (is_dense(p))
        dense_row(p, b, flip, row, y);
    else
        block_row(p, b, 8, rest == 8 && p->small && p->parts == 1 && p->outputs == 1, flip, 1, true, row, y);
}

INLINE void q8(const nnf_depthwise_q8 *p, size_t first, size_t last, size_t begin, size_t end, const uint8_t *x,
               uint8_t *y, const bool flip)
{
    block b = begin_block(p, flip);
    if (p->upright) {
        walk_all(p, &b, first, last, begin, end, x, y);
        return;
    }
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
