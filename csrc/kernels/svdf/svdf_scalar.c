#include "svdf.h"

#include "nnf/fixedpoint.h"

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

void nnf_svdf_qs8_qs16_rows__scalar(const nnf_svdf_q8_row *row)
{
    for (size_t u = 0; u < row->units; u++) {
        uint32_t sum = row->bias ? (uint32_t)row->bias[u] : 0;
        for (size_t f = u * row->rank; f < (u + 1) * row->rank; f++) {
            const int16_t *history = (const int16_t *)row->state_in + f * row->memory + 1;
            const int16_t *time = (const int16_t *)row->time + f * row->memory;
            int16_t *next = (int16_t *)row->state_out + f * row->memory;
            const size_t last = row->memory - 1;
            const int32_t scaled = nnf_mbqm(row->feature[f], row->multiplier_state, row->exponent_state);
            const int32_t lo = INT16_MIN - row->zero_state, hi = INT16_MAX - row->zero_state;
            for (size_t m = 0; m < last; m++) {
                next[m] = history[m];
                sum += (uint32_t)((history[m] - row->zero_state) * time[m]);
            }
            const int32_t newest = nnf_clamp_s32(scaled, lo, hi);
            next[last] = (int16_t)(newest + row->zero_state);
            sum += (uint32_t)(newest * time[last]);
        }
        const int32_t value = nnf_mbqm((int32_t)sum, row->multiplier_y, row->exponent_y);
        row->y[u] = (int8_t)(nnf_clamp_s32(value, INT8_MIN - row->zero_y, INT8_MAX - row->zero_y) + row->zero_y);
    }
}

void nnf_svdf_qs8_rows__scalar(const nnf_svdf_q8_row *row)
{
    for (size_t u = 0; u < row->units; u++) {
        uint32_t sum = row->bias ? (uint32_t)row->bias[u] : 0;
        for (size_t f = u * row->rank; f < (u + 1) * row->rank; f++) {
            const int8_t *history = (const int8_t *)row->state_in + f * row->memory + 1;
            const int8_t *time = (const int8_t *)row->time + f * row->memory;
            int8_t *next = (int8_t *)row->state_out + f * row->memory;
            const size_t last = row->memory - 1;
            const int32_t scaled = nnf_mbqm(row->feature[f], row->multiplier_state, row->exponent_state);
            const int32_t lo = INT8_MIN - row->zero_state, hi = INT8_MAX - row->zero_state;
            for (size_t m = 0; m < last; m++) {
                next[m] = history[m];
                sum += (uint32_t)((history[m] - row->zero_state) * time[m]);
            }
            const int32_t newest = nnf_clamp_s32(scaled, lo, hi);
            next[last] = (int8_t)(newest + row->zero_state);
            sum += (uint32_t)(newest * time[last]);
        }
        const int32_t value = nnf_mbqm((int32_t)sum, row->multiplier_y, row->exponent_y);
        row->y[u] = (int8_t)(nnf_clamp_s32(value, INT8_MIN - row->zero_y, INT8_MAX - row->zero_y) + row->zero_y);
    }
}
