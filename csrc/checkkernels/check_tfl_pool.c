#include "check.h"
#include "checks.h"

#include <math.h>

#include "tfl_pool/tfl_pool.h"

/* Size, taps, stride, padding on both sides. */
static const size_t axes[][4] = {{1, 1, 1, 0}, {2, 2, 2, 0}, {5, 3, 2, 1}, {7, 3, 1, 2}, {6, 4, 3, 3}, {9, 2, 2, 0}};
static const size_t channels[] = {1, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33};

static nnf_axis axis(const size_t *s)
{
    return (nnf_axis){.size = s[0], .out = (s[0] + 2 * s[3] - s[1]) / s[2] + 1, .taps = s[1], .stride = s[2],
                      .dilation = 1, .head = s[3]};
}

void nnf_check_max_pool_places_f32_nhwc(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    const nnf_max_pool_places_f32_nhwc_fn slow = (nnf_max_pool_places_f32_nhwc_fn)twin->fn;
    const nnf_max_pool_places_f32_nhwc_fn fast = (nnf_max_pool_places_f32_nhwc_fn)kernel->fn;
    const size_t kinds = sizeof axes / sizeof *axes;
    for (size_t kind = 0; kind < kinds * kinds; kind++) {
        for (size_t k = 0; k < sizeof channels / sizeof *channels; k++) {
            const nnf_pool g = {axis(axes[kind / kinds]), axis(axes[kind % kinds]), channels[k]};
            const size_t inputs = g.y.size * g.x.size * g.channels, outputs = g.x.out * g.channels;
            float *x = nnf_check_alloc(c, 4 * inputs), *out[4];
            for (int i = 0; i < 4; i++)
                out[i] = nnf_check_alloc(c, 4 * outputs);
            /* Few different values: the first of equal ones counts. */
            for (size_t i = 0; i < inputs; i++) {
                const size_t draw = nnf_check_below(c, 12);
                x[i] = draw == 11 ? NAN : draw == 10 ? -INFINITY : (float)draw - 5;
            }
            const size_t row = nnf_check_below(c, g.y.out);
            slow(&g, row, x, out[0], out[1]);
            fast(&g, row, x, out[2], out[3]);
            nnf_check_bytes(c, out[0], out[2], 4 * outputs);
            nnf_check_bytes(c, out[1], out[3], 4 * outputs);
            nnf_check_done(c, "axes %zu %zu channels %zu row %zu", kind / kinds, kind % kinds, g.channels, row);
        }
    }
    const nnf_axis wide = {.size = 256, .out = 128, .taps = 2, .stride = 2, .dilation = 1, .head = 0};
    const nnf_pool g = {wide, wide, 32};
    float *x = nnf_check_alloc(c, 4 * 256 * 256 * 32), *y = nnf_check_alloc(c, 4 * 128 * 32);
    float *places = nnf_check_alloc(c, 4 * 128 * 32);
    nnf_check_fill_f32(c, x, 256 * 256 * 32, -1, 1);
    NNF_BENCH(c, "row of 128x32, window 2x2", 4 * 128 * 32, fast(&g, 7, x, y, places));
    nnf_check_done(c, "bench");
}
