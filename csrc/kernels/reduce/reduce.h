/* Reductions over one or two strided dimensions and, but for across, over consecutive elements.
 *   rows     y[r] is the reduction of x[r apart + a stride[0] + b stride[1] + i] over all a, b and i
 *   across   y[r n + i] is the reduction of x[r apart + a stride[0] + b stride[1] + i] over all a and b
 * for r < results, a < count[0], b < count[1], i < n. n >= 1, counts >= 1, any alignment; x and y do not overlap. */
#ifndef NNF_REDUCE_H
#define NNF_REDUCE_H

#include <stddef.h>
#include <stdint.h>

#include "nnf/fixedpoint.h"

typedef struct nnf_reduce {
    size_t count[2], stride[2]; /* strides in elements */
    int32_t divisor;            /* of sums: the number of terms for a mean, 1 for a sum; 0: see mean */
    uint8_t flip;               /* 8-bit: 128 for signed codes, else 0 */
    int32_t excess, multiplier, exponent, zero_point, lo, hi;
} nnf_reduce;

/* sum: added up and divided in double by the scalar row. max, min: from the lowest or highest finite value on, so that
 * an infinity of that end and every NaN lose. prod: in double; a zero makes it zero, beside an infinity or NaN too. */
typedef void (*nnf_reduce_f32_fn)(const nnf_reduce *p, size_t results, size_t apart, size_t n, const float *x,
                                  float *y);

/* mean: the sum of codes divided by the divisor, cut towards zero [NN 14.31], of fewer than 2^23 terms; where the divisor
 * is 0, as LiteRT has it: clamp(MBQM(sum - excess, multiplier, exponent) + zero_point, lo, hi).
 * max, min: of codes. */
typedef void (*nnf_reduce_q8_fn)(const nnf_reduce *p, size_t results, size_t apart, size_t n, const uint8_t *x,
                                 uint8_t *y);

#define NNF_REDUCE_TERMS (1 << 23)

/* The code of a mean with this sum of codes. */
static inline uint8_t nnf_reduce_mean(const nnf_reduce *p, int32_t sum)
{
    if (p->divisor)
        return (uint8_t)(sum / p->divisor);
    const int32_t scaled = nnf_mbqm((int32_t)((uint32_t)sum - (uint32_t)p->excess), p->multiplier, p->exponent);
    /* The clamp comes first, so that the zero point cannot overflow. */
    return (uint8_t)(nnf_clamp_s32(scaled, p->lo - p->zero_point, p->hi - p->zero_point) + p->zero_point);
}

#endif
