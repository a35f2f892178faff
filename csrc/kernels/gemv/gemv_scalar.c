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

void nnf_gemv_f32_rows__scalar(const nnf_gemv_f32_matrix *p)
{
    for (size_t j = 0; j < p->rows; j++) {
        double sum = p->start ? p->start[j] : 0;
        for (size_t k = 0; k < p->k0; k++)
            sum += (double)p->x0[k] * p->w0[j * p->k0 + k];
        for (size_t k = 0; k < p->k1; k++)
            sum += (double)p->x1[k] * p->w1[j * p->k1 + k];
        const float value = (float)sum;
        p->y[j] = value < p->lo ? p->lo : value > p->hi ? p->hi : value;
    }
}

void nnf_gemv_qs16_qs8_rows__scalar(size_t rows, size_t k, const int16_t *x, const void *w, int32_t *y)
{
    const int8_t *codes = w;
    for (size_t j = 0; j < rows; j++) {
        for (size_t i = 0; i < k; i++)
            y[j] = (int32_t)((uint32_t)y[j] + (uint32_t)(x[i] * codes[j * k + i]));
    }
}

void nnf_gemv_qs16_qu8_rows__scalar(size_t rows, size_t k, const int16_t *x, const void *w, int32_t *y)
{
    const uint8_t *codes = w;
    for (size_t j = 0; j < rows; j++) {
        for (size_t i = 0; i < k; i++)
            y[j] = (int32_t)((uint32_t)y[j] + (uint32_t)(x[i] * codes[j * k + i]));
    }
}
