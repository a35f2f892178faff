#include "check.h"
#include "checks.h"

#include <stdio.h>
#include <string.h>

#include "conv2d/conv2d_q8_winograd.h"

/* Columns of the inputs of patches side by side. */
static size_t columns_of(size_t out, size_t patches)
{
    return out * (patches - 1) + nnf_winograd_q8_in(out);
}

static size_t elements(size_t out, const nnf_winograd_q8_run *r)
{
    return (nnf_winograd_q8_products(out) - 1) * r->stride + r->patches * nnf_winograd_q8_pitch(r->channels);
}

static void check_input(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel, size_t out)
{
    const size_t in = nnf_winograd_q8_in(out);
    const nnf_conv2d_winograd_input_qu8_s16_nhwc_fn slow = (nnf_conv2d_winograd_input_qu8_s16_nhwc_fn)twin->fn;
    const nnf_conv2d_winograd_input_qu8_s16_nhwc_fn fast = (nnf_conv2d_winograd_input_qu8_s16_nhwc_fn)kernel->fn;
    size_t sizes[9];
    nnf_check_sizes(16, sizes);
    for (size_t s = 0; sizes[s]; s++) {
        for (size_t n = 0; n < 60; n++) {
            const size_t channels = sizes[s], patches = 1 + nnf_check_below(c, 5), columns = columns_of(out, patches);
            const size_t pitch = nnf_winograd_q8_pitch(channels);
            nnf_winograd_q8_run r = {
                .patches = patches, .channels = channels, .row = (columns + nnf_check_below(c, 3)) * channels,
                .bottom = in, .right = columns, .stride = patches * pitch + nnf_check_below(c, 3),
                .is_signed = (int)nnf_check_below(c, 2),
            };
            r.pad = (int16_t)((int)nnf_check_below(c, 256) - (r.is_signed ? 128 : 0));
            if (n % 4) {
                r.bottom = nnf_check_below(c, in + 1), r.top = nnf_check_below(c, r.bottom + 1);
                r.right = nnf_check_below(c, columns + 1), r.left = nnf_check_below(c, r.right + 1);
            }
            /* The buffer holds the inputs that are inside and no others. */
            const bool none = r.top == r.bottom || r.left == r.right;
            const size_t before = r.top * r.row + r.left * channels;
            const size_t count = none ? 0 : (r.bottom - 1) * r.row + r.right * channels - before;
            const size_t bytes = 2 * elements(out, &r);
            uint8_t *x = nnf_check_alloc(c, count);
            int16_t *expected = nnf_check_alloc(c, bytes), *actual = nnf_check_alloc(c, bytes);
            nnf_check_fill_bytes(c, x, count);
            memset(expected, 0x55, bytes);
            memset(actual, 0x55, bytes);
            slow(&r, x - before, expected);
            fast(&r, x - before, actual);
            nnf_check_bytes(c, expected, actual, bytes);
            nnf_check_done(c, "channels=%zu patches=%zu rows %zu-%zu columns %zu-%zu signed=%d", channels, patches,
                           r.top, r.bottom, r.left, r.right, r.is_signed);
        }
    }
    const size_t right = columns_of(out, 14);
    const nnf_winograd_q8_run r = {.patches = 14, .channels = 64, .row = 64 * right, .bottom = in, .right = right,
                                   .stride = 64 * 14 + 16, .is_signed = 1};
    uint8_t *x = nnf_check_alloc(c, in * r.row);
    int16_t *v = nnf_check_alloc(c, 2 * elements(out, &r));
    nnf_check_fill_bytes(c, x, in * r.row);
    NNF_BENCH(c, "14x64", 14 * 64 * in * in, fast(&r, x, v));
    nnf_check_done(c, "bench");
}

NNF_CHECK(conv2d_winograd2_input_qu8_s16_nhwc, check_input(c, twin, kernel, 2))
NNF_CHECK(conv2d_winograd3_input_qu8_s16_nhwc, check_input(c, twin, kernel, 3))
NNF_CHECK(conv2d_winograd4_input_qu8_s16_nhwc, check_input(c, twin, kernel, 4))

typedef struct problem {
    size_t out, patches, units, channels;
    const int16_t *v;
    size_t pitch, stride;
    const uint8_t *filter;
    nnf_conv2d_q8_scheme scheme;
    const nnf_winograd_q8_place *places;
    size_t row, pixel;
    int32_t zero_point, lo, hi;
    uint8_t flip;
    int raw;
} problem;

/* Outputs of all patches and units by the tiles of one kernel. */
static void multiply(const nnf_kernel *kernel, const problem *p, const unsigned char *packed, uint8_t *y)
{
    const size_t m = (size_t)kernel->m, n = (size_t)kernel->n, depth = nnf_winograd_q8_depth(p->out, p->channels);
    const size_t panel = nnf_conv2d_q8_panel(n, depth / NNF_CONV2D_Q8_GROUP);
    for (size_t j = 0; j < p->units; j += n) {
        for (size_t i = 0; i < p->patches; i += m) {
            const nnf_winograd_q8_tile tile = {
                .patches = p->patches - i < m ? p->patches - i : m, .columns = p->units - j < n ? p->units - j : n,
                .groups = nnf_winograd_q8_groups(p->channels), .pitch = p->pitch, .stride = p->stride,
                .v = p->v + i * p->pitch, .w = (const int32_t *)(packed + j / n * panel), .places = p->places + i,
                .c = y + j * (p->raw ? sizeof(int32_t) : 1), .row = p->row, .pixel = p->pixel, .zero_point = p->zero_point, .lo = p->lo, .hi = p->hi,
                .flip = p->flip, .raw = p->raw,
            };
            ((nnf_conv2d_winograd_s16_qu8_tile_fn)kernel->fn)(&tile);
        }
    }
}

static unsigned char *pack(nnf_check *c, const nnf_kernel *kernel, const problem *p)
{
    const size_t n = (size_t)kernel->n, depth = nnf_winograd_q8_depth(p->out, p->channels);
    unsigned char *packed = nnf_check_alloc(c, nnf_pack_conv2d_q8_size(p->units, depth, n, NNF_CONV2D_Q8_GROUP));
    nnf_pack_conv2d_winograd_q8(p->out, p->units, p->channels, n, p->filter, &p->scheme, packed);
    return packed;
}

/* Inputs of a line of patches, transformed by the twin's kin; a filter, and what turns sums into codes. kind 0:
 * multipliers of a layer, 1: any exponent, 2: any exponent and sums that wrap, 3: sums as they are. */
static void fill(nnf_check *c, problem *p, int kind)
{
    char op[64];
    snprintf(op, sizeof op, "conv2d_winograd%zu_input_qu8_s16_nhwc", p->out);
    const nnf_conv2d_winograd_input_qu8_s16_nhwc_fn transform =
        (nnf_conv2d_winograd_input_qu8_s16_nhwc_fn)nnf_kernel_pick(op, 0)->fn;
    const size_t out = p->out, in = nnf_winograd_q8_in(out), columns = columns_of(out, p->patches);
    const size_t filter_bytes = p->units * nnf_winograd_q8_taps(out) * nnf_winograd_q8_taps(out) * p->channels;
    p->pitch = nnf_winograd_q8_pitch(p->channels);
    p->stride = p->patches * p->pitch + 2 * nnf_check_below(c, 8);
    const nnf_winograd_q8_run r = {.patches = p->patches, .channels = p->channels, .row = columns * p->channels,
                                   .stride = p->stride, .bottom = in, .right = columns,
                                   .is_signed = (int)nnf_check_below(c, 2)};
    uint8_t *x = nnf_check_alloc(c, in * r.row), *filter = nnf_check_alloc(c, filter_bytes);
    int32_t *bias = nnf_check_alloc(c, 4 * p->units), *multiplier = nnf_check_alloc(c, 4 * p->units);
    int32_t *exponent = nnf_check_alloc(c, 4 * p->units);
    int16_t *v = nnf_check_alloc(c, 2 * elements(out, &r));
    nnf_check_fill_bytes(c, x, in * r.row);
    nnf_check_fill_bytes(c, filter, filter_bytes);
    const uint8_t flip = nnf_check_below(c, 2) ? 0x80 : 0;
    int32_t zero_point = (int32_t)nnf_check_below(c, 256) - 128;
    if (nnf_winograd_q8_far(out) < 255) { /* weights that its 16 bits hold */
        zero_point /= 2;
        for (size_t i = 0; i < filter_bytes; i++)
            filter[i] = (uint8_t)((int8_t)filter[i] / 2) ^ flip;
    }
    transform(&r, x, v);
    for (size_t j = 0; j < p->units; j++) {
        bias[j] = (int32_t)nnf_check_u32(c) >> (kind == 2 ? 0 : 16);
        nnf_check_multiplier(c, multiplier + j, exponent + j, kind ? -31 : -12, kind ? 31 : -1);
    }
    p->v = v, p->filter = filter, p->raw = kind == 3;
    p->scheme = (nnf_conv2d_q8_scheme){.flip = flip, .weight_zero_point = zero_point,
                                       .input_zero_point = (int32_t)nnf_check_below(c, 256) - (r.is_signed ? 128 : 0),
                                       .bias = bias, .multiplier = multiplier, .exponent = exponent};
    p->zero_point = (int32_t)nnf_check_below(c, 256);
    p->lo = nnf_check_below(c, 2) ? 0 : (int32_t)nnf_check_below(c, 100);
    p->hi = nnf_check_below(c, 2) ? 255 : 156 + (int32_t)nnf_check_below(c, 100);
    p->flip = nnf_check_below(c, 2) ? 0x80 : 0;
}

static void check_tile(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel, problem p, int kind)
{
    const size_t out = p.out;
    fill(c, &p, kind);
    nnf_winograd_q8_place *places = nnf_check_alloc(c, p.patches * sizeof *places);
    p.pixel = p.units + nnf_check_below(c, 3);
    p.row = out * p.patches * p.pixel;
    for (size_t i = 0; i < p.patches; i++)
        places[i] = (nnf_winograd_q8_place){out * i * p.pixel, 1 + (int32_t)nnf_check_below(c, out),
                                            1 + (int32_t)nnf_check_below(c, out)};
    places[p.patches - 1].height = places[p.patches - 1].width = (int32_t)out; /* so that the last byte is written */
    p.places = places;
    const size_t bytes = (out * p.row - (p.pixel - p.units)) * (p.raw ? sizeof(int32_t) : 1);
    uint8_t *expected = nnf_check_alloc(c, bytes), *actual = nnf_check_alloc(c, bytes);
    memset(expected, 0x55, bytes);
    memset(actual, 0x55, bytes);
    multiply(twin, &p, pack(c, twin, &p), expected);
    multiply(kernel, &p, pack(c, kernel, &p), actual);
    nnf_check_bytes(c, expected, actual, bytes);
    nnf_check_done(c, "patches=%zu units=%zu channels=%zu kind=%d", p.patches, p.units, p.channels, kind);
}

/* 3x3 layers of a ResNet: height and width of the image, channels in and out. */
static const size_t layers[][2] = {{56, 32}, {28, 64}, {14, 128}, {7, 256}};

static void bench_tile(nnf_check *c, const nnf_kernel *kernel, size_t out, size_t size, size_t channels)
{
    const size_t patches = (size + out - 1) / out * ((size + out - 1) / out);
    problem p = {.out = out, .patches = patches, .units = channels, .channels = channels};
    nnf_winograd_q8_place *places = nnf_check_alloc(c, patches * sizeof *places);
    fill(c, &p, 0);
    p.pixel = channels;
    p.row = out * patches * p.pixel;
    for (size_t i = 0; i < patches; i++)
        places[i] = (nnf_winograd_q8_place){out * i * p.pixel, (int32_t)out, (int32_t)out};
    p.places = places;
    const unsigned char *packed = pack(c, kernel, &p);
    uint8_t *y = nnf_check_alloc(c, out * p.row);
    char label[64];
    snprintf(label, sizeof label, "%zux%zux%zu", size, size, channels);
    const size_t taps = nnf_winograd_q8_taps(out);
    NNF_BENCH(c, label, taps * taps * size * size * channels * channels, multiply(kernel, &p, packed, y));
    nnf_check_done(c, "bench %s", label);
}

static void check_tiles(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel, size_t out)
{
    static const size_t depths[] = {1, 2, 3, 4, 5, 16, 17, 33, 64, 130};
    const size_t m = (size_t)kernel->m, n = (size_t)kernel->n;
    const size_t units[] = {1, n / 2 - 1, n / 2, n / 2 + 1, n - 1, n, n + 1, 2 * n + n / 2 + 1};
    for (size_t patches = 1; patches <= m + 1; patches++) {
        for (size_t j = 0; j < sizeof units / sizeof units[0]; j++) {
            for (int kind = 0; kind < 4; kind++)
                check_tile(c, twin, kernel,
                           (problem){.out = out, .patches = patches, .units = units[j],
                                     .channels = depths[nnf_check_below(c, sizeof depths / sizeof depths[0])]}, kind);
        }
    }
    const problem deep = {.out = out, .patches = 3, .units = n, .channels = NNF_WINOGRAD_Q8_CHANNELS};
    check_tile(c, twin, kernel, deep, 0);
    if (c->bench) {
        for (size_t i = 0; i < sizeof layers / sizeof layers[0]; i++)
            bench_tile(c, kernel, out, layers[i][0], layers[i][1]);
    }
}

NNF_CHECK(conv2d_winograd2_s16_qu8_tile, check_tiles(c, twin, kernel, 2))
NNF_CHECK(conv2d_winograd3_s16_qu8_tile, check_tiles(c, twin, kernel, 3))
NNF_CHECK(conv2d_winograd4_s16_qu8_tile, check_tiles(c, twin, kernel, 4))
