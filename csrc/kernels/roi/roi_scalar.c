#include "roi.h"

#include <stdbool.h>

#include "nnf/fixedpoint.h"

void nnf_roi_align_f32_nhwc__scalar(const nnf_roi *g, const float *w, size_t n, const float *x, float *y)
{
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t r = 0; r < g->rows; r++) {
            for (size_t c = 0; c < g->columns; c++)
                sum += (double)w[r * g->columns + c] * x[g->row[r] + g->column[c] + i];
        }
        y[i] = (float)sum;
    }
}

static inline void align_q8(const nnf_roi *g, const int32_t *w, size_t n, const uint8_t *x, uint8_t *y,
                            const nnf_roi_q8 *q, bool is_signed)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t sum = 0;
        for (size_t r = 0; r < g->rows; r++) {
            for (size_t c = 0; c < g->columns; c++) {
                const uint8_t code = x[g->row[r] + g->column[c] + i];
                const int32_t value = (is_signed ? (int8_t)code : code) - q->zero_x;
                sum += (uint32_t)w[r * g->columns + c] * (uint32_t)value;
            }
        }
        const int32_t steps = nnf_mbqm((int32_t)sum, q->multiplier, q->exponent);
        y[i] = (uint8_t)(nnf_clamp_s32(steps, q->lo - q->zero_y, q->hi - q->zero_y) + q->zero_y);
    }
}

void nnf_roi_align_qu8_nhwc__scalar(const nnf_roi *g, const int32_t *w, size_t n, const uint8_t *x, uint8_t *y,
                                    const nnf_roi_q8 *q)
{
    align_q8(g, w, n, x, y, q, false);
}

void nnf_roi_align_qs8_nhwc__scalar(const nnf_roi *g, const int32_t *w, size_t n, const uint8_t *x, uint8_t *y,
                                    const nnf_roi_q8 *q)
{
    align_q8(g, w, n, x, y, q, true);
}
