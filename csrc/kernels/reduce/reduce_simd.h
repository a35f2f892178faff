/* Reductions in vectors. Include after nnf/simd/codes_f64_<isa>.h, nnf/simd/u8_<isa>.h and KERNEL. */
#ifndef NNF_REDUCE_SIMD_H
#define NNF_REDUCE_SIMD_H

#include <float.h>

#include "nnf/unroll.h"
#include "reduce/reduce.h"

enum op { OP_SUM, OP_MAX, OP_MIN };

/* LANES results on their way: sums as doubles, extremes as floats. */
typedef struct state {
    D sum[PARTS];
    V best;
} state;

INLINE state start(enum op op)
{
    state s;
    s.best = all(op == OP_MAX ? -FLT_MAX : FLT_MAX);
    NNF_UNROLL
    for (int p = 0; p < PARTS; p++)
        s.sum[p] = f64_all(0);
    return s;
}

/* NaNs in x leave an extreme as it is. */
INLINE V better(enum op op, V x, V best)
{
    return op == OP_MAX ? larger(x, best) : smaller(x, best);
}

INLINE void join(enum op op, state *s, V x)
{
    NNF_UNROLL
    for (int p = 0; op == OP_SUM && p < PARTS; p++)
        s->sum[p] = f64_add(s->sum[p], f64_part(x, p));
    if (op != OP_SUM)
        s->best = better(op, x, s->best);
}

INLINE void rows(enum op op, const nnf_reduce *p, size_t n, const float *x, float *y)
{
    state s[2] = {start(op), start(op)};
    for (size_t a = 0; a < p->count[0]; a++) {
        for (size_t b = 0; b < p->count[1]; b++) {
            const float *from = x + a * p->stride[0] + b * p->stride[1], *end = from + n;
            for (; end - from >= 2 * LANES; from += 2 * LANES) {
                join(op, &s[0], load_whole(from));
                join(op, &s[1], load_whole(from + LANES));
            }
            if (end - from >= LANES) {
                join(op, &s[0], load_whole(from));
                from += LANES;
            }
            if (from == end)
                continue;
            if (op != OP_SUM && n >= LANES) { /* some values again, which changes no extreme */
                join(op, &s[1], load_whole(end - LANES));
            } else {
                const M live = first_lanes((size_t)(end - from) % LANES); /* known to be less than all */
                const V rest = load(live, from);
                join(op, &s[1], op == OP_SUM ? rest : choose(live, rest, s[1].best));
            }
        }
    }
    if (op == OP_SUM) {
        D sum = f64_add(s[0].sum[0], s[1].sum[0]);
        if (PARTS == 2)
            sum = f64_add(sum, f64_add(s[0].sum[PARTS - 1], s[1].sum[PARTS - 1]));
        *y = (float)(f64_total(sum) / p->divisor);
    } else {
        const V best = better(op, s[0].best, s[1].best);
        *y = op == OP_MAX ? most_of(best) : -most_of(negative(best));
    }
}

/* LANES columns in each of `vectors`, or for 0 of them those that are live. */
INLINE void some_columns(enum op op, const int whole, M live, const nnf_reduce *p, const float *x, float *y)
{
    const int vectors = whole ? whole : 1;
    state s[4];
    NNF_UNROLL
    for (int v = 0; v < vectors; v++)
        s[v] = start(op);
    for (size_t a = 0; a < p->count[0]; a++) {
        for (size_t b = 0; b < p->count[1]; b++) {
            const float *from = x + a * p->stride[0] + b * p->stride[1];
            NNF_UNROLL
            for (int v = 0; v < vectors; v++)
                join(op, &s[v], whole ? load_whole(from + LANES * v) : load(live, from));
        }
    }
    NNF_UNROLL
    for (int v = 0; v < vectors; v++) {
        NNF_UNROLL
        for (int part = 0; op == OP_SUM && part < PARTS; part++)
            s[v].sum[part] = f64_divide(s[v].sum[part], f64_all(p->divisor));
        const V value = op == OP_SUM ? f64_floats(s[v].sum) : s[v].best;
        if (whole)
            store_whole(y + LANES * v, value);
        else
            store(y, live, value);
    }
}

INLINE void columns(enum op op, const nnf_reduce *p, size_t n, const float *x, float *y)
{
    size_t i = 0;
    for (; i + 4 * LANES <= n; i += 4 * LANES)
        some_columns(op, 4, first_lanes(LANES), p, x + i, y + i);
    for (; i + 2 * LANES <= n; i += 2 * LANES)
        some_columns(op, 2, first_lanes(LANES), p, x + i, y + i);
    for (; i + LANES <= n; i += LANES)
        some_columns(op, 1, first_lanes(LANES), p, x + i, y + i);
    if (i < n)
        some_columns(op, 0, first_lanes(n % LANES), p, x + i, y + i);
}

/* -- codes --------------------------------------------------------------------------------------------------------- */
/* The sum of one result's codes. */
INLINE int32_t sum_of(const nnf_reduce *p, size_t n, const uint8_t *x)
{
    const B flip = u8_all(p->flip);
    U sums = u8_sum_none();
    for (size_t a = 0; a < p->count[0]; a++) {
        for (size_t b = 0; b < p->count[1]; b++) {
            const uint8_t *from = x + a * p->stride[0] + b * p->stride[1];
            size_t i = 0;
            for (; i + BYTES <= n; i += BYTES)
                sums = u8_sum(sums, u8_xor(u8_load_whole(from + i), flip));
            if (i < n)
                sums = u8_sum(sums, u8_xor(u8_load_or(flip, n - i, from + i), flip));
        }
    }
    return (int32_t)u8_sum_total(sums) - p->flip * (int32_t)(p->count[0] * p->count[1] * n);
}

/* nnf_reduce_mean of CODES sums. */
INLINE C means(const nnf_reduce *p, C sum)
{
    if (p->divisor) {
        D ratio[CODE_DOUBLES];
        NNF_UNROLL
        for (int part = 0; part < CODE_DOUBLES; part++)
            ratio[part] = f64_divide(codes_double(sum, part), f64_all(p->divisor));
        return codes_whole_double(ratio);
    }
    const C scaled = codes_scale(codes_add(sum, codes_all(-p->excess)), p->multiplier, p->exponent);
    return codes_add(codes_between(p->lo - p->zero_point, p->hi - p->zero_point, scaled), codes_all(p->zero_point));
}

void KERNEL_BYTES(nnf_reduce_mean_qu8_rows)(const nnf_reduce *p, size_t results, size_t apart, size_t n,
                                            const uint8_t *x, uint8_t *y)
{
    const nnf_reduce q = *p; /* which no store of codes can change */
    int32_t sum[CODES];
    size_t r = 0;
    for (; r + CODES <= results; r += CODES) {
        for (size_t k = 0; k < CODES; k++)
            sum[k] = sum_of(&q, n, x + (r + k) * apart);
        codes_store_whole(y + r, means(&q, codes_load_s32(CODES, sum)));
    }
    for (; r < results; r++)
        y[r] = nnf_reduce_mean(&q, sum_of(&q, n, x + r * apart));
}

/* CODES columns in each of `vectors`, or `count` in a single one. */
INLINE void some_means(const bool is_signed, const int vectors, size_t count, const nnf_reduce *p, const uint8_t *x,
                       uint8_t *y)
{
    C sum[4];
    NNF_UNROLL
    for (int v = 0; v < vectors; v++)
        sum[v] = codes_all(0);
    for (size_t a = 0; a < p->count[0]; a++) {
        for (size_t b = 0; b < p->count[1]; b++) {
            const uint8_t *from = x + a * p->stride[0] + b * p->stride[1];
            NNF_UNROLL
            for (int v = 0; v < vectors; v++)
                sum[v] = codes_add(sum[v], count == CODES ? codes_load_whole(from + CODES * v, is_signed, 0)
                                                          : codes_load(count, from, is_signed, 0));
        }
    }
    NNF_UNROLL
    for (int v = 0; v < vectors; v++) {
        if (count == CODES)
            codes_store_whole(y + CODES * v, means(p, sum[v]));
        else
            codes_store(y, count, means(p, sum[v]));
    }
}

INLINE void signed_means(const bool is_signed, const nnf_reduce *p, size_t n, const uint8_t *x, uint8_t *y)
{
    size_t i = 0;
    for (; i + 4 * CODES <= n; i += 4 * CODES)
        some_means(is_signed, 4, CODES, p, x + i, y + i);
    for (; i + CODES <= n; i += CODES)
        some_means(is_signed, 1, CODES, p, x + i, y + i);
    if (i < n)
        some_means(is_signed, 1, n % CODES, p, x + i, y + i);
}

void KERNEL(nnf_reduce_mean_across_qu8_rows)(const nnf_reduce *p, size_t results, size_t apart, size_t n,
                                             const uint8_t *x, uint8_t *y)
{
    const nnf_reduce q = *p; /* which no store of codes can change */
    for (size_t r = 0; r < results; r++) {
        if (q.flip)
            signed_means(true, &q, n, x + r * apart, y + r * n);
        else
            signed_means(false, &q, n, x + r * apart, y + r * n);
    }
}

INLINE B better_codes(enum op op, B a, B b)
{
    return op == OP_MAX ? u8_max(a, b) : u8_min(a, b);
}

/* With the sign bit flipped, signed codes are ordered as unsigned ones. */
INLINE void codes(enum op op, const nnf_reduce *p, size_t n, const uint8_t *x, uint8_t *y)
{
    const B flip = u8_all(p->flip);
    B best = u8_all(op == OP_MAX ? 0 : 255);
    for (size_t a = 0; a < p->count[0]; a++) {
        for (size_t b = 0; b < p->count[1]; b++) {
            const uint8_t *from = x + a * p->stride[0] + b * p->stride[1];
            size_t i = 0;
            for (; i + BYTES <= n; i += BYTES)
                best = better_codes(op, best, u8_xor(u8_load_whole(from + i), flip));
            if (i < n && n >= BYTES) /* some codes again, which changes nothing */
                best = better_codes(op, best, u8_xor(u8_load_whole(from + n - BYTES), flip));
            else if (i < n)
                best = better_codes(op, best, u8_xor(u8_load_or(u8_xor(best, flip), n, from), flip));
        }
    }
    const uint8_t turn = op == OP_MAX ? 255 : 0;
    *y = u8_least(u8_xor(best, u8_all(turn))) ^ turn ^ p->flip;
}

/* `live` columns, at most BYTES, which is what a whole vector has. */
INLINE void code_columns(enum op op, const bool whole, const nnf_reduce *p, size_t live, const uint8_t *x, uint8_t *y)
{
    const B flip = u8_all(p->flip);
    const size_t count = p->count[1], stride = p->stride[1];
    B best = u8_all(op == OP_MAX ? 0 : 255);
    for (size_t a = 0; a < p->count[0]; a++) {
        const uint8_t *from = x + a * p->stride[0];
        for (size_t b = 0; b < count; b++, from += stride)
            best = better_codes(op, best, u8_xor(whole ? u8_load_whole(from) : u8_load(live, from), flip));
    }
    if (whole)
        u8_store_whole(y, u8_xor(best, flip));
    else
        u8_store(y, live, u8_xor(best, flip));
}

INLINE void codes_across(enum op op, const nnf_reduce *p, size_t n, const uint8_t *x, uint8_t *y)
{
    size_t i = 0;
    for (; i + BYTES <= n; i += BYTES)
        code_columns(op, true, p, BYTES, x + i, y + i);
    if (i < n)
        code_columns(op, false, p, n - i, x + i, y + i);
}

#include "reduce/reduce_kernels.h"

#endif
