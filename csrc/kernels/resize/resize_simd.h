/* Rows of RESIZE_BILINEAR in vectors of channels. Include after nnf/simd/codes_<isa>.h and KERNEL. */
#ifndef NNF_RESIZE_SIMD_H
#define NNF_RESIZE_SIMD_H

#include "nnf/unroll.h"
#include "resize/resize.h"

/* How far an output pixel lies down and across between its four neighbours, and where these begin. */
typedef struct corners {
    size_t left, right;
    V down, across;
} corners;

/* The four neighbours in the order of the reference; no fused multiply-add, which would round less often. */
INLINE V blend(const corners *p, const V x[4])
{
    const V up = sub(all(1), p->down), back = sub(all(1), p->across);
    V value = mul(mul(x[0], up), back);
    value = add(value, mul(mul(x[1], p->down), back));
    value = add(value, mul(mul(x[2], up), p->across));
    return add(value, mul(mul(x[3], p->down), p->across));
}

INLINE void pixel_f32(const corners *p, M live, const float *top, const float *bottom, float *y)
{
    const V x[4] = {load(live, top + p->left), load(live, bottom + p->left), load(live, top + p->right),
                    load(live, bottom + p->right)};
    store(y, live, blend(p, x));
}

/* Both rows are weighted once. Vectors take their neighbours from two vectors of each. */
INLINE void near_f32(const nnf_resize *p, const float *top, const float *bottom, float down, float *upper, float *y)
{
    const size_t row = p->columns * p->channels, count = p->width * p->channels;
    float *lower = upper + row + NNF_RESIZE_SPARE;
    const V up = sub(all(1), all(down)), low = all(down);
    for (size_t i = 0; i < row; i += LANES) {
        const M live = first_lanes(row - i);
        store_whole(upper + i, mul(load(live, top + i), up));
        store_whole(lower + i, mul(load(live, bottom + i), low));
    }
    for (size_t i = 0; i < count; i += LANES) {
        const float *above = upper + p->near_first[i / LANES], *below = lower + p->near_first[i / LANES];
        const V x[2] = {load_whole(above), load_whole(above + LANES)};
        const V z[2] = {load_whole(below), load_whole(below + LANES)};
        const V across = load_whole(p->near_across + i), back = sub(all(1), across);
        V value = mul(pick_of_two(x, p->near_left + i), back);
        value = add(value, mul(pick_of_two(z, p->near_left + i), back));
        value = add(value, mul(pick_of_two(x, p->near_right + i), across));
        value = add(value, mul(pick_of_two(z, p->near_right + i), across));
        store(y + i, first_lanes(count - i), value);
    }
}

/* A pixel's last vector is whole too where both rows go on: what it writes too much, the next pixel overwrites. */
INLINE void pixels_f32(const nnf_resize *p, const float *top, const float *bottom, float down, float *y)
{
    const size_t channels = p->channels, vectors = (channels + LANES - 1) / LANES * LANES;
    size_t room = p->width * channels;
    for (size_t i = 0; i < p->width; i++, y += channels, room -= channels) {
        const corners at = {p->left[i] * channels, p->right[i] * channels, all(down), all(p->across[i])};
        const size_t last = (at.left > at.right ? at.left : at.right) + vectors;
        const size_t whole = vectors <= room && last <= p->columns * channels ? vectors : channels / LANES * LANES;
        size_t c = 0;
        for (; c < whole; c += LANES)
            pixel_f32(&at, first_lanes(LANES), top + c, bottom + c, y + c);
        if (c < channels)
            pixel_f32(&at, first_lanes(channels - c), top + c, bottom + c, y + c);
    }
}

void KERNEL(nnf_resize_bilinear_f32_nhwc)(const nnf_resize *p, const float *top, const float *bottom, float down,
                                          void *work, float *y)
{
    if (p->near_first)
        near_f32(p, top, bottom, down, work, y);
    else
        pixels_f32(p, top, bottom, down, y);
}

INLINE C load_q8(bool is_signed, size_t count, const uint8_t *x)
{
    return count == CODES ? codes_load_whole(x, is_signed, 0) : codes_load(count, x, is_signed, 0);
}

INLINE void store_q8(uint8_t *y, size_t count, C code)
{
    if (count == CODES)
        codes_store_whole(y, code);
    else
        codes_store(y, count, code);
}

/* The nearest codes of `count` channels. */
INLINE void pixel_q8(const corners *p, bool is_signed, size_t count, const uint8_t *top, const uint8_t *bottom,
                     uint8_t *y)
{
    const C code[4] = {load_q8(is_signed, count, top + p->left), load_q8(is_signed, count, bottom + p->left),
                       load_q8(is_signed, count, top + p->right), load_q8(is_signed, count, bottom + p->right)};
    V value[CODE_REGISTERS];
    NNF_UNROLL
    for (int r = 0; r < CODE_REGISTERS; r++) {
        const V x[4] = {codes_float(code[0], r), codes_float(code[1], r), codes_float(code[2], r),
                        codes_float(code[3], r)};
        value[r] = add(blend(p, x), all(0.5f));
    }
    store_q8(y, count, codes_whole(value));
}

/* Each code of both rows times its row's weight, in two rows of floats; only their sum if is_exact. */
INLINE void weigh_q8(bool is_signed, const nnf_resize *p, const uint8_t *top, const uint8_t *bottom, float down,
                     float *upper, float *lower)
{
    const size_t count = p->columns * p->channels;
    const V up = sub(all(1), all(down)), low = all(down);
    for (size_t i = 0; i < count; i += CODES) {
        const size_t some = count - i < CODES ? count - i : CODES;
        const C above = load_q8(is_signed, some, top + i), below = load_q8(is_signed, some, bottom + i);
        NNF_UNROLL
        for (int r = 0; r < CODE_REGISTERS; r++) {
            const size_t at = i + (size_t)r * LANES;
            const V x = mul(codes_float(above, r), up), z = mul(codes_float(below, r), low);
            store_whole(upper + at, p->is_exact ? add(x, z) : x);
            if (!p->is_exact)
                store_whole(lower + at, z);
        }
    }
}

/* The output row from what weigh_q8 made. What a pixel's last vector writes too much, the next pixel overwrites. */
INLINE void across_q8(bool is_exact, const nnf_resize *p, const float *upper, const float *lower, uint8_t *y)
{
    const size_t channels = p->channels;
    size_t room = p->width * channels;
    for (size_t i = 0; i < p->width; i++, y += channels, room -= channels) {
        const size_t left = p->left[i] * channels, right = p->right[i] * channels;
        const V across = all(p->across[i]), back = sub(all(1), across);
        for (size_t c = 0; c < channels; c += CODES) {
            V value[CODE_REGISTERS];
            NNF_UNROLL
            for (int r = 0; r < CODE_REGISTERS; r++) {
                const size_t k = c + (size_t)r * LANES;
                V sum = mul(load_whole(upper + left + k), back);
                if (!is_exact)
                    sum = add(sum, mul(load_whole(lower + left + k), back));
                sum = add(sum, mul(load_whole(upper + right + k), across));
                if (!is_exact)
                    sum = add(sum, mul(load_whole(lower + right + k), across));
                value[r] = add(sum, all(0.5f));
            }
            store_q8(y + c, c + CODES <= room ? CODES : channels - c, codes_whole(value));
        }
    }
}

INLINE void direct_q8(bool is_signed, const nnf_resize *p, const uint8_t *top, const uint8_t *bottom, float down,
                      uint8_t *y)
{
    for (size_t i = 0; i < p->width; i++, y += p->channels) {
        const corners at = {p->left[i] * p->channels, p->right[i] * p->channels, all(down), all(p->across[i])};
        size_t c = 0;
        for (; c + CODES <= p->channels; c += CODES)
            pixel_q8(&at, is_signed, CODES, top + c, bottom + c, y + c);
        if (c < p->channels)
            pixel_q8(&at, is_signed, p->channels - c, top + c, bottom + c, y + c);
    }
}

INLINE void resize_q8(bool is_signed, const nnf_resize *p, const uint8_t *top, const uint8_t *bottom, float down,
                      float *work, uint8_t *y)
{
    if (!work) {
        direct_q8(is_signed, p, top, bottom, down, y);
        return;
    }
    float *lower = work + p->columns * p->channels + NNF_RESIZE_SPARE;
    weigh_q8(is_signed, p, top, bottom, down, work, lower);
    if (p->is_exact)
        across_q8(true, p, work, lower, y);
    else
        across_q8(false, p, work, lower, y);
}

/* `count` codes of both rows between these, in NNF_RESIZE_ONE parts; a half more, for the rounding. */
INLINE C down_fixed(size_t count, const uint8_t *top, const uint8_t *bottom, int32_t down)
{
    const C half = codes_all(NNF_RESIZE_ONE / 2), above = load_q8(true, count, top);
    return codes_mla(codes_mla(half, above, NNF_RESIZE_ONE - down), load_q8(true, count, bottom), down);
}

/* The nearest codes between two of down_fixed, whose halves add up to one of the sum's. Cut downwards, a sum that is
 * not above 0 needs one part less, so that a half goes down. */
INLINE C across_fixed(C left, C right, C back, C across)
{
    const C sum = codes_add(codes_mul(left, back), codes_mul(right, across));
    return codes_lower(codes_add(sum, codes_below(sum, codes_all(1))), 2 * NNF_RESIZE_BITS);
}

/* Where an output pixel lies across between its neighbours, and where these begin. */
typedef struct sides {
    size_t left, right;
    C back, across;
} sides;

INLINE sides sides_of(const nnf_resize *p, size_t i)
{
    const int32_t across = (int32_t)(p->across[i] * NNF_RESIZE_ONE);
    return (sides){p->left[i] * p->channels, p->right[i] * p->channels, codes_all(NNF_RESIZE_ONE - across),
                   codes_all(across)};
}

INLINE void pixel_fixed(const sides *at, size_t count, const uint8_t *top, const uint8_t *bottom, int32_t down,
                        uint8_t *y)
{
    const C left = down_fixed(count, top + at->left, bottom + at->left, down);
    const C right = down_fixed(count, top + at->right, bottom + at->right, down);
    store_q8(y, count, across_fixed(left, right, at->back, at->across));
}

INLINE void direct_fixed(const nnf_resize *p, const uint8_t *top, const uint8_t *bottom, int32_t down, uint8_t *y)
{
    for (size_t i = 0; i < p->width; i++, y += p->channels) {
        const sides at = sides_of(p, i);
        size_t c = 0;
        for (; c + CODES <= p->channels; c += CODES)
            pixel_fixed(&at, CODES, top + c, bottom + c, down, y + c);
        if (c < p->channels)
            pixel_fixed(&at, p->channels - c, top + c, bottom + c, down, y + c);
    }
}

INLINE void resize_fixed(const nnf_resize *p, const uint8_t *top, const uint8_t *bottom, int32_t down, int32_t *work,
                         uint8_t *y)
{
    const size_t channels = p->channels, count = p->columns * channels;
    if (!work) {
        direct_fixed(p, top, bottom, down, y);
        return;
    }
    size_t done = 0;
    for (; done + CODES <= count; done += CODES)
        codes_store_s32(work + done, down_fixed(CODES, top + done, bottom + done, down));
    if (done < count)
        codes_store_s32(work + done, down_fixed(count - done, top + done, bottom + done, down));
    size_t room = p->width * channels;
    for (size_t i = 0; i < p->width; i++, y += channels, room -= channels) {
        const sides at = sides_of(p, i);
        for (size_t c = 0; c < channels; c += CODES) {
            const C left = codes_load_s32(CODES, work + at.left + c);
            const C right = codes_load_s32(CODES, work + at.right + c);
            store_q8(y + c, c + CODES <= room ? CODES : channels - c, across_fixed(left, right, at.back, at.across));
        }
    }
}

void KERNEL_CODES(nnf_resize_bilinear_qu8_nhwc)(const nnf_resize *p, const uint8_t *top, const uint8_t *bottom,
                                                float down, void *work, uint8_t *y)
{
    resize_q8(false, p, top, bottom, down, work, y);
}

void KERNEL_CODES(nnf_resize_bilinear_qs8_nhwc)(const nnf_resize *p, const uint8_t *top, const uint8_t *bottom,
                                                float down, void *work, uint8_t *y)
{
    const int32_t fixed = (int32_t)(down * NNF_RESIZE_ONE);
    if (!p->is_fixed)
        resize_q8(true, p, top, bottom, down, work, y);
    else
        resize_fixed(p, top, bottom, fixed, work, y);
}

#endif
