/* int16 arithmetic in vectors of 32-bit lanes. Include after nnf/simd/s32_<isa>.h, int16/int16_words.h, KERNEL and a
 * file that defines load_some, store_some, s32_load_s8, s32_store_s8, s32_scaled,
 * s32_if_negative, s32_size, s32_left, s32_right, s32_right_bits, s32_pairs, and C, as many numbers of 32 bits as there
 * are of 64 in a vector, LONGS, with c32_all, c32_min, c32_max, c32_store_s16 and the parts of rows that
 * requantize_rows takes: wide_part, s32_part, real_part. */
#ifndef NNF_INT16_SIMD_H
#define NNF_INT16_SIMD_H

#include <string.h>

#include "int16/int16_words.h"

INLINE S load_words(enum word_type type, const void *x)
{
    return type == TYPE_S8 ? s32_load_s8(x) : type == TYPE_S16 ? s32_load_s16(x) : s32_load_whole(x);
}

INLINE void store_words(enum word_type type, void *y, S value)
{
    if (type == TYPE_S8)
        s32_store_s8(y, value);
    else if (type == TYPE_S16)
        s32_store_s16(y, value);
    else
        s32_store_whole(y, value);
}

typedef struct factors {
    S multiplier, left, right;
} factors;

INLINE factors factors_of(const nnf_scaling *by)
{
    return (factors){s32_all(by->multiplier), s32_all(by->left), s32_all(by->right)};
}

INLINE S scaled(S x, const factors *by) { return s32_scaled(x, by->multiplier, by->left, by->right); }

/* What a kernel makes of one vector of each operand. */
typedef struct binary {
    int is_sum, is_minus;
    factors a, b, y;
    S lo, hi;
} binary;

INLINE S both(const binary *by, S a, S b)
{
    S value;
    if (by->is_sum) {
        a = scaled(a, &by->a);
        b = scaled(b, &by->b);
        value = by->is_minus ? s32_sub(a, b) : s32_add(a, b);
    } else {
        value = s32_mul(a, b);
    }
    return s32_min(s32_max(scaled(value, &by->y), by->lo), by->hi);
}

INLINE void binary_rows(int is_sum, int is_minus, size_t n, const int16_t *a, size_t step_a, const int16_t *b,
                        size_t step_b, int16_t *y, const nnf_binary_q16 *p)
{
    if (n == 0)
        return;
    const binary by = {is_sum, is_minus, factors_of(&p->a), factors_of(&p->b), factors_of(&p->y), s32_all(p->lo),
                       s32_all(p->hi)};
    S left = s32_all(*a), right = s32_all(*b);
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        if (step_a)
            left = s32_load_s16(a + i);
        if (step_b)
            right = s32_load_s16(b + i);
        s32_store_s16(y + i, both(&by, left, right));
    }
    if (i == n)
        return;
    if (step_a)
        left = load_some(TYPE_S16, n - i, a + i);
    if (step_b)
        right = load_some(TYPE_S16, n - i, b + i);
    store_some(TYPE_S16, n - i, y + i, both(&by, left, right));
}

void KERNEL(nnf_add_qs16_flat)(size_t n, const int16_t *a, size_t step_a, const int16_t *b, size_t step_b, int16_t *y,
                               const nnf_binary_q16 *p)
{
    if (p->is_minus)
        binary_rows(1, 1, n, a, step_a, b, step_b, y, p);
    else
        binary_rows(1, 0, n, a, step_a, b, step_b, y, p);
}

typedef S (*map)(const void *by, S x);

/* y = each(x), by vectors. */
INLINE void map_rows(enum word_type from, enum word_type to, size_t n, const void *x, void *y, map each, const void *by)
{
    const char *in = x;
    char *out = y;
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        store_words(to, out + i * to, each(by, load_words(from, in + i * from)));
    if (i < n)
        store_some(to, n - i, out + i * to, each(by, load_some(from, n - i, in + i * from)));
}

typedef struct rescale {
    factors above, below;
    S zero_x, zero_y, lo, hi;
} rescale;

INLINE S rescaled(const void *params, S x)
{
    const rescale *by = params;
    x = s32_sub(x, by->zero_x);
    const factors side = {s32_if_negative(x, by->below.multiplier, by->above.multiplier),
                        s32_if_negative(x, by->below.left, by->above.left),
                        s32_if_negative(x, by->below.right, by->above.right)};
    return s32_add(s32_min(s32_max(scaled(x, &side), by->lo), by->hi), by->zero_y);
}

INLINE void rescale_rows(enum word_type from, enum word_type to, size_t n, const void *x, void *y, const nnf_rescale *p)
{
    const rescale by = {factors_of(&p->above), factors_of(&p->below), s32_all(p->zero_x), s32_all(p->zero_y),
                        s32_all(p->lo - p->zero_y), s32_all(p->hi - p->zero_y)};
    map_rows(from, to, n, x, y, rescaled, &by);
}

/* The bits of floats as codes: quotients, kept within 2^16, rounded with ties away from zero. Twice what was cut off,
 * cut off itself, is 1 or -1 from a half on. */
INLINE S quantized(const void *scale, S x)
{
    const V quotients = divide(s32_floats(x), all(*(const float *)scale));
    const V steps = smaller(larger(quotients, all(-65536)), all(65536));
    const S whole = s32_cut(steps);
    const V rest = sub(steps, s32_values(whole));
    return s32_min(s32_max(s32_add(whole, s32_cut(add(rest, rest))), s32_all(INT16_MIN)), s32_all(INT16_MAX));
}

INLINE S dequantized(const void *scale, S x) { return s32_bits(mul(s32_values(x), all(*(const float *)scale))); }

INLINE S curved(const void *table, S x)
{
    S first, second;
    s32_pairs(table, s32_add(s32_right(x, 7), s32_all(256)), &first, &second);
    const S slope = s32_right(s32_left(s32_sub(second, first), 16), 16);
    const S part = s32_sub(x, s32_left(s32_right(x, 7), 7));
    const S rise = s32_right(s32_add(s32_mul(slope, part), s32_all(64)), 7);
    /* Wraps as an int16 number does, whatever the store makes of others. */
    return s32_right(s32_left(s32_add(first, rise), 16), 16);
}

INLINE S sigmoid(const void *params, S x)
{
    const nnf_sigmoid_q16 *p = params;
    const int32_t half = (int32_t)((UINT32_C(1) << p->right) >> 1);
    const S t = s32_right(s32_add(s32_mul(x, s32_all(p->multiplier)), s32_all(half)), p->right);
    const S size = s32_size(t), place = s32_right_bits(size, p->bits);
    S first, second;
    s32_pairs(p->table, s32_min(place, s32_all(254)), &first, &second);
    const S part = s32_sub(size, s32_left(place, p->bits));
    S value = s32_add(s32_left(first, p->bits), s32_mul(part, s32_sub(second, first)));
    value = s32_if_negative(s32_sub(place, s32_all(255)), value, s32_all(p->cap));
    value = s32_if_negative(t, s32_sub(s32_all(p->sum - 1), value), s32_sub(value, s32_all(p->less)));
    return s32_right(s32_add(value, s32_all(1 << p->shift >> 1)), p->shift);
}

/* LONGS columns from j on of a row whose sums lie at `high` and `low`, yet to be clamped. */
typedef C (*part_of)(const nnf_word_sums *p, const int32_t *high, const int32_t *low, size_t j);

INLINE void requantize_rows(const nnf_word_sums *p, part_of part)
{
    const C lo = c32_all(p->lo), hi = c32_all(p->hi);
    const size_t whole = p->columns - p->columns % LONGS, rest = p->columns - whole;
    const int32_t zeros[LONGS] = {0};
    for (size_t i = 0; i < p->rows; i++) {
        const int32_t *high = p->high ? p->high + i * p->ldx : NULL, *low = p->low + i * p->ldx;
        int16_t *y = p->y + i * p->ldy;
        for (size_t j = 0; j < whole; j += LONGS)
            c32_store_s16(y + j, c32_min(c32_max(part(p, high ? high + j : zeros, low + j, j), lo), hi));
    }
    if (rest == 0)
        return;
    /* The last columns of all rows, with their constants on the stack. */
    int64_t offset[LONGS] = {0};
    int32_t multiplier[LONGS] = {0}, shift[LONGS];
    double factor[LONGS] = {0};
    nnf_word_sums last = *p;
    for (size_t k = 0; k < LONGS; k++)
        shift[k] = 1;
    memcpy(offset, p->offset + whole, rest * sizeof *offset);
    if (p->multiplier) {
        memcpy(multiplier, p->multiplier + whole, rest * sizeof *multiplier);
        memcpy(shift, p->shift + whole, rest * sizeof *shift);
    } else {
        memcpy(factor, p->scale + whole, rest * sizeof *factor);
    }
    last.offset = offset;
    last.multiplier = multiplier;
    last.shift = shift;
    last.scale = factor;
    for (size_t i = 0; i < p->rows; i++) {
        int32_t high[LONGS] = {0}, low[LONGS] = {0};
        int16_t made[LONGS];
        if (p->high)
            memcpy(high, p->high + i * p->ldx + whole, rest * sizeof *high);
        memcpy(low, p->low + i * p->ldx + whole, rest * sizeof *low);
        c32_store_s16(made, c32_min(c32_max(part(&last, high, low, 0), lo), hi));
        memcpy(p->y + i * p->ldy + whole, made, rest * sizeof *made);
    }
}

void KERNEL(nnf_mul_qs16_flat)(size_t n, const int16_t *a, size_t step_a, const int16_t *b, size_t step_b, int16_t *y,
                               const nnf_binary_q16 *p)
{
    binary_rows(0, 0, n, a, step_a, b, step_b, y, p);
}

#define RESCALE(name, from, to)                                                                                        \
    void KERNEL(name)(size_t n, const void *x, void *y, const nnf_rescale *p)                                          \
    {                                                                                                                  \
        rescale_rows(from, to, n, x, y, p);                                                                            \
    }

RESCALE(nnf_rescale_qs16_flat, TYPE_S16, TYPE_S16)
RESCALE(nnf_rescale_qs16_qs8_flat, TYPE_S16, TYPE_S8)
RESCALE(nnf_rescale_qs16_s32_flat, TYPE_S16, TYPE_S32)
RESCALE(nnf_rescale_qs8_qs16_flat, TYPE_S8, TYPE_S16)
RESCALE(nnf_rescale_s32_qs16_flat, TYPE_S32, TYPE_S16)
RESCALE(nnf_rescale_s32_qs8_flat, TYPE_S32, TYPE_S8)

#undef RESCALE

void KERNEL(nnf_curve_qs16_flat)(size_t n, const int16_t *x, int16_t *y, const int16_t *table)
{
    map_rows(TYPE_S16, TYPE_S16, n, x, y, curved, table);
}

void KERNEL(nnf_sigmoid_qs16_flat)(size_t n, const int16_t *x, int16_t *y, const nnf_sigmoid_q16 *p)
{
    map_rows(TYPE_S16, TYPE_S16, n, x, y, sigmoid, p);
}

void KERNEL(nnf_quantize_f32_qs16_flat)(size_t n, const float *x, int16_t *y, float scale)
{
    map_rows(TYPE_S32, TYPE_S16, n, x, y, quantized, &scale);
}

void KERNEL(nnf_dequantize_qs16_f32_flat)(size_t n, const int16_t *x, float *y, float scale)
{
    map_rows(TYPE_S16, TYPE_S32, n, x, y, dequantized, &scale);
}

void KERNEL_LONGS(nnf_requantize_wide_qs16_rows)(const nnf_word_sums *p)
{
    requantize_rows(p, wide_part);
}

void KERNEL_LONGS(nnf_requantize_s32_qs16_rows)(const nnf_word_sums *p)
{
    requantize_rows(p, s32_part);
}

void KERNEL_LONGS(nnf_requantize_real_qs16_rows)(const nnf_word_sums *p)
{
    requantize_rows(p, real_part);
}

#endif
