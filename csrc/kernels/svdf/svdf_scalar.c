#include "svdf.h"

void nnf_svdf_f32_rows__scalar(const nnf_svdf_row *row)
{
    const size_t last = row->memory - 1;
    for (size_t u = 0; u < row->units; u++) {
        double sum = row->bias ? row->bias[u] : 0;
        for (size_t f = u * row->rank; f < (u + 1) * row->rank; f++) {
            const float *history = row->state_in + f * row->memory, *time = row->time + f * row->memory;
            float *next = row->state_out + f * row->memory;
            for (size_t m = 0; m < last; m++) {
                sum += (double)history[m] * time[m];
                next[m] = m + 1 < last ? history[m + 1] : row->feature[f];
            }
            sum += (double)row->feature[f] * time[last];
            next[last] = 0;
        }
        const float value = (float)sum;
        row->y[u] = value < row->lo ? row->lo : value > row->hi ? row->hi : value;
    }
}
