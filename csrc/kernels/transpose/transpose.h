/* Matrices of 1-, 2-, 4- and 8-byte elements the other way round: y[r][c] = x[c][r], r < rows, c < columns.
 *
 * from: bytes from one row of x to the next (`rows` elements lie in each); to: bytes from one row of y to the next
 * (`columns` elements). Any alignment; nothing overlaps; neither count need fill a block. */
#ifndef NNF_TRANSPOSE_H
#define NNF_TRANSPOSE_H

#include <stddef.h>
#include <stdint.h>

typedef void (*nnf_transpose_fn)(size_t rows, size_t columns, const uint8_t *x, size_t from, uint8_t *y, size_t to);

/* 2 to 4 parts of n elements each, element by element: y[i * parts + k] = x[k][i]. */
typedef void (*nnf_interleave_fn)(size_t parts, size_t n, const uint8_t *const *x, uint8_t *y);

/* The other way: y[k][i] = x[i * parts + k]. */
typedef void (*nnf_deinterleave_fn)(size_t parts, size_t n, const uint8_t *x, uint8_t *const *y);

#endif
