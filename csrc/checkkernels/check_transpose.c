#include "check.h"
#include "checks.h"

#include "transpose/transpose.h"

static void turn(nnf_check *c, nnf_transpose_fn slow, nnf_transpose_fn fast, size_t item, size_t rows, size_t columns,
                 size_t apart)
{
    const size_t from = rows * item + apart, to = columns * item + apart;
    const size_t bytes_x = (columns - 1) * from + rows * item, bytes_y = (rows - 1) * to + columns * item;
    uint8_t *x = nnf_check_alloc(c, bytes_x), *expected = nnf_check_alloc(c, bytes_y);
    uint8_t *y = nnf_check_alloc(c, bytes_y);
    for (size_t i = 0; i < bytes_x; i++)
        x[i] = (uint8_t)nnf_check_u32(c);
    for (size_t i = 0; i < bytes_y; i++)
        expected[i] = y[i] = 0x5a;
    slow(rows, columns, x, from, expected, to);
    fast(rows, columns, x, from, y, to);
    nnf_check_bytes(c, expected, y, bytes_y);
    nnf_check_done(c, "rows=%zu columns=%zu apart=%zu", rows, columns, apart);
}

/* Rows of x and of y lie apart by more than they hold in half of the cases, at odd distances for single bytes. */
static void check(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel, size_t item)
{
    const nnf_transpose_fn slow = (nnf_transpose_fn)twin->fn, fast = (nnf_transpose_fn)kernel->fn;
    size_t heights[9], widths[9];
    nnf_check_sizes((size_t)kernel->m > 1 ? (size_t)kernel->m : 8, heights);
    nnf_check_sizes((size_t)kernel->n > 1 ? (size_t)kernel->n : 8, widths);
    for (size_t h = 0; heights[h]; h++) {
        for (size_t w = 0; widths[w]; w++) {
            const size_t rows = heights[h], columns = widths[w], apart = (h + w) % 2 * 3 * item;
            turn(c, slow, fast, item, rows, columns, apart);
        }
    }
    /* Few rows or columns: channels of an image. */
    for (size_t rows = 1; rows < 8; rows++)
        for (size_t columns = 1; columns < 70; columns++)
            turn(c, slow, fast, item, rows, columns, columns % 3 == 2 ? item : 0);
    for (size_t columns = 1; columns < 5; columns++)
        for (size_t rows = 1; rows < 70; rows++)
            turn(c, slow, fast, item, rows, columns, rows % 3 == 2 ? item : 0);
    uint8_t *x = nnf_check_alloc(c, 4096 * item), *y = nnf_check_alloc(c, 4096 * item);
    nnf_check_fill_bytes(c, x, 4096 * item);
    NNF_BENCH(c, "64x64", 4096, fast(64, 64, x, 64 * item, y, 64 * item));
    NNF_BENCH(c, "100x8", 800, fast(100, 8, x, 100 * item, y, 8 * item));
    NNF_BENCH(c, "3x1000", 3000, fast(3, 1000, x, 3 * item, y, 1000 * item));
    NNF_BENCH(c, "24x2", 48, fast(24, 2, x, 24 * item, y, 2 * item));
    NNF_BENCH(c, "1000x3", 3000, fast(1000, 3, x, 1000 * item, y, 3 * item));
    nnf_check_done(c, "bench");
}

static void interleave(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel, size_t item)
{
    const nnf_interleave_fn slow = (nnf_interleave_fn)twin->fn, fast = (nnf_interleave_fn)kernel->fn;
    for (size_t parts = 2; parts <= 4; parts++) {
        for (size_t n = 1; n < 70; n++) {
            uint8_t *x[4], *expected = nnf_check_alloc(c, parts * n * item), *y = nnf_check_alloc(c, parts * n * item);
            for (size_t k = 0; k < parts; k++) {
                x[k] = nnf_check_alloc(c, n * item);
                nnf_check_fill_bytes(c, x[k], n * item);
            }
            slow(parts, n, (const uint8_t *const *)x, expected);
            fast(parts, n, (const uint8_t *const *)x, y);
            nnf_check_bytes(c, expected, y, parts * n * item);
            nnf_check_done(c, "parts=%zu n=%zu", parts, n);
        }
    }
    uint8_t *x = nnf_check_alloc(c, 4096 * item), *y = nnf_check_alloc(c, 4096 * item);
    nnf_check_fill_bytes(c, x, 4096 * item);
    const uint8_t *const from[4] = {x, x + 1000 * item, x + 2000 * item, x + 3000 * item};
    NNF_BENCH(c, "2x1000", 2000, fast(2, 1000, from, y));
    NNF_BENCH(c, "3x1000", 3000, fast(3, 1000, from, y));
    NNF_BENCH(c, "4x1000", 4000, fast(4, 1000, from, y));
    nnf_check_done(c, "bench");
}

static void deinterleave(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel, size_t item)
{
    const nnf_deinterleave_fn slow = (nnf_deinterleave_fn)twin->fn, fast = (nnf_deinterleave_fn)kernel->fn;
    for (size_t parts = 2; parts <= 4; parts++) {
        for (size_t n = 1; n < 70; n++) {
            uint8_t *x = nnf_check_alloc(c, parts * n * item), *expected[4], *y[4];
            nnf_check_fill_bytes(c, x, parts * n * item);
            for (size_t k = 0; k < parts; k++) {
                expected[k] = nnf_check_alloc(c, n * item);
                y[k] = nnf_check_alloc(c, n * item);
            }
            slow(parts, n, x, expected);
            fast(parts, n, x, y);
            for (size_t k = 0; k < parts; k++)
                nnf_check_bytes(c, expected[k], y[k], n * item);
            nnf_check_done(c, "parts=%zu n=%zu", parts, n);
        }
    }
    uint8_t *x = nnf_check_alloc(c, 4096 * item), *y = nnf_check_alloc(c, 4096 * item);
    nnf_check_fill_bytes(c, x, 4096 * item);
    uint8_t *const to[4] = {y, y + 1000 * item, y + 2000 * item, y + 3000 * item};
    NNF_BENCH(c, "2x1000", 2000, fast(2, 1000, x, to));
    NNF_BENCH(c, "3x1000", 3000, fast(3, 1000, x, to));
    NNF_BENCH(c, "4x1000", 4000, fast(4, 1000, x, to));
    nnf_check_done(c, "bench");
}

#define CHECK(bits)                                                                                                    \
    void nnf_check_interleave_x##bits##_flat(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)             \
    {                                                                                                                  \
        interleave(c, twin, kernel, bits / 8);                                                                         \
    }                                                                                                                  \
    void nnf_check_deinterleave_x##bits##_flat(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)           \
    {                                                                                                                  \
        deinterleave(c, twin, kernel, bits / 8);                                                                       \
    }                                                                                                                  \
    void nnf_check_transpose_x##bits##_tile(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)                   \
    {                                                                                                                  \
        check(c, twin, kernel, bits / 8);                                                                              \
    }

CHECK(8)
CHECK(16)
CHECK(32)
CHECK(64)
