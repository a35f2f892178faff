/* A matrix times one vector, or two vectors laid end to end, by panels of 32 outputs. */
#ifndef NNF_GEMV_H
#define NNF_GEMV_H

#include <stddef.h>

#define NNF_GEMV_N 32

/* One panel: y[j] = clamp(start[j] + sum x0[k] w[k][j] + sum x1[k] w[k0 + k][j], lo, hi) for j < columns.
 *   packed   rows of NNF_GEMV_N floats, 64-byte aligned: the bias, then w[0 .. k0 + k1 - 1]; zeros beyond the columns
 *   start    `columns` values, or NULL for the packed bias
 * 1 <= columns <= NNF_GEMV_N; k0, k1 >= 0; x0, x1, start, y of any alignment; a NaN stays one. Reads and writes exactly
 * these elements. The scalar row sums in double. */
typedef struct nnf_gemv_f32_panel {
    const float *packed, *start, *x0, *x1;
    size_t k0, k1, columns;
    float *y;
    float lo, hi;
} nnf_gemv_f32_panel;

typedef void (*nnf_gemv_f32_tile_fn)(const nnf_gemv_f32_panel *p);

#endif
