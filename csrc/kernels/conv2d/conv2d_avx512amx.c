#include "conv2d.h"

#include <immintrin.h>
#include <string.h>

#include "conv2d_requantize_avx512.h"
#include "nnf/tiles.h"
#include "nnf/unroll.h"

enum {
    N = 32,
    FEW = 4,    /* rows below which setting up tiles costs more than they save */
    BLOCK = 32, /* rows of sums that wait to become codes */
    DEEP = 16,  /* steps of depth above which a product is mostly multiplication; of scattered rows, of 3x3 windows, 4 */
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

struct pending;

/* What the requantization of all blocks of a panel shares. */
typedef struct finish {
    scale simple;
    nnf_conv2d_finish any;
    _Alignas(64) int32_t bias[N];
    size_t ldc;
    int is_fast; /* a whole panel, and simple */
    void (*drain)(struct pending *p, int pairs);
} finish;

/* A block of sums that waits for its requantization, [rows][N], the rows in pairs. f->drain requantizes the next `pairs`
 * pairs of rows; the last pair of an odd number of rows repeats a row, or the only one. */
typedef struct pending {
    const finish *f;
    const int32_t *sums;
    uint8_t *c;
    int rows, done;
} pending;

INLINE void drain(pending *p, int pairs, const int vectors, const int below)
{
    const scale s = p->f->simple;
    const size_t ldc = p->f->ldc;
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

INLINE void drain_any(pending *p, int pairs, const int vectors)
{
    const finish *f = p->f;
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
            nnf_conv2d_store(&f->any, c, f->ldc, 1, vectors, NNF_CONV2D_ANY, sum);
        else
            nnf_conv2d_store(&f->any, c, f->ldc, 0, vectors, NNF_CONV2D_ANY, sum);
    }
}

static void drain_half(pending *p, int pairs) { drain(p, pairs, 1, 0); }
static void drain_whole(pending *p, int pairs) { drain(p, pairs, 2, 0); }
static void drain_half_below(pending *p, int pairs) { drain(p, pairs, 1, 1); }
static void drain_whole_below(pending *p, int pairs) { drain(p, pairs, 2, 1); }
static void drain_half_any(pending *p, int pairs) { drain_any(p, pairs, 1); }
static void drain_whole_any(pending *p, int pairs) { drain_any(p, pairs, 2); }

#define MULTIPLY(sums, rows, columns)                                                                                   \
    do {                                                                                                               \
        if (is_signed)                                                                                                 \
            _tile_dpbssd(sums, rows, columns);                                                                         \
        else                                                                                                           \
            _tile_dpbusd(sums, rows, columns);                                                                         \
    } while (0)

/* A block of one or two tiles of rows, the second from row `second` of sums and from `below`, by one or two of columns:
 * sums [rows][N]. at: where the codes of a step of depth lie, or NULL if behind those of the one before. start: what
 * sums begin with, [rows][16], rows `pitch` bytes apart, or NULL for zeros. */
typedef struct operands {
    const uint8_t *a, *below;
    const uint32_t *at;
    const int8_t *w;
    size_t second, pitch;
    const int32_t *start;
    int32_t *sums;
} operands;

INLINE void start_sums(const operands *o, const int two, const int vectors)
{
    if (!o->start) {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
        return;
    }
    const char *lower = (const char *)o->start + o->second * o->pitch;
    __asm__ volatile("" : : : "memory"); /* the compiler does not know that a tile load reads memory */
    _tile_loadd(0, o->start, o->pitch);
    if (vectors == 2)
        _tile_loadd(1, o->start, o->pitch);
    if (two)
        _tile_loadd(2, lower, o->pitch);
    if (two && vectors == 2)
        _tile_loadd(3, lower, o->pitch);
}

/* The block before becomes codes between the steps of depth, the last part of it behind the stores. */
INLINE void block(const nnf_conv2d_q8_tile *t, const operands *o, const int scattered, const int two, const int vectors,
                  const int is_signed, pending *before)
{
    const uint8_t *a = o->a, *below = o->below;
    const int8_t *w = o->w;
    const size_t lda = t->lda, ldw = (size_t)(64 * vectors), ldc = 4 * N, second = o->second;
    const int steps = (int)((t->groups + 15) / 16), pairs = (before->rows + 1) / 2, each = pairs / steps;
    int32_t *sums = o->sums;
    start_sums(o, two, vectors);
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
        before->f->drain(before, each);
    }
    _tile_stored(0, sums, ldc);
    if (vectors == 2)
        _tile_stored(1, sums + N / 2, ldc);
    if (two)
        _tile_stored(2, sums + second * N, ldc);
    if (two && vectors == 2)
        _tile_stored(3, sums + second * N + N / 2, ldc);
    before->f->drain(before, BLOCK);
}

/* One of the places of a block where some of the pairs before it become codes. */
#define SLOT()                                                                                                          \
    for (due += pairs; due >= slots; due -= slots, row += 2) {                                                         \
        const int r = row < last ? row : last;                                                                         \
        finish_pair(&s, 2, low, sums + N * r, next, c + (size_t)r * ldc, ldc);                                         \
    }

/* Two tiles by two, behind a block of a whole and simple panel. A tile instruction is many operations, and a core takes
 * in nothing else meanwhile: so what makes codes lies between every two stores. Between the multiplications too, it
 * takes the fewest cycles, but a core that does both at once slows its clock, also for the steps that follow: that
 * pays where most of the work is multiplication. */
INLINE void block_fast(const nnf_conv2d_q8_tile *t, const operands *o, const int scattered, const int is_signed,
                       const int low, pending *before)
{
    const scale s = before->f->simple;
    const size_t lda = t->lda, ldw = 128, pitch = 4 * N, ldc = before->f->ldc, next = before->rows > 1;
    const int steps = (int)((t->groups + 15) / 16), mixed = steps > (scattered ? 4 : DEEP);
    const int pairs = (before->rows + 1) / 2, last = before->rows - 1 - (int)next, slots = mixed ? 4 * steps + 4 : 4;
    const uint8_t *a = o->a, *below = o->below;
    const int8_t *w = o->w;
    const int32_t *sums = before->sums;
    int32_t *to = o->sums, *lower = to + o->second * N;
    uint8_t *c = before->c;
    int row = 0, due = 0;
    start_sums(o, 1, 2);
    for (int i = 0; i < steps; i++, w += 16 * ldw) {
        const size_t at = scattered ? o->at[i] : (size_t)i * 64;
        _tile_loadd(6, w, ldw);
        _tile_loadd(4, a + at, lda);
        MULTIPLY(0, 4, 6);
        if (mixed)
            SLOT()
        _tile_loadd(7, w + 64, ldw);
        MULTIPLY(1, 4, 7);
        if (mixed)
            SLOT()
        _tile_loadd(5, below + at, lda);
        MULTIPLY(2, 5, 6);
        if (mixed)
            SLOT()
        MULTIPLY(3, 5, 7);
        if (mixed)
            SLOT()
    }
    _tile_stored(0, to, pitch);
    SLOT()
    _tile_stored(1, to + N / 2, pitch);
    SLOT()
    _tile_stored(2, lower, pitch);
    SLOT()
    _tile_stored(3, lower + N / 2, pitch);
    SLOT()
}

typedef void (*block_fn)(const nnf_conv2d_q8_tile *t, const operands *o, pending *before);

#define BLOCK_FUNCTION(name, scattered, two, vectors, is_signed)                                                        \
    static void name(const nnf_conv2d_q8_tile *t, const operands *o, pending *before)                                  \
    {                                                                                                                  \
        block(t, o, scattered, two, vectors, is_signed, before);                                                       \
    }

#define FAST_FUNCTION(name, scattered, is_signed, low)                                                                  \
    static void name(const nnf_conv2d_q8_tile *t, const operands *o, pending *before)                                  \
    {                                                                                                                  \
        block_fast(t, o, scattered, is_signed, low, before);                                                           \
    }

#define BLOCK_FUNCTIONS(name, scattered, is_signed)                                                                     \
    BLOCK_FUNCTION(name##_1x1, scattered, 0, 1, is_signed)                                                             \
    BLOCK_FUNCTION(name##_1x2, scattered, 0, 2, is_signed)                                                             \
    BLOCK_FUNCTION(name##_2x1, scattered, 1, 1, is_signed)                                                             \
    BLOCK_FUNCTION(name##_2x2, scattered, 1, 2, is_signed)                                                             \
    FAST_FUNCTION(name##_fast, scattered, is_signed, 0)                                                                \
    FAST_FUNCTION(name##_fast_below, scattered, is_signed, 1)

BLOCK_FUNCTIONS(dense_unsigned, 0, 0)
BLOCK_FUNCTIONS(dense_signed, 0, 1)
BLOCK_FUNCTIONS(scattered_unsigned, 1, 0)
BLOCK_FUNCTIONS(scattered_signed, 1, 1)

/* Of one kind of input: by tiles of rows and of columns, and the fast ones by whether codes lie below the zero point. */
typedef struct block_set {
    block_fn any[2][2], fast[2];
} block_set;

#define BLOCKS(name)                                                                                                    \
    {                                                                                                                  \
        {{name##_1x1, name##_1x2}, {name##_2x1, name##_2x2}}, {name##_fast, name##_fast_below}                         \
    }

static const block_set blocks[2][2] = {
    {BLOCKS(dense_unsigned), BLOCKS(dense_signed)},
    {BLOCKS(scattered_unsigned), BLOCKS(scattered_signed)},
};

/* base + offset[i] for each row of a block and any column. */
static void start_rows(const int32_t *offset, size_t rows, int32_t base, int32_t *start)
{
    for (size_t i = 0; i < rows; i++)
        _mm512_store_si512(start + 16 * i, _mm512_set1_epi32(base + offset[i]));
}

/* For the panel at t->w. */
static void finish_of(const nnf_conv2d_q8_tile *t, int is_signed, finish *f)
{
    static void (*const drains[2][3])(pending *, int) = {{drain_half_any, drain_half, drain_half_below},
                                                         {drain_whole_any, drain_whole, drain_whole_below}};
    const int vectors = nnf_conv2d_width(t->columns, N) == N ? 2 : 1, low = t->lo < t->zero_point;
    const int simple = *nnf_conv2d_q8_simple(t->w, (size_t)(16 * vectors));
    for (int v = 0; v < vectors; v++) {
        const int32_t *header = t->w + 16 * v;
        const __m512i more = _mm512_load_si512(header + NNF_CONV2D_Q8_SIGNED * 16 * vectors);
        const __m512i b = _mm512_load_si512(header);
        _mm512_store_si512(f->bias + 16 * v, is_signed ? _mm512_add_epi32(b, more) : b);
    }
    if (!simple)
        f->any = vectors == 2 ? nnf_conv2d_finish_of(t, 2, NNF_CONV2D_ANY)
                            : nnf_conv2d_finish_of(t, 1, NNF_CONV2D_ANY);
    else if (low)
        f->simple = vectors == 2 ? scale_of(t, f->bias, 2, 1) : scale_of(t, f->bias, 1, 1);
    else
        f->simple = vectors == 2 ? scale_of(t, f->bias, 2, 0) : scale_of(t, f->bias, 1, 0);
    f->ldc = t->ldc;
    f->is_fast = simple && vectors == 2;
    f->drain = drains[vectors - 1][simple ? 1 + low : 0];
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

/* All panels of a call, one after the other; the last block of each becomes codes in the next. */
static void run(const nnf_conv2d_q8_tile *whole, const nnf_conv2d_q8_lines *lines, const tiling of, const int is_signed)
{
    _Alignas(64) int32_t sums[2][BLOCK * N], start[BLOCK * 16];
    finish finishes[2];
    nnf_conv2d_q8_tile part = *whole;
    const nnf_conv2d_q8_tile *t = &part;
    const block_set *set = &blocks[lines != NULL][is_signed];
    const size_t line = lines ? lines->line : 0, panel = nnf_conv2d_q8_panel(N, t->groups);
    const int low = t->lo < t->zero_point;
    pending before = {.f = finishes, .rows = 0};
    int turn = 0;
    nnf_tiles_shape((int)of.height, t->groups < 16 ? (int)(4 * t->groups) : 64);
    for (size_t column = 0; column < whole->columns; column += N) {
        part.columns = whole->columns - column < N ? whole->columns - column : N;
        part.w = whole->w + column / N * (panel / 4);
        part.c = whole->c + column;
        finish *f = &finishes[column / N % 2];
        finish_of(t, is_signed, f);
        const int vectors = nnf_conv2d_width(t->columns, N) == N ? 2 : 1;
        const int32_t base = *nnf_conv2d_q8_simple(t->w, (size_t)(16 * vectors)) && low ? BASE : 0;
        _mm512_store_si512(start, _mm512_set1_epi32(base));
        operands o = {.at = lines ? lines->at : NULL, .w = nnf_conv2d_q8_weights(t->w, (size_t)(16 * vectors)),
                      .start = t->offset || base ? start : NULL, .pitch = t->offset ? 64 : 0};
        for (size_t i = 0; i < of.count; i += 2, turn ^= 1) {
            const size_t next = i + 1 < of.count ? i + 1 : i, first = first_row(&of, i), last = first_row(&of, next);
            const size_t here = i / of.each * of.rows + first;
            o.second = next / of.each * of.rows + last - here;
            o.a = t->a + i / of.each * line + first * t->lda;
            o.below = t->a + next / of.each * line + last * t->lda;
            o.sums = sums[turn];
            const int rows = (int)(o.second + of.height);
            if (t->offset)
                start_rows(t->offset + here, (size_t)rows, base, start);
            if (next > i && vectors == 2 && before.f->is_fast)
                set->fast[low](t, &o, &before);
            else
                set->any[next > i][vectors - 1](t, &o, &before);
            before = (pending){.f = f, .sums = o.sums, .c = t->c + here * t->ldc, .rows = rows};
        }
    }
    before.f->drain(&before, BLOCK);
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
    if (t->rows >= FEW) {
        run_tile(t, 0);
        return;
    }
    nnf_conv2d_q8_tile part = *t;
    for (size_t column = 0; column < t->columns; column += N) {
        part.columns = t->columns - column < N ? t->columns - column : N;
        part.w = t->w + column / N * (nnf_conv2d_q8_panel(N, t->groups) / 4);
        part.c = t->c + column;
        nnf_conv2d_qu8_qs8c_nhwc__avx512vnni_12x32k4(&part);
    }
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
