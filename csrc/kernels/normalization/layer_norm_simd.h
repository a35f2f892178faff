/* Layer normalisation in vectors: the sums in doubles, the rest in floats. Include after nnf/simd/f64_<isa>.h and
 * KERNEL. */
#ifndef NNF_LAYER_NORM_SIMD_H
#define NNF_LAYER_NORM_SIMD_H

#include <math.h>

#include "nnf/unroll.h"
#include "normalization/normalization.h"

/* What is added up: values, or the squares of how far they are from a mean. */
INLINE V layer_term(const int is_square, V x, V mean)
{
    if (!is_square)
        return x;
    const V centred = sub(x, mean);
    return mul(centred, centred);
}

INLINE void layer_add(D sum[PARTS], V term)
{
    NNF_UNROLL
    for (int p = 0; p < PARTS; p++)
        sum[p] = f64_add(sum[p], f64_part(term, p));
}

INLINE float layer_mean(const int is_square, size_t n, const float *x, V mean)
{
    D sum[2][PARTS];
    NNF_UNROLL
    for (int p = 0; p < PARTS; p++)
        sum[0][p] = sum[1][p] = f64_all(0);
    size_t i = 0;
    for (; i + 2 * LANES <= n; i += 2 * LANES) {
        layer_add(sum[0], layer_term(is_square, load_whole(x + i), mean));
        layer_add(sum[1], layer_term(is_square, load_whole(x + i + LANES), mean));
    }
    if (i + LANES <= n) {
        layer_add(sum[0], layer_term(is_square, load_whole(x + i), mean));
        i += LANES;
    }
    if (i < n) {
        const M live = first_lanes(n % LANES);
        layer_add(sum[1], keep(live, layer_term(is_square, load(live, x + i), mean)));
    }
    D total = f64_add(sum[0][0], sum[1][0]);
    if (PARTS == 2)
        total = f64_add(total, f64_add(sum[0][PARTS - 1], sum[1][PARTS - 1]));
    return (float)(f64_total(total) / (double)n);
}

INLINE V layer_value(const nnf_layer_norm *p, V x, V mean, V root, V gamma, V beta)
{
    if (p->is_folded) {
        const V factor = mul(root, gamma);
        return add(mul(x, factor), sub(beta, mul(mean, factor)));
    }
    V value = sub(x, mean);
    value = p->divides ? divide(value, root) : mul(value, root);
    if (p->has_gamma)
        value = mul(value, gamma);
    return p->has_beta ? add(value, beta) : value;
}

void KERNEL(nnf_layer_norm_f32_rows)(const nnf_layer_norm *norm, size_t rows, size_t n, const float *x,
                                     const float *gamma, const float *beta, float *y)
{
    const nnf_layer_norm p = *norm; /* which no store can change */
    for (size_t row = 0; row < rows; row++, x += n, y += n) {
        const V mean = all(layer_mean(0, n, x, zero()));
        const float deviation = sqrtf(layer_mean(1, n, x, mean) + p.epsilon);
        const V root = all(p.divides ? deviation : 1 / deviation);
        size_t i = 0;
        for (; i + LANES <= n; i += LANES) {
            const V scale = p.has_gamma ? load_whole(gamma + i) : zero();
            const V offset = p.has_beta ? load_whole(beta + i) : zero();
            store_whole(y + i, layer_value(&p, load_whole(x + i), mean, root, scale, offset));
        }
        if (i < n) {
            const M live = first_lanes(n % LANES);
            const V scale = p.has_gamma ? load(live, gamma + i) : zero();
            const V offset = p.has_beta ? load(live, beta + i) : zero();
            store(y + i, live, layer_value(&p, load(live, x + i), mean, root, scale, offset));
        }
    }
}

#endif
