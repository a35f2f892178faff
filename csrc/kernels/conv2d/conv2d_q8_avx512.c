#include "conv2d.h"

#include <immintrin.h>
#include <string.h>

#include "conv2d_requantize_avx512.h"
#include "conv2d_ways.h"
#include "nnf/unroll.h"

enum {
    M = 24,
    N = 32,
    HIGH = 8,            /* rows of a strip, whose sums of pairs are in registers at once */
    HALF = 4,            /* those of bytes */
    BLOCK = NNF_CONV2D_Q8_LIMITED,
    MEASURED = 8 * NNF_CONV2D_WAYS_BLOCKS, /* blocks whose largest codes are looked for; behind them there may be any */
    SHALLOW = 8          /* groups for which lists do not pay */
};

/* The largest code of each block, of some rows. */
static void measure(const uint8_t *a, size_t lda, size_t rows, size_t groups, uint8_t *largest)
{
    for (size_t g = 0; g < groups; g += 4 * BLOCK, a += 64, largest += 4) {
        const __mmask16 mask = (__mmask16)(groups - g < 16 ? 0xFFFF >> (16 - (groups - g)) : 0xFFFF);
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

/* Blocks of a panel whose products are added in one way, to the sums of all rows. */
typedef struct part {
    nnf_conv2d_way way;
    const uint8_t *a; /* codes of the first row, where the blocks are counted from */
    const int8_t *w;  /* of the panel, there too */
    size_t lda, rows;
    __m512i (*sum)[2];
} part;

typedef int32_t group __attribute__((aligned(1), may_alias));

INLINE __m512i four(const uint8_t *a)
{
    return _mm512_set1_epi32(*(const group *)a);
}

/* `each` groups of `rows` rows, in 16 bits. */
INLINE void add_groups(__m512i s[HALF][2], const uint8_t *a, size_t lda, const __m512i *w, const int rows,
                       const int vectors, const int each)
{
    const __m512i ones = _mm512_set1_epi16(1);
    __m512i sums[HALF][2];
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

INLINE void multiply_bytes(const part *p, size_t row, const int rows, const int vectors, const int each)
{
    const uint8_t *a = p->a + row * p->lda;
    __m512i s[HALF][2];
    NNF_UNROLL
    for (int i = 0; i < rows; i++) {
        NNF_UNROLL
        for (int v = 0; v < vectors; v++)
            s[i][v] = p->sum[row + (size_t)i][v];
    }
    for (size_t b = 0; b < p->way.count; b++) {
        const size_t at = p->way.blocks[b];
        const __m512i *w = (const __m512i *)(p->w + at * (size_t)(16 * vectors));
        const uint8_t *block = a + at;
        size_t ld = p->lda;
        /* Else gcc keeps an address for each code of each row, on the stack. */
        __asm__("" : "+r"(block), "+r"(ld));
        NNF_UNROLL
        for (int g = 0; g < BLOCK; g += each)
            add_groups(s, block + 4 * g, ld, w + g * vectors, rows, vectors, each);
    }
    if (each < BLOCK && p->way.tail) {
        const size_t at = p->way.blocks[p->way.count];
        add_groups(s, a + at, p->lda, (const __m512i *)(p->w + at * (size_t)(16 * vectors)), rows, vectors, each);
    }
    NNF_UNROLL
    for (int i = 0; i < rows; i++) {
        NNF_UNROLL
        for (int v = 0; v < vectors; v++)
            p->sum[row + (size_t)i][v] = s[i][v];
    }
}

INLINE void multiply_rows(const part *p, const int vectors, const int each)
{
    const size_t tiles = (p->rows + HALF - 1) / HALF;
    for (size_t i = 0, tile = 0, rows; tile < tiles; tile++, i += rows) {
        rows = p->rows / tiles + (tile < p->rows % tiles);
        switch (rows) {
        case 1: multiply_bytes(p, i, 1, vectors, each); break;
        case 2: multiply_bytes(p, i, 2, vectors, each); break;
        case 3: multiply_bytes(p, i, 3, vectors, each); break;
        default: multiply_bytes(p, i, 4, vectors, each); break;
        }
    }
}

/* A group of `rows` rows, even and odd bytes widened and multiplied apart. */
INLINE void add_pairs(__m512i s[HIGH][2], const uint8_t *a, size_t lda, const __m512i *w, const int rows,
                      const int vectors)
{
    __m512i even[2], odd[2];
    NNF_UNROLL
    for (int v = 0; v < vectors; v++) {
        even[v] = _mm512_srai_epi16(_mm512_slli_epi16(w[v], 8), 8);
        odd[v] = _mm512_srai_epi16(w[v], 8);
    }
    NNF_UNROLL
    for (int i = 0; i < rows; i++) {
        const __m512i x = four(a + (size_t)i * lda);
        const __m512i x_even = _mm512_maskz_mov_epi8(UINT64_C(0x5555555555555555), x);
        const __m512i x_odd = _mm512_srli_epi16(x, 8);
        NNF_UNROLL
        for (int v = 0; v < vectors; v++) {
            s[i][v] = _mm512_add_epi32(s[i][v], _mm512_madd_epi16(x_even, even[v]));
            s[i][v] = _mm512_add_epi32(s[i][v], _mm512_madd_epi16(x_odd, odd[v]));
        }
    }
}

INLINE void multiply_pairs(const part *p, const int rows, const int vectors)
{
    const size_t blocks = p->way.count + (p->way.tail != 0);
    __m512i s[HIGH][2];
    NNF_UNROLL
    for (int i = 0; i < rows; i++) {
        NNF_UNROLL
        for (int v = 0; v < vectors; v++)
            s[i][v] = p->sum[i][v];
    }
    for (size_t b = 0; b < blocks; b++) {
        const size_t at = p->way.blocks[b], groups = b < p->way.count ? BLOCK : p->way.tail;
        const __m512i *w = (const __m512i *)(p->w + at * (size_t)(16 * vectors));
        for (size_t g = 0; g < groups; g++)
            add_pairs(s, p->a + at + 4 * g, p->lda, w + g * (size_t)vectors, rows, vectors);
    }
    NNF_UNROLL
    for (int i = 0; i < rows; i++) {
        NNF_UNROLL
        for (int v = 0; v < vectors; v++)
            p->sum[i][v] = s[i][v];
    }
}

INLINE void multiply_plain(const part *p, const int vectors)
{
    switch (p->rows) {
    case 1: multiply_pairs(p, 1, vectors); break;
    case 2: multiply_pairs(p, 2, vectors); break;
    case 3: multiply_pairs(p, 3, vectors); break;
    case 4: multiply_pairs(p, 4, vectors); break;
    case 5: multiply_pairs(p, 5, vectors); break;
    case 6: multiply_pairs(p, 6, vectors); break;
    case 7: multiply_pairs(p, 7, vectors); break;
    default: multiply_pairs(p, 8, vectors); break;
    }
}

/* Each loop in a function of its own, as at AVX2. */
#define APART static __attribute__((noinline)) void
APART plain_wide(const part *p) { multiply_plain(p, 2); }
APART plain_narrow(const part *p) { multiply_plain(p, 1); }
APART fours_wide(const part *p) { multiply_rows(p, 2, 2); }
APART fours_narrow(const part *p) { multiply_rows(p, 1, 2); }
APART eights_wide(const part *p) { multiply_rows(p, 2, 4); }
APART eights_narrow(const part *p) { multiply_rows(p, 1, 4); }

/* `rows` rows of a panel of few groups. */
INLINE void multiply_shallow(const nnf_conv2d_q8_tile *t, __m512i sum[HIGH][2], const int rows, const int vectors)
{
    const __m512i *w = (const __m512i *)nnf_conv2d_q8_weights(t->w, (size_t)(16 * vectors));
    __m512i s[HIGH][2];
    NNF_UNROLL
    for (int i = 0; i < rows; i++) {
        NNF_UNROLL
        for (int v = 0; v < vectors; v++)
            s[i][v] = sum[i][v];
    }
    for (size_t g = 0; g < t->groups; g++)
        add_pairs(s, t->a + 4 * g, t->lda, w + g * (size_t)vectors, rows, vectors);
    NNF_UNROLL
    for (int i = 0; i < rows; i++) {
        NNF_UNROLL
        for (int v = 0; v < vectors; v++)
            sum[i][v] = s[i][v];
    }
}

/* `rows` rows of a panel whose products can all be added by fours: nothing to list. */
INLINE void multiply_fours(const nnf_conv2d_q8_tile *t, __m512i sum[HIGH][2], const int rows, const int vectors)
{
    const __m512i *w = (const __m512i *)nnf_conv2d_q8_weights(t->w, (size_t)(16 * vectors));
    const uint8_t *a = t->a;
    __m512i s[HIGH][2];
    NNF_UNROLL
    for (int i = 0; i < rows; i++) {
        NNF_UNROLL
        for (int v = 0; v < vectors; v++)
            s[i][v] = sum[i][v];
    }
    for (size_t g = 0; g < t->groups; g += 2, a += 8, w += 2 * vectors) {
        add_groups(s, a, t->lda, w, rows < HALF ? rows : HALF, vectors, 2);
        if (rows > HALF)
            add_groups(s + HALF, a + HALF * t->lda, t->lda, w, rows - HALF, vectors, 2);
    }
    NNF_UNROLL
    for (int i = 0; i < rows; i++) {
        NNF_UNROLL
        for (int v = 0; v < vectors; v++)
            sum[i][v] = s[i][v];
    }
}

/* One way for all groups. */
INLINE void multiply_all(const nnf_conv2d_q8_tile *t, __m512i sum[HIGH][2], const int fours, const int rows,
                         const int vectors)
{
    if (fours)
        multiply_fours(t, sum, rows, vectors);
    else
        multiply_shallow(t, sum, rows, vectors);
}

INLINE void each_row_count(const nnf_conv2d_q8_tile *t, __m512i sum[HIGH][2], const int fours, const int vectors)
{
    switch (t->rows) {
    case 1: multiply_all(t, sum, fours, 1, vectors); break;
    case 2: multiply_all(t, sum, fours, 2, vectors); break;
    case 3: multiply_all(t, sum, fours, 3, vectors); break;
    case 4: multiply_all(t, sum, fours, 4, vectors); break;
    case 5: multiply_all(t, sum, fours, 5, vectors); break;
    case 6: multiply_all(t, sum, fours, 6, vectors); break;
    case 7: multiply_all(t, sum, fours, 7, vectors); break;
    default: multiply_all(t, sum, fours, 8, vectors); break;
    }
}

APART all_fours_wide(const nnf_conv2d_q8_tile *t, __m512i sum[HIGH][2]) { each_row_count(t, sum, 1, 2); }
APART all_fours_narrow(const nnf_conv2d_q8_tile *t, __m512i sum[HIGH][2]) { each_row_count(t, sum, 1, 1); }
APART shallow_wide(const nnf_conv2d_q8_tile *t, __m512i sum[HIGH][2]) { each_row_count(t, sum, 0, 2); }
APART shallow_narrow(const nnf_conv2d_q8_tile *t, __m512i sum[HIGH][2]) { each_row_count(t, sum, 0, 1); }

INLINE void finish(const nnf_conv2d_q8_tile *t, __m512i sum[HIGH][2], const int rows, const int vectors, const int raw)
{
    if (raw)
        nnf_conv2d_store_s32(t, rows, vectors, sum);
    else
        nnf_conv2d_finish_tile(t, rows, vectors, sum);
}

/* A strip of one panel, each block in the fastest way. */
INLINE void run_strip(const nnf_conv2d_q8_tile *t, const uint8_t *largest, const int vectors, const int raw)
{
    const size_t width = (size_t)(16 * vectors), blocks = (t->groups + BLOCK - 1) / BLOCK;
    const uint8_t *fours = nnf_conv2d_q8_limits(t->w, width, t->groups);
    const uint8_t *eights = fours + nnf_conv2d_q8_blocks(t->groups);
    __m512i sum[HIGH][2];
    part p = {.a = t->a, .w = nnf_conv2d_q8_weights(t->w, width), .lda = t->lda, .rows = t->rows, .sum = sum};
    for (int i = 0; i < HIGH; i++) {
        NNF_UNROLL
        for (int v = 0; v < vectors; v++)
            sum[i][v] = _mm512_load_si512(t->w + 16 * v);
    }
    for (size_t b = 0; b < blocks; b += NNF_CONV2D_WAYS_BLOCKS) {
        nnf_conv2d_ways ways = nnf_conv2d_ways_of(t->groups, b);
        const __m512i most = b < MEASURED ? _mm512_load_si512(largest + b) : _mm512_set1_epi8(-1);
        nnf_conv2d_ways_set(&ways, _mm512_cmple_epu8_mask(most, _mm512_maskz_loadu_epi8(ways.all, fours + b)),
                            _mm512_cmple_epu8_mask(most, _mm512_maskz_loadu_epi8(ways.all, eights + b)));
        if (blocks <= NNF_CONV2D_WAYS_BLOCKS && !ways.plain && t->groups % 2 == 0) {
            (vectors == 2 ? all_fours_wide : all_fours_narrow)(t, sum);
            break;
        }
        if (t->groups <= SHALLOW) {
            (vectors == 2 ? shallow_wide : shallow_narrow)(t, sum);
            break;
        }
        if (nnf_conv2d_way_of(&p.way, &ways, ways.eights))
            (vectors == 2 ? eights_wide : eights_narrow)(&p);
        if (nnf_conv2d_way_of(&p.way, &ways, ways.fours))
            (vectors == 2 ? fours_wide : fours_narrow)(&p);
        if (nnf_conv2d_way_of(&p.way, &ways, ways.plain))
            (vectors == 2 ? plain_wide : plain_narrow)(&p);
        p.a += 4 * ways.groups;
        p.w += 4 * ways.groups * width;
    }
    switch (t->rows) {
    case 1: finish(t, sum, 1, vectors, raw); break;
    case 2: finish(t, sum, 2, vectors, raw); break;
    case 3: finish(t, sum, 3, vectors, raw); break;
    case 4: finish(t, sum, 4, vectors, raw); break;
    case 5: finish(t, sum, 5, vectors, raw); break;
    case 6: finish(t, sum, 6, vectors, raw); break;
    case 7: finish(t, sum, 7, vectors, raw); break;
    default: finish(t, sum, 8, vectors, raw); break;
    }
}

/* All strips of all panels. */
INLINE void run(const nnf_conv2d_q8_tile *t, const int raw)
{
    _Alignas(64) uint8_t largest[M / HIGH][MEASURED];
    const size_t strips = (t->rows + HIGH - 1) / HIGH, size = raw ? 4 : 1;
    nnf_conv2d_q8_tile strip = *t;
    for (size_t s = 0, row = 0; s < strips; s++, row += strip.rows) {
        strip.rows = t->rows / strips + (s < t->rows % strips);
        measure(t->a + row * t->lda, t->lda, strip.rows, t->groups < MEASURED * BLOCK ? t->groups : MEASURED * BLOCK,
                largest[s]);
    }
    for (size_t j = 0; j < t->columns; j += N, strip.w += nnf_conv2d_q8_panel(N, t->groups) / 4) {
        strip.columns = t->columns - j < N ? t->columns - j : N;
        for (size_t s = 0, row = 0; s < strips; s++, row += strip.rows) {
            strip.rows = t->rows / strips + (s < t->rows % strips);
            strip.a = t->a + row * t->lda;
            strip.c = t->c + (row * t->ldc + j) * size;
            strip.offset = t->offset ? t->offset + row : NULL;
            if (nnf_conv2d_width(strip.columns, N) == N)
                run_strip(&strip, largest[s], 2, raw);
            else
                run_strip(&strip, largest[s], 1, raw);
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
