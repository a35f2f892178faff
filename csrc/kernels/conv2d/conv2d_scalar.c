#include "conv2d.h"

#include "nnf/fixedpoint.h"

enum { M = 4, N = 8 };

void nnf_conv2d_f32_nhwc__scalar(const nnf_conv2d_f32_tile *t)
{
    for (size_t i = 0; i < t->rows; i++) {
        for (size_t j = 0; j < t->columns; j++) {
            const size_t first = j / N * N, width = nnf_conv2d_width(t->columns - first, N);
            const float *w = t->w + first * (t->taps * t->depth + 1) + j - first;
            float sum = *w;
            w += width;
            for (size_t tap = 0; tap < t->taps; tap++) {
                const float *a = t->a[tap * M + i] + t->first;
                for (size_t k = 0; k < t->depth; k++, w += width)
                    sum += a[k] * *w;
            }
            t->c[i * t->ldc + j] = sum < t->lo ? t->lo : sum > t->hi ? t->hi : sum;
        }
    }
}

void nnf_conv2d_line_f32_nhwc__scalar(const nnf_conv2d_f32_line *l)
{
    const size_t width = nnf_conv2d_width(l->columns, N);
    for (size_t i = 0; i < l->rows; i++) {
        for (size_t j = 0; j < l->columns; j++) {
            float sum = l->w[j];
            for (size_t tap = 0; tap < l->taps; tap++) {
                const float *w = l->w + width + tap * l->depth * width + j;
                for (size_t k = 0; l->a[tap] && k < l->depth; k++)
                    sum += l->a[tap][i * l->step + k] * w[k * width];
            }
            l->c[i * l->ldc + j] = sum < l->lo ? l->lo : sum > l->hi ? l->hi : sum;
        }
    }
}

/* at: where blocks of 64 codes of a row lie, NULL if one behind the other; raw: the sums are the result. */
static inline void multiply_q8(const nnf_conv2d_q8_tile *t, const int flip, const uint32_t *at, const int raw)
{
    const size_t width = nnf_conv2d_width(t->columns, N);
    const int32_t *multiplier = t->w + NNF_CONV2D_Q8_MULTIPLIER * width, *left = t->w + NNF_CONV2D_Q8_LEFT * width;
    const int32_t *right = t->w + NNF_CONV2D_Q8_RIGHT * width;
    const int8_t *weights = nnf_conv2d_q8_weights(t->w, width);
    for (size_t i = 0; i < t->rows; i++) {
        const uint8_t *a = t->a + i * t->lda;
        for (size_t j = 0; j < t->columns; j++) {
            uint32_t sum = (uint32_t)t->w[j] + (t->offset ? (uint32_t)t->offset[i] : 0);
            for (size_t k = 0; k < 4 * t->groups; k++) {
                const uint8_t code = a[at ? at[k / NNF_CONV2D_Q8_BLOCK] + k % NNF_CONV2D_Q8_BLOCK : k];
                sum += (uint32_t)((code ^ flip) * weights[(k / 4 * width + j) * 4 + k % 4]);
            }
            if (raw) {
                ((int32_t *)t->c)[i * t->ldc + j] = (int32_t)sum;
                continue;
            }
            const int32_t scaled = nnf_mbqm((int32_t)sum, multiplier[j], left[j] - right[j]);
            /* The clamp comes first, so that the zero point cannot overflow. */
            const int32_t y = nnf_clamp_s32(scaled, t->lo - t->zero_point, t->hi - t->zero_point) + t->zero_point;
            t->c[i * t->ldc + j] = (uint8_t)y ^ t->flip;
        }
    }
}

void nnf_conv2d_qu8_qs8c_nhwc__scalar(const nnf_conv2d_q8_tile *t)
{
    multiply_q8(t, 0, NULL, 0);
}

void nnf_conv2d_qs8_qs8c_nhwc__scalar(const nnf_conv2d_q8_tile *t)
{
    multiply_q8(t, 0x80, NULL, 0);
}

void nnf_conv2d_s32_qu8_qs8c_nhwc__scalar(const nnf_conv2d_q8_tile *t)
{
    multiply_q8(t, 0, NULL, 1);
}

/* The sums of a tile, [rows][N]. */
static void sum_tile(const nnf_conv2d_q8_tile *t, int32_t *sums)
{
    nnf_conv2d_q8_tile tile = *t;
    tile.c = (uint8_t *)sums;
    tile.ldc = N;
    multiply_q8(&tile, 0, NULL, 1);
}

void nnf_conv2d_f32_qu8_qs8c_nhwc__scalar(const nnf_conv2d_q8_tile *t)
{
    const nnf_conv2d_q8_values *values = t->values;
    int32_t sums[M * N];
    sum_tile(t, sums);
    for (size_t i = 0; i < t->rows; i++) {
        for (size_t j = 0; j < t->columns; j++)
            ((float *)t->c)[i * t->ldc + j] = nnf_sum_value(sums[i * N + j], values->row + i * values->next, &values->by, j);
    }
}

void nnf_conv2d_once_qu8_qs8c_nhwc__scalar(const nnf_conv2d_q8_tile *t)
{
    const nnf_codes codes = {.zero_point = t->zero_point, .lo = t->lo, .hi = t->hi, .flip = t->flip};
    int32_t sums[M * N];
    sum_tile(t, sums);
    for (size_t i = 0; i < t->rows; i++) {
        for (size_t j = 0; j < t->columns; j++)
            t->c[i * t->ldc + j] = nnf_code_of_sum(sums[i * N + j], t->scale[j], &codes);
    }
}

static void multiply_lines(const nnf_conv2d_q8_lines *p, const int flip)
{
    nnf_conv2d_q8_tile t = p->tile;
    for (size_t l = 0; l < p->lines; l++) {
        multiply_q8(&t, flip, p->at, 0);
        t.a += p->line;
        t.c += t.rows * t.ldc;
        if (t.offset)
            t.offset += t.rows;
    }
}

void nnf_conv2d_few_qu8_qs8c_nhwc__scalar(const nnf_conv2d_q8_tile *t)
{
    nnf_conv2d_qu8_qs8c_nhwc__scalar(t);
}

void nnf_conv2d_few_s32_qu8_qs8c_nhwc__scalar(const nnf_conv2d_q8_tile *t)
{
    nnf_conv2d_s32_qu8_qs8c_nhwc__scalar(t);
}

void nnf_conv2d_lines_qu8_qs8c_nhwc__scalar(const nnf_conv2d_q8_lines *lines)
{
    multiply_lines(lines, 0);
}

void nnf_conv2d_lines_qs8_qs8c_nhwc__scalar(const nnf_conv2d_q8_lines *lines)
{
    multiply_lines(lines, 0x80);
}

void nnf_conv2d_gather_qu8_nhwc__scalar(size_t rows, size_t n, const uint8_t *x, size_t ldx, uint8_t flip, uint8_t *to,
                                        size_t ldt, uint32_t *sums)
{
    for (size_t i = 0; i < rows; i++) {
        uint32_t sum = 0;
        for (size_t k = 0; k < n; k++) {
            to[i * ldt + k] = x[i * ldx + k] ^ flip;
            sum += to[i * ldt + k];
        }
        if (sums)
            sums[i] += sum;
    }
}
