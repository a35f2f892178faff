#include "conv2d.h"

#include <immintrin.h>
#include <stdbool.h>
#include <string.h>

#include "conv2d_codes_avx2.h"
#include "conv2d_halves_avx2.h"
#include "conv2d_pairs_avx2.h"
#include "conv2d_requantize_avx2.h"
#include "conv2d_ways.h"
#include "nnf/unroll.h"

enum {
    HIGH = NNF_PAIRS_HIGH,
    FEW = 3,  /* rows for which nothing is made of weights or codes before */
    THREE = 3 /* rows whose sums of bytes are in registers at once */
};

INLINE void split(__m256i bytes, __m256i *even, __m256i *odd)
{
    *even = _mm256_srai_epi16(_mm256_slli_epi16(bytes, 8), 8);
    *odd = _mm256_srai_epi16(bytes, 8);
}

/* Groups of a block of weights. */
INLINE __m256i *widen_weights(const __m256i *w, size_t groups, __m256i *to, const int vectors)
{
    NNF_UNROLL
    for (size_t i = 0; i < groups * (size_t)vectors; i++)
        split(_mm256_load_si256(w + i), to + i, to + BLOCK * vectors + i);
    return to + 2 * BLOCK * vectors;
}

/* `each` groups of `rows` rows, in 16 bits. */
INLINE void add_groups(__m256i s[THREE][2], const uint8_t *a, size_t lda, const __m256i *w, const int rows,
                       const int vectors, const int each)
{
    __m256i sums[THREE][2];
    NNF_UNROLL
    for (int k = 0; k < each; k++) {
        const __m256i w0 = w[k * vectors], w1 = w[(k + 1) * vectors - 1];
        NNF_UNROLL
        for (int i = 0; i < rows; i++)
            add_bytes(&sums[i][0], &sums[i][1], a + (size_t)i * lda + 4 * k, w0, w1, vectors, k == 0);
    }
    NNF_UNROLL
    for (int i = 0; i < rows; i++) {
        NNF_UNROLL
        for (int v = 0; v < vectors; v++)
            add_words(&s[i][v], sums[i][v], ONE);
    }
}

/* A group of one row, of codes up to SAFE. */
INLINE void add_group(__m256i *s, const uint8_t *a, __m256i w0, __m256i w1, const int vectors)
{
    __m256i x, y;
    if (vectors == 2)
        __asm__("vpbroadcastd %4, %1\n\t"
                "vpmaddubsw %5, %1, %0\n\t"
                "vpmaddubsw %6, %1, %1\n\t"
                "vpmaddwd %7, %0, %0\n\t"
                "vpmaddwd %7, %1, %1\n\t"
                "vpaddd %0, %2, %2\n\t"
                "vpaddd %1, %3, %3"
                : "=&x"(x), "=&x"(y), "+x"(s[0]), "+x"(s[1])
                : "m"(*(const group *)a), "x"(w0), "x"(w1), "m"(ONE));
    else
        __asm__("vpbroadcastd %2, %0\n\t"
                "vpmaddubsw %3, %0, %0\n\t"
                "vpmaddwd %4, %0, %0\n\t"
                "vpaddd %0, %1, %1"
                : "=&x"(x), "+x"(s[0])
                : "m"(*(const group *)a), "x"(w0), "m"(ONE));
}

/* A block, or more, of a few rows of any codes: widened on the way. */
INLINE void add_wide(__m256i (*s)[2], const strip *b, const __m256i *w, const int rows, const int vectors)
{
    const __m256i low = _mm256_set1_epi16(0xFF);
    for (size_t g = 0; g < b->groups; g++, w += vectors) {
        __m256i even[2], odd[2];
        NNF_UNROLL
        for (int v = 0; v < vectors; v++)
            split(w[v], even + v, odd + v);
        NNF_UNROLL
        for (int i = 0; i < rows; i++) {
            const __m256i x = _mm256_set1_epi32(*(const group *)(b->a + (size_t)i * b->lda + 4 * g));
            const __m256i x_even = _mm256_and_si256(x, low), x_odd = _mm256_srli_epi16(x, 8);
            NNF_UNROLL
            for (int v = 0; v < vectors; v++) {
                s[i][v] = _mm256_add_epi32(s[i][v], _mm256_madd_epi16(x_even, even[v]));
                s[i][v] = _mm256_add_epi32(s[i][v], _mm256_madd_epi16(x_odd, odd[v]));
            }
        }
    }
}

/* Sums of a few rows, for which nothing is made of the weights or the codes before. largest: code of each block. */
INLINE void multiply_few(const nnf_conv2d_q8_tile *t, const int32_t *panel, const uint8_t *largest, int32_t *sum,
                         const int rows, const int vectors)
{
    const __m256i *w = (const __m256i *)nnf_conv2d_q8_weights(panel, (size_t)(8 * vectors));
    const size_t blocks = t->groups / BLOCK, known = least(blocks, MEASURED);
    strip b = {t->a, t->lda, (size_t)rows, BLOCK};
    __m256i s[FEW][2];
    nnf_pairs_load(s, panel, 0, rows, vectors);
    for (size_t i = 0; i < known; i++, b.a += 4 * BLOCK, w += BLOCK * vectors) {
        if (largest[i] > SAFE / 2) {
            add_wide(s, &b, w, rows, vectors);
            continue;
        }
        NNF_UNROLL
        for (size_t g = 0; g < BLOCK; g++) {
            NNF_UNROLL
            for (int r = 0; r < rows; r++)
                add_group(s[r], b.a + (size_t)r * b.lda + 4 * g, w[g * (size_t)vectors], w[(g + 1) * (size_t)vectors - 1],
                          vectors);
        }
    }
    b.groups = t->groups - known * BLOCK;
    add_wide(s, &b, w, rows, vectors);
    nnf_pairs_store(sum, s, rows, vectors);
}

/* The next `rows` rows; goes on to those behind them. */
INLINE void multiply_bytes(part *p, const size_t lda, const int rows, const int vectors, const int each,
                           const bool streams)
{
    const ptrdiff_t ahead = streams ? p->ahead : 0;
    __m256i s[THREE][2];
    nnf_pairs_load(s, p->from, p->step, rows, vectors);
    for (size_t b = 0; b < p->count; b++) {
        const size_t at = p->blocks[b];
        const __m256i *w = (const __m256i *)(p->w + at * (size_t)(8 * vectors));
        const uint8_t *block = p->a + at;
        size_t ld = lda;
        /* Else gcc keeps an address for each code of each row, on the stack. */
        __asm__("" : "+r"(block), "+r"(ld));
        nnf_conv2d_fetch(w, ahead, (size_t)(8 * vectors));
        NNF_UNROLL
        for (int g = 0; g < BLOCK; g += each)
            add_groups(s, block + 4 * g, ld, w + g * vectors, rows, vectors, each);
    }
    if (each < BLOCK && p->tail) {
        const size_t at = p->blocks[p->count];
        add_groups(s, p->a + at, lda, (const __m256i *)(p->w + at * (size_t)(8 * vectors)), rows, vectors, each);
    }
    nnf_pairs_store(p->sum, s, rows, vectors);
    p->a += (size_t)rows * lda;
    p->from += (size_t)rows * p->step;
    p->sum += rows * N;
}

/* All rows, more than FEW: by threes, and as many twos as that takes. */
INLINE void multiply_rows(const part *of, const int vectors, const int each, const bool streams)
{
    part p = *of; /* which no store to the sums can change */
    const size_t lda = p.tile->lda, all = p.tile->rows;
    const size_t twos = (THREE - all % THREE) % THREE, threes = (all - 2 * twos) / THREE;
    size_t i = 0, j = 0;
    if (streams && threes) {
        multiply_bytes(&p, lda, 3, vectors, each, true);
        i = 1;
    } else if (streams) {
        multiply_bytes(&p, lda, 2, vectors, each, true);
        j = 1;
    }
    for (; i < threes; i++)
        multiply_bytes(&p, lda, 3, vectors, each, false);
    for (; j < twos; j++)
        multiply_bytes(&p, lda, 2, vectors, each, false);
}

/* A group of `rows` rows of cut codes. */
INLINE void add_one(__m256i s[HIGH][2], const uint8_t *a, const __m256i *w, const int rows, const int vectors)
{
    const __m256i w0 = w[0], w1 = w[vectors - 1];
    NNF_UNROLL
    for (int i = 0; i < rows; i++)
        add_group(s[i], a + i * 4 * BLOCK, w0, w1, vectors);
}

/* Cut codes, group by group. */
INLINE void multiply_ones(const part *p, size_t row, const int rows, const int vectors, const bool streams)
{
    const uint8_t *a = p->wide->cut + row * 4 * BLOCK;
    const size_t all = p->tile->rows;
    const uint16_t *at = p->blocks, *last = at + p->count;
    const ptrdiff_t ahead = streams && !row ? p->ahead : 0;
    const __m256i *w;
    __m256i s[HIGH][2];
    nnf_pairs_load(s, p->from + row * p->step, p->step, rows, vectors);
    for (; at < last; at++) {
        w = (const __m256i *)(p->w + *at * (size_t)(8 * vectors));
        const uint8_t *block = a + *at * all;
        __asm__("" : "+r"(w), "+r"(block)); /* as in multiply_bytes */
        nnf_conv2d_fetch(w, ahead, (size_t)(8 * vectors));
        NNF_UNROLL
        for (int g = 0; g < BLOCK; g++)
            add_one(s, block + 4 * g, w + g * vectors, rows, vectors);
    }
    for (size_t g = 0; g < p->tail; g++) {
        w = (const __m256i *)(p->w + *at * (size_t)(8 * vectors)) + g * (size_t)vectors;
        add_one(s, a + *at * all + 4 * g, w, rows, vectors);
    }
    nnf_pairs_store(p->sum + row * N, s, rows, vectors);
}

/* A part of the list. */
INLINE void add_listed(const part *p, size_t begin, size_t end, const int vectors)
{
    const int8_t *weights = p->w;
    char *sums = (char *)p->sum;
    for (const excess *e = p->wide->list + begin, *last = p->wide->list + end; e < last; e++) {
        const __m256i *w = (const __m256i *)(weights + e->weights / (vectors == 2 ? 1U : 2U));
        __m256i *sum = (__m256i *)(sums + e->sums), s[2] = {sum[0], sum[vectors - 1]};
        add_group(s, (const uint8_t *)&e->codes, w[0], w[vectors - 1], vectors);
        sum[0] = s[0];
        if (vectors == 2)
            sum[1] = s[1];
    }
}

/* What the codes of some blocks are above SAFE. */
INLINE void add_excess(const part *p, uint64_t blocks, const int vectors)
{
    const pairs *wide = p->wide;
    if (blocks == wide->above) {
        add_listed(p, 0, wide->count, vectors);
        return;
    }
    for (; blocks; blocks &= blocks - 1) {
        const size_t b = (size_t)__builtin_ctzll(blocks);
        add_listed(p, wide->listed[b].begin, wide->listed[b].end, vectors);
    }
}

/* A group of a block of `rows` rows, pair by pair. */
INLINE void add_pairs(__m256i s[HIGH][2], const int32_t *a, const __m256i *w, const int rows, const int vectors)
{
    NNF_UNROLL
    for (int k = 0; k < 2; k++) {
        const __m256i *at = w + k * BLOCK * vectors, low = at[0], high = at[vectors - 1];
        NNF_UNROLL
        for (int i = 0; i < rows; i++)
            nnf_pairs_add(s[i], a + i * 2 * BLOCK + k * BLOCK, low, high, vectors);
    }
}

INLINE void multiply_pairs(const part *p, size_t row, const int rows, const int vectors)
{
    const int32_t *a = p->wide->a + row * 2 * BLOCK, *from = p->from + row * p->step;
    const size_t all = p->tile->rows;
    int32_t *sum = p->sum + row * N;
    __m256i s[HIGH][2];
    nnf_pairs_load(s, from, p->step, rows, vectors);
    const __m256i *w = (const __m256i *)p->wide->w;
    for (size_t b = 0; b < p->count; b++, w += 2 * BLOCK * vectors) {
        const int32_t *block = a + p->blocks[b] / 2U * all;
        NNF_UNROLL
        for (int g = 0; g < BLOCK; g++)
            add_pairs(s, block + g, w + g * vectors, rows, vectors);
    }
    for (size_t g = 0; g < p->tail; g++)
        add_pairs(s, a + p->blocks[p->count] / 2U * all + g, w + g * (size_t)vectors, rows, vectors);
    nnf_pairs_store(sum, s, rows, vectors);
}

INLINE void multiply_tile(const part *p, size_t row, const int rows, const int vectors, const bool is_wide,
                          const bool streams)
{
    if (is_wide)
        multiply_pairs(p, row, rows, vectors);
    else
        multiply_ones(p, row, rows, vectors, streams);
}

/* All rows, by tiles of about equal height. */
INLINE void by_tiles(const part *p, const int vectors, const bool is_wide, const bool streams)
{
    const size_t all = p->tile->rows, tiles = (all + HIGH - 1) / HIGH;
    for (size_t i = 0, t = 0, rows; t < tiles; t++, i += rows) {
        rows = all / tiles + (t < all % tiles);
        switch (rows) {
        case 1: multiply_tile(p, i, 1, vectors, is_wide, streams); break;
        case 2: multiply_tile(p, i, 2, vectors, is_wide, streams); break;
        case 3: multiply_tile(p, i, 3, vectors, is_wide, streams); break;
        case 4: multiply_tile(p, i, 4, vectors, is_wide, streams); break;
        case 5: multiply_tile(p, i, 5, vectors, is_wide, streams); break;
        default: multiply_tile(p, i, 6, vectors, is_wide, streams); break;
        }
    }
}

/* At most a chunk of blocks, and a tail. */
INLINE void multiply_plain(const part *p, const int vectors, const bool streams)
{
    __m256i *w = (__m256i *)p->wide->w;
    for (size_t b = 0; b < p->count; b++) {
        const __m256i *block = (const __m256i *)(p->w + p->blocks[b] * (size_t)(8 * vectors));
        nnf_conv2d_fetch(block, streams ? p->ahead : 0, (size_t)(8 * vectors));
        w = widen_weights(block, BLOCK, w, vectors);
    }
    if (p->tail)
        widen_weights((const __m256i *)(p->w + p->blocks[p->count] * (size_t)(8 * vectors)), p->tail, w, vectors);
    by_tiles(p, vectors, true, false);
}

/* Each loop in a function of its own: together they make gcc move registers and leave loops unaligned. */
#define APART static __attribute__((noinline)) void
APART plain_wide(const part *p) { multiply_plain(p, 2, false); }
APART plain_narrow(const part *p) { multiply_plain(p, 1, false); }
APART plain_streamed(const part *p) { multiply_plain(p, 2, true); }
APART halves_wide(const part *p) { multiply_twos(p, 2, false); }
APART halves_narrow(const part *p) { multiply_twos(p, 1, false); }
APART halves_streamed(const part *p) { multiply_twos(p, 2, true); }
APART ones_wide(const part *p) { by_tiles(p, 2, false, false); }
APART ones_narrow(const part *p) { by_tiles(p, 1, false, false); }
APART ones_streamed(const part *p) { by_tiles(p, 2, false, true); }
APART excess_wide(const part *p, uint64_t blocks) { add_excess(p, blocks, 2); }
APART excess_narrow(const part *p, uint64_t blocks) { add_excess(p, blocks, 1); }
APART fours_wide(const part *p) { multiply_rows(p, 2, 2, false); }
APART fours_narrow(const part *p) { multiply_rows(p, 1, 2, false); }
APART fours_streamed(const part *p) { multiply_rows(p, 2, 2, true); }
APART eights_wide(const part *p) { multiply_rows(p, 2, 4, false); }
APART eights_narrow(const part *p) { multiply_rows(p, 1, 4, false); }
APART eights_streamed(const part *p) { multiply_rows(p, 2, 4, true); }

enum { PLAIN, HALVES, ONES, FOURS, EIGHTS };

/* Of one vector, of two, and of two whose next weights are fetched. */
static void (*const RUN[][3])(const part *) = {
    [PLAIN] = {plain_narrow, plain_wide, plain_streamed},
    [HALVES] = {halves_narrow, halves_wide, halves_streamed},
    [ONES] = {ones_narrow, ones_wide, ones_streamed},
    [FOURS] = {fours_narrow, fours_wide, fours_streamed},
    [EIGHTS] = {eights_narrow, eights_wide, eights_streamed},
};

/* The blocks of a mask in one way. */
INLINE void run_way(part *p, const nnf_conv2d_ways *ways, uint64_t mask, const int kind, const int vectors)
{
    const size_t most = kind == PLAIN ? CHUNK : NNF_CONV2D_WAYS_BLOCKS;
    nnf_conv2d_way way;
    if (!nnf_conv2d_way_of(&way, ways, mask))
        return;
    size_t done = 0;
    do {
        p->blocks = way.blocks + done;
        p->count = least(most, way.count - done);
        done += p->count;
        p->tail = done == way.count ? way.tail : 0;
        RUN[kind][vectors == 1 ? 0 : p->ahead ? 2 : 1](p);
        p->from = p->sum;
        p->step = N;
    } while (done < way.count);
}

/* The blocks of a slab, each in the fastest way. largest: code of each, or NULL if that is not known. */
INLINE void run_slab(part *p, const nnf_conv2d_ways *ways, const uint8_t *largest, const int vectors)
{
    pairs *wide = p->wide;
    if (wide->slab != p->a) {
        wide->slab = p->a;
        wide->placed = wide->wide = wide->above = 0;
        wide->count = wide->waits = wide->longest = 0;
    }
    if (ways->plain & ~wide->placed)
        place(wide, p->tile, ways->groups, ways->plain & ~wide->placed, largest);
    run_way(p, ways, ways->eights, EIGHTS, vectors);
    run_way(p, ways, ways->fours, FOURS, vectors);
    run_way(p, ways, ways->plain & ~wide->wide, ONES, vectors);
    if (p->tile->rows <= HALVED)
        run_way(p, ways, ways->plain & wide->wide, HALVES, vectors);
    else
        run_way(p, ways, ways->plain & wide->wide, PLAIN, vectors);
    if (ways->plain & wide->above)
        (vectors == 2 ? excess_wide : excess_narrow)(p, ways->plain & wide->above);
}

/* Adds what a slab, whose first block is b, gives to a panel's sums. ahead: bytes to the next slab's weights. */
INLINE void add_slab(const nnf_conv2d_q8_tile *t, const int32_t *panel, pairs *wide, size_t b, int32_t *sum,
                     ptrdiff_t ahead, const int vectors)
{
    const size_t width = (size_t)(8 * vectors), blocks = (t->groups + BLOCK - 1) / BLOCK, at = 4 * BLOCK * b;
    const uint8_t *fours = nnf_conv2d_q8_limits(panel, width, t->groups);
    const uint8_t *eights = fours + nnf_conv2d_q8_blocks(t->groups);
    const uint8_t *largest = b < MEASURED ? wide->largest + b : NULL;
    part p = {.tile = t, .a = t->a + at, .w = nnf_conv2d_q8_weights(panel, width) + at * width, .wide = wide,
              .from = b ? sum : panel, .step = b ? N : 0, .sum = sum, .ahead = t->streamed ? ahead : 0};
    nnf_conv2d_ways ways = nnf_conv2d_ways_of(t->groups, b);
    if (largest)
        nnf_conv2d_ways_set(&ways, within(largest, fours + b, blocks - b), within(largest, eights + b, blocks - b));
    else
        nnf_conv2d_ways_set(&ways, 0, 0);
    run_slab(&p, &ways, largest, vectors);
}

/* The sums of one panel. */
INLINE void run_panel(const nnf_conv2d_q8_tile *t, const int32_t *panel, void *work, int32_t *sum, const int vectors)
{
    pairs *wide = work;
    const uint8_t *largest = wide->largest;
    if (wide->is_halved) {
        const int8_t *w = nnf_conv2d_q8_weights(panel, (size_t)(8 * vectors));
        const part p = {.tile = t, .blocks = wide->order, .count = t->groups / BLOCK, .tail = t->groups % BLOCK,
                        .w = w, .wide = wide, .from = panel, .sum = sum};
        (vectors == 2 ? halves_wide : halves_narrow)(&p);
        return;
    }
    switch (t->rows) {
    case 1: multiply_few(t, panel, largest, sum, 1, vectors); return;
    case 2: multiply_few(t, panel, largest, sum, 2, vectors); return;
    case 3: multiply_few(t, panel, largest, sum, 3, vectors); return;
    default: break;
    }
    const size_t width = (size_t)(8 * vectors), blocks = (t->groups + BLOCK - 1) / BLOCK;
    for (size_t b = 0; b < blocks; b += NNF_CONV2D_WAYS_BLOCKS) {
        size_t ahead = 4 * SLAB * width;
        if (b + NNF_CONV2D_WAYS_BLOCKS >= blocks)
            ahead = nnf_conv2d_q8_panel(width, t->groups) - 4 * BLOCK * b * width;
        add_slab(t, panel, wide, b, sum, (ptrdiff_t)ahead, vectors);
    }
}

/* PANELS panels, full ones, slab by slab: what is made of the codes of a slab serves all. */
static __attribute__((noinline)) void run_panels(const nnf_conv2d_q8_tile *t, const int32_t *w, size_t first,
                                                 pairs *p, const int raw)
{
    const size_t panel = nnf_conv2d_q8_panel(N, t->groups) / 4, blocks = (t->groups + BLOCK - 1) / BLOCK;
    for (size_t b = 0; b < blocks; b += NNF_CONV2D_WAYS_BLOCKS) {
        const size_t last = (PANELS - 1) * panel * 4;
        const ptrdiff_t next = b + NNF_CONV2D_WAYS_BLOCKS < blocks ? 4 * SLAB * N - (ptrdiff_t)last
                                                                  : (ptrdiff_t)(4 * panel - 4 * BLOCK * b * N);
        for (size_t q = 0; q < PANELS; q++)
            add_slab(t, w + q * panel, p, b, p->sum + q * LOW * N, q + 1 < PANELS ? (ptrdiff_t)(4 * panel) : next, 2);
    }
    for (size_t q = 0; q < PANELS; q++)
        nnf_conv2d_put_panel(t, raw, w + q * panel, first + q * N, N, p->sum + q * LOW * N, 2);
}

/* A tile that is not taller than its groups allow. */
static __attribute__((noinline)) void run_tile(const nnf_conv2d_q8_tile *t, pairs *p, const int raw)
{
    nnf_conv2d_q8_tile rest = *t;
    const bool by_slabs = t->groups > SLAB && t->rows > FEW;
    p->slab = NULL;
    p->is_halved = false;
    measure(t, p->largest);
    if (t->rows <= FEW)
        halve_all(p, t);
    if (by_slabs) {
        p->most = t->rows / (4 + 16 / PANELS);
        for (; rest.columns >= PANELS * N; rest.columns -= PANELS * N) {
            const size_t first = t->columns - rest.columns;
            run_panels(t, rest.w, first, p, raw);
            rest.w += PANELS * nnf_conv2d_q8_panel(N, t->groups) / 4;
            rest.c += PANELS * N * (raw ? 4 : 1);
        }
    }
    /* A list pays the more the more panels use it; that of one slab of several only one does. */
    p->most = !by_slabs && t->columns > N ? t->rows / (4 + 16 * N / t->columns) : 0;
    nnf_conv2d_each_panel(&rest, raw, p, p->sum, run_panel);
}

/* Tall tiles of many groups in two parts. */
INLINE void run(const nnf_conv2d_q8_tile *t, const int raw)
{
    nnf_conv2d_q8_tile half = *t;
    pairs p;
    const size_t most = t->groups > SLAB / 2 ? LOW : M;
    for (size_t left = t->rows; left; left -= half.rows) {
        half.rows = left > most ? (left + 1) / 2 : left;
        run_tile(&half, &p, raw);
        half.a += half.rows * t->lda;
        half.offset = t->offset ? half.offset + half.rows : NULL;
        half.c += half.rows * t->ldc * (raw ? 4 : 1);
    }
}

void nnf_conv2d_qu8_qs8c_nhwc__avx2_60x16k4(const nnf_conv2d_q8_tile *t)
{
    run(t, 0);
}

void nnf_conv2d_s32_qu8_qs8c_nhwc__avx2_60x16k4(const nnf_conv2d_q8_tile *t)
{
    run(t, 1);
}
