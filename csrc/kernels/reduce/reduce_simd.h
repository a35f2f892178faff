/* Extremes of codes in vectors. Include after nnf/simd/u8_<isa>.h. */
#ifndef NNF_REDUCE_SIMD_H
#define NNF_REDUCE_SIMD_H

#include "reduce/reduce.h"

#define INLINE static inline __attribute__((always_inline))

enum op { OP_SUM, OP_MAX, OP_MIN };

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
    uint8_t lanes[BYTES];
    u8_store_whole(lanes, best);
    for (int lane = 1; lane < BYTES; lane++)
        lanes[0] = (op == OP_MAX ? lanes[lane] > lanes[0] : lanes[lane] < lanes[0]) ? lanes[lane] : lanes[0];
    *y = lanes[0] ^ p->flip;
}

/* `live` columns, at most BYTES. */
INLINE void code_columns(enum op op, const nnf_reduce *p, size_t live, const uint8_t *x, uint8_t *y)
{
    const B flip = u8_all(p->flip);
    B best = u8_all(op == OP_MAX ? 0 : 255);
    for (size_t a = 0; a < p->count[0]; a++) {
        for (size_t b = 0; b < p->count[1]; b++) {
            const uint8_t *from = x + a * p->stride[0] + b * p->stride[1];
            const B code = live == BYTES ? u8_load_whole(from) : u8_load(live, from);
            best = better_codes(op, best, u8_xor(code, flip));
        }
    }
    if (live == BYTES)
        u8_store_whole(y, u8_xor(best, flip));
    else
        u8_store(y, live, u8_xor(best, flip));
}

INLINE void codes_across(enum op op, const nnf_reduce *p, size_t n, const uint8_t *x, uint8_t *y)
{
    size_t i = 0;
    for (; i + BYTES <= n; i += BYTES)
        code_columns(op, p, BYTES, x + i, y + i);
    if (i < n)
        code_columns(op, p, n - i, x + i, y + i);
}

#endif
