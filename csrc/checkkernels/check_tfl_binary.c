#include "check.h"
#include "checks.h"

#include <math.h>
#include <string.h>

#include "tfl_binary/tfl_binary.h"

/* Every operation below `ops` on operands of `item` bytes, results of `made` bytes: random ones, few different ones, and
 * those at the ends of the type. */
static void check(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel, int ops, size_t item, size_t made)
{
    const nnf_tfl_binary_flat_fn slow = (nnf_tfl_binary_flat_fn)twin->fn, fast = (nnf_tfl_binary_flat_fn)kernel->fn;
    static const int64_t special[] = {0, 1, -1, INT64_MAX, INT64_MIN, 2, -2, 7};
    size_t sizes[9];
    nnf_check_sizes(32, sizes);
    for (size_t form = 0; form < 8 * 16; form++) {
        const size_t n = sizes[form / 16], step_a = form & 1, step_b = form >> 1 & 1;
        for (int op = 0; op < ops; op++) {
            uint8_t *a = nnf_check_alloc(c, item * (step_a ? n : 1)), *b = nnf_check_alloc(c, item * (step_b ? n : 1));
            uint8_t *expected = nnf_check_alloc(c, made * n), *actual = nnf_check_alloc(c, made * n);
            nnf_check_fill_bytes(c, a, item * (step_a ? n : 1));
            nnf_check_fill_bytes(c, b, item * (step_b ? n : 1));
            for (size_t i = 0; i < n && form & 4; i += 2) {
                /* The lower end of a narrow type is in the upper bytes of that of int64. */
                const int64_t value = special[nnf_check_below(c, 8)] >> (form & 8 ? 64 - 8 * item : 0);
                memcpy(a + item * (step_a ? i : 0), &value, item);
                memcpy(b + item * (step_b ? i : 0), &special[nnf_check_below(c, 8)], item);
            }
            slow(n, op, a, step_a, b, step_b, expected);
            fast(n, op, a, step_a, b, step_b, actual);
            nnf_check_bytes(c, expected, actual, made * n);
            if (made == item && step_a) {
                fast(n, op, a, step_a, b, step_b, a);
                nnf_check_bytes(c, expected, a, made * n);
            } else if (made == item && step_b) {
                fast(n, op, a, step_a, b, step_b, b);
                nnf_check_bytes(c, expected, b, made * n);
            }
            nnf_check_done(c, "n=%zu form=%zu op=%d", n, form, op);
        }
    }
    const size_t n = 1024;
    uint8_t *a = nnf_check_alloc(c, item * n), *b = nnf_check_alloc(c, item * n), *y = nnf_check_alloc(c, made * n);
    NNF_BENCH(c, "n=1024, first operation", n, fast(n, 0, a, 1, b, 1, y));
    nnf_check_done(c, "bench");
}

NNF_CHECK(arithmetic_s8_flat, check(c, twin, kernel, NNF_POW + 1, 1, 1))
NNF_CHECK(arithmetic_qu8_flat, check(c, twin, kernel, NNF_POW + 1, 1, 1))
NNF_CHECK(arithmetic_s16_flat, check(c, twin, kernel, NNF_POW + 1, 2, 2))
NNF_CHECK(arithmetic_s32_flat, check(c, twin, kernel, NNF_POW + 1, 4, 4))
NNF_CHECK(arithmetic_s64_flat, check(c, twin, kernel, NNF_POW + 1, 8, 8))
NNF_CHECK(relation_s8_flat, check(c, twin, kernel, NNF_LESS_EQUAL + 1, 1, 1))
NNF_CHECK(relation_qu8_flat, check(c, twin, kernel, NNF_LESS_EQUAL + 1, 1, 1))
NNF_CHECK(relation_s16_flat, check(c, twin, kernel, NNF_LESS_EQUAL + 1, 2, 1))
NNF_CHECK(relation_s32_flat, check(c, twin, kernel, NNF_LESS_EQUAL + 1, 4, 1))
NNF_CHECK(relation_s64_flat, check(c, twin, kernel, NNF_LESS_EQUAL + 1, 8, 1))

/* An operand of a form: any bits, usual and odd numbers, any sizes, or as close to a multiple of b as floats come. */
static float operand(nnf_check *c, size_t form, const float *b)
{
    static const float odd[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1e-45f, -1e-45f, 3.4e38f, -3.4e38f, 1e-38f};
    const uint32_t bits = nnf_check_u32(c);
    float any;
    memcpy(&any, &bits, sizeof any);
    if (form == 0)
        return any;
    if (form == 1)
        return nnf_check_float(c, -8, 8);
    if (form == 2 && nnf_check_below(c, 4) == 0)
        return odd[nnf_check_below(c, sizeof odd / sizeof odd[0])];
    if (form == 2 || !b)
        return ldexpf(nnf_check_float(c, 1, 2), (int)nnf_check_below(c, 60) - 30) * (bits & 1 ? 1.0f : -1.0f);
    return *b * floorf(nnf_check_float(c, -1, 1) * ldexpf(1, (int)nnf_check_below(c, 56)));
}

/* Every result of the twin to the bit, but for the bits of a NaN. */
static void check_curves(nnf_check *c, const nnf_tfl_binary_flat_fn slow, const nnf_tfl_binary_flat_fn fast)
{
    size_t sizes[9];
    nnf_check_sizes(64, sizes);
    for (size_t form = 0; form < 8 * 4 * 32; form++) {
        const size_t n = sizes[form / 128], step_a = form & 1, step_b = form >> 1 & 1, kind = form >> 2 & 3;
        for (int op = NNF_F32_ATAN2; op <= NNF_F32_FLOOR_MOD; op++) {
            float *a = nnf_check_alloc(c, 4 * (step_a ? n : 1)), *b = nnf_check_alloc(c, 4 * (step_b ? n : 1));
            float *expected = nnf_check_alloc(c, 4 * n), *actual = nnf_check_alloc(c, 4 * n);
            for (size_t i = 0; i < (step_b ? n : 1); i++)
                b[i] = operand(c, kind, NULL);
            for (size_t i = 0; i < (step_a ? n : 1); i++)
                a[i] = operand(c, kind, &b[i * step_b]);
            slow(n, op, a, step_a, b, step_b, expected);
            fast(n, op, a, step_a, b, step_b, actual);
            if (step_a)
                fast(n, op, a, step_a, b, step_b, a);
            else if (step_b)
                fast(n, op, a, step_a, b, step_b, b);
            for (size_t i = 0; i < n; i++) {
                float *made[] = {&expected[i], &actual[i], step_a ? &a[i] : step_b ? &b[i] : &actual[i]};
                for (size_t k = 0; k < 3; k++)
                    *made[k] = isnan(*made[k]) ? NAN : *made[k];
            }
            nnf_check_bytes(c, expected, actual, 4 * n);
            if (step_a || step_b)
                nnf_check_bytes(c, expected, step_a ? a : b, 4 * n);
            nnf_check_done(c, "n=%zu form=%zu op=%d", n, form, op);
        }
    }
}

/* Against the twin, and the formulas themselves: quotients of small whole numbers, signs of zeros, quadrants. */
void nnf_check_curve_f32_flat(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    const nnf_tfl_binary_flat_fn fast = (nnf_tfl_binary_flat_fn)kernel->fn;
    enum { SPAN = 41 };
    check_curves(c, (nnf_tfl_binary_flat_fn)twin->fn, fast);
    for (int op = NNF_F32_ATAN2; op <= NNF_F32_FLOOR_MOD; op++) {
        for (int second = -3; second <= 3; second++) {
            float *a = nnf_check_alloc(c, sizeof(float) * SPAN), *b = nnf_check_alloc(c, sizeof(float));
            float *expected = nnf_check_alloc(c, sizeof(float) * SPAN), *actual = nnf_check_alloc(c, sizeof(float) * SPAN);
            *b = (float)second;
            for (int i = 0; i < SPAN; i++) {
                const int first = i - SPAN / 2, down = second ? (int)floor((double)first / second) : 0;
                a[i] = (float)first;
                expected[i] = op == NNF_F32_ATAN2     ? (float)atan2((double)first, (double)second)
                              : op == NNF_F32_FLOOR_DIV ? (second ? (float)down : a[i] / 0.0f)
                                                      : (second ? (float)(first - second * down) : NAN);
            }
            fast(SPAN, op, a, 1, b, 0, actual);
            nnf_check_f32(c, expected, actual, SPAN, NULL, 0);
            fast(SPAN, op, a, 1, b, 0, a);
            nnf_check_f32(c, expected, a, SPAN, NULL, 0);
            nnf_check_done(c, "op=%d b=%d", op, second);
        }
    }
    const size_t n = 1024;
    float *a = nnf_check_alloc(c, 4 * n), *b = nnf_check_alloc(c, 4 * n), *y = nnf_check_alloc(c, 4 * n);
    nnf_check_fill_f32(c, a, n, -8, 8);
    nnf_check_fill_f32(c, b, n, -8, 8);
    NNF_BENCH(c, "n=1024, atan2", n, fast(n, NNF_F32_ATAN2, a, 1, b, 1, y));
    NNF_BENCH(c, "n=1024, floor_div", n, fast(n, NNF_F32_FLOOR_DIV, a, 1, b, 1, y));
    NNF_BENCH(c, "n=1024, floor_mod", n, fast(n, NNF_F32_FLOOR_MOD, a, 1, b, 1, y));
    nnf_check_done(c, "bench");
}
