#include "check.h"
#include "checks.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "pooling/pooling.h"

/* Windows, strides and paddings of the cases: kh kw, sh sw, top left, bottom right. */
static const size_t shapes[][8] = {
    {1, 1, 1, 1, 0, 0, 0, 0}, {2, 2, 2, 2, 0, 0, 0, 0}, {3, 3, 1, 1, 1, 1, 1, 1}, {3, 3, 2, 2, 0, 0, 1, 1},
    {2, 5, 1, 3, 1, 4, 0, 2}, {7, 7, 7, 7, 0, 0, 0, 0}, {4, 1, 3, 1, 3, 0, 3, 0}, {1, 9, 2, 1, 0, 8, 0, 8},
    {5, 5, 1, 1, 2, 2, 2, 2}, {9, 9, 1, 1, 4, 4, 4, 4}, {13, 8, 1, 2, 6, 3, 6, 3}, {2, 2, 1, 2, 0, 1, 1, 1},
};
static const size_t images[][2] = {{1, 1}, {2, 3}, {5, 4}, {7, 7}, {9, 12}, {3, 150}};
static const size_t channels[] = {1, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 131};

static bool axis(nnf_axis *a, size_t size, const size_t *s)
{
    const size_t padded = size + s[4] + s[6];
    if (padded < s[0])
        return false;
    *a = (nnf_axis){.size = size, .out = (padded - s[0]) / s[2] + 1, .taps = s[0], .stride = s[2], .dilation = 1,
                    .head = s[4]};
    return true;
}

/* The share of a pool that a case computes. */
typedef struct part {
    nnf_pool g;
    size_t first, last, begin, end, inputs, outputs;
} part;

static bool choose(nnf_check *c, part *p, size_t image, size_t shape, size_t count)
{
    nnf_pool *g = &p->g;
    g->channels = count;
    if (!axis(&g->y, images[image][0], shapes[shape]) || !axis(&g->x, images[image][1], shapes[shape] + 1))
        return false;
    const size_t blocks = (count + NNF_POOL_BLOCK - 1) / NNF_POOL_BLOCK;
    p->first = nnf_check_below(c, g->y.out);
    p->last = p->first + 1 + nnf_check_below(c, g->y.out - p->first);
    p->begin = nnf_check_below(c, blocks) * NNF_POOL_BLOCK;
    p->end = p->begin + NNF_POOL_BLOCK * (1 + nnf_check_below(c, blocks - p->begin / NNF_POOL_BLOCK));
    p->end = p->end < count ? p->end : count;
    p->inputs = g->y.size * g->x.size * count;
    p->outputs = (p->last - p->first) * g->x.out * count;
    return true;
}

static void done(nnf_check *c, const part *p)
{
    nnf_check_done(c, "image %zux%zux%zu window %zux%zu stride %zux%zu head %zux%zu rows %zu-%zu channels %zu-%zu",
                   p->g.y.size, p->g.x.size, p->g.channels, p->g.y.taps, p->g.x.taps, p->g.y.stride, p->g.x.stride,
                   p->g.y.head, p->g.x.head, p->first, p->last, p->begin, p->end);
}

static void case_f32(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel, const part *p, bool clamp)
{
    const nnf_pool_f32_fn slow = (nnf_pool_f32_fn)twin->fn, fast = (nnf_pool_f32_fn)kernel->fn;
    const float lo = clamp ? -1.0f : -INFINITY, hi = clamp ? 1.0f : INFINITY;
    float *x = nnf_check_alloc(c, 4 * p->inputs), *expected = nnf_check_alloc(c, 4 * p->outputs);
    float *actual = nnf_check_alloc(c, 4 * p->outputs), *scale = nnf_check_alloc(c, 4 * p->outputs);
    memset(scale, 0, 4 * p->outputs); /* outputs that were not asked for keep their pattern */
    nnf_check_fill_f32(c, x, p->inputs, -4, 2);
    x[nnf_check_below(c, p->inputs)] = NAN;
    if (kernel->tolerance == NNF_EXACT)
        x[nnf_check_below(c, p->inputs)] = -INFINITY;
    slow(&p->g, p->first, p->last, p->begin, p->end, x, expected, lo, hi);
    fast(&p->g, p->first, p->last, p->begin, p->end, x, actual, lo, hi);
    for (size_t i = 0; i < p->inputs; i++)
        x[i] = isfinite(x[i]) ? fabsf(x[i]) : 0.0f;
    slow(&p->g, p->first, p->last, p->begin, p->end, x, scale, 0, INFINITY);
    nnf_check_f32(c, expected, actual, p->outputs, scale, p->g.y.taps * p->g.x.taps);
    done(c, p);
}

static void case_q8(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel, const part *p, int32_t low)
{
    const nnf_pool_q8_fn slow = (nnf_pool_q8_fn)twin->fn, fast = (nnf_pool_q8_fn)kernel->fn;
    const int32_t lo = low + (int32_t)nnf_check_below(c, 2) * (int32_t)nnf_check_below(c, 256);
    const int32_t hi = lo + (int32_t)nnf_check_below(c, (size_t)(low + 256 - lo));
    uint8_t *x = nnf_check_alloc(c, p->inputs), *expected = nnf_check_alloc(c, p->outputs);
    uint8_t *actual = nnf_check_alloc(c, p->outputs);
    nnf_check_fill_bytes(c, x, p->inputs);
    slow(&p->g, p->first, p->last, p->begin, p->end, x, expected, lo, hi);
    fast(&p->g, p->first, p->last, p->begin, p->end, x, actual, lo, hi);
    nnf_check_bytes(c, expected, actual, p->outputs);
    done(c, p);
}

static void case_q16(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel, const part *p)
{
    const nnf_pool_q16_fn slow = (nnf_pool_q16_fn)twin->fn, fast = (nnf_pool_q16_fn)kernel->fn;
    const int32_t lo = INT16_MIN + (int32_t)nnf_check_below(c, 2) * (int32_t)nnf_check_below(c, 65536);
    const int32_t hi = lo + (int32_t)nnf_check_below(c, (size_t)(32768 - lo));
    int16_t *x = nnf_check_alloc(c, 2 * p->inputs), *expected = nnf_check_alloc(c, 2 * p->outputs);
    int16_t *actual = nnf_check_alloc(c, 2 * p->outputs);
    nnf_check_fill_bytes(c, x, 2 * p->inputs);
    if (nnf_check_below(c, 2)) /* halves and whole numbers, ends of the range */
        for (size_t i = 0; i < p->inputs; i++)
            x[i] = (int16_t)(x[i] & 1 ? x[i] % 4 : x[i] < 0 ? INT16_MIN : INT16_MAX);
    slow(&p->g, p->first, p->last, p->begin, p->end, x, expected, lo, hi);
    fast(&p->g, p->first, p->last, p->begin, p->end, x, actual, lo, hi);
    nnf_check_bytes(c, expected, actual, 2 * p->outputs);
    done(c, p);
}

/* Pools of square images: the global one of MobileNet v1, halves of an image, windows that overlap. */
static const struct {
    const char *label;
    size_t size, taps, stride, channels;
} benched[] = {
    {"7x7x1024 global", 7, 7, 7, 1024}, {"56x56x64 2x2/2", 56, 2, 2, 64}, {"112x112x16 2x2/2", 112, 2, 2, 16},
    {"224x224x3 2x2/2", 224, 2, 2, 3}, {"40x40x128 5x5/1", 40, 5, 1, 128}, {"40x40x128 13x13/1", 40, 13, 1, 128},
};

static void bench(nnf_check *c, const nnf_kernel *kernel, int32_t low, size_t width)
{
    for (size_t i = 0; c->bench && i < sizeof benched / sizeof benched[0]; i++) {
        const size_t size = benched[i].size, count = benched[i].channels, taps = benched[i].taps;
        const size_t out = (size - (benched[i].stride > 1 ? taps : 1)) / benched[i].stride + 1;
        const nnf_axis a = {.size = size, .out = out, .taps = taps, .stride = benched[i].stride, .dilation = 1,
                            .head = benched[i].stride > 1 ? 0 : taps / 2};
        const nnf_pool g = {a, a, count};
        void *x = nnf_check_alloc(c, width * size * size * count), *y = nnf_check_alloc(c, width * out * out * count);
        memset(x, 1, width * size * size * count);
        if (width == 4)
            NNF_BENCH(c, benched[i].label, size * size * count,
                      ((nnf_pool_f32_fn)kernel->fn)(&g, 0, out, 0, count, x, y, 0, 6));
        else if (width == 2)
            NNF_BENCH(c, benched[i].label, size * size * count,
                      ((nnf_pool_q16_fn)kernel->fn)(&g, 0, out, 0, count, x, y, low, -low - 1));
        else
            NNF_BENCH(c, benched[i].label, size * size * count,
                      ((nnf_pool_q8_fn)kernel->fn)(&g, 0, out, 0, count, x, y, low, low + 255));
        nnf_check_done(c, "bench");
    }
}

/* low: the lowest code; width: bytes of one, 4 for floats. */
static void check_pool(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel, int32_t low, size_t width)
{
    part p;
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        for (size_t i = 0; i < sizeof images / sizeof images[0]; i++) {
            for (size_t k = 0; k < sizeof channels / sizeof channels[0]; k++) {
                if (!choose(c, &p, i, s, channels[k]))
                    continue;
                if (width == 4)
                    case_f32(c, twin, kernel, &p, (i + k) & 1);
                else if (width == 2)
                    case_q16(c, twin, kernel, &p);
                else
                    case_q8(c, twin, kernel, &p, low);
            }
        }
    }
    bench(c, kernel, low, width);
}

NNF_CHECK(average_pool2d_f32_nhwc, check_pool(c, twin, kernel, 0, 4))
NNF_CHECK(l2_pool2d_f32_nhwc, check_pool(c, twin, kernel, 0, 4))
NNF_CHECK(average_pool2d_qu8_nhwc, check_pool(c, twin, kernel, 0, 1))
NNF_CHECK(average_pool2d_qs8_nhwc, check_pool(c, twin, kernel, -128, 1))
NNF_CHECK(average_pool2d_qs16_nhwc, check_pool(c, twin, kernel, INT16_MIN, 2))
NNF_CHECK(max_pool2d_f32_nhwc, check_pool(c, twin, kernel, 0, 4))
NNF_CHECK(max_pool2d_qu8_nhwc, check_pool(c, twin, kernel, 0, 1))
NNF_CHECK(max_pool2d_qs8_nhwc, check_pool(c, twin, kernel, -128, 1))
NNF_CHECK(max_pool2d_qs16_nhwc, check_pool(c, twin, kernel, INT16_MIN, 2))
