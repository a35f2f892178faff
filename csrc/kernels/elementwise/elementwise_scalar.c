#include "elementwise.h"

#include <math.h>

#include "nnf/fixedpoint.h"

enum op { OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_MAX, OP_MIN, OP_PRELU, OP_SQUARED_DIFFERENCE, OP_POW };

static inline float apply(enum op op, float a, float b)
{
    switch (op) {
    case OP_ADD:
        return a + b;
    case OP_SUB:
        return a - b;
    case OP_MUL:
        return a * b;
    case OP_DIV:
        return a / b;
    case OP_MAX:
        return b > a ? b : a;
    case OP_MIN:
        return b < a ? b : a;
    case OP_PRELU:
        return a >= 0 ? a : a * b;
    case OP_SQUARED_DIFFERENCE:
        return (a - b) * (a - b);
    default:
        return (float)pow((double)a, (double)b);
    }
}

static inline void binary(enum op op, size_t n, const float *a, size_t step_a, const float *b, size_t step_b, float *y,
                          float lo, float hi)
{
    /* A repeated operand may not be written meanwhile, a walked one may: y never equals an operand of step 0. */
    for (size_t i = 0; i < n; i++) {
        const float value = apply(op, a[i * step_a], b[i * step_b]);
        y[i] = value < lo ? lo : value > hi ? hi : value;
    }
}

static inline int32_t code(int is_signed, uint8_t raw)
{
    return is_signed ? (int8_t)raw : raw;
}

/* Clamped before the zero point is added: a multiplier above 1 reaches the ends of 32 bits. */
static inline uint8_t finish(int32_t scaled, const nnf_binary_q8 *p)
{
    return (uint8_t)(nnf_clamp_s32(scaled, p->lo - p->zero_y, p->hi - p->zero_y) + p->zero_y);
}

static inline int32_t scale(int32_t value, const nnf_binary_q8 *p)
{
    return nnf_rdbpot(nnf_srdhm(value, p->multiplier_y), p->shift_y);
}

static inline void add_q8(int is_signed, size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b,
                          uint8_t *y, const nnf_binary_q8 *p)
{
    for (size_t i = 0; i < n; i++) {
        const int32_t raised_a = (code(is_signed, a[i * step_a]) - p->zero_a) * (1 << NNF_ADD_SHIFT);
        const int32_t raised_b = (code(is_signed, b[i * step_b]) - p->zero_b) * (1 << NNF_ADD_SHIFT);
        const int32_t sum = nnf_rdbpot(nnf_srdhm(raised_a, p->multiplier_a), p->shift_a) +
                            nnf_rdbpot(nnf_srdhm(raised_b, p->multiplier_b), p->shift_b);
        y[i] = finish(scale(sum, p), p);
    }
}

static inline void mul_q8(int is_signed, size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b,
                          uint8_t *y, const nnf_binary_q8 *p)
{
    for (size_t i = 0; i < n; i++) {
        const int32_t product = (code(is_signed, a[i * step_a]) - p->zero_a) *
                                (code(is_signed, b[i * step_b]) - p->zero_b);
        y[i] = finish(scale(product, p), p);
    }
}

static inline void prelu_q8(int is_signed, size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b,
                            uint8_t *y, const nnf_binary_q8 *p)
{
    for (size_t i = 0; i < n; i++) {
        const int32_t value = code(is_signed, a[i * step_a]) - p->zero_a;
        if (value >= 0)
            y[i] = finish(nnf_mbqm(value, p->multiplier_a, p->left_a - p->shift_a), p);
        else
            y[i] = finish(nnf_mbqm(value * (code(is_signed, b[i * step_b]) - p->zero_b), p->multiplier_y,
                                   p->left_y - p->shift_y), p);
    }
}

void nnf_pow_f32_flat__scalar(size_t n, const float *a, size_t step_a, const float *b, size_t step_b, float *y,
                              float lo, float hi)
{
    binary(OP_POW, n, a, step_a, b, step_b, y, lo, hi);
}

#define CODES(name, loop, is_signed)                                                                                   \
    void name##__scalar(size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b, uint8_t *y,        \
                        const nnf_binary_q8 *p)                                                                        \
    {                                                                                                                  \
        loop(is_signed, n, a, step_a, b, step_b, y, p);                                                                \
    }

CODES(nnf_add_qu8_flat, add_q8, 0)
CODES(nnf_add_qs8_flat, add_q8, 1)
CODES(nnf_mul_qu8_flat, mul_q8, 0)
CODES(nnf_mul_qs8_flat, mul_q8, 1)
CODES(nnf_prelu_qu8_flat, prelu_q8, 0)
CODES(nnf_prelu_qs8_flat, prelu_q8, 1)

#define RELATION(name, type, relation)                                                                                 \
    void name##__scalar(size_t n, const type *a, size_t step_a, const type *b, size_t step_b, uint8_t *y)              \
    {                                                                                                                  \
        for (size_t i = 0; i < n; i++)                                                                                 \
            y[i] = a[i * step_a] relation b[i * step_b];                                                               \
    }

RELATION(nnf_equal_f32_flat, float, ==)
RELATION(nnf_not_equal_f32_flat, float, !=)
RELATION(nnf_less_f32_flat, float, <)
RELATION(nnf_less_equal_f32_flat, float, <=)
RELATION(nnf_equal_s32_flat, int32_t, ==)
RELATION(nnf_not_equal_s32_flat, int32_t, !=)
RELATION(nnf_less_s32_flat, int32_t, <)
RELATION(nnf_less_equal_s32_flat, int32_t, <=)

#define KERNEL(op) op##__scalar

#include "elementwise/elementwise_f32_kernels.h"
