#include "conv2d.h"

#include <immintrin.h>
#include <string.h>

#include "nnf/requantize_avx2.h"
#include "nnf/unroll.h"

enum { M = 6, N = 16, STEPS = 4, M_Q8 = 4 };

/* sum += x * w in the sum's own register. Of the intrinsic gcc makes forms that overwrite a factor, and then moves and
 * spills sums: fifteen of sixteen registers are in use. */
static inline __attribute__((always_inline)) void add_product(__m256 *sum, __m256 x, __m256 w)
{
    __asm__("vfmadd231ps %2, %1, %0" : "+x"(*sum) : "x"(x), "x"(w));
}

static inline __attribute__((always_inline)) void run(const nnf_conv2d_f32_tile *t, const int rows, const int vectors,
                                                      const int fetch)
{
    /* With few rows one sum per output would wait for its own additions: split the depth over several. */
    const int chains = rows == 1 ? 4 : rows == 2 ? 2 : 1;
    /* Always as many fetches, a branch costs more: where fewer lines are wanted they go to the same ones again. */
    const char *ahead = t->lines ? t->ahead : (const char *)t->w;
    const size_t pace = t->lines * 64 / (size_t)fetch;
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
                a[i] = t->a[tap * M + (size_t)i] + t->depth;
            /* Counts up to zero: no register for the end. */
            ptrdiff_t k = -(ptrdiff_t)t->depth;
            for (; k + STEPS <= 0; k += STEPS) {
NNF_UNROLL
                for (int line = 0; line < fetch; line++, ahead += pace)
                    _mm_prefetch(ahead, _MM_HINT_T1);
NNF_UNROLL
                for (int s = 0; s < STEPS; s++) {
                    const int c = s % chains;
                    const __m256 low = _mm256_load_ps(w), high = _mm256_load_ps(w + 8 * (vectors - 1));
NNF_UNROLL
                    for (int i = 0; i < rows; i++) {
                        const __m256 x = _mm256_broadcast_ss(a[i] + k + s);
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
                /* min/max return the second operand when either is NaN: the sum comes second, so that it stays one. */
                y = _mm256_min_ps(hi, _mm256_max_ps(lo, y));
                float *c = t->c + (size_t)i * t->ldc + j + 8 * (size_t)v;
                const ptrdiff_t left = (ptrdiff_t)(t->columns - j) - 8 * v;
                if (left >= 8)
                    _mm256_storeu_ps(c, y);
                else
                    _mm256_maskstore_ps(c, _mm256_cmpgt_epi32(_mm256_set1_epi32((int)left), lane), y);
            }
        }
    }
}

static inline __attribute__((always_inline)) void run_rows(const nnf_conv2d_f32_tile *t, const int vectors,
                                                           const int fetch)
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

static inline __attribute__((always_inline)) void run_line(const nnf_conv2d_f32_line *l, const int rows,
                                                           const int vectors, size_t first)
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
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
NNF_UNROLL
    for (int i = 0; i < rows; i++) {
NNF_UNROLL
        for (int v = 0; v < vectors; v++) {
            const __m256 y = _mm256_min_ps(hi, _mm256_max_ps(lo, sum[i][v]));
            const __m256i mask = _mm256_cmpgt_epi32(_mm256_set1_epi32((int)l->columns - 8 * v), lane);
            _mm256_maskstore_ps(l->c + (first + (size_t)i) * l->ldc + 8 * v, mask, y);
        }
    }
}

static inline __attribute__((always_inline)) void run_lines(const nnf_conv2d_f32_line *l, const int vectors)
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

/* Codes of one row from its sums. */
static inline __attribute__((always_inline)) void store_q8(const nnf_conv2d_q8_tile *t, size_t row, const int vectors,
                                                           const __m256i sum[2])
{
    __m256i x[2];
    NNF_UNROLL
    for (int v = 0; v < vectors; v++) {
        const __m256i *header = (const __m256i *)t->w + v;
        x[v] = sum[v];
        if (t->offset)
            x[v] = _mm256_add_epi32(x[v], _mm256_set1_epi32(t->offset[row]));
        x[v] = nnf_mbqm_avx2(x[v], header[NNF_CONV2D_Q8_MULTIPLIER * vectors], header[NNF_CONV2D_Q8_LEFT * vectors],
                             header[NNF_CONV2D_Q8_RIGHT * vectors]);
    }
    /* Saturation on the way to 16 and 8 bits is part of the clamp, as lo >= 0 and hi <= 255. */
    __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(x[0], x[vectors - 1]), 0xD8);
    words = _mm256_adds_epi16(words, _mm256_set1_epi16((short)t->zero_point));
    __m128i codes = _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    codes = _mm_max_epu8(codes, _mm_set1_epi8((char)t->lo));
    codes = _mm_min_epu8(codes, _mm_set1_epi8((char)t->hi));
    codes = _mm_xor_si128(codes, _mm_set1_epi8((char)t->flip));
    uint8_t *c = t->c + row * t->ldc;
    if (t->columns == N) {
        _mm_storeu_si128((__m128i *)c, codes);
    } else {
        uint8_t all[N];
        _mm_storeu_si128((__m128i *)all, codes);
        memcpy(c, all, t->columns);
    }
}

/* The sums of one row as they are. */
static inline __attribute__((always_inline)) void store_s32(const nnf_conv2d_q8_tile *t, size_t row, const int vectors,
                                                            const __m256i sum[2])
{
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256i offset = _mm256_set1_epi32(t->offset ? t->offset[row] : 0);
    int *c = (int *)t->c + row * t->ldc;
    NNF_UNROLL
    for (int v = 0; v < vectors; v++) {
        const __m256i mask = _mm256_cmpgt_epi32(_mm256_set1_epi32((int)t->columns - 8 * v), lane);
        _mm256_maskstore_epi32(c + 8 * v, mask, _mm256_add_epi32(sum[v], offset));
    }
}

/* Products of bytes would saturate in 16 bits: even and odd bytes are widened and multiplied apart. raw: the sums are
 * the result. */
static inline __attribute__((always_inline)) void run_q8(const nnf_conv2d_q8_tile *t, const int rows, const int vectors,
                                                         const int raw)
{
    const int8_t *w = nnf_conv2d_q8_weights(t->w, (size_t)(8 * vectors));
    const __m256i low_bytes = _mm256_set1_epi16(0xFF);
    __m256i sum[M_Q8][2];
    NNF_UNROLL
    for (int i = 0; i < rows; i++) {
        NNF_UNROLL
        for (int v = 0; v < vectors; v++)
            sum[i][v] = ((const __m256i *)t->w)[v];
    }
    for (size_t g = 0; g < t->groups; g++) {
        __m256i even[2], odd[2];
        NNF_UNROLL
        for (int v = 0; v < vectors; v++) {
            const __m256i bytes = _mm256_load_si256((const __m256i *)w + v);
            even[v] = _mm256_srai_epi16(_mm256_slli_epi16(bytes, 8), 8);
            odd[v] = _mm256_srai_epi16(bytes, 8);
        }
        NNF_UNROLL
        for (int i = 0; i < rows; i++) {
            int32_t codes;
            memcpy(&codes, t->a + (size_t)i * t->lda + 4 * g, 4);
            const __m256i x = _mm256_set1_epi32(codes);
            const __m256i x_even = _mm256_and_si256(x, low_bytes), x_odd = _mm256_srli_epi16(x, 8);
            NNF_UNROLL
            for (int v = 0; v < vectors; v++) {
                sum[i][v] = _mm256_add_epi32(sum[i][v], _mm256_madd_epi16(x_even, even[v]));
                sum[i][v] = _mm256_add_epi32(sum[i][v], _mm256_madd_epi16(x_odd, odd[v]));
            }
        }
        w += 32 * vectors;
    }
    NNF_UNROLL
    for (int i = 0; i < rows; i++) {
        if (raw)
            store_s32(t, (size_t)i, vectors, sum[i]);
        else
            store_q8(t, (size_t)i, vectors, sum[i]);
    }
}

static inline __attribute__((always_inline)) void run_rows_q8(const nnf_conv2d_q8_tile *t, const int vectors,
                                                              const int raw)
{
    switch (t->rows) {
    case 1: run_q8(t, 1, vectors, raw); break;
    case 2: run_q8(t, 2, vectors, raw); break;
    case 3: run_q8(t, 3, vectors, raw); break;
    default: run_q8(t, 4, vectors, raw); break;
    }
}

void nnf_conv2d_qu8_qs8c_nhwc__avx2_4x16k4(const nnf_conv2d_q8_tile *t)
{
    if (nnf_conv2d_width(t->columns, N) == N)
        run_rows_q8(t, 2, 0);
    else
        run_rows_q8(t, 1, 0);
}

void nnf_conv2d_s32_qu8_qs8c_nhwc__avx2_4x16k4(const nnf_conv2d_q8_tile *t)
{
    if (nnf_conv2d_width(t->columns, N) == N)
        run_rows_q8(t, 2, 1);
    else
        run_rows_q8(t, 1, 1);
}

void nnf_conv2d_gather_qu8_nhwc__avx2_32(size_t rows, size_t n, const uint8_t *x, size_t ldx, uint8_t flip,
                                         uint8_t *to, size_t ldt, uint32_t *sums)
{
    const __m256i flips = _mm256_set1_epi8((char)flip), zero = _mm256_setzero_si256();
    for (size_t i = 0; i < rows; i++, x += ldx, to += ldt) {
        __m256i sum = zero;
        size_t k = 0;
        for (; k + 32 <= n; k += 32) {
            const __m256i codes = _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)(x + k)), flips);
            _mm256_storeu_si256((__m256i *)(to + k), codes);
            sum = _mm256_add_epi64(sum, _mm256_sad_epu8(codes, zero));
        }
        const __m128i half = _mm_add_epi64(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
        uint32_t total = (uint32_t)(_mm_extract_epi64(half, 0) + _mm_extract_epi64(half, 1));
        for (; k < n; k++) {
            to[k] = x[k] ^ flip;
            total += to[k];
        }
        if (sums)
            sums[i] += total;
    }
}
