/* Kernels of sums and extremes. Include after rows(), columns(), codes(), codes_across(), KERNEL and KERNEL_BYTES. */
#ifndef NNF_REDUCE_KERNELS_H
#define NNF_REDUCE_KERNELS_H

void KERNEL(nnf_reduce_sum_f32_rows)(const nnf_reduce *p, size_t n, const float *x, float *y)
{
    rows(OP_SUM, p, n, x, y);
}

void KERNEL(nnf_reduce_max_f32_rows)(const nnf_reduce *p, size_t n, const float *x, float *y)
{
    rows(OP_MAX, p, n, x, y);
}

void KERNEL(nnf_reduce_min_f32_rows)(const nnf_reduce *p, size_t n, const float *x, float *y)
{
    rows(OP_MIN, p, n, x, y);
}

void KERNEL(nnf_reduce_sum_across_f32_rows)(const nnf_reduce *p, size_t n, const float *x, float *y)
{
    columns(OP_SUM, p, n, x, y);
}

void KERNEL(nnf_reduce_max_across_f32_rows)(const nnf_reduce *p, size_t n, const float *x, float *y)
{
    columns(OP_MAX, p, n, x, y);
}

void KERNEL(nnf_reduce_min_across_f32_rows)(const nnf_reduce *p, size_t n, const float *x, float *y)
{
    columns(OP_MIN, p, n, x, y);
}

void KERNEL_BYTES(nnf_reduce_max_qu8_rows)(const nnf_reduce *p, size_t n, const uint8_t *x, uint8_t *y)
{
    codes(OP_MAX, p, n, x, y);
}

void KERNEL_BYTES(nnf_reduce_min_qu8_rows)(const nnf_reduce *p, size_t n, const uint8_t *x, uint8_t *y)
{
    codes(OP_MIN, p, n, x, y);
}

void KERNEL_BYTES(nnf_reduce_max_across_qu8_rows)(const nnf_reduce *p, size_t n, const uint8_t *x, uint8_t *y)
{
    codes_across(OP_MAX, p, n, x, y);
}

void KERNEL_BYTES(nnf_reduce_min_across_qu8_rows)(const nnf_reduce *p, size_t n, const uint8_t *x, uint8_t *y)
{
    codes_across(OP_MIN, p, n, x, y);
}

#endif
