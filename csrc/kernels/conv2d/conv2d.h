/* Convolution as tiles of an implicit matrix product: rows are output pixels, columns output channels, the depth runs
 * over the filter's taps and the input channels of each. FULLY_CONNECTED is the case of one tap.
 *
 * The weights are packed in panels of columns (conv2d_pack.c). A panel is n columns wide, or n/2 where no more than n/2
 * are left; columns beyond the last channel hold zeros. */
#ifndef NNF_CONV2D_H
#define NNF_CONV2D_H

#include <stddef.h>
#include <stdint.h>

#include "quantize/quantize.h"

/* Width of the panel that has `columns` channels left, for a kernel of n columns. */
static inline size_t nnf_conv2d_width(size_t columns, size_t n)
{
    return columns > n / 2 ? n : n / 2;
}

/* One tile: c[i][j] = clamp(bias[j] + sum over taps t and k < depth of a[t * m + i][k] * weight[t][k][j], lo, hi);
 * a NaN stays a NaN. Reads exactly rows x taps x depth inputs and the panels, writes exactly rows x columns. */
typedef struct nnf_conv2d_f32_tile {
    size_t rows, columns;  /* 1..m of the kernel, >= 1: of several panels one behind the other if more than n */
    size_t taps, depth;    /* >= 1 */
    const float *const *a; /* [taps][m] addresses of input rows; of each m the first `rows` are used */
    const float *w;        /* panels, each: width biases, then [taps * depth][width]; 64-byte aligned */
    float *c;
    size_t ldc; /* elements between output rows */
    float lo, hi;
    const char *prefetch; /* what the next tiles will read: a kernel may fetch it into the cache, so many lines of 64 */
    size_t lines;      /* bytes for every four products of a row: 0, 1, 2 or 4 */
    size_t first;      /* floats behind each address at which inputs begin, as of a later group; 0 for narrow kernels */
} nnf_conv2d_f32_tile;

/* Columns of a tile in panels of n; what is left has a panel of half the width. */
static inline size_t nnf_conv2d_wide(size_t columns, size_t n)
{
    return columns % n > n / 2 ? columns : columns / n * n;
}

/* Bytes from `prefetch` that a tile of one panel may fetch. */
static inline size_t nnf_conv2d_f32_fetched(size_t taps, size_t depth, size_t lines)
{
    return taps * (depth / 4) * lines * 64;
}

/* The lines with which `tiles` tiles fetch so many bytes at an even pace. A core has few misses in flight: the more of
 * them are for later, the longer wait those for now. */
static inline size_t nnf_conv2d_f32_pace(size_t bytes, size_t tiles, size_t taps, size_t depth)
{
    const size_t fetched = tiles * nnf_conv2d_f32_fetched(taps, depth, 1);
    const size_t lines = fetched ? (bytes + fetched - 1) / fetched : 0;
    return lines < 3 ? lines : 4;
}

typedef void (*nnf_conv2d_f32_nhwc_fn)(const nnf_conv2d_f32_tile *tile);

/* Neighbouring pixels of one output row whose windows lie evenly, for images of few channels:
 * c[i][j] = clamp(bias[j] + sum over taps t and k < depth of a[t][i * step + k] * weight[t][k][j], lo, hi), without the
 * taps whose a[t] is NULL; a NaN stays a NaN. Reads exactly those inputs and one panel, writes exactly rows x columns.
 * The products of a pixel are added in one order, whatever the number of rows. */
typedef struct nnf_conv2d_f32_line {
    size_t rows, columns; /* >= 1, 1..n of the kernel */
    size_t taps, depth;   /* >= 1 */
    const float *const *a;
    size_t step;
    const float *w; /* panel, as above */
    float *c;
    size_t ldc;
    float lo, hi;
} nnf_conv2d_f32_line;

typedef void (*nnf_conv2d_line_f32_nhwc_fn)(const nnf_conv2d_f32_line *line);

/* Elements of all panels of a [columns][depth] weight matrix. */
size_t nnf_pack_conv2d_f32_size(size_t columns, size_t depth, size_t n);

/* Packs weights [columns][ld], of each row the first `depth`, and biases [columns] for kernels of n columns. */
void nnf_pack_conv2d_f32(size_t columns, size_t depth, size_t n, const float *weights, size_t ld, const float *bias,
                         float *packed);

/* The same of weights [depth][ld], of which the first `columns` of each row. */
void nnf_pack_conv2d_f32_rows(size_t columns, size_t depth, size_t n, const float *weights, size_t ld, const float *bias,
                              float *packed);

/* 8-bit codes, in one domain: inputs unsigned (a signed code has its top bit flipped, zero points move by 128), weights
 * signed with zero point zw. With the input's zero point zu, and all int32 sums wrapping,
 *   sum((u - zu) * (w - zw)) + bias = sum(u * w) - zw * sum(u) + [bias - zu * sum(w) + depth * zu * zw]
 * The bracket is a constant of the channel; -zw * sum(u) is the offset of a row. */

/* Inputs of a channel that lie together in a panel: four, or eight (a pair) for kernels that take so many at once, of
 * up to so many columns. */
enum { NNF_CONV2D_Q8_GROUP = 4, NNF_CONV2D_Q8_PAIR = 8, NNF_CONV2D_PAIRED = 16 };

/* Groups of a row of `depth` codes for a kernel that takes k codes at once: all of them where they are fewer, else whole
 * ks, the missing weights zeros. */
static inline size_t nnf_conv2d_q8_groups(size_t depth, size_t k)
{
    const size_t unit = depth > k ? k : NNF_CONV2D_Q8_GROUP;
    return (depth + unit - 1) / unit * (unit / NNF_CONV2D_Q8_GROUP);
}

/* Header of a panel, each array [width], then `simple` in 64 bytes, then weights int8 [groups][width][4], then limits.
 * Where pairs of groups lie together, these are [groups / 2][width][8], then a group that is left.
 * SIGNED is 128 times the sum of a channel's weights: what a sum over signed codes, or over inputs less 128, lacks. */
enum {
    NNF_CONV2D_Q8_BIAS, NNF_CONV2D_Q8_MULTIPLIER, NNF_CONV2D_Q8_LEFT, NNF_CONV2D_Q8_RIGHT, NNF_CONV2D_Q8_SIGNED,
    NNF_CONV2D_Q8_ARRAYS
};

/* simple: no left shift, every right shift 1 to 20, and no input can bring a sum to 2^29. */
static inline const int32_t *nnf_conv2d_q8_simple(const int32_t *panel, size_t width)
{
    return panel + NNF_CONV2D_Q8_ARRAYS * width;
}

/* mild: no weight is -128, so that two products of signed bytes can be added in 16 bits. Only kernels that add so look at
 * it, only for them it is set; it follows `simple`. */
static inline const int32_t *nnf_conv2d_q8_mild(const int32_t *panel, size_t width)
{
    return nnf_conv2d_q8_simple(panel, width) + 1;
}

/* Limits: the largest code with which four products, of bytes 0 and 1, or of 2 and 3, of two groups, and eight products,
 * of four groups, can be added in 16 bits; of each block of so many groups. Only kernels that add so look at them, only
 * for them they are set. */
enum { NNF_CONV2D_Q8_LIMITED = 4, NNF_CONV2D_Q8_LIMITS = 2 };

static inline const int8_t *nnf_conv2d_q8_weights(const int32_t *panel, size_t width)
{
    return (const int8_t *)(panel + NNF_CONV2D_Q8_ARRAYS * width + 16);
}

/* Blocks that have limits: those of the groups, and those that fill vectors of 32. */
static inline size_t nnf_conv2d_q8_blocks(size_t groups)
{
    const size_t unit = 32 * NNF_CONV2D_Q8_LIMITED;
    return (groups + unit - 1) / unit * 32;
}

/* uint8 [NNF_CONV2D_Q8_LIMITS][nnf_conv2d_q8_blocks]: of fours, of eights. */
static inline const uint8_t *nnf_conv2d_q8_limits(const int32_t *panel, size_t width, size_t groups)
{
    return (const uint8_t *)nnf_conv2d_q8_weights(panel, width) + NNF_CONV2D_Q8_GROUP * width * groups;
}

/* Bytes of a panel. */
static inline size_t nnf_conv2d_q8_panel(size_t width, size_t groups)
{
    return 4 * (NNF_CONV2D_Q8_ARRAYS * width + 16) + NNF_CONV2D_Q8_GROUP * width * groups +
           NNF_CONV2D_Q8_LIMITS * nnf_conv2d_q8_blocks(groups);
}

/* One tile: c[i][j] = flip ^ clamp(MBQM(sum + offset[i], multiplier[j], exponent[j]) + zero_point, lo, hi). A kernel that
 * takes a block of codes at once (its k), or is tall (its m), takes any number of columns too, of panels that follow
 * each other at w. */
enum { NNF_CONV2D_Q8_BLOCK = 64, NNF_CONV2D_Q8_TALL = 24 };

static inline int nnf_conv2d_q8_wide(size_t m, size_t k)
{
    return k == NNF_CONV2D_Q8_BLOCK || m >= NNF_CONV2D_Q8_TALL;
}

/* How the sums of a tile become values: the codes of its rows, one each or (next: 0) the same, and the columns' scales. */
typedef struct nnf_conv2d_q8_values {
    const nnf_row_codes *row;
    size_t next;
    nnf_sum_scales by;
} nnf_conv2d_q8_values;

typedef struct nnf_conv2d_q8_tile {
    size_t rows, columns; /* 1..m, 1..n of the kernel */
    size_t groups;        /* of 4 inputs, by nnf_conv2d_q8_groups */
    const uint8_t *a;     /* rows of 4 * groups codes */
    size_t lda;
    const int32_t *offset; /* [rows], each -zw times a sum of 4 * groups codes; NULL for none */
    const int32_t *w;      /* panel, 64-byte aligned */
    uint8_t *c;
    size_t ldc;
    int32_t zero_point, lo, hi; /* of the output, 0..255 */
    uint8_t flip;               /* 0x80 when the output is signed */
    uint8_t streamed;           /* weights come from beyond level 2: a kernel may fetch those that it wants next */
    const nnf_conv2d_q8_values *values;
    const double *scale; /* of each column, where sums are rounded once */
} nnf_conv2d_q8_tile;

/* conv2d_qs8_qs8c_nhwc is the same for signed codes at a, read as code ^ 0x80; only for kernels that need no gathered
 * copy of them, all others take the domain above. */
typedef void (*nnf_conv2d_qu8_qs8c_nhwc_fn)(const nnf_conv2d_q8_tile *tile);

/* conv2d_s32_qu8_qs8c_nhwc has the same arguments and gives the sums themselves, each with its offset: int32 values at c,
 * 4-byte aligned, ldc in elements. Of a panel's header it reads the biases only. conv2d_f32_qu8_qs8c_nhwc gives the values
 * of these sums, by `values`, conv2d_once_qu8_qs8c_nhwc their codes, nnf_code_of_sum by `scale`; no other kernel reads
 * these. */

/* Tiles of several output rows, from an image that nobody gathered: of pixel i of line l, block b of 64 codes lies at
 * tile.a + l * line + i * tile.lda + at[b]. What lies under no filter tap has zeros for weights. tile.rows: pixels of a
 * line, any number; tile.groups: 16 for each block; tile.offset, if any, and tile.c go on from line to line. */
typedef struct nnf_conv2d_q8_lines {
    nnf_conv2d_q8_tile tile;
    size_t lines, line;
    const uint32_t *at;
} nnf_conv2d_q8_lines;

/* conv2d_lines_qu8_qs8c_nhwc, conv2d_lines_qs8_qs8c_nhwc: codes at a as the tiles above take them. */
typedef void (*nnf_conv2d_lines_q8_nhwc_fn)(const nnf_conv2d_q8_lines *lines);

/* Gathers `rows` runs of n codes: to[i * ldt + k] = flip ^ x[i * ldx + k]; adds the codes written to sums[i], unless
 * sums is NULL. */
typedef void (*nnf_conv2d_gather_qu8_nhwc_fn)(size_t rows, size_t n, const uint8_t *x, size_t ldx, uint8_t flip,
                                              uint8_t *to, size_t ldt, uint32_t *sums);

/* Bytes of all panels of a [columns][depth] weight matrix, for kernels of n columns that take k codes at once. */
size_t nnf_pack_conv2d_q8_size(size_t columns, size_t depth, size_t n, size_t k);

/* How weights and sums are to be read: weights have `flip` applied first, zero points belong to the domain above.
 * multiplier, exponent: [columns], of the requantization; -31 <= exponent <= 31. */
typedef struct nnf_conv2d_q8_scheme {
    uint8_t flip;
    int32_t weight_zero_point, input_zero_point;
    const int32_t *bias, *multiplier, *exponent;
} nnf_conv2d_q8_scheme;

/* Packs weights [columns][ld], of each row the first `depth`. */
void nnf_pack_conv2d_q8(size_t columns, size_t depth, size_t n, size_t k, const uint8_t *weights, size_t ld,
                        const nnf_conv2d_q8_scheme *scheme, unsigned char *packed);

/* Sets the limits of all panels, for kernels that look at them. */
void nnf_limit_conv2d_q8(size_t columns, size_t depth, size_t n, unsigned char *packed);

/* Says of all panels whether they are mild, likewise. */
void nnf_mark_mild_conv2d_q8(size_t columns, size_t depth, size_t n, unsigned char *packed);

/* Whether panels that come from elsewhere have no shift that kernels cannot do; whatever else they hold is a number. */
int nnf_fits_conv2d_q8(size_t columns, size_t depth, size_t n, size_t k, const unsigned char *packed);

#endif
