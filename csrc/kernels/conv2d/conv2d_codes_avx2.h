/* The codes of a tile in the forms in which their products with weights can be added at AVX2, block by block. Include
 * only from AVX2 files. */
#ifndef NNF_CONV2D_CODES_AVX2_H
#define NNF_CONV2D_CODES_AVX2_H

#include <immintrin.h>
#include <stdbool.h>

#include "conv2d_pairs_avx2.h"
#include "conv2d_requantize_avx2.h"
#include "conv2d_ways.h"
#include "nnf/unroll.h"

enum {
    M = NNF_CONV2D_FINISH_M, /* rows that share widened weights, and a way to add the products of a block */
    N = NNF_PAIRS_N,
    BLOCK = NNF_CONV2D_Q8_LIMITED,
    SLAB = NNF_CONV2D_WAYS_BLOCKS * BLOCK, /* groups of rows, 60 KB widened: they stream from level 2 */
    CHUNK = 16,         /* blocks of weights that are widened at once, 8 KB: they stay in the level 1 cache */
    LOW = M / 2,        /* rows of a tile of any number of groups; one of more has at most half a slab */
    PLACES = LOW * NNF_CONV2D_WAYS_BLOCKS, /* blocks of rows that are cut or widened at once */
    PANELS = 4,         /* that go through one slab of several before the next: what is made of it serves all */
    MEASURED = 8 * NNF_CONV2D_WAYS_BLOCKS, /* blocks whose largest codes are looked for; behind them there may be any */
    HALVED = 16,        /* rows at most for which codes are halved: with more, widened weights serve enough of them */
    SAFE = 256,         /* sum of two codes whose products can be added in 16 bits, whatever the weights */
    LIST = 8,           /* rows of a block that are listed before the next look at how many there are */
    MANY = PLACES / 4 + (LIST + 1) * BLOCK /* groups for which there is room: never more */
};

/* What the pairs of codes of a group are above SAFE. Where: bytes before its weights in a wide panel, and before the sums
 * of its row. */
typedef struct excess {
    int32_t codes;
    uint16_t weights, sums;
} excess;

/* What all panels share of a tile's rows.
 * Where four products of bytes could saturate in 16 bits, pairs of codes are cut to SAFE, and what is above it in few
 * groups is added apart. Where it is in many, codes of a few rows are halved: products of their lower and of their
 * upper 4 bits can be added in 16 bits for two blocks. Of more rows codes and weights are widened to pairs of 16 bits,
 * of each block those of even bytes before those of odd bytes. */
typedef struct pairs {
    _Alignas(64) int32_t w[2 * (CHUNK + 1) * BLOCK * N], a[PLACES * 2 * BLOCK], sum[PANELS * LOW * N];
    _Alignas(64) uint8_t cut[PLACES * 4 * BLOCK]; /* and `a`: of each block, all rows */
    _Alignas(32) uint8_t largest[MEASURED]; /* code of each block, of all rows */
    bool is_halved;                         /* all blocks are, of few rows; `order` is that of them */
    const uint8_t *slab;                    /* codes, of the first row */
    uint64_t placed, wide, above; /* of its blocks: in `cut` or `a`, in `a`, with a part of the list */
    size_t count, most;           /* of the list, and of a block for which it pays */
    size_t waits, longest;        /* blocks that are not looked at, of now and before */
    struct {
        uint16_t begin, end;
    } listed[NNF_CONV2D_WAYS_BLOCKS];
    excess list[MANY];
    uint16_t order[PLACES]; /* bytes of codes before each block */
} pairs;

INLINE size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Two blocks, of which the last groups may be missing. */
INLINE __m256i load_blocks(const uint8_t *a, size_t groups, __m256i mask)
{
    return groups >= 2 * BLOCK ? _mm256_loadu_si256((const __m256i *)a) : _mm256_maskload_epi32((const int *)a, mask);
}

/* The first `count` of eight groups. */
INLINE __m256i first_groups(size_t count)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)least(count, 8)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

/* A block of each row of a tile. */
typedef struct strip {
    const uint8_t *a; /* of the first row */
    size_t lda, rows, groups;
} strip;

INLINE strip strip_of(const nnf_conv2d_q8_tile *t, const uint8_t *slab, size_t groups, size_t b)
{
    return (strip){slab + 4 * BLOCK * b, t->lda, t->rows, least(groups - BLOCK * b, BLOCK)};
}

/* Of row i; missing groups are 0. */
INLINE __m128i load_block(const strip *b, size_t i, const bool whole)
{
    const uint8_t *a = b->a + i * b->lda;
    if (whole)
        return _mm_loadu_si128((const __m128i *)a);
    return _mm_maskload_epi32((const int *)a, _mm256_castsi256_si128(first_groups(b->groups)));
}

/* What each pair of codes is above SAFE: less than its first code. */
INLINE __m128i above_safe(__m128i codes)
{
    return _mm_subs_epu16(_mm_maddubs_epi16(codes, _mm_set1_epi8(1)), _mm_set1_epi16(SAFE));
}

INLINE void cut_block(const strip *b, uint8_t *to, const bool whole)
{
    for (size_t i = 0; i < b->rows; i++, to += 4 * BLOCK) {
        const __m128i codes = load_block(b, i, whole);
        _mm_store_si128((__m128i *)to, _mm_sub_epi8(codes, above_safe(codes)));
    }
}

INLINE void widen_block(const strip *b, int32_t *to, const bool whole)
{
    for (size_t i = 0; i < b->rows; i++, to += 2 * BLOCK) {
        const __m128i codes = load_block(b, i, whole);
        _mm_store_si128((__m128i *)to, _mm_and_si128(codes, _mm_set1_epi16(0xFF)));
        _mm_store_si128((__m128i *)(to + BLOCK), _mm_srli_epi16(codes, 8));
    }
}

/* The lower halves of a block before the upper ones. */
INLINE void halve_block(const strip *b, int32_t *to, const bool whole)
{
    const __m128i low = _mm_set1_epi8(15);
    for (size_t i = 0; i < b->rows; i++, to += 2 * BLOCK) {
        const __m128i codes = load_block(b, i, whole);
        _mm_store_si128((__m128i *)to, _mm_and_si128(codes, low));
        _mm_store_si128((__m128i *)(to + BLOCK), _mm_and_si128(_mm_srli_epi16(codes, 4), low));
    }
}

/* Which of four integers are not 0, first, as _mm_shuffle_epi8 takes it. */
static const uint8_t FIRST[16][16] = {
#define INTEGER(i) 4 * (i), 4 * (i) + 1, 4 * (i) + 2, 4 * (i) + 3
#define ORDER(a, b, c, d) {INTEGER(a), INTEGER(b), INTEGER(c), INTEGER(d)}
    ORDER(0, 0, 0, 0), ORDER(0, 0, 0, 0), ORDER(1, 0, 0, 0), ORDER(0, 1, 0, 0),
    ORDER(2, 0, 0, 0), ORDER(0, 2, 0, 0), ORDER(1, 2, 0, 0), ORDER(0, 1, 2, 0),
    ORDER(3, 0, 0, 0), ORDER(0, 3, 0, 0), ORDER(1, 3, 0, 0), ORDER(0, 1, 3, 0),
    ORDER(2, 3, 0, 0), ORDER(0, 2, 3, 0), ORDER(1, 2, 3, 0), ORDER(0, 1, 2, 3),
#undef ORDER
#undef INTEGER
};

/* Lists what of block `at` is above SAFE, until those are more than `most` groups; there is room for all.
 * Returns the end of the list. Without a jump in a row: which groups these are cannot be foretold. */
INLINE excess *list_block(const strip *b, size_t at, size_t most, excess *list, const bool whole)
{
    const __m128i zero = _mm_setzero_si128(), row = _mm_set1_epi32(4 * N << 16);
    const excess *first = list;
    __m128i places = _mm_add_epi32(_mm_set1_epi32((int)(4 * N * BLOCK * at)), _mm_setr_epi32(0, 4 * N, 8 * N, 12 * N));
    for (size_t i = 0, end; i < b->rows && (size_t)(list - first) <= most; i = end) {
        for (end = least(i + LIST, b->rows); i < end; i++, places = _mm_add_epi32(places, row)) {
            const __m128i above = above_safe(load_block(b, i, whole));
            const int some = ~_mm_movemask_ps(_mm_castsi128_ps(_mm_cmpeq_epi32(above, zero))) & 15;
            const __m128i order = _mm_loadu_si128((const __m128i *)FIRST[some]);
            const __m128i codes = _mm_shuffle_epi8(above, order), where = _mm_shuffle_epi8(places, order);
            _mm_storeu_si128((__m128i *)list, _mm_unpacklo_epi32(codes, where));
            _mm_storeu_si128((__m128i *)(list + 2), _mm_unpackhi_epi32(codes, where));
            list += __builtin_popcount((unsigned)some);
        }
    }
    return list;
}

/* Whether what a block has above SAFE is now listed. Where that is too much, it often is so in the next blocks too: they
 * are then not looked at, twice as many each time. */
INLINE bool lists_block(pairs *p, const strip *b, size_t i)
{
    if (!p->most)
        return false;
    if (p->waits) {
        p->waits--;
        return false;
    }
    excess *list = p->list + p->count;
    const excess *end = b->groups == BLOCK ? list_block(b, i, p->most, list, true)
                                            : list_block(b, i, p->most, list, false);
    const size_t count = (size_t)(end - list);
    if (count > p->most) {
        p->waits = p->longest = least(2 * p->longest + 1, NNF_CONV2D_WAYS_BLOCKS);
        return false;
    }
    p->longest = 0;
    p->above |= UINT64_C(1) << i;
    p->listed[i].begin = (uint16_t)p->count;
    p->count += count;
    p->listed[i].end = (uint16_t)p->count;
    return true;
}

/* Cuts, halves or widens the blocks of a mask of the slab, of so many groups. */
static void place(pairs *p, const nnf_conv2d_q8_tile *t, size_t groups, uint64_t blocks, const uint8_t *largest)
{
    p->placed |= blocks;
    for (; blocks; blocks &= blocks - 1) {
        const size_t i = (size_t)__builtin_ctzll(blocks);
        const strip b = strip_of(t, p->slab, groups, i);
        const bool whole = b.groups == BLOCK;
        if (largest && (largest[i] <= SAFE / 2 || lists_block(p, &b, i))) {
            uint8_t *to = p->cut + 4 * BLOCK * i * t->rows;
            whole ? cut_block(&b, to, true) : cut_block(&b, to, false);
        } else {
            int32_t *to = p->a + 2 * BLOCK * i * t->rows;
            p->wide |= UINT64_C(1) << i;
            if (t->rows <= HALVED)
                whole ? halve_block(&b, to, true) : halve_block(&b, to, false);
            else
                whole ? widen_block(&b, to, true) : widen_block(&b, to, false);
        }
    }
}

/* The largest code of each block. */
static void measure(const nnf_conv2d_q8_tile *t, uint8_t *largest)
{
    const uint8_t *a = t->a;
    for (size_t g = 0; g < least(t->groups, MEASURED * BLOCK); g += 2 * BLOCK, a += 8 * BLOCK, largest += 2) {
        const __m256i mask = first_groups(t->groups - g);
        __m256i most = load_blocks(a, t->groups - g, mask);
        for (size_t i = 1; i < t->rows; i++)
            most = _mm256_max_epu8(most, load_blocks(a + i * t->lda, t->groups - g, mask));
        /* The smallest of what is left to 255. */
        most = _mm256_max_epu8(most, _mm256_srli_epi16(most, 8));
        most = _mm256_andnot_si256(most, _mm256_set1_epi16(0xFF));
        largest[0] = (uint8_t)~_mm_cvtsi128_si32(_mm_minpos_epu16(_mm256_castsi256_si128(most)));
        largest[1] = (uint8_t)~_mm_cvtsi128_si32(_mm_minpos_epu16(_mm256_extracti128_si256(most, 1)));
    }
}

/* Halves all blocks of few rows, if of every four three have such codes that nothing else is faster. */
static void halve_all(pairs *p, const nnf_conv2d_q8_tile *t)
{
    const size_t blocks = (t->groups + BLOCK - 1) / BLOCK, known = least(blocks, MEASURED);
    size_t large = blocks - known;
    for (size_t b = 0; b < known; b++)
        large += p->largest[b] > SAFE / 2;
    p->is_halved = 4 * large > 3 * blocks && t->rows * blocks <= PLACES;
    for (size_t b = 0; p->is_halved && b < blocks; b++) {
        const strip block = strip_of(t, t->a, t->groups, b);
        int32_t *to = p->a + 2 * BLOCK * b * t->rows;
        block.groups == BLOCK ? halve_block(&block, to, true) : halve_block(&block, to, false);
        p->order[b] = (uint16_t)(4 * BLOCK * b);
    }
}

/* Of which of 64 blocks no code is above the limit; those beyond `blocks` may have any bit. */
INLINE uint64_t within(const uint8_t *largest, const uint8_t *limits, size_t blocks)
{
    uint64_t mask = 0;
    for (size_t b = 0; b < least(blocks, NNF_CONV2D_WAYS_BLOCKS); b += 32) {
        const __m256i limit = _mm256_loadu_si256((const __m256i *)(limits + b));
        const __m256i most = _mm256_max_epu8(limit, _mm256_load_si256((const __m256i *)(largest + b)));
        mask |= (uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(most, limit)) << b;
    }
    return mask;
}

#endif
