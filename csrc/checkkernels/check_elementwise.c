#include "check.h"
#include "checks.h"

#include <math.h>

#include "elementwise/elementwise.h"
#include "elementwise/elementwise_add.h"

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

static void check_q8(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel, int low, bool is_prelu)
{
    const nnf_binary_q8_flat_fn slow = (nnf_binary_q8_flat_fn)twin->fn, fast = (nnf_binary_q8_flat_fn)kernel->fn;
    size_t sizes[9];
    nnf_check_sizes(64, sizes);
    nnf_binary_q8 p = {0};
    for (size_t s = 0; sizes[s]; s++) {
        for (size_t form = 0; form < 32; form++) {
            const size_t n = sizes[s], step_a = form & 1, step_b = form >> 1 & 1;
            const size_t in_a = step_a ? n : 1, in_b = step_b ? n : 1;
            const int spread = form & 8 ? 3 : 31;
            nnf_check_multiplier(c, &p.multiplier_a, &p.shift_a, 0, spread);
            nnf_check_multiplier(c, &p.multiplier_b, &p.shift_b, 0, spread);
            nnf_check_multiplier(c, &p.multiplier_y, &p.shift_y, form & 8 ? 15 : 0, form & 8 ? 20 : 31);
            if (form & 16) /* the operand of the larger scale in a usual ADD */
                p.multiplier_a = 1 << 30, p.shift_a = 0;
            if (form & 4 && !is_prelu)
                p.multiplier_b = -p.multiplier_b;
            p.zero_a = low + (form & 16 ? 255 : (int)nnf_check_below(c, 256));
            p.zero_b = low + (form & 16 ? 0 : (int)nnf_check_below(c, 256));
            p.zero_y = low + (int)nnf_check_below(c, 256);
            /* For prelu: multipliers of both signs of exponent, and none below zero. */
            p.left_a = is_prelu && form & 8 ? (int)nnf_check_below(c, 32) : 0;
            p.left_y = is_prelu && form & 16 ? (int)nnf_check_below(c, 32) : 0;
            p.shift_a = p.left_a ? 0 : p.shift_a;
            p.shift_y = p.left_y ? 0 : p.shift_y;
            p.lo = form & 4 ? p.zero_y : low;
            p.hi = low + 255;
            uint8_t *a = nnf_check_alloc(c, in_a), *b = nnf_check_alloc(c, in_b);
            uint8_t *expected = nnf_check_alloc(c, n), *actual = nnf_check_alloc(c, n);
            nnf_check_fill_bytes(c, a, in_a);
            nnf_check_fill_bytes(c, b, in_b);
            nnf_plan_add(low < 0, &p);
            slow(n, a, step_a, b, step_b, expected, &p);
            fast(n, a, step_a, b, step_b, actual, &p);
            nnf_check_bytes(c, expected, actual, n);
            nnf_check_done(c, "n=%zu form=%zu", n, form);
        }
    }
    const size_t n = 1024;
    p.multiplier_a = 1 << 30, p.shift_a = 0, p.multiplier_b = 1 << 30 | 12345, p.shift_b = 1;
    p.multiplier_y = 1 << 30 | 54321, p.shift_y = 18;
    nnf_plan_add(low < 0, &p);
    uint8_t *a = nnf_check_alloc(c, n), *b = nnf_check_alloc(c, n), *y = nnf_check_alloc(c, n);
    NNF_BENCH(c, "n=1024", n, fast(n, a, 1, b, 1, y, &p));
    nnf_check_done(c, "bench");
}

/* ADD of every pair of codes, for scales of usual layers and for equal ones, of which many sums lie between two codes. */
static void check_add_q8(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel, int low)
{
    const nnf_binary_q8_flat_fn slow = (nnf_binary_q8_flat_fn)twin->fn, fast = (nnf_binary_q8_flat_fn)kernel->fn;
    enum { PAIRS = 1 << 16 };
    check_q8(c, twin, kernel, low, false);
    for (int round = 0; round < 12; round++) {
        nnf_binary_q8 p = {.multiplier_a = 1 << 30, .multiplier_b = 1 << 30, .lo = low, .hi = low + 255};
        if (round % 4)
            nnf_check_multiplier(c, &p.multiplier_b, &p.shift_b, 0, 3);
        nnf_check_multiplier(c, &p.multiplier_y, &p.shift_y, 17, 20);
        if (round == 4)
            p.multiplier_y = 1 << 30, p.shift_y = 18;
        if (round % 2)
            p.multiplier_b = -p.multiplier_b;
        p.zero_a = low + (int)nnf_check_below(c, 256);
        p.zero_b = low + (int)nnf_check_below(c, 256);
        p.zero_y = low + (int)nnf_check_below(c, 256);
        nnf_plan_add(low < 0, &p);
        uint8_t *a = nnf_check_alloc(c, PAIRS), *b = nnf_check_alloc(c, PAIRS);
        uint8_t *expected = nnf_check_alloc(c, PAIRS), *actual = nnf_check_alloc(c, PAIRS);
        for (size_t i = 0; i < PAIRS; i++)
            a[i] = (uint8_t)(i * 167), b[i] = (uint8_t)(i >> 8);
        slow(PAIRS, a, 1, b, 1, expected, &p);
        fast(PAIRS, a, 1, b, 1, actual, &p);
        nnf_check_bytes(c, expected, actual, PAIRS);
        for (size_t code = 0; code < 256; code++) { /* either operand repeated */
            uint8_t *one = &b[code << 8];
            slow(256, one, 0, a, 1, expected, &p);
            fast(256, one, 0, a, 1, actual, &p);
            slow(256, a, 1, one, 0, expected + 256, &p);
            fast(256, a, 1, one, 0, actual + 256, &p);
            nnf_check_bytes(c, expected, actual, 512);
        }
        nnf_check_done(c, "pairs, multiplier_b=%d shift_b=%d multiplier_y=%d shift_y=%d", p.multiplier_b, p.shift_b,
                       p.multiplier_y, p.shift_y);
    }
}

/* pow: every pair of special values, and random ones of which half of the bases are negative with whole exponents. */
void nnf_check_pow_f32_flat(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    const nnf_binary_f32_flat_fn slow = (nnf_binary_f32_flat_fn)twin->fn, fast = (nnf_binary_f32_flat_fn)kernel->fn;
    static const float special[] = {0.0f,   -0.0f,  1.0f,  -1.0f,      INFINITY, -INFINITY, NAN,   0.5f,
                                    -0.5f,  2.0f,   -2.0f, 3.0f,       -3.0f,    1e-40f,    3e38f, -3e38f,
                                    1e-10f, 1e-45f, 127.0f, 16777217.0f};
    enum { SPECIAL = sizeof special / sizeof special[0] };
    size_t sizes[9];
    nnf_check_sizes(8, sizes);
    for (size_t form = 0; form < 24 * 8; form++) {
        const size_t n = sizes[form / 24], step_a = form & 1, step_b = form >> 1 & 1;
        const size_t in_a = step_a ? n : 1, in_b = step_b ? n : 1;
        float *a = nnf_check_alloc(c, 4 * in_a), *b = nnf_check_alloc(c, 4 * in_b);
        float *expected = nnf_check_alloc(c, 4 * n), *actual = nnf_check_alloc(c, 4 * n);
        nnf_check_fill_f32(c, a, in_a, form & 4 ? 0.9f : 0.0f, form & 4 ? 1.1f : 60.0f);
        nnf_check_fill_f32(c, b, in_b, -20, 20);
        for (size_t i = 0; i < in_a && form & 8; i += 2)
            a[i] = -a[i];
        for (size_t i = 0; i < in_b && form & 8; i++)
            b[i] = rintf(b[i]);
        slow(n, a, step_a, b, step_b, expected, -INFINITY, INFINITY);
        fast(n, a, step_a, b, step_b, actual, -INFINITY, INFINITY);
        nnf_check_f32(c, expected, actual, n, NULL, 0);
        nnf_check_done(c, "n=%zu form=%zu", n, form);
    }
    for (size_t first = 0; first < SPECIAL; first++) {
        float *b = nnf_check_alloc(c, sizeof special), *expected = nnf_check_alloc(c, sizeof special);
        float *actual = nnf_check_alloc(c, sizeof special);
        for (size_t i = 0; i < SPECIAL; i++)
            b[i] = special[i];
        slow(SPECIAL, &special[first], 0, b, 1, expected, -INFINITY, INFINITY);
        fast(SPECIAL, &special[first], 0, b, 1, actual, -INFINITY, INFINITY);
        nnf_check_f32(c, expected, actual, SPECIAL, NULL, 0);
        nnf_check_done(c, "base %g", (double)special[first]);
    }
    const size_t n = 1024;
    float *a = nnf_check_alloc(c, 4 * n), *b = nnf_check_alloc(c, 4 * n), *y = nnf_check_alloc(c, 4 * n);
    nnf_check_fill_f32(c, a, n, 0, 8);
    nnf_check_fill_f32(c, b, n, -8, 8);
    NNF_BENCH(c, "n=1024", n, fast(n, a, 1, b, 1, y, -INFINITY, INFINITY));
    nnf_check_done(c, "bench");
}

/* What op means, in 64-bit arithmetic of which the low word is kept. */
static int32_t word_of(char op, int64_t x, int64_t y)
{
    switch (op) {
    case '+':
        return (int32_t)(uint32_t)(uint64_t)(x + y);
    case '-':
        return (int32_t)(uint32_t)(uint64_t)(x - y);
    case '*':
        return (int32_t)(uint32_t)(uint64_t)(x * y);
    case '/':
        return y == 0 ? 0 : (int32_t)(uint32_t)(int64_t)floor((double)x / (double)y);
    default:
        return (int32_t)((op == '>') == (x > y) ? x : y);
    }
}

static void check_s32(nnf_check *c, const nnf_kernel *kernel, char op)
{
    const nnf_binary_s32_flat_fn fast = (nnf_binary_s32_flat_fn)kernel->fn;
    static const int32_t values[] = {0, 1, -1, INT32_MAX, INT32_MIN, 2, -2, 3};
    for (size_t form = 0; form < 4 * 64; form++) {
        const size_t n = 1 + form / 4, step_a = form & 1, step_b = form >> 1 & 1;
        int32_t *a = nnf_check_alloc(c, 4 * (step_a ? n : 1)), *b = nnf_check_alloc(c, 4 * (step_b ? n : 1));
        int32_t *expected = nnf_check_alloc(c, 4 * n), *actual = nnf_check_alloc(c, 4 * n);
        nnf_check_fill_bytes(c, a, 4 * (step_a ? n : 1));
        nnf_check_fill_bytes(c, b, 4 * (step_b ? n : 1));
        a[0] = values[nnf_check_below(c, 8)];
        for (size_t i = 0; i < (step_b ? n : 1); i++)
            b[i] = nnf_check_below(c, 2) ? values[nnf_check_below(c, 8)] : b[i] >> nnf_check_below(c, 31);
        for (size_t i = 0; i < n; i++)
            expected[i] = word_of(op, a[i * step_a], b[i * step_b]);
        fast(n, a, step_a, b, step_b, actual);
        nnf_check_s32(c, expected, actual, n);
        if (step_a) {
            fast(n, a, step_a, b, step_b, a);
            nnf_check_s32(c, expected, a, n);
        }
        nnf_check_done(c, "n=%zu step_a=%zu step_b=%zu", n, step_a, step_b);
    }
    const size_t n = 1024;
    int32_t *a = nnf_check_alloc(c, 4 * n), *b = nnf_check_alloc(c, 4 * n), *y = nnf_check_alloc(c, 4 * n);
    for (size_t i = 0; i < n; i++) {
        a[i] = (int32_t)nnf_check_u32(c);
        b[i] = (int32_t)nnf_check_u32(c) >> 16;
    }
    NNF_BENCH(c, "n=1024", n, fast(n, a, 1, b, 1, y));
    nnf_check_done(c, "bench");
}

/* Each row against the relation itself, given as bits: 1 less, 2 equal, 4 greater, 8 unordered. */
static uint8_t holds(int relation, double a, double b)
{
    return (relation & (isnan(a) || isnan(b) ? 8 : a < b ? 1 : a > b ? 4 : 2)) != 0;
}

typedef union word {
    float f;
    int32_t s;
} word;

static void check_relation(nnf_check *c, const nnf_kernel *kernel, int relation, int is_float)
{
    static const float floats[] = {0.0f, -0.0f, 1.0f, -1.0f, INFINITY, -INFINITY, NAN, 2.0f};
    static const int32_t integers[] = {0, 1, -1, INT32_MAX, INT32_MIN, INT32_MAX - 1, 7, INT32_MIN + 1};
    for (size_t form = 0; form < 4 * 140; form++) {
        const size_t n = 1 + form / 4, step_a = form & 1, step_b = form >> 1 & 1;
        const size_t sizes[] = {step_a ? n : 1, step_b ? n : 1};
        word *x[2];
        for (size_t side = 0; side < 2; side++) {
            x[side] = nnf_check_alloc(c, sizeof(word) * sizes[side]);
            for (size_t i = 0; i < sizes[side]; i++) {
                const size_t chosen = nnf_check_below(c, 8);
                x[side][i] = is_float ? (word){.f = floats[chosen]} : (word){.s = integers[chosen]};
            }
        }
        uint8_t *expected = nnf_check_alloc(c, n), *actual = nnf_check_alloc(c, n);
        for (size_t i = 0; i < n; i++) {
            const word a = x[0][i * step_a], b = x[1][i * step_b];
            expected[i] = is_float ? holds(relation, a.f, b.f) : holds(relation, a.s, b.s);
        }
        if (is_float)
            ((nnf_compare_f32_flat_fn)kernel->fn)(n, &x[0]->f, step_a, &x[1]->f, step_b, actual);
        else
            ((nnf_compare_s32_flat_fn)kernel->fn)(n, &x[0]->s, step_a, &x[1]->s, step_b, actual);
        nnf_check_bytes(c, expected, actual, n);
        nnf_check_done(c, "n=%zu step_a=%zu step_b=%zu", n, step_a, step_b);
    }
    const size_t n = 1024;
    float *a = nnf_check_alloc(c, 4 * n), *b = nnf_check_alloc(c, 4 * n);
    uint8_t *y = nnf_check_alloc(c, n);
    nnf_check_fill_f32(c, a, n, -8, 8);
    nnf_check_fill_f32(c, b, n, -8, 8);
    if (is_float)
        NNF_BENCH(c, "n=1024", n, ((nnf_compare_f32_flat_fn)kernel->fn)(n, a, 1, b, 1, y));
    else
        NNF_BENCH(c, "n=1024", n, ((nnf_compare_s32_flat_fn)kernel->fn)(n, (int32_t *)a, 1, (int32_t *)b, 1, y));
    nnf_check_done(c, "bench");
}

/* A byte by the relation; or of '>' the larger and '<' the smaller code ('S', 's': signed); or of '&' and '|'. */
static uint8_t byte_of(char op, int relation, uint8_t a, uint8_t b)
{
    if (op == '>' || op == '<')
        return (op == '>') == (a > b) ? a : b;
    if (op == 'S' || op == 's')
        return (op == 'S') == ((int8_t)a > (int8_t)b) ? a : b;
    if (op == '&' || op == '|')
        return (a != 0) + (b != 0) > (op == '&');
    return holds(relation, a, b);
}

static void check_u8(nnf_check *c, const nnf_kernel *kernel, char op, int relation)
{
    const nnf_binary_u8_flat_fn fast = (nnf_binary_u8_flat_fn)kernel->fn;
    size_t sizes[9];
    nnf_check_sizes(64, sizes);
    for (size_t form = 0; form < 8 * 16; form++) {
        const size_t n = sizes[form / 16], step_a = form & 1, step_b = form >> 1 & 1;
        uint8_t *a = nnf_check_alloc(c, step_a ? n : 1), *b = nnf_check_alloc(c, step_b ? n : 1);
        uint8_t *expected = nnf_check_alloc(c, n), *actual = nnf_check_alloc(c, n);
        nnf_check_fill_bytes(c, a, step_a ? n : 1);
        nnf_check_fill_bytes(c, b, step_b ? n : 1);
        for (size_t i = 0; i < (step_b ? n : 1); i += 3)
            b[i] = form & 4 ? a[i * step_a] : 0;
        for (size_t i = 0; i < n; i++)
            expected[i] = byte_of(op, relation, a[i * step_a], b[i * step_b]);
        fast(n, a, step_a, b, step_b, actual);
        nnf_check_bytes(c, expected, actual, n);
        if (step_a) {
            fast(n, a, step_a, b, step_b, a);
            nnf_check_bytes(c, expected, a, n);
        }
        nnf_check_done(c, "n=%zu step_a=%zu step_b=%zu", n, step_a, step_b);
    }
    const size_t n = 1024;
    uint8_t *a = nnf_check_alloc(c, n), *b = nnf_check_alloc(c, n), *y = nnf_check_alloc(c, n);
    NNF_BENCH(c, "n=1024", n, fast(n, a, 1, b, 1, y));
    nnf_check_done(c, "bench");
}

static void check_select(nnf_check *c, const nnf_kernel *kernel, size_t item)
{
    const nnf_select_flat_fn fast = (nnf_select_flat_fn)kernel->fn;
    for (size_t n = 1; n < 140; n++) {
        uint8_t *choice = nnf_check_alloc(c, n), *a = nnf_check_alloc(c, n * item), *b = nnf_check_alloc(c, n * item);
        uint8_t *expected = nnf_check_alloc(c, n * item), *actual = nnf_check_alloc(c, n * item);
        nnf_check_fill_bytes(c, a, n * item);
        nnf_check_fill_bytes(c, b, n * item);
        for (size_t i = 0; i < n; i++) {
            choice[i] = nnf_check_below(c, 2) ? (uint8_t)nnf_check_u32(c) : 0;
            for (size_t k = i * item; k < (i + 1) * item; k++)
                expected[k] = choice[i] ? a[k] : b[k];
        }
        fast(n, choice, a, b, actual);
        nnf_check_bytes(c, expected, actual, n * item);
        fast(n, choice, a, b, b);
        nnf_check_bytes(c, expected, b, n * item);
        nnf_check_done(c, "n=%zu", n);
    }
    const size_t n = 1024;
    uint8_t *choice = nnf_check_alloc(c, n), *a = nnf_check_alloc(c, n * item), *b = nnf_check_alloc(c, n * item);
    uint8_t *y = nnf_check_alloc(c, n * item);
    NNF_BENCH(c, "n=1024", n, fast(n, choice, a, b, y));
    nnf_check_done(c, "bench");
}

NNF_CHECK(add_f32_flat, check_f32(c, twin, kernel))
NNF_CHECK(sub_f32_flat, check_f32(c, twin, kernel))
NNF_CHECK(mul_f32_flat, check_f32(c, twin, kernel))
NNF_CHECK(div_f32_flat, check_f32(c, twin, kernel))
NNF_CHECK(max_f32_flat, check_f32(c, twin, kernel))
NNF_CHECK(min_f32_flat, check_f32(c, twin, kernel))
NNF_CHECK(prelu_f32_flat, check_f32(c, twin, kernel))
NNF_CHECK(squared_difference_f32_flat, check_f32(c, twin, kernel))
NNF_CHECK(add_qu8_flat, check_add_q8(c, twin, kernel, 0))
NNF_CHECK(add_qs8_flat, check_add_q8(c, twin, kernel, -128))
NNF_CHECK(mul_qu8_flat, check_q8(c, twin, kernel, 0, false))
NNF_CHECK(mul_qs8_flat, check_q8(c, twin, kernel, -128, false))
NNF_CHECK(prelu_qu8_flat, check_q8(c, twin, kernel, 0, true))
NNF_CHECK(prelu_qs8_flat, check_q8(c, twin, kernel, -128, true))
NNF_CHECK(add_s32_flat, check_s32(c, kernel, '+'))
NNF_CHECK(sub_s32_flat, check_s32(c, kernel, '-'))
NNF_CHECK(mul_s32_flat, check_s32(c, kernel, '*'))
NNF_CHECK(div_s32_flat, check_s32(c, kernel, '/'))
NNF_CHECK(max_s32_flat, check_s32(c, kernel, '>'))
NNF_CHECK(min_s32_flat, check_s32(c, kernel, '<'))
NNF_CHECK(equal_f32_flat, check_relation(c, kernel, 2, 1))
NNF_CHECK(not_equal_f32_flat, check_relation(c, kernel, 13, 1))
NNF_CHECK(less_f32_flat, check_relation(c, kernel, 1, 1))
NNF_CHECK(less_equal_f32_flat, check_relation(c, kernel, 3, 1))
NNF_CHECK(equal_s32_flat, check_relation(c, kernel, 2, 0))
NNF_CHECK(not_equal_s32_flat, check_relation(c, kernel, 13, 0))
NNF_CHECK(less_s32_flat, check_relation(c, kernel, 1, 0))
NNF_CHECK(less_equal_s32_flat, check_relation(c, kernel, 3, 0))
NNF_CHECK(equal_b8_flat, check_u8(c, kernel, '?', 2))
NNF_CHECK(not_equal_b8_flat, check_u8(c, kernel, '?', 13))
NNF_CHECK(less_b8_flat, check_u8(c, kernel, '?', 1))
NNF_CHECK(less_equal_b8_flat, check_u8(c, kernel, '?', 3))
NNF_CHECK(max_qu8_flat, check_u8(c, kernel, '>', 0))
NNF_CHECK(min_qu8_flat, check_u8(c, kernel, '<', 0))
NNF_CHECK(max_qs8_flat, check_u8(c, kernel, 'S', 0))
NNF_CHECK(min_qs8_flat, check_u8(c, kernel, 's', 0))
NNF_CHECK(and_b8_flat, check_u8(c, kernel, '&', 0))
NNF_CHECK(or_b8_flat, check_u8(c, kernel, '|', 0))
NNF_CHECK(select_qu8_flat, check_select(c, kernel, 1))
NNF_CHECK(select_f16_flat, check_select(c, kernel, 2))
NNF_CHECK(select_s32_flat, check_select(c, kernel, 4))
NNF_CHECK(select_x64_flat, check_select(c, kernel, 8))
