#include "conv2d.h"

#include <immintrin.h>
#include <string.h>

#include "conv2d_requantize_avx512.h"
#include "nnf/tiles.h"

#define INLINE static inline __attribute__((always_inline))

enum {
    N = 32,
    FEW = 4,    /* rows below which setting up tiles costs more than they save */
    BLOCK = 32, /* rows of sums that wait to become codes */
    HALF = 1 << 30,
};

void nnf_conv2d_qu8_qs8c_nhwc__avx512vnni_12x32k4(const nnf_conv2d_q8_tile *t);

/* What requantization of a simple panel needs, by even and odd columns, for sums x that stand as x + 2^30 >= 0. Both
 * roundings, the shift and the zero point are one sum, as floor(floor(a) / b) = floor(a / b):
 *   code = (floor((x + 2^30) m / 2^30) + terms - 2 (x < 0)) >> (right + 1)
 *   terms = 1 - m + 2^right + zero_point 2^(right + 1)
 * The product's high half is one instruction for factors of 52 bits: 2^8 (x + 2^30) and 2^14 m. */
typedef struct scale {
    __m512i factor[2][2], terms[2][2], right[2];
    __m512i half, two, lo, hi, flip, order;
    __mmask64 bytes;
    __mmask16 odd_lanes;
    __mmask32 columns;
} scale;

/* A block of sums that waits for its requantization, [rows][16 * vectors], the rows in pairs. */
typedef struct pending {
    const int32_t *sums;
    uint8_t *c;
    int rows, done;
} pending;

INLINE scale scale_of(const nnf_conv2d_q8_tile *t, const int vectors)
{
    scale s;
    const __m512i one = _mm512_set1_epi32(1), low = _mm512_set1_epi64(0xFFFFFFFF);
    const __m512i zero_point = _mm512_set1_epi64(t->zero_point);
    NNF_UNROLL
    for (int v = 0; v < vectors; v++) {
        const int32_t *header = t->w + 16 * v;
        const __m512i m = _mm512_load_si512(header + NNF_CONV2D_Q8_MULTIPLIER * 16 * vectors);
        const __m512i right = _mm512_load_si512(header + NNF_CONV2D_Q8_RIGHT * 16 * vectors);
        NNF_UNROLL
        for (int odd = 0; odd < 2; odd++) {
            const __m512i shift = odd ? _mm512_srli_epi64(right, 32) : _mm512_and_si512(right, low);
            const __m512i factor = odd ? _mm512_srli_epi64(m, 32) : _mm512_and_si512(m, low);
            const __m512i one_64 = _mm512_set1_epi64(1);
            const __m512i code = _mm512_add_epi64(_mm512_add_epi64(zero_point, zero_point), one_64);
            s.factor[v][odd] = _mm512_slli_epi64(factor, 14);
            s.terms[v][odd] = _mm512_add_epi64(_mm512_sub_epi64(one_64, factor), _mm512_sllv_epi64(code, shift));
        }
        s.right[v] = _mm512_add_epi32(right, one);
    }
    s.half = _mm512_set1_epi32(HALF);
    s.two = _mm512_set1_epi32(2);
    s.lo = _mm512_set1_epi8((char)t->lo);
    s.hi = _mm512_set1_epi8((char)t->hi);
    s.flip = _mm512_set1_epi8((char)t->flip);
    s.order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    s.bytes = 0x1E1E1E1E1E1E1E1E;
    s.odd_lanes = 0xAAAA;
    s.columns = (__mmask32)(UINT64_C(0xFFFFFFFF) >> (32 - t->columns));
    return s;
}

/* 16 sums at x to codes that are yet to be clamped. below: codes below the zero point are wanted as well; without them
 * the sign of the sum does not matter, as every negative one ends at the zero point. */
INLINE __m512i scaled(const scale *s, const int v, const int below, const int32_t *x)
{
    const __m512i even = _mm512_madd52hi_epu64(
        s->terms[v][0], _mm512_maskz_loadu_epi8(s->bytes, (const char *)x - 1), s->factor[v][0]);
    const __m512i odd = _mm512_madd52hi_epu64(
        s->terms[v][1], _mm512_maskz_loadu_epi8(s->bytes, (const char *)x + 3), s->factor[v][1]);
    __m512i y = _mm512_mask_shuffle_epi32(even, s->odd_lanes, odd, _MM_PERM_CCAA);
    if (below)
        y = _mm512_mask_sub_epi32(y, _mm512_cmplt_epi32_mask(_mm512_load_si512(x), s->half), y, s->two);
    return _mm512_srav_epi32(y, s->right[v]);
}

/* Two rows of sums to codes. */
INLINE void finish_pair(const scale *s, const int vectors, const int below, const int32_t *x, uint8_t *c, size_t ldc)
{
    const int last = N / 2 * (vectors - 1);
    const __m512i first =
        _mm512_packs_epi32(scaled(s, 0, below, x), scaled(s, vectors - 1, below, x + last));
    const __m512i second =
        _mm512_packs_epi32(scaled(s, 0, below, x + N), scaled(s, vectors - 1, below, x + N + last));
    __m512i codes = _mm512_packus_epi16(first, second);
    codes = _mm512_xor_si512(_mm512_min_epu8(_mm512_max_epu8(codes, s->lo), s->hi), s->flip);
    codes = _mm512_permutexvar_epi32(s->order, codes);
    _mm256_mask_storeu_epi8(c, s->columns, _mm512_castsi512_si256(codes));
    _mm256_mask_storeu_epi8(c + ldc, s->columns, _mm512_extracti64x4_epi64(codes, 1));
}

/* What the requantization of all blocks of a call shares. */
typedef struct finish {
    scale simple;
    nnf_conv2d_finish any;
    size_t ldc;
} finish;

/* Requantizes the next `pairs` pairs of rows; the last pair of an odd number of rows repeats a row. */
typedef void (*drain_fn)(const finish *f, pending *p, int pairs);

INLINE void drain(const finish *f, pending *p, int pairs, const int vectors, const int below)
{
    const scale s = f->simple;
    const size_t ldc = f->ldc;
    const int32_t *sums = p->sums;
    uint8_t *const c = p->c;
    const int rows = p->rows;
    int row = p->done;
    for (; pairs && row < rows; pairs--, row += 2) {
        const int at = row + 2 <= rows ? row : rows - 2;
        finish_pair(&s, vectors, below, sums + N * at, c + (size_t)at * ldc, ldc);
    }
    p->done = row;
}

INLINE void drain_any(const finish *f, pending *p, int pairs, const int vectors)
{
    for (; pairs && p->done < p->rows; pairs--, p->done += 2) {
        const int at = p->done + 2 <= p->rows ? p->done : p->rows - 2;
        const int32_t *x = p->sums + N * at;
        const __m512i sum[2][2] = {{_mm512_load_si512(x), _mm512_load_si512(x + N / 2)},
                                   {_mm512_load_si512(x + N), _mm512_load_si512(x + N + N / 2)}};
        nnf_conv2d_store(&f->any, p->c + (size_t)at * f->ldc, f->ldc, 1, vectors, 0, sum);
    }
}

static void drain_half(const finish *f, pending *p, int pairs) { drain(f, p, pairs, 1, 0); }
static void drain_whole(const finish *f, pending *p, int pairs) { drain(f, p, pairs, 2, 0); }
static void drain_half_below(const finish *f, pending *p, int pairs) { drain(f, p, pairs, 1, 1); }
static void drain_whole_below(const finish *f, pending *p, int pairs) { drain(f, p, pairs, 2, 1); }
static void drain_half_any(const finish *f, pending *p, int pairs) { drain_any(f, p, pairs, 1); }
static void drain_whole_any(const finish *f, pending *p, int pairs) { drain_any(f, p, pairs, 2); }

/* A block of one or two tiles of rows, the second from row `second`, by one or two of columns: sums [rows][N]. start:
 * what sums begin with, rows `pitch` bytes apart. Between its steps of depth the block before becomes codes. */
INLINE void block(const nnf_conv2d_q8_tile *t, const uint8_t *a, const int two, size_t second, const int vectors,
                  const int32_t *start, size_t pitch, int32_t *sums, const finish *f, pending *before, drain_fn finish_rows)
{
    const size_t lda = t->lda, ldw = (size_t)(64 * vectors), ldc = 4 * N;
    const int8_t *w = nnf_conv2d_q8_weights(t->w, (size_t)(16 * vectors));
    const uint8_t *below = a + second * lda;
    const int steps = (int)((t->groups + 15) / 16), pairs = (before->rows + 1) / 2, each = (pairs + steps - 1) / steps;
    const char *lower = (const char *)start + second * pitch;
    __asm__ volatile("" : : : "memory"); /* the compiler does not know that a tile load reads memory */
    _tile_loadd(0, start, pitch);
    if (vectors == 2)
        _tile_loadd(1, start + N / 2, pitch);
    if (two)
        _tile_loadd(2, lower, pitch);
    if (two && vectors == 2)
        _tile_loadd(3, lower + 2 * N, pitch);
    for (int s = 0; s < steps; s++, a += 64, below += 64, w += 16 * ldw) {
        _tile_loadd(6, w, ldw);
        _tile_loadd(4, a, lda);
        _tile_dpbusd(0, 4, 6);
        if (vectors == 2) {
            _tile_loadd(7, w + 64, ldw);
            _tile_dpbusd(1, 4, 7);
        }
        if (two) {
            _tile_loadd(5, below, lda);
            _tile_dpbusd(2, 5, 6);
        }
        if (two && vectors == 2)
            _tile_dpbusd(3, 5, 7);
        finish_rows(f, before, each);
    }
    _tile_stored(0, sums, ldc);
    if (vectors == 2)
        _tile_stored(1, sums + N / 2, ldc);
    if (two)
        _tile_stored(2, sums + second * N, ldc);
    if (two && vectors == 2)
        _tile_stored(3, sums + second * N + N / 2, ldc);
}

static void block_1x1(const nnf_conv2d_q8_tile *t, const uint8_t *a, size_t second, const int32_t *start, size_t pitch,
                      int32_t *sums, const finish *f, pending *before, drain_fn finish_rows)
{
    block(t, a, 0, second, 1, start, pitch, sums, f, before, finish_rows);
}

static void block_1x2(const nnf_conv2d_q8_tile *t, const uint8_t *a, size_t second, const int32_t *start, size_t pitch,
                      int32_t *sums, const finish *f, pending *before, drain_fn finish_rows)
{
    block(t, a, 0, second, 2, start, pitch, sums, f, before, finish_rows);
}

static void block_2x1(const nnf_conv2d_q8_tile *t, const uint8_t *a, size_t second, const int32_t *start, size_t pitch,
                      int32_t *sums, const finish *f, pending *before, drain_fn finish_rows)
{
    block(t, a, 1, second, 1, start, pitch, sums, f, before, finish_rows);
}

static void block_2x2(const nnf_conv2d_q8_tile *t, const uint8_t *a, size_t second, const int32_t *start, size_t pitch,
                      int32_t *sums, const finish *f, pending *before, drain_fn finish_rows)
{
    block(t, a, 1, second, 2, start, pitch, sums, f, before, finish_rows);
}

/* bias[j] + half + offset[i] for each row and column of a block. */
static void start_rows(const int32_t *offset, size_t rows, const int32_t *bias, int32_t *start)
{
    const __m512i low = _mm512_load_si512(bias), high = _mm512_load_si512(bias + N / 2);
    for (size_t i = 0; i < rows; i++) {
        const __m512i more = _mm512_set1_epi32(offset[i]);
        _mm512_store_si512(start + N * i, _mm512_add_epi32(low, more));
        _mm512_store_si512(start + N * i + N / 2, _mm512_add_epi32(high, more));
    }
}

void nnf_conv2d_qu8_qs8c_nhwc__avx512amx_256x32k64(const nnf_conv2d_q8_tile *t)
{
    if (t->rows < FEW) {
        nnf_conv2d_qu8_qs8c_nhwc__avx512vnni_12x32k4(t);
        return;
    }
    _Alignas(64) int32_t sums[2][BLOCK * N], bias[N];
    const int vectors = nnf_conv2d_width(t->columns, N) == N ? 2 : 1;
    const int simple = *nnf_conv2d_q8_simple(t->w, (size_t)(16 * vectors)), below = t->lo < t->zero_point;
    finish f = {.ldc = t->ldc};
    if (simple)
        f.simple = vectors == 2 ? scale_of(t, 2) : scale_of(t, 1);
    else
        f.any = vectors == 2 ? nnf_conv2d_finish_of(t, 2) : nnf_conv2d_finish_of(t, 1);
    static const drain_fn drains[2][3] = {{drain_half_any, drain_half, drain_half_below},
                                          {drain_whole_any, drain_whole, drain_whole_below}};
    const drain_fn finish_rows = drains[vectors - 1][simple ? 1 + below : 0];
    const __m512i half = _mm512_set1_epi32(simple ? HALF : 0);
    for (int v = 0; v < 2; v++)
        _mm512_store_si512(bias + 16 * v, _mm512_add_epi32(_mm512_load_si512(t->w + 16 * (v < vectors ? v : 0)), half));
    /* Tiles of equal height, in pairs; the last ones overlap where that is not enough rows. */
    const size_t tiles = t->rows <= 16 ? 1 : (t->rows + BLOCK - 1) / BLOCK * 2, height = (t->rows + tiles - 1) / tiles;
    nnf_tiles_shape((int)height, t->groups < 16 ? (int)(4 * t->groups) : 64);
    pending before = {.rows = 0};
    for (size_t i = 0; i < tiles; i += 2) {
        const size_t last = t->rows - height;
        const size_t first = i * height < last ? i * height : last;
        const size_t second = (i + 1) * height < last ? height : last - first;
        int32_t *here = sums[i / 2 % 2];
        const int32_t *start = bias;
        size_t pitch = 0;
        if (t->offset) {
            start_rows(t->offset + first, second + height, bias, here);
            start = here;
            pitch = 4 * N;
        }
        const uint8_t *a = t->a + first * t->lda;
        if (tiles == 1)
            (vectors == 2 ? block_1x2 : block_1x1)(t, a, second, start, pitch, here, &f, &before, finish_rows);
        else
            (vectors == 2 ? block_2x2 : block_2x1)(t, a, second, start, pitch, here, &f, &before, finish_rows);
        before = (pending){.sums = here, .c = t->c + first * t->ldc, .rows = (int)(second + height)};
    }
    finish_rows(&f, &before, BLOCK);
}
