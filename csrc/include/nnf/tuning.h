/* Sizes in bytes that decide how work is cut, as parts of the caches that they are meant for. Processors have at least
 * these caches of their own; the parts were found by measuring. */
#ifndef NNF_TUNING_H
#define NNF_TUNING_H

enum {
    NNF_LEVEL1 = 32 << 10,
    NNF_LEVEL2 = 1 << 20,

    /* float32 products */
    NNF_CONV_WEIGHTS = 5 * (NNF_LEVEL2 / 4),     /* weights that may stream by for every tile: they stay in level 2 */
    NNF_CONV_ROWS = NNF_LEVEL2 / 2,              /* input rows that may stream by for every panel of larger weights */
    NNF_CONV_STREAMED = 3 * (NNF_LEVEL2 / 16),   /* weights above which they come from beyond level 2 in every run */
    NNF_CONV_PREFETCH = NNF_LEVEL2 / 8,          /* a panel of 1024 inputs, or several smaller ones */
    NNF_CONV_OWN_WEIGHTS = 9 * (NNF_LEVEL2 / 4), /* weights that each thread may read whole for few pixels */

    /* Winograd */
    NNF_WINOGRAD_NEAR = NNF_LEVEL2 / 4,  /* a block's transformed inputs, which every panel reads again */
    NNF_WINOGRAD_ROOMY = NNF_LEVEL2 / 2, /* the same where weights are so many that they should not be read again */
    NNF_WINOGRAD_MANY = NNF_LEVEL2,      /* weights that are so many */

    /* bfloat16 products */
    NNF_BF16_NEAR = NNF_LEVEL2 / 8,          /* gathered rows that leave room in level 2 */
    NNF_BF16_TALL = NNF_LEVEL1,              /* rows that are worth gathering for one tall tile */
    NNF_BF16_SLICE = 2 * NNF_LEVEL1,         /* image rows of few channels that are rounded at once */
    NNF_BF16_NEAREST = 3 * (NNF_LEVEL1 / 4), /* a panel that stays in level 1 beside the rows */
    NNF_BF16_NEARER = NNF_LEVEL2,            /* weights that stay in level 2 beside rows and outputs */
    NNF_BF16_PREFETCH = NNF_LEVEL2,          /* more would take the place of weights that are in use */

    NNF_DEPTHWISE_COPY = 5 * (NNF_LEVEL1 / 4), /* a copy of rows, in the larger level 1 of AVX-512 processors */
    NNF_PACKING_GRAIN = NNF_LEVEL2 / 4,        /* packed weights below which a second thread costs more than it saves */
    NNF_DIGEST_BLOCK = NNF_LEVEL2 / 4          /* still near when they have been read; a multiple of a piece */
};

#endif
