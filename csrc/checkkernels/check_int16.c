#include "check.h"
#include "checks.h"

#include <math.h>

#include "int16/int16.h"
#include "nnf/kernel.h"

static nnf_scaling fixed(nnf_check *c, int lo, int hi)
{
    nnf_scaling made;
    int32_t exponent;
    nnf_check_multiplier(c, &made.multiplier, &exponent, lo, hi);
    made.left = exponent > 0 ? exponent : 0;
    made.right = exponent > 0 ? 0 : -exponent;
    return made;
}

static void check_binary(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel, bool is_sum)
{
    const nnf_binary_qs16_flat_fn slow = (nnf_binary_qs16_flat_fn)twin->fn;
    const nnf_binary_qs16_flat_fn fast = (nnf_binary_qs16_flat_fn)kernel->fn;
    size_t sizes[9];
    nnf_check_sizes(16, sizes);
    for (size_t s = 0; sizes[s]; s++) {
        for (size_t form = 0; form < 16; form++) {
            const size_t n = sizes[s], count_a = form & 1 ? 1 : n, count_b = form & 2 ? 1 : n;
            int16_t *a = nnf_check_alloc(c, 2 * count_a), *b = nnf_check_alloc(c, 2 * count_b);
            int16_t *expected = nnf_check_alloc(c, 2 * n), *actual = nnf_check_alloc(c, 2 * n);
            nnf_check_fill_bytes(c, a, 2 * count_a);
            nnf_check_fill_bytes(c, b, 2 * count_b);
            nnf_binary_q16 p = {fixed(c, -12, 0), fixed(c, -12, 0), fixed(c, -14, 0), (form & 4) != 0, -32768, 32767};
            p.a.left = p.b.left = 15;
            if (is_sum) {
                p.a.right += 1;
                p.b.right += 1;
                p.y.left = form & 8 ? 0 : 1;
            }
            if (form & 8)
                p.lo = 0;
            slow(n, a, !(form & 1), b, !(form & 2), expected, &p);
            fast(n, a, !(form & 1), b, !(form & 2), actual, &p);
            nnf_check_bytes(c, expected, actual, 2 * n);
            nnf_check_done(c, "n=%zu form=%zu", n, form);
        }
    }
    const size_t n = 4096;
    int16_t *a = nnf_check_alloc(c, 2 * n), *b = nnf_check_alloc(c, 2 * n), *y = nnf_check_alloc(c, 2 * n);
    const nnf_binary_q16 p = {{1 << 30, 15, 1}, {1 << 30, 15, 2}, {1 << 30, 0, 12}, 0, -32768, 32767};
    nnf_check_fill_bytes(c, a, 2 * n);
    nnf_check_fill_bytes(c, b, 2 * n);
    NNF_BENCH(c, "n=4096", n, fast(n, a, 1, b, 1, y, &p));
    nnf_check_done(c, "bench");
}

NNF_CHECK(add_qs16_flat, check_binary(c, twin, kernel, true))
NNF_CHECK(mul_qs16_flat, check_binary(c, twin, kernel, false))

/* from, to: bytes of an element. */
static void check_rescale(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel, size_t from, size_t to)
{
    const nnf_rescale_flat_fn slow = (nnf_rescale_flat_fn)twin->fn, fast = (nnf_rescale_flat_fn)kernel->fn;
    size_t sizes[9];
    nnf_check_sizes(16, sizes);
    for (size_t s = 0; sizes[s]; s++) {
        for (size_t form = 0; form < 16; form++) {
            const size_t n = sizes[s];
            void *x = nnf_check_alloc(c, from * n), *expected = nnf_check_alloc(c, to * n);
            void *actual = nnf_check_alloc(c, to * n);
            nnf_check_fill_bytes(c, x, from * n);
            const int32_t most = (int32_t)((UINT32_C(1) << (8 * to - 1)) - 1), least = -most - 1;
            nnf_rescale p = {fixed(c, -31, 8), fixed(c, -12, 3), 0, 0, form & 1 ? 0 : least, most};
            if (form & 2)
                p.below.multiplier = -p.below.multiplier;
            if (form & 4)
                p.zero_x = (int32_t)nnf_check_below(c, 256) - 128;
            if (form & 8 && to < 4)
                p.zero_y = (int32_t)nnf_check_below(c, 256) - 128;
            slow(n, x, expected, &p);
            fast(n, x, actual, &p);
            nnf_check_bytes(c, expected, actual, to * n);
            nnf_check_done(c, "n=%zu form=%zu", n, form);
        }
    }
    const size_t n = 4096;
    void *x = nnf_check_alloc(c, from * n), *y = nnf_check_alloc(c, to * n);
    const nnf_rescale p = {{1 << 30, 0, 1}, {1 << 30, 0, 3}, 0, 0, -128, 127};
    nnf_check_fill_bytes(c, x, from * n);
    NNF_BENCH(c, "n=4096", n, fast(n, x, y, &p));
    nnf_check_done(c, "bench");
}

NNF_CHECK(rescale_qs16_flat, check_rescale(c, twin, kernel, 2, 2))
NNF_CHECK(rescale_qs16_qs8_flat, check_rescale(c, twin, kernel, 2, 1))
NNF_CHECK(rescale_qs16_s32_flat, check_rescale(c, twin, kernel, 2, 4))
NNF_CHECK(rescale_qs8_qs16_flat, check_rescale(c, twin, kernel, 1, 2))
NNF_CHECK(rescale_s32_qs16_flat, check_rescale(c, twin, kernel, 4, 2))
NNF_CHECK(rescale_s32_qs8_flat, check_rescale(c, twin, kernel, 4, 1))

/* Every code. */
enum { CODES = 65536 };

static int16_t *all_codes(nnf_check *c)
{
    int16_t *x = nnf_check_alloc(c, 2 * CODES);
    for (size_t i = 0; i < CODES; i++)
        x[i] = (int16_t)i;
    return x;
}

void nnf_check_curve_qs16_flat(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    const nnf_curve_qs16_flat_fn slow = (nnf_curve_qs16_flat_fn)twin->fn, fast = (nnf_curve_qs16_flat_fn)kernel->fn;
    size_t sizes[9];
    nnf_check_sizes(16, sizes);
    for (size_t s = 0; sizes[s]; s++) {
        const size_t n = sizes[s];
        int16_t *x = nnf_check_alloc(c, 2 * n), *table = nnf_check_alloc(c, 2 * 513);
        int16_t *expected = nnf_check_alloc(c, 2 * n), *actual = nnf_check_alloc(c, 2 * n);
        nnf_check_fill_bytes(c, x, 2 * n);
        for (size_t i = 0; i < 513; i++)
            table[i] = (int16_t)nnf_check_u32(c);
        slow(n, x, expected, table);
        fast(n, x, actual, table);
        nnf_check_bytes(c, expected, actual, 2 * n);
        nnf_check_done(c, "n=%zu", n);
    }
    int16_t *x = all_codes(c), *table = nnf_check_alloc(c, 2 * 513);
    int16_t *expected = nnf_check_alloc(c, 2 * CODES), *actual = nnf_check_alloc(c, 2 * CODES);
    for (size_t i = 0; i < 513; i++)
        table[i] = (int16_t)nnf_check_u32(c);
    slow(CODES, x, expected, table);
    fast(CODES, x, actual, table);
    nnf_check_bytes(c, expected, actual, 2 * CODES);
    NNF_BENCH(c, "n=4096", 4096, fast(4096, x, actual, table));
    nnf_check_done(c, "all codes");
}

void nnf_check_sigmoid_qs16_flat(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    const nnf_sigmoid_qs16_flat_fn slow = (nnf_sigmoid_qs16_flat_fn)twin->fn;
    const nnf_sigmoid_qs16_flat_fn fast = (nnf_sigmoid_qs16_flat_fn)kernel->fn;
    size_t sizes[9];
    nnf_check_sizes(16, sizes);
    for (size_t s = 0; sizes[s]; s++) {
        for (int form = 0; form < 8; form++) {
            const bool is_tanh = form & 1;
            const size_t n = form == 7 ? CODES : sizes[s];
            int16_t *x = form == 7 ? all_codes(c) : nnf_check_alloc(c, 2 * n);
            uint16_t *table = nnf_check_alloc(c, 2 * 256);
            int16_t *expected = nnf_check_alloc(c, 2 * n), *actual = nnf_check_alloc(c, 2 * n);
            if (form != 7)
                nnf_check_fill_bytes(c, x, 2 * n);
            for (size_t i = 0; i < 256; i++)
                table[i] = (uint16_t)(32768 + 128 * i);
            nnf_sigmoid_q16 p = {.multiplier = form & 2 ? 3 : 30000, .right = form & 4 ? 6 : 0, .table = table};
            p.bits = is_tanh ? 8 : 9;
            p.cap = is_tanh ? 0xFFFF << 8 : 0x7FFF << 10;
            p.less = is_tanh ? 1 << 23 : 0;
            p.sum = is_tanh ? 1 << 23 : 1 << 25;
            p.shift = is_tanh ? 8 : 10;
            slow(n, x, expected, &p);
            fast(n, x, actual, &p);
            nnf_check_bytes(c, expected, actual, 2 * n);
            nnf_check_done(c, "n=%zu form=%d", n, form);
        }
    }
    int16_t *x = all_codes(c), *y = nnf_check_alloc(c, 2 * CODES);
    uint16_t *table = nnf_check_alloc(c, 2 * 256);
    const nnf_sigmoid_q16 p = {3, 1, 9, 0x7FFF << 10, 0, 1 << 25, 10, table};
    for (size_t i = 0; i < 256; i++)
        table[i] = (uint16_t)(32768 + 128 * i);
    NNF_BENCH(c, "n=4096", 4096, fast(4096, x, y, &p));
    nnf_check_done(c, "bench");
}

void nnf_check_split_qs16_flat(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    const nnf_split_qs16_flat_fn slow = (nnf_split_qs16_flat_fn)twin->fn, fast = (nnf_split_qs16_flat_fn)kernel->fn;
    size_t sizes[9];
    nnf_check_sizes(32, sizes);
    for (size_t s = 0; sizes[s]; s++) {
        const size_t n = sizes[s];
        int16_t *x = nnf_check_alloc(c, 2 * n);
        uint8_t *expected[2] = {nnf_check_alloc(c, n), nnf_check_alloc(c, n)};
        uint8_t *actual[2] = {nnf_check_alloc(c, n), nnf_check_alloc(c, n)};
        nnf_check_fill_bytes(c, x, 2 * n);
        slow(n, x, expected[0], expected[1]);
        fast(n, x, actual[0], actual[1]);
        nnf_check_bytes(c, expected[0], actual[0], n);
        nnf_check_bytes(c, expected[1], actual[1], n);
        nnf_check_done(c, "n=%zu", n);
    }
    const size_t n = 4096;
    int16_t *x = nnf_check_alloc(c, 2 * n);
    uint8_t *high = nnf_check_alloc(c, n), *low = nnf_check_alloc(c, n);
    NNF_BENCH(c, "n=4096", n, fast(n, x, high, low));
    nnf_check_done(c, "bench");
}

enum form { WIDE_SUMS, WORD_SUMS, REAL_SUMS };

static void check_requantize(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel, enum form form)
{
    const nnf_requantize_qs16_rows_fn slow = (nnf_requantize_qs16_rows_fn)twin->fn;
    const nnf_requantize_qs16_rows_fn fast = (nnf_requantize_qs16_rows_fn)kernel->fn;
    size_t sizes[9];
    nnf_check_sizes(8, sizes);
    for (size_t s = 0; sizes[s]; s++) {
        for (size_t turn = 0; turn < 16; turn++) {
            const size_t n = sizes[s], rows = 1 + turn % 3;
            nnf_word_sums p = {.rows = rows, .columns = n, .ldx = n + turn % 2, .ldy = n + turn % 5};
            const size_t in = (rows - 1) * p.ldx + n, out = (rows - 1) * p.ldy + n;
            int32_t *high = nnf_check_alloc(c, 4 * in), *low = nnf_check_alloc(c, 4 * in);
            int64_t *offset = nnf_check_alloc(c, 8 * n);
            int32_t *multiplier = nnf_check_alloc(c, 4 * n), *shift = nnf_check_alloc(c, 4 * n);
            double *scale = nnf_check_alloc(c, 8 * n);
            int16_t *expected = nnf_check_alloc(c, 2 * out), *actual = nnf_check_alloc(c, 2 * out);
            const int narrow = turn & 4 ? 0 : 12; /* sums near the codes, or all of them */
            for (size_t i = 0; i < in; i++) {
                high[i] = (int32_t)nnf_check_u32(c) >> narrow;
                low[i] = (int32_t)nnf_check_u32(c) >> narrow;
            }
            for (size_t j = 0; j < n; j++) {
                offset[j] = (int64_t)(int32_t)nnf_check_u32(c) * (turn & 8 ? 64 : 1);
                nnf_check_multiplier(c, multiplier + j, shift + j, -31, 8);
                if (form == WIDE_SUMS) {
                    multiplier[j] >>= 16;
                    shift[j] = 15 - shift[j];
                }
                scale[j] = turn & 1 ? 0x1p-13 : (double)nnf_check_float(c, 1e-6f, 1e-2f);
            }
            p.high = turn % 7 == 3 ? NULL : high;
            p.low = low;
            p.offset = offset;
            p.multiplier = form == REAL_SUMS ? NULL : multiplier;
            p.shift = form == REAL_SUMS ? NULL : shift;
            p.scale = form == REAL_SUMS ? scale : NULL;
            p.lo = turn & 2 ? 0 : -32768;
            p.hi = 32767;
            for (size_t i = 0; i < out; i++)
                expected[i] = actual[i] = 77;
            p.y = expected;
            slow(&p);
            p.y = actual;
            fast(&p);
            nnf_check_bytes(c, expected, actual, 2 * out);
            nnf_check_done(c, "rows=%zu n=%zu turn=%zu", rows, n, turn);
        }
    }
    const size_t n = 1024;
    int32_t *x = nnf_check_alloc(c, 4 * n), *multiplier = nnf_check_alloc(c, 4 * n), *shift = nnf_check_alloc(c, 4 * n);
    int64_t *offset = nnf_check_alloc(c, 8 * n);
    double *scale = nnf_check_alloc(c, 8 * n);
    int16_t *y = nnf_check_alloc(c, 2 * n);
    for (size_t j = 0; j < n; j++) {
        x[j] = (int32_t)j;
        offset[j] = 0;
        multiplier[j] = 20000;
        shift[j] = form == WIDE_SUMS ? 20 : -5;
        scale[j] = 0.01;
    }
    const nnf_word_sums p = {1, n, n, n, x, x, y, -32768, 32767, offset, form == REAL_SUMS ? NULL : multiplier,
                             form == REAL_SUMS ? NULL : shift, scale};
    NNF_BENCH(c, "1x1024", n, fast(&p));
    nnf_check_done(c, "bench");
}

NNF_CHECK(requantize_wide_qs16_rows, check_requantize(c, twin, kernel, WIDE_SUMS))
NNF_CHECK(requantize_s32_qs16_rows, check_requantize(c, twin, kernel, WORD_SUMS))
NNF_CHECK(requantize_real_qs16_rows, check_requantize(c, twin, kernel, REAL_SUMS))

void nnf_check_quantize_f32_qs16_flat(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    const nnf_quantize_f32_qs16_flat_fn slow = (nnf_quantize_f32_qs16_flat_fn)twin->fn;
    const nnf_quantize_f32_qs16_flat_fn fast = (nnf_quantize_f32_qs16_flat_fn)kernel->fn;
    static const float odd[] = {NAN, INFINITY, -INFINITY, 2.5f, -2.5f, 0.49999997f, -0.5f, 1e30f, -40000, 32767.5f};
    size_t sizes[9];
    nnf_check_sizes(16, sizes);
    for (size_t s = 0; sizes[s]; s++) {
        for (size_t form = 0; form < 8; form++) {
            const size_t n = sizes[s];
            const float scale = form & 1 ? 1 : nnf_check_float(c, 1e-4f, 1e-2f);
            float *x = nnf_check_alloc(c, 4 * n);
            int16_t *expected = nnf_check_alloc(c, 2 * n), *actual = nnf_check_alloc(c, 2 * n);
            nnf_check_fill_f32(c, x, n, -50, 50);
            if (form & 2)
                x[nnf_check_below(c, n)] = odd[nnf_check_below(c, sizeof odd / sizeof *odd)];
            slow(n, x, expected, scale);
            fast(n, x, actual, scale);
            nnf_check_bytes(c, expected, actual, 2 * n);
            nnf_check_done(c, "n=%zu form=%zu", n, form);
        }
    }
    const size_t n = 4096;
    float *x = nnf_check_alloc(c, 4 * n);
    int16_t *y = nnf_check_alloc(c, 2 * n);
    nnf_check_fill_f32(c, x, n, -50, 50);
    NNF_BENCH(c, "n=4096", n, fast(n, x, y, 0.002f));
    nnf_check_done(c, "bench");
}

void nnf_check_dequantize_qs16_f32_flat(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    const nnf_dequantize_qs16_f32_flat_fn slow = (nnf_dequantize_qs16_f32_flat_fn)twin->fn;
    const nnf_dequantize_qs16_f32_flat_fn fast = (nnf_dequantize_qs16_f32_flat_fn)kernel->fn;
    size_t sizes[9];
    nnf_check_sizes(16, sizes);
    for (size_t s = 0; sizes[s]; s++) {
        const size_t n = sizes[s];
        int16_t *x = nnf_check_alloc(c, 2 * n);
        float *expected = nnf_check_alloc(c, 4 * n), *actual = nnf_check_alloc(c, 4 * n);
        nnf_check_fill_bytes(c, x, 2 * n);
        slow(n, x, expected, 0.0123f);
        fast(n, x, actual, 0.0123f);
        nnf_check_bytes(c, expected, actual, 4 * n);
        nnf_check_done(c, "n=%zu", n);
    }
    const size_t n = 4096;
    int16_t *x = nnf_check_alloc(c, 2 * n);
    float *y = nnf_check_alloc(c, 4 * n);
    nnf_check_fill_bytes(c, x, 2 * n);
    NNF_BENCH(c, "n=4096", n, fast(n, x, y, 0.002f));
    nnf_check_done(c, "bench");
}
