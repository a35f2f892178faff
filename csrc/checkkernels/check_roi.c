#include "check.h"
#include "checks.h"

#include <math.h>

#include "roi/roi.h"

enum { MOST = 7 };

/* A bin of up to MOST x MOST pixels, some of them not next to each other, in an image that ends with the last one. */
typedef struct bin {
    nnf_roi g;
    size_t row[MOST], column[MOST], elements;
} bin;

static void choose(nnf_check *c, bin *b, size_t n)
{
    const size_t width = 2 * MOST + nnf_check_below(c, 3);
    b->g = (nnf_roi){.rows = 1 + nnf_check_below(c, MOST), .columns = 1 + nnf_check_below(c, MOST), .row = b->row,
                     .column = b->column};
    for (size_t i = 0, y = 0, x = 0; i < MOST; i++, y += 1 + nnf_check_below(c, 2), x += 1 + nnf_check_below(c, 2)) {
        b->row[i] = y * width * n;
        b->column[i] = x * n;
    }
    b->elements = b->row[b->g.rows - 1] + b->column[b->g.columns - 1] + n;
}

void nnf_check_roi_align_f32_nhwc(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    const nnf_roi_align_f32_nhwc_fn slow = (nnf_roi_align_f32_nhwc_fn)twin->fn;
    const nnf_roi_align_f32_nhwc_fn fast = (nnf_roi_align_f32_nhwc_fn)kernel->fn;
    size_t sizes[9];
    nnf_check_sizes(kernel->n ? (size_t)kernel->n : 16, sizes);
    for (size_t s = 0; sizes[s]; s++) {
        for (size_t form = 0; form < 12; form++) {
            const size_t n = sizes[s];
            bin b;
            choose(c, &b, n);
            const size_t taps = b.g.rows * b.g.columns;
            float *x = nnf_check_alloc(c, 4 * b.elements), *w = nnf_check_alloc(c, 4 * taps);
            float *expected = nnf_check_alloc(c, 4 * n), *actual = nnf_check_alloc(c, 4 * n);
            float *scale = nnf_check_alloc(c, 4 * n);
            nnf_check_fill_f32(c, x, b.elements, -4, 4);
            nnf_check_fill_f32(c, w, taps, 0, 1);
            if (form == 11)
                x[nnf_check_below(c, b.elements)] = INFINITY;
            for (size_t i = 0; i < n; i++)
                scale[i] = 4.0f * (float)taps;
            slow(&b.g, w, n, x, expected);
            fast(&b.g, w, n, x, actual);
            nnf_check_f32(c, expected, actual, n, scale, taps);
            nnf_check_done(c, "n=%zu form=%zu %zux%zu", n, form, b.g.rows, b.g.columns);
        }
    }
    static const size_t row[] = {0, 3072, 6144}, column[] = {0, 256, 512};
    const nnf_roi g = {3, 3, row, column};
    float *x = nnf_check_alloc(c, 4 * 9216), *w = nnf_check_alloc(c, 4 * 9), *y = nnf_check_alloc(c, 4 * 256);
    nnf_check_fill_f32(c, x, 9216, -1, 1);
    nnf_check_fill_f32(c, w, 9, 0, 1);
    NNF_BENCH(c, "3x3x256", 9 * 256, fast(&g, w, 256, x, y));
    nnf_check_done(c, "bench");
}

static void check_q8(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel, int32_t low)
{
    const nnf_roi_align_q8_nhwc_fn slow = (nnf_roi_align_q8_nhwc_fn)twin->fn;
    const nnf_roi_align_q8_nhwc_fn fast = (nnf_roi_align_q8_nhwc_fn)kernel->fn;
    size_t sizes[9];
    nnf_check_sizes(kernel->n ? (size_t)kernel->n : 16, sizes);
    for (size_t s = 0; sizes[s]; s++) {
        for (size_t form = 0; form < 12; form++) {
            const size_t n = sizes[s];
            bin b;
            choose(c, &b, n);
            const size_t taps = b.g.rows * b.g.columns;
            uint8_t *x = nnf_check_alloc(c, b.elements);
            int32_t *w = nnf_check_alloc(c, 4 * taps);
            uint8_t *expected = nnf_check_alloc(c, n), *actual = nnf_check_alloc(c, n);
            nnf_roi_q8 q = {.zero_x = low + (int32_t)nnf_check_below(c, 256),
                            .zero_y = low + (int32_t)nnf_check_below(c, 256), .lo = low, .hi = low + 255};
            nnf_check_multiplier(c, &q.multiplier, &q.exponent, form < 6 ? -12 : -31, form < 6 ? -6 : 1);
            nnf_check_fill_bytes(c, x, b.elements);
            for (size_t t = 0; t < taps; t++)
                w[t] = (int32_t)nnf_check_below(c, form == 11 ? 1u << 28 : 1021); /* the last form wraps */
            slow(&b.g, w, n, x, expected, &q);
            fast(&b.g, w, n, x, actual, &q);
            nnf_check_bytes(c, expected, actual, n);
            nnf_check_done(c, "n=%zu form=%zu %zux%zu", n, form, b.g.rows, b.g.columns);
        }
    }
    static const size_t row[] = {0, 3072, 6144}, column[] = {0, 256, 512};
    const nnf_roi g = {3, 3, row, column};
    const nnf_roi_q8 q = {.multiplier = 1 << 30, .exponent = -9, .lo = low, .hi = low + 255};
    uint8_t *x = nnf_check_alloc(c, 9216), *y = nnf_check_alloc(c, 256);
    int32_t *w = nnf_check_alloc(c, 4 * 9);
    nnf_check_fill_bytes(c, x, 9216);
    for (size_t t = 0; t < 9; t++)
        w[t] = 100;
    NNF_BENCH(c, "3x3x256", 9 * 256, fast(&g, w, 256, x, y, &q));
    nnf_check_done(c, "bench");
}

NNF_CHECK(roi_align_qu8_nhwc, check_q8(c, twin, kernel, 0))
NNF_CHECK(roi_align_qs8_nhwc, check_q8(c, twin, kernel, -128))
