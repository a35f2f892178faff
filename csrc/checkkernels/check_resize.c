#include "check.h"
#include "checks.h"

#include "resize/resize_near.h"

enum { PIXELS = 6 }; /* of an input row */

/* From 0 to 1; of a number of equal parts if there are such. */
static float weight(nnf_check *c, size_t parts)
{
    if (parts)
        return (float)nnf_check_below(c, parts + 1) / (float)parts;
    return nnf_check_below(c, 4) ? nnf_check_float(c, 0, 1) : 0.0f;
}

/* Columns and weights of a row of `width` pixels. */
static nnf_resize row_of(nnf_check *c, size_t width, size_t channels, size_t parts)
{
    uint32_t *left = nnf_check_alloc(c, 4 * width), *right = nnf_check_alloc(c, 4 * width);
    float *across = nnf_check_alloc(c, 4 * width);
    for (size_t i = 0; i < width; i++) {
        left[i] = (uint32_t)nnf_check_below(c, PIXELS);
        right[i] = left[i] + 1 < PIXELS ? left[i] + 1 : left[i];
        across[i] = weight(c, parts);
    }
    return (nnf_resize){.width = width, .channels = channels, .columns = PIXELS, .left = left, .right = right,
                        .across = across};
}

static void *work_of(nnf_check *c, const nnf_resize *p)
{
    return nnf_check_alloc(c, 8 * (p->columns * p->channels + NNF_RESIZE_SPARE));
}

static bool find_near(nnf_check *c, nnf_resize *p, size_t lanes)
{
    return nnf_resize_find_near(p, lanes, nnf_check_alloc(c, 4 * nnf_resize_near_size(p, lanes)));
}

/* Two pixels with the last place that vectors pick from between them, and one more. */
static void check_limit(nnf_check *c, nnf_resize_bilinear_f32_nhwc_fn slow, nnf_resize_bilinear_f32_nhwc_fn fast,
                        size_t lanes)
{
    for (size_t edge = 2 * lanes - 1; edge <= 2 * lanes; edge++) {
        uint32_t columns[] = {0, (uint32_t)edge};
        float across[] = {0.25f, 0.25f}, expected[2], actual[2];
        nnf_resize p = {.width = 2, .channels = 1, .columns = edge + 1, .left = columns, .right = columns,
                        .across = across};
        void *work = work_of(c, &p);
        float *x = nnf_check_alloc(c, 4 * (edge + 1));
        find_near(c, &p, lanes);
        nnf_check_fill_f32(c, x, edge + 1, -8, 8);
        slow(&p, x, x, 0.25f, work, expected);
        fast(&p, x, x, 0.25f, work, actual);
        nnf_check_f32(c, expected, actual, 2, NULL, 0);
        nnf_check_done(c, "limit, edge=%zu", edge);
    }
}

void nnf_check_resize_bilinear_f32_nhwc(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    const nnf_resize_bilinear_f32_nhwc_fn slow = (nnf_resize_bilinear_f32_nhwc_fn)twin->fn;
    const nnf_resize_bilinear_f32_nhwc_fn fast = (nnf_resize_bilinear_f32_nhwc_fn)kernel->fn;
    size_t sizes[9];
    nnf_check_sizes(16, sizes);
    if (kernel->n)
        check_limit(c, slow, fast, (size_t)kernel->n);
    for (size_t s = 0; sizes[s]; s++) {
        for (size_t form = 0; form < 16; form++) {
            const size_t channels = form & 8 ? s + 1 : sizes[s], width = 1 + 3 * (form & 3), count = width * channels;
            nnf_resize p = row_of(c, width, channels, 0);
            void *work = work_of(c, &p);
            if (form & 8 && kernel->n)
                find_near(c, &p, (size_t)kernel->n);
            float *top = nnf_check_alloc(c, 4 * PIXELS * channels), *bottom = nnf_check_alloc(c, 4 * PIXELS * channels);
            float *expected = nnf_check_alloc(c, 4 * count), *actual = nnf_check_alloc(c, 4 * count);
            const float down = form & 4 ? nnf_check_float(c, 0, 1) : 0.25f;
            nnf_check_fill_f32(c, top, PIXELS * channels, -8, 8);
            nnf_check_fill_f32(c, bottom, PIXELS * channels, -8, 8);
            slow(&p, top, bottom, down, work, expected);
            fast(&p, top, bottom, down, work, actual);
            nnf_check_f32(c, expected, actual, count, NULL, 0);
            nnf_check_done(c, "channels=%zu width=%zu", channels, width);
        }
    }
    const nnf_resize p = row_of(c, 32, 64, 0);
    float *x = nnf_check_alloc(c, 4 * PIXELS * 64), *y = nnf_check_alloc(c, 4 * 32 * 64);
    nnf_check_fill_f32(c, x, PIXELS * 64, -8, 8);
    NNF_BENCH(c, "32 x 64", 32 * 64, fast(&p, x, x, 0.25f, NULL, y));
    nnf_resize few = row_of(c, 682, 3, 0);
    void *work = work_of(c, &few);
    NNF_BENCH(c, "682 x 3", 682 * 3, fast(&few, x, x, 0.25f, work, y));
    for (size_t i = 0; i < few.width; i++) /* as many columns as there are, in order */
        ((uint32_t *)few.left)[i] = ((uint32_t *)few.right)[i] = (uint32_t)(i * PIXELS / few.width);
    if (kernel->n && find_near(c, &few, (size_t)kernel->n))
        NNF_BENCH(c, "682 x 3, near", 682 * 3, fast(&few, x, x, 0.25f, work, y));
    nnf_check_done(c, "bench");
}

static void check_q8(nnf_check *c, bool is_signed, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    const nnf_resize_bilinear_q8_nhwc_fn slow = (nnf_resize_bilinear_q8_nhwc_fn)twin->fn;
    const nnf_resize_bilinear_q8_nhwc_fn fast = (nnf_resize_bilinear_q8_nhwc_fn)kernel->fn;
    size_t sizes[9];
    nnf_check_sizes(16, sizes);
    for (size_t s = 0; sizes[s]; s++) {
        for (size_t form = 0; form < 64; form++) {
            const size_t channels = sizes[s], width = 1 + 3 * (form & 3), count = width * channels;
            const bool is_fixed = is_signed && form & 8, is_exact = form & 16;
            const size_t parts = is_exact ? 128 : is_fixed ? NNF_RESIZE_ONE : 0;
            nnf_resize p = row_of(c, width, channels, parts);
            p.is_fixed = is_fixed;
            p.is_exact = is_exact;
            void *work = form & 32 ? work_of(c, &p) : NULL;
            uint8_t *top = nnf_check_alloc(c, PIXELS * channels), *bottom = nnf_check_alloc(c, PIXELS * channels);
            uint8_t *expected = nnf_check_alloc(c, count), *actual = nnf_check_alloc(c, count);
            const float down = form & 4 ? weight(c, parts) : 0.5f;
            nnf_check_fill_bytes(c, top, PIXELS * channels);
            nnf_check_fill_bytes(c, bottom, PIXELS * channels);
            slow(&p, top, bottom, down, work, expected);
            fast(&p, top, bottom, down, work, actual);
            nnf_check_bytes(c, expected, actual, count);
            nnf_check_done(c, "channels=%zu width=%zu", channels, width);
        }
    }
    nnf_resize p = row_of(c, 32, 64, 0);
    uint8_t *x = nnf_check_alloc(c, PIXELS * 64), *y = nnf_check_alloc(c, 32 * 64);
    void *work = work_of(c, &p);
    nnf_check_fill_bytes(c, x, PIXELS * 64);
    NNF_BENCH(c, "32 x 64", 32 * 64, fast(&p, x, x, 0.25f, NULL, y));
    NNF_BENCH(c, "32 x 64, work", 32 * 64, fast(&p, x, x, 0.25f, work, y));
    p.is_exact = 1;
    NNF_BENCH(c, "32 x 64, work, exact", 32 * 64, fast(&p, x, x, 0.25f, work, y));
    if (is_signed) {
        p.is_fixed = 1;
        NNF_BENCH(c, "32 x 64, fixed", 32 * 64, fast(&p, x, x, 0.25f, NULL, y));
        NNF_BENCH(c, "32 x 64, work, fixed", 32 * 64, fast(&p, x, x, 0.25f, work, y));
    }
    nnf_check_done(c, "bench");
}

NNF_CHECK(resize_bilinear_qu8_nhwc, check_q8(c, false, twin, kernel))
NNF_CHECK(resize_bilinear_qs8_nhwc, check_q8(c, true, twin, kernel))
