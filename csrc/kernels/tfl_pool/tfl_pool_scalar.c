#include "tfl_pool.h"

#include <float.h>

void nnf_max_pool_places_f32_nhwc__scalar(const nnf_pool *g, size_t row, const float *x, float *y, float *places)
{
    size_t top, bottom, left, right;
    nnf_axis_taps(&g->y, row, &top, &bottom);
    for (size_t column = 0; column < g->x.out; column++) {
        nnf_axis_taps(&g->x, column, &left, &right);
        for (size_t c = 0; c < g->channels; c++) {
            float best = -FLT_MAX, place = 0.0f;
            for (size_t ky = top; ky < bottom; ky++) {
                for (size_t kx = left; kx < right; kx++) {
                    const size_t at = (row * g->y.stride + ky - g->y.head) * g->x.size +
                                      (column * g->x.stride + kx - g->x.head);
                    const float value = x[at * g->channels + c];
                    if (value > best) {
                        best = value;
                        place = (float)at;
                    }
                }
            }
            y[column * g->channels + c] = best;
            places[column * g->channels + c] = place + NNF_PLACE_OFFSET;
        }
    }
}
