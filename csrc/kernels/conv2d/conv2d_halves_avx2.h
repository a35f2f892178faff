/* Products of bytes, added in 16 bits before they are widened; of any codes, if these are halved. Include only from
 * AVX2 files. */
#ifndef NNF_CONV2D_HALVES_AVX2_H
#define NNF_CONV2D_HALVES_AVX2_H

#include "conv2d_codes_avx2.h"

enum { TWO = 2 }; /* rows whose sums of halves are in registers at once */

typedef int32_t group __attribute__((aligned(1), may_alias));

/* Products of the bytes of a group, added by twos and then to those of the groups before, in 16 bits. is_first: there
 * are none before. */
INLINE void add_bytes(__m256i *low, __m256i *high, const uint8_t *a, __m256i w0, __m256i w1, const int vectors,
                      const int is_first)
{
    __m256i x, y;
    if (vectors == 2 && is_first)
        __asm__("vpbroadcastd %2, %1\n\t"
                "vpmaddubsw %3, %1, %0\n\t"
                "vpmaddubsw %4, %1, %1"
                : "=&x"(*low), "=&x"(*high)
                : "m"(*(const group *)a), "x"(w0), "x"(w1));
    else if (vectors == 2)
        __asm__("vpbroadcastd %4, %0\n\t"
                "vpmaddubsw %5, %0, %1\n\t"
                "vpmaddubsw %6, %0, %0\n\t"
                "vpaddw %1, %2, %2\n\t"
                "vpaddw %0, %3, %3"
                : "=&x"(x), "=&x"(y), "+x"(*low), "+x"(*high)
                : "m"(*(const group *)a), "x"(w0), "x"(w1));
    else if (is_first)
        __asm__("vpbroadcastd %1, %0\n\t"
                "vpmaddubsw %2, %0, %0"
                : "=&x"(*low)
                : "m"(*(const group *)a), "x"(w0));
    else
        __asm__("vpbroadcastd %2, %0\n\t"
                "vpmaddubsw %3, %0, %0\n\t"
                "vpaddw %0, %1, %1"
                : "=&x"(x), "+x"(*low)
                : "m"(*(const group *)a), "x"(w0));
}

/* Blocks of a slab whose products are added in one way, to sums from `from`, which lie `step` further for each row. */
typedef struct part {
    const uint16_t *blocks; /* bytes of codes before each */
    size_t count, tail;     /* whole blocks, and groups of one that is not and comes last */
    const nnf_conv2d_q8_tile *tile;
    const uint8_t *a;       /* codes of the slab, of the first row */
    const int8_t *w;        /* of the panel, there too */
    pairs *wide;
    const int32_t *from;
    size_t step;
    int32_t *sum;
    ptrdiff_t ahead; /* bytes to the weights that are wanted next, which the first rows fetch; 0: none */
} part;

static const int16_t ONE[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
static const int16_t SIXTEEN[16] = {16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16};

/* Adds sums of 16 bits, each times a factor, by twos. */
INLINE void add_words(__m256i *s, __m256i x, const int16_t factor[16])
{
    __asm__("vpmaddwd %2, %0, %0\n\t"
            "vpaddd %0, %1, %1"
            : "+x"(x), "+x"(*s)
            : "m"(*(const __m256i *)factor));
}

/* Groups of one or two blocks of halved codes, and of the weights of each. */
INLINE void add_halves(__m256i s[TWO][2], const uint8_t *const a[], const __m256i *const w[], const int rows,
                       const int vectors, const int groups)
{
    __m256i low[TWO][2], high[TWO][2];
    NNF_UNROLL
    for (int g = 0; g < groups; g++) {
        const __m256i *at = w[g / BLOCK] + g % BLOCK * vectors, w0 = at[0], w1 = at[vectors - 1];
        NNF_UNROLL
        for (int i = 0; i < rows; i++) {
            const uint8_t *codes = a[g / BLOCK] + i * 8 * BLOCK + 4 * (g % BLOCK);
            add_bytes(&low[i][0], &low[i][1], codes, w0, w1, vectors, g == 0);
            add_bytes(&high[i][0], &high[i][1], codes + 4 * BLOCK, w0, w1, vectors, g == 0);
        }
    }
    NNF_UNROLL
    for (int i = 0; i < rows; i++) {
        NNF_UNROLL
        for (int v = 0; v < vectors; v++) {
            add_words(&s[i][v], low[i][v], ONE);
            add_words(&s[i][v], high[i][v], SIXTEEN);
        }
    }
}

/* The codes, from `row` on, and the weights of a block. */
INLINE void halves_of(const part *p, size_t at, size_t row, const int vectors, const uint8_t **a, const __m256i **w)
{
    *a = (const uint8_t *)p->wide->a + 2 * at * p->tile->rows + 8 * BLOCK * row;
    *w = (const __m256i *)(p->w + at * (size_t)(8 * vectors));
}

INLINE void multiply_halves(const part *p, size_t row, const int rows, const int vectors, const bool streams)
{
    const size_t count = p->count;
    const ptrdiff_t ahead = streams ? p->ahead : 0;
    const uint8_t *a[2];
    const __m256i *w[2];
    __m256i s[TWO][2];
    nnf_pairs_load(s, p->from + row * p->step, p->step, rows, vectors);
    size_t b = 0;
    for (; b + 2 <= count; b += 2) {
        halves_of(p, p->blocks[b], row, vectors, a, w);
        halves_of(p, p->blocks[b + 1], row, vectors, a + 1, w + 1);
        nnf_conv2d_fetch(w[0], ahead, (size_t)(8 * vectors));
        nnf_conv2d_fetch(w[1], ahead, (size_t)(8 * vectors));
        add_halves(s, a, w, rows, vectors, 2 * BLOCK);
    }
    if (b < count) {
        halves_of(p, p->blocks[b], row, vectors, a, w);
        nnf_conv2d_fetch(w[0], ahead, (size_t)(8 * vectors));
        add_halves(s, a, w, rows, vectors, BLOCK);
    }
    if (p->tail)
        halves_of(p, p->blocks[count], row, vectors, a, w);
    for (size_t g = 0; g < p->tail; g++, a[0] += 4, w[0] += vectors)
        add_halves(s, a, w, rows, vectors, 1);
    nnf_pairs_store(p->sum + row * N, s, rows, vectors);
}

/* All rows, by twos. */
INLINE void multiply_twos(const part *p, const int vectors, const bool streams)
{
    const size_t all = p->tile->rows;
    size_t row = 0;
    if (streams && all > 1) {
        multiply_halves(p, 0, 2, vectors, true);
        row = 2;
    }
    for (; row + 2 <= all; row += 2)
        multiply_halves(p, row, 2, vectors, false);
    if (all % 2)
        multiply_halves(p, all - 1, 1, vectors, false);
}

#endif
