#include "svdf.h"

#include "nnf/fixedpoint.h"
#include "nnf/unroll.h"

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

/* Code `at` of an array of codes of `item` bytes. */
INLINE int32_t code_at(const int item, const void *x, size_t at)
{
    return item == 1 ? ((const int8_t *)x)[at] : ((const int16_t *)x)[at];
}

INLINE void put_code(const int item, void *y, size_t at, int32_t code)
{
    if (item == 1)
        ((int8_t *)y)[at] = (int8_t)code;
    else
        ((int16_t *)y)[at] = (int16_t)code;
}

/* x between the lowest and the highest code of `item` bytes, less their zero point. */
INLINE int32_t clamp_code(const int item, int32_t zero, int32_t x)
{
    return item == 1 ? nnf_clamp_s32(x, INT8_MIN - zero, INT8_MAX - zero)
                     : nnf_clamp_s32(x, INT16_MIN - zero, INT16_MAX - zero);
}

INLINE void code_rows(const int item, const nnf_svdf_q8_row *given)
{
    const nnf_svdf_q8_row row = *given; /* which no store of codes can change */
    for (size_t u = 0; u < row.units; u++) {
        uint32_t sum = row.bias ? (uint32_t)row.bias[u] : 0;
        for (size_t f = u * row.rank; f < (u + 1) * row.rank; f++) {
            const size_t last = (f + 1) * row.memory - 1;
            for (size_t at = f * row.memory; at < last; at++) {
                const int32_t code = code_at(item, row.state_in, at + 1);
                put_code(item, row.state_out, at, code);
                sum += (uint32_t)((code - row.zero_state) * code_at(item, row.time, at));
            }
            const int32_t scaled = nnf_mbqm(row.feature[f], row.multiplier_state, row.exponent_state);
            const int32_t newest = clamp_code(item, row.zero_state, scaled);
            put_code(item, row.state_out, last, newest + row.zero_state);
            sum += (uint32_t)(newest * code_at(item, row.time, last));
        }
        const int32_t value = nnf_mbqm((int32_t)sum, row.multiplier_y, row.exponent_y);
        row.y[u] = (int8_t)(clamp_code(1, row.zero_y, value) + row.zero_y);
    }
}

void nnf_svdf_qs8_qs16_rows__scalar(const nnf_svdf_q8_row *row) { code_rows(2, row); }
void nnf_svdf_qs8_rows__scalar(const nnf_svdf_q8_row *row) { code_rows(1, row); }
