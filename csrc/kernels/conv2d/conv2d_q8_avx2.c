#include "conv2d.h"

#include <immintrin.h>
#include <string.h>

#include "conv2d_pairs_avx2.h"
#include "conv2d_requantize_avx2.h"
#include "conv2d_ways.h"
#include "nnf/unroll.h"

enum {
    M = NNF_CONV2D_FINISH_M, /* rows that share widened weights, and a way to add the products of a block */
    N = NNF_PAIRS_N,
    HIGH = NNF_PAIRS_HIGH,
    FEW = 3,            /* rows for which widening apart does not pay */
    THREE = 3,          /* rows whose sums of bytes are in registers at once */
    BLOCK = NNF_CONV2D_Q8_LIMITED,
    SLAB = NNF_CONV2D_WAYS_BLOCKS * BLOCK, /* groups of rows, 60 KB widened: they stream from level 2 */
    CHUNK = 16,         /* blocks of weights that are widened at once, 8 KB: they stay in the level 1 cache */
    PITCH = 2 * SLAB + 4 * BLOCK,
    MEASURED = 8 * NNF_CONV2D_WAYS_BLOCKS /* blocks whose largest codes are looked for; behind them there may be any */
};

/* Codes and weights as pairs of 16 bits, for sums of two products where those of bytes could saturate. Of each block all
 * pairs of even bytes stand before those of odd bytes. `widened`: the blocks of the slab whose rows are there. */
typedef struct pairs {
    _Alignas(64) int32_t w[2 * (CHUNK + 1) * BLOCK * N], a[M * PITCH], sum[M * N];
    _Alignas(32) uint8_t largest[MEASURED]; /* code of each block, of all rows */
    const uint8_t *slab; /* codes, of the first row */
    uint64_t widened;
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

/* Of `groups` groups at `a` the blocks of a mask, and those beside them. */
static void widen_rows(const nnf_conv2d_q8_tile *t, const uint8_t *a, size_t groups, uint64_t blocks, int32_t *to)
{
    const __m256i low = _mm256_set1_epi16(0xFF);
    for (; blocks; a += 8 * BLOCK, to += 4 * BLOCK, groups -= 2 * BLOCK, blocks >>= 2) {
        if (!(blocks & 3))
            continue;
        const __m256i mask = first_groups(groups);
        for (size_t i = 0; i < t->rows; i++) {
            const __m256i codes = load_blocks(a + i * t->lda, groups, mask);
            const __m256i even = _mm256_and_si256(codes, low), odd = _mm256_srli_epi16(codes, 8);
            __m256i *pairs_of = (__m256i *)(to + i * PITCH);
            _mm256_store_si256(pairs_of, _mm256_permute2x128_si256(even, odd, 0x20));
            _mm256_store_si256(pairs_of + 1, _mm256_permute2x128_si256(even, odd, 0x31));
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

/* Sums of a few rows, widened on the way: every weight is used only so often. */
INLINE void multiply_few(const nnf_conv2d_q8_tile *t, const int32_t *panel, int32_t *sum, const int rows,
                         const int vectors)
{
    const int8_t *w = nnf_conv2d_q8_weights(panel, (size_t)(8 * vectors));
    const __m256i low = _mm256_set1_epi16(0xFF);
    __m256i s[FEW][2];
    NNF_UNROLL
    for (int i = 0; i < rows; i++) {
        NNF_UNROLL
        for (int v = 0; v < vectors; v++)
            s[i][v] = ((const __m256i *)panel)[v];
    }
    for (size_t g = 0; g < t->groups; g++, w += 32 * vectors) {
        __m256i even[2], odd[2];
        NNF_UNROLL
        for (int v = 0; v < vectors; v++)
            split(_mm256_load_si256((const __m256i *)w + v), even + v, odd + v);
        NNF_UNROLL
        for (int i = 0; i < rows; i++) {
            int32_t codes;
            memcpy(&codes, t->a + (size_t)i * t->lda + 4 * g, 4);
            const __m256i x = _mm256_set1_epi32(codes);
            const __m256i x_even = _mm256_and_si256(x, low), x_odd = _mm256_srli_epi16(x, 8);
            NNF_UNROLL
            for (int v = 0; v < vectors; v++) {
                s[i][v] = _mm256_add_epi32(s[i][v], _mm256_madd_epi16(x_even, even[v]));
                s[i][v] = _mm256_add_epi32(s[i][v], _mm256_madd_epi16(x_odd, odd[v]));
            }
        }
    }
    NNF_UNROLL
    for (int i = 0; i < rows; i++) {
        NNF_UNROLL
        for (int v = 0; v < vectors; v++)
            ((__m256i *)(sum + i * N))[v] = s[i][v];
    }
}

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
} part;

/* `each` groups of `rows` rows, in 16 bits. */
INLINE void add_groups(__m256i s[THREE][2], const uint8_t *a, size_t lda, const __m256i *w, const int rows,
                       const int vectors, const int each)
{
    static const int16_t ones[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
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
        for (int v = 0; v < vectors; v++) {
            __m256i x = sums[i][v];
            __asm__("vpmaddwd %2, %0, %0\n\t"
                    "vpaddd %0, %1, %1"
                    : "+x"(x), "+x"(s[i][v])
                    : "m"(ones));
        }
    }
}

INLINE void load_sums(__m256i (*s)[2], const int32_t *from, size_t step, const int rows, const int vectors)
{
    NNF_UNROLL
    for (int i = 0; i < rows; i++) {
        NNF_UNROLL
        for (int v = 0; v < vectors; v++)
            s[i][v] = ((const __m256i *)(from + (size_t)i * step))[v];
    }
}

INLINE void store_sums(int32_t *sum, __m256i (*s)[2], const int rows, const int vectors)
{
    NNF_UNROLL
    for (int i = 0; i < rows; i++) {
        NNF_UNROLL
        for (int v = 0; v < vectors; v++)
            ((__m256i *)(sum + i * N))[v] = s[i][v];
    }
}

/* The next `rows` rows; goes on to those behind them. */
INLINE void multiply_bytes(part *p, const size_t lda, const int rows, const int vectors, const int each)
{
    __m256i s[THREE][2];
    load_sums(s, p->from, p->step, rows, vectors);
    for (size_t b = 0; b < p->count; b++) {
        const size_t at = p->blocks[b];
        const __m256i *w = (const __m256i *)(p->w + at * (size_t)(8 * vectors));
        const uint8_t *block = p->a + at;
        size_t ld = lda;
        /* Else gcc keeps an address for each code of each row, on the stack. */
        __asm__("" : "+r"(block), "+r"(ld));
        NNF_UNROLL
        for (int g = 0; g < BLOCK; g += each)
            add_groups(s, block + 4 * g, ld, w + g * vectors, rows, vectors, each);
    }
    if (each < BLOCK && p->tail) {
        const size_t at = p->blocks[p->count];
        add_groups(s, p->a + at, lda, (const __m256i *)(p->w + at * (size_t)(8 * vectors)), rows, vectors, each);
    }
    store_sums(p->sum, s, rows, vectors);
    p->a += (size_t)rows * lda;
    p->from += (size_t)rows * p->step;
    p->sum += rows * N;
}

/* All rows, more than FEW: by threes, and as many twos as that takes. */
INLINE void multiply_rows(const part *of, const int vectors, const int each)
{
    part p = *of; /* which no store to the sums can change */
    const size_t lda = p.tile->lda, all = p.tile->rows;
    const size_t twos = (THREE - all % THREE) % THREE, threes = (all - 2 * twos) / THREE;
    for (size_t i = 0; i < threes; i++)
        multiply_bytes(&p, lda, 3, vectors, each);
    for (size_t i = 0; i < twos; i++)
        multiply_bytes(&p, lda, 2, vectors, each);
}

/* A group of a block of `rows` rows, pair by pair. */
INLINE void add_pairs(__m256i s[HIGH][2], const int32_t *a, const __m256i *w, const int rows, const int vectors)
{
    NNF_UNROLL
    for (int k = 0; k < 2; k++) {
        const __m256i *at = w + k * BLOCK * vectors, low = at[0], high = at[vectors - 1];
        NNF_UNROLL
        for (int i = 0; i < rows; i++)
            nnf_pairs_add(s[i], a + i * PITCH + k * BLOCK, low, high, vectors);
    }
}

INLINE void multiply_pairs(const part *p, size_t row, const int rows, const int vectors)
{
    const int32_t *a = p->wide->a + row * PITCH, *from = p->from + row * p->step;
    int32_t *sum = p->sum + row * N;
    __m256i s[HIGH][2];
    load_sums(s, from, p->step, rows, vectors);
    const __m256i *w = (const __m256i *)p->wide->w;
    for (size_t b = 0; b < p->count; b++, w += 2 * BLOCK * vectors) {
        const int32_t *block = a + p->blocks[b] / 2U;
        NNF_UNROLL
        for (int g = 0; g < BLOCK; g++)
            add_pairs(s, block + g, w + g * vectors, rows, vectors);
    }
    for (size_t g = 0; g < p->tail; g++)
        add_pairs(s, a + p->blocks[p->count] / 2U + g, w + g * (size_t)vectors, rows, vectors);
    store_sums(sum, s, rows, vectors);
}

/* At most a chunk of blocks, and a tail. */
INLINE void multiply_plain(const part *p, const int vectors)
{
    __m256i *w = (__m256i *)p->wide->w;
    for (size_t b = 0; b < p->count; b++)
        w = widen_weights((const __m256i *)(p->w + p->blocks[b] * (size_t)(8 * vectors)), BLOCK, w, vectors);
    if (p->tail)
        widen_weights((const __m256i *)(p->w + p->blocks[p->count] * (size_t)(8 * vectors)), p->tail, w, vectors);
    const size_t all = p->tile->rows, tiles = (all + HIGH - 1) / HIGH;
    for (size_t i = 0, tile = 0, rows; tile < tiles; tile++, i += rows) {
        rows = all / tiles + (tile < all % tiles);
        switch (rows) {
        case 1: multiply_pairs(p, i, 1, vectors); break;
        case 2: multiply_pairs(p, i, 2, vectors); break;
        case 3: multiply_pairs(p, i, 3, vectors); break;
        case 4: multiply_pairs(p, i, 4, vectors); break;
        case 5: multiply_pairs(p, i, 5, vectors); break;
        default: multiply_pairs(p, i, 6, vectors); break;
        }
    }
}

/* Each loop in a function of its own: together they make gcc move registers and leave loops unaligned. */
#define APART static __attribute__((noinline)) void
APART plain_wide(const part *p) { multiply_plain(p, 2); }
APART plain_narrow(const part *p) { multiply_plain(p, 1); }
APART fours_wide(const part *p) { multiply_rows(p, 2, 2); }
APART fours_narrow(const part *p) { multiply_rows(p, 1, 2); }
APART eights_wide(const part *p) { multiply_rows(p, 2, 4); }
APART eights_narrow(const part *p) { multiply_rows(p, 1, 4); }

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

enum { PLAIN, FOURS, EIGHTS };

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
        switch (kind) {
        case EIGHTS: (vectors == 2 ? eights_wide : eights_narrow)(p); break;
        case FOURS: (vectors == 2 ? fours_wide : fours_narrow)(p); break;
        default: (vectors == 2 ? plain_wide : plain_narrow)(p);
        }
        p->from = p->sum;
        p->step = N;
    } while (done < way.count);
}

/* The sums of one panel: each block in the fastest way. */
INLINE void run_panel(const nnf_conv2d_q8_tile *t, const int32_t *panel, void *work, int32_t *sum, const int vectors)
{
    switch (t->rows) {
    case 1: multiply_few(t, panel, sum, 1, vectors); return;
    case 2: multiply_few(t, panel, sum, 2, vectors); return;
    case 3: multiply_few(t, panel, sum, 3, vectors); return;
    default: break;
    }
    pairs *wide = work;
    const size_t width = (size_t)(8 * vectors), blocks = (t->groups + BLOCK - 1) / BLOCK;
    const uint8_t *fours = nnf_conv2d_q8_limits(panel, width, t->groups);
    const uint8_t *eights = fours + nnf_conv2d_q8_blocks(t->groups);
    part p = {.tile = t, .a = t->a, .w = nnf_conv2d_q8_weights(panel, width), .wide = wide, .from = panel, .sum = sum};
    for (size_t b = 0; b < blocks; b += NNF_CONV2D_WAYS_BLOCKS, p.a += 4 * SLAB, p.w += 4 * SLAB * width) {
        nnf_conv2d_ways ways = nnf_conv2d_ways_of(t->groups, b);
        if (b < MEASURED)
            nnf_conv2d_ways_set(&ways, within(wide->largest + b, fours + b, blocks - b),
                                within(wide->largest + b, eights + b, blocks - b));
        else
            nnf_conv2d_ways_set(&ways, 0, 0);
        if (wide->slab != p.a)
            wide->widened = 0;
        wide->slab = p.a;
        if (ways.plain & ~wide->widened)
            widen_rows(t, p.a, ways.groups, ways.plain & ~wide->widened, wide->a);
        wide->widened |= ways.plain;
        run_way(&p, &ways, ways.eights, EIGHTS, vectors);
        run_way(&p, &ways, ways.fours, FOURS, vectors);
        run_way(&p, &ways, ways.plain, PLAIN, vectors);
    }
}

INLINE void run(const nnf_conv2d_q8_tile *t, const int raw)
{
    pairs p;
    p.slab = NULL;
    p.widened = 0;
    if (t->rows > FEW)
        measure(t, p.largest);
    nnf_conv2d_each_panel(t, raw, &p, p.sum, run_panel);
}

void nnf_conv2d_qu8_qs8c_nhwc__avx2_30x16k4(const nnf_conv2d_q8_tile *t)
{
    run(t, 0);
}

void nnf_conv2d_s32_qu8_qs8c_nhwc__avx2_30x16k4(const nnf_conv2d_q8_tile *t)
{
    run(t, 1);
}

/* Bytes 0..15 of a row of n: two parts of `size` bytes, which overlap. Returns their sum, of all bytes once. */
INLINE uint32_t move_two(const uint8_t *x, uint8_t *to, size_t n, const size_t size, uint64_t flips)
{
    uint64_t head = 0, tail = 0;
    memcpy(&head, x, size);
    memcpy(&tail, x + n - size, size);
    head ^= flips;
    tail ^= flips;
    memcpy(to, &head, size);
    memcpy(to + n - size, &tail, size);
    /* What of the tail is in the head as well goes out at the bottom; for n = size that is all of it. */
    tail = n == size ? 0 : tail >> (8 * (2 * size - n));
    const __m128i both = _mm_sad_epu8(_mm_set_epi64x((int64_t)tail, (int64_t)head), _mm_setzero_si128());
    return (uint32_t)(_mm_cvtsi128_si64(both) + _mm_extract_epi64(both, 1));
}

INLINE void gather_short(size_t rows, size_t n, const uint8_t *x, size_t ldx, uint64_t flips, uint8_t *to, size_t ldt,
                         uint32_t *sums, const size_t size)
{
    for (size_t i = 0; i < rows; i++, x += ldx, to += ldt) {
        const uint32_t sum = move_two(x, to, n, size, flips);
        if (sums)
            sums[i] += sum;
    }
}

/* Of a vector loaded at LAST + r, the last r bytes are set. */
static const uint8_t LAST[64] = {
    [32] = 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
    255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
};

/* Rows of 16..31 codes: two vectors, which overlap. */
INLINE void gather_middle(size_t rows, size_t n, const uint8_t *x, size_t ldx, __m128i flips, uint8_t *to, size_t ldt,
                          uint32_t *sums)
{
    const __m128i zero = _mm_setzero_si128(), mask = _mm_loadu_si128((const __m128i *)(LAST + 16 + (n - 16)));
    for (size_t i = 0; i < rows; i++, x += ldx, to += ldt) {
        const __m128i head = _mm_xor_si128(_mm_loadu_si128((const __m128i *)x), flips);
        const __m128i tail = _mm_xor_si128(_mm_loadu_si128((const __m128i *)(x + n - 16)), flips);
        _mm_storeu_si128((__m128i *)to, head);
        _mm_storeu_si128((__m128i *)(to + n - 16), tail);
        if (sums) {
            const __m128i all = _mm_add_epi64(_mm_sad_epu8(head, zero), _mm_sad_epu8(_mm_and_si128(tail, mask), zero));
            sums[i] += (uint32_t)(_mm_cvtsi128_si64(all) + _mm_extract_epi64(all, 1));
        }
    }
}

/* Rows of 32 codes and more: whole vectors, then one that overlaps. */
INLINE void gather_long(size_t rows, size_t n, const uint8_t *x, size_t ldx, __m256i flips, uint8_t *to, size_t ldt,
                        uint32_t *sums)
{
    const __m256i zero = _mm256_setzero_si256(), mask = _mm256_loadu_si256((const __m256i *)(LAST + n % 32));
    for (size_t i = 0; i < rows; i++, x += ldx, to += ldt) {
        __m256i sum = zero;
        for (size_t k = 0; k + 32 <= n; k += 32) {
            const __m256i codes = _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)(x + k)), flips);
            _mm256_storeu_si256((__m256i *)(to + k), codes);
            sum = _mm256_add_epi64(sum, _mm256_sad_epu8(codes, zero));
        }
        if (n % 32) {
            const __m256i codes = _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)(x + n - 32)), flips);
            _mm256_storeu_si256((__m256i *)(to + n - 32), codes);
            sum = _mm256_add_epi64(sum, _mm256_sad_epu8(_mm256_and_si256(codes, mask), zero));
        }
        if (sums) {
            const __m128i half = _mm_add_epi64(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
            sums[i] += (uint32_t)(_mm_cvtsi128_si64(half) + _mm_extract_epi64(half, 1));
        }
    }
}

void nnf_conv2d_gather_qu8_nhwc__avx2_32(size_t rows, size_t n, const uint8_t *x, size_t ldx, uint8_t flip,
                                         uint8_t *to, size_t ldt, uint32_t *sums)
{
    const uint64_t flips = flip * UINT64_C(0x0101010101010101);
    if (n >= 32)
        gather_long(rows, n, x, ldx, _mm256_set1_epi8((char)flip), to, ldt, sums);
    else if (n >= 16)
        gather_middle(rows, n, x, ldx, _mm_set1_epi8((char)flip), to, ldt, sums);
    else if (n >= 8)
        gather_short(rows, n, x, ldx, flips, to, ldt, sums, 8);
    else if (n >= 4)
        gather_short(rows, n, x, ldx, flips & UINT32_MAX, to, ldt, sums, 4);
    else if (n >= 2)
        gather_short(rows, n, x, ldx, flips & UINT16_MAX, to, ldt, sums, 2);
    else if (n)
        gather_short(rows, n, x, ldx, flips & UINT8_MAX, to, ldt, sums, 1);
}
