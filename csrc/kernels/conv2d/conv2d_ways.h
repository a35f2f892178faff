/* Three ways to add products of unsigned codes and signed weights. Of bytes they would saturate in 16 bits, so that both
 * are widened first; but where the largest codes at hand are within the limits of a panel, four or eight of them can be
 * added before. Each way runs over a list of blocks. At AVX2 the first of them is two ways (conv2d_codes_avx2.h). */
#ifndef NNF_CONV2D_WAYS_H
#define NNF_CONV2D_WAYS_H

#include <stddef.h>
#include <stdint.h>

#include "conv2d.h"
#include "nnf/unroll.h"

enum { NNF_CONV2D_WAYS_BLOCKS = 64 };

/* Masks of up to 64 blocks. */
typedef struct nnf_conv2d_ways {
    size_t groups, tail; /* of all blocks, and of a last one that has fewer than others, or 0 */
    uint64_t all, eights, fours, plain;
} nnf_conv2d_ways;

/* Of the blocks from `first` on, of so many groups in all. */
static inline nnf_conv2d_ways nnf_conv2d_ways_of(size_t groups, size_t first)
{
    const size_t most = NNF_CONV2D_WAYS_BLOCKS * NNF_CONV2D_Q8_LIMITED, left = groups - first * NNF_CONV2D_Q8_LIMITED;
    const size_t here = left < most ? left : most, blocks = (here + NNF_CONV2D_Q8_LIMITED - 1) / NNF_CONV2D_Q8_LIMITED;
    return (nnf_conv2d_ways){.groups = here, .tail = here % NNF_CONV2D_Q8_LIMITED,
                             .all = ~UINT64_C(0) >> (NNF_CONV2D_WAYS_BLOCKS - blocks)};
}

/* fours, eights: the blocks whose codes are within these limits. */
static inline void nnf_conv2d_ways_set(nnf_conv2d_ways *w, uint64_t fours, uint64_t eights)
{
    const uint64_t whole = w->tail ? w->all >> 1 : w->all;
    w->eights = eights & whole;
    w->fours = fours & (w->tail % 2 ? whole : w->all) & ~w->eights;
    w->plain = w->all & ~w->fours & ~w->eights;
}

/* Fetches into level 2 the weights `ahead` bytes behind those of a block, of so many columns; 0: none. Each way leaves out
 * the blocks of the others, and so the processor does not see that they stream by. */
INLINE void nnf_conv2d_fetch(const void *block, ptrdiff_t ahead, const size_t width)
{
    if (!ahead)
        return;
    NNF_UNROLL
    for (size_t at = 0; at < 4 * NNF_CONV2D_Q8_LIMITED * width; at += 64)
        __builtin_prefetch((const char *)block + ahead + at, 0, 2);
}

/* A list of blocks: bytes of codes before each of `count` whole ones, and of one of `tail` groups if that is not 0. */
typedef struct nnf_conv2d_way {
    size_t count, tail;
    uint16_t blocks[NNF_CONV2D_WAYS_BLOCKS];
} nnf_conv2d_way;

/* The blocks of a mask. Returns whether there are any. */
static inline int nnf_conv2d_way_of(nnf_conv2d_way *way, const nnf_conv2d_ways *w, uint64_t mask)
{
    const int has_tail = w->tail && mask & ~(w->all >> 1);
    size_t count = 0;
    for (uint64_t left = mask; left; left &= left - 1)
        way->blocks[count++] = (uint16_t)(4 * NNF_CONV2D_Q8_LIMITED * __builtin_ctzll(left));
    way->tail = has_tail ? w->tail : 0;
    way->count = count - (size_t)has_tail;
    return mask != 0;
}

#endif
