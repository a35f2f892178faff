#include "conv2d.h"

#include <immintrin.h>
#include <stdbool.h>

#include "nnf/partial_avx2.h"
#include "nnf/unroll.h"

enum { M = 6, N = 16, STEPS = 4 };

/* sum += x * w in the sum's own register. Of the intrinsic gcc makes forms that overwrite a factor, and then moves and
 * spills sums: fifteen of sixteen registers are in use. */
INLINE void add_product(__m256 *sum, __m256 x, __m256 w)
{
    __asm__("vfmadd231ps %2, %1, %0" : "+x"(*sum) : "x"(x), "x"(w));
}

/* The first columns of a tile whose panel is not full: it was stored as a whole, in which no store asks how many. Of more
 * than one vector the second store begins earlier. */
INLINE void store_columns(const __m256 whole[M][2], int rows, int vectors, size_t columns, float *c, size_t ldc)
{
    if (vectors == 2) {
        const float *tail = (const float *)whole + columns - 8;
NNF_UNROLL
        for (int i = 0; i < rows; i++, c += ldc) {
            _mm256_storeu_ps(c, whole[i][0]);
            _mm256_storeu_ps(c + columns - 8, _mm256_loadu_ps(tail + 8 * vectors * i));
        }
        return;
    }
    for (int i = 0; i < rows; i++, c += ldc) {
        for (int v = 0; v < vectors; v++)
            nnf_store_f32_avx2(c + 8 * v, (ptrdiff_t)columns - 8 * v, whole[i][v]);
    }
}

/* Number s of four in all lanes. */
INLINE __m256 lane_of(__m256 four, const int s)
{
    switch (s) {
    case 0: return _mm256_permute_ps(four, 0x00);
    case 1: return _mm256_permute_ps(four, 0x55);
    case 2: return _mm256_permute_ps(four, 0xAA);
    default: return _mm256_permute_ps(four, 0xFF);
    }
}

/* Is a row read by fours, and each number of it by a shuffle? With one vector of columns a core would load more than it
 * multiplies; more such rows, and sums would leave their registers. */
INLINE bool is_shuffled(const int rows, const int vectors, const int row)
{
    return vectors == 1 && (row == 1 || (row == 3 && rows == 5));
}

INLINE void run(const nnf_conv2d_f32_tile *t, const int rows, const int vectors, const int fetch)
{
    /* With few sums one per output would wait for its own additions: split the depth over several. */
    const int chains = vectors == 1 ? (rows <= 3 ? 4 : 2) : rows == 1 ? 4 : rows == 2 ? 2 : 1;
    /* Always as many fetches, a branch costs more: where fewer lines are wanted they go to the same ones again. */
    const char *next = t->lines ? t->prefetch : (const char *)t->w;
    const size_t pace = t->lines * 64 / (size_t)fetch;
    const size_t ahead = t->first + t->depth; /* behind the inputs of a row */
    const size_t wide = nnf_conv2d_wide(t->columns, N), last = vectors == 2 ? wide : t->columns;
    for (size_t j = vectors == 2 ? 0 : wide; j < last; j += N) {
        const float *w = t->w + j * (t->taps * t->depth + 1);
        __m256 sum[4][M][2];
NNF_UNROLL
        for (int i = 0; i < rows; i++) {
NNF_UNROLL
            for (int v = 0; v < vectors; v++) {
                sum[0][i][v] = _mm256_load_ps(w + 8 * v);
NNF_UNROLL
                for (int c = 1; c < chains; c++)
                    sum[c][i][v] = _mm256_setzero_ps();
            }
        }
        w += 8 * vectors;
        for (size_t tap = 0; tap < t->taps; tap++) {
            const float *a[M];
NNF_UNROLL
            for (int i = 0; i < rows; i++)
                a[i] = t->a[tap * M + (size_t)i] + ahead;
            /* Counts up to zero: no register for the end. */
            ptrdiff_t k = -(ptrdiff_t)t->depth;
            for (; k + STEPS <= 0; k += STEPS) {
                /* One counter for all rows: of an affine one gcc makes a pointer for each row, to be moved each time. */
                __asm__("" : "+r"(k));
NNF_UNROLL
                for (int line = 0; line < fetch; line++, next += pace)
                    _mm_prefetch(next, _MM_HINT_T1);
                __m256 four[M];
NNF_UNROLL
                for (int i = 0; i < rows; i++) {
                    if (is_shuffled(rows, vectors, i))
                        four[i] = _mm256_broadcast_ps((const __m128 *)(a[i] + k));
                }
NNF_UNROLL
                for (int s = 0; s < STEPS; s++) {
                    const int c = s % chains;
                    const __m256 low = _mm256_load_ps(w), high = _mm256_load_ps(w + 8 * (vectors - 1));
NNF_UNROLL
                    for (int i = 0; i < rows; i++) {
                        const __m256 x = is_shuffled(rows, vectors, i) ? lane_of(four[i], s)
                                                                       : _mm256_broadcast_ss(a[i] + k + s);
                        add_product(&sum[c][i][0], x, low);
                        if (vectors == 2)
                            add_product(&sum[c][i][1], x, high);
                    }
                    w += 8 * vectors;
                }
            }
            for (; k < 0; k++) {
                const __m256 low = _mm256_load_ps(w), high = _mm256_load_ps(w + 8 * (vectors - 1));
NNF_UNROLL
                for (int i = 0; i < rows; i++) {
                    const __m256 x = _mm256_broadcast_ss(a[i] + k);
                    add_product(&sum[0][i][0], x, low);
                    if (vectors == 2)
                        add_product(&sum[0][i][1], x, high);
                }
                w += 8 * vectors;
            }
        }
        const __m256 lo = _mm256_set1_ps(t->lo), hi = _mm256_set1_ps(t->hi);
        const bool full = t->columns - j >= 8 * (size_t)vectors;
        __m256 whole[M][2];
        float *c = full ? t->c + j : (float *)whole;
        const size_t ldc = full ? t->ldc : N;
NNF_UNROLL
        for (int i = 0; i < rows; i++, c += ldc) {
NNF_UNROLL
            for (int v = 0; v < vectors; v++) {
                __m256 y = sum[0][i][v];
                if (chains == 2)
                    y = _mm256_add_ps(y, sum[1][i][v]);
                if (chains == 4)
                    y = _mm256_add_ps(_mm256_add_ps(y, sum[1][i][v]), _mm256_add_ps(sum[2][i][v], sum[3][i][v]));
                /* min/max return the second operand when either is NaN: the sum comes second, so that it stays one. */
                _mm256_storeu_ps(c + 8 * v, _mm256_min_ps(hi, _mm256_max_ps(lo, y)));
            }
        }
        if (!full)
            store_columns(whole, rows, vectors, t->columns - j, t->c + j, t->ldc);
    }
}

INLINE void run_rows(const nnf_conv2d_f32_tile *t, const int vectors, const int fetch)
{
    switch (t->rows) {
    case 1: run(t, 1, vectors, fetch); break;
    case 2: run(t, 2, vectors, fetch); break;
    case 3: run(t, 3, vectors, fetch); break;
    case 4: run(t, 4, vectors, fetch); break;
    case 5: run(t, 5, vectors, fetch); break;
    default: run(t, 6, vectors, fetch); break;
    }
}

void nnf_conv2d_f32_nhwc__avx2_6x16(const nnf_conv2d_f32_tile *t)
{
    const size_t wide = nnf_conv2d_wide(t->columns, N);
    if (wide && t->lines > 1)
        run_rows(t, 2, 4);
    else if (wide)
        run_rows(t, 2, 1);
    if (wide < t->columns)
        run_rows(t, 1, 1);
}

INLINE void run_line(const nnf_conv2d_f32_line *l, const int rows, const int vectors, size_t first)
{
    __m256 sum[M][2];
    const float *w = l->w;
NNF_UNROLL
    for (int i = 0; i < rows; i++) {
NNF_UNROLL
        for (int v = 0; v < vectors; v++)
            sum[i][v] = _mm256_load_ps(w + 8 * v);
    }
    w += 8 * vectors;
    for (size_t tap = 0; tap < l->taps; tap++) {
        if (!l->a[tap]) {
            w += 8 * (size_t)vectors * l->depth;
            continue;
        }
        const float *a = l->a[tap] + first * l->step;
        for (size_t k = 0; k < l->depth; k++, a++) {
NNF_UNROLL
            for (int i = 0; i < rows; i++) {
                const __m256 x = _mm256_broadcast_ss(a + (size_t)i * l->step);
NNF_UNROLL
                for (int v = 0; v < vectors; v++)
                    sum[i][v] = _mm256_fmadd_ps(x, _mm256_load_ps(w + 8 * v), sum[i][v]);
            }
            w += 8 * vectors;
        }
    }
    const __m256 lo = _mm256_set1_ps(l->lo), hi = _mm256_set1_ps(l->hi);
    const bool full = l->columns == 8 * (size_t)vectors;
    __m256 whole[M][2];
    float *c = full ? l->c + first * l->ldc : (float *)whole;
    const size_t ldc = full ? l->ldc : N;
NNF_UNROLL
    for (int i = 0; i < rows; i++, c += ldc) {
NNF_UNROLL
        for (int v = 0; v < vectors; v++)
            _mm256_storeu_ps(c + 8 * v, _mm256_min_ps(hi, _mm256_max_ps(lo, sum[i][v])));
    }
    if (!full)
        store_columns(whole, rows, vectors, l->columns, l->c + first * l->ldc, l->ldc);
}

INLINE void run_lines(const nnf_conv2d_f32_line *l, const int vectors)
{
    const size_t tiles = (l->rows + M - 1) / M, height = l->rows / tiles, taller = l->rows % tiles;
    for (size_t t = 0, first = 0; t < tiles; t++) {
        const size_t rows = height + (t < taller);
        switch (rows) {
        case 1: run_line(l, 1, vectors, first); break;
        case 2: run_line(l, 2, vectors, first); break;
        case 3: run_line(l, 3, vectors, first); break;
        case 4: run_line(l, 4, vectors, first); break;
        case 5: run_line(l, 5, vectors, first); break;
        default: run_line(l, 6, vectors, first); break;
        }
        first += rows;
    }
}

void nnf_conv2d_line_f32_nhwc__avx2_6x16(const nnf_conv2d_f32_line *l)
{
    if (nnf_conv2d_width(l->columns, N) == N)
        run_lines(l, 2);
    else
        run_lines(l, 1);
}
