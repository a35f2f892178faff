#include "conv2d_bf16.h"

enum { N = 8 };

static void panel(const nnf_conv2d_bf16_tile *t, size_t width)
{
    const uint16_t *weights = nnf_conv2d_bf16_weights(t->w, width);
    for (size_t i = 0; i < t->rows; i++) {
        const uint16_t *a = t->a + i * t->lda;
        float *c = t->c + nnf_conv2d_bf16_place(t, i) * t->ldc;
        if ((t->at + i) % t->span >= t->line)
            continue;
        for (size_t j = 0; j < t->columns; j++) {
            float sum = t->w[j];
            for (size_t k = 0; k < 2 * t->taps * t->pairs; k++) {
                if (t->odd && (k + 1) % (2 * t->pairs) == 0)
                    continue;
                const float x = nnf_f32_of_bf16(a[t->tap[k / (2 * t->pairs)] + k % (2 * t->pairs)]);
                sum += x * nnf_f32_of_bf16(weights[(k / 2 * width + j) * 2 + k % 2]);
            }
            c[j] = sum < t->lo ? t->lo : sum > t->hi ? t->hi : sum;
        }
    }
}

void nnf_conv2d_bf16_nhwc__scalar(const nnf_conv2d_bf16_tile *t)
{
    nnf_conv2d_bf16_tile part = *t;
    for (size_t j = 0; j < t->columns; j += N) {
        const size_t here = t->columns - j < N ? t->columns - j : N, width = nnf_conv2d_width(here, N);
        part.columns = here;
        part.c = t->c + j;
        panel(&part, width);
        part.w += nnf_conv2d_bf16_panel(width, t->taps * t->pairs) / sizeof(float);
    }
}

void nnf_conv2d_gather_bf16_nhwc__scalar(size_t rows, size_t n, const float *x, size_t ldx, uint16_t *to, size_t ldt)
{
    for (size_t i = 0; i < rows; i++) {
        for (size_t k = 0; k < n; k++)
            to[i * ldt + k] = nnf_bf16_of_f32(x[i * ldx + k]);
    }
}

void nnf_conv2d_spread_bf16_nhwc__scalar(size_t pixels, size_t channels, const float *x, size_t pixel, uint16_t *to)
{
    for (size_t i = 0; i < pixels; i++) {
        for (size_t k = 0; k < pixel; k++)
            to[i * pixel + k] = k < channels ? nnf_bf16_of_f32(x[i * channels + k]) : 0;
    }
}
