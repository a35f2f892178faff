#include "conv2d_grouped.h"

#include "nnf/fixedpoint.h"

enum { N = 16, K = 4 };

void nnf_conv2d_grouped_inputs_qu8_flat__scalar(size_t n, const uint8_t *x, uint8_t flip, void *y)
{
    uint8_t *to = y;
    for (size_t i = 0; i < n; i++)
        to[i] = x[i] ^ flip;
}

/* Codes of a row's channels from `first` on, of one panel. */
static void run_row(const nnf_conv2d_grouped_q8_tile *t, const int32_t *panel, size_t first, size_t row)
{
    const size_t width = nnf_conv2d_grouped_width(&t->in, first, N), steps = t->in.depth / K;
    const size_t places = nnf_conv2d_grouped_places(&t->in, N, K);
    for (size_t j = 0; j < nnf_conv2d_grouped_columns(&t->in, first, N); j++) {
        const int32_t *header = panel + j, *which = header + nnf_conv2d_grouped_header(width);
        const int8_t *w = (const int8_t *)(which + places);
        uint32_t sum = (uint32_t)header[NNF_CONV2D_Q8_BIAS * width];
        for (size_t tap = 0; tap < t->taps; tap++) {
            const uint8_t *pixel = t->a[tap * NNF_CONV2D_GROUPED_ROWS + row];
            const uint8_t *a = pixel + nnf_conv2d_grouped_base(&t->in, first);
            for (size_t s = 0; s < steps; s++, w += 4 * width) {
                for (size_t k = 0; k < K; k++)
                    sum += (uint32_t)(a[K * (places ? (size_t)which[s * width] : s) + k] * w[k]);
            }
        }
        const int exponent = header[NNF_CONV2D_Q8_LEFT * width] - header[NNF_CONV2D_Q8_RIGHT * width];
        const int32_t scaled = nnf_mbqm((int32_t)sum, header[NNF_CONV2D_Q8_MULTIPLIER * width], exponent);
        const int32_t y = nnf_clamp_s32(scaled, t->lo - t->zero_point, t->hi - t->zero_point) + t->zero_point;
        t->c[row * t->ldc + first + j] = (uint8_t)y ^ t->flip;
    }
}

void nnf_conv2d_grouped_qu8_qs8c_nhwc__scalar(const nnf_conv2d_grouped_q8_tile *t)
{
    const int32_t *panel = t->w;
    for (size_t j = 0; j < t->in.groups * t->in.units; j += nnf_conv2d_grouped_columns(&t->in, j, N)) {
        for (size_t i = 0; i < t->rows; i++)
            run_row(t, panel, j, i);
        panel += nnf_conv2d_grouped_panel(&t->in, t->taps, nnf_conv2d_grouped_width(&t->in, j, N), N, K);
    }
}
