/* The products of conv2d.h in bfloat16, where the client asked for that: inputs and weights are rounded to bfloat16
 * (nnf/bf16.h), sums, biases and outputs are float32. The instructions take sums below 2^-126 for zeros, the scalar twin
 * does not. */
#ifndef NNF_CONV2D_BF16_H
#define NNF_CONV2D_BF16_H

#include "conv2d.h"
#include "nnf/bf16.h"

/* Pairs of a row of `depth` inputs for a kernel that takes k inputs at once: all of them where they are fewer, else
 * whole ks, the missing weights zeros. The inputs under them must be finite. */
static inline size_t nnf_conv2d_bf16_pairs(size_t depth, size_t k)
{
    const size_t unit = depth > k ? k : 2;
    return (depth + unit - 1) / unit * (unit / 2);
}

/* k of kernels that want four inputs of a column side by side, in panels of up to NNF_CONV2D_PAIRED columns. */
enum { NNF_CONV2D_BF16_FOUR = 4 };

/* Bytes of a panel: float biases [width], then bfloat16 weights [pairs][width][2], or [pairs / 2][width][4] for
 * k = NNF_CONV2D_BF16_FOUR and more than one pair. */
static inline size_t nnf_conv2d_bf16_panel(size_t width, size_t pairs)
{
    return 4 * width * (pairs + 1);
}

static inline const uint16_t *nnf_conv2d_bf16_weights(const float *panel, size_t width)
{
    return (const uint16_t *)(panel + width);
}

/* One tile: c[i][j] = clamp(bias[j] + sum over taps t and k < 2 * pairs of a[i * lda + tap[t] + k] * weight[t][k][j], lo,
 * hi); a NaN stays a NaN. An output is added in one order, whatever the number of rows and wherever they lie. odd: the
 * last k of a tap is none, and not read; its weights are zeros. Only kernels that take two inputs at once have that.
 *
 * Of every `span` rows the first `line` are kept, counted from `at` rows before the tile: those follow each other in c,
 * the others are read and dropped. */
typedef struct nnf_conv2d_bf16_tile {
    size_t rows, columns; /* 1..m of the kernel, >= 1: the panels of the columns follow each other */
    size_t taps, pairs;   /* pairs of a tap, by nnf_conv2d_bf16_pairs; of several taps whole ks of inputs, or fewer than
                           * k, whose weights are packed for k = 2 */
    const size_t *tap;    /* [taps] */
    int odd;
    const uint16_t *a;
    size_t lda;
    size_t at, line, span; /* at < span, 1 <= line <= span; tiles that keep every row have line == span */
    const float *w;        /* first panel, 64-byte aligned */
    float *c;
    size_t ldc;
    float lo, hi;
    const char *prefetch; /* what later tiles will read: a kernel may fetch so many lines of 64 bytes into the cache */
    size_t lines;      /* for every step of nnf_conv2d_bf16_steps */
} nnf_conv2d_bf16_tile;

/* Steps that a tile of so many rows and panels is for kernels that take 32 rows and 32 inputs at once. */
static inline size_t nnf_conv2d_bf16_steps(size_t rows, size_t panels, size_t taps, size_t pairs)
{
    return (rows + 31) / 32 * panels * taps * ((pairs + 15) / 16);
}

/* Rows of c before that of row i, if that is kept. */
static inline size_t nnf_conv2d_bf16_place(const nnf_conv2d_bf16_tile *t, size_t i)
{
    if (t->line == t->span)
        return i;
    const size_t row = (t->at + i) / t->span, column = (t->at + i) % t->span;
    return row * t->line + (column < t->line ? column : t->line) - (t->at < t->line ? t->at : t->line);
}

typedef void (*nnf_conv2d_bf16_nhwc_fn)(const nnf_conv2d_bf16_tile *tile);

/* Rounds `rows` runs of n floats: to[i * ldt + k] = bfloat16 of x[i * ldx + k]. */
typedef void (*nnf_conv2d_gather_bf16_nhwc_fn)(size_t rows, size_t n, const float *x, size_t ldx, uint16_t *to,
                                               size_t ldt);

/* Rounds pixels apart: to[i * pixel + k] = bfloat16 of x[i * channels + k] for k < channels, else zero. channels 1..16,
 * pixel channels..16. */
typedef void (*nnf_conv2d_spread_bf16_nhwc_fn)(size_t pixels, size_t channels, const float *x, size_t pixel,
                                               uint16_t *to);

/* Bytes of all panels of a [columns][depth] weight matrix, for kernels of n columns that take k inputs at once. */
size_t nnf_pack_conv2d_bf16_size(size_t columns, size_t depth, size_t n, size_t k);

void nnf_pack_conv2d_bf16(size_t columns, size_t depth, size_t n, size_t k, const float *weights, const float *bias,
                          unsigned char *packed);

#endif
