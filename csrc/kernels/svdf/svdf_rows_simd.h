/* Units of an SVDF in vectors. Include after nnf/simd/f32_<isa>.h and KERNEL. */
#ifndef NNF_SVDF_ROWS_SIMD_H
#define NNF_SVDF_ROWS_SIMD_H

#include "svdf/svdf.h"

void KERNEL(nnf_svdf_f32_rows)(const nnf_svdf_row *row)
{
    const size_t last = row->memory - 1;
    for (size_t u = 0; u < row->units; u++) {
        V sum = zero();
        for (size_t f = u * row->rank; f < (u + 1) * row->rank; f++) {
            const float *history = row->state_in + f * row->memory, *time = row->time + f * row->memory;
            float *next = row->state_out + f * row->memory;
            for (size_t m = 0; m <= last; m += LANES) {
                const M live = lanes_from(0, first_lanes(last + 1 - m)); /* histories are short: seldom whole */
                V value = load(live, history + m);
                if (last - m < LANES)
                    value = put(value, last - m, row->feature[f]);
                sum = fmadd(value, load(live, time + m), sum);
                /* One place to the front; the oldest value has none. */
                if (m)
                    store(next + m - 1, live, value);
                else
                    store(next - 1, lanes_from(1, live), value);
            }
            next[last] = 0;
        }
        const float value = total(sum) + (row->bias ? row->bias[u] : 0);
        row->y[u] = value < row->lo ? row->lo : value > row->hi ? row->hi : value;
    }
}

#endif
