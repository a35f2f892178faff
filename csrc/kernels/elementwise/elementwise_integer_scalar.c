#include "elementwise.h"

#include <string.h>

#include "elementwise_ops.h"

static inline int32_t quotient(int32_t a, int32_t b)
{
    if (b == 0)
        return 0;
    const int64_t whole = (int64_t)a / b;
    return (int32_t)(whole - ((int64_t)a % b != 0 && (a < 0) != (b < 0)));
}

static inline int32_t word(enum word_op op, int32_t a, int32_t b)
{
    switch (op) {
    case OP_ADD:
        return (int32_t)((uint32_t)a + (uint32_t)b);
    case OP_SUB:
        return (int32_t)((uint32_t)a - (uint32_t)b);
    case OP_MUL:
        return (int32_t)((uint32_t)a * (uint32_t)b);
    case OP_DIV:
        return quotient(a, b);
    case OP_MAX:
        return b > a ? b : a;
    default:
        return b < a ? b : a;
    }
}

static inline void words(enum word_op op, size_t n, const int32_t *a, size_t step_a, const int32_t *b, size_t step_b,
                         int32_t *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = word(op, a[i * step_a], b[i * step_b]);
}

static inline uint8_t byte(enum byte_op op, uint8_t a, uint8_t b)
{
    switch (op) {
    case OP_LARGER:
        return b > a ? b : a;
    case OP_SMALLER:
        return b < a ? b : a;
    case OP_LARGER_SIGNED:
        return (int8_t)b > (int8_t)a ? b : a;
    case OP_SMALLER_SIGNED:
        return (int8_t)b < (int8_t)a ? b : a;
    case OP_EQUAL:
        return a == b;
    case OP_NOT_EQUAL:
        return a != b;
    case OP_LESS:
        return a < b;
    case OP_LESS_EQUAL:
        return a <= b;
    case OP_AND:
        return a && b;
    default:
        return a || b;
    }
}

static inline void bytes(enum byte_op op, size_t n, const uint8_t *a, size_t step_a, const uint8_t *b, size_t step_b,
                         uint8_t *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = byte(op, a[i * step_a], b[i * step_b]);
}

void nnf_select_qu8_flat__scalar(size_t n, const uint8_t *choice, const void *a, const void *b, void *y)
{
    const uint8_t *first = a, *second = b;
    uint8_t *chosen = y;
    for (size_t i = 0; i < n; i++)
        chosen[i] = choice[i] ? first[i] : second[i];
}

void nnf_select_f16_flat__scalar(size_t n, const uint8_t *choice, const void *a, const void *b, void *y)
{
    const uint16_t *first = a, *second = b;
    uint16_t *chosen = y;
    for (size_t i = 0; i < n; i++)
        chosen[i] = choice[i] ? first[i] : second[i];
}

void nnf_select_s32_flat__scalar(size_t n, const uint8_t *choice, const void *a, const void *b, void *y)
{
    const uint32_t *first = a, *second = b;
    uint32_t *chosen = y;
    for (size_t i = 0; i < n; i++)
        chosen[i] = choice[i] ? first[i] : second[i];
}

void nnf_select_x64_flat__scalar(size_t n, const uint8_t *choice, const void *a, const void *b, void *y)
{
    const uint8_t *first = a, *second = b;
    uint8_t *chosen = y;
    for (size_t i = 0; i < 8 * n; i += 8)
        memmove(chosen + i, (choice[i / 8] ? first : second) + i, 8);
}

#define KERNEL(op) op##__scalar
#define KERNEL_BYTES(op) op##__scalar

#include "elementwise/elementwise_integer_kernels.h"
