/* Softmax of floats in vectors. Include after nnf/simd/f64_<isa>.h and KERNEL. */
#ifndef NNF_SOFTMAX_SIMD_H
#define NNF_SOFTMAX_SIMD_H

#include <float.h>
#include <math.h>

#include "nnf/math_simd.h"
#include "nnf/unroll.h"
#include "softmax/softmax.h"

/* The largest of n values times `sign`, -1 or 1. A NaN may get lost here: it spoils the sum anyway. */
INLINE float extreme(size_t n, const float *x, float sign)
{
    const V turn = all(sign);
    V best[2] = {all(sign * x[0]), all(sign * x[0])};
    size_t i = 0;
    for (; i + 2 * LANES <= n; i += 2 * LANES) {
        best[0] = larger(best[0], mul(turn, load_whole(x + i)));
        best[1] = larger(best[1], mul(turn, load_whole(x + i + LANES)));
    }
    for (; i < n; i += LANES) {
        const M live = first_lanes(n - i);
        best[0] = larger(best[0], choose(live, mul(turn, load(live, x + i)), best[0]));
    }
    return most_of(larger(best[0], best[1]));
}

/* A power by the sum of all, 0 where below FLT_MIN: then the power is below `least`, FLT_MIN times the sum. */
INLINE V part_of_sum(V power, V least, V inverse)
{
    return mul(zero_above(least, power, power), inverse);
}

void KERNEL_PAIRS(nnf_softmax_f32_rows)(size_t n, const float *x, float *y, float beta)
{
    const V most = all(extreme(n, x, 1)), scale = all(beta);
    V sum[2] = {zero(), zero()};
    size_t i = 0;
    for (; i + 2 * LANES <= n; i += 2 * LANES) {
        NNF_UNROLL
        for (size_t v = 0; v < 2; v++) {
            const V power = exponential(mul(sub(load_whole(x + i + v * LANES), most), scale));
            sum[v] = add(sum[v], power);
            store_whole(y + i + v * LANES, power);
        }
    }
    for (; i < n; i += LANES) {
        const M live = first_lanes(n - i);
        const V power = exponential(mul(sub(load(live, x + i), most), scale));
        sum[0] = add(sum[0], keep(live, power));
        store(y + i, live, power);
    }
    const float whole = total(add(sum[0], sum[1]));
    const V least = all(FLT_MIN * whole), inverse = all(1.0f / whole);
    for (i = 0; i + LANES <= n; i += LANES)
        store_whole(y + i, part_of_sum(load_whole(y + i), least, inverse));
    if (i < n)
        store(y + i, first_lanes(n % LANES), part_of_sum(load(first_lanes(n % LANES), y + i), least, inverse));
}

/* (x - most) beta - less, most and less of each lane */
INLINE V scaled(V x, const D *most, D beta, const D *less)
{
    D parts[PARTS];
    NNF_UNROLL
    for (int p = 0; p < PARTS; p++)
        parts[p] = f64_sub(f64_mul(f64_sub(f64_part(x, p), most[p]), beta), less[p]);
    return f64_floats(parts);
}

INLINE void all_parts(D *parts, double value)
{
    NNF_UNROLL
    for (int p = 0; p < PARTS; p++)
        parts[p] = f64_all(value);
}

INLINE void add_powers(D *sum, V power)
{
    NNF_UNROLL
    for (int p = 0; p < PARTS; p++)
        sum[p] = f64_add(sum[p], f64_part(power, p));
}

void KERNEL(nnf_log_softmax_f32_rows)(size_t n, const float *x, float *y, float beta)
{
    const float sign = beta < 0 ? -1.0f : 1.0f;
    const D scale = f64_all(beta);
    D most[PARTS], none[PARTS], sum[PARTS], logarithm[PARTS];
    all_parts(most, (double)(sign * extreme(n, x, sign)));
    all_parts(none, 0);
    all_parts(sum, 0);
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        add_powers(sum, exponential(scaled(load_whole(x + i), most, scale, none)));
    const M live = first_lanes(n % LANES);
    if (i < n)
        add_powers(sum, keep(live, exponential(scaled(load(live, x + i), most, scale, none))));
    all_parts(logarithm, log(f64_total(PARTS == 2 ? f64_add(sum[0], sum[PARTS - 1]) : sum[0])));
    for (i = 0; i + LANES <= n; i += LANES)
        store_whole(y + i, scaled(load_whole(x + i), most, scale, logarithm));
    if (i < n)
        store(y + i, live, scaled(load(live, x + i), most, scale, logarithm));
}

#endif
