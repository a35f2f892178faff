/* Rows of floats into columns and back. Include after
 *   pieces(x, step)       a vector of pieces of 4 floats, `step` behind one another
 *   put_pieces(y, step, v)
 *   SHUFFLE(a, b, order)  _mm_shuffle_ps of each piece */
#ifndef NNF_SOFTMAX_COLUMNS_AVX_H
#define NNF_SOFTMAX_COLUMNS_AVX_H

#include "nnf/unroll.h"

/* Piece by piece a matrix of 4 rows, and its own inverse. */
INLINE void transpose_pieces(V v[4])
{
    const V a = SHUFFLE(v[0], v[1], 0x44), b = SHUFFLE(v[0], v[1], 0xEE);
    const V c = SHUFFLE(v[2], v[3], 0x44), d = SHUFFLE(v[2], v[3], 0xEE);
    v[0] = SHUFFLE(a, c, 0x88);
    v[1] = SHUFFLE(a, c, 0xDD);
    v[2] = SHUFFLE(b, d, 0x88);
    v[3] = SHUFFLE(b, d, 0xDD);
}

/* xyzx yzxy zxyz into x, y and z */
INLINE void split_triples(V v[3])
{
    const V ends = SHUFFLE(v[1], v[2], 0x9E), starts = SHUFFLE(v[0], v[1], 0x49);
    v[0] = SHUFFLE(v[0], ends, 0x8C);
    v[1] = SHUFFLE(starts, ends, 0xD8);
    v[2] = SHUFFLE(starts, v[2], 0xCD);
}

INLINE void join_triples(V v[3])
{
    const V xy = SHUFFLE(v[0], v[1], 0x88), yz = SHUFFLE(v[1], v[2], 0xDD), zx = SHUFFLE(v[2], v[0], 0xD8);
    v[0] = SHUFFLE(xy, zx, 0x88);
    v[1] = SHUFFLE(yz, xy, 0xD8);
    v[2] = SHUFFLE(zx, yz, 0xDD);
}

INLINE void split_pairs(V v[2])
{
    const V x = SHUFFLE(v[0], v[1], 0x88);
    v[1] = SHUFFLE(v[0], v[1], 0xDD);
    v[0] = x;
}

INLINE void join_pairs(V v[2])
{
    const V low = SHUFFLE(v[0], v[1], 0x44), high = SHUFFLE(v[0], v[1], 0xEE);
    v[0] = SHUFFLE(low, low, 0xD8);
    v[1] = SHUFFLE(high, high, 0xD8);
}

INLINE void columns_in(size_t width, size_t step, const float *x, V *columns)
{
    const size_t stride = width < 4 ? 4 : step;
    V v[4];
    NNF_UNROLL
    for (size_t i = 0; i < width; i++)
        v[i] = pieces(x + i * stride, 4 * step);
    if (width == 4)
        transpose_pieces(v);
    else if (width == 3)
        split_triples(v);
    else if (width == 2)
        split_pairs(v);
    NNF_UNROLL
    for (size_t i = 0; i < width; i++)
        columns[i] = v[i];
}

INLINE void columns_out(size_t width, size_t step, const V *columns, float *y)
{
    const size_t stride = width < 4 ? 4 : step;
    V v[4];
    NNF_UNROLL
    for (size_t i = 0; i < width; i++)
        v[i] = columns[i];
    if (width == 4)
        transpose_pieces(v);
    else if (width == 3)
        join_triples(v);
    else if (width == 2)
        join_pairs(v);
    NNF_UNROLL
    for (size_t i = 0; i < width; i++)
        put_pieces(y + i * stride, 4 * step, v[i]);
}

#endif
