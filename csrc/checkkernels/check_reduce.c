#include "check.h"
#include "checks.h"

#include <math.h>

#include "reduce/reduce.h"

enum { FORMS = 6, RESULTS = 3 };

/* Shape number `form` of a reduction: {count, count} of the strided dimensions, gaps behind each. */
static nnf_reduce shape(size_t form, size_t n, size_t *elements)
{
    static const size_t counts[FORMS][2] = {{1, 1}, {7, 1}, {1, 3}, {2, 3}, {49, 1}, {5, 8}};
    nnf_reduce p = {.count = {counts[form][0], counts[form][1]}, .divisor = 1};
    p.stride[1] = n + form % 3;
    p.stride[0] = p.count[1] * p.stride[1] + form % 2;
    *elements = (p.count[0] - 1) * p.stride[0] + (p.count[1] - 1) * p.stride[1] + n;
    return p;
}

/* One result, and more than kernels take together, that overlap or lie apart. */
static void places(size_t form, size_t *elements, size_t *results, size_t *apart)
{
    static const size_t counts[RESULTS] = {1, 3, 41};
    *results = counts[form % RESULTS];
    *apart = form % 2 ? *elements + 1 : 1;
    *elements += (*results - 1) * *apart;
}

static void check_f32(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel, bool is_rows, float spread)
{
    const nnf_reduce_f32_fn slow = (nnf_reduce_f32_fn)twin->fn, fast = (nnf_reduce_f32_fn)kernel->fn;
    static const float nasty[] = {INFINITY, -INFINITY, NAN, 0.0f, -0.0f};
    size_t sizes[9];
    nnf_check_sizes(16, sizes);
    for (size_t s = 0; sizes[s]; s++) {
        for (size_t form = 0; form < 4 * FORMS; form++) {
            const size_t n = sizes[s];
            size_t elements, parts, apart;
            nnf_reduce p = shape(form % FORMS, n, &elements);
            places(form / 2 + s, &elements, &parts, &apart);
            const size_t results = is_rows ? parts : parts * n;
            const size_t terms = p.count[0] * p.count[1] * (is_rows ? n : 1);
            p.divisor = form & 1 ? (int32_t)terms : 1;
            float *x = nnf_check_alloc(c, 4 * elements), *scale = nnf_check_alloc(c, 4 * results);
            float *expected = nnf_check_alloc(c, 4 * results), *actual = nnf_check_alloc(c, 4 * results);
            nnf_check_fill_f32(c, x, elements, -spread, spread);
            for (size_t i = 0; i < results; i++)
                scale[i] = spread * (float)terms;
            if (form >= 3 * FORMS)
                x[nnf_check_below(c, elements)] = nasty[nnf_check_below(c, 5)];
            slow(&p, parts, apart, n, x, expected);
            fast(&p, parts, apart, n, x, actual);
            nnf_check_f32(c, expected, actual, results, scale, terms);
            nnf_check_done(c, "n=%zu form=%zu", n, form);
        }
    }
    const size_t n = 1024;
    const nnf_reduce p = {.count = {49, 1}, .stride = {n, 0}, .divisor = 49};
    const nnf_reduce short_row = {.count = {1, 1}, .divisor = 64};
    float *x = nnf_check_alloc(c, 4 * 49 * n), *y = nnf_check_alloc(c, 4 * n);
    nnf_check_fill_f32(c, x, 49 * n, -1, 1);
    NNF_BENCH(c, "49 x 1024", 49 * n, fast(&p, 1, 0, n, x, y));
    if (is_rows)
        NNF_BENCH(c, "784 rows of 64", 784 * 64, fast(&short_row, 784, 64, 64, x, y));
    nnf_check_done(c, "bench");
}

static void check_q8(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel, bool is_rows)
{
    const nnf_reduce_q8_fn slow = (nnf_reduce_q8_fn)twin->fn, fast = (nnf_reduce_q8_fn)kernel->fn;
    size_t sizes[9];
    nnf_check_sizes(64, sizes);
    for (size_t s = 0; sizes[s]; s++) {
        for (size_t form = 0; form < 4 * FORMS; form++) {
            const size_t n = sizes[s];
            size_t elements, parts, apart;
            nnf_reduce p = shape(form % FORMS, n, &elements);
            places(form / 2 + s, &elements, &parts, &apart);
            const size_t results = is_rows ? parts : parts * n;
            p.divisor = (int32_t)(p.count[0] * p.count[1] * (is_rows ? n : 1));
            p.flip = form & 1 ? 128 : 0;
            if (form >= 2 * FORMS) {
                p.excess = p.divisor * ((int32_t)nnf_check_below(c, 256) - p.flip);
                p.multiplier = (1 << 30) + (int32_t)nnf_check_below(c, 1 << 30);
                p.exponent = 1 - (int32_t)nnf_check_below(c, 12);
                p.lo = -p.flip;
                p.hi = 255 - p.flip;
                p.zero_point = (int32_t)nnf_check_below(c, 256) - p.flip;
                p.divisor = 0;
            }
            uint8_t *x = nnf_check_alloc(c, elements);
            uint8_t *expected = nnf_check_alloc(c, results), *actual = nnf_check_alloc(c, results);
            nnf_check_fill_bytes(c, x, elements);
            slow(&p, parts, apart, n, x, expected);
            fast(&p, parts, apart, n, x, actual);
            nnf_check_bytes(c, expected, actual, results);
            nnf_check_done(c, "n=%zu form=%zu", n, form);
        }
    }
    const size_t n = 1024;
    const nnf_reduce p = {.count = {49, 1}, .stride = {n, 0}, .divisor = 49};
    const nnf_reduce short_row = {.count = {1, 1}, .divisor = 64};
    uint8_t *x = nnf_check_alloc(c, 49 * n), *y = nnf_check_alloc(c, n);
    nnf_check_fill_bytes(c, x, 49 * n);
    NNF_BENCH(c, "49 x 1024", 49 * n, fast(&p, 1, 0, n, x, y));
    if (is_rows)
        NNF_BENCH(c, "784 rows of 64", 784 * 64, fast(&short_row, 784, 64, 64, x, y));
    nnf_check_done(c, "bench");
}

/* What a product is: in double, one factor after the other; a zero makes it zero, beside an infinity or NaN too. */
static float product(const nnf_reduce *p, size_t n, const float *x)
{
    double value = 1;
    for (size_t a = 0; a < p->count[0]; a++)
        for (size_t b = 0; b < p->count[1]; b++)
            for (size_t i = 0; i < n; i++) {
                const float factor = x[a * p->stride[0] + b * p->stride[1] + i];
                value = value == 0 || factor == 0 ? 0.0 : value * factor;
            }
    return (float)value;
}

/* Factors of all sizes, so that products leave the range of floats and of doubles, and odd ones among them. */
static void check_product(nnf_check *c, const nnf_kernel *kernel, bool is_rows)
{
    const nnf_reduce_f32_fn fast = (nnf_reduce_f32_fn)kernel->fn;
    static const float odd[] = {INFINITY, -INFINITY, NAN, 0.0f, -0.0f, 1e-45f, -3e38f};
    size_t sizes[9];
    nnf_check_sizes(16, sizes);
    for (size_t s = 0; sizes[s]; s++) {
        for (size_t form = 0; form < 8 * FORMS; form++) {
            const size_t n = sizes[s];
            size_t elements, parts, apart;
            nnf_reduce p = shape(form % FORMS, n, &elements);
            places(form / 2 + s, &elements, &parts, &apart);
            const size_t results = is_rows ? parts : parts * n;
            float *x = nnf_check_alloc(c, 4 * elements);
            float *expected = nnf_check_alloc(c, 4 * results), *actual = nnf_check_alloc(c, 4 * results);
            for (size_t i = 0; i < elements; i++) {
                const int spread = form < 4 * FORMS ? 2 : 240;
                x[i] = ldexpf(nnf_check_float(c, -1, 1), (int)nnf_check_below(c, (size_t)spread) - spread / 2 + 1);
                if (form / FORMS % 2 && nnf_check_below(c, elements) < 4)
                    x[i] = odd[nnf_check_below(c, sizeof odd / sizeof odd[0])];
            }
            for (size_t r = 0; r < results; r++)
                expected[r] = is_rows ? product(&p, n, x + r * apart) : product(&p, 1, x + r / n * apart + r % n);
            fast(&p, parts, apart, n, x, actual);
            for (size_t r = 0; r < results; r++) { /* a NaN has no bits that count */
                expected[r] = isnan(expected[r]) ? NAN : expected[r];
                actual[r] = isnan(actual[r]) ? NAN : actual[r];
            }
            nnf_check_bytes(c, expected, actual, 4 * results);
            nnf_check_done(c, "n=%zu form=%zu", n, form);
        }
    }
}

static void check_products(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel, bool is_rows)
{
    check_product(c, kernel, is_rows);
    check_f32(c, twin, kernel, is_rows, 1.5f);
}

NNF_CHECK(reduce_sum_f32_rows, check_f32(c, twin, kernel, true, 8))
NNF_CHECK(reduce_max_f32_rows, check_f32(c, twin, kernel, true, 8))
NNF_CHECK(reduce_min_f32_rows, check_f32(c, twin, kernel, true, 8))
NNF_CHECK(reduce_prod_f32_rows, check_products(c, twin, kernel, true))
NNF_CHECK(reduce_sum_across_f32_rows, check_f32(c, twin, kernel, false, 8))
NNF_CHECK(reduce_max_across_f32_rows, check_f32(c, twin, kernel, false, 8))
NNF_CHECK(reduce_min_across_f32_rows, check_f32(c, twin, kernel, false, 8))
NNF_CHECK(reduce_prod_across_f32_rows, check_products(c, twin, kernel, false))
NNF_CHECK(reduce_mean_qu8_rows, check_q8(c, twin, kernel, true))
NNF_CHECK(reduce_max_qu8_rows, check_q8(c, twin, kernel, true))
NNF_CHECK(reduce_min_qu8_rows, check_q8(c, twin, kernel, true))
NNF_CHECK(reduce_mean_across_qu8_rows, check_q8(c, twin, kernel, false))
NNF_CHECK(reduce_max_across_qu8_rows, check_q8(c, twin, kernel, false))
NNF_CHECK(reduce_min_across_qu8_rows, check_q8(c, twin, kernel, false))
