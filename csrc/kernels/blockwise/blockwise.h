/* Products of rows of codes, which were made at run time, with weights of 4 bits that have a scale for each block of the
 * depth: FULLY_CONNECTED of float tensors with blockwise weights. */
#ifndef NNF_BLOCKWISE_H
#define NNF_BLOCKWISE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "quantize/quantize.h"

enum {
    NNF_BLOCKWISE_N = 16, /* columns of a panel */
    NNF_BLOCKWISE_M = 4,  /* most rows of a tile */
    NNF_BLOCKWISE_GROUP = 8
};

/* Bytes of a block of a panel: the sums of the weights of each column, int32 [n], their scales, float [n], and the
 * weights themselves, [groups][n][4] bytes: four in the lower halves, for the first codes of a group, four in the upper
 * halves. A panel has its blocks one behind the other; columns beyond the last are zeros. */
static inline size_t nnf_blockwise_block(size_t groups)
{
    return NNF_BLOCKWISE_N * (8 + NNF_BLOCKWISE_GROUP / 2 * groups);
}

/* 8 times the sum of the codes of a block that meet lower halves, the first four of each group: what these halves give
 * too much where their weights are taken for 0 to 15. Two bytes of a word at a time. */
static inline int32_t nnf_blockwise_firsts(size_t groups, const uint8_t *x)
{
    uint64_t even = 0, odd = 0;
    for (size_t g = 0; g < groups; g++, x += NNF_BLOCKWISE_GROUP) {
        uint32_t four;
        memcpy(&four, x, sizeof four);
        even += (uint64_t)(four & 0xFF0000) << 16 | (four & 0xFF);
        odd += (uint64_t)(four & 0xFF000000) << 8 | (four >> 8 & 0xFF);
    }
    return (int32_t)(8 * ((uint32_t)even + (uint32_t)odd + (uint32_t)(even >> 32) + (uint32_t)(odd >> 32)));
}

/* One tile: y[i][j] = clamp(row[i].step * total + bias[j], lo, hi), where total is the sum over the blocks, one after the
 * other from 0 on, of (float)(sum of (code - row[i].zero) * weight) * scale. Each product and each sum is rounded. */
typedef struct nnf_blockwise_tile {
    size_t rows, columns;  /* 1..M, 1..N */
    size_t blocks, groups; /* of the depth; of a block, each 8 codes */
    const uint8_t *x;      /* rows of blocks * groups * 8 codes */
    size_t ldx;
    const int32_t *firsts; /* [rows][blocks]: nnf_blockwise_firsts */
    const nnf_row_codes *row;
    const void *panel; /* 64-byte aligned */
    const float *bias;
    float *y;
    size_t ldy;
    float lo, hi;
} nnf_blockwise_tile;

typedef void (*nnf_blockwise_qu8_qs8_f32_tile_fn)(const nnf_blockwise_tile *tile);

#endif
