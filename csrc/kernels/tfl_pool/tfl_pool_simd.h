/* MAX_POOL_PLACES in vectors of channels. Include after nnf/simd/f32_<isa>.h and KERNEL. */
#include <float.h>

#include "tfl_pool/tfl_pool.h"

void KERNEL(nnf_max_pool_places_f32_nhwc)(const nnf_pool *g, size_t row, const float *x, float *y, float *places)
{
    size_t top, bottom, left, right;
    nnf_axis_taps(&g->y, row, &top, &bottom);
    for (size_t column = 0; column < g->x.out; column++) {
        nnf_axis_taps(&g->x, column, &left, &right);
        for (size_t c = 0; c < g->channels; c += LANES) {
            const M live = first_lanes(g->channels - c);
            V best = all(-FLT_MAX), place = zero();
            for (size_t ky = top; ky < bottom; ky++) {
                const size_t line = (row * g->y.stride + ky - g->y.head) * g->x.size;
                for (size_t kx = left; kx < right; kx++) {
                    const size_t at = line + column * g->x.stride + kx - g->x.head;
                    const V value = load(live, x + at * g->channels + c);
                    place = where_above(value, best, all((float)at), place);
                    best = where_above(value, best, value, best);
                }
            }
            store(y + column * g->channels + c, live, best);
            store(places + column * g->channels + c, live, add(place, all(NNF_PLACE_OFFSET)));
        }
    }
}
