#include "conv2d.h"

#include <immintrin.h>

#include "nnf/unroll.h"

enum { M = 6, N = 16 };

static inline __attribute__((always_inline)) void run(const nnf_conv2d_f32_tile *t, const int rows, const int vectors)
{
    /* With few rows one sum per output would wait for its own additions: split the depth over several. */
    const int chains = rows == 1 ? 4 : rows == 2 ? 2 : 1;
    __m256 sum[4][M][2];
    const float *w = t->w;
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
            a[i] = t->a[tap * M + (size_t)i] + t->depth;
        /* Counts up to zero: no register for the end. */
        ptrdiff_t k = -(ptrdiff_t)t->depth;
        for (; chains > 1 && k + chains <= 0; k += chains) {
NNF_UNROLL
            for (int c = 0; c < chains; c++) {
NNF_UNROLL
                for (int i = 0; i < rows; i++) {
                    const __m256 x = _mm256_broadcast_ss(a[i] + k + c);
NNF_UNROLL
                    for (int v = 0; v < vectors; v++)
                        sum[c][i][v] = _mm256_fmadd_ps(x, _mm256_load_ps(w + 8 * v), sum[c][i][v]);
                }
                w += 8 * vectors;
            }
        }
        for (; k < 0; k++) {
            const __m256 low = _mm256_load_ps(w), high = _mm256_load_ps(w + 8 * (vectors - 1));
NNF_UNROLL
            for (int i = 0; i < rows; i++) {
                const __m256 x = _mm256_broadcast_ss(a[i] + k);
                sum[0][i][0] = _mm256_fmadd_ps(x, low, sum[0][i][0]);
                if (vectors == 2)
                    sum[0][i][1] = _mm256_fmadd_ps(x, high, sum[0][i][1]);
            }
            w += 8 * vectors;
        }
    }
    const __m256 lo = _mm256_set1_ps(t->lo), hi = _mm256_set1_ps(t->hi);
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
NNF_UNROLL
    for (int i = 0; i < rows; i++) {
NNF_UNROLL
        for (int v = 0; v < vectors; v++) {
            __m256 y = sum[0][i][v];
            if (chains == 2)
                y = _mm256_add_ps(y, sum[1][i][v]);
            if (chains == 4)
                y = _mm256_add_ps(_mm256_add_ps(y, sum[1][i][v]), _mm256_add_ps(sum[2][i][v], sum[3][i][v]));
            /* min/max return the second operand when either is NaN: the sum comes second, so that a NaN stays one. */
            y = _mm256_min_ps(hi, _mm256_max_ps(lo, y));
            float *c = t->c + (size_t)i * t->ldc + 8 * v;
            const int left = (int)t->columns - 8 * v;
            if (left >= 8)
                _mm256_storeu_ps(c, y);
            else
                _mm256_maskstore_ps(c, _mm256_cmpgt_epi32(_mm256_set1_epi32(left), lane), y);
        }
    }
}

static inline __attribute__((always_inline)) void run_rows(const nnf_conv2d_f32_tile *t, const int vectors)
{
    switch (t->rows) {
    case 1: run(t, 1, vectors); break;
    case 2: run(t, 2, vectors); break;
    case 3: run(t, 3, vectors); break;
    case 4: run(t, 4, vectors); break;
    case 5: run(t, 5, vectors); break;
    default: run(t, 6, vectors); break;
    }
}

void nnf_conv2d_f32_nhwc__avx2_6x16(const nnf_conv2d_f32_tile *t)
{
    if (nnf_conv2d_width(t->columns, N) == N)
        run_rows(t, 2);
    else
        run_rows(t, 1);
}
