/* Pools along one axis and then the other. Include from pooling_simd.h, after code_pool. */
#ifndef NNF_POOLING_SEPARABLE_SIMD_H
#define NNF_POOLING_SEPARABLE_SIMD_H

/* -- windows that overlap by much ---------------------------------------------------------------------------------- */
/* What a column of a window gives is found once for all windows that it lies in. */
enum { COLUMNS = 64, MOST_ACROSS = 32 }; /* of the image at once; of a window */

INLINE bool overlaps(const nnf_pool *g)
{
    const size_t down = g->y.taps, across = g->x.taps;
    return g->x.out > 1 && across <= MOST_ACROSS && down * across >= 2 * (down * g->x.stride + across);
}

/* Outputs from `column` on that such a row of columns is enough for. */
INLINE size_t outputs_of(const nnf_pool *g, size_t column)
{
    const size_t fit = (COLUMNS - g->x.taps) / g->x.stride + 1, left = g->x.out - column;
    return fit < left ? fit : left;
}

/* `count` values, `step` apart, of which each is LANES channels in each of `vectors`, or for 0 of them the live ones: their
 * sum or maximum. */
INLINE void reduce_f32(const float *x, size_t step, size_t count, const int whole, M live, const bool average, V *result)
{
    const int vectors = whole ? whole : 1;
    V sum[2];
    N nan[2];
    NNF_UNROLL
    for (int v = 0; v < vectors; v++) {
        sum[v] = all(average ? 0.0f : -INFINITY);
        nan[v] = nan_none();
    }
    for (size_t i = 0; i < count; i++, x += step) {
        NNF_UNROLL
        for (int v = 0; v < vectors; v++) {
            const V value = whole ? load_whole(x + LANES * v) : load(live, x);
            sum[v] = average ? add(sum[v], value) : largest(sum[v], value);
            if (!average)
                nan[v] = nan_join(nan[v], value, value);
        }
    }
    NNF_UNROLL
    for (int v = 0; v < vectors; v++)
        result[v] = average ? sum[v] : nan_put(nan[v], sum[v]);
}

/* Outputs of a row whose windows have so many rows; x: the first of these, y: the first output. */
INLINE void overlapping_f32(const nnf_pool *g, size_t rows, const int whole, M live, const bool average, const float *x,
                            float *y, float lo, float hi)
{
    float columns[COLUMNS][2 * LANES] __attribute__((aligned(4 * LANES)));
    const int vectors = whole ? whole : 1;
    const size_t line = g->x.size * g->channels;
    for (size_t column = 0, count; column < g->x.out; column += count) {
        count = outputs_of(g, column);
        const nnf_pool_span last = nnf_pool_along(&g->x, column + count - 1);
        const size_t begin = nnf_pool_along(&g->x, column).start, end = last.start + last.count;
        V value[2];
        for (size_t j = begin; j < end; j++) {
            reduce_f32(x + j * g->channels, line, rows, whole, live, average, value);
            NNF_UNROLL
            for (int v = 0; v < vectors; v++)
                store_whole(columns[j - begin] + LANES * v, value[v]);
        }
        for (size_t o = column; o < column + count; o++, y += g->channels) {
            const nnf_pool_span w = nnf_pool_along(&g->x, o);
            const float *from = columns[w.start - begin];
            reduce_f32(from, 2 * LANES, w.count, vectors, live, average, value);
            NNF_UNROLL
            for (int v = 0; v < vectors; v++) {
                const V mean = average ? divide(value[v], all((float)(rows * w.count))) : value[v];
                if (whole)
                    store_whole(y + LANES * v, between(all(lo), all(hi), mean));
                else
                    store(y, live, between(all(lo), all(hi), mean));
            }
        }
    }
}

INLINE void overlapping_row_f32(const nnf_pool *g, nnf_pool_span rows, size_t begin, size_t end, const bool average,
                                const float *x, float *y, float lo, float hi)
{
    const M every = first_lanes(LANES);
    const float *from = x + rows.start * g->x.size * g->channels;
    size_t c = begin;
    for (; c + 2 * LANES <= end; c += 2 * LANES)
        overlapping_f32(g, rows.count, 2, every, average, from + c, y + c, lo, hi);
    for (; c + LANES <= end; c += LANES)
        overlapping_f32(g, rows.count, 1, every, average, from + c, y + c, lo, hi);
    if (c < end)
        overlapping_f32(g, rows.count, 0, first_lanes(end - c), average, from + c, y + c, lo, hi);
}

/* BYTES channels in each of `vectors`, or for 0 of them `channels`: the largest of `count` codes, `step` apart. */
INLINE void reduce_codes(const code_pool *p, const uint8_t *x, size_t step, size_t count, const int whole,
                         size_t channels, B *result)
{
    const int vectors = whole ? whole : 1;
    NNF_UNROLL
    for (int v = 0; v < vectors; v++)
        result[v] = u8_all((uint8_t)p->lo);
    for (size_t i = 0; i < count; i++, x += step) {
        NNF_UNROLL
        for (int v = 0; v < vectors; v++)
            result[v] = more(p, result[v], whole ? u8_load_whole(x + BYTES * v) : u8_load(channels, x));
    }
}

INLINE void overlapping_codes(const code_pool *p, size_t rows, const int whole, size_t channels, const uint8_t *x,
                              uint8_t *y)
{
    uint8_t columns[COLUMNS][2 * BYTES] __attribute__((aligned(BYTES)));
    const nnf_pool *g = p->g;
    const int vectors = whole ? whole : 1;
    const size_t line = g->x.size * g->channels;
    for (size_t column = 0, count; column < g->x.out; column += count) {
        count = outputs_of(g, column);
        const nnf_pool_span last = nnf_pool_along(&g->x, column + count - 1);
        const size_t begin = nnf_pool_along(&g->x, column).start, end = last.start + last.count;
        B value[2];
        for (size_t j = begin; j < end; j++) {
            reduce_codes(p, x + j * g->channels, line, rows, whole, channels, value);
            NNF_UNROLL
            for (int v = 0; v < vectors; v++)
                u8_store_whole(columns[j - begin] + BYTES * v, value[v]);
        }
        for (size_t o = column; o < column + count; o++, y += g->channels) {
            const nnf_pool_span w = nnf_pool_along(&g->x, o);
            reduce_codes(p, columns[w.start - begin], 2 * BYTES, w.count, vectors, channels, value);
            NNF_UNROLL
            for (int v = 0; v < vectors; v++) {
                value[v] = less(p, value[v], u8_all((uint8_t)p->hi));
                if (whole)
                    u8_store_whole(y + BYTES * v, value[v]);
                else
                    u8_store(y, channels, value[v]);
            }
        }
    }
}

INLINE void overlapping_row_codes(const code_pool *p, nnf_pool_span rows, size_t begin, size_t end, const uint8_t *x,
                                  uint8_t *y)
{
    const uint8_t *from = x + rows.start * p->g->x.size * p->g->channels;
    size_t c = begin;
    for (; c + 2 * BYTES <= end; c += 2 * BYTES)
        overlapping_codes(p, rows.count, 2, 0, from + c, y + c);
    for (; c + BYTES <= end; c += BYTES)
        overlapping_codes(p, rows.count, 1, 0, from + c, y + c);
    if (c < end && c > begin) /* some channels once more, to the same codes */
        overlapping_codes(p, rows.count, 1, 0, from + end - BYTES, y + end - BYTES);
    else if (c < end)
        overlapping_codes(p, rows.count, 0, end - c, from + c, y + c);
}

/* -- maxima of few channels ---------------------------------------------------------------------------------------- */
/* Vectors go on from pixel to pixel: lines of the image first, then the line that they gave and itself, a pixel further on,
 * and so on; of that every stride-th pixel is an output. */
enum { LINE = 4096, SLACK = 128 }; /* bytes of a line; what is read and written behind it */

INLINE bool is_narrow(const nnf_pool *g, size_t begin, size_t end, size_t lanes, size_t item)
{
    return !begin && end == g->channels && end < lanes && g->x.stride <= g->x.taps && g->x.taps * end * item <= LINE;
}

/* Outputs from `column` on whose windows lie in one line, and of the image's columns under them, `before` of which are
 * padding, the first and how many there are; positions with padding on both sides. */
typedef struct stretch {
    size_t count, before, first, inside, positions;
} stretch;

INLINE stretch stretch_at(const nnf_pool *g, size_t column, size_t item)
{
    const nnf_axis *a = &g->x;
    const size_t fit = (LINE / (g->channels * item) - a->taps) / a->stride + 1, left = a->out - column;
    stretch s = {.count = fit < left ? fit : left};
    const size_t from = column * a->stride;
    s.positions = (s.count - 1) * a->stride + a->taps;
    s.before = from < a->head ? a->head - from : 0;
    s.first = from < a->head ? 0 : from - a->head;
    const size_t room = s.positions - s.before, rest = a->size - s.first;
    s.inside = room < rest ? room : rest;
    return s;
}

/* Every stride-th pixel of `bytes` bytes, `count` of them; behind all but the last it may write what the next one has. */
INLINE void thin_out(const uint8_t *line, size_t stride, size_t bytes, size_t count, uint8_t *y)
{
    enum { PIECE = 16 };
    for (size_t o = 0; o < count; o++, line += stride * bytes, y += bytes) {
        if (bytes >= PIECE) {
            for (size_t k = 0; k + PIECE < bytes; k += PIECE)
                memcpy(y + k, line + k, PIECE);
            memcpy(y + bytes - PIECE, line + bytes - PIECE, PIECE);
        } else if ((count - o) * bytes >= PIECE) {
            memcpy(y, line, PIECE);
        } else {
            memcpy(y, line, bytes);
        }
    }
}

INLINE void narrow_row_f32(const nnf_pool *g, nnf_pool_span rows, const float *x, float *y, float lo, float hi)
{
    float line[(LINE + SLACK) / 4 + LANES];
    const size_t channels = g->channels, next = g->x.size * channels;
    for (size_t column = 0; column < g->x.out;) {
        const stretch s = stretch_at(g, column, sizeof(float));
        const float *from = x + (rows.start * g->x.size + s.first) * channels;
        const size_t before = s.before * channels, inside = s.inside * channels, all_of = s.positions * channels;
        for (size_t i = 0; i < before; i++)
            line[i] = -INFINITY;
        for (size_t i = before + inside; i < all_of; i++)
            line[i] = -INFINITY;
        for (size_t i = 0; i < inside; i += LANES) {
            const size_t left = inside - i;
            V most[1];
            if (left >= LANES)
                reduce_f32(from + i, next, rows.count, 1, first_lanes(LANES), false, most);
            else
                reduce_f32(from + i, next, rows.count, 0, first_lanes(left), false, most);
            if (left >= LANES)
                store_whole(line + before + i, most[0]);
            else
                store(line + before + i, first_lanes(left), most[0]);
        }
        for (size_t i = 0; i < ((s.count - 1) * g->x.stride + 1) * channels; i += LANES) {
            V most[1];
            reduce_f32(line + i, channels, g->x.taps, 1, first_lanes(LANES), false, most);
            store_whole(line + i, between(all(lo), all(hi), most[0]));
        }
        thin_out((const uint8_t *)line, g->x.stride, channels * sizeof(float), s.count, (uint8_t *)y);
        column += s.count;
        y += s.count * channels;
    }
}

INLINE void narrow_row_codes(const code_pool *p, nnf_pool_span rows, const uint8_t *x, uint8_t *y)
{
    uint8_t line[LINE + SLACK + BYTES];
    const nnf_pool *g = p->g;
    const size_t channels = g->channels, next = g->x.size * channels;
    for (size_t column = 0; column < g->x.out;) {
        const stretch s = stretch_at(g, column, 1);
        const uint8_t *from = x + (rows.start * g->x.size + s.first) * channels;
        const size_t before = s.before * channels, inside = s.inside * channels, all_of = s.positions * channels;
        B most[1];
        memset(line, p->lo, before);
        memset(line + before + inside, p->lo, all_of - before - inside);
        for (size_t i = 0; i < inside; i += BYTES) {
            const size_t left = inside - i;
            if (left >= BYTES) {
                reduce_codes(p, from + i, next, rows.count, 1, 0, most);
                u8_store_whole(line + before + i, most[0]);
            } else {
                reduce_codes(p, from + i, next, rows.count, 0, left, most);
                u8_store(line + before + i, left, most[0]);
            }
        }
        for (size_t i = 0; i < ((s.count - 1) * g->x.stride + 1) * channels; i += BYTES) {
            reduce_codes(p, line + i, channels, g->x.taps, 1, 0, most);
            u8_store_whole(line + i, less(p, most[0], u8_all((uint8_t)p->hi)));
        }
        thin_out(line, g->x.stride, channels, s.count, y);
        column += s.count;
        y += s.count * channels;
    }
}

#endif
