#include "check.h"
#include "checks.h"

#include <stdio.h>
#include <string.h>

#include "conv2d_grouped/conv2d_grouped.h"

enum { ROWS = NNF_CONV2D_GROUPED_ROWS };

typedef struct problem {
    nnf_conv2d_groups in;
    size_t rows, taps, ldc;
    nnf_conv2d_q8_scheme scheme;
    const uint8_t *weights, *const *pixels; /* pixels: codes under each tap of each row */
    nnf_conv2d_grouped_q8_tile tile;
} problem;

/* Weights and what turns sums into codes; any: every multiplier, sums that wrap, else those of layers. */
static void fill(nnf_check *c, problem *p, bool any)
{
    const size_t units = p->in.groups * p->in.units, count = units * p->taps * p->in.depth;
    uint8_t *weights = nnf_check_alloc(c, count);
    int32_t *bias = nnf_check_alloc(c, 4 * units), *multiplier = nnf_check_alloc(c, 4 * units);
    int32_t *exponent = nnf_check_alloc(c, 4 * units);
    nnf_check_fill_bytes(c, weights, count);
    for (size_t j = 0; j < units; j++) {
        bias[j] = (int32_t)nnf_check_u32(c) >> (any ? 0 : 16);
        nnf_check_multiplier(c, multiplier + j, exponent + j, any ? -31 : -12, any ? 31 : -1);
    }
    p->weights = weights;
    p->scheme = (nnf_conv2d_q8_scheme){.flip = nnf_check_below(c, 2) ? 0x80 : 0,
                                       .input_zero_point = (int32_t)nnf_check_below(c, 256),
                                       .bias = bias, .multiplier = multiplier, .exponent = exponent};
    p->tile = (nnf_conv2d_grouped_q8_tile){
        .rows = p->rows, .taps = p->taps, .in = p->in, .ldc = p->ldc,
        .zero_point = (int32_t)nnf_check_below(c, 256),
        .lo = nnf_check_below(c, 2) ? 0 : (int32_t)nnf_check_below(c, 100),
        .hi = nnf_check_below(c, 2) ? 255 : 156 + (int32_t)nnf_check_below(c, 100),
        .flip = nnf_check_below(c, 2) ? 0x80 : 0,
    };
}

/* Inputs as a kernel reads them, those of each address between guards of its own. */
static const void *const *inputs(nnf_check *c, const problem *p, size_t k)
{
    const size_t count = p->taps * ROWS, channels = p->in.groups * p->in.depth;
    const void **a = nnf_check_alloc(c, count * sizeof *a);
    for (size_t i = 0; i < count; i++) {
        void *to = nnf_check_alloc(c, channels * nnf_conv2d_grouped_item(k));
        for (size_t j = 0; j < channels; j++) {
            if (k == 4)
                ((uint8_t *)to)[j] = p->pixels[i][j];
            else
                ((uint16_t *)to)[j] = p->pixels[i][j];
        }
        a[i] = to;
    }
    return a;
}

static void run(nnf_check *c, const nnf_kernel *kernel, problem *p, uint8_t *y)
{
    const size_t n = (size_t)kernel->n, k = (size_t)kernel->k;
    const size_t bytes = nnf_pack_conv2d_grouped_q8_size(&p->in, p->taps, n, k);
    unsigned char *w = nnf_check_alloc(c, bytes);
    nnf_pack_conv2d_grouped_q8(&p->in, p->taps, n, k, p->weights, &p->scheme, w);
    p->tile.a = inputs(c, p, k);
    p->tile.w = (const int32_t *)w;
    p->tile.c = y;
    ((nnf_conv2d_grouped_qu8_qs8c_nhwc_fn)kernel->fn)(&p->tile);
}

static void check_tile(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel, problem p, bool any)
{
    const size_t channels = p.in.groups * p.in.depth, units = p.in.groups * p.in.units;
    p.ldc = units + nnf_check_below(c, 2);
    uint8_t **a = nnf_check_alloc(c, p.taps * ROWS * sizeof *a);
    for (size_t i = 0; i < p.taps * ROWS; i++) {
        a[i] = nnf_check_alloc(c, channels);
        nnf_check_fill_bytes(c, a[i], channels);
    }
    fill(c, &p, any);
    p.pixels = (const uint8_t *const *)a;
    uint8_t *expected = nnf_check_alloc(c, p.rows * p.ldc), *actual = nnf_check_alloc(c, p.rows * p.ldc);
    memset(expected, 0, p.rows * p.ldc);
    memset(actual, 0, p.rows * p.ldc);
    run(c, twin, &p, expected);
    run(c, kernel, &p, actual);
    nnf_check_bytes(c, expected, actual, p.rows * p.ldc);
    nnf_check_done(c, "groups=%zu depth=%zu units=%zu rows=%zu taps=%zu any=%d", p.in.groups, p.in.depth, p.in.units,
                   p.rows, p.taps, any);
}

static void bench(nnf_check *c, const nnf_kernel *kernel, nnf_conv2d_groups in)
{
    problem p = {.in = in, .rows = ROWS, .taps = 9, .ldc = in.groups * in.units};
    const size_t count = p.taps * ROWS, pixel = in.groups * in.depth * nnf_conv2d_grouped_item((size_t)kernel->k);
    uint8_t *x = nnf_check_alloc(c, count * pixel), *y = nnf_check_alloc(c, p.rows * p.ldc);
    const uint8_t **pixels = nnf_check_alloc(c, count * sizeof *pixels);
    const void **a = nnf_check_alloc(c, count * sizeof *a);
    char label[64];
    for (size_t i = 0; i < count; i++)
        a[i] = pixels[i] = x + i * pixel;
    fill(c, &p, false);
    p.pixels = pixels;
    run(c, kernel, &p, y);
    p.tile.a = a;
    snprintf(label, sizeof label, "%zux%zux%zu", in.groups, in.depth, in.units);
    NNF_BENCH(c, label, p.rows * p.taps * in.groups * in.depth * in.units,
              ((nnf_conv2d_grouped_qu8_qs8c_nhwc_fn)kernel->fn)(&p.tile));
    nnf_check_done(c, "bench %s", label);
}

void nnf_check_conv2d_grouped_qu8_qs8c_nhwc(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    static const nnf_conv2d_groups groups[] = {{8, 8, 8}, {3, 8, 8}, {1, 4, 1}, {7, 4, 4}, {19, 4, 4}, {5, 8, 4},
                                               {5, 4, 8}, {2, 8, 16}, {3, 16, 8}, {9, 4, 3}, {4, 12, 12}, {32, 4, 4},
                                               {2, 4, 11}, {6, 8, 5}, {3, 16, 16}, {2, 12, 24}, {2, 32, 16}, {2, 24, 24}, {1, 40, 40}, {2, 68, 9}, {1, 132, 33}};
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        if (!nnf_conv2d_grouped_fits(&groups[i], (size_t)kernel->n, (size_t)kernel->k) ||
            !nnf_conv2d_grouped_fits(&groups[i], (size_t)twin->n, (size_t)twin->k))
            continue;
        for (size_t rows = 1; rows <= ROWS; rows++) {
            const problem p = {.in = groups[i], .rows = rows, .taps = 1 + nnf_check_below(c, 5)};
            check_tile(c, twin, kernel, p, rows % 2);
        }
    }
    if (c->bench) {
        bench(c, kernel, (nnf_conv2d_groups){8, 8, 8});
        bench(c, kernel, (nnf_conv2d_groups){32, 4, 4});
        bench(c, kernel, (nnf_conv2d_groups){8, 12, 12});
        bench(c, kernel, (nnf_conv2d_groups){4, 16, 16});
        bench(c, kernel, (nnf_conv2d_groups){4, 24, 24});
        bench(c, kernel, (nnf_conv2d_groups){2, 32, 32});
        bench(c, kernel, (nnf_conv2d_groups){4, 64, 64});
    }
}

void nnf_check_conv2d_grouped_inputs_qu8_flat(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    const size_t item = nnf_conv2d_grouped_item((size_t)kernel->k);
    for (size_t n = 0; n < 200; n++) {
        uint8_t *x = nnf_check_alloc(c, n), *codes = nnf_check_alloc(c, n), *expected = nnf_check_alloc(c, n * item);
        uint8_t *actual = nnf_check_alloc(c, n * item);
        const uint8_t flip = nnf_check_below(c, 2) ? 0x80 : 0;
        nnf_check_fill_bytes(c, x, n);
        ((nnf_conv2d_grouped_inputs_qu8_flat_fn)twin->fn)(n, x, flip, codes);
        for (size_t i = 0; i < n; i++) {
            const uint16_t word = codes[i];
            memcpy(expected + i * item, &word, item);
        }
        ((nnf_conv2d_grouped_inputs_qu8_flat_fn)kernel->fn)(n, x, flip, actual);
        nnf_check_bytes(c, expected, actual, n * item);
        nnf_check_done(c, "n=%zu flip=%u", n, flip);
    }
    if (c->bench) {
        enum { COUNT = 16384 };
        uint8_t *x = nnf_check_alloc(c, COUNT), *y = nnf_check_alloc(c, COUNT * item);
        nnf_check_fill_bytes(c, x, COUNT);
        NNF_BENCH(c, "16384", COUNT, ((nnf_conv2d_grouped_inputs_qu8_flat_fn)kernel->fn)(COUNT, x, 0x80, y));
        nnf_check_done(c, "bench");
    }
}
