/* Rows of 1-, 2-, 4- and 8-byte elements the other way round: y[r][i] = x[r][n - 1 - i].
 *
 * from: bytes from one row of x to the next, below 0 too; rows of y follow each other. Any alignment; x and y do not
 * overlap. */
#ifndef NNF_REVERSE_H
#define NNF_REVERSE_H

#include <stddef.h>
#include <stdint.h>

typedef void (*nnf_reverse_fn)(size_t rows, size_t n, const uint8_t *x, ptrdiff_t from, uint8_t *y);

#endif
