#include "transpose_blocks.h"

void nnf_transpose_x8_tile__scalar(size_t rows, size_t columns, const uint8_t *x, size_t from, uint8_t *y, size_t to)
{
    nnf_transpose_each(1, rows, columns, x, from, y, to);
}

void nnf_transpose_x16_tile__scalar(size_t rows, size_t columns, const uint8_t *x, size_t from, uint8_t *y, size_t to)
{
    nnf_transpose_each(2, rows, columns, x, from, y, to);
}

void nnf_transpose_x32_tile__scalar(size_t rows, size_t columns, const uint8_t *x, size_t from, uint8_t *y, size_t to)
{
    nnf_transpose_each(4, rows, columns, x, from, y, to);
}

void nnf_transpose_x64_tile__scalar(size_t rows, size_t columns, const uint8_t *x, size_t from, uint8_t *y, size_t to)
{
    nnf_transpose_each(8, rows, columns, x, from, y, to);
}

void nnf_interleave_x8_flat__scalar(size_t parts, size_t n, const uint8_t *const *x, uint8_t *y)
{
    nnf_interleave_each(1, parts, n, x, y);
}

void nnf_interleave_x16_flat__scalar(size_t parts, size_t n, const uint8_t *const *x, uint8_t *y)
{
    nnf_interleave_each(2, parts, n, x, y);
}

void nnf_interleave_x32_flat__scalar(size_t parts, size_t n, const uint8_t *const *x, uint8_t *y)
{
    nnf_interleave_each(4, parts, n, x, y);
}

void nnf_interleave_x64_flat__scalar(size_t parts, size_t n, const uint8_t *const *x, uint8_t *y)
{
    nnf_interleave_each(8, parts, n, x, y);
}

void nnf_deinterleave_x8_flat__scalar(size_t parts, size_t n, const uint8_t *x, uint8_t *const *y)
{
    nnf_deinterleave_each(1, parts, n, x, y);
}

void nnf_deinterleave_x16_flat__scalar(size_t parts, size_t n, const uint8_t *x, uint8_t *const *y)
{
    nnf_deinterleave_each(2, parts, n, x, y);
}

void nnf_deinterleave_x32_flat__scalar(size_t parts, size_t n, const uint8_t *x, uint8_t *const *y)
{
    nnf_deinterleave_each(4, parts, n, x, y);
}

void nnf_deinterleave_x64_flat__scalar(size_t parts, size_t n, const uint8_t *x, uint8_t *const *y)
{
    nnf_deinterleave_each(8, parts, n, x, y);
}
