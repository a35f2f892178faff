#include "pooling.h"

#include <math.h>
#include <stdbool.h>

static inline void pool_f32(const nnf_pool *g, size_t first, size_t last, size_t begin, size_t end, const float *x,
                            float *y, float lo, float hi, bool average)
{
    for (size_t row = first; row < last; row++) {
        const nnf_pool_span rows = nnf_pool_along(&g->y, row);
        for (size_t column = 0; column < g->x.out; column++, y += g->channels) {
            const nnf_pool_window w = nnf_pool_at(g, rows, column);
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
        const nnf_pool_span rows = nnf_pool_along(&g->y, row);
        for (size_t column = 0; column < g->x.out; column++, y += g->channels) {
            const nnf_pool_window w = nnf_pool_at(g, rows, column);
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

enum code_type { QU8, QS8, QS16 };

static inline int32_t code_at(const void *x, size_t at, enum code_type type)
{
    return type == QU8 ? ((const uint8_t *)x)[at] : type == QS8 ? ((const int8_t *)x)[at] : ((const int16_t *)x)[at];
}

static inline void pool_codes(const nnf_pool *g, size_t first, size_t last, size_t begin, size_t end, const void *x,
                              void *y, int32_t lo, int32_t hi, bool average, enum code_type type)
{
    size_t pixel = 0;
    for (size_t row = first; row < last; row++) {
        const nnf_pool_span rows = nnf_pool_along(&g->y, row);
        for (size_t column = 0; column < g->x.out; column++, pixel += g->channels) {
            const nnf_pool_window w = nnf_pool_at(g, rows, column);
            const int32_t n = (int32_t)(w.rows * w.columns);
            for (size_t c = begin; c < end; c++) {
                int32_t sum = 0, most = lo;
                for (size_t i = 0; i < w.rows; i++) {
                    for (size_t j = 0; j < w.columns; j++) {
                        const int32_t value = code_at(x, w.start + (i * g->x.size + j) * g->channels + c, type);
                        sum += value;
                        most = value > most ? value : most;
                    }
                }
                int32_t result = average ? (sum > 0 ? sum + n / 2 : sum - n / 2) / n : most;
                result = result < lo ? lo : result > hi ? hi : result;
                if (type == QS16)
                    ((int16_t *)y)[pixel + c] = (int16_t)result;
                else
                    ((uint8_t *)y)[pixel + c] = (uint8_t)result;
            }
        }
    }
}

static inline void pool_q8(const nnf_pool *g, size_t first, size_t last, size_t begin, size_t end, const uint8_t *x,
                           uint8_t *y, int32_t lo, int32_t hi, bool average, bool is_signed)
{
    pool_codes(g, first, last, begin, end, x, y, lo, hi, average, is_signed ? QS8 : QU8);
}

static inline void pool_q16(const nnf_pool *g, size_t first, size_t last, size_t begin, size_t end, const int16_t *x,
                            int16_t *y, int32_t lo, int32_t hi, bool average)
{
    pool_codes(g, first, last, begin, end, x, y, lo, hi, average, QS16);
}

#define KERNEL(op) op##__scalar

#include "pooling/pooling_kernels.h"
