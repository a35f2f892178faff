/* Walks of 8-bit depthwise convolutions over the columns of an image: the taps of a column are interleaved once for all
 * windows that it lies in, whose sums are in registers. Include only from AVX-512 files that define
 *   enum { WALK_TAPS }    of a window, across and down
 *   typedef column        the taps of a column, interleaved for two of a block's four vectors
 *   column interleave_column(const __m512i tap[WALK_TAPS], int half)
 *   void multiply_columns(__m512i *first, __m512i *second, const column *a, const column *b, const int32_t *w)
 *       adds the products of a column with weights w to the sums of one output, and those of another to another's */
#ifndef NNF_DEPTHWISE_CONV2D_Q8_WALK_AVX512_H
#define NNF_DEPTHWISE_CONV2D_Q8_WALK_AVX512_H

#include "depthwise_conv2d_q8_avx512.h"

enum { WALK_CHUNK = 128 }; /* outputs of a row of which half the vectors wait for the others */

/* Where a walk reads: for each row of the window, and each output row of a block of fewer than 64 channels, the first
 * column of the image; or what stands for positions outside of it, at which all columns are. */
typedef struct lines {
    const uint8_t *at[WALK_TAPS][LANES / 8];
    size_t inside[WALK_TAPS][LANES / 8]; /* all ones, or zero */
} lines;

INLINE void find_lines(const nnf_depthwise_q8 *p, const block *b, const int rows, size_t row, size_t last, lines *l)
{
    for (int i = 0; i < WALK_TAPS; i++) {
        for (int s = 0; s < rows; s++) {
            const size_t y = (row + (size_t)s) * p->g.y.stride + (size_t)i - p->g.y.head; /* wraps above the image */
            const bool inside = row + (size_t)s < last && y < p->g.y.size;
            l->at[i][s] = inside ? b->x + y * p->g.x.size * p->g.channels : b->zero;
            l->inside[i][s] = inside ? SIZE_MAX : 0;
        }
    }
}

/* Column x of the image, or one beside it. */
INLINE column column_at(const nnf_depthwise_q8 *p, const block *b, const int width, const int half, const lines *l,
                        size_t x)
{
    __m512i tap[WALK_TAPS];
    if (x < p->g.x.size) {
        NNF_UNROLL
        for (int i = 0; i < WALK_TAPS; i++) {
            const uint8_t *at[LANES / 8];
            NNF_UNROLL
            for (int s = 0; s < LANES / width; s++)
                at[s] = l->at[i][s] + (x * p->g.channels & l->inside[i][s]);
            tap[i] = _mm512_xor_si512(pixels(b, width, false, at), b->flip);
        }
    } else {
        NNF_UNROLL
        for (int i = 0; i < WALK_TAPS; i++)
            tap[i] = _mm512_set1_epi8((char)p->in_zero);
    }
    return interleave_column(tap, half);
}

/* Outputs o..end-1 of a row, for blocks of fewer than 64 channels of `rows` rows, in vectors 2 half and 2 half + 1 of the
 * block: the first two wait, scaled; with the last two they become codes. Two outputs take one load of each weight. */
INLINE void walk_half(const nnf_depthwise_q8 *p, const block *b, const int width, const int stride, const int half,
                      const lines *l, size_t o, size_t end, size_t rows, __m512i *wait, uint8_t *y)
{
    const int live = (WALK_TAPS + stride - 1) / stride; /* outputs that a column adds to */
    const int32_t *folded = b->rows + NNF_DEPTHWISE_FOLDED * LANES + 32 * half;
    const int32_t *w = b->rows + NNF_DEPTHWISE_ROWS * LANES + 32 * half;
    const size_t each = p->groups / WALK_TAPS * LANES;
    const size_t warm = (size_t)live - 1; /* even: outputs become complete by the same twos as they begin */
    const bool full = b->channels == ~(__mmask64)0 >> (LANES - width);
    __m512i sum[WALK_TAPS + 1][4]; /* of each output two, where scale_small looks for them */
    NNF_UNROLL
    for (int k = 0; k <= live; k++) {
        sum[k][2 * half] = _mm512_load_si512(folded);
        sum[k][2 * half + 1] = _mm512_load_si512(folded + 16);
    }
    for (size_t n = o; n < end + warm; n += 2) { /* columns that are the first of output n and of n + 1 */
        NNF_UNROLL
        for (int q = 0; q < stride; q++) {
            const size_t x = n * (size_t)stride + (size_t)q - p->g.x.head; /* wraps before the image */
            const column a = column_at(p, b, width, half, l, x);
            const column c = column_at(p, b, width, half, l, x + (size_t)stride);
            NNF_UNROLL
            for (int t = q; t < WALK_TAPS; t += stride) {
                const int k = live - 1 - t / stride;
                multiply_columns(sum[k] + 2 * half, sum[k + 1] + 2 * half, &a, &c, w + (size_t)t * each);
            }
        }
        if (n >= o + warm) {
            NNF_UNROLL
            for (int v = 2 * half; v < 2 * half + 2; v++) {
                if (b->clipped)
                    scale_small(b, true, sum, 2, v);
                else
                    scale_small(b, false, sum, 2, v);
            }
            NNF_UNROLL
            for (int i = 0; i < 2; i++) {
                const size_t at = n - warm + (size_t)i;
                const __m512i words = _mm512_packs_epi32(sum[i][2 * half], sum[i][2 * half + 1]);
                if (!half) {
                    wait[at - o] = words;
                    continue;
                }
                const __m512i code = codes_of(b, wait[at - o], words);
                if (at < end && full)
                    store(b, width, true, code, y, p->g.channels, at, p->g.x.out, rows * p->g.x.out);
                else if (at < end)
                    store(b, width, false, code, y, p->g.channels, at, p->g.x.out, rows * p->g.x.out);
            }
        }
        NNF_UNROLL
        for (int v = 2 * half; v < 2 * half + 2; v++) {
            NNF_UNROLL
            for (int k = 2; k <= live; k++)
                sum[k - 2][v] = sum[k][v];
            sum[live - 1][v] = sum[live][v] = _mm512_load_si512(folded + 16 * (v - 2 * half));
        }
    }
}

/* Output rows row..last-1 of a block, one for each `width` of its lanes. */
INLINE void walk(const nnf_depthwise_q8 *p, const block *b, const int width, const int stride, size_t row, size_t last,
                 uint8_t *y)
{
    __m512i wait[WALK_CHUNK + 1];
    lines l;
    find_lines(p, b, LANES / width, row, last, &l);
    for (size_t o = 0, end; o < p->g.x.out; o = end) {
        end = p->g.x.out - o < WALK_CHUNK ? p->g.x.out : o + WALK_CHUNK;
        walk_half(p, b, width, stride, 0, &l, o, end, last - row, wait, y);
        walk_half(p, b, width, stride, 1, &l, o, end, last - row, wait, y);
    }
}

typedef void (*walk_fn)(const nnf_depthwise_q8 *p, const block *b, size_t row, size_t last, uint8_t *y);

#define WALK(name, width, stride)                                                                                      \
    static __attribute__((noinline)) void name(const nnf_depthwise_q8 *p, const block *b, size_t row, size_t last,     \
                                               uint8_t *y)                                                             \
    {                                                                                                                  \
        walk(p, b, width, stride, row, last, y);                                                                       \
    }
WALK(walk_64, 64, 1)
WALK(walk_32, 32, 1)
WALK(walk_16, 16, 1)
WALK(walk_8, 8, 1)
WALK(walk_64_by_2, 64, 2)
WALK(walk_32_by_2, 32, 2)
WALK(walk_16_by_2, 16, 2)
WALK(walk_8_by_2, 8, 2)

/* The walk for blocks of so many channels. */
INLINE walk_fn walk_of(const nnf_depthwise_q8 *p, size_t width)
{
    if (p->g.x.stride == 1)
        return width == 64 ? walk_64 : width == 32 ? walk_32 : width == 16 ? walk_16 : walk_8;
    return width == 64 ? walk_64_by_2 : width == 32 ? walk_32_by_2 : width == 16 ? walk_16_by_2 : walk_8_by_2;
}

/* All output rows first..last-1 and channels begin..end-1 of an upright pack. Each block takes as many rows at once as it
 * has room for; eight rows of all blocks go before the next ones. */
INLINE void walk_all(const nnf_depthwise_q8 *p, block *b, size_t first, size_t last, size_t begin, size_t end,
                     const uint8_t *x, uint8_t *y)
{
    const size_t line = p->g.x.out * p->g.channels, most = LANES / 8;
    for (size_t row = first; row < last; row += most) {
        const size_t stop = last - row > most ? row + most : last;
        for (size_t c = begin; c < end; c += LANES) {
            const size_t width = nnf_depthwise_width(p, c);
            enter(p, b, c, x);
            for (size_t r = row, each = LANES / width; r < stop; r += each)
                walk_of(p, width)(p, b, r, stop - r > each ? r + each : stop, y + (r - first) * line + c);
        }
    }
}

#endif
