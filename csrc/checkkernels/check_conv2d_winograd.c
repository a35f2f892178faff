#include "check.h"
#include "checks.h"

#include <math.h>
#include <string.h>

#include "conv2d_winograd/conv2d_winograd.h"

enum { IN = NNF_WINOGRAD_IN, OUT = NNF_WINOGRAD_OUT, PRODUCTS = NNF_WINOGRAD_PRODUCTS };

/* Magnitudes of the rows of B^T and A^T, which bound what rounding can do. */
static const double a = NNF_WINOGRAD_A, b = NNF_WINOGRAD_B;

static void magnitudes_in(double *d, size_t step)
{
    double x[IN];
    for (size_t i = 0; i < IN; i++)
        x[i] = d[i * step];
    d[0] = x[0] + 2.5 * x[2] + x[4];
    d[step] = d[2 * step] = x[4] + 2 * x[2] + a * (x[3] + 2 * x[1]);
    d[3 * step] = d[4 * step] = x[4] + x[2] / 2 + b * (x[3] + x[1] / 2);
    d[5 * step] = x[1] + 2.5 * x[3] + x[5];
}

static void magnitudes_out(double *m, size_t step)
{
    const double s = m[step] + m[2 * step], p = m[3 * step] + m[4 * step], m5 = m[5 * step];
    m[0] += s + p;
    m[step] = a * s + b * p;
    m[2 * step] = s / 2 + 2 * p;
    m[3 * step] = a * s / 2 + b * p * 2 + m5;
}

void nnf_check_conv2d_winograd_input_f32_nhwc(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    const nnf_conv2d_winograd_input_f32_nhwc_fn slow = (nnf_conv2d_winograd_input_f32_nhwc_fn)twin->fn;
    const nnf_conv2d_winograd_input_f32_nhwc_fn fast = (nnf_conv2d_winograd_input_f32_nhwc_fn)kernel->fn;
    size_t sizes[9];
    nnf_check_sizes(16, sizes);
    for (size_t s = 0; sizes[s]; s++) {
        for (size_t n = 0; n < 40; n++) {
            const size_t channels = sizes[s], pixel = channels + nnf_check_below(c, 3);
            const int is_line = n % 8 > 3;
            const size_t lines = is_line ? 1 : IN;
            nnf_winograd_patch p = {.channels = channels, .pixel = pixel, .row = 7 * pixel, .bottom = lines, .right = IN,
                                    .stride = channels + nnf_check_below(c, 3), .is_line = is_line};
            if (n % 4) {
                p.bottom = nnf_check_below(c, lines + 1), p.top = nnf_check_below(c, p.bottom + 1);
                p.right = nnf_check_below(c, IN + 1), p.left = nnf_check_below(c, p.right + 1);
            }
            /* The buffer holds the inputs that are inside and no others. */
            const bool none = p.top == p.bottom || p.left == p.right;
            const size_t before = p.top * p.row + p.left * pixel;
            const size_t count = none ? 0 : (p.bottom - 1) * p.row + (p.right - 1) * pixel + channels - before;
            const size_t products = nnf_winograd_products(is_line), written = (products - 1) * p.stride + channels;
            float *x = nnf_check_alloc(c, 4 * count), *expected = nnf_check_alloc(c, 4 * written);
            float *actual = nnf_check_alloc(c, 4 * written), *scale = nnf_check_alloc(c, 4 * written);
            memset(scale, 0, 4 * written);
            nnf_check_fill_f32(c, x, count, -4, 4);
            slow(&p, x - before, expected);
            fast(&p, x - before, actual);
            for (size_t j = 0; j < channels; j++) {
                double d[PRODUCTS];
                for (size_t k = 0; k < products; k++) {
                    const bool inside = k / IN >= p.top && k / IN < p.bottom && k % IN >= p.left && k % IN < p.right;
                    d[k] = inside ? fabs((double)(x - before)[k / IN * p.row + k % IN * pixel + j]) : 0;
                }
                for (size_t i = 0; i < IN && !is_line; i++)
                    magnitudes_in(d + i, IN);
                for (size_t i = 0; i < lines; i++)
                    magnitudes_in(d + i * IN, 1);
                for (size_t k = 0; k < products; k++)
                    scale[k * p.stride + j] = (float)d[k];
            }
            nnf_check_f32(c, expected, actual, written, scale, 8);
            nnf_check_done(c, "channels=%zu line=%d rows %zu-%zu columns %zu-%zu", channels, is_line, p.top, p.bottom,
                           p.left, p.right);
        }
    }
    nnf_winograd_patch p = {.channels = 64, .pixel = 64, .row = 64 * 28, .bottom = IN, .right = IN,
                            .stride = 64 * 24 + 16};
    float *x = nnf_check_alloc(c, 4 * IN * p.row), *v = nnf_check_alloc(c, 4 * PRODUCTS * p.stride);
    nnf_check_fill_f32(c, x, IN * p.row, -1, 1);
    NNF_BENCH(c, "64", 64 * PRODUCTS, fast(&p, x, v));
    p.is_line = 1, p.bottom = 1;
    NNF_BENCH(c, "line 64", 64 * IN, fast(&p, x, v));
    nnf_check_done(c, "bench");
}

void nnf_check_conv2d_winograd_output_f32_nhwc(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    const nnf_conv2d_winograd_output_f32_nhwc_fn slow = (nnf_conv2d_winograd_output_f32_nhwc_fn)twin->fn;
    const nnf_conv2d_winograd_output_f32_nhwc_fn fast = (nnf_conv2d_winograd_output_f32_nhwc_fn)kernel->fn;
    size_t sizes[9];
    nnf_check_sizes(16, sizes);
    for (size_t s = 0; sizes[s]; s++) {
        for (size_t n = 0; n < 40; n++) {
            const size_t channels = sizes[s], pixel = channels + nnf_check_below(c, 3);
            const bool clamp = nnf_check_below(c, 2);
            const int is_line = n % 2;
            const nnf_winograd_result p = {
                .channels = channels, .pixel = pixel, .row = 5 * pixel, .stride = channels + nnf_check_below(c, 3),
                .height = is_line ? 1 : 1 + nnf_check_below(c, OUT), .width = 1 + nnf_check_below(c, OUT),
                .lo = clamp ? 0 : -INFINITY, .hi = clamp ? 6 : INFINITY, .is_line = is_line,
            };
            const size_t products = nnf_winograd_products(is_line), read = (products - 1) * p.stride + channels;
            const size_t written = (p.height - 1) * p.row + (p.width - 1) * pixel + channels;
            float *m = nnf_check_alloc(c, 4 * read), *bias = nnf_check_alloc(c, 4 * channels);
            float *expected = nnf_check_alloc(c, 4 * written), *actual = nnf_check_alloc(c, 4 * written);
            float *scale = nnf_check_alloc(c, 4 * written);
            memset(scale, 0, 4 * written);
            nnf_check_fill_f32(c, m, read, -1, 1);
            nnf_check_fill_f32(c, bias, channels, -1, 1);
            const size_t kind = nnf_check_below(c, 4), odd = nnf_check_below(c, channels);
            if (kind == 0)
                m[nnf_check_below(c, products) * p.stride + odd] = nnf_check_below(c, 2) ? NAN : INFINITY;
            const int first = slow(&p, m, bias, expected), second = fast(&p, m, bias, actual);
            nnf_check_s32(c, &(int32_t){kind != 0}, &(int32_t){first}, 1);
            nnf_check_s32(c, &(int32_t){first}, &(int32_t){second}, 1);
            for (size_t j = 0; j < channels; j++) {
                double d[PRODUCTS];
                for (size_t k = 0; k < products; k++)
                    d[k] = fabs((double)m[k * p.stride + j]);
                for (size_t i = 0; i < IN && !is_line; i++)
                    magnitudes_out(d + i, IN);
                for (size_t i = 0; i < (is_line ? 1 : OUT); i++)
                    magnitudes_out(d + i * IN, 1);
                for (size_t i = 0; i < p.height; i++) {
                    for (size_t k = 0; k < p.width; k++)
                        scale[i * p.row + k * pixel + j] = (float)(d[i * IN + k] + fabs((double)bias[j]));
                }
            }
            /* What a kernel makes of an infinity is for its caller to replace. */
            if (kind == 0) {
                for (size_t i = 0; i < p.height * p.width; i++) {
                    const size_t at = i / p.width * p.row + i % p.width * pixel + odd;
                    expected[at] = actual[at] = scale[at] = 0;
                }
            }
            nnf_check_f32(c, expected, actual, written, scale, 8);
            nnf_check_done(c, "channels=%zu line=%d %zux%zu clamp=%d kind=%zu", channels, is_line, p.height, p.width, clamp,
                           kind);
        }
    }
    const nnf_winograd_result p = {.channels = 32, .pixel = 64, .row = 64 * 28, .stride = 32 * 24, .height = OUT,
                                   .width = OUT, .lo = 0, .hi = 6};
    float *m = nnf_check_alloc(c, 4 * PRODUCTS * p.stride), *y = nnf_check_alloc(c, 4 * OUT * p.row);
    float *bias = nnf_check_alloc(c, 128);
    nnf_check_fill_f32(c, m, PRODUCTS * p.stride, -1, 1);
    nnf_check_fill_f32(c, bias, 32, -1, 1);
    NNF_BENCH(c, "32", 32 * PRODUCTS, fast(&p, m, bias, y));
    nnf_check_done(c, "bench");
}
