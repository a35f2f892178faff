/* From int32 sums to codes that are rounded once, a vector at a time: nnf_code_of_sum of quantize.h. Include after
 * nnf/simd/codes_f64_<isa>.h. */
#ifndef NNF_QUANTIZE_ONCE_SIMD_H
#define NNF_QUANTIZE_ONCE_SIMD_H

#include "nnf/unroll.h"
#include "quantize/quantize.h"

/* Columns, at most CODES, and the floats of their scales. */
typedef struct once_columns {
    size_t count;
    const double *scale;
    V by[CODE_REGISTERS];
} once_columns;

/* Where codes lie. */
typedef struct once_codes {
    int32_t lowest, highest; /* less the zero point */
    V lo, hi;
    C zero_point;
} once_codes;

INLINE once_columns once_columns_at(const double *scale, size_t count)
{
    once_columns c = {.count = count, .scale = scale};
    NNF_UNROLL
    for (int p = 0; p < CODE_REGISTERS; p++) {
        D parts[PARTS];
        NNF_UNROLL
        for (int q = 0; q < PARTS; q++) {
            const size_t before = (size_t)(p * PARTS + q) * WIDE;
            parts[q] = f64_load(count > before ? count - before : 0, scale + before);
        }
        c.by[p] = f64_floats(parts);
    }
    return c;
}

INLINE once_codes once_codes_of(const nnf_codes *to)
{
    const int32_t lowest = to->lo - to->zero_point, highest = to->hi - to->zero_point;
    return (once_codes){.lowest = lowest, .highest = highest, .lo = all((float)lowest), .hi = all((float)highest),
                        .zero_point = codes_all(to->zero_point + to->flip)}; /* a sum with 128 flips the top bit */
}

/* In doubles, as the scalar twin: for a few sums. */
static __attribute__((noinline, cold)) C once_exactly(const once_columns *c, const once_codes *to, C sums)
{
    const D low = f64_all(to->lowest - 1), high = f64_all(to->highest + 1);
    D steps[CODE_DOUBLES];
    NNF_UNROLL
    for (int p = 0; p < CODE_DOUBLES; p++) { /* a NaN is low */
        const size_t before = (size_t)p * WIDE;
        const D by = f64_load(c->count > before ? c->count - before : 0, c->scale + before);
        steps[p] = f64_smaller(f64_larger(f64_mul(codes_double(sums, p), by), low), high);
    }
    return codes_between(to->lowest, to->highest, codes_nearest_double(steps));
}

/* Floats are off by less than 2^-13 between -512 and 512: three roundings of 2^-24 of the number. What is no nearer than
 * that to a half, or a NaN, is left to doubles. */
#define NEAR_HALF (0.5f - 0x1p-13f)

/* The codes in the low bytes of their lanes; what is above them does not count. */
INLINE C once(const once_columns *c, const once_codes *to, C sums)
{
    V whole[CODE_REGISTERS];
    int is_sure = 1;
    NNF_UNROLL
    for (int p = 0; p < CODE_REGISTERS; p++) {
        const V steps = between(to->lo, to->hi, mul(codes_float(sums, p), c->by[p]));
        whole[p] = nearest(steps);
        is_sure &= all_above(all(NEAR_HALF), size_of(sub(steps, whole[p])));
    }
    return codes_add(is_sure ? codes_whole(whole) : once_exactly(c, to, sums), to->zero_point);
}

#endif
