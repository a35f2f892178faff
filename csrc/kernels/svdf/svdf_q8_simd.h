/* Units of an SVDF of int8 tensors, eight codes at a time. Include after nnf/simd/codes_<isa>.h, KERNEL, and words with
 * sums of their products: W, D, words_*, sums_*. item: bytes of a code of the memory, 1 or 2. */
#ifndef NNF_SVDF_Q8_SIMD_H
#define NNF_SVDF_Q8_SIMD_H

#include "svdf/svdf.h"

/* The eight words from place n on are zeros, but for the last n. */
static const int16_t last_words[2 * CODES] = {[CODES] = -1, -1, -1, -1, -1, -1, -1, -1};

/* A history ends in a vector of its last eight codes, which overlaps the whole vectors before it. */
typedef struct memories {
    const uint8_t *history, *time; /* the last eight of the first filter */
    uint8_t *next;
    ptrdiff_t size, begin, end; /* bytes of a filter, and from its last eight to the begin and end of whole vectors */
    W zero, left;               /* left: which of the last eight are in no whole vector */
} memories;

INLINE memories memories_of(const int item, const nnf_svdf_q8_row *row)
{
    const ptrdiff_t memory = (ptrdiff_t)row->memory, last = memory - CODES, whole = (memory - 1) / CODES * CODES;
    return (memories){.history = (const uint8_t *)row->state_in + last * item,
                      .time = (const uint8_t *)row->time + last * item,
                      .next = (uint8_t *)row->state_out + last * item,
                      .size = memory * item, .begin = -last * item, .end = (whole - last) * item,
                      .zero = words_all(item == 1 ? row->zero_state : 0),
                      .left = words_load(2, last_words + (memory - whole))};
}

/* Moves the memory of the filter at `at` on; four parts of its sum. */
INLINE D filter_sums(const int item, const memories *by, ptrdiff_t at, int32_t newest)
{
    D sums = sums_none();
    for (ptrdiff_t m = at + by->begin; m < at + by->end; m += CODES * item) {
        const W code = words_load(item, by->history + m + item);
        words_store(item, by->next + m, code);
        sums = sums_mla(sums, words_sub(code, by->zero), words_load(item, by->time + m));
    }
    const W code = words_next(words_load(item, by->history + at), newest);
    words_store(item, by->next + at, code);
    return sums_mla(sums, words_sub(code, by->zero), words_and(by->left, words_load(item, by->time + at)));
}

/* The sums of eight filters, each `step` behind the one before. */
INLINE C eight_filters(const int item, const memories *by, ptrdiff_t at, ptrdiff_t step, C codes)
{
    int32_t newest[CODES];
    D sums[CODES];
    codes_store_s32(newest, codes);
    NNF_UNROLL
    for (int i = 0; i < CODES; i++, at += step)
        sums[i] = filter_sums(item, by, at, newest[i]);
    const D low = sums_near(sums_near(sums[0], sums[1]), sums_near(sums[2], sums[3]));
    return sums_both(low, sums_near(sums_near(sums[4], sums[5]), sums_near(sums[6], sums[7])));
}

/* From sums to codes. */
typedef struct scaling {
    C multiplier, left, right, zero_point;
    int32_t lo, hi; /* less the zero point */
} scaling;

INLINE scaling scaling_of(const int item, int32_t multiplier, int32_t exponent, int32_t zero_point)
{
    return (scaling){codes_all(multiplier), codes_all(exponent > 0 ? exponent : 0),
                     codes_all(exponent > 0 ? 0 : -exponent), codes_all(zero_point),
                     (item == 1 ? INT8_MIN : INT16_MIN) - zero_point, (item == 1 ? INT8_MAX : INT16_MAX) - zero_point};
}

INLINE C codes_of(const scaling *by, C sums)
{
    const C scaled = codes_scale_each(sums, by->multiplier, by->left, by->right);
    return codes_add(codes_between(by->lo, by->hi, scaled), by->zero_point);
}

/* Of filter r of each unit from u on. */
INLINE C features_of(const size_t rank, const int32_t *feature, size_t u, size_t r)
{
    int32_t of_units[CODES];
    if (rank == 1)
        return codes_load_s32(CODES, feature + u);
    for (size_t i = 0; i < CODES; i++)
        of_units[i] = feature[(u + i) * rank + r];
    return codes_load_s32(CODES, of_units);
}

INLINE void rows_of_rank(const int item, const size_t rank, const nnf_svdf_q8_row *given)
{
    const nnf_svdf_q8_row row = *given; /* which no store of codes can change */
    const memories by = memories_of(item, &row);
    const scaling to_state = scaling_of(item, row.multiplier_state, row.exponent_state, row.zero_state);
    const scaling to_y = scaling_of(1, row.multiplier_y, row.exponent_y, row.zero_y);
    for (size_t done = 0; done < row.units; done += CODES) {
        const size_t u = done + CODES <= row.units ? done : row.units - CODES; /* some twice, which changes nothing */
        C sums = row.bias ? codes_load_s32(CODES, row.bias + u) : codes_all(0);
        for (size_t r = 0; r < rank; r++) {
            const ptrdiff_t at = (ptrdiff_t)(u * rank + r) * by.size, step = (ptrdiff_t)rank * by.size;
            const C newest = codes_of(&to_state, features_of(rank, row.feature, u, r));
            sums = codes_add(sums, eight_filters(item, &by, at, step, newest));
        }
        codes_store_whole((uint8_t *)row.y + u, codes_of(&to_y, sums));
    }
}

INLINE void rows(const int item, const nnf_svdf_q8_row *row)
{
    if (row->rank == 1)
        rows_of_rank(item, 1, row); /* the usual one, with fewer addresses to keep */
    else
        rows_of_rank(item, row->rank, row);
}

void KERNEL(nnf_svdf_qs8_qs16_rows)(const nnf_svdf_q8_row *row)
{
    if (row->memory < CODES || row->units < CODES)
        nnf_svdf_qs8_qs16_rows__scalar(row);
    else
        rows(2, row);
}

void KERNEL(nnf_svdf_qs8_rows)(const nnf_svdf_q8_row *row)
{
    if (row->memory < CODES || row->units < CODES)
        nnf_svdf_qs8_rows__scalar(row);
    else
        rows(1, row);
}

#endif
