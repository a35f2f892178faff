/* Bins of ROI_ALIGN in vectors of channels. Include after nnf/simd/f32_<isa>.h, codes_<isa>.h and KERNEL. */
#ifndef NNF_ROI_SIMD_H
#define NNF_ROI_SIMD_H

#include "nnf/unroll.h"
#include "roi/roi.h"

enum { MANY = 4, MANY_CODES = 4 / CODE_REGISTERS };

/* LANES channels in each of `vectors`; a single vector has those of `live`. */
INLINE void bin_f32(const nnf_roi *g, const float *w, const int vectors, M live, const float *x, float *y)
{
    V sum[MANY];
    NNF_UNROLL
    for (int v = 0; v < vectors; v++)
        sum[v] = zero();
    for (size_t r = 0; r < g->rows; r++, w += g->columns) {
        const float *line = x + g->row[r];
        V part[MANY];
        NNF_UNROLL
        for (int v = 0; v < vectors; v++)
            part[v] = zero();
        for (size_t c = 0; c < g->columns; c++) {
            const float *at = line + g->column[c];
            NNF_UNROLL
            for (int v = 0; v < vectors; v++)
                part[v] = fmadd(all(w[c]), vectors > 1 ? load_whole(at + LANES * v) : load(live, at), part[v]);
        }
        NNF_UNROLL
        for (int v = 0; v < vectors; v++)
            sum[v] = add(sum[v], part[v]);
    }
    NNF_UNROLL
    for (int v = 0; v < vectors; v++) {
        if (vectors > 1)
            store_whole(y + LANES * v, sum[v]);
        else
            store(y, live, sum[v]);
    }
}

void KERNEL(nnf_roi_align_f32_nhwc)(const nnf_roi *g, const float *w, size_t n, const float *x, float *y)
{
    size_t i = 0;
    for (; i + MANY * LANES <= n; i += MANY * LANES)
        bin_f32(g, w, MANY, first_lanes(LANES), x + i, y + i);
    for (; i + LANES <= n; i += LANES)
        bin_f32(g, w, 1, first_lanes(LANES), x + i, y + i);
    if (i < n)
        bin_f32(g, w, 1, first_lanes(n - i), x + i, y + i);
}

/* CODES channels in each of `vectors`; a single vector has `channels`. */
INLINE void bin_q8(const nnf_roi *g, const int32_t *w, const int vectors, size_t channels, const uint8_t *x, uint8_t *y,
                   const nnf_roi_q8 *constants, bool is_signed)
{
    const nnf_roi_q8 q = *constants; /* which no store to y can change */
    C sum[MANY_CODES];
    NNF_UNROLL
    for (int v = 0; v < vectors; v++)
        sum[v] = codes_all(0);
    for (size_t r = 0; r < g->rows; r++, w += g->columns) {
        const uint8_t *line = x + g->row[r];
        for (size_t c = 0; c < g->columns; c++) {
            const uint8_t *at = line + g->column[c];
            NNF_UNROLL
            for (int v = 0; v < vectors; v++) {
                const C code = channels == CODES ? codes_load_whole(at + CODES * v, is_signed, q.zero_x)
                                                 : codes_load(channels, at, is_signed, q.zero_x);
                sum[v] = codes_mla(sum[v], code, w[c]);
            }
        }
    }
    NNF_UNROLL
    for (int v = 0; v < vectors; v++) {
        C code = codes_between(q.lo - q.zero_y, q.hi - q.zero_y, codes_scale(sum[v], q.multiplier, q.exponent));
        code = codes_add(code, codes_all(q.zero_y));
        if (channels == CODES)
            codes_store_whole(y + CODES * v, code);
        else
            codes_store(y, channels, code);
    }
}

INLINE void align_q8(const nnf_roi *g, const int32_t *w, size_t n, const uint8_t *x, uint8_t *y, const nnf_roi_q8 *q,
                     bool is_signed)
{
    size_t i = 0;
    for (; i + MANY_CODES * CODES <= n; i += MANY_CODES * CODES)
        bin_q8(g, w, MANY_CODES, CODES, x + i, y + i, q, is_signed);
    for (; i + CODES <= n; i += CODES)
        bin_q8(g, w, 1, CODES, x + i, y + i, q, is_signed);
    if (i < n)
        bin_q8(g, w, 1, n - i, x + i, y + i, q, is_signed);
}

void KERNEL(nnf_roi_align_qu8_nhwc)(const nnf_roi *g, const int32_t *w, size_t n, const uint8_t *x, uint8_t *y,
                                    const nnf_roi_q8 *q)
{
    align_q8(g, w, n, x, y, q, false);
}

void KERNEL(nnf_roi_align_qs8_nhwc)(const nnf_roi *g, const int32_t *w, size_t n, const uint8_t *x, uint8_t *y,
                                    const nnf_roi_q8 *q)
{
    align_q8(g, w, n, x, y, q, true);
}

#endif
