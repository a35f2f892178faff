#include "blockwise.h"

enum { FOUR = NNF_BLOCKWISE_GROUP / 2 };

void nnf_blockwise_qu8_qs8_f32_tile__scalar(const nnf_blockwise_tile *t)
{
    const size_t size = nnf_blockwise_block(t->groups), depth = NNF_BLOCKWISE_GROUP * t->groups;
    for (size_t i = 0; i < t->rows; i++) {
        for (size_t j = 0; j < t->columns; j++) {
            float total = 0;
            for (size_t b = 0; b < t->blocks; b++) {
                const unsigned char *block = (const unsigned char *)t->panel + b * size;
                const int32_t *weights = (const int32_t *)block;
                const float *scale = (const float *)(weights + NNF_BLOCKWISE_N);
                const uint8_t *w = (const uint8_t *)(scale + NNF_BLOCKWISE_N) + FOUR * j;
                const uint8_t *x = t->x + i * t->ldx + b * depth;
                int32_t sum = 0;
                for (size_t g = 0; g < t->groups; g++, x += NNF_BLOCKWISE_GROUP, w += FOUR * NNF_BLOCKWISE_N)
                    for (size_t k = 0; k < FOUR; k++)
                        sum += x[k] * ((w[k] & 15) - (w[k] & 8) * 2) + x[FOUR + k] * ((w[k] >> 4) - (w[k] >> 7) * 16);
                const uint32_t excess = (uint32_t)t->row[i].zero * (uint32_t)weights[j];
                total += (float)(int32_t)((uint32_t)sum - excess) * scale[j];
            }
            const float value = t->row[i].step * total + t->bias[j];
            t->y[i * t->ldy + j] = value < t->lo ? t->lo : value > t->hi ? t->hi : value;
        }
    }
}
