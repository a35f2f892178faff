#include "conv2d.h"

#include <immintrin.h>
#include <string.h>

#include "nnf/unroll.h"

enum { M = 12, N = 32, STEPS = 4 };

/* sum += x * w in the sum's own register. Of the intrinsic gcc makes forms that overwrite a factor, and then moves sums
 * from register to register, on ports that the products need: a twentieth of the time. */
INLINE void add_product(__m512 *sum, __m512 x, __m512 w)
{
    __asm__("vfmadd231ps %2, %1, %0" : "+v"(*sum) : "v"(x), "v"(w));
}

/* Twelve row addresses are what the general registers hold; 24 sums leave registers for two vectors of weights. */
INLINE void run(const nnf_conv2d_f32_tile *t, size_t wide, const int rows, const int fetch)
{
    /* With few rows one sum per output would wait for its own additions: split the depth over several. */
    const int chains = rows == 1 ? 4 : rows <= 3 ? 2 : 1;
    /* Always as many fetches, a branch costs more: where fewer lines are wanted they go to the same ones again. */
    const char *next = t->lines ? t->prefetch : (const char *)t->w;
    const size_t pace = t->lines * 64 / (size_t)fetch;
    for (size_t j = 0; j < wide; j += N) {
        const float *w = t->w + j * (t->taps * t->depth + 1);
        __m512 sum[4][M][2];
NNF_UNROLL
        for (int i = 0; i < rows; i++) {
NNF_UNROLL
            for (int v = 0; v < 2; v++) {
                sum[0][i][v] = _mm512_load_ps(w + 16 * v);
NNF_UNROLL
                for (int c = 1; c < chains; c++)
                    sum[c][i][v] = _mm512_setzero_ps();
            }
        }
        w += 32;
        for (size_t tap = 0; tap < t->taps; tap++) {
            const float *a[M];
NNF_UNROLL
            for (int i = 0; i < rows; i++)
                a[i] = t->a[tap * M + (size_t)i] + t->first;
            size_t k = 0;
            for (; k + STEPS <= t->depth; k += STEPS) {
NNF_UNROLL
                for (int line = 0; line < fetch; line++) {
                    _mm_prefetch(next, _MM_HINT_T1);
                    /* From memory: no register is left for it. */
                    __asm__("add %1, %0" : "+r"(next) : "m"(pace));
                }
NNF_UNROLL
                for (int s = 0; s < STEPS; s++) {
                    const int c = s % chains;
                    const __m512 low = _mm512_load_ps(w), high = _mm512_load_ps(w + 16);
NNF_UNROLL
                    for (int i = 0; i < rows; i++) {
                        const __m512 x = _mm512_set1_ps(a[i][k + (size_t)s]);
                        add_product(&sum[c][i][0], x, low);
                        add_product(&sum[c][i][1], x, high);
                    }
                    w += 32;
                }
            }
            for (; k < t->depth; k++) {
                const __m512 low = _mm512_load_ps(w), high = _mm512_load_ps(w + 16);
NNF_UNROLL
                for (int i = 0; i < rows; i++) {
                    const __m512 x = _mm512_set1_ps(a[i][k]);
                    add_product(&sum[0][i][0], x, low);
                    add_product(&sum[0][i][1], x, high);
                }
                w += 32;
            }
        }
        const __m512 lo = _mm512_set1_ps(t->lo), hi = _mm512_set1_ps(t->hi);
        const size_t left = t->columns - j;
        const __mmask32 mask = left < N ? UINT32_MAX >> (N - left) : UINT32_MAX;
        const size_t ldc = t->ldc;
        float *c = t->c + j;
NNF_UNROLL
        for (int i = 0; i < rows; i++, c += ldc) {
NNF_UNROLL
            for (int v = 0; v < 2; v++) {
                __m512 y = sum[0][i][v];
                if (chains == 2)
                    y = _mm512_add_ps(y, sum[1][i][v]);
                if (chains == 4)
                    y = _mm512_add_ps(_mm512_add_ps(y, sum[1][i][v]), _mm512_add_ps(sum[2][i][v], sum[3][i][v]));
                /* min/max return the second operand when either is NaN: the sum comes second, so that it stays one. */
                y = _mm512_min_ps(hi, _mm512_max_ps(lo, y));
                _mm512_mask_storeu_ps(c + 16 * v, (__mmask16)(mask >> 16 * v), y);
            }
        }
    }
}

/* sum += *x * w. Zen 4 takes half as long again for a load that broadcasts and a product, and a tenth for an address of
 * two registers. */
INLINE void add_product_of(__m512 *sum, const float *x, __m512 w)
{
    __asm__("vfmadd231ps %1%{1to16%}, %2, %0" : "+v"(*sum) : "m"(*x), "v"(w));
}

INLINE void add_half_product_of(__m256 *sum, const float *x, __m256 w)
{
    __asm__("vfmadd231ps %1%{1to8%}, %2, %0" : "+v"(*sum) : "m"(*x), "v"(w));
}

#define RUN run_one
#define RUN_ROWS run_one_rows
#define V __m512
#define MASK __mmask16
#define WIDTH 16
#define DO(op) _mm512_##op
#define ADD_PRODUCT_OF add_product_of
#include "conv2d_f32_panel_avx512.h"

/* Zen 4 multiplies twice as many vectors of 8. */
#define RUN run_half
#define RUN_ROWS run_half_rows
#define V __m256
#define MASK __mmask8
#define WIDTH 8
#define DO(op) _mm256_##op
#define ADD_PRODUCT_OF add_half_product_of
#include "conv2d_f32_panel_avx512.h"

INLINE void run_rows(const nnf_conv2d_f32_tile *t, size_t wide, const int fetch)
{
    switch (t->rows) {
    case 1: run(t, wide, 1, fetch); break;
    case 2: run(t, wide, 2, fetch); break;
    case 3: run(t, wide, 3, fetch); break;
    case 4: run(t, wide, 4, fetch); break;
    case 5: run(t, wide, 5, fetch); break;
    case 6: run(t, wide, 6, fetch); break;
    case 7: run(t, wide, 7, fetch); break;
    case 8: run(t, wide, 8, fetch); break;
    case 9: run(t, wide, 9, fetch); break;
    case 10: run(t, wide, 10, fetch); break;
    case 11: run(t, wide, 11, fetch); break;
    default: run(t, wide, 12, fetch); break;
    }
}

void nnf_conv2d_f32_nhwc__avx512_12x32(const nnf_conv2d_f32_tile *t)
{
    const size_t rest = t->columns % N, wide = rest > 24 ? t->columns : t->columns - rest;
    const float *w = t->w + wide * (t->taps * t->depth + 1);
    if (wide && t->lines > 2)
        run_rows(t, wide, 4);
    else if (wide)
        run_rows(t, wide, 2);
    if (wide == t->columns)
        return;
    if (rest > 16) {
        run_one_rows(t, wide, w, 32);
        run_half_rows(t, wide + 16, w + 16, 32);
    } else if (rest > 8) {
        run_one_rows(t, wide, w, 16);
    } else {
        run_half_rows(t, wide, w, 16);
    }
}

/* Pixels of a line: each third has an address of its own, the others are one and two steps behind it. */
INLINE void run_line(const nnf_conv2d_f32_line *l, const int rows, const int vectors, size_t first)
{
    const size_t step = l->step;
    __m512 sum[M][2];
    const float *w = l->w;
NNF_UNROLL
    for (int i = 0; i < rows; i++) {
NNF_UNROLL
        for (int v = 0; v < vectors; v++)
            sum[i][v] = _mm512_load_ps(w + 16 * v);
    }
    w += 16 * vectors;
    for (size_t tap = 0; tap < l->taps; tap++) {
        if (!l->a[tap]) {
            w += 16 * (size_t)vectors * l->depth;
            continue;
        }
        const float *a[M / 3];
NNF_UNROLL
        for (int i = 0; i < M / 3; i++)
            a[i] = l->a[tap] + (first + 3 * (size_t)i) * step;
        for (size_t k = 0; k < l->depth; k++) {
            const __m512 low = _mm512_load_ps(w), high = _mm512_load_ps(w + 16 * (vectors - 1));
NNF_UNROLL
            for (int i = 0; i < rows; i++) {
                const float *at = a[i / 3] + (size_t)(i % 3) * step;
                if (vectors == 1) {
                    add_product_of(&sum[i][0], at, low);
                    continue;
                }
                const __m512 x = _mm512_set1_ps(*at);
                sum[i][0] = _mm512_fmadd_ps(x, low, sum[i][0]);
                sum[i][1] = _mm512_fmadd_ps(x, high, sum[i][1]);
            }
            w += 16 * vectors;
NNF_UNROLL
            for (int i = 0; i < M / 3; i++)
                a[i]++;
        }
    }
    const __m512 lo = _mm512_set1_ps(l->lo), hi = _mm512_set1_ps(l->hi);
    const __mmask32 mask = (__mmask32)(UINT64_C(0xFFFFFFFF) >> (32 - l->columns));
NNF_UNROLL
    for (int i = 0; i < rows; i++) {
NNF_UNROLL
        for (int v = 0; v < vectors; v++) {
            const __m512 y = _mm512_min_ps(hi, _mm512_max_ps(lo, sum[i][v]));
            _mm512_mask_storeu_ps(l->c + (first + (size_t)i) * l->ldc + 16 * v, (__mmask16)(mask >> 16 * v), y);
        }
    }
}

/* The same of up to 8 columns. */
INLINE void run_half_line(const nnf_conv2d_f32_line *l, const int rows, size_t first)
{
    const size_t step = l->step;
    __m256 sum[M];
    const float *w = l->w;
NNF_UNROLL
    for (int i = 0; i < rows; i++)
        sum[i] = _mm256_load_ps(w);
    w += 16;
    for (size_t tap = 0; tap < l->taps; tap++) {
        if (!l->a[tap]) {
            w += 16 * l->depth;
            continue;
        }
        const float *a[M / 3];
NNF_UNROLL
        for (int i = 0; i < M / 3; i++)
            a[i] = l->a[tap] + (first + 3 * (size_t)i) * step;
        for (size_t k = 0; k < l->depth; k++, w += 16) {
            const __m256 low = _mm256_load_ps(w);
NNF_UNROLL
            for (int i = 0; i < rows; i++)
                add_half_product_of(&sum[i], a[i / 3] + (size_t)(i % 3) * step, low);
NNF_UNROLL
            for (int i = 0; i < M / 3; i++)
                a[i]++;
        }
    }
    const __m256 lo = _mm256_set1_ps(l->lo), hi = _mm256_set1_ps(l->hi);
    const __mmask8 mask = (__mmask8)(0xFF >> (8 - l->columns));
NNF_UNROLL
    for (int i = 0; i < rows; i++)
        _mm256_mask_storeu_ps(l->c + (first + (size_t)i) * l->ldc, mask,
                              _mm256_min_ps(hi, _mm256_max_ps(lo, sum[i])));
}

/* vectors: 0 for half of one */
INLINE void run_some(const nnf_conv2d_f32_line *l, const int rows, const int vectors, size_t first)
{
    if (vectors)
        run_line(l, rows, vectors, first);
    else
        run_half_line(l, rows, first);
}

INLINE void run_lines(const nnf_conv2d_f32_line *l, const int vectors)
{
    const size_t tiles = (l->rows + M - 1) / M, height = l->rows / tiles, taller = l->rows % tiles;
    for (size_t t = 0, first = 0; t < tiles; t++) {
        const size_t rows = height + (t < taller);
        switch (rows) {
        case 1: run_some(l, 1, vectors, first); break;
        case 2: run_some(l, 2, vectors, first); break;
        case 3: run_some(l, 3, vectors, first); break;
        case 4: run_some(l, 4, vectors, first); break;
        case 5: run_some(l, 5, vectors, first); break;
        case 6: run_some(l, 6, vectors, first); break;
        case 7: run_some(l, 7, vectors, first); break;
        case 8: run_some(l, 8, vectors, first); break;
        case 9: run_some(l, 9, vectors, first); break;
        case 10: run_some(l, 10, vectors, first); break;
        case 11: run_some(l, 11, vectors, first); break;
        default: run_some(l, 12, vectors, first); break;
        }
        first += rows;
    }
}

void nnf_conv2d_line_f32_nhwc__avx512_12x32(const nnf_conv2d_f32_line *l)
{
    if (nnf_conv2d_width(l->columns, N) == N)
        run_lines(l, 2);
    else if (l->columns > N / 4)
        run_lines(l, 1);
    else
        run_lines(l, 0);
}
