#include "check.h"
#include "checks.h"

#include <math.h>
#include <string.h>

#include "svdf/svdf.h"

static float *filled(nnf_check *c, size_t count)
{
    float *x = nnf_check_alloc(c, 4 * count);
    nnf_check_fill_f32(c, x, count, -1, 1);
    return x;
}

static nnf_svdf_row row_of(nnf_check *c, size_t units, size_t rank, size_t memory)
{
    const size_t filters = units * rank;
    return (nnf_svdf_row){.feature = filled(c, filters), .state_in = filled(c, filters * memory),
                          .time = filled(c, filters * memory), .units = units, .rank = rank, .memory = memory,
                          .lo = -INFINITY, .hi = INFINITY};
}

void nnf_check_svdf_f32_rows(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    const nnf_svdf_f32_rows_fn slow = (nnf_svdf_f32_rows_fn)twin->fn, fast = (nnf_svdf_f32_rows_fn)kernel->fn;
    static const size_t memories[] = {1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 50};
    for (size_t units = 1; units <= 9; units += 2) {
        for (size_t rank = 1; rank <= 3; rank++) {
            for (size_t i = 0; i < 12; i++) {
                const size_t memory = memories[i], each = rank * memory;
                nnf_svdf_row row = row_of(c, units, rank, memory);
                float *expected = nnf_check_alloc(c, 4 * units), *actual = nnf_check_alloc(c, 4 * units);
                float *expected_state = nnf_check_alloc(c, 4 * units * each), *scale = nnf_check_alloc(c, 4 * units);
                float *actual_state = nnf_check_alloc(c, 4 * units * each);
                const float *bias = filled(c, units);
                row.bias = i & 1 ? bias : NULL;
                if (i & 2) {
                    row.lo = -0.5f;
                    row.hi = 0.5f;
                }
                for (size_t u = 0; u < units; u++) {
                    scale[u] = 1;
                    for (size_t k = u * each; k < (u + 1) * each; k++)
                        scale[u] += fabsf(row.time[k]);
                }
                row.y = expected;
                row.state_out = expected_state;
                slow(&row);
                row.y = actual;
                row.state_out = actual_state;
                fast(&row);
                nnf_check_f32(c, expected, actual, units, scale, each + 1);
                nnf_check_bytes(c, expected_state, actual_state, 4 * units * each);
                nnf_check_done(c, "units=%zu rank=%zu memory=%zu", units, rank, memory);
            }
        }
    }
    const size_t units = 128, memory = 8;
    nnf_svdf_row row = row_of(c, units, 2, memory);
    row.y = nnf_check_alloc(c, 4 * units);
    row.state_out = nnf_check_alloc(c, 4 * 2 * units * memory);
    NNF_BENCH(c, "units=128 rank=2 memory=8", 2 * units * memory, fast(&row));
    nnf_check_done(c, "bench");
}

/* Random, all of one byte, or the ends of the range. item: bytes of a code. */
static void *codes(nnf_check *c, size_t count, size_t item)
{
    uint8_t *x = nnf_check_alloc(c, count * item);
    nnf_check_fill_bytes(c, x, count * item);
    if (nnf_check_below(c, 4) > 0)
        return x;
    const int often = (int)nnf_check_below(c, 3); /* how many of three are the lowest */
    for (size_t i = 0; i < count; i++) {
        const int is_lowest = (int)nnf_check_below(c, 3) < often;
        memset(x + i * item, is_lowest ? 0 : 255, item - 1);
        x[i * item + item - 1] = is_lowest ? 128 : 127;
    }
    return x;
}

static nnf_svdf_q8_row q8_row_of(nnf_check *c, size_t item, size_t units, size_t rank, size_t memory)
{
    const size_t filters = units * rank, zero = nnf_check_below(c, 4);
    const int32_t zeros[] = {INT8_MIN, INT8_MAX, (int32_t)nnf_check_below(c, 256) - 128, 0};
    int32_t *bias = nnf_check_alloc(c, 4 * units), *feature = nnf_check_alloc(c, 4 * filters);
    nnf_check_fill_bytes(c, feature, 4 * filters);
    nnf_check_fill_bytes(c, bias, 4 * units);
    nnf_svdf_q8_row row = {.feature = feature, .bias = nnf_check_below(c, 2) ? bias : NULL,
                           .state_in = codes(c, filters * memory, item), .time = codes(c, filters * memory, item),
                           .units = units, .rank = rank, .memory = memory, .zero_state = item == 1 ? zeros[zero] : 0,
                           .zero_y = zeros[nnf_check_below(c, 4)]};
    /* In one of two, sums come to lie among the codes more often than beyond them. */
    const int least = nnf_check_below(c, 2) ? -31 : 8 * (int)item - 32;
    nnf_check_multiplier(c, &row.multiplier_state, &row.exponent_state, least, least == -31 ? 31 : least + 4);
    nnf_check_multiplier(c, &row.multiplier_y, &row.exponent_y, -31, 2);
    return row;
}

static void check_svdf_q8_case(nnf_check *c, nnf_svdf_qs8_rows_fn slow, nnf_svdf_qs8_rows_fn fast, size_t item,
                               nnf_svdf_q8_row row)
{
    const size_t bytes = row.units * row.rank * row.memory * item;
    int8_t *expected = nnf_check_alloc(c, row.units), *actual = nnf_check_alloc(c, row.units);
    void *expected_state = nnf_check_alloc(c, bytes), *actual_state = nnf_check_alloc(c, bytes);
    row.y = expected;
    row.state_out = expected_state;
    slow(&row);
    row.y = actual;
    row.state_out = actual_state;
    fast(&row);
    nnf_check_bytes(c, expected, actual, row.units);
    nnf_check_bytes(c, expected_state, actual_state, bytes);
    nnf_check_done(c, "units=%zu rank=%zu memory=%zu", row.units, row.rank, row.memory);
}

static void bench_svdf_q8(nnf_check *c, nnf_svdf_qs8_rows_fn fast, size_t item, size_t units, size_t memory,
                          const char *label)
{
    nnf_svdf_q8_row row = q8_row_of(c, item, units, 1, memory);
    row.y = nnf_check_alloc(c, units);
    row.state_out = nnf_check_alloc(c, units * memory * item);
    NNF_BENCH(c, label, units * memory, fast(&row));
    nnf_check_done(c, "bench");
}

/* item: bytes of a code of the memory. */
static void check_svdf_q8(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel, size_t item)
{
    const nnf_svdf_qs8_rows_fn slow = (nnf_svdf_qs8_rows_fn)twin->fn, fast = (nnf_svdf_qs8_rows_fn)kernel->fn;
    for (size_t units = 1; units <= 19; units++) {
        for (size_t rank = 1; rank <= 3; rank++) {
            for (size_t memory = 1; memory <= 40; memory++)
                check_svdf_q8_case(c, slow, fast, item, q8_row_of(c, item, units, rank, memory));
        }
    }
    bench_svdf_q8(c, fast, item, 64, 8, "64x1x8");
    bench_svdf_q8(c, fast, item, 32, 32, "32x1x32");
}

NNF_CHECK(svdf_qs8_qs16_rows, check_svdf_q8(c, twin, kernel, 2))
NNF_CHECK(svdf_qs8_rows, check_svdf_q8(c, twin, kernel, 1))
