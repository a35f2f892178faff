#include "conv2d_bf16.h"

#include <immintrin.h>

#include "nnf/unroll.h"

enum { M = 12, N = 32 };

/* Two bfloat16 at `from` in every lane. */
INLINE __m512bh pair(const uint16_t *from)
{
    int32_t both;
    memcpy(&both, from, sizeof both);
    return (__m512bh)_mm512_set1_epi32(both);
}

/* The products of a pair of each row, or of the first of the pair. */
INLINE void step(__m512 sum[M][2], const uint16_t *from, size_t lda, const uint16_t *w, const int rows,
                 const int vectors, const int single)
{
    __m512bh weights[2];
    NNF_UNROLL
    for (int v = 0; v < vectors; v++)
        weights[v] = (__m512bh)_mm512_load_si512(w + 32 * v);
    NNF_UNROLL
    for (int i = 0; i < rows; i++) {
        const uint16_t *at = from + (size_t)i * lda;
        const __m512bh a = single ? (__m512bh)_mm512_set1_epi32(*at) : pair(at);
        NNF_UNROLL
        for (int v = 0; v < vectors; v++)
            sum[i][v] = _mm512_dpbf16_ps(sum[i][v], a, weights[v]);
    }
}

INLINE void tile(const nnf_conv2d_bf16_tile *t, const int rows, const int vectors)
{
    __m512 sum[M][2];
    const uint16_t *w = nnf_conv2d_bf16_weights(t->w, (size_t)(16 * vectors));
    NNF_UNROLL
    for (int i = 0; i < rows; i++) {
        NNF_UNROLL
        for (int v = 0; v < vectors; v++)
            sum[i][v] = _mm512_load_ps(t->w + 16 * v);
    }
    const size_t pairs = t->pairs - (t->odd != 0), lda = t->lda;
    for (size_t tap = 0; tap < t->taps; tap++) {
        const uint16_t *from = t->a + t->tap[tap];
        for (size_t k = 0; k < pairs; k++, from += 2, w += 32 * vectors)
            step(sum, from, lda, w, rows, vectors, 0);
        if (t->odd) {
            step(sum, from, lda, w, rows, vectors, 1);
            w += 32 * vectors;
        }
    }
    const __m512 lo = _mm512_set1_ps(t->lo), hi = _mm512_set1_ps(t->hi);
    const uint32_t columns = UINT32_C(0xFFFFFFFF) >> (N - t->columns);
    size_t column = t->at;
    float *c = t->c;
    NNF_UNROLL
    for (int i = 0; i < rows; i++) {
        const int kept = column < t->line;
        NNF_UNROLL
        for (int v = 0; v < vectors; v++) {
            /* min and max return their second operand where one is a NaN. */
            const __m512 y = _mm512_min_ps(hi, _mm512_max_ps(lo, sum[i][v]));
            _mm512_mask_storeu_ps(c + 16 * v, (__mmask16)(kept ? columns >> 16 * v : 0), y);
        }
        c += kept ? t->ldc : 0;
        column = column + 1 < t->span ? column + 1 : 0;
    }
}

#define TILES(rows)                                                                                                    \
    static void half_##rows(const nnf_conv2d_bf16_tile *t) { tile(t, rows, 1); }                                       \
    static void whole_##rows(const nnf_conv2d_bf16_tile *t) { tile(t, rows, 2); }

TILES(1) TILES(2) TILES(3) TILES(4) TILES(5) TILES(6) TILES(7) TILES(8) TILES(9) TILES(10) TILES(11) TILES(12)

void nnf_conv2d_bf16_nhwc__avx512bf16_12x32k2(const nnf_conv2d_bf16_tile *t)
{
    static void (*const tiles[2][M])(const nnf_conv2d_bf16_tile *) = {
        {half_1, half_2, half_3, half_4, half_5, half_6, half_7, half_8, half_9, half_10, half_11, half_12},
        {whole_1, whole_2, whole_3, whole_4, whole_5, whole_6, whole_7, whole_8, whole_9, whole_10, whole_11,
         whole_12}};
    nnf_conv2d_bf16_tile part = *t;
    for (size_t j = 0; j < t->columns; j += N) {
        const size_t here = t->columns - j < N ? t->columns - j : N, width = nnf_conv2d_width(here, N);
        part.columns = here;
        part.c = t->c + j;
        tiles[width == N][t->rows - 1](&part);
        part.w += nnf_conv2d_bf16_panel(width, t->taps * t->pairs) / sizeof(float);
    }
}

void nnf_conv2d_gather_bf16_nhwc__avx512bf16_32(size_t rows, size_t n, const float *x, size_t ldx, uint16_t *to,
                                                size_t ldt)
{
    for (size_t i = 0; i < rows; i++, x += ldx, to += ldt) {
        size_t k = 0;
        for (; k + 32 <= n; k += 32) {
            const __m512bh both = _mm512_cvtne2ps_pbh(_mm512_loadu_ps(x + k + 16), _mm512_loadu_ps(x + k));
            _mm512_storeu_si512(to + k, (__m512i)both);
        }
        if (k < n) {
            const uint32_t live = UINT32_C(0xFFFFFFFF) >> (32 - (n - k));
            const __m512 low = _mm512_maskz_loadu_ps((__mmask16)live, x + k);
            const __m512 high = _mm512_maskz_loadu_ps((__mmask16)(live >> 16), x + k + 16);
            _mm512_mask_storeu_epi16(to + k, live, (__m512i)_mm512_cvtne2ps_pbh(high, low));
        }
    }
}

/* As many whole pixels at once as 16 numbers hold. */
void nnf_conv2d_spread_bf16_nhwc__avx512bf16_16(size_t pixels, size_t channels, const float *x, size_t pixel,
                                                uint16_t *to)
{
    const size_t each = 16 / pixel;
    int32_t from[16];
    uint32_t live = 0;
    for (size_t i = 0, at = 0, k = 0; i < 16; i++) {
        const int read = at < each && k < channels;
        from[i] = read ? (int32_t)(at * channels + k) : 0;
        live |= (uint32_t)read << i;
        if (++k == pixel)
            k = 0, at++;
    }
    const __m512i index = _mm512_loadu_si512(from);
    const uint32_t in = (UINT32_C(1) << each * channels) - 1;
    size_t i = 0;
    /* A store of 16 numbers may run into the next pixels, which come later. */
    for (; (i + each) * pixel + 16 <= pixels * pixel; i += each, x += each * channels, to += each * pixel) {
        const __m512 packed = _mm512_maskz_loadu_ps((__mmask16)in, x);
        const __m512 apart = _mm512_maskz_permutexvar_ps((__mmask16)live, index, packed);
        _mm256_storeu_si256((void *)to, (__m256i)_mm512_cvtneps_pbh(apart));
    }
    for (; i < pixels; i += each, x += each * channels, to += each * pixel) {
        const size_t count = pixels - i < each ? pixels - i : each;
        const uint32_t out = (UINT32_C(1) << count * pixel) - 1;
        const __m512 packed = _mm512_maskz_loadu_ps((__mmask16)((UINT32_C(1) << count * channels) - 1), x);
        const __m512 apart = _mm512_maskz_permutexvar_ps((__mmask16)live, index, packed);
        _mm256_mask_storeu_epi16(to, (__mmask16)out, (__m256i)_mm512_cvtneps_pbh(apart));
    }
}
