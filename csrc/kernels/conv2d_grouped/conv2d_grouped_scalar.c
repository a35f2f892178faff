#include "conv2d_grouped.h"

#include "nnf/fixedpoint.h"

enum { N = 8, K = 4 };

void nnf_conv2d_grouped_qu8_qs8c_nhwc__scalar(const nnf_conv2d_grouped_q8_tile *t)
{
    const size_t units = t->in.groups * t->in.units, steps = t->in.depth / K;
    const size_t block = nnf_conv2d_grouped_block(&t->in, t->taps, N, K) / sizeof(int32_t);
    for (size_t i = 0; i < t->rows; i++) {
        for (size_t j = 0; j < units; j++) {
            const int32_t *header = t->w + j / N * block + j % N, *which = header + NNF_CONV2D_Q8_ARRAYS * N;
            const int8_t *w = (const int8_t *)(which + steps * N);
            const size_t base = nnf_conv2d_grouped_base(&t->in, j / N * N);
            uint32_t sum = (uint32_t)header[NNF_CONV2D_Q8_BIAS * N];
            for (size_t tap = 0; tap < t->taps; tap++) {
                const uint8_t *a = t->a[tap * NNF_CONV2D_GROUPED_ROWS + i] + base;
                for (size_t s = 0; s < steps; s++, w += 4 * N) {
                    for (size_t k = 0; k < K; k++)
                        sum += (uint32_t)((a[K * (size_t)which[s * N] + k] ^ t->from) * w[k]);
                }
            }
            const int exponent = header[NNF_CONV2D_Q8_LEFT * N] - header[NNF_CONV2D_Q8_RIGHT * N];
            const int32_t scaled = nnf_mbqm((int32_t)sum, header[NNF_CONV2D_Q8_MULTIPLIER * N], exponent);
            const int32_t y = nnf_clamp_s32(scaled, t->lo - t->zero_point, t->hi - t->zero_point) + t->zero_point;
            t->c[i * t->ldc + j] = (uint8_t)y ^ t->flip;
        }
    }
}
