/* Turns words that lie column by column, as weights of a model do, into rows of a panel. Include only from files that
 * pack. */
#ifndef NNF_CONV2D_TURN_H
#define NNF_CONV2D_TURN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint32_t nnf_u32x4 __attribute__((vector_size(16)));

#if defined(__clang__)
#define NNF_TURN(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define NNF_TURN(a, b, ...) __builtin_shuffle(a, b, (nnf_u32x4){__VA_ARGS__})
#endif

static inline nnf_u32x4 nnf_turn_load(const unsigned char *from)
{
    nnf_u32x4 v;
    memcpy(&v, from, sizeof v);
    return v;
}

static inline void nnf_turn_store(unsigned char *to, nnf_u32x4 v)
{
    memcpy(to, &v, sizeof v);
}

/* Four rows of `count` words, `ld` bytes apart, become `count` rows of four, `width` bytes apart, each word ^ flip. */
static inline void nnf_conv2d_turn(size_t count, const unsigned char *from, size_t ld, unsigned char *to, size_t width,
                                   uint32_t flip)
{
    const nnf_u32x4 f = {flip, flip, flip, flip};
    size_t i = 0;
    for (; i + 4 <= count; i += 4, from += 16, to += 4 * width) {
        const nnf_u32x4 a = nnf_turn_load(from) ^ f, b = nnf_turn_load(from + ld) ^ f;
        const nnf_u32x4 c = nnf_turn_load(from + 2 * ld) ^ f, d = nnf_turn_load(from + 3 * ld) ^ f;
        const nnf_u32x4 ab = NNF_TURN(a, b, 0, 4, 1, 5), cd = NNF_TURN(c, d, 0, 4, 1, 5);
        const nnf_u32x4 ab_high = NNF_TURN(a, b, 2, 6, 3, 7), cd_high = NNF_TURN(c, d, 2, 6, 3, 7);
        nnf_turn_store(to, NNF_TURN(ab, cd, 0, 1, 4, 5));
        nnf_turn_store(to + width, NNF_TURN(ab, cd, 2, 3, 6, 7));
        nnf_turn_store(to + 2 * width, NNF_TURN(ab_high, cd_high, 0, 1, 4, 5));
        nnf_turn_store(to + 3 * width, NNF_TURN(ab_high, cd_high, 2, 3, 6, 7));
    }
    for (; i < count; i++, from += 4, to += width)
        for (size_t j = 0; j < 4; j++) {
            uint32_t word;
            memcpy(&word, from + j * ld, 4);
            word ^= flip;
            memcpy(to + 4 * j, &word, 4);
        }
}

#endif
