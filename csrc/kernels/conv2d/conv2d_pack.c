/* Weight layouts of the convolution kernels. Runs once per model. */
#include "conv2d.h"

#include <string.h>

#include "conv2d_bf16.h"
#include "conv2d_q8_header.h"
#include "conv2d_turn.h"

/* Columns of all panels. */
static size_t packed_columns(size_t columns, size_t n)
{
    const size_t rest = columns % n;
    return columns - rest + (rest ? nnf_conv2d_width(rest, n) : 0);
}

/* The depth goes in blocks, so that the lines written stay in the cache while all columns add to them. */
enum { BLOCK = 16 };

typedef int16_t i16x8 __attribute__((vector_size(16)));

/* The words of a panel, [count][width]: of `here` columns at `from`, `ld` bytes apart, each word ^ flip, then zeros. */
static void pack_words(size_t here, size_t width, size_t count, const unsigned char *from, size_t ld, unsigned char *to,
                       uint32_t flip)
{
    for (size_t k = 0; k < count; k += BLOCK, from += 4 * BLOCK, to += 4 * BLOCK * width) {
        const size_t block = count - k < BLOCK ? count - k : BLOCK;
        size_t j = 0;
        for (; j + 4 <= here; j += 4)
            nnf_conv2d_turn(block, from + j * ld, ld, to + 4 * j, 4 * width, flip);
        for (; j < here; j++) {
            for (size_t i = 0; i < block; i++) {
                uint32_t word;
                memcpy(&word, from + j * ld + 4 * i, 4);
                word ^= flip;
                memcpy(to + 4 * (i * width + j), &word, 4);
            }
        }
        for (; j < width; j++) {
            for (size_t i = 0; i < block; i++)
                memset(to + 4 * (i * width + j), 0, 4);
        }
    }
}

size_t nnf_pack_conv2d_f32_size(size_t columns, size_t depth, size_t n)
{
    return packed_columns(columns, n) * (depth + 1);
}

void nnf_pack_conv2d_f32(size_t columns, size_t depth, size_t n, const float *weights, size_t ld, const float *bias,
                         float *packed)
{
    for (size_t first = 0; first < columns; first += n) {
        const size_t here = columns - first < n ? columns - first : n, width = nnf_conv2d_width(here, n);
        for (size_t j = 0; j < width; j++)
            packed[j] = j < here ? bias[first + j] : 0;
        packed += width;
        pack_words(here, width, depth, (const unsigned char *)(weights + first * ld), 4 * ld,
                   (unsigned char *)packed, 0);
        packed += depth * width;
    }
}

void nnf_pack_conv2d_f32_rows(size_t columns, size_t depth, size_t n, const float *weights, size_t ld, const float *bias,
                              float *packed)
{
    for (size_t first = 0; first < columns; first += n) {
        const size_t here = columns - first < n ? columns - first : n, width = nnf_conv2d_width(here, n);
        for (size_t k = 0; k <= depth; k++, packed += width) {
            const float *row = k ? weights + (k - 1) * ld + first : bias + first;
            size_t j = 0;
            for (; j + 4 <= here; j += 4)
                memcpy(packed + j, row + j, 4 * sizeof *row);
            for (; j < width; j++)
                packed[j] = j < here ? row[j] : 0;
        }
    }
}

size_t nnf_pack_conv2d_q8_size(size_t columns, size_t depth, size_t n, size_t k)
{
    const size_t whole = columns / n, rest = columns % n, groups = nnf_conv2d_q8_groups(depth, k);
    return whole * nnf_conv2d_q8_panel(n, groups) + (rest ? nnf_conv2d_q8_panel(nnf_conv2d_width(rest, n), groups) : 0);
}

/* Brings every two of a panel's `count` rows of words together, channel by channel, in place; of an odd number the last
 * one stays. */
static void pair_words(unsigned char *body, size_t width, size_t count)
{
    uint32_t pair[2 * NNF_CONV2D_PAIRED];
    for (size_t i = 0; i + 2 <= count; i += 2, body += sizeof(uint32_t) * 2 * width) {
        for (size_t j = 0; j < width; j++) {
            memcpy(pair + 2 * j, body + 4 * j, 4);
            memcpy(pair + 2 * j + 1, body + 4 * (width + j), 4);
        }
        memcpy(body, pair, 4 * 2 * width);
    }
}

void nnf_pack_conv2d_q8(size_t columns, size_t depth, size_t n, size_t k, const uint8_t *weights, size_t ld,
                        const nnf_conv2d_q8_scheme *scheme, unsigned char *packed)
{
    const size_t groups = nnf_conv2d_q8_groups(depth, k), whole = depth / NNF_CONV2D_Q8_GROUP;
    const uint32_t flip = scheme->flip * UINT32_C(0x01010101);
    for (size_t first = 0; first < columns; first += n) {
        const size_t here = columns - first < n ? columns - first : n, width = nnf_conv2d_width(here, n);
        const size_t bytes = nnf_conv2d_q8_panel(width, groups);
        int32_t *header = (int32_t *)packed;
        unsigned char *body = packed + 4 * (NNF_CONV2D_Q8_ARRAYS * width + 16);
        int simple = 1;
        if (here < width)
            memset(header, 0, 4 * NNF_CONV2D_Q8_ARRAYS * width);
        memset(header + NNF_CONV2D_Q8_ARRAYS * width, 0, 64);
        memset(body + 4 * width * whole, 0, 4 * width * (groups - whole));
        for (size_t j = 0; j < here; j++) {
            const uint8_t *from = weights + (first + j) * ld;
            simple &= nnf_conv2d_q8_header(depth, from, scheme, first + j, header + j, width);
            if (4 * whole < depth) {
                unsigned char last[NNF_CONV2D_Q8_GROUP] = {0};
                for (size_t i = 4 * whole; i < depth; i++)
                    last[i - 4 * whole] = from[i] ^ scheme->flip;
                memcpy(body + (whole * width + j) * 4, last, 4);
            }
        }
        pack_words(here, width, whole, weights + first * ld, ld, body, flip);
        if (k == NNF_CONV2D_Q8_PAIR)
            pair_words(body, width, groups);
        memset(body + 4 * width * groups, 0, (size_t)(packed + bytes - (body + 4 * width * groups)));
        header[NNF_CONV2D_Q8_ARRAYS * width] = simple;
        packed += bytes;
    }
}

static inline i16x8 larger(i16x8 a, i16x8 b)
{
    const i16x8 above = a > b;
    return (a & above) | (b & ~above);
}

static inline int largest(i16x8 v)
{
    int most = 0;
    for (int i = 0; i < 8; i++)
        most = v[i] > most ? v[i] : most;
    return most;
}

/* The largest of the sums of positive, and of negative, weights of bytes 0 and 1, or 2 and 3, of two and of four groups
 * of a block: `most`. The width is a multiple of four. */
static void add_up(const int8_t *w, size_t width, size_t count, int most[NNF_CONV2D_Q8_LIMITS])
{
    i16x8 fours = {0}, eights = {0};
    for (size_t j = 0; j < width; j += 4) {
        i16x8 up = {0}, down = {0}, up_all = {0}, down_all = {0};
        for (size_t g = 0; g < count; g++) {
            i16x8 both;
            memcpy(&both, w + (g * width + j) * NNF_CONV2D_Q8_GROUP, sizeof both);
            const i16x8 low = (i16x8)((nnf_conv2d_u16x8)both << 8) >> 8, high = both >> 8;
            const i16x8 above = (low & ~(low >> 15)) + (high & ~(high >> 15)), below = above - low - high;
            up = g % 2 ? up + above : above;
            down = g % 2 ? down + below : below;
            fours = larger(fours, larger(up, down));
            up_all += above;
            down_all += below;
        }
        eights = larger(eights, larger(up_all, down_all));
    }
    most[0] = largest(fours);
    most[1] = largest(eights);
}

void nnf_limit_conv2d_q8(size_t columns, size_t depth, size_t n, unsigned char *packed)
{
    const size_t groups = nnf_conv2d_q8_groups(depth, NNF_CONV2D_Q8_GROUP), unit = NNF_CONV2D_Q8_LIMITED;
    const size_t blocks = nnf_conv2d_q8_blocks(groups);
    for (size_t first = 0; first < columns; first += n) {
        const size_t here = columns - first < n ? columns - first : n, width = nnf_conv2d_width(here, n);
        const int8_t *w = nnf_conv2d_q8_weights((const int32_t *)packed, width);
        packed += nnf_conv2d_q8_panel(width, groups);
        uint8_t *limits = packed - NNF_CONV2D_Q8_LIMITS * blocks;
        for (size_t g = 0; g < groups; g += unit, w += unit * width * NNF_CONV2D_Q8_GROUP, limits++) {
            int most[NNF_CONV2D_Q8_LIMITS];
            add_up(w, width, groups - g < unit ? groups - g : unit, most);
            for (size_t e = 0; e < NNF_CONV2D_Q8_LIMITS; e++)
                limits[e * blocks] = (uint8_t)(most[e] <= INT16_MAX / 255 ? 255 : INT16_MAX / most[e]);
        }
    }
}

void nnf_mark_mild_conv2d_q8(size_t columns, size_t depth, size_t n, unsigned char *packed)
{
    const size_t groups = nnf_conv2d_q8_groups(depth, NNF_CONV2D_Q8_GROUP);
    for (size_t first = 0; first < columns; first += n) {
        const size_t width = nnf_conv2d_width(columns - first < n ? columns - first : n, n);
        int32_t *header = (int32_t *)packed;
        const int8_t *w = nnf_conv2d_q8_weights(header, width);
        header[NNF_CONV2D_Q8_ARRAYS * width + 1] = !memchr(w, 0x80, NNF_CONV2D_Q8_GROUP * width * groups);
        packed += nnf_conv2d_q8_panel(width, groups);
    }
}

int nnf_fits_conv2d_q8(size_t columns, size_t depth, size_t n, size_t k, const unsigned char *packed)
{
    const size_t groups = nnf_conv2d_q8_groups(depth, k);
    int fits = 1;
    for (size_t first = 0; first < columns; first += n) {
        const size_t here = columns - first < n ? columns - first : n, width = nnf_conv2d_width(here, n);
        fits &= nnf_conv2d_q8_header_fits(here, width, (const int32_t *)packed);
        packed += nnf_conv2d_q8_panel(width, groups);
    }
    return fits;
}

size_t nnf_pack_conv2d_bf16_size(size_t columns, size_t depth, size_t n, size_t k)
{
    return nnf_conv2d_bf16_panel(packed_columns(columns, n), nnf_conv2d_bf16_pairs(depth, k));
}

/* `count` pairs at `from`, of whose inputs the first `live` are there, as words. */
static void round_pairs(size_t count, size_t live, const float *from, uint32_t *to)
{
    for (size_t i = 0; i < count; i++) {
        const uint32_t low = 2 * i < live ? nnf_bf16_of_f32(from[2 * i]) : 0;
        const uint32_t high = 2 * i + 1 < live ? nnf_bf16_of_f32(from[2 * i + 1]) : 0;
        to[i] = low | high << 16;
    }
}

void nnf_pack_conv2d_bf16(size_t columns, size_t depth, size_t n, size_t k, const float *weights, const float *bias,
                          unsigned char *packed)
{
    const size_t pairs = nnf_conv2d_bf16_pairs(depth, k);
    for (size_t first = 0; first < columns; first += n) {
        const size_t here = columns - first < n ? columns - first : n, width = nnf_conv2d_width(here, n);
        float *biases = (float *)packed;
        unsigned char *body = packed + 4 * width;
        for (size_t j = 0; j < width; j++)
            biases[j] = j < here ? bias[first + j] : 0;
        for (size_t p = 0; p < pairs; p += BLOCK) {
            const size_t count = pairs - p < BLOCK ? pairs - p : BLOCK, live = depth > 2 * p ? depth - 2 * p : 0;
            /* pack_words of pairs that are rounded on the way, four columns at once: widths are multiples of four. */
            for (size_t j = 0; j < width; j += 4) {
                uint32_t rows[4][BLOCK] = {{0}};
                for (size_t r = 0; r < 4 && j + r < here; r++)
                    round_pairs(count, live, weights + (first + j + r) * depth + 2 * p, rows[r]);
                nnf_conv2d_turn(count, (const unsigned char *)rows, sizeof rows[0], body + 4 * (p * width + j), 4 * width, 0);
            }
        }
        if (k == NNF_CONV2D_BF16_FOUR)
            pair_words(body, width, pairs);
        packed += nnf_conv2d_bf16_panel(width, pairs);
    }
}
