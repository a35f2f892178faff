#include "pooling.h"

#include <math.h>
#include <stdbool.h>

static inline void pool_f32(const nnf_pool *g, size_t first, size_t last, size_t begin, size_t end, const float *x,
                            float *y, float lo, float hi, bool average)
{
    for (size_t row = first; row < last; row++) {
        for (size_t column = 0; column < g->x.out; column++, y += g->channels) {
            const nnf_pool_window w = nnf_pool_at(g, row, column);
            for (size_t c = begin; c < end; c++) {
                double sum = 0, most = -INFINITY;
                for (size_t i = 0; i < w.rows; i++) {
                    for (size_t j = 0; j < w.columns; j++) {
                        const float value = x[w.start + (i * g->x.size + j) * g->channels + c];
                        sum += value;
                        most = value > most || isnan(value) ? value : most; /* nothing is greater than a NaN: it stays */
                    }
                }
                const double result = average ? sum / (double)(w.rows * w.columns) : most;
                y[c] = (float)(result < lo ? lo : result > hi ? hi : result);
            }
        }
    }
}

void nnf_l2_pool2d_f32_nhwc__scalar(const nnf_pool *g, size_t first, size_t last, size_t begin, size_t end,
                                    const float *x, float *y, float lo, float hi)
{
    for (size_t row = first; row < last; row++) {
        for (size_t column = 0; column < g->x.out; column++, y += g->channels) {
            const nnf_pool_window w = nnf_pool_at(g, row, column);
            for (size_t c = begin; c < end; c++) {
                double sum = 0;
                for (size_t i = 0; i < w.rows; i++) {
                    for (size_t j = 0; j < w.columns; j++) {
                        const float value = x[w.start + (i * g->x.size + j) * g->channels + c];
                        sum += (double)value * value;
                    }
                }
                const double result = sqrt(sum / (double)(w.rows * w.columns));
                y[c] = (float)(result < lo ? lo : result > hi ? hi : result);
            }
        }
    }
}

static inline void pool_q8(const nnf_pool *g, size_t first, size_t last, size_t begin, size_t end, const uint8_t *x,
                           uint8_t *y, int32_t lo, int32_t hi, bool average, bool is_signed)
{
    for (size_t row = first; row < last; row++) {
        for (size_t column = 0; column < g->x.out; column++, y += g->channels) {
            const nnf_pool_window w = nnf_pool_at(g, row, column);
            const int32_t n = (int32_t)(w.rows * w.columns);
            for (size_t c = begin; c < end; c++) {
                int32_t sum = 0, most = -128;
                for (size_t i = 0; i < w.rows; i++) {
                    for (size_t j = 0; j < w.columns; j++) {
                        const uint8_t code = x[w.start + (i * g->x.size + j) * g->channels + c];
                        const int32_t value = is_signed ? (int8_t)code : code;
                        sum += value;
                        most = value > most ? value : most;
                    }
                }
                const int32_t result = average ? (sum > 0 ? sum + n / 2 : sum - n / 2) / n : most;
                y[c] = (uint8_t)(result < lo ? lo : result > hi ? hi : result);
            }
        }
    }
}

#define KERNEL(op) op##__scalar

#include "pooling/pooling_kernels.h"
