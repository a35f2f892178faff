#include "conv2d.h"

#include <immintrin.h>
#include <string.h>

#include "conv2d_requantize_avx512.h"
#include "nnf/simd/codes_f64_avx512.h"
#include "nnf/simd/s32_avx512.h"
#include "nnf/unroll.h"

#define STORE_FIRST(y, count, value) store(y, first_lanes(count), value)

#include "conv2d_values_simd.h"

enum { HEIGHT = 12, WIDTH = 32 };

/* What a tile gives. */
enum { TO_CODES, TO_SUMS, TO_VALUES, TO_CODES_ONCE };

INLINE __m512i four(const uint8_t *a)
{
    int32_t codes;
    memcpy(&codes, a, 4);
    return _mm512_set1_epi32(codes);
}

INLINE void run(const nnf_conv2d_q8_tile *t, const int rows, const int vectors, const int to)
{
    /* With few rows one sum per output would wait for its own additions: split the depth over several. */
    const int chains = rows == 1 ? 4 : rows <= 3 ? 2 : 1;
    const int8_t *w = nnf_conv2d_q8_weights(t->w, (size_t)(16 * vectors));
    const size_t lda = t->lda;
    const int kind = to == TO_CODES ? nnf_conv2d_finish_kind(t, vectors) : NNF_CONV2D_ANY;
    __m512i sum[4][HEIGHT][2];
    NNF_UNROLL
    for (int i = 0; i < rows; i++) {
        NNF_UNROLL
        for (int v = 0; v < vectors; v++) {
            sum[0][i][v] = _mm512_add_epi32(_mm512_load_si512(t->w + 16 * v), nnf_conv2d_start(kind));
            NNF_UNROLL
            for (int c = 1; c < chains; c++)
                sum[c][i][v] = _mm512_setzero_si512();
        }
    }
    /* Three rows hang on one address, by multiples of lda. */
    const uint8_t *a[HEIGHT / 3];
    NNF_UNROLL
    for (int i = 0; i < rows; i += 3)
        a[i / 3] = t->a + (size_t)i * lda;
    size_t g = 0;
    for (; g + 4 <= t->groups; g += 4) {
        NNF_UNROLL
        for (int s = 0; s < 4; s++) {
            const __m512i low = _mm512_load_si512(w), high = _mm512_load_si512(w + 64 * (vectors - 1));
            NNF_UNROLL
            for (int i = 0; i < rows; i++) {
                const __m512i x = four(a[i / 3] + (size_t)(i % 3) * lda + 4 * s);
                sum[s % chains][i][0] = _mm512_dpbusd_epi32(sum[s % chains][i][0], x, low);
                if (vectors == 2)
                    sum[s % chains][i][1] = _mm512_dpbusd_epi32(sum[s % chains][i][1], x, high);
            }
            w += 64 * vectors;
        }
        NNF_UNROLL
        for (int i = 0; i < rows; i += 3)
            a[i / 3] += 16;
    }
    for (; g < t->groups; g++) {
        const __m512i low = _mm512_load_si512(w), high = _mm512_load_si512(w + 64 * (vectors - 1));
        NNF_UNROLL
        for (int i = 0; i < rows; i++) {
            const __m512i x = four(a[i / 3] + (size_t)(i % 3) * lda);
            sum[0][i][0] = _mm512_dpbusd_epi32(sum[0][i][0], x, low);
            if (vectors == 2)
                sum[0][i][1] = _mm512_dpbusd_epi32(sum[0][i][1], x, high);
        }
        w += 64 * vectors;
        NNF_UNROLL
        for (int i = 0; i < rows; i += 3)
            a[i / 3] += 4;
    }
    NNF_UNROLL
    for (int i = 0; i < rows; i++) {
        NNF_UNROLL
        for (int v = 0; v < vectors; v++) {
            NNF_UNROLL
            for (int c = 1; c < chains; c++)
                sum[0][i][v] = _mm512_add_epi32(sum[0][i][v], sum[c][i][v]);
        }
    }
    if (to == TO_SUMS)
        nnf_conv2d_store_s32(t, rows, vectors, sum[0]);
    else if (to == TO_VALUES)
        nnf_conv2d_store_values(t, 0, 0, t->columns, rows, vectors, sum[0]);
    else if (to == TO_CODES_ONCE)
        nnf_conv2d_store_once(t, 0, 0, t->columns, rows, vectors, sum[0]);
    else
        nnf_conv2d_finish_tile(t, rows, vectors, kind, sum[0]);
}

INLINE void run_rows(const nnf_conv2d_q8_tile *t, const int vectors, const int to)
{
    switch (t->rows) {
    case 1: run(t, 1, vectors, to); break;
    case 2: run(t, 2, vectors, to); break;
    case 3: run(t, 3, vectors, to); break;
    case 4: run(t, 4, vectors, to); break;
    case 5: run(t, 5, vectors, to); break;
    case 6: run(t, 6, vectors, to); break;
    case 7: run(t, 7, vectors, to); break;
    case 8: run(t, 8, vectors, to); break;
    case 9: run(t, 9, vectors, to); break;
    case 10: run(t, 10, vectors, to); break;
    case 11: run(t, 11, vectors, to); break;
    default: run(t, 12, vectors, to); break;
    }
}

INLINE void run_tile(const nnf_conv2d_q8_tile *t, const int to)
{
    if (nnf_conv2d_width(t->columns, WIDTH) == WIDTH)
        run_rows(t, 2, to);
    else
        run_rows(t, 1, to);
}

void nnf_conv2d_qu8_qs8c_nhwc__avx512vnni_12x32k4(const nnf_conv2d_q8_tile *t)
{
    run_tile(t, TO_CODES);
}

void nnf_conv2d_s32_qu8_qs8c_nhwc__avx512vnni_12x32k4(const nnf_conv2d_q8_tile *t)
{
    run_tile(t, TO_SUMS);
}

void nnf_conv2d_f32_qu8_qs8c_nhwc__avx512vnni_12x32k4(const nnf_conv2d_q8_tile *t)
{
    run_tile(t, TO_VALUES);
}

void nnf_conv2d_once_qu8_qs8c_nhwc__avx512vnni_12x32k4(const nnf_conv2d_q8_tile *t)
{
    run_tile(t, TO_CODES_ONCE);
}
