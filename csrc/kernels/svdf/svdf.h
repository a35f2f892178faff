/* The part of an SVDF step behind the feature product: filters along time, sums of ranks, the memory moved on. */
#ifndef NNF_SVDF_H
#define NNF_SVDF_H

#include <stddef.h>
#include <stdint.h>

/* Units of one batch row [NN 14.27]. Filter f = unit * rank + r has a history of `memory` values: its state, the
 * last of which gives way to the new feature.
 *   feature, state_in, time   [units * rank], [units * rank][memory] twice
 *   bias                      [units], or NULL for zeros
 *   state_out                 the history without its oldest value, a zero behind it; overlaps nothing
 *   y                         clamp(bias + sum of history * time over the unit's filters, lo, hi)
 * units, rank, memory >= 1; any alignment; a NaN stays one. Reads and writes exactly these elements. The scalar row sums
 * in double. */
typedef struct nnf_svdf_row {
    const float *feature, *state_in, *time, *bias;
    size_t units, rank, memory;
    float *state_out, *y;
    float lo, hi;
} nnf_svdf_row;

typedef void (*nnf_svdf_f32_rows_fn)(const nnf_svdf_row *row);

/* Units of one batch row of TFLite's SVDF of int8 tensors: the memory moves on before the step, whose products become
 * its newest codes.
 *   feature             int32 sums of products [units * rank]; a new code is clamp(MBQM(sum) + zero_state)
 *   state_in, time      codes [units * rank][memory] twice, int16 (qs16) or int8 (qs8)
 *   bias                [units], or NULL for zeros
 *   state_out           the history without its oldest code, the new one behind it; overlaps nothing
 *   zero_state          that of the memory's type: -128..127 (qs8) or 0 (qs16)
 *   y                   clamp(MBQM(bias + sum of (history - zero_state) * time over the unit's filters) + zero_y)
 * Sums of 32 bits wrap; units, rank, memory >= 1; exponents of MBQM in -31..31; reads and writes exactly these. */
typedef struct nnf_svdf_q8_row {
    const int32_t *feature, *bias;
    const void *state_in, *time;
    size_t units, rank, memory;
    void *state_out;
    int8_t *y;
    int32_t multiplier_state, exponent_state, zero_state, multiplier_y, exponent_y, zero_y;
} nnf_svdf_q8_row;

typedef void (*nnf_svdf_qs8_rows_fn)(const nnf_svdf_q8_row *row);

/* Take histories shorter than a vector, and units fewer than its lanes. */
void nnf_svdf_qs8_qs16_rows__scalar(const nnf_svdf_q8_row *row);
void nnf_svdf_qs8_rows__scalar(const nnf_svdf_q8_row *row);

#endif
