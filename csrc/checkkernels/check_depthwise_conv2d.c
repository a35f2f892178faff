#include "check.h"
#include "checks.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "depthwise_conv2d/depthwise_conv2d.h"
#include "nnf/bf16.h"

/* Windows, strides, dilations and paddings of the cases: kh kw, sh sw, dh dw, top left, bottom right. */
static const size_t shapes[][10] = {
    {1, 1, 1, 1, 1, 1, 0, 0, 0, 0}, {3, 3, 1, 1, 1, 1, 1, 1, 1, 1}, {3, 3, 1, 1, 1, 1, 0, 0, 0, 0},
    {3, 3, 2, 2, 1, 1, 0, 0, 1, 1}, {3, 3, 1, 1, 1, 1, 2, 2, 2, 2}, {3, 3, 1, 1, 1, 1, 0, 2, 2, 0},
    {5, 5, 1, 1, 1, 1, 2, 2, 2, 2}, {5, 5, 2, 2, 1, 1, 1, 1, 2, 2}, {2, 4, 1, 1, 1, 1, 0, 1, 1, 2},
    {3, 3, 1, 1, 2, 2, 2, 2, 2, 2}, {3, 2, 3, 1, 2, 3, 4, 3, 4, 3}, {4, 1, 1, 2, 1, 1, 3, 0, 0, 0},
    {1, 5, 1, 1, 1, 1, 0, 2, 0, 2}, {3, 3, 2, 2, 1, 1, 1, 1, 1, 1}, {3, 3, 1, 2, 1, 1, 1, 1, 1, 1},
    {3, 3, 1, 1, 1, 1, 1, 4, 1, 4}, {5, 5, 1, 1, 1, 1, 0, 1, 0, 3}, {5, 5, 1, 1, 1, 1, 1, 6, 3, 7},
    {3, 3, 2, 2, 1, 1, 0, 0, 0, 0}, {3, 3, 2, 2, 1, 1, 1, 4, 2, 5}, {5, 5, 2, 2, 1, 1, 0, 0, 0, 0},
    {5, 5, 2, 2, 1, 1, 2, 2, 2, 2}, {5, 5, 2, 2, 1, 1, 2, 7, 1, 6}, {5, 5, 2, 1, 1, 1, 2, 2, 2, 2},
};
static const size_t images[][2] = {{1, 1}, {2, 3}, {3, 2}, {5, 7}, {6, 4}, {7, 9}, {9, 12}, {8, 21}};
static const size_t channels[] = {1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 128, 264, 512};

static bool axis(nnf_axis *a, size_t size, const size_t *s)
{
    const size_t reach = (s[0] - 1) * s[4] + 1, padded = size + s[6] + s[8];
    if (padded < reach)
        return false;
    *a = (nnf_axis){.size = size, .out = (padded - reach) / s[2] + 1, .taps = s[0], .stride = s[2], .dilation = s[4],
                    .head = s[6]};
    return true;
}

/* Geometry number `n` of the list above; false when there is no such output. */
static bool geometry(nnf_depthwise *g, size_t image, size_t shape, size_t count, size_t multiplier)
{
    g->channels = count * multiplier;
    g->multiplier = multiplier;
    return axis(&g->y, images[image][0], shapes[shape]) && axis(&g->x, images[image][1], shapes[shape] + 1);
}

static nnf_depthwise layer(size_t size, size_t count, size_t stride, size_t taps)
{
    const nnf_axis a = {.size = size, .out = size / stride, .taps = taps, .stride = stride, .dilation = 1,
                        .head = (taps - stride) / 2};
    return (nnf_depthwise){.y = a, .x = a, .channels = count, .multiplier = 1};
}

/* The depthwise layers of MobileNet v1 at 224. */
static const size_t mobilenet[][3] = {{112, 32, 1}, {112, 64, 2}, {56, 128, 1}, {56, 128, 2}, {28, 256, 1},
                                      {28, 256, 2}, {14, 512, 1}, {14, 512, 2}, {7, 1024, 1}};

/* First layers, of few channels, and one whose last vector is not whole. */
static const size_t few[][3] = {{224, 1, 1}, {224, 3, 1}, {112, 3, 2}, {112, 12, 1}};

/* Layers of MobileNet v2 of stride 2. */
static const size_t mobilenet_v2[][3] = {{112, 96, 2}, {56, 144, 2}, {28, 192, 2}, {14, 576, 2}};

/* 5x5 layers of EfficientNet-Lite0. */
static const size_t efficientnet[][3] = {{56, 144, 2}, {28, 240, 1}, {14, 672, 1}, {14, 672, 2}, {7, 1152, 1}};

static void case_f32(nnf_check *c, nnf_depthwise_conv2d_f32_nhwc_fn slow, nnf_depthwise_conv2d_f32_nhwc_fn fast,
                     const nnf_depthwise *g, bool clamp)
{
    const size_t taps = g->y.taps * g->x.taps, depth = g->channels / g->multiplier;
    const size_t inputs = g->y.size * g->x.size * depth, filters = taps * g->channels;
    const size_t packed = nnf_pack_depthwise_conv2d_f32_size(g->channels, taps);
    const size_t first = nnf_check_below(c, g->y.out), last = first + 1 + nnf_check_below(c, g->y.out - first);
    const size_t blocks = (g->channels + 15) / 16, begin = nnf_check_below(c, blocks) * 16;
    size_t end = begin + 16 * (1 + nnf_check_below(c, blocks - begin / 16));
    end = end < g->channels ? end : g->channels;
    const size_t outputs = (last - first) * g->x.out * g->channels;
    const float lo = clamp ? 0.0f : -INFINITY, hi = clamp ? 6.0f : INFINITY;
    float *x = nnf_check_alloc(c, 4 * inputs), *filter = nnf_check_alloc(c, 4 * filters);
    float *bias = nnf_check_alloc(c, 4 * g->channels), *pack = nnf_check_alloc(c, 4 * packed);
    float *expected = nnf_check_alloc(c, 4 * outputs), *actual = nnf_check_alloc(c, 4 * outputs);
    float *scale = nnf_check_alloc(c, 4 * outputs);
    memset(scale, 0, 4 * outputs); /* outputs that were not asked for keep their pattern */
    nnf_check_fill_f32(c, x, inputs, -4, 4);
    nnf_check_fill_f32(c, filter, filters, -2, 2);
    nnf_check_fill_f32(c, bias, g->channels, -4, 4);
    nnf_pack_depthwise_conv2d_f32(g->channels, taps, filter, bias, pack);
    slow(g, first, last, begin, end, x, pack, expected, lo, hi);
    fast(g, first, last, begin, end, x, pack, actual, lo, hi);
    /* The bound is the same sum over magnitudes. */
    for (size_t i = 0; i < inputs; i++)
        x[i] = fabsf(x[i]);
    for (size_t i = 0; i < packed; i++)
        pack[i] = fabsf(pack[i]);
    slow(g, first, last, begin, end, x, pack, scale, 0, INFINITY);
    nnf_check_f32(c, expected, actual, outputs, scale, taps + 1);
    nnf_check_done(c, "image %zux%zux%zu window %zux%zu stride %zux%zu dilation %zux%zu head %zux%zu multiplier %zu "
                   "rows %zu-%zu channels %zu-%zu", g->y.size, g->x.size, depth, g->y.taps, g->x.taps, g->y.stride,
                   g->x.stride, g->y.dilation, g->x.dilation, g->y.head, g->x.head, g->multiplier, first, last, begin,
                   end);
}

static void bench_f32(nnf_check *c, nnf_depthwise_conv2d_f32_nhwc_fn fast, nnf_depthwise g)
{
    const size_t inputs = g.y.size * g.x.size * g.channels, outputs = g.y.out * g.x.out * g.channels;
    const size_t taps = g.y.taps * g.x.taps, packed = nnf_pack_depthwise_conv2d_f32_size(g.channels, taps);
    float *x = nnf_check_alloc(c, 4 * inputs), *pack = nnf_check_alloc(c, 4 * packed);
    float *y = nnf_check_alloc(c, 4 * outputs);
    nnf_check_fill_f32(c, x, inputs, -4, 4);
    nnf_check_fill_f32(c, pack, packed, -2, 2);
    char label[64];
    snprintf(label, sizeof label, "%zux%zu %zux%zux%zu/%zu", g.y.taps, g.x.taps, g.y.size, g.x.size, g.channels,
             g.x.stride);
    NNF_BENCH(c, label, 2 * (double)taps * (double)outputs, fast(&g, 0, g.y.out, 0, g.channels, x, pack, y, 0, 6));
    nnf_check_done(c, "bench");
}

void nnf_check_depthwise_conv2d_f32_nhwc(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    const nnf_depthwise_conv2d_f32_nhwc_fn slow = (nnf_depthwise_conv2d_f32_nhwc_fn)twin->fn;
    const nnf_depthwise_conv2d_f32_nhwc_fn fast = (nnf_depthwise_conv2d_f32_nhwc_fn)kernel->fn;
    nnf_depthwise g;
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        for (size_t i = 0; i < sizeof images / sizeof images[0]; i++) {
            for (size_t k = 0; k < sizeof channels / sizeof channels[0]; k++) {
                if (geometry(&g, i, s, channels[k], 1))
                    case_f32(c, slow, fast, &g, k & 1);
            }
            for (size_t multiplier = 2; multiplier < 35; multiplier += 5) {
                if (geometry(&g, i, s, 1 + multiplier % 4, multiplier))
                    case_f32(c, slow, fast, &g, false);
            }
        }
        /* Rows of few channels, of which the pixels may follow each other in a vector. */
        for (size_t k = 1; k < 8; k++) {
            g.channels = k, g.multiplier = 1;
            if (axis(&g.y, 12, shapes[s]) && axis(&g.x, 60 + 9 * k, shapes[s] + 1))
                case_f32(c, slow, fast, &g, k & 1);
        }
    }
    for (size_t l = 0; c->bench && l < sizeof few / sizeof few[0]; l++)
        bench_f32(c, fast, layer(few[l][0], few[l][1], few[l][2], 3));
    for (size_t l = 0; c->bench && l < sizeof mobilenet / sizeof mobilenet[0]; l++)
        bench_f32(c, fast, layer(mobilenet[l][0], mobilenet[l][1], mobilenet[l][2], 3));
    for (size_t l = 0; c->bench && l < sizeof mobilenet_v2 / sizeof mobilenet_v2[0]; l++)
        bench_f32(c, fast, layer(mobilenet_v2[l][0], mobilenet_v2[l][1], mobilenet_v2[l][2], 3));
    for (size_t l = 0; c->bench && l < sizeof efficientnet / sizeof efficientnet[0]; l++)
        bench_f32(c, fast, layer(efficientnet[l][0], efficientnet[l][1], efficientnet[l][2], 5));
}

/* The float32 kernel of the same level, rounded; and the twin, up to one bfloat16 where the sums lie on both sides of the
 * middle between two. */
static void case_bf16(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel, const nnf_depthwise *g, bool odd)
{
    const nnf_depthwise_conv2d_f32_bf16_nhwc_fn slow = (nnf_depthwise_conv2d_f32_bf16_nhwc_fn)twin->fn;
    const nnf_depthwise_conv2d_f32_bf16_nhwc_fn fast = (nnf_depthwise_conv2d_f32_bf16_nhwc_fn)kernel->fn;
    const nnf_depthwise_conv2d_f32_nhwc_fn plain =
        (nnf_depthwise_conv2d_f32_nhwc_fn)nnf_kernel_pick("depthwise_conv2d_f32_nhwc", kernel->isa)->fn;
    const size_t taps = g->y.taps * g->x.taps, depth = g->channels / g->multiplier;
    const size_t inputs = g->y.size * g->x.size * depth, filters = taps * g->channels;
    const size_t first = nnf_check_below(c, g->y.out), last = first + 1 + nnf_check_below(c, g->y.out - first);
    const size_t blocks = (g->channels + 15) / 16, begin = nnf_check_below(c, blocks) * 16;
    size_t end = begin + 16 * (1 + nnf_check_below(c, blocks - begin / 16));
    end = end < g->channels ? end : g->channels;
    const size_t pixel = g->channels + nnf_check_below(c, 2) * nnf_check_below(c, 40);
    const size_t pixels = (last - first) * g->x.out, outputs = pixels * pixel;
    float *x = nnf_check_alloc(c, 4 * inputs), *filter = nnf_check_alloc(c, 4 * filters);
    float *bias = nnf_check_alloc(c, 4 * g->channels);
    float *pack = nnf_check_alloc(c, 4 * nnf_pack_depthwise_conv2d_f32_size(g->channels, taps));
    float *sums = nnf_check_alloc(c, 4 * pixels * g->channels);
    uint16_t *expected = nnf_check_alloc(c, 2 * outputs), *actual = nnf_check_alloc(c, 2 * outputs);
    uint16_t *rounded = nnf_check_alloc(c, 2 * outputs);
    nnf_check_fill_f32(c, x, inputs, -4, 4);
    nnf_check_fill_f32(c, filter, filters, -2, 2);
    nnf_check_fill_f32(c, bias, g->channels, -4, 4);
    if (odd) {
        x[nnf_check_below(c, inputs)] = NAN;
        bias[nnf_check_below(c, g->channels)] = INFINITY;
    }
    nnf_pack_depthwise_conv2d_f32(g->channels, taps, filter, bias, pack);
    memset(rounded, 0xA5, 2 * outputs);
    memset(expected, 0xA5, 2 * outputs);
    memset(actual, 0xA5, 2 * outputs);
    plain(g, first, last, begin, end, x, pack, sums, 0, INFINITY);
    slow(g, first, last, begin, end, x, pack, expected, pixel, 0, INFINITY);
    fast(g, first, last, begin, end, x, pack, actual, pixel, 0, INFINITY);
    for (size_t i = 0; i < pixels; i++) {
        for (size_t o = begin; o < end; o++) {
            const uint16_t near = nnf_bf16_of_f32(sums[i * g->channels + o]);
            rounded[i * pixel + o] = near;
            const float e = nnf_f32_of_bf16(expected[i * pixel + o]), a = nnf_f32_of_bf16(actual[i * pixel + o]);
            const float step = 0x1p-7f * fmaxf(fabsf(e), fabsf(a)) + 0x1p-14f;
            const float bound = isfinite(e) ? step : 0;
            if (!(fabsf(e - a) <= bound || e == a || (isnan(e) && isnan(a))))
                rounded[i * pixel + o] = (uint16_t)~near; /* shows below as the difference that it is */
        }
        for (size_t o = end; end == g->channels && o < pixel; o++)
            rounded[i * pixel + o] = 0;
    }
    nnf_check_bytes(c, rounded, actual, 2 * outputs);
    nnf_check_done(c, "image %zux%zux%zu window %zux%zu stride %zux%zu dilation %zux%zu head %zux%zu multiplier %zu "
                   "rows %zu-%zu channels %zu-%zu pixel %zu odd %d", g->y.size, g->x.size, depth, g->y.taps, g->x.taps,
                   g->y.stride, g->x.stride, g->y.dilation, g->x.dilation, g->y.head, g->x.head, g->multiplier, first,
                   last, begin, end, pixel, odd);
}

static void bench_bf16(nnf_check *c, nnf_depthwise_conv2d_f32_bf16_nhwc_fn fast, nnf_depthwise g)
{
    const size_t inputs = g.y.size * g.x.size * g.channels, outputs = g.y.out * g.x.out * g.channels;
    const size_t taps = g.y.taps * g.x.taps, packed = nnf_pack_depthwise_conv2d_f32_size(g.channels, taps);
    float *x = nnf_check_alloc(c, 4 * inputs), *pack = nnf_check_alloc(c, 4 * packed);
    uint16_t *y = nnf_check_alloc(c, 2 * outputs);
    nnf_check_fill_f32(c, x, inputs, -4, 4);
    nnf_check_fill_f32(c, pack, packed, -2, 2);
    char label[64];
    snprintf(label, sizeof label, "%zux%zu %zux%zux%zu/%zu", g.y.taps, g.x.taps, g.y.size, g.x.size, g.channels,
             g.x.stride);
    NNF_BENCH(c, label, 2 * (double)taps * (double)outputs,
              fast(&g, 0, g.y.out, 0, g.channels, x, pack, y, g.channels, 0, 6));
    nnf_check_done(c, "bench");
}

void nnf_check_depthwise_conv2d_f32_bf16_nhwc(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    nnf_depthwise g;
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        for (size_t i = 0; i < sizeof images / sizeof images[0]; i++) {
            for (size_t k = 0; k < sizeof channels / sizeof channels[0]; k++) {
                if (geometry(&g, i, s, channels[k], 1))
                    case_bf16(c, twin, kernel, &g, k % 4 == 3);
            }
            for (size_t multiplier = 2; multiplier < 35; multiplier += 5) {
                if (geometry(&g, i, s, 1 + multiplier % 4, multiplier))
                    case_bf16(c, twin, kernel, &g, false);
            }
        }
    }
    const nnf_depthwise_conv2d_f32_bf16_nhwc_fn fast = (nnf_depthwise_conv2d_f32_bf16_nhwc_fn)kernel->fn;
    for (size_t l = 0; c->bench && l < sizeof mobilenet / sizeof mobilenet[0]; l++)
        bench_bf16(c, fast, layer(mobilenet[l][0], mobilenet[l][1], mobilenet[l][2], 3));
}

/* Packs one problem for the kernel of a row. */
static nnf_depthwise_q8 pack_q8(nnf_check *c, const nnf_depthwise_q8 *problem, const nnf_kernel *row,
                                const int16_t *filter, const int32_t *bias, const int32_t *multiplier,
                                const int32_t *exponent)
{
    nnf_depthwise_q8 p = *problem;
    p.n = (size_t)row->n;
    p.k = (size_t)row->k;
    size_t table;
    nnf_judge_depthwise_conv2d_q8(&p, filter, bias, exponent);
    int32_t *blocks = nnf_check_alloc(c, (nnf_plan_depthwise_conv2d_q8(&p, &table) + 63) / 64 * 64);
    nnf_pack_depthwise_conv2d_q8(&p, filter, bias, multiplier, exponent, blocks);
    nnf_place_depthwise_conv2d_q8(&p, nnf_check_alloc(c, table), blocks);
    return p;
}

/* wide: weights of 9 bits, else of 8; plain: multipliers and sums as layers have them, else any. */
static void case_q8(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel, const nnf_depthwise *g, bool wide,
                    bool plain)
{
    const nnf_depthwise_conv2d_q8_nhwc_fn slow = (nnf_depthwise_conv2d_q8_nhwc_fn)twin->fn;
    const nnf_depthwise_conv2d_q8_nhwc_fn fast = (nnf_depthwise_conv2d_q8_nhwc_fn)kernel->fn;
    const size_t taps = g->y.taps * g->x.taps, depth = g->channels / g->multiplier, n = (size_t)kernel->n;
    const size_t inputs = g->y.size * g->x.size * depth;
    const size_t first = nnf_check_below(c, g->y.out), last = first + 1 + nnf_check_below(c, g->y.out - first);
    const size_t blocks = (g->channels + n - 1) / n, begin = nnf_check_below(c, blocks) * n;
    size_t end = begin + n * (1 + nnf_check_below(c, blocks - begin / n));
    end = end < g->channels ? end : g->channels;
    const size_t outputs = (last - first) * g->x.out * g->channels;
    nnf_depthwise_q8 problem = {.g = *g, .in_zero = (int32_t)nnf_check_below(c, 256)};
    problem.out_zero = (int32_t)nnf_check_below(c, 256);
    problem.lo = (int32_t)nnf_check_below(c, 2) * problem.out_zero;
    problem.hi = problem.lo + (int32_t)nnf_check_below(c, (size_t)(256 - problem.lo));
    uint8_t *x = nnf_check_alloc(c, inputs), *expected = nnf_check_alloc(c, outputs);
    uint8_t *actual = nnf_check_alloc(c, outputs);
    int16_t *filter = nnf_check_alloc(c, 2 * taps * g->channels);
    int32_t *bias = nnf_check_alloc(c, 4 * g->channels), *multiplier = nnf_check_alloc(c, 4 * g->channels);
    int32_t *exponent = nnf_check_alloc(c, 4 * g->channels);
    nnf_check_fill_bytes(c, x, inputs);
    const int32_t zero = wide ? (int32_t)nnf_check_below(c, 256) - 128 : 0;
    for (size_t i = 0; i < taps * g->channels; i++)
        filter[i] = (int16_t)((int32_t)nnf_check_below(c, 256) - 128 - zero);
    for (size_t i = 0; i < g->channels; i++) {
        bias[i] = plain ? (int32_t)nnf_check_below(c, 20000) - 10000 : (int32_t)nnf_check_u32(c);
        nnf_check_multiplier(c, multiplier + i, exponent + i, plain ? -12 : -31, plain ? -1 : 31);
    }
    const nnf_depthwise_q8 p = pack_q8(c, &problem, twin, filter, bias, multiplier, exponent);
    const nnf_depthwise_q8 q = pack_q8(c, &problem, kernel, filter, bias, multiplier, exponent);
    slow(&p, first, last, begin, end, x, expected);
    fast(&q, first, last, begin, end, x, actual);
    nnf_check_bytes(c, expected, actual, outputs);
    nnf_check_done(c, "image %zux%zux%zu window %zux%zu stride %zux%zu dilation %zux%zu head %zux%zu multiplier %zu "
                   "rows %zu-%zu channels %zu-%zu wide %d plain %d", g->y.size, g->x.size, depth, g->y.taps,
                   g->x.taps, g->y.stride, g->x.stride, g->y.dilation, g->x.dilation, g->y.head, g->x.head,
                   g->multiplier, first, last, begin, end, wide, plain);
}

static void bench_q8(nnf_check *c, const nnf_kernel *kernel, size_t window, const size_t of[3], bool wide)
{
    const nnf_depthwise_conv2d_q8_nhwc_fn fast = (nnf_depthwise_conv2d_q8_nhwc_fn)kernel->fn;
    const size_t size = of[0], count = of[1], stride = of[2], taps = window * window;
    const nnf_depthwise g = layer(size, count, stride, window);
    const size_t inputs = size * size * count, outputs = g.y.out * g.x.out * count;
    nnf_depthwise_q8 problem = {.g = g, .in_zero = 3, .out_zero = 0, .lo = 0, .hi = 255};
    uint8_t *x = nnf_check_alloc(c, inputs), *y = nnf_check_alloc(c, outputs);
    int16_t *filter = nnf_check_alloc(c, 2 * taps * count);
    int32_t *bias = nnf_check_alloc(c, 4 * count), *multiplier = nnf_check_alloc(c, 4 * count);
    int32_t *exponent = nnf_check_alloc(c, 4 * count);
    for (size_t i = 0; i < inputs; i++)
        x[i] = (uint8_t)nnf_check_u32(c);
    for (size_t i = 0; i < taps * count; i++)
        filter[i] = (int16_t)((int32_t)nnf_check_below(c, 256) - (wide ? 140 : 128));
    for (size_t i = 0; i < count; i++) {
        bias[i] = (int32_t)nnf_check_below(c, 2000);
        nnf_check_multiplier(c, multiplier + i, exponent + i, -8, -6);
    }
    const nnf_depthwise_q8 p = pack_q8(c, &problem, kernel, filter, bias, multiplier, exponent);
    char label[64];
    snprintf(label, sizeof label, "%zux%zu %zux%zux%zu/%zu%s", window, window, size, size, count, stride,
             wide ? " 9-bit weights" : "");
    NNF_BENCH(c, label, 2.0 * (double)(taps * outputs), fast(&p, 0, g.y.out, 0, count, x, y));
    nnf_check_done(c, "bench");
}

static void check_q8(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    nnf_depthwise g;
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        for (size_t i = 0; i < sizeof images / sizeof images[0]; i++) {
            for (size_t k = 0; k < sizeof channels / sizeof channels[0]; k++) {
                if (geometry(&g, i, s, channels[k], 1))
                    case_q8(c, twin, kernel, &g, (k + i) & 1, (k + i) & 2);
            }
        }
    }
    static const size_t some[] = {16, 24, 33, 64, 80};
    for (size_t k = 0; k < sizeof some / sizeof some[0]; k++) {
        for (size_t stride = 1; stride <= 2; stride++) {
            g = layer(9, some[k], stride, 5); /* a row as long as those that kernels cut */
            g.x.size = 270;
            g.x.out = 270 / stride;
            case_q8(c, twin, kernel, &g, false, true);
        }
    }
    for (size_t l = 0; c->bench && l < sizeof mobilenet / sizeof mobilenet[0]; l++) {
        bench_q8(c, kernel, 3, mobilenet[l], false);
        bench_q8(c, kernel, 3, mobilenet[l], true);
    }
    for (size_t l = 0; c->bench && l < sizeof efficientnet / sizeof efficientnet[0]; l++)
        bench_q8(c, kernel, 5, efficientnet[l], false);
}

NNF_CHECK(depthwise_conv2d_qu8_nhwc, check_q8(c, twin, kernel))
NNF_CHECK(depthwise_conv2d_qs8_nhwc, check_q8(c, twin, kernel))

static void case_q16(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel, const nnf_depthwise *g)
{
    const nnf_depthwise_conv2d_qs16_s32_nhwc_fn slow = (nnf_depthwise_conv2d_qs16_s32_nhwc_fn)twin->fn;
    const nnf_depthwise_conv2d_qs16_s32_nhwc_fn fast = (nnf_depthwise_conv2d_qs16_s32_nhwc_fn)kernel->fn;
    const size_t taps = g->y.taps * g->x.taps, inputs = g->y.size * g->x.size * g->channels;
    const size_t first = nnf_check_below(c, g->y.out), last = first + 1 + nnf_check_below(c, g->y.out - first);
    const size_t blocks = (g->channels + 15) / 16, begin = nnf_check_below(c, blocks) * 16;
    size_t end = begin + 16 * (1 + nnf_check_below(c, blocks - begin / 16));
    end = end < g->channels ? end : g->channels;
    const size_t outputs = (last - first) * g->x.out * g->channels;
    int16_t *x = nnf_check_alloc(c, 2 * inputs);
    int32_t *weights = nnf_check_alloc(c, 4 * taps * g->channels);
    int32_t *expected = nnf_check_alloc(c, 4 * outputs), *actual = nnf_check_alloc(c, 4 * outputs);
    nnf_check_fill_bytes(c, x, 2 * inputs);
    for (size_t i = 0; i < taps * g->channels; i++)
        weights[i] = (int32_t)nnf_check_below(c, 256) - 128;
    slow(g, first, last, begin, end, x, weights, expected);
    fast(g, first, last, begin, end, x, weights, actual);
    nnf_check_bytes(c, expected, actual, 4 * outputs);
    nnf_check_done(c, "image %zux%zux%zu window %zux%zu stride %zux%zu dilation %zux%zu head %zux%zu rows %zu-%zu "
                   "channels %zu-%zu", g->y.size, g->x.size, g->channels, g->y.taps, g->x.taps, g->y.stride,
                   g->x.stride, g->y.dilation, g->x.dilation, g->y.head, g->x.head, first, last, begin, end);
}

void nnf_check_depthwise_conv2d_qs16_s32_nhwc(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    nnf_depthwise g;
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        for (size_t i = 0; i < sizeof images / sizeof images[0]; i++) {
            for (size_t k = 0; k < sizeof channels / sizeof channels[0]; k++) {
                if (geometry(&g, i, s, channels[k], 1))
                    case_q16(c, twin, kernel, &g);
            }
        }
    }
    g = layer(28, 64, 1, 3);
    const size_t numbers = g.y.size * g.x.size * g.channels;
    int16_t *x = nnf_check_alloc(c, 2 * numbers);
    int32_t *weights = nnf_check_alloc(c, 4 * 9 * g.channels), *y = nnf_check_alloc(c, 4 * numbers);
    memset(x, 1, 2 * numbers);
    memset(weights, 0, 4 * 9 * g.channels);
    NNF_BENCH(c, "28x28x64/1", 18.0 * (double)numbers,
              ((nnf_depthwise_conv2d_qs16_s32_nhwc_fn)kernel->fn)(&g, 0, g.y.out, 0, g.channels, x, weights, y));
    nnf_check_done(c, "bench");
}
