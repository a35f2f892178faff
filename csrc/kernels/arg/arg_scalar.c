#include "arg.h"

#include <string.h>

enum kind { F32, S32, QU8 };

/* Whether element `at` beats element `best`. */
static inline int beats(enum kind kind, const void *x, size_t at, size_t best, uint32_t flip)
{
    if (kind == F32) {
        uint32_t bits[2];
        float value[2];
        memcpy(&bits[0], (const float *)x + at, 4);
        memcpy(&bits[1], (const float *)x + best, 4);
        bits[0] ^= flip;
        bits[1] ^= flip;
        memcpy(value, bits, 8);
        return value[0] > value[1];
    }
    if (kind == S32)
        return (int32_t)((uint32_t)((const int32_t *)x)[at] ^ flip) >
               (int32_t)((uint32_t)((const int32_t *)x)[best] ^ flip);
    return (((const uint8_t *)x)[at] ^ flip) > (((const uint8_t *)x)[best] ^ flip);
}

static inline void across(enum kind kind, size_t count, size_t stride, size_t n, const void *x, int32_t *y,
                          uint32_t flip)
{
    for (size_t i = 0; i < n; i++) {
        size_t best = 0;
        for (size_t a = 1; a < count; a++) {
            if (beats(kind, x, a * stride + i, best * stride + i, flip))
                best = a;
        }
        y[i] = (int32_t)best;
    }
}

void nnf_arg_f32_rows__scalar(size_t count, size_t n, const float *x, int32_t *y, uint32_t flip)
{
    for (size_t i = 0; i < n; i++)
        across(F32, count, 1, 1, x + i * count, y + i, flip);
}

void nnf_arg_s32_rows__scalar(size_t count, size_t n, const int32_t *x, int32_t *y, uint32_t flip)
{
    for (size_t i = 0; i < n; i++)
        across(S32, count, 1, 1, x + i * count, y + i, flip);
}

void nnf_arg_qu8_rows__scalar(size_t count, size_t n, const uint8_t *x, int32_t *y, uint32_t flip)
{
    for (size_t i = 0; i < n; i++)
        across(QU8, count, 1, 1, x + i * count, y + i, flip);
}

void nnf_arg_across_f32_rows__scalar(size_t count, size_t stride, size_t n, const float *x, int32_t *y,
                                     uint32_t flip)
{
    across(F32, count, stride, n, x, y, flip);
}

void nnf_arg_across_s32_rows__scalar(size_t count, size_t stride, size_t n, const int32_t *x, int32_t *y,
                                     uint32_t flip)
{
    across(S32, count, stride, n, x, y, flip);
}

void nnf_arg_across_qu8_rows__scalar(size_t count, size_t stride, size_t n, const uint8_t *x, int32_t *y,
                                     uint32_t flip)
{
    across(QU8, count, stride, n, x, y, flip);
}
