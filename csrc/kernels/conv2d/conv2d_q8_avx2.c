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
    BLOCK = 8,           /* groups of a vector */
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
    for (size_t first = 0; first < t->groups; first += CHUNK) {
        const size_t count = least(CHUNK, t->groups - first), from = first % SLAB;
        if (from == 0 && t->groups > SLAB)
            widen_rows(t, first, least(SLAB, t->groups - first), p->a);
        widen_weights(w + first * (size_t)(32 * vectors), count, (__m256i *)p->w, vectors);
        const nnf_pairs run = {.a = p->a + 2 * from, .pitch = PITCH, .w = (const __m256i *)p->w, .count = count,
                               .from = first ? sum : panel, .step = first ? N : 0, .sum = sum};
        nnf_pairs_rows(&run, t->rows, vectors);
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
