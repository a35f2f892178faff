#include "conv2d_bf16.h"

#include <immintrin.h>
#include <stdbool.h>

#include "nnf/tiles.h"
#include "nnf/tuning.h"
#include "nnf/unroll.h"

enum {
    N = 32,
    BLOCK = 32, /* rows of sums that wait to be finished and stored */
};

/* A block of sums that waits, [rows][N], for the biases at `bias`; column: of its next row, within `span`. */
typedef struct pending {
    const float *sums, *bias;
    float *c;
    size_t rows, column;
    uint32_t columns;
} pending;

/* What all blocks of a call share. */
typedef struct finish {
    __m512 lo, hi;
    size_t ldc, line, span;
    const char *prefetch;
} finish;

/* Adds the biases to up to `count` rows of a block, clamps and stores them. */
INLINE void drain(const finish *f, pending *p, size_t count)
{
    const __m512 low = _mm512_loadu_ps(p->bias), high = _mm512_loadu_ps(p->bias + 16);
    const __mmask16 first = (__mmask16)p->columns, second = (__mmask16)(p->columns >> 16);
    count = count < p->rows ? count : p->rows;
    p->rows -= count;
    if (f->line == SIZE_MAX && p->columns == UINT32_MAX) { /* the usual case needs no masks */
        const __m512 lo = f->lo, hi = f->hi;
        const size_t ldc = f->ldc;
        const float *from = p->sums;
        float *to = p->c;
#pragma GCC unroll 4
        for (size_t i = 0; i < count; i++, from += N, to += ldc) {
            const __m512 y0 = _mm512_add_ps(_mm512_load_ps(from), low);
            const __m512 y1 = _mm512_add_ps(_mm512_load_ps(from + 16), high);
            _mm512_storeu_ps(to, _mm512_min_ps(hi, _mm512_max_ps(lo, y0)));
            _mm512_storeu_ps(to + 16, _mm512_min_ps(hi, _mm512_max_ps(lo, y1)));
        }
        p->sums = from;
        p->c = to;
        return;
    }
    while (count > 0) {
        const size_t end = p->column < f->line ? f->line : f->span;
        const size_t run = end - p->column < count ? end - p->column : count;
        if (p->column < f->line) {
            for (size_t i = 0; i < run; i++) {
                /* min and max return their second operand where one is a NaN. */
                const __m512 y0 = _mm512_add_ps(_mm512_load_ps(p->sums + i * N), low);
                const __m512 y1 = _mm512_add_ps(_mm512_load_ps(p->sums + i * N + 16), high);
                _mm512_mask_storeu_ps(p->c, first, _mm512_min_ps(f->hi, _mm512_max_ps(f->lo, y0)));
                _mm512_mask_storeu_ps(p->c + 16, second, _mm512_min_ps(f->hi, _mm512_max_ps(f->lo, y1)));
                p->c += f->ldc;
            }
        }
        p->sums += run * N;
        p->column = p->column + run < f->span ? p->column + run : 0;
        count -= run;
    }
}

/* A block of one or two tiles of rows, the second from row `second`, by one or two of columns: sums [rows][N] without
 * biases. Between its steps of depth the block before is finished.
 * far: the weights are more than stay in the level 1 cache, and go past it so that the rows do. */
INLINE void block(const nnf_conv2d_bf16_tile *t, const float *panel, const uint16_t *a, const int two, size_t second,
                  const int vectors, const int far, float *sums, finish *f, pending *before)
{
    const size_t lda = 2 * t->lda, ldw = (size_t)(64 * vectors), ldc = 4 * N;
    const size_t down = (t->pairs < 16 ? t->pairs : 16) * ldw;
    const char *w = (const char *)nnf_conv2d_bf16_weights(panel, (size_t)(16 * vectors));
    const char *above = (const char *)(a + t->tap[0]), *below = above + second * lda;
    const size_t deep = (t->pairs + 15) / 16, steps = t->taps * deep, each = before->rows / steps;
    _tile_zero(0);
    if (vectors == 2)
        _tile_zero(1);
    if (two)
        _tile_zero(2);
    if (two && vectors == 2)
        _tile_zero(3);
    for (size_t s = 0, tap = 0, left = deep;; w += down) {
        if (far)
            _tile_stream_loadd(6, w, ldw);
        else
            _tile_loadd(6, w, ldw);
        _tile_loadd(4, above, lda);
        _tile_dpbf16ps(0, 4, 6);
        if (vectors == 2) {
            if (far)
                _tile_stream_loadd(7, w + 64, ldw);
            else
                _tile_loadd(7, w + 64, ldw);
            _tile_dpbf16ps(1, 4, 7);
        }
        if (two) {
            _tile_loadd(5, below, lda);
            _tile_dpbf16ps(2, 5, 6);
        }
        if (two && vectors == 2)
            _tile_dpbf16ps(3, 5, 7);
        for (size_t i = 0; i < t->lines; i++, f->prefetch += 64)
            _mm_prefetch(f->prefetch, _MM_HINT_T1);
        if (++s == steps)
            break;
        if (each)
            drain(f, before, each);
        above += 64;
        if (--left == 0) {
            above = (const char *)(a + t->tap[++tap]);
            left = deep;
        }
        below = above + second * lda;
    }
    _tile_stored(0, sums, ldc);
    if (vectors == 2)
        _tile_stored(1, sums + N / 2, ldc);
    if (two)
        _tile_stored(2, sums + second * N, ldc);
    if (two && vectors == 2)
        _tile_stored(3, sums + second * N + N / 2, ldc);
    drain(f, before, BLOCK);
}

/* by_row: all columns of a block of rows before the next block, so that outputs are written in order; else all rows of a
 * panel before the next panel. */
INLINE void run(const nnf_conv2d_bf16_tile *t, const int far, const bool by_row)
{
    _Alignas(64) float sums[2][BLOCK * N];
    finish f = {.lo = _mm512_set1_ps(t->lo), .hi = _mm512_set1_ps(t->hi), .ldc = t->ldc,
                .line = t->line < t->span ? t->line : SIZE_MAX, .span = t->line < t->span ? t->span : SIZE_MAX,
                .prefetch = t->prefetch};
    /* As few tiles as there can be, of equal height: a low one takes as long. They go in pairs but for an odd one, and the
     * last overlap where that is not enough rows. */
    const size_t tiles = (t->rows + 15) / 16, height = (t->rows + tiles - 1) / tiles;
    const size_t last = t->rows - height;
    nnf_tiles_shape((int)height, t->pairs < 16 ? (int)(4 * t->pairs) : 64);
    __asm__ volatile("" : : : "memory"); /* the compiler does not know that a tile load reads memory */
    pending before = {.rows = 0, .bias = t->w};
    const size_t blocks = (tiles + 1) / 2, panels = (t->columns + N - 1) / N;
    for (size_t n = 0; n < blocks * panels; n++) {
        const size_t p = by_row ? n % panels : n / blocks, i = 2 * (by_row ? n / panels : n % blocks), j = p * N;
        const float *panel = t->w + p * (nnf_conv2d_bf16_panel(N, t->taps * t->pairs) / sizeof(float));
        const size_t here = t->columns - j < N ? t->columns - j : N, width = nnf_conv2d_width(here, N);
        const size_t first = i * height < last ? i * height : last;
        const bool two = i + 1 < tiles;
        const size_t second = !two ? 0 : (i + 1) * height < last ? height : last - first;
        const uint16_t *a = t->a + first * t->lda;
        float *to = sums[n % 2];
        if (width == N && two)
            block(t, panel, a, 1, second, 2, far, to, &f, &before);
        else if (width == N)
            block(t, panel, a, 0, 0, 2, far, to, &f, &before);
        else if (two)
            block(t, panel, a, 1, second, 1, far, to, &f, &before);
        else
            block(t, panel, a, 0, 0, 1, far, to, &f, &before);
        __asm__ volatile("" : : : "memory");
        before = (pending){.sums = to, .bias = panel, .c = t->c + nnf_conv2d_bf16_place(t, first) * t->ldc + j,
                           .rows = second + height,
                           .column = t->line < t->span ? (t->at + first) % t->span : 0,
                           .columns = UINT32_C(0xFFFFFFFF) >> (N - here)};
    }
    drain(&f, &before, BLOCK);
}

void nnf_conv2d_bf16_nhwc__avx512amx_256x32k32(const nnf_conv2d_bf16_tile *t)
{
    /* What is larger goes past what is smaller, which stays in the level 1 cache: panels past the rows or rows past the
     * panels. */
    const size_t panel = nnf_conv2d_bf16_panel(N, t->taps * t->pairs), panels = (t->columns + N - 1) / N;
    const bool by_row = t->rows <= BLOCK || (t->taps * t->columns <= t->rows && t->columns % N == 0);
    if ((by_row ? panels : 1) * panel > nnf_sizes.bf16_nearest)
        run(t, 1, by_row);
    else
        run(t, 0, by_row);
}
