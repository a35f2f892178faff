/* A matrix times one vector, or two vectors laid end to end: packed by panels of 32 outputs, or as it lies. */
#ifndef NNF_GEMV_H
#define NNF_GEMV_H

#include <stddef.h>
#include <stdint.h>

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

/* Matrices as they lie, an output to a row: y[j] = clamp(start[j] + sum x0[k] w0[j][k] + sum x1[k] w1[j][k], lo, hi).
 *   start   `rows` values, or NULL for zeros
 * rows >= 1; k0, k1 >= 0; any alignment; a NaN stays one. Reads and writes exactly these elements. The scalar row sums
 * in double. */
typedef struct nnf_gemv_f32_matrix {
    const float *w0, *w1, *start, *x0, *x1;
    size_t k0, k1, rows;
    float *y;
    float lo, hi;
} nnf_gemv_f32_matrix;

typedef void (*nnf_gemv_f32_rows_fn)(const nnf_gemv_f32_matrix *p);

/* Codes as they lie: y[j] += sum x[k] w[j][k] in 32 bits that wrap, for j < rows; w holds int8 (qs8) or uint8 (qu8).
 * rows >= 1; k >= 0; -256 <= x[k] <= 255; any alignment. Reads and writes exactly these elements. */
typedef void (*nnf_gemv_qs16_q8_rows_fn)(size_t rows, size_t k, const int16_t *x, const void *w, int32_t *y);

#endif
