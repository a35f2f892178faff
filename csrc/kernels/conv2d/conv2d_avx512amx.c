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
    BASE = 1 << 30,
};

void nnf_conv2d_qu8_qs8c_nhwc__avx512vnni_12x32k4(const nnf_conv2d_q8_tile *t);

/* What requantization of a simple panel needs, by even and odd columns. Both roundings, the shift and the zero point are
 * one sum, as floor(floor(a) / b) = floor(a / b); with x the sum less its bias b and `base`, and r the right shift,
 *   code = (x f + terms - (b + x < 0) 2^31 f / m) >> ..., of which the high halves are taken:
 *   f = m:   terms = b m + 2^30 + (1 + 2 zero_point) 2^(30 + r), high half >> (r - 1)
 *   f = 2 m: twice those, high half >> r, where the correction of negative sums is 1
 * The first form serves where codes below the zero point are clamped away: every negative sum ends there then. The
 * second one starts from base = 2^30, so that no x is negative, as 2 m takes all 32 bits. */
typedef struct scale {
    __m512i factor[2][2], terms[2][2], right[2], limit[2];
    __m512i one, lo, hi, flip, order;
    __mmask16 even_lanes;
    __mmask32 columns;
} scale;

/* A block of sums that waits for its requantization, [rows][N], the rows in pairs. */
typedef struct pending {
    const int32_t *sums;
    uint8_t *c;
    int rows, done;
} pending;

INLINE scale scale_of(const nnf_conv2d_q8_tile *t, const int32_t *biases, const int vectors, const int below)
{
    scale s;
    const __m512i one = _mm512_set1_epi64(1), base = _mm512_set1_epi32(below ? BASE : 0);
    const __m512i nearest = _mm512_slli_epi64(one, 30 + below);
    const __m512i code = _mm512_set1_epi64(1 + 2 * t->zero_point);
    NNF_UNROLL
    for (int v = 0; v < vectors; v++) {
        const int32_t *header = t->w + 16 * v;
        const __m512i bias = _mm512_sub_epi32(_mm512_load_si512(biases + 16 * v), base);
        const __m512i m = _mm512_load_si512(header + NNF_CONV2D_Q8_MULTIPLIER * 16 * vectors);
        const __m512i right = _mm512_load_si512(header + NNF_CONV2D_Q8_RIGHT * 16 * vectors);
        NNF_UNROLL
        for (int odd = 0; odd < 2; odd++) {
            const __m512i shift = _mm512_srli_epi64(odd ? right : _mm512_slli_epi64(right, 32), 32);
            const __m512i factor = _mm512_srli_epi64(odd ? m : _mm512_slli_epi64(m, 32), 32);
            const __m512i product = _mm512_mul_epi32(odd ? _mm512_srli_epi64(bias, 32) : bias, factor);
            const __m512i rest = _mm512_sllv_epi64(_mm512_slli_epi64(code, 30 + below), shift);
            s.factor[v][odd] = _mm512_slli_epi64(factor, below);
            s.terms[v][odd] = _mm512_add_epi64(_mm512_add_epi64(_mm512_slli_epi64(product, below), nearest), rest);
        }
        s.right[v] = _mm512_sub_epi32(right, _mm512_set1_epi32(1 - below));
        s.limit[v] = _mm512_sub_epi32(_mm512_setzero_si512(), bias);
    }
    s.one = _mm512_set1_epi32(1);
    s.lo = _mm512_set1_epi8((char)t->lo);
    s.hi = _mm512_set1_epi8((char)t->hi);
    s.flip = _mm512_set1_epi8((char)t->flip);
    s.order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    s.even_lanes = 0x5555;
    s.columns = (__mmask32)(UINT64_C(0xFFFFFFFF) >> (32 - t->columns));
    return s;
}

/* 16 sums at x to codes that are yet to be clamped. */
INLINE __m512i scaled(const scale *s, const int v, const int below, const int32_t *x)
{
    const __m512i all = _mm512_load_si512(x);
    __m512i shifted; /* odd columns to even ones: from memory this takes no port that the arithmetic needs */
    __asm__("vmovshdup %1, %0" : "=v"(shifted) : "m"(*(const __m512i *)x));
    __m512i even, odd;
    if (below) {
        even = _mm512_mul_epu32(all, s->factor[v][0]);
        odd = _mm512_mul_epu32(shifted, s->factor[v][1]);
    } else {
        even = _mm512_mul_epi32(all, s->factor[v][0]);
        odd = _mm512_mul_epi32(shifted, s->factor[v][1]);
    }
    even = _mm512_add_epi64(even, s->terms[v][0]);
    odd = _mm512_add_epi64(odd, s->terms[v][1]);
    __m512i y = _mm512_mask_shuffle_epi32(odd, s->even_lanes, even, _MM_PERM_DDBB);
    if (below)
        y = _mm512_mask_sub_epi32(y, _mm512_cmplt_epi32_mask(all, s->limit[v]), y, s->one);
    return _mm512_srav_epi32(y, s->right[v]);
}

/* A row of sums to codes, and the one that lies `next` rows further. */
INLINE void finish_pair(const scale *s, const int vectors, const int below, const int32_t *x, size_t next, uint8_t *c,
                        size_t ldc)
{
    const int32_t *y = x + N * next;
    const int last = N / 2 * (vectors - 1);
    const __m512i first =
        _mm512_packs_epi32(scaled(s, 0, below, x), scaled(s, vectors - 1, below, x + last));
    const __m512i second =
        _mm512_packs_epi32(scaled(s, 0, below, y), scaled(s, vectors - 1, below, y + last));
    __m512i codes = _mm512_packus_epi16(first, second);
    codes = _mm512_xor_si512(_mm512_min_epu8(_mm512_max_epu8(codes, s->lo), s->hi), s->flip);
    codes = _mm512_permutexvar_epi32(s->order, codes);
    _mm256_mask_storeu_epi8(c, s->columns, _mm512_castsi512_si256(codes));
    _mm256_mask_storeu_epi8(c + next * ldc, s->columns, _mm512_extracti64x4_epi64(codes, 1));
}

/* What the requantization of all blocks of a call shares. drain requantizes the next `pairs` pairs of rows; the last
 * pair of an odd number of rows repeats a row, or the only one. */
typedef struct finish {
    scale simple;
    nnf_conv2d_finish any;
    const int32_t *bias; /* [16 * vectors] */
    size_t ldc;
    void (*drain)(const struct finish *f, pending *p, int pairs);
} finish;

INLINE void drain(const finish *f, pending *p, int pairs, const int vectors, const int below)
{
    const scale s = f->simple;
    const size_t ldc = f->ldc;
    const int32_t *sums = p->sums;
    uint8_t *const c = p->c;
    const int rows = p->rows, next = rows > 1;
    int row = p->done;
    for (; pairs && row < rows; pairs--, row += 2) {
        const int at = row + next < rows ? row : rows - 1 - next;
        finish_pair(&s, vectors, below, sums + N * at, (size_t)next, c + (size_t)at * ldc, ldc);
    }
    p->done = row;
}

INLINE void drain_any(const finish *f, pending *p, int pairs, const int vectors)
{
    const __m512i low = _mm512_load_si512(f->bias), high = _mm512_load_si512(f->bias + 16 * (vectors - 1));
    const int next = p->rows > 1;
    for (; pairs && p->done < p->rows; pairs--, p->done += 2) {
        const int at = p->done + next < p->rows ? p->done : p->rows - 1 - next;
        const int32_t *x = p->sums + N * at, *y = x + N * next;
        const __m512i sum[2][2] = {
            {_mm512_add_epi32(_mm512_load_si512(x), low), _mm512_add_epi32(_mm512_load_si512(x + N / 2), high)},
            {_mm512_add_epi32(_mm512_load_si512(y), low), _mm512_add_epi32(_mm512_load_si512(y + N / 2), high)},
        };
        uint8_t *c = p->c + (size_t)at * f->ldc;
        if (next)
            nnf_conv2d_store(&f->any, c, f->ldc, 1, vectors, 0, sum);
        else
            nnf_conv2d_store(&f->any, c, f->ldc, 0, vectors, 0, sum);
    }
}

static void drain_half(const finish *f, pending *p, int pairs) { drain(f, p, pairs, 1, 0); }
static void drain_whole(const finish *f, pending *p, int pairs) { drain(f, p, pairs, 2, 0); }
static void drain_half_below(const finish *f, pending *p, int pairs) { drain(f, p, pairs, 1, 1); }
static void drain_whole_below(const finish *f, pending *p, int pairs) { drain(f, p, pairs, 2, 1); }
static void drain_half_any(const finish *f, pending *p, int pairs) { drain_any(f, p, pairs, 1); }
static void drain_whole_any(const finish *f, pending *p, int pairs) { drain_any(f, p, pairs, 2); }

#define MULTIPLY(sums, rows, columns)                                                                                   \
    do {                                                                                                               \
        if (is_signed)                                                                                                 \
            _tile_dpbssd(sums, rows, columns);                                                                         \
        else                                                                                                           \
            _tile_dpbusd(sums, rows, columns);                                                                         \
    } while (0)

/* A block of one or two tiles of rows, the second from row `second` of sums and from `below`, by one or two of columns:
 * sums [rows][N]. at: where the codes of a step of depth lie, or NULL if behind those of the one before. start: what
 * sums begin with, [rows][16], rows `pitch` bytes apart, or NULL for zeros. Between its steps of depth the block
 * before becomes codes: the last part behind the stores, so that the sums are long at rest when their turn comes. */
typedef struct operands {
    const uint8_t *a, *below;
    const uint32_t *at;
    size_t second, pitch;
    const int32_t *start;
    int32_t *sums;
} operands;

INLINE void block(const nnf_conv2d_q8_tile *t, const operands *o, const int scattered, const int two, const int vectors,
                  const int is_signed, const finish *f, pending *before)
{
    const uint8_t *a = o->a, *below = o->below;
    const size_t lda = t->lda, ldw = (size_t)(64 * vectors), ldc = 4 * N, second = o->second, pitch = o->pitch;
    const int8_t *w = nnf_conv2d_q8_weights(t->w, (size_t)(16 * vectors));
    const int steps = (int)((t->groups + 15) / 16), pairs = (before->rows + 1) / 2, each = pairs / steps;
    int32_t *sums = o->sums;
    if (o->start) {
        const char *lower = (const char *)o->start + second * pitch;
        __asm__ volatile("" : : : "memory"); /* the compiler does not know that a tile load reads memory */
        _tile_loadd(0, o->start, pitch);
        if (vectors == 2)
            _tile_loadd(1, o->start, pitch);
        if (two)
            _tile_loadd(2, lower, pitch);
        if (two && vectors == 2)
            _tile_loadd(3, lower, pitch);
    } else {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
    }
    for (int s = 0;; w += 16 * ldw) {
        const size_t at = scattered ? o->at[s] : (size_t)s * 64;
        _tile_loadd(6, w, ldw);
        _tile_loadd(4, a + at, lda);
        MULTIPLY(0, 4, 6);
        if (vectors == 2) {
            _tile_loadd(7, w + 64, ldw);
            MULTIPLY(1, 4, 7);
        }
        if (two) {
            _tile_loadd(5, below + at, lda);
            MULTIPLY(2, 5, 6);
        }
        if (two && vectors == 2)
            MULTIPLY(3, 5, 7);
        if (++s == steps)
            break;
        f->drain(f, before, each);
    }
    _tile_stored(0, sums, ldc);
    if (vectors == 2)
        _tile_stored(1, sums + N / 2, ldc);
    if (two)
        _tile_stored(2, sums + second * N, ldc);
    if (two && vectors == 2)
        _tile_stored(3, sums + second * N + N / 2, ldc);
    f->drain(f, before, BLOCK);
}

typedef void (*block_fn)(const nnf_conv2d_q8_tile *t, const operands *o, const finish *f, pending *before);

#define BLOCK_FUNCTION(name, scattered, two, vectors, is_signed)                                                        \
    static void name(const nnf_conv2d_q8_tile *t, const operands *o, const finish *f, pending *before)                 \
    {                                                                                                                  \
        block(t, o, scattered, two, vectors, is_signed, f, before);                                                    \
    }

#define BLOCK_FUNCTIONS(name, scattered, is_signed)                                                                     \
    BLOCK_FUNCTION(name##_1x1, scattered, 0, 1, is_signed)                                                             \
    BLOCK_FUNCTION(name##_1x2, scattered, 0, 2, is_signed)                                                             \
    BLOCK_FUNCTION(name##_2x1, scattered, 1, 1, is_signed)                                                             \
    BLOCK_FUNCTION(name##_2x2, scattered, 1, 2, is_signed)

BLOCK_FUNCTIONS(dense_unsigned, 0, 0)
BLOCK_FUNCTIONS(dense_signed, 0, 1)
BLOCK_FUNCTIONS(scattered_unsigned, 1, 0)
BLOCK_FUNCTIONS(scattered_signed, 1, 1)

#define BLOCKS(name)                                                                                                    \
    {                                                                                                                  \
        {name##_1x1, name##_1x2}, {name##_2x1, name##_2x2}                                                             \
    }

static const block_fn blocks[2][2][2][2] = {
    {BLOCKS(dense_unsigned), BLOCKS(dense_signed)},
    {BLOCKS(scattered_unsigned), BLOCKS(scattered_signed)},
};

/* base + offset[i] for each row of a block and any column. */
static void start_rows(const int32_t *offset, size_t rows, int32_t base, int32_t *start)
{
    for (size_t i = 0; i < rows; i++)
        _mm512_store_si512(start + 16 * i, _mm512_set1_epi32(base + offset[i]));
}

INLINE finish finish_of(const nnf_conv2d_q8_tile *t, const int32_t *bias, const int vectors, int simple, int below)
{
    finish f = {.ldc = t->ldc, .bias = bias};
    if (!simple)
        f.any = nnf_conv2d_finish_of(t, vectors);
    else
        f.simple = below ? scale_of(t, bias, vectors, 1) : scale_of(t, bias, vectors, 0);
    return f;
}

/* Tiles of equal height, `each` of a line of rows; the last ones of a line overlap where that is not enough rows. */
typedef struct tiling {
    size_t rows, each, height, count;
} tiling;

/* First row of a tile in its line. */
INLINE size_t first_row(const tiling *of, size_t tile)
{
    const size_t row = tile % of->each * of->height, last = of->rows - of->height;
    return row < last ? row : last;
}

static void run(const nnf_conv2d_q8_tile *t, const nnf_conv2d_q8_lines *lines, const tiling of, const int is_signed)
{
    _Alignas(64) int32_t sums[2][BLOCK * N], start[BLOCK * 16], bias[N];
    const int vectors = nnf_conv2d_width(t->columns, N) == N ? 2 : 1;
    const int simple = *nnf_conv2d_q8_simple(t->w, (size_t)(16 * vectors)), below = t->lo < t->zero_point;
    for (int v = 0; v < vectors; v++) {
        const int32_t *header = t->w + 16 * v;
        const __m512i more = _mm512_load_si512(header + NNF_CONV2D_Q8_SIGNED * 16 * vectors);
        const __m512i b = _mm512_load_si512(header);
        _mm512_store_si512(bias + 16 * v, is_signed ? _mm512_add_epi32(b, more) : b);
    }
    finish f = vectors == 2 ? finish_of(t, bias, 2, simple, below) : finish_of(t, bias, 1, simple, below);
    static void (*const drains[2][3])(const finish *, pending *, int) = {
        {drain_half_any, drain_half, drain_half_below}, {drain_whole_any, drain_whole, drain_whole_below}};
    f.drain = drains[vectors - 1][simple ? 1 + below : 0];
    const int32_t base = simple && below ? BASE : 0;
    _mm512_store_si512(start, _mm512_set1_epi32(base));
    nnf_tiles_shape((int)of.height, t->groups < 16 ? (int)(4 * t->groups) : 64);
    pending before = {.rows = 0};
    const size_t line = lines ? lines->line : 0;
    operands o = {.at = lines ? lines->at : NULL, .start = t->offset || base ? start : NULL,
                  .pitch = t->offset ? 64 : 0};
    for (size_t i = 0; i < of.count; i += 2) {
        const size_t next = i + 1 < of.count ? i + 1 : i, first = first_row(&of, i), last = first_row(&of, next);
        const size_t here = i / of.each * of.rows + first;
        o.second = next / of.each * of.rows + last - here;
        o.a = t->a + i / of.each * line + first * t->lda;
        o.below = t->a + next / of.each * line + last * t->lda;
        o.sums = sums[i / 2 % 2];
        const int rows = (int)(o.second + of.height);
        if (t->offset)
            start_rows(t->offset + here, (size_t)rows, base, start);
        blocks[lines != NULL][is_signed][next > i][vectors - 1](t, &o, &f, &before);
        before = (pending){.sums = o.sums, .c = t->c + here * t->ldc, .rows = rows};
    }
    f.drain(&f, &before, BLOCK);
}

static void run_tile(const nnf_conv2d_q8_tile *t, const int is_signed)
{
    const size_t each = t->rows <= 16 ? 1 : (t->rows + BLOCK - 1) / BLOCK * 2;
    run(t, NULL, (tiling){t->rows, each, (t->rows + each - 1) / each, each}, is_signed);
}

static void run_lines(const nnf_conv2d_q8_lines *lines, const int is_signed)
{
    const size_t rows = lines->tile.rows, each = (rows + 15) / 16;
    run(&lines->tile, lines, (tiling){rows, each, (rows + each - 1) / each, each * lines->lines}, is_signed);
}

void nnf_conv2d_qu8_qs8c_nhwc__avx512amx_256x32k64(const nnf_conv2d_q8_tile *t)
{
    if (t->rows < FEW)
        nnf_conv2d_qu8_qs8c_nhwc__avx512vnni_12x32k4(t);
    else
        run_tile(t, 0);
}

void nnf_conv2d_qs8_qs8c_nhwc__avx512amx_256x32k64(const nnf_conv2d_q8_tile *t)
{
    run_tile(t, 1);
}

void nnf_conv2d_lines_qu8_qs8c_nhwc__avx512amx_16x32k64(const nnf_conv2d_q8_lines *lines)
{
    run_lines(lines, 0);
}

void nnf_conv2d_lines_qs8_qs8c_nhwc__avx512amx_16x32k64(const nnf_conv2d_q8_lines *lines)
{
    run_lines(lines, 1);
}
