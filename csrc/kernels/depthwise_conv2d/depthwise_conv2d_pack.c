#include "depthwise_conv2d.h"

#include <stdlib.h>
#include <string.h>

size_t nnf_pack_depthwise_conv2d_f32_size(size_t channels, size_t taps)
{
    const size_t blocks = (channels + NNF_DEPTHWISE_BLOCK - 1) / NNF_DEPTHWISE_BLOCK;
    return blocks * (1 + taps) * NNF_DEPTHWISE_BLOCK;
}

void nnf_pack_depthwise_conv2d_f32(size_t channels, size_t taps, const float *filter, const float *bias,
                                   float *packed)
{
    for (size_t block = 0; block < channels; block += NNF_DEPTHWISE_BLOCK) {
        for (size_t t = 0; t <= taps; t++) {
            const float *row = t == 0 ? bias : filter + (t - 1) * channels;
            for (size_t i = 0; i < NNF_DEPTHWISE_BLOCK; i++)
                *packed++ = block + i < channels ? row[block + i] : 0.0f;
        }
    }
}

enum { MOST_RIGHT = 20 }; /* bits by which small sums may shift right */

static int32_t clamp_s8(int32_t x)
{
    return x < -128 ? -128 : x > 127 ? 127 : x;
}

static size_t rows_of(const nnf_depthwise_q8 *p)
{
    return NNF_DEPTHWISE_ROWS + p->groups * p->parts * p->outputs;
}

/* Groups of a column of the window. */
static size_t column_groups(const nnf_depthwise_q8 *p)
{
    return (p->g.y.taps + p->k - 1) / p->k;
}

/* Windows over whose columns a kernel of 64 lanes walks (depthwise_conv2d_q8_walk_avx512.h). */
static int is_upright(const nnf_depthwise_q8 *p)
{
    const nnf_axis *y = &p->g.y, *x = &p->g.x;
    return p->n == 64 && p->k == 4 && p->small && p->parts == 1 && y->taps == 5 && x->taps == 5 && y->dilation == 1 &&
           x->dilation == 1 && (x->stride == 1 || x->stride == 2) && p->g.channels != NNF_DEPTHWISE_DENSE;
}

size_t nnf_plan_depthwise_conv2d_q8(nnf_depthwise_q8 *p, size_t *table)
{
    const nnf_axis *x = &p->g.x;
    const size_t taps = p->g.y.taps * x->taps;
    const int dense = p->n == 64 && p->g.channels == NNF_DEPTHWISE_DENSE;
    const int share = p->k == 4 && x->stride == 1 && x->dilation == 1 && (x->taps == 2 || x->taps == 3) && !dense;
    p->outputs = share ? 2 : 1;
    p->upright = is_upright(p);
    p->groups = share ? p->g.y.taps : p->upright ? x->taps * column_groups(p) : (taps + p->k - 1) / p->k;
    const size_t blocks = (p->g.channels + p->n - 1) / p->n;
    *table = (p->groups * p->k * sizeof(nnf_depthwise_tap) + 63) / 64 * 64;
    return blocks * p->n * 4 * rows_of(p);
}

/* Where slot `slot` of group `group` looks, and which tap that is for output 0; taps or more: none. */
static size_t tap_of(const nnf_depthwise_q8 *p, size_t group, size_t slot, size_t *row, size_t *column)
{
    const size_t columns = p->g.x.taps, taps = p->g.y.taps * columns;
    size_t t = group * p->k + slot;
    if (p->outputs == 2) {
        *row = group;
        *column = slot;
        return slot < columns ? group * columns + slot : taps;
    }
    if (p->upright) {
        *row = group % column_groups(p) * p->k + slot;
        *column = group / column_groups(p);
        t = *row < p->g.y.taps ? *row * columns + *column : taps;
    }
    /* A missing tap looks at the first one, which is inside wherever the whole window is. */
    *row = t < taps ? t / columns : 0;
    *column = t < taps ? t % columns : 0;
    return t;
}

static void pack_taps(const nnf_depthwise_q8 *p, nnf_depthwise_tap *table)
{
    const nnf_depthwise *g = &p->g;
    const size_t depth = g->channels / g->multiplier;
    for (size_t t = 0; t < p->groups * p->k; t++) {
        size_t row, column;
        tap_of(p, t / p->k, t % p->k, &row, &column);
        /* A fourth slot that no output needs would lie outside of the image; it looks at the third. */
        if (p->outputs == 2 && column > g->x.taps)
            column = g->x.taps;
        const size_t down = row * g->y.dilation, across = column * g->x.dilation;
        table[t] = (nnf_depthwise_tap){(int32_t)down, (int32_t)across,
                                       (ptrdiff_t)((down * g->x.size + across) * depth)};
    }
}

/* The part of a weight in its sum of s8 values for k = 4. */
static int32_t part_of(const nnf_depthwise_q8 *p, size_t part, int32_t w)
{
    for (size_t i = 0; p->k == 4 && i <= part; i++) {
        const int32_t piece = clamp_s8(w);
        if (i == part)
            return piece;
        w -= piece;
    }
    return w;
}

enum { MOST_LANES = 64 };

/* The channels of a block, and where they lie in its rows. */
typedef struct {
    size_t count;
    size_t channel[MOST_LANES];
    size_t lane[MOST_LANES];
} lanes;

static void find_lanes(const nnf_depthwise_q8 *p, size_t first, lanes *found)
{
    const size_t width = nnf_depthwise_width(p, first);
    found->count = 0;
    for (size_t e = 0; e < p->n; e++) {
        const size_t channel = first + e % width, vector = e % 16 / 4;
        if (channel >= p->g.channels)
            continue;
        found->channel[found->count] = channel;
        found->lane[found->count++] = vector * (p->n / 4) + e / 16 * 4 + e % 4;
    }
}

/* Adds the weights of a slot for one of the outputs that share it to a row of zeros. */
static void pack_slot(const nnf_depthwise_q8 *p, const int16_t *filter, const lanes *at, size_t slot, size_t part,
                      int32_t *row)
{
    const uint32_t bits = 32 / (uint32_t)p->k, mask = p->k == 1 ? UINT32_MAX : (UINT32_C(1) << bits) - 1;
    for (size_t i = 0; i < at->count; i++) {
        uint32_t word;
        memcpy(&word, row + at->lane[i], 4);
        word |= ((uint32_t)part_of(p, part, filter[at->channel[i]]) & mask) << (bits * (uint32_t)slot);
        memcpy(row + at->lane[i], &word, 4);
    }
}

/* The weights of a block, whose rows are zeros. */
static void pack_weights(const nnf_depthwise_q8 *p, const int16_t *filter, const lanes *at, int32_t *row)
{
    const size_t taps = p->g.y.taps * p->g.x.taps;
    for (size_t group = 0; group < p->groups; group++) {
        for (size_t output = 0; output < p->outputs; output++, row += p->parts * p->n) {
            for (size_t slot = output; slot < p->k; slot++) {
                size_t y, x;
                const size_t t = tap_of(p, group, slot - output, &y, &x);
                for (size_t part = 0; part < p->parts && t < taps; part++)
                    pack_slot(p, filter + t * p->g.channels, at, slot, part, row + part * p->n);
            }
        }
    }
}

/* Largest magnitude that the sum of a channel can have. */
static int64_t bound(const nnf_depthwise_q8 *p, const int16_t *filter, int32_t bias, size_t channel)
{
    const int64_t reach = p->in_zero > 255 - p->in_zero ? p->in_zero : 255 - p->in_zero;
    int64_t magnitude = llabs((long long)bias);
    for (size_t t = 0; t < p->g.y.taps * p->g.x.taps; t++)
        magnitude += reach * abs(filter[t * p->g.channels + channel]);
    return magnitude;
}

void nnf_judge_depthwise_conv2d_q8(nnf_depthwise_q8 *p, const int16_t *filter, const int32_t *bias,
                                   const int32_t *exponent)
{
    const size_t channels = p->g.channels, taps = p->g.y.taps * p->g.x.taps;
    p->parts = 1;
    for (size_t i = 0; p->k == 4 && i < taps * channels; i++) {
        /* 255 takes three parts: 127 + 127 + 1. */
        const size_t need = filter[i] >= -128 && filter[i] <= 127 ? 1 : filter[i] <= 254 ? 2 : 3;
        p->parts = need > p->parts ? need : p->parts;
    }
    p->small = p->k > 1; /* the scalar kernel follows the reference */
    for (size_t c = 0; c < channels && p->small; c++)
        p->small = bound(p, filter, bias[c], c) < (INT64_C(1) << 30) && exponent[c] <= -1 && exponent[c] >= -MOST_RIGHT;
}

static void pack_scale(const nnf_depthwise_q8 *p, int32_t multiplier, int32_t exponent, size_t lane, int32_t *block)
{
    const size_t n = p->n;
    const int32_t right = exponent > 0 ? 0 : -exponent;
    block[NNF_DEPTHWISE_RIGHT * n + lane] = right;
    if (!p->small) {
        block[NNF_DEPTHWISE_MULTIPLIER * n + lane] = multiplier;
        block[NNF_DEPTHWISE_LEFT * n + lane] = exponent > 0 ? exponent : 0;
        return;
    }
    const uint32_t twice = 2 * (uint32_t)multiplier;
    const int64_t high = (INT64_C(1) << (right - 1)) - 1 - multiplier + (int64_t)p->out_zero * (INT64_C(1) << right);
    const uint64_t round = ((uint64_t)high << 32) + (UINT64_C(1) << 31);
    const int odd = (int)(lane % 2);
    memcpy(block + (NNF_DEPTHWISE_DOUBLE + (size_t)odd) * n + lane - (size_t)odd, &twice, 4);
    memcpy(block + (NNF_DEPTHWISE_ROUND + (size_t)odd) * n + lane - (size_t)odd, &round, 8);
}

void nnf_place_depthwise_conv2d_q8(nnf_depthwise_q8 *p, nnf_depthwise_tap *table, const int32_t *blocks)
{
    pack_taps(p, table);
    p->taps = table;
    p->blocks = blocks;
}

int nnf_fits_depthwise_conv2d_q8(const nnf_depthwise_q8 *p, const int32_t *blocks)
{
    const size_t rows = rows_of(p), most = p->small ? MOST_RIGHT : 31;
    uint32_t far = 0;
    for (size_t first = 0; first < p->g.channels; first += p->n, blocks += rows * p->n) {
        for (size_t lane = 0; lane < p->n; lane++) {
            far |= (uint32_t)blocks[NNF_DEPTHWISE_RIGHT * p->n + lane] > most;
            far |= !p->small && (uint32_t)blocks[NNF_DEPTHWISE_LEFT * p->n + lane] > 31;
        }
    }
    return !far;
}

void nnf_pack_depthwise_conv2d_q8(const nnf_depthwise_q8 *p, const int16_t *filter, const int32_t *bias,
                                  const int32_t *multiplier, const int32_t *exponent, int32_t *block)
{
    const size_t channels = p->g.channels, taps = p->g.y.taps * p->g.x.taps, rows = rows_of(p);
    for (size_t first = 0; first < channels; first += p->n, block += rows * p->n) {
        lanes at;
        find_lanes(p, first, &at);
        memset(block, 0, rows * p->n * 4);
        for (size_t i = 0; i < at.count; i++) {
            const size_t channel = at.channel[i], lane = at.lane[i];
            int64_t sum = 0;
            for (size_t t = 0; t < taps; t++)
                sum += filter[t * channels + channel];
            const uint32_t folded = (uint32_t)(uint64_t)((int64_t)bias[channel] - p->in_zero * sum) +
                                    (p->small ? UINT32_C(1) << 31 : 0);
            memcpy(block + NNF_DEPTHWISE_FOLDED * p->n + lane, &folded, 4);
            pack_scale(p, multiplier[channel], exponent[channel], lane, block);
        }
        pack_weights(p, filter, &at, block + NNF_DEPTHWISE_ROWS * p->n);
    }
}
