/* Operations on two floats, in doubles. Include after nnf/simd/f64_<isa>.h and KERNEL. */
#ifndef NNF_TFL_BINARY_CURVES_SIMD_H
#define NNF_TFL_BINARY_CURVES_SIMD_H

#include <stdbool.h>

#include "nnf/unroll.h"
#include "tfl_binary/tfl_binary_curves.h"

/* nnf_floor_mod, or NaN where it is another way's. A quotient below 2^53 has the right floor in double or, rounded up
 * to a whole number, one too many. What is left of a is a multiple of the last place of a or b and at most b in size,
 * or else a + b: a sum of two floats goes through double as if it was rounded once. */
INLINE D rests(D a, D b)
{
    const D ratio = f64_divide(a, b), none = f64_all(0);
    D rest = f64_fmadd(f64_sub(none, f64_floor(ratio)), b, a);
    rest = f64_add(rest, f64_where_below(f64_mul(rest, b), none, b, none));
    return f64_where_below(f64_signed(ratio, none), f64_all(0x1p53), f64_signed(rest, b), f64_all(NAN));
}

INLINE V results(const bool is_rest, V a, V b)
{
    D y[PARTS];
    NNF_UNROLL
    for (int part = 0; part < PARTS; part++) {
        const D left = f64_part(a, part), right = f64_part(b, part);
        y[part] = is_rest ? rests(left, right) : f64_floor(f64_divide(left, right));
    }
    return f64_floats(y);
}

/* `live` elements, at most LANES. */
INLINE void some(const bool is_rest, const bool whole, size_t live, const float *a, const size_t step_a, const float *b,
                 const size_t step_b, float *y)
{
    const M lanes = first_lanes(live);
    const V left = step_a ? (whole ? load_whole(a) : load(lanes, a)) : all(*a);
    const V right = step_b ? (whole ? load_whole(b) : load(lanes, b)) : all(*b);
    const V made = results(is_rest, left, right);
    if (is_rest && has_nan(whole ? made : keep(lanes, made))) {
        for (size_t i = 0; i < live; i++)
            y[i] = nnf_floor_mod(a[i * step_a], b[i * step_b]);
    } else if (whole) {
        store_whole(y, made);
    } else {
        store(y, lanes, made);
    }
}

INLINE void curves(const bool is_rest, size_t n, const float *a, const size_t step_a, const float *b,
                   const size_t step_b, float *y)
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        some(is_rest, true, LANES, a + i * step_a, step_a, b + i * step_b, step_b, y + i);
    if (i < n)
        some(is_rest, false, n - i, a + i * step_a, step_a, b + i * step_b, step_b, y + i);
}

void KERNEL(nnf_curve_f32_flat)(size_t n, int op, const void *a, size_t step_a, const void *b, size_t step_b, void *y)
{
    if (op == NNF_F32_ATAN2)
        nnf_atan2_row(n, a, step_a, b, step_b, y);
    else if (op == NNF_F32_FLOOR_DIV)
        curves(false, n, a, step_a, b, step_b, y);
    else
        curves(true, n, a, step_a, b, step_b, y);
}

#endif
