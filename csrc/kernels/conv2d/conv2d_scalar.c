#include "conv2d.h"

enum { M = 4, N = 8 };

void nnf_conv2d_f32_nhwc__scalar(const nnf_conv2d_f32_tile *t)
{
    const size_t width = nnf_conv2d_width(t->columns, N);
    for (size_t i = 0; i < t->rows; i++) {
        for (size_t j = 0; j < t->columns; j++) {
            const float *w = t->w + width + j;
            float sum = t->w[j];
            for (size_t tap = 0; tap < t->taps; tap++) {
                const float *a = t->a[tap * M + i];
                for (size_t k = 0; k < t->depth; k++, w += width)
                    sum += a[k] * *w;
            }
            t->c[i * t->ldc + j] = sum < t->lo ? t->lo : sum > t->hi ? t->hi : sum;
        }
    }
}
