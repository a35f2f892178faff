#include "gemv.h"

void nnf_gemv_f32_tile__scalar(const nnf_gemv_f32_panel *p)
{
    const float *first = p->packed + NNF_GEMV_N, *second = first + p->k0 * NNF_GEMV_N;
    for (size_t j = 0; j < p->columns; j++) {
        double sum = p->start ? p->start[j] : p->packed[j];
        for (size_t k = 0; k < p->k0; k++)
            sum += (double)p->x0[k] * first[k * NNF_GEMV_N + j];
        for (size_t k = 0; k < p->k1; k++)
            sum += (double)p->x1[k] * second[k * NNF_GEMV_N + j];
        const float value = (float)sum;
        p->y[j] = value < p->lo ? p->lo : value > p->hi ? p->hi : value;
    }
}
