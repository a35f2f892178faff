/* Which taps of a sliding window lie inside the image [NN 13.6], one axis at a time. Header-only. */
#ifndef NNF_WINDOW_H
#define NNF_WINDOW_H

#include <stddef.h>

/* One axis of a sliding window. Sizes and taps are >= 1; head is the padding before the first element. */
typedef struct nnf_axis {
    size_t size, out, taps, stride, dilation, head;
} nnf_axis;

/* Taps first..last-1 of output `o` lie inside; first = last when none does. */
static inline void nnf_axis_taps(const nnf_axis *a, size_t o, size_t *first, size_t *last)
{
    const ptrdiff_t start = (ptrdiff_t)(o * a->stride) - (ptrdiff_t)a->head, size = (ptrdiff_t)a->size;
    const ptrdiff_t dilation = (ptrdiff_t)a->dilation, taps = (ptrdiff_t)a->taps;
    *first = 0;
    *last = a->taps;
    if (start >= 0 && start + (taps - 1) * dilation < size)
        return; /* nearly always: no division */
    ptrdiff_t low = start >= 0 ? 0 : (-start + dilation - 1) / dilation;
    ptrdiff_t high = start >= size ? 0 : (size - 1 - start) / dilation + 1;
    high = high < taps ? high : taps;
    low = low < high ? low : high;
    *first = (size_t)low;
    *last = (size_t)high;
}

/* Outputs first..last-1 have all their taps inside; first = last when none has. */
static inline void nnf_axis_full(const nnf_axis *a, size_t *first, size_t *last)
{
    const size_t reach = (a->taps - 1) * a->dilation, padded = a->size + a->head;
    size_t low = (a->head + a->stride - 1) / a->stride;
    size_t high = padded > reach ? (padded - reach - 1) / a->stride + 1 : 0;
    high = high < a->out ? high : a->out;
    low = low < high ? low : high;
    *first = low;
    *last = high;
}

#endif
