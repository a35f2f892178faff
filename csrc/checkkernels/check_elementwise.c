#include "check.h"
#include "checks.h"

#include <math.h>

#include "elementwise/elementwise.h"

static void check_f32(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    const nnf_binary_f32_flat_fn slow = (nnf_binary_f32_flat_fn)twin->fn, fast = (nnf_binary_f32_flat_fn)kernel->fn;
    size_t sizes[9];
    nnf_check_sizes(16, sizes);
    for (size_t s = 0; sizes[s]; s++) {
        for (size_t form = 0; form < 8; form++) {
            const size_t n = sizes[s], step_a = form & 1, step_b = form >> 1 & 1, clamp = form >> 2;
            const size_t in_a = step_a ? n : 1, in_b = step_b ? n : 1;
            const float lo = clamp ? 0.0f : -INFINITY, hi = clamp ? 6.0f : INFINITY;
            float *a = nnf_check_alloc(c, 4 * in_a), *b = nnf_check_alloc(c, 4 * in_b);
            float *expected = nnf_check_alloc(c, 4 * n), *actual = nnf_check_alloc(c, 4 * n);
            nnf_check_fill_f32(c, a, in_a, -8, 8);
            nnf_check_fill_f32(c, b, in_b, -8, 8);
            a[nnf_check_below(c, in_a)] = step_a ? NAN : 3.0f;
            b[nnf_check_below(c, in_b)] = step_b ? INFINITY : -2.0f;
            slow(n, a, step_a, b, step_b, expected, lo, hi);
            fast(n, a, step_a, b, step_b, actual, lo, hi);
            nnf_check_f32(c, expected, actual, n, NULL, 0);
            if (step_a) {
                fast(n, a, step_a, b, step_b, a, lo, hi);
                nnf_check_f32(c, expected, a, n, NULL, 0);
            }
            nnf_check_done(c, "n=%zu step_a=%zu step_b=%zu clamp=%zu", n, step_a, step_b, clamp);
        }
    }
    const size_t n = 1024;
    float *a = nnf_check_alloc(c, 4 * n), *b = nnf_check_alloc(c, 4 * n), *y = nnf_check_alloc(c, 4 * n);
    nnf_check_fill_f32(c, a, n, -8, 8);
    nnf_check_fill_f32(c, b, n, -8, 8);
    NNF_BENCH(c, "n=1024", n, fast(n, a, 1, b, 1, y, 0, 6));
    nnf_check_done(c, "bench");
}

static void check_q8(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel, int low)
{
    const nnf_binary_q8_flat_fn slow = (nnf_binary_q8_flat_fn)twin->fn, fast = (nnf_binary_q8_flat_fn)kernel->fn;
    size_t sizes[9];
    nnf_check_sizes(16, sizes);
    nnf_binary_q8 p = {0};
    for (size_t s = 0; sizes[s]; s++) {
        for (size_t form = 0; form < 32; form++) {
            const size_t n = sizes[s], step_a = form & 1, step_b = form >> 1 & 1;
            const size_t in_a = step_a ? n : 1, in_b = step_b ? n : 1;
            const int spread = form & 8 ? 3 : 31;
            nnf_check_multiplier(c, &p.multiplier_a, &p.shift_a, 0, spread);
            nnf_check_multiplier(c, &p.multiplier_b, &p.shift_b, 0, spread);
            nnf_check_multiplier(c, &p.multiplier_y, &p.shift_y, form & 8 ? 15 : 0, form & 8 ? 20 : 31);
            if (form & 4)
                p.multiplier_b = -p.multiplier_b;
            p.zero_a = low + (form & 16 ? 255 : (int)nnf_check_below(c, 256));
            p.zero_b = low + (form & 16 ? 0 : (int)nnf_check_below(c, 256));
            p.zero_y = low + (int)nnf_check_below(c, 256);
            p.lo = form & 4 ? p.zero_y : low;
            p.hi = low + 255;
            uint8_t *a = nnf_check_alloc(c, in_a), *b = nnf_check_alloc(c, in_b);
            uint8_t *expected = nnf_check_alloc(c, n), *actual = nnf_check_alloc(c, n);
            nnf_check_fill_bytes(c, a, in_a);
            nnf_check_fill_bytes(c, b, in_b);
            slow(n, a, step_a, b, step_b, expected, &p);
            fast(n, a, step_a, b, step_b, actual, &p);
            nnf_check_bytes(c, expected, actual, n);
            nnf_check_done(c, "n=%zu form=%zu", n, form);
        }
    }
    const size_t n = 1024;
    uint8_t *a = nnf_check_alloc(c, n), *b = nnf_check_alloc(c, n), *y = nnf_check_alloc(c, n);
    NNF_BENCH(c, "n=1024", n, fast(n, a, 1, b, 1, y, &p));
    nnf_check_done(c, "bench");
}

void nnf_check_add_f32_flat(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    check_f32(c, twin, kernel);
}

void nnf_check_sub_f32_flat(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    check_f32(c, twin, kernel);
}

void nnf_check_mul_f32_flat(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    check_f32(c, twin, kernel);
}

void nnf_check_div_f32_flat(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    check_f32(c, twin, kernel);
}

void nnf_check_max_f32_flat(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    check_f32(c, twin, kernel);
}

void nnf_check_min_f32_flat(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    check_f32(c, twin, kernel);
}

void nnf_check_prelu_f32_flat(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    check_f32(c, twin, kernel);
}

/* Against 64-bit arithmetic, of which the low word is kept. */
static void check_s32(nnf_check *c, const nnf_kernel *kernel, char op)
{
    const nnf_binary_s32_flat_fn fast = (nnf_binary_s32_flat_fn)kernel->fn;
    for (size_t form = 0; form < 64; form++) {
        const size_t n = 1 + form, step_a = form & 1, step_b = form >> 1 & 1;
        int32_t *a = nnf_check_alloc(c, 4 * (step_a ? n : 1)), *b = nnf_check_alloc(c, 4 * (step_b ? n : 1));
        int32_t *expected = nnf_check_alloc(c, 4 * n), *actual = nnf_check_alloc(c, 4 * n);
        nnf_check_fill_bytes(c, a, 4 * (step_a ? n : 1));
        nnf_check_fill_bytes(c, b, 4 * (step_b ? n : 1));
        for (size_t i = 0; i < n; i++) {
            const int64_t x = a[i * step_a], y = b[i * step_b];
            expected[i] = (int32_t)(uint32_t)(uint64_t)(op == '+' ? x + y : op == '-' ? x - y : x * y);
        }
        fast(n, a, step_a, b, step_b, actual);
        nnf_check_s32(c, expected, actual, n);
        nnf_check_done(c, "n=%zu step_a=%zu step_b=%zu", n, step_a, step_b);
    }
}

void nnf_check_add_s32_flat(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    (void)twin;
    check_s32(c, kernel, '+');
}

void nnf_check_sub_s32_flat(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    (void)twin;
    check_s32(c, kernel, '-');
}

void nnf_check_mul_s32_flat(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    (void)twin;
    check_s32(c, kernel, '*');
}

void nnf_check_add_qu8_flat(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    check_q8(c, twin, kernel, 0);
}

void nnf_check_add_qs8_flat(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    check_q8(c, twin, kernel, -128);
}

void nnf_check_mul_qu8_flat(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    check_q8(c, twin, kernel, 0);
}

void nnf_check_mul_qs8_flat(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    check_q8(c, twin, kernel, -128);
}

/* Each row against the relation itself, given as bits: 1 less, 2 equal, 4 greater, 8 unordered. */
static uint8_t holds(int relation, double a, double b)
{
    return (relation & (isnan(a) || isnan(b) ? 8 : a < b ? 1 : a > b ? 4 : 2)) != 0;
}

static void check_relation_f32(nnf_check *c, const nnf_kernel *kernel, int relation)
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

static void check_relation_s32(nnf_check *c, const nnf_kernel *kernel, int relation)
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
    check_relation_f32(c, kernel, 2);
}

void nnf_check_not_equal_f32_flat(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    (void)twin;
    check_relation_f32(c, kernel, 13);
}

void nnf_check_less_f32_flat(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    (void)twin;
    check_relation_f32(c, kernel, 1);
}

void nnf_check_less_equal_f32_flat(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    (void)twin;
    check_relation_f32(c, kernel, 3);
}

void nnf_check_equal_s32_flat(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    (void)twin;
    check_relation_s32(c, kernel, 2);
}

void nnf_check_not_equal_s32_flat(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    (void)twin;
    check_relation_s32(c, kernel, 13);
}

void nnf_check_less_s32_flat(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    (void)twin;
    check_relation_s32(c, kernel, 1);
}

void nnf_check_less_equal_s32_flat(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    (void)twin;
    check_relation_s32(c, kernel, 3);
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
