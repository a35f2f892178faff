#include "reduce.h"

#include <float.h>

#include "nnf/unroll.h"

enum op { OP_SUM, OP_MAX, OP_MIN };

enum {
    BLOCK = 64, /* columns whose sums wait on the stack */
    CHAINS = 8  /* products at a time */
};

static inline double start(enum op op)
{
    return op == OP_SUM ? 0.0 : op == OP_MAX ? -FLT_MAX : FLT_MAX;
}

static inline double join(enum op op, double so_far, float x)
{
    switch (op) {
    case OP_SUM:
        return so_far + x;
    case OP_MAX:
        return x > so_far ? x : so_far;
    default:
        return x < so_far ? x : so_far;
    }
}

static inline float finish(enum op op, const nnf_reduce *p, double value)
{
    return (float)(op == OP_SUM ? value / p->divisor : value);
}

static inline void rows(enum op op, const nnf_reduce *p, size_t n, const float *x, float *y)
{
    double value = start(op);
    for (size_t a = 0; a < p->count[0]; a++) {
        for (size_t b = 0; b < p->count[1]; b++) {
            const float *from = x + a * p->stride[0] + b * p->stride[1];
            for (size_t i = 0; i < n; i++)
                value = join(op, value, from[i]);
        }
    }
    *y = finish(op, p, value);
}

static inline void columns(enum op op, const nnf_reduce *p, size_t n, const float *x, float *y)
{
    for (size_t done = 0; done < n; done += BLOCK) {
        const size_t live = n - done < BLOCK ? n - done : BLOCK;
        double value[BLOCK];
        for (size_t i = 0; i < live; i++)
            value[i] = start(op);
        for (size_t a = 0; a < p->count[0]; a++) {
            for (size_t b = 0; b < p->count[1]; b++) {
                const float *from = x + a * p->stride[0] + b * p->stride[1] + done;
                for (size_t i = 0; i < live; i++)
                    value[i] = join(op, value[i], from[i]);
            }
        }
        for (size_t i = 0; i < live; i++)
            y[done + i] = finish(op, p, value[i]);
    }
}

static inline int32_t join_code(enum op op, int32_t so_far, int32_t x)
{
    return op == OP_SUM ? so_far + x : op == OP_MAX ? (x > so_far ? x : so_far) : (x < so_far ? x : so_far);
}

/* With the sign bit flipped, signed codes are ordered as unsigned ones; their sum is 128 more for each term. */
static inline uint8_t finish_code(enum op op, const nnf_reduce *p, int32_t value, size_t terms)
{
    if (op != OP_SUM)
        return (uint8_t)value ^ p->flip;
    return nnf_reduce_mean(p, value - p->flip * (int32_t)terms);
}

static inline void codes(enum op op, const nnf_reduce *p, size_t n, const uint8_t *x, uint8_t *y)
{
    int32_t value = op == OP_MIN ? 255 : 0;
    for (size_t a = 0; a < p->count[0]; a++) {
        for (size_t b = 0; b < p->count[1]; b++) {
            const uint8_t *from = x + a * p->stride[0] + b * p->stride[1];
            for (size_t i = 0; i < n; i++)
                value = join_code(op, value, from[i] ^ p->flip);
        }
    }
    *y = finish_code(op, p, value, p->count[0] * p->count[1] * n);
}

static inline void codes_across(enum op op, const nnf_reduce *p, size_t n, const uint8_t *x, uint8_t *y)
{
    for (size_t done = 0; done < n; done += BLOCK) {
        const size_t live = n - done < BLOCK ? n - done : BLOCK;
        int32_t value[BLOCK];
        for (size_t i = 0; i < live; i++)
            value[i] = op == OP_MIN ? 255 : 0;
        for (size_t a = 0; a < p->count[0]; a++) {
            for (size_t b = 0; b < p->count[1]; b++) {
                const uint8_t *from = x + a * p->stride[0] + b * p->stride[1] + done;
                for (size_t i = 0; i < live; i++)
                    value[i] = join_code(op, value[i], from[i] ^ p->flip);
            }
        }
        for (size_t i = 0; i < live; i++)
            y[done + i] = finish_code(op, p, value[i], p->count[0] * p->count[1]);
    }
}

/* Products without a look at zeros, of `rows` results, at most CHAINS, whose multiplications overlap. */
INLINE void raw_products(const size_t rows, const nnf_reduce *p, size_t apart, size_t n, const float *x,
                                double *value)
{
    for (size_t r = 0; r < rows; r++)
        value[r] = 1.0;
    for (size_t a = 0; a < p->count[0]; a++) {
        for (size_t b = 0; b < p->count[1]; b++) {
            const float *from = x + a * p->stride[0] + b * p->stride[1];
            for (size_t i = 0; i < n; i++) {
                NNF_UNROLL
                for (size_t r = 0; r < rows; r++)
                    value[r] *= from[r * apart + i];
            }
        }
    }
}

/* Where a zero may be among the factors, they are taken again: it outweighs an infinity and a NaN. */
static inline float finish_product(const nnf_reduce *p, size_t n, const float *x, double raw)
{
    if (raw != 0 && raw == raw)
        return (float)raw;
    double value = 1.0;
    for (size_t a = 0; a < p->count[0]; a++) {
        for (size_t b = 0; b < p->count[1]; b++) {
            const float *from = x + a * p->stride[0] + b * p->stride[1];
            for (size_t i = 0; i < n; i++) {
                if (from[i] == 0)
                    return 0;
                value = value == 0 ? 0.0 : value * from[i];
            }
        }
    }
    return (float)value;
}

void nnf_reduce_prod_f32_rows__scalar(const nnf_reduce *p, size_t results, size_t apart, size_t n, const float *x,
                                      float *y)
{
    double value[CHAINS];
    size_t r = 0;
    for (; r + CHAINS <= results; r += CHAINS) {
        raw_products(CHAINS, p, apart, n, x + r * apart, value);
        for (size_t k = 0; k < CHAINS; k++)
            y[r + k] = finish_product(p, n, x + (r + k) * apart, value[k]);
    }
    for (; r < results; r++) {
        raw_products(1, p, apart, n, x + r * apart, value);
        y[r] = finish_product(p, n, x + r * apart, *value);
    }
}

/* A column is a row of one element. */
void nnf_reduce_prod_across_f32_rows__scalar(const nnf_reduce *p, size_t results, size_t apart, size_t n,
                                             const float *x, float *y)
{
    for (size_t r = 0; r < results; r++)
        nnf_reduce_prod_f32_rows__scalar(p, n, 1, 1, x + r * apart, y + r * n);
}

void nnf_reduce_mean_qu8_rows__scalar(const nnf_reduce *p, size_t results, size_t apart, size_t n, const uint8_t *x,
                                      uint8_t *y)
{
    for (size_t r = 0; r < results; r++)
        codes(OP_SUM, p, n, x + r * apart, y + r);
}

void nnf_reduce_mean_across_qu8_rows__scalar(const nnf_reduce *p, size_t results, size_t apart, size_t n,
                                             const uint8_t *x, uint8_t *y)
{
    for (size_t r = 0; r < results; r++)
        codes_across(OP_SUM, p, n, x + r * apart, y + r * n);
}

#define KERNEL(op) op##__scalar
#define KERNEL_BYTES(op) op##__scalar

#include "reduce/reduce_kernels.h"
