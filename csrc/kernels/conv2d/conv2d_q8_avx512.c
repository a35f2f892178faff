#include "conv2d.h"

#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "conv2d_pairs_avx512.h"
#include "conv2d_requantize_avx512.h"
#include "conv2d_ways.h"
#include "nnf/unroll.h"

enum {
    M = 24,
    N = 32,
    HIGH = 12,           /* rows of a strip, whose sums of pairs are in registers at once */
    BYTES = 4,           /* rows whose sums of bytes are */
    BLOCK = NNF_CONV2D_Q8_LIMITED,
    SLAB = NNF_CONV2D_WAYS_BLOCKS * BLOCK, /* groups */
    PITCH = 2 * SLAB + 16,
    MEASURED = 8 * NNF_CONV2D_WAYS_BLOCKS, /* blocks whose largest codes are looked for; behind them there may be any */
    SHALLOW = 8,         /* groups for which lists do not pay */
    DEEP = 192           /* those of a panel that the level 1 cache holds for the second list, beside codes */
};

/* What all panels share of a strip's rows. pairs: codes of a slab as 16 bits, of each row those of even bytes and then, at
 * SLAB, those of odd ones, where products of bytes could saturate. `widened`: the blocks that are there. */
typedef struct strip {
    _Alignas(64) int32_t pairs[HIGH * PITCH];
    _Alignas(64) uint8_t largest[MEASURED]; /* code of each block, of all rows */
    const uint8_t *slab; /* codes, of the first row */
    uint64_t widened;
} strip;

/* Those of 16 groups that exist. */
INLINE __mmask16 first_groups(size_t count)
{
    return (__mmask16)(count < 16 ? 0xFFFF >> (16 - count) : 0xFFFF);
}

/* The largest code of each block, of some rows. */
static void measure(const uint8_t *a, size_t lda, size_t rows, size_t groups, uint8_t *largest)
{
    for (size_t g = 0; g < groups; g += 4 * BLOCK, a += 64, largest += 4) {
        const __mmask16 mask = first_groups(groups - g);
        __m512i most = _mm512_maskz_loadu_epi32(mask, a);
        for (size_t i = 1; i < rows; i++)
            most = _mm512_max_epu8(most, _mm512_maskz_loadu_epi32(mask, a + i * lda));
        most = _mm512_max_epu8(most, _mm512_shuffle_epi32(most, _MM_PERM_BADC));
        most = _mm512_max_epu8(most, _mm512_shuffle_epi32(most, _MM_PERM_CDAB));
        most = _mm512_max_epu8(most, _mm512_srli_epi32(most, 16));
        most = _mm512_max_epu8(most, _mm512_srli_epi32(most, 8));
        const int32_t each = _mm_cvtsi128_si32(_mm_cvtepi32_epi8(_mm512_cvtepi32_epi8(most)));
        memcpy(largest, &each, 4);
    }
}

/* Widens of the slab at `a`, of `groups` groups, the blocks of a mask that are not yet, and those beside them. */
static void widen(strip *s, const uint8_t *a, size_t lda, size_t rows, size_t groups, uint64_t blocks)
{
    const __m512i low = _mm512_set1_epi16(0xFF);
    if (s->slab != a)
        s->widened = 0;
    s->slab = a;
    uint64_t left = blocks & ~s->widened;
    s->widened |= blocks;
    for (int32_t *to = s->pairs; left; a += 64, to += 16, groups -= 16, left >>= 4) {
        if (!(left & 15))
            continue;
        const __mmask16 mask = first_groups(groups);
        for (size_t i = 0; i < rows; i++) {
            const __m512i codes = _mm512_maskz_loadu_epi32(mask, a + i * lda);
            _mm512_store_si512(to + i * PITCH, _mm512_and_si512(codes, low));
            _mm512_store_si512(to + i * PITCH + SLAB, _mm512_srli_epi16(codes, 8));
        }
    }
}

/* Blocks of a panel whose products are added in one way, to the sums of all rows. */
typedef struct part {
    nnf_conv2d_way way;
    const uint8_t *a;     /* codes of the first row, where the blocks are counted from */
    const int32_t *pairs; /* and widened */
    const int8_t *w;      /* of the panel, there too */
    size_t lda, rows;
    size_t all;           /* groups, where all are added in this way and none is listed; else 0 */
    ptrdiff_t ahead;      /* bytes to the weights that are wanted next, which the first rows fetch; 0: none */
    __m512i (*sum)[2];
} part;

/* Sums of `rows` rows to registers, or back. */
INLINE void copy_sums(__m512i to[][2], __m512i from[][2], const int rows, const int vectors)
{
    NNF_UNROLL
    for (int i = 0; i < rows; i++) {
        NNF_UNROLL
        for (int v = 0; v < vectors; v++)
            to[i][v] = from[i][v];
    }
}

typedef int32_t group __attribute__((aligned(1), may_alias));

INLINE __m512i four(const uint8_t *a)
{
    return _mm512_set1_epi32(*(const group *)a);
}

/* `each` groups of `rows` rows, in 16 bits. */
INLINE void add_groups(__m512i s[BYTES][2], const uint8_t *a, size_t lda, const __m512i *w, const int rows,
                       const int vectors, const int each)
{
    const __m512i ones = _mm512_set1_epi16(1);
    __m512i sums[BYTES][2];
    NNF_UNROLL
    for (int k = 0; k < each; k++) {
        NNF_UNROLL
        for (int i = 0; i < rows; i++) {
            const __m512i x = four(a + (size_t)i * lda + 4 * k);
            NNF_UNROLL
            for (int v = 0; v < vectors; v++) {
                const __m512i both = _mm512_maddubs_epi16(x, w[k * vectors + v]);
                sums[i][v] = k ? _mm512_add_epi16(sums[i][v], both) : both;
            }
        }
    }
    NNF_UNROLL
    for (int i = 0; i < rows; i++) {
        NNF_UNROLL
        for (int v = 0; v < vectors; v++)
            s[i][v] = _mm512_add_epi32(s[i][v], _mm512_madd_epi16(sums[i][v], ones));
    }
}

INLINE void multiply_listed(const part *p, size_t row, const int rows, const int vectors, const int each,
                            const bool streams)
{
    const uint8_t *a = p->a + row * p->lda;
    const ptrdiff_t ahead = streams ? p->ahead : 0;
    __m512i s[BYTES][2];
    copy_sums(s, p->sum + row, rows, vectors);
    for (size_t b = 0; b < p->way.count; b++) {
        const size_t at = p->way.blocks[b];
        const __m512i *w = (const __m512i *)(p->w + at * (size_t)(16 * vectors));
        const uint8_t *block = a + at;
        size_t ld = p->lda;
        /* Else gcc keeps an address for each code of each row, on the stack. */
        __asm__("" : "+r"(block), "+r"(ld));
        nnf_conv2d_fetch(w, ahead, (size_t)(16 * vectors));
        NNF_UNROLL
        for (int g = 0; g < BLOCK; g += each)
            add_groups(s, block + 4 * g, ld, w + g * vectors, rows, vectors, each);
    }
    if (each < BLOCK && p->way.tail) {
        const size_t at = p->way.blocks[p->way.count];
        add_groups(s, a + at, p->lda, (const __m512i *)(p->w + at * (size_t)(16 * vectors)), rows, vectors, each);
    }
    copy_sums(p->sum + row, s, rows, vectors);
}

/* All groups of a panel, which are even in number. */
INLINE void multiply_fours(const part *p, size_t row, const int rows, const int vectors)
{
    const __m512i *w = (const __m512i *)p->w;
    const uint8_t *a = p->a + row * p->lda;
    __m512i s[BYTES][2];
    copy_sums(s, p->sum + row, rows, vectors);
    for (size_t g = 0; g < p->all; g += 2, a += 8, w += 2 * vectors)
        add_groups(s, a, p->lda, w, rows, vectors, 2);
    copy_sums(p->sum + row, s, rows, vectors);
}

INLINE void multiply_bytes(const part *p, size_t row, const int rows, const int vectors, const int each,
                           const bool streams)
{
    if (each == 2 && p->all)
        multiply_fours(p, row, rows, vectors);
    else
        multiply_listed(p, row, rows, vectors, each, streams);
}

INLINE void multiply_some(const part *p, size_t row, size_t rows, const int vectors, const int each, const bool streams)
{
    switch (rows) {
    case 1: multiply_bytes(p, row, 1, vectors, each, streams); break;
    case 2: multiply_bytes(p, row, 2, vectors, each, streams); break;
    case 3: multiply_bytes(p, row, 3, vectors, each, streams); break;
    default: multiply_bytes(p, row, 4, vectors, each, streams); break;
    }
}

INLINE void multiply_rows(const part *p, const int vectors, const int each, const bool streams)
{
    const size_t tiles = (p->rows + BYTES - 1) / BYTES, height = p->rows / tiles, taller = p->rows % tiles;
    size_t tile = 0, row = 0;
    if (streams) {
        row = height + (taller > 0);
        multiply_some(p, 0, row, vectors, each, true);
        tile = 1;
    }
    for (size_t rows; tile < tiles; tile++, row += rows) {
        rows = height + (tile < taller);
        multiply_some(p, row, rows, vectors, each, false);
    }
}

/* A group of `rows` rows, even and odd bytes apart. */
INLINE void add_pairs(__m512i s[HIGH][2], const int32_t *a, const __m512i *w, const int rows, const int vectors)
{
    NNF_UNROLL
    for (int odd = 0; odd < 2; odd++) {
        __m512i wide[2];
        NNF_UNROLL
        for (int v = 0; v < vectors; v++)
            wide[v] = _mm512_srai_epi16(odd ? w[v] : _mm512_slli_epi16(w[v], 8), 8);
        NNF_UNROLL
        for (int i = 0; i < rows; i++)
            nnf_pairs_add_avx512(s[i], a + i * PITCH + odd * SLAB, wide[0], wide[vectors - 1], vectors);
    }
}

INLINE void multiply_pairs(const part *p, const int rows, const int vectors, const bool streams)
{
    const size_t blocks = p->all ? 0 : p->way.count + (p->way.tail != 0);
    __m512i s[HIGH][2];
    copy_sums(s, p->sum, rows, vectors);
    for (size_t g = 0; g < p->all; g++)
        add_pairs(s, p->pairs + g, (const __m512i *)p->w + g * (size_t)vectors, rows, vectors);
    for (size_t b = 0; b < blocks; b++) {
        const size_t at = p->way.blocks[b], groups = b < p->way.count ? BLOCK : p->way.tail;
        const __m512i *w = (const __m512i *)(p->w + at * (size_t)(16 * vectors));
        nnf_conv2d_fetch(w, streams ? p->ahead : 0, (size_t)(16 * vectors));
        for (size_t g = 0; g < groups; g++)
            add_pairs(s, p->pairs + at / 4 + g, w + g * (size_t)vectors, rows, vectors);
    }
    copy_sums(p->sum, s, rows, vectors);
}

INLINE void multiply_plain(const part *p, const int vectors, const bool streams)
{
    switch (p->rows) {
    case 1: multiply_pairs(p, 1, vectors, streams); break;
    case 2: multiply_pairs(p, 2, vectors, streams); break;
    case 3: multiply_pairs(p, 3, vectors, streams); break;
    case 4: multiply_pairs(p, 4, vectors, streams); break;
    case 5: multiply_pairs(p, 5, vectors, streams); break;
    case 6: multiply_pairs(p, 6, vectors, streams); break;
    case 7: multiply_pairs(p, 7, vectors, streams); break;
    case 8: multiply_pairs(p, 8, vectors, streams); break;
    case 9: multiply_pairs(p, 9, vectors, streams); break;
    case 10: multiply_pairs(p, 10, vectors, streams); break;
    case 11: multiply_pairs(p, 11, vectors, streams); break;
    default: multiply_pairs(p, 12, vectors, streams); break;
    }
}

/* Each loop in a function of its own, as at AVX2. */
#define APART static __attribute__((noinline)) void
APART plain_wide(const part *p) { multiply_plain(p, 2, false); }
APART plain_narrow(const part *p) { multiply_plain(p, 1, false); }
APART plain_streamed(const part *p) { multiply_plain(p, 2, true); }
APART fours_wide(const part *p) { multiply_rows(p, 2, 2, false); }
APART fours_narrow(const part *p) { multiply_rows(p, 1, 2, false); }
APART fours_streamed(const part *p) { multiply_rows(p, 2, 2, true); }
APART eights_wide(const part *p) { multiply_rows(p, 2, 4, false); }
APART eights_narrow(const part *p) { multiply_rows(p, 1, 4, false); }
APART eights_streamed(const part *p) { multiply_rows(p, 2, 4, true); }

enum { PLAIN, FOURS, EIGHTS };

/* Of one vector, of two, and of two whose next weights are fetched. */
static void (*const RUN[][3])(const part *) = {
    [PLAIN] = {plain_narrow, plain_wide, plain_streamed},
    [FOURS] = {fours_narrow, fours_wide, fours_streamed},
    [EIGHTS] = {eights_narrow, eights_wide, eights_streamed},
};

/* Adds the products of a strip and one panel, of each block in the fastest way. */
INLINE void add_products(const nnf_conv2d_q8_tile *t, strip *s, __m512i sum[HIGH][2], const int vectors)
{
    const size_t width = (size_t)(16 * vectors), blocks = (t->groups + BLOCK - 1) / BLOCK;
    const uint8_t *fours = nnf_conv2d_q8_limits(t->w, width, t->groups);
    const uint8_t *eights = fours + nnf_conv2d_q8_blocks(t->groups);
    const size_t panel = nnf_conv2d_q8_panel(width, t->groups);
    const int is_extreme = t->groups <= SHALLOW || (t->groups > DEEP && blocks <= NNF_CONV2D_WAYS_BLOCKS);
    part p = {.a = t->a, .pairs = s->pairs, .w = nnf_conv2d_q8_weights(t->w, width), .lda = t->lda, .rows = t->rows,
              .sum = sum};
    for (size_t b = 0; b < blocks; b += NNF_CONV2D_WAYS_BLOCKS, p.a += 4 * SLAB, p.w += 4 * SLAB * width) {
        nnf_conv2d_ways ways = nnf_conv2d_ways_of(t->groups, b);
        const __m512i most = b < MEASURED ? _mm512_load_si512(s->largest + b) : _mm512_set1_epi8(-1);
        nnf_conv2d_ways_set(&ways, _mm512_cmple_epu8_mask(most, _mm512_maskz_loadu_epi8(ways.all, fours + b)),
                            _mm512_cmple_epu8_mask(most, _mm512_maskz_loadu_epi8(ways.all, eights + b)));
        if (is_extreme && !ways.plain && t->groups % 2 == 0) {
            p.all = t->groups;
            RUN[FOURS][vectors - 1](&p);
            break;
        }
        if (t->groups <= SHALLOW) {
            widen(s, p.a, t->lda, t->rows, t->groups, ways.all);
            p.all = t->groups;
            RUN[PLAIN][vectors - 1](&p);
            break;
        }
        widen(s, p.a, t->lda, t->rows, ways.groups, ways.plain);
        const int kind = vectors == 2 && t->streamed ? 2 : vectors - 1;
        p.ahead = (ptrdiff_t)(b + NNF_CONV2D_WAYS_BLOCKS < blocks ? 4 * SLAB * width : panel - 4 * BLOCK * b * width);
        if (nnf_conv2d_way_of(&p.way, &ways, ways.eights))
            RUN[EIGHTS][kind](&p);
        if (nnf_conv2d_way_of(&p.way, &ways, ways.fours))
            RUN[FOURS][kind](&p);
        if (nnf_conv2d_way_of(&p.way, &ways, ways.plain))
            RUN[PLAIN][kind](&p);
    }
}

INLINE void store_sums(const nnf_conv2d_q8_tile *t, __m512i sum[HIGH][2], const int vectors)
{
    const __mmask32 live = (__mmask32)(UINT64_C(0xFFFFFFFF) >> (32 - t->columns));
    int32_t *c = (int32_t *)t->c;
    for (size_t i = 0; i < t->rows; i++, c += t->ldc) {
        NNF_UNROLL
        for (int v = 0; v < vectors; v++)
            _mm512_mask_storeu_epi32(c + 16 * v, (__mmask16)(live >> (16 * v)), sum[i][v]);
    }
}

/* A strip of one panel. */
INLINE void run_panel(const nnf_conv2d_q8_tile *t, strip *s, const int vectors, const int raw)
{
    const int kind = raw ? NNF_CONV2D_ANY : nnf_conv2d_finish_kind(t, vectors);
    __m512i sum[HIGH][2], bias[2];
    NNF_UNROLL
    for (int v = 0; v < vectors; v++)
        bias[v] = _mm512_add_epi32(_mm512_load_si512(t->w + 16 * v), nnf_conv2d_start(kind));
    for (size_t i = 0; i < t->rows; i++) {
        const __m512i offset = _mm512_set1_epi32(t->offset ? t->offset[i] : 0);
        NNF_UNROLL
        for (int v = 0; v < vectors; v++)
            sum[i][v] = _mm512_add_epi32(bias[v], offset);
    }
    add_products(t, s, sum, vectors);
    if (raw)
        store_sums(t, sum, vectors);
    else
        nnf_conv2d_store_rows(t, sum, vectors, kind);
}

/* All strips of all panels. */
INLINE void run(const nnf_conv2d_q8_tile *t, const int raw)
{
    strip strips[M / HIGH];
    const size_t count = (t->rows + HIGH - 1) / HIGH, size = raw ? 4 : 1;
    const size_t measured = t->groups < MEASURED * BLOCK ? t->groups : MEASURED * BLOCK;
    nnf_conv2d_q8_tile here = *t;
    for (size_t s = 0, row = 0; s < count; s++, row += here.rows) {
        here.rows = t->rows / count + (s < t->rows % count);
        strips[s].slab = NULL;
        measure(t->a + row * t->lda, t->lda, here.rows, measured, strips[s].largest);
    }
    for (size_t j = 0; j < t->columns; j += N, here.w += nnf_conv2d_q8_panel(N, t->groups) / 4) {
        here.columns = t->columns - j < N ? t->columns - j : N;
        for (size_t s = 0, row = 0; s < count; s++, row += here.rows) {
            here.rows = t->rows / count + (s < t->rows % count);
            here.a = t->a + row * t->lda;
            here.c = t->c + (row * t->ldc + j) * size;
            here.offset = t->offset ? t->offset + row : NULL;
            here.streamed = t->streamed && s == 0;
            if (nnf_conv2d_width(here.columns, N) == N)
                run_panel(&here, strips + s, 2, raw);
            else
                run_panel(&here, strips + s, 1, raw);
        }
    }
}

void nnf_conv2d_qu8_qs8c_nhwc__avx512_24x32k4(const nnf_conv2d_q8_tile *t)
{
    run(t, 0);
}

void nnf_conv2d_s32_qu8_qs8c_nhwc__avx512_24x32k4(const nnf_conv2d_q8_tile *t)
{
    run(t, 1);
}

/* Runs of one half vector: few bytes are most of what first layers gather. */
INLINE void gather_short(size_t rows, size_t n, const uint8_t *x, size_t ldx, uint8_t flip, uint8_t *to, size_t ldt,
                         uint32_t *sums, const int count)
{
    const __m256i flips = _mm256_set1_epi8((char)flip), zero = _mm256_setzero_si256();
    const __mmask32 mask = UINT32_MAX >> (32 - n);
    for (size_t i = 0; i < rows; i++, x += ldx, to += ldt) {
        const __m256i codes = _mm256_xor_si256(_mm256_maskz_loadu_epi8(mask, x), flips);
        _mm256_mask_storeu_epi8(to, mask, codes);
        if (count) {
            const __m256i four = _mm256_sad_epu8(_mm256_maskz_mov_epi8(mask, codes), zero);
            sums[i] += (uint32_t)_mm512_reduce_add_epi64(_mm512_zextsi256_si512(four));
        }
    }
}

INLINE void gather_long(size_t rows, size_t n, const uint8_t *x, size_t ldx, uint8_t flip, uint8_t *to, size_t ldt,
                        uint32_t *sums, const int count)
{
    const __m512i flips = _mm512_set1_epi8((char)flip), zero = _mm512_setzero_si512();
    const __mmask64 tail = n % 64 ? ~UINT64_C(0) >> (64 - n % 64) : 0;
    for (size_t i = 0; i < rows; i++, x += ldx, to += ldt) {
        __m512i sum = zero;
        size_t k = 0;
        for (; k + 64 <= n; k += 64) {
            const __m512i codes = _mm512_xor_si512(_mm512_loadu_si512(x + k), flips);
            _mm512_storeu_si512(to + k, codes);
            if (count)
                sum = _mm512_add_epi64(sum, _mm512_sad_epu8(codes, zero));
        }
        if (tail) {
            const __m512i codes = _mm512_xor_si512(_mm512_maskz_loadu_epi8(tail, x + k), flips);
            _mm512_mask_storeu_epi8(to + k, tail, codes);
            if (count)
                sum = _mm512_add_epi64(sum, _mm512_sad_epu8(_mm512_maskz_mov_epi8(tail, codes), zero));
        }
        if (count)
            sums[i] += (uint32_t)_mm512_reduce_add_epi64(sum);
    }
}

void nnf_conv2d_gather_qu8_nhwc__avx512_64(size_t rows, size_t n, const uint8_t *x, size_t ldx, uint8_t flip,
                                           uint8_t *to, size_t ldt, uint32_t *sums)
{
    if (n <= 32 && sums)
        gather_short(rows, n, x, ldx, flip, to, ldt, sums, 1);
    else if (n <= 32)
        gather_short(rows, n, x, ldx, flip, to, ldt, sums, 0);
    else if (sums)
        gather_long(rows, n, x, ldx, flip, to, ldt, sums, 1);
    else
        gather_long(rows, n, x, ldx, flip, to, ldt, sums, 0);
}
