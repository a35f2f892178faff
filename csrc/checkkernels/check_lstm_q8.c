#include "check.h"
#include "checks.h"

#include <string.h>

#include "lstm_q8/lstm_q8.h"

enum { MOST = 50 };

static int16_t *words(nnf_check *c, size_t n)
{
    int16_t *x = nnf_check_alloc(c, 2 * n);
    nnf_check_fill_bytes(c, x, 2 * n);
    return x;
}

static int32_t *sums(nnf_check *c, size_t n)
{
    int32_t *x = nnf_check_alloc(c, 4 * n);
    const int shift = (int)nnf_check_below(c, 32);
    for (size_t i = 0; i < n; i++)
        x[i] = (int32_t)nnf_check_u32(c) >> shift;
    return x;
}

static nnf_fixed fixed(nnf_check *c)
{
    static const int ranges[3][2] = {{-31, 31}, {-20, 0}, {-10, 2}};
    const int *range = ranges[nnf_check_below(c, 3)];
    nnf_fixed a;
    nnf_check_multiplier(c, &a.multiplier, &a.exponent, range[0], range[1]);
    return a;
}

void nnf_check_lstm_gate_qs16_flat(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    const nnf_lstm_gate_qs16_flat_fn slow = (nnf_lstm_gate_qs16_flat_fn)twin->fn;
    const nnf_lstm_gate_qs16_flat_fn fast = (nnf_lstm_gate_qs16_flat_fn)kernel->fn;
    for (size_t i = 0; i < 40 * MOST; i++) {
        const size_t n = i % MOST;
        const int32_t *x = sums(c, n), *h = sums(c, n);
        const nnf_fixed a = fixed(c), b = fixed(c);
        int16_t *expected = words(c, n), *actual = words(c, n);
        slow(n, x, a, i & 1 ? h : NULL, b, expected);
        fast(n, x, a, i & 1 ? h : NULL, b, actual);
        nnf_check_bytes(c, expected, actual, 2 * n);
        nnf_check_done(c, "n=%zu exponents %d %d", n, a.exponent, b.exponent);
    }
    const size_t n = 512;
    const int32_t *x = sums(c, n), *h = sums(c, n);
    const nnf_fixed a = {1 << 30, -8};
    int16_t *y = words(c, n);
    NNF_BENCH(c, "n=512", n, fast(n, x, a, h, a, y));
    nnf_check_done(c, "bench");
}

void nnf_check_lstm_peephole_qs16_flat(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    const nnf_lstm_peephole_qs16_flat_fn slow = (nnf_lstm_peephole_qs16_flat_fn)twin->fn;
    const nnf_lstm_peephole_qs16_flat_fn fast = (nnf_lstm_peephole_qs16_flat_fn)kernel->fn;
    for (size_t i = 0; i < 20 * MOST; i++) {
        const size_t n = i % MOST;
        const int16_t *w = words(c, n), *cell = words(c, n);
        const nnf_fixed a = fixed(c);
        int16_t *expected = words(c, n), *actual = words(c, n);
        memcpy(actual, expected, 2 * n);
        slow(n, w, cell, a, expected);
        fast(n, w, cell, a, actual);
        nnf_check_bytes(c, expected, actual, 2 * n);
        nnf_check_done(c, "n=%zu exponent %d", n, a.exponent);
    }
}

void nnf_check_lstm_norm_qs16_rows(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    const nnf_lstm_norm_qs16_rows_fn slow = (nnf_lstm_norm_qs16_rows_fn)twin->fn;
    const nnf_lstm_norm_qs16_rows_fn fast = (nnf_lstm_norm_qs16_rows_fn)kernel->fn;
    for (size_t i = 0; i < 20 * MOST; i++) {
        const size_t n = 1 + i % MOST;
        const int16_t *w = words(c, n);
        const int32_t *bias = sums(c, n);
        const nnf_fixed a = fixed(c);
        int16_t *expected = words(c, n), *actual = words(c, n);
        memcpy(actual, expected, 2 * n);
        slow(n, w, bias, a, expected);
        fast(n, w, bias, a, actual);
        nnf_check_bytes(c, expected, actual, 2 * n);
        nnf_check_done(c, "n=%zu exponent %d", n, a.exponent);
    }
    const size_t n = 512;
    const int16_t *w = words(c, n);
    const int32_t *bias = sums(c, n);
    const nnf_fixed a = {1 << 30, -12};
    int16_t *y = words(c, n);
    NNF_BENCH(c, "n=512", n, fast(n, w, bias, a, y));
    nnf_check_done(c, "bench");
}

/* Every word there is, from `first` on. */
static int16_t *all_words(nnf_check *c, size_t n, size_t first)
{
    int16_t *x = nnf_check_alloc(c, 2 * n);
    for (size_t i = 0; i < n; i++)
        x[i] = (int16_t)(uint16_t)(first + i);
    return x;
}

static void check_update(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel, size_t n, nnf_lstm_update u)
{
    int16_t *expected = words(c, n), *actual = words(c, n);
    u.c_out = expected;
    ((nnf_lstm_update_qs16_flat_fn)twin->fn)(n, &u);
    memcpy(actual, u.c_in, 2 * n);
    u.c_in = u.c_out = actual;
    ((nnf_lstm_update_qs16_flat_fn)kernel->fn)(n, &u);
    nnf_check_bytes(c, expected, actual, 2 * n);
    nnf_check_done(c, "n=%zu k=%d enter=%d", n, u.k, u.enter != NULL);
}

void nnf_check_lstm_update_qs16_flat(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    for (size_t i = 0; i < 40 * MOST; i++) {
        const size_t n = i % MOST;
        const int16_t *enter = words(c, n);
        const nnf_lstm_update u = {.enter = i & 1 ? enter : NULL, .forget = words(c, n), .candidate = words(c, n),
                                   .c_in = words(c, n), .k = -9 - (int)(i % 7), .lo = i & 2 ? -1000 : -32768,
                                   .hi = i & 2 ? 1000 : 32767};
        check_update(c, twin, kernel, n, u);
    }
    for (size_t i = 0; i < 4; i++) {
        const nnf_lstm_update u = {.enter = all_words(c, 1 << 16, 77), .forget = all_words(c, 1 << 16, 12345 * i),
                                   .candidate = all_words(c, 1 << 16, 31), .c_in = words(c, 1 << 16),
                                   .k = -9 - 2 * (int)i, .lo = -32768, .hi = 32767};
        check_update(c, twin, kernel, 1 << 16, u);
    }
    const size_t n = 512;
    const nnf_lstm_update u = {.enter = words(c, n), .forget = words(c, n), .candidate = words(c, n),
                               .c_in = words(c, n), .c_out = words(c, n), .k = -11, .lo = -32768, .hi = 32767};
    NNF_BENCH(c, "n=512", n, ((nnf_lstm_update_qs16_flat_fn)kernel->fn)(n, &u));
    nnf_check_done(c, "bench");
}

void nnf_check_lstm_hidden_qs16_flat(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    const nnf_lstm_hidden_qs16_flat_fn slow = (nnf_lstm_hidden_qs16_flat_fn)twin->fn;
    const nnf_lstm_hidden_qs16_flat_fn fast = (nnf_lstm_hidden_qs16_flat_fn)kernel->fn;
    for (size_t i = 0; i < 40 * MOST + 7; i++) {
        const int k = -9 - (int)(i % 7), zero_point = (int)nnf_check_below(c, 256) - 128;
        const size_t n = i < 40 * MOST ? i % MOST : 1 << 16;
        const int16_t *leave = words(c, n), *cell = n == 1 << 16 ? all_words(c, n, 0) : words(c, n);
        const nnf_fixed a = i & 1 ? fixed(c) : (nnf_fixed){(1 << 30) + (int)nnf_check_below(c, 1 << 30), -22};
        int8_t *expected = nnf_check_alloc(c, n), *actual = nnf_check_alloc(c, n);
        slow(n, leave, cell, k, a, zero_point, expected);
        fast(n, leave, cell, k, a, zero_point, actual);
        nnf_check_bytes(c, expected, actual, n);
        nnf_check_done(c, "n=%zu k=%d exponent %d", n, k, a.exponent);
    }
    const size_t n = 512;
    const int16_t *leave = words(c, n), *cell = words(c, n);
    int8_t *y = nnf_check_alloc(c, n);
    const nnf_fixed a = {1 << 30, -22};
    NNF_BENCH(c, "n=512", n, fast(n, leave, cell, -11, a, 3, y));
    nnf_check_done(c, "bench");
}

void nnf_check_lstm_cell_qs16_flat(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    const nnf_lstm_cell_qs16_flat_fn slow = (nnf_lstm_cell_qs16_flat_fn)twin->fn;
    const nnf_lstm_cell_qs16_flat_fn fast = (nnf_lstm_cell_qs16_flat_fn)kernel->fn;
    for (size_t i = 0; i < 20 * MOST + 2; i++) {
        const size_t n = i < 20 * MOST ? i % MOST : 1 << 16;
        const int16_t *c_in = words(c, n);
        int16_t *expected_c = words(c, n), *actual_c = words(c, n);
        uint8_t *expected_y = nnf_check_alloc(c, n), *actual_y = nnf_check_alloc(c, n);
        nnf_lstm_cell16 cell = {.enter = words(c, n), .forget = all_words(c, n, i), .candidate = words(c, n),
                                .leave = words(c, n), .c_in = c_in, .c_out = expected_c, .y = expected_y};
        slow(n, &cell);
        memcpy(actual_c, c_in, 2 * n);
        cell.c_in = cell.c_out = actual_c;
        cell.y = actual_y;
        fast(n, &cell);
        nnf_check_bytes(c, expected_c, actual_c, 2 * n);
        nnf_check_bytes(c, expected_y, actual_y, n);
        nnf_check_done(c, "n=%zu", n);
    }
    const size_t n = 512;
    int16_t *state = words(c, n);
    const nnf_lstm_cell16 cell = {.enter = words(c, n), .forget = words(c, n), .candidate = words(c, n),
                                  .leave = words(c, n), .c_in = state, .c_out = state, .y = nnf_check_alloc(c, n)};
    NNF_BENCH(c, "n=512", n, fast(n, &cell));
    nnf_check_done(c, "bench");
}
