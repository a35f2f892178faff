#include "check.h"
#include "checks.h"

#include <math.h>
#include <string.h>

#include "arg/arg.h"

/* One kernel for any type of elements: `call` knows it. */
typedef void (*call_fn)(const nnf_kernel *kernel, size_t count, size_t stride, size_t n, const void *x, int32_t *y,
                        uint32_t flip);

/* Few different values, so that some are equal, and floats that are no ordinary numbers. */
static void fill(nnf_check *c, void *x, size_t elements, size_t item, bool is_float)
{
    static const float odd[] = {NAN, INFINITY, -INFINITY, 0.0f, -0.0f, 1e-40f, -1e-40f, 3e38f};
    for (size_t i = 0; i < elements; i++) {
        if (is_float)
            ((float *)x)[i] = nnf_check_below(c, 4) ? (float)nnf_check_below(c, 9) - 4 : odd[nnf_check_below(c, 8)];
        else if (item == 4)
            ((int32_t *)x)[i] = nnf_check_below(c, 4) ? (int32_t)nnf_check_below(c, 9) - 4 :
                                nnf_check_below(c, 2) ? INT32_MIN : INT32_MAX;
        else
            ((uint8_t *)x)[i] = (uint8_t)(nnf_check_below(c, 4) ? nnf_check_below(c, 4) * 85 : nnf_check_u32(c));
    }
}

static void check(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel, call_fn call, size_t item,
                  bool is_float, bool is_rows)
{
    const uint32_t flips[] = {0, is_float ? 0x80000000u : item == 4 ? 0xFFFFFFFFu : 0xFF, item == 1 ? 0x80 : 0,
                              item == 1 ? 0x7F : 0};
    size_t sizes[9];
    nnf_check_sizes(16, sizes);
    for (size_t s = 0; sizes[s]; s++) {
        for (size_t form = 0; form < 16; form++) {
            const size_t n = is_rows ? 1 + 3 * form : sizes[s], count = is_rows && form % 2 ? sizes[s] : 1 + form;
            const size_t stride = n + form % 3, elements = is_rows ? count * n : (count - 1) * stride + n;
            void *x = nnf_check_alloc(c, item * elements);
            int32_t *expected = nnf_check_alloc(c, 4 * n), *actual = nnf_check_alloc(c, 4 * n);
            fill(c, x, elements, item, is_float);
            call(twin, count, stride, n, x, expected, flips[form % 4]);
            call(kernel, count, stride, n, x, actual, flips[form % 4]);
            nnf_check_s32(c, expected, actual, n);
            nnf_check_done(c, "count=%zu n=%zu form=%zu", count, n, form);
        }
    }
    const size_t count = 32, n = 1024;
    void *x = nnf_check_alloc(c, item * count * n);
    int32_t *y = nnf_check_alloc(c, 4 * n);
    memset(x, 1, item * count * n);
    NNF_BENCH(c, is_rows ? "1024 x 32" : "32 x 1024", count * n, call(kernel, count, n, n, x, y, 0));
    if (is_rows)
        NNF_BENCH(c, "1 x 1024", 1024, call(kernel, 1024, 1, 1, x, y, 0));
    nnf_check_done(c, "bench");
}

#define CHECK(types, type, is_float)                                                                                   \
    static void rows_##types(const nnf_kernel *kernel, size_t count, size_t stride, size_t n, const void *x,           \
                             int32_t *y, uint32_t flip)                                                                \
    {                                                                                                                  \
        (void)stride;                                                                                                  \
        ((nnf_arg_##types##_rows_fn)kernel->fn)(count, n, x, y, flip);                                                 \
    }                                                                                                                  \
    static void across_##types(const nnf_kernel *kernel, size_t count, size_t stride, size_t n, const void *x,         \
                               int32_t *y, uint32_t flip)                                                              \
    {                                                                                                                  \
        ((nnf_arg_across_##types##_rows_fn)kernel->fn)(count, stride, n, x, y, flip);                                  \
    }                                                                                                                  \
    void nnf_check_arg_##types##_rows(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)                  \
    {                                                                                                                  \
        check(c, twin, kernel, rows_##types, sizeof(type), is_float, true);                                            \
    }                                                                                                                  \
    void nnf_check_arg_across_##types##_rows(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)           \
    {                                                                                                                  \
        check(c, twin, kernel, across_##types, sizeof(type), is_float, false);                                         \
    }

CHECK(f32, float, true)
CHECK(s32, int32_t, false)
CHECK(qu8, uint8_t, false)
