#include "conv2d.h"

#include <immintrin.h>
#include <string.h>

#include "conv2d_pairs_avx2.h"
#include "conv2d_requantize_avx2.h"
#include "nnf/unroll.h"

enum {
    M = 30,              /* rows that share widened weights */
    N = NNF_PAIRS_N,
    FEW = 3,             /* rows for which widening apart does not pay */
    THREE = 3,           /* rows whose sums of bytes are in registers at once */
    BLOCK = NNF_CONV2D_Q8_MARKED, /* groups of a vector */
    CHUNK = 8 * BLOCK,   /* groups of weights that are widened at once, 8 KB: they stay in the level 1 cache */
    SLAB = 4 * CHUNK,    /* groups of rows, 60 KB: they stream from level 2 */
    PITCH = 2 * SLAB + 2 * BLOCK
};

/* Codes and weights as pairs of 16 bits, for sums of two products: those of bytes would saturate. Of each block of
 * groups all pairs of even bytes stand before those of odd bytes. */
typedef struct pairs {
    _Alignas(64) int32_t w[2 * CHUNK * N], a[M * PITCH], sum[M * N];
} pairs;

INLINE size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Groups first..first+count-1 of all rows. */
static void widen_rows(const nnf_conv2d_q8_tile *t, size_t first, size_t count, int32_t *to)
{
    const __m256i low = _mm256_set1_epi16(0xFF), lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const size_t whole = count / BLOCK * BLOCK, rest = count - whole;
    const __m256i mask = _mm256_cmpgt_epi32(_mm256_set1_epi32((int)rest), lane);
    for (size_t i = 0; i < t->rows; i++, to += PITCH) {
        const uint8_t *a = t->a + i * t->lda + 4 * first;
        for (size_t g = 0; g < whole; g += BLOCK) {
            const __m256i codes = _mm256_loadu_si256((const __m256i *)(a + 4 * g));
            _mm256_storeu_si256((__m256i *)(to + 2 * g), _mm256_and_si256(codes, low));
            _mm256_storeu_si256((__m256i *)(to + 2 * g + BLOCK), _mm256_srli_epi16(codes, 8));
        }
        if (rest) {
            const __m256i codes = _mm256_maskload_epi32((const int *)(a + 4 * whole), mask);
            _mm256_storeu_si256((__m256i *)(to + 2 * whole), _mm256_and_si256(codes, low));
            _mm256_storeu_si256((__m256i *)(to + 2 * whole + rest), _mm256_srli_epi16(codes, 8));
        }
    }
}

INLINE void split(__m256i bytes, __m256i *even, __m256i *odd)
{
    *even = _mm256_srai_epi16(_mm256_slli_epi16(bytes, 8), 8);
    *odd = _mm256_srai_epi16(bytes, 8);
}

/* `count` groups of a panel. */
INLINE void widen_weights(const int8_t *w, size_t count, __m256i *to, const int vectors)
{
    for (size_t first = 0; first < count; first += BLOCK) {
        const size_t here = least(BLOCK, count - first);
        for (size_t g = 0; g < here; g++, w += 32 * vectors, to += vectors) {
            NNF_UNROLL
            for (int v = 0; v < vectors; v++)
                split(_mm256_load_si256((const __m256i *)w + v), to + v, to + here * (size_t)vectors + v);
        }
        to += here * (size_t)vectors;
    }
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

/* Products of the bytes of a group, added by twos and then to those of the groups before, in 16 bits: what the marks of
 * a panel allow. is_first: there are none before. */
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
    else {
        x = _mm256_maddubs_epi16(_mm256_set1_epi32(*(const group *)a), w0);
        *low = is_first ? x : _mm256_add_epi16(*low, x);
    }
}

/* Sums of `rows` rows over `count` groups of unwidened codes at a, added to `from`. */
INLINE void multiply_bytes(const uint8_t *a, size_t lda, const __m256i *w, size_t count, const int32_t *from,
                           size_t step, int32_t *sum, const int rows, const int vectors, const int each)
{
    static const int16_t ones[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    __m256i s[THREE][2];
    NNF_UNROLL
    for (int i = 0; i < rows; i++) {
        NNF_UNROLL
        for (int v = 0; v < vectors; v++)
            s[i][v] = ((const __m256i *)(from + (size_t)i * step))[v];
    }
    for (size_t g = 0; g < count; g += (size_t)each, a += 4 * each, w += each * vectors) {
        __m256i part[THREE][2];
        NNF_UNROLL
        for (int k = 0; k < each; k++) {
            const __m256i w0 = w[k * vectors], w1 = w[(k + 1) * vectors - 1];
            NNF_UNROLL
            for (int i = 0; i < rows; i++)
                add_bytes(&part[i][0], &part[i][1], a + (size_t)i * lda + 4 * k, w0, w1, vectors, k == 0);
        }
        NNF_UNROLL
        for (int i = 0; i < rows; i++) {
            NNF_UNROLL
            for (int v = 0; v < vectors; v++) {
                __m256i x = part[i][v];
                __asm__("vpmaddwd %2, %0, %0\n\t"
                        "vpaddd %0, %1, %1"
                        : "+x"(x), "+x"(s[i][v])
                        : "m"(ones));
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

/* A run of groups of a panel, all of one mark: the sums of all rows from `from`, which lies `step` further for each. */
typedef struct stretch {
    const nnf_conv2d_q8_tile *tile;
    const pairs *pairs;
    const int8_t *weights;   /* of the panel */
    size_t first, count, at; /* groups of the run, and pair of the widened rows where it begins */
    const int32_t *from;
    size_t step;
    int32_t *sum;
} stretch;

INLINE void multiply_plain(const stretch *s, const int vectors)
{
    const nnf_pairs run = {.a = s->pairs->a + s->at, .pitch = PITCH, .w = (const __m256i *)s->pairs->w,
                           .count = s->count, .from = s->from, .step = s->step, .sum = s->sum};
    nnf_pairs_rows(&run, s->tile->rows, vectors);
}

INLINE void multiply_marked(const stretch *s, const int vectors, const int each)
{
    const nnf_conv2d_q8_tile *t = s->tile;
    const __m256i *w = (const __m256i *)s->weights + s->first * (size_t)vectors;
    const int32_t *from = s->from;
    int32_t *sum = s->sum;
    for (size_t i = 0; i < t->rows; i += THREE, sum += THREE * N, from += THREE * s->step) {
        const uint8_t *a = t->a + i * t->lda + 4 * s->first;
        switch (t->rows - i) {
        case 1: multiply_bytes(a, t->lda, w, s->count, from, s->step, sum, 1, vectors, each); break;
        case 2: multiply_bytes(a, t->lda, w, s->count, from, s->step, sum, 2, vectors, each); break;
        default: multiply_bytes(a, t->lda, w, s->count, from, s->step, sum, 3, vectors, each); break;
        }
    }
}

/* Each loop in a function of its own: together they make gcc move registers and leave loops unaligned. */
#define APART static __attribute__((noinline)) void
APART plain_wide(const stretch *s) { multiply_plain(s, 2); }
APART plain_narrow(const stretch *s) { multiply_plain(s, 1); }
APART fours_wide(const stretch *s) { multiply_marked(s, 2, 2); }
APART fours_narrow(const stretch *s) { multiply_marked(s, 1, 2); }
APART eights_wide(const stretch *s) { multiply_marked(s, 2, 4); }
APART eights_narrow(const stretch *s) { multiply_marked(s, 1, 4); }

/* The sums of one panel. Rows of one slab are widened already. */
INLINE void run_panel(const nnf_conv2d_q8_tile *t, const int32_t *panel, void *work, int32_t *sum, const int vectors)
{
    pairs *p = work;
    switch (t->rows) {
    case 1: multiply_few(t, panel, sum, 1, vectors); return;
    case 2: multiply_few(t, panel, sum, 2, vectors); return;
    case 3: multiply_few(t, panel, sum, 3, vectors); return;
    default: break;
    }
    const int8_t *w = nnf_conv2d_q8_weights(panel, (size_t)(8 * vectors));
    size_t widened = t->groups > SLAB ? SIZE_MAX : 0;
    for (size_t first = 0, count; first < t->groups; first += count) {
        const int mark = nnf_conv2d_q8_mark(panel, (size_t)(8 * vectors), first);
        const size_t slab = first / SLAB * SLAB;
        const size_t most = mark == NNF_CONV2D_Q8_PLAIN ? least(first / CHUNK * CHUNK + CHUNK, t->groups) : t->groups;
        size_t last = first + BLOCK;
        while (last < most && nnf_conv2d_q8_mark(panel, (size_t)(8 * vectors), last) == mark)
            last += BLOCK;
        count = least(last, most) - first;
        const stretch run = {.tile = t, .pairs = p, .weights = w, .first = first, .count = count,
                             .at = 2 * (first - slab), .from = first ? sum : panel, .step = first ? N : 0, .sum = sum};
        switch (mark) {
        case NNF_CONV2D_Q8_FOURS: (vectors == 2 ? fours_wide : fours_narrow)(&run); break;
        case NNF_CONV2D_Q8_EIGHTS: (vectors == 2 ? eights_wide : eights_narrow)(&run); break;
        default:
            if (widened != slab)
                widen_rows(t, slab, least(SLAB, t->groups - slab), p->a);
            widened = slab;
            widen_weights(w + first * (size_t)(32 * vectors), count, (__m256i *)p->w, vectors);
            (vectors == 2 ? plain_wide : plain_narrow)(&run);
        }
    }
}

INLINE void run(const nnf_conv2d_q8_tile *t, const int raw)
{
    pairs p;
    if (t->rows > FEW && t->groups <= SLAB)
        widen_rows(t, 0, t->groups, p.a);
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
