/* Where the neighbours of output values lie, for vectors of several pixels of few channels. */
#ifndef NNF_RESIZE_NEAR_H
#define NNF_RESIZE_NEAR_H

#include <stdbool.h>

#include "resize/resize.h"

/* Numbers of 32 bits in the table of a row, for vectors of `lanes` values. */
static inline size_t nnf_resize_near_size(const nnf_resize *p, size_t lanes)
{
    return (p->width * p->channels + lanes - 1) / lanes * (1 + 3 * lanes);
}

/* The place in an input row of the neighbour of value i, or of the last value. */
static inline size_t nnf_resize_place(const nnf_resize *p, const uint32_t *columns, size_t i)
{
    const size_t last = p->width * p->channels - 1, value = i < last ? i : last;
    return columns[value / p->channels] * p->channels + value % p->channels;
}

/* Fills near_... in, by a table that stays; lanes <= NNF_RESIZE_SPARE / 2. False, where the neighbours of some vector
 * do not lie within 2 lanes values. */
static inline bool nnf_resize_find_near(nnf_resize *p, size_t lanes, void *table)
{
    const size_t vectors = (p->width * p->channels + lanes - 1) / lanes, count = vectors * lanes;
    uint32_t *first = table, *left = first + vectors, *right = left + count;
    float *across = (float *)(right + count);
    for (size_t i = 0; i < count; i++) {
        const size_t one = nnf_resize_place(p, p->left, i), other = nnf_resize_place(p, p->right, i);
        const size_t least = one < other ? one : other;
        if (i % lanes == 0 || least < first[i / lanes])
            first[i / lanes] = (uint32_t)least;
    }
    for (size_t i = 0; i < count; i++) {
        left[i] = (uint32_t)nnf_resize_place(p, p->left, i) - first[i / lanes];
        right[i] = (uint32_t)nnf_resize_place(p, p->right, i) - first[i / lanes];
        across[i] = p->across[i / p->channels < p->width ? i / p->channels : p->width - 1];
        if (left[i] >= 2 * lanes || right[i] >= 2 * lanes)
            return false;
    }
    p->near_first = first;
    p->near_left = left;
    p->near_right = right;
    p->near_across = across;
    return true;
}

#endif
