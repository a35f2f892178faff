#include "conv2d_bf16.h"

#include <immintrin.h>

#include "nnf/tiles.h"
#include "nnf/unroll.h"

#define INLINE static inline __attribute__((always_inline))

enum {
    N = 32,
    BLOCK = 32, /* rows of sums that wait to be clamped and stored */
};

/* A block of sums that waits, [rows][N]. */
typedef struct pending {
    const float *sums;
    float *c;
    size_t rows, done;
} pending;

/* What all blocks of a call share. */
typedef struct finish {
    __m512 lo, hi;
    size_t ldc;
    uint32_t columns;
} finish;

/* Clamps and stores up to `count` rows of a block. */
INLINE void drain(const finish *f, pending *p, size_t count, const int vectors)
{
    const size_t end = p->rows - p->done < count ? p->rows : p->done + count;
    for (; p->done < end; p->done++) {
        const float *from = p->sums + p->done * N;
        float *to = p->c + p->done * f->ldc;
        NNF_UNROLL
        for (int v = 0; v < vectors; v++) {
            /* min and max return their second operand where one is a NaN. */
            const __m512 y = _mm512_min_ps(f->hi, _mm512_max_ps(f->lo, _mm512_load_ps(from + 16 * v)));
            _mm512_mask_storeu_ps(to + 16 * v, (__mmask16)(f->columns >> 16 * v), y);
        }
    }
}

/* A block of one or two tiles of rows, the second from row `second`, by one or two of columns: sums [rows][N], which
 * begin with the biases. Between its steps of depth the block before is finished. */
INLINE void block(const nnf_conv2d_bf16_tile *t, const uint16_t *a, const int two, size_t second, const int vectors,
                  float *sums, const finish *f, pending *before)
{
    const size_t lda = 2 * t->lda, ldw = (size_t)(64 * vectors), ldc = 4 * N;
    const char *w = (const char *)nnf_conv2d_bf16_weights(t->w, (size_t)(16 * vectors));
    const char *above = (const char *)(a + t->tap[0]), *below = above + second * lda;
    const size_t deep = (t->pairs + 15) / 16, steps = t->taps * deep, each = before->rows / steps;
    _tile_loadd(0, t->w, 0);
    if (vectors == 2)
        _tile_loadd(1, t->w + 16, 0);
    if (two)
        _tile_loadd(2, t->w, 0);
    if (two && vectors == 2)
        _tile_loadd(3, t->w + 16, 0);
    for (size_t s = 0, tap = 0, left = deep;; w += 16 * ldw) {
        _tile_loadd(6, w, ldw);
        _tile_loadd(4, above, lda);
        _tile_dpbf16ps(0, 4, 6);
        if (vectors == 2) {
            _tile_loadd(7, w + 64, ldw);
            _tile_dpbf16ps(1, 4, 7);
        }
        if (two) {
            _tile_loadd(5, below, lda);
            _tile_dpbf16ps(2, 5, 6);
        }
        if (two && vectors == 2)
            _tile_dpbf16ps(3, 5, 7);
        if (++s == steps)
            break;
        drain(f, before, each, vectors);
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
    drain(f, before, BLOCK, vectors);
}

INLINE void run(const nnf_conv2d_bf16_tile *t, const int vectors)
{
    _Alignas(64) float sums[2][BLOCK * N];
    const finish f = {.lo = _mm512_set1_ps(t->lo), .hi = _mm512_set1_ps(t->hi), .ldc = t->ldc,
                      .columns = UINT32_C(0xFFFFFFFF) >> (N - t->columns)};
    /* Tiles of equal height, in pairs; the last ones overlap where that is not enough rows. */
    const size_t tiles = t->rows <= 16 ? 1 : (t->rows + BLOCK - 1) / BLOCK * 2, height = (t->rows + tiles - 1) / tiles;
    nnf_tiles_shape((int)height, t->pairs < 16 ? (int)(4 * t->pairs) : 64);
    __asm__ volatile("" : : : "memory"); /* the compiler does not know that a tile load reads memory */
    pending before = {.rows = 0};
    for (size_t i = 0; i < tiles; i += 2) {
        const size_t last = t->rows - height;
        const size_t first = i * height < last ? i * height : last;
        const size_t second = (i + 1) * height < last ? height : last - first;
        float *here = sums[i / 2 % 2];
        if (tiles > 1)
            block(t, t->a + first * t->lda, 1, second, vectors, here, &f, &before);
        else
            block(t, t->a, 0, 0, vectors, here, &f, &before);
        __asm__ volatile("" : : : "memory");
        before = (pending){.sums = here, .c = t->c + first * t->ldc, .rows = second + height};
    }
    drain(&f, &before, BLOCK, vectors);
}

void nnf_conv2d_bf16_nhwc__avx512amx_256x32k32(const nnf_conv2d_bf16_tile *t)
{
    if (nnf_conv2d_width(t->columns, N) == N)
        run(t, 2);
    else
        run(t, 1);
}
