/* The part of an SVDF step behind the feature product: filters along time, sums of ranks, the memory moved on. */
#ifndef NNF_SVDF_H
#define NNF_SVDF_H

#include <stddef.h>

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

#endif
