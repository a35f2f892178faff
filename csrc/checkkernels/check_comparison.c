#include "check.h"
#include "checks.h"

#include <math.h>

#include "comparison/comparison.h"

/* Each row against the relation itself, given as bits: 1 less, 2 equal, 4 greater, 8 unordered. */
static uint8_t holds(int relation, double a, double b)
{
    return (relation & (isnan(a) || isnan(b) ? 8 : a < b ? 1 : a > b ? 4 : 2)) != 0;
}

static void check_f32(nnf_check *c, const nnf_kernel *kernel, int relation)
{
    const nnf_compare_f32_flat_fn fast = (nnf_compare_f32_flat_fn)kernel->fn;
    static const float values[] = {0.0f, -0.0f, 1.0f, -1.0f, INFINITY, -INFINITY, NAN, 2.0f};
    for (size_t form = 0; form < 64; form++) {
        const size_t n = 1 + form, step_a = form & 1, step_b = form >> 1 & 1;
        float *a = nnf_check_alloc(c, 4 * (step_a ? n : 1)), *b = nnf_check_alloc(c, 4 * (step_b ? n : 1));
        uint8_t *expected = nnf_check_alloc(c, n), *actual = nnf_check_alloc(c, n);
        for (size_t i = 0; i < (step_a ? n : 1); i++)
            a[i] = values[nnf_check_below(c, 8)];
        for (size_t i = 0; i < (step_b ? n : 1); i++)
            b[i] = values[nnf_check_below(c, 8)];
        for (size_t i = 0; i < n; i++)
            expected[i] = holds(relation, a[i * step_a], b[i * step_b]);
        fast(n, a, step_a, b, step_b, actual);
        nnf_check_bytes(c, expected, actual, n);
        nnf_check_done(c, "n=%zu step_a=%zu step_b=%zu", n, step_a, step_b);
    }
}

static void check_s32(nnf_check *c, const nnf_kernel *kernel, int relation)
{
    const nnf_compare_s32_flat_fn fast = (nnf_compare_s32_flat_fn)kernel->fn;
    static const int32_t values[] = {0, 1, -1, INT32_MAX, INT32_MIN, INT32_MAX - 1, 7, INT32_MIN + 1};
    for (size_t form = 0; form < 64; form++) {
        const size_t n = 1 + form, step_a = form & 1, step_b = form >> 1 & 1;
        int32_t *a = nnf_check_alloc(c, 4 * (step_a ? n : 1)), *b = nnf_check_alloc(c, 4 * (step_b ? n : 1));
        uint8_t *expected = nnf_check_alloc(c, n), *actual = nnf_check_alloc(c, n);
        for (size_t i = 0; i < (step_a ? n : 1); i++)
            a[i] = values[nnf_check_below(c, 8)];
        for (size_t i = 0; i < (step_b ? n : 1); i++)
            b[i] = values[nnf_check_below(c, 8)];
        for (size_t i = 0; i < n; i++)
            expected[i] = holds(relation, a[i * step_a], b[i * step_b]);
        fast(n, a, step_a, b, step_b, actual);
        nnf_check_bytes(c, expected, actual, n);
        nnf_check_done(c, "n=%zu step_a=%zu step_b=%zu", n, step_a, step_b);
    }
}

void nnf_check_equal_f32_flat(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    (void)twin;
    check_f32(c, kernel, 2);
}

void nnf_check_not_equal_f32_flat(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    (void)twin;
    check_f32(c, kernel, 13);
}

void nnf_check_less_f32_flat(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    (void)twin;
    check_f32(c, kernel, 1);
}

void nnf_check_less_equal_f32_flat(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    (void)twin;
    check_f32(c, kernel, 3);
}

void nnf_check_equal_s32_flat(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    (void)twin;
    check_s32(c, kernel, 2);
}

void nnf_check_not_equal_s32_flat(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    (void)twin;
    check_s32(c, kernel, 13);
}

void nnf_check_less_s32_flat(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    (void)twin;
    check_s32(c, kernel, 1);
}

void nnf_check_less_equal_s32_flat(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    (void)twin;
    check_s32(c, kernel, 3);
}

void nnf_check_select_qu8_flat(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    const nnf_select_qu8_flat_fn fast = (nnf_select_qu8_flat_fn)kernel->fn;
    (void)twin;
    for (size_t n = 1; n < 40; n++) {
        uint8_t *choice = nnf_check_alloc(c, n);
        uint8_t *a = nnf_check_alloc(c, n * sizeof *a), *b = nnf_check_alloc(c, n * sizeof *b);
        uint8_t *expected = nnf_check_alloc(c, n * sizeof *a), *actual = nnf_check_alloc(c, n * sizeof *a);
        nnf_check_fill_bytes(c, a, n * sizeof *a);
        nnf_check_fill_bytes(c, b, n * sizeof *b);
        for (size_t i = 0; i < n; i++) {
            choice[i] = nnf_check_below(c, 2) ? (uint8_t)nnf_check_u32(c) : 0;
            expected[i] = b[i];
            if (choice[i])
                expected[i] = a[i];
        }
        fast(n, choice, a, b, actual);
        nnf_check_bytes(c, expected, actual, n * sizeof *a);
        nnf_check_done(c, "n=%zu", n);
    }
}

void nnf_check_select_s32_flat(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    const nnf_select_s32_flat_fn fast = (nnf_select_s32_flat_fn)kernel->fn;
    (void)twin;
    for (size_t n = 1; n < 40; n++) {
        uint8_t *choice = nnf_check_alloc(c, n);
        int32_t *a = nnf_check_alloc(c, n * sizeof *a), *b = nnf_check_alloc(c, n * sizeof *b);
        int32_t *expected = nnf_check_alloc(c, n * sizeof *a), *actual = nnf_check_alloc(c, n * sizeof *a);
        nnf_check_fill_bytes(c, a, n * sizeof *a);
        nnf_check_fill_bytes(c, b, n * sizeof *b);
        for (size_t i = 0; i < n; i++) {
            choice[i] = nnf_check_below(c, 2) ? (uint8_t)nnf_check_u32(c) : 0;
            expected[i] = b[i];
            if (choice[i])
                expected[i] = a[i];
        }
        fast(n, choice, a, b, actual);
        nnf_check_bytes(c, expected, actual, n * sizeof *a);
        nnf_check_done(c, "n=%zu", n);
    }
}
