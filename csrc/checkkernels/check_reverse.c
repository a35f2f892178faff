#include "check.h"
#include "checks.h"

#include "reverse/reverse.h"

/* Rows of x follow each other, lie apart, or follow each other backwards. */
static void turn(nnf_check *c, nnf_reverse_fn slow, nnf_reverse_fn fast, size_t item, size_t rows, size_t n, size_t form)
{
    const size_t row = n * item, step = form == 1 ? row + item : row, bytes = (rows - 1) * step + row;
    const ptrdiff_t from = form == 2 ? -(ptrdiff_t)step : (ptrdiff_t)step;
    uint8_t *x = nnf_check_alloc(c, bytes), *expected = nnf_check_alloc(c, rows * row);
    uint8_t *y = nnf_check_alloc(c, rows * row);
    nnf_check_fill_bytes(c, x, bytes);
    const uint8_t *first = form == 2 ? x + (rows - 1) * step : x;
    slow(rows, n, first, from, expected);
    fast(rows, n, first, from, y);
    nnf_check_bytes(c, expected, y, rows * row);
    nnf_check_done(c, "rows=%zu n=%zu form=%zu", rows, n, form);
}

static void check(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel, size_t item)
{
    const nnf_reverse_fn slow = (nnf_reverse_fn)twin->fn, fast = (nnf_reverse_fn)kernel->fn;
    size_t sizes[9];
    nnf_check_sizes((size_t)kernel->n > 1 ? (size_t)kernel->n : 8, sizes);
    for (size_t s = 0; sizes[s]; s++)
        for (size_t form = 0; form < 3; form++)
            turn(c, slow, fast, item, 1 + s % 3, sizes[s], form);
    /* Few elements: channels of an image. */
    for (size_t n = 1; n < 20; n++)
        for (size_t rows = 1; rows < 24; rows++)
            turn(c, slow, fast, item, rows, n, rows % 4 == 3 ? n % 3 : 0);
    uint8_t *x = nnf_check_alloc(c, 6000 * item), *y = nnf_check_alloc(c, 6000 * item);
    nnf_check_fill_bytes(c, x, 6000 * item);
    NNF_BENCH(c, "1x6000", 6000, fast(1, 6000, x, 0, y));
    NNF_BENCH(c, "90x64", 5760, fast(90, 64, x, (ptrdiff_t)(64 * item), y));
    NNF_BENCH(c, "2000x3", 6000, fast(2000, 3, x, (ptrdiff_t)(3 * item), y));
    nnf_check_done(c, "bench");
}

#define CHECK(bits)                                                                                                    \
    void nnf_check_reverse_x##bits##_rows(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)                \
    {                                                                                                                  \
        check(c, twin, kernel, bits / 8);                                                                              \
    }

CHECK(8)
CHECK(16)
CHECK(32)
CHECK(64)
