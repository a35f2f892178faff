/* Sums of products of 16 bits, two at a time, in tiles of a few rows and 16 or 8 columns. Include only from files of
 * AVX2 and levels above it; those of AVX-VNNI add products to sums in one step. */
#ifndef NNF_CONV2D_PAIRS_AVX2_H
#define NNF_CONV2D_PAIRS_AVX2_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#include "nnf/unroll.h"

enum {
    NNF_PAIRS_N = 16,
    NNF_PAIRS_HIGH = 6, /* rows whose sums are in registers at once */
    NNF_PAIRS_AHEAD = 4096 /* bytes of weights: they stream by from beyond level 2 */
};

/* sum[i][j] = from[i][j] + sum over pairs k of both products of a[i][k] and w[k][j]. */
typedef struct nnf_pairs {
    const int32_t *a; /* rows of pairs, `pitch` apart */
    size_t pitch;
    const __m256i *w; /* [2 * count][vectors] of 8 columns */
    size_t count;     /* of twice two pairs */
    const int32_t *from;
    size_t step; /* from one row of `from` to the next; 0: all rows have the same */
    int32_t *sum; /* rows of NNF_PAIRS_N */
} nnf_pairs;

/* sum += a * w, pair by pair. Of intrinsics gcc makes code that spills: it adds products before sums. */
INLINE void nnf_pairs_add(__m256i sum[2], const int32_t *a, __m256i low, __m256i high, const int vectors)
{
#ifdef __AVXVNNI__
    const __m256i x = _mm256_set1_epi32(*a);
    sum[0] = _mm256_dpwssd_avx_epi32(sum[0], x, low);
    if (vectors == 2)
        sum[1] = _mm256_dpwssd_avx_epi32(sum[1], x, high);
#else
    __m256i x, product;
    if (vectors == 2)
        __asm__("vpbroadcastd %4, %0\n\t"
                "vpmaddwd %5, %0, %1\n\t"
                "vpmaddwd %6, %0, %0\n\t"
                "vpaddd %1, %2, %2\n\t"
                "vpaddd %0, %3, %3"
                : "=&x"(x), "=&x"(product), "+x"(sum[0]), "+x"(sum[1])
                : "m"(*a), "x"(low), "x"(high));
    else
        __asm__("vpbroadcastd %2, %0\n\t"
                "vpmaddwd %3, %0, %0\n\t"
                "vpaddd %0, %1, %1"
                : "=&x"(x), "+x"(sum[0])
                : "m"(*a), "x"(low));
#endif
}

/* Sums to registers; from one row of them to the next it is `step`. */
INLINE void nnf_pairs_load(__m256i (*s)[2], const int32_t *from, size_t step, const int rows, const int vectors)
{
    NNF_UNROLL
    for (int i = 0; i < rows; i++) {
        NNF_UNROLL
        for (int v = 0; v < vectors; v++)
            s[i][v] = ((const __m256i *)(from + (size_t)i * step))[v];
    }
}

/* And back, to rows of NNF_PAIRS_N. */
INLINE void nnf_pairs_store(int32_t *sum, __m256i (*s)[2], const int rows, const int vectors)
{
    NNF_UNROLL
    for (int i = 0; i < rows; i++) {
        NNF_UNROLL
        for (int v = 0; v < vectors; v++)
            ((__m256i *)(sum + i * NNF_PAIRS_N))[v] = s[i][v];
    }
}

INLINE void nnf_pairs_few(const nnf_pairs *p, size_t first, const int rows, const int vectors)
{
    const size_t pitch = p->pitch;
    const int32_t *a = p->a + first * pitch, *from = p->from + first * p->step;
    const __m256i *w = p->w;
    int32_t *sum = p->sum + first * NNF_PAIRS_N;
    __m256i s[NNF_PAIRS_HIGH][2];
    nnf_pairs_load(s, from, p->step, rows, vectors);
    for (size_t g = 0; g < p->count; g++, a += 2, w += 2 * vectors) {
        NNF_UNROLL
        for (int line = 0; line < vectors; line++)
            _mm_prefetch((const char *)w + NNF_PAIRS_AHEAD + 64 * line, _MM_HINT_T0);
        NNF_UNROLL
        for (int k = 0; k < 2; k++) {
            const __m256i low = w[k * vectors], high = w[(k + 1) * vectors - 1];
            NNF_UNROLL
            for (int i = 0; i < rows; i++)
                nnf_pairs_add(s[i], a + (size_t)i * pitch + k, low, high, vectors);
        }
    }
    nnf_pairs_store(sum, s, rows, vectors);
}

/* All of `rows` rows, by tiles of about equal height. */
INLINE void nnf_pairs_rows(const nnf_pairs *p, size_t rows, const int vectors)
{
    const size_t tiles = (rows + NNF_PAIRS_HIGH - 1) / NNF_PAIRS_HIGH, height = rows / tiles, taller = rows % tiles;
    for (size_t t = 0, i = 0; t < tiles; t++) {
        const size_t here = height + (t < taller);
        switch (here) {
        case 1: nnf_pairs_few(p, i, 1, vectors); break;
        case 2: nnf_pairs_few(p, i, 2, vectors); break;
        case 3: nnf_pairs_few(p, i, 3, vectors); break;
        case 4: nnf_pairs_few(p, i, 4, vectors); break;
        case 5: nnf_pairs_few(p, i, 5, vectors); break;
        default: nnf_pairs_few(p, i, 6, vectors); break;
        }
        i += here;
    }
}

#endif
