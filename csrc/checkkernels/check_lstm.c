#include "check.h"
#include "checks.h"

#include <math.h>
#include <string.h>

#include "lstm/lstm.h"
#include "nnf/half.h"

static float *filled(nnf_check *c, size_t count, float size)
{
    float *x = nnf_check_alloc(c, 4 * count);
    nnf_check_fill_f32(c, x, count, -size, size);
    return x;
}

/* Floats of a tile before its weights: bias, peephole weights. */
static size_t head_size(const nnf_lstm_form *form)
{
    const size_t row = (size_t)form->gates * NNF_LSTM_N;
    return row + (form->peephole ? row - NNF_LSTM_N : 0);
}

/* A packed tile of k rows of weights of -size..size. 64-byte aligned, since its size is a multiple of 32 floats or
 * halves and the block ends at a page. */
static float *packed_tile(nnf_check *c, const nnf_lstm_form *form, size_t k, bool half, float size)
{
    const size_t head = head_size(form), count = k * (size_t)form->gates * NNF_LSTM_N;
    if (!half)
        return filled(c, head + count, size);
    float *packed = nnf_check_alloc(c, (4 * head + 2 * count + 63) / 64 * 64);
    uint16_t *weights = (uint16_t *)(packed + head);
    nnf_check_fill_f32(c, packed, head, -size, size);
    for (size_t i = 0; i < count; i++) /* both signs, and every exponent below that of `size` */
        weights[i] = (uint16_t)(nnf_check_u32(c) & 0x8000) | (uint16_t)nnf_check_below(c, size >= 0.5f ? 0x3800 : 0x2E00);
    return packed;
}

static float weight(const nnf_lstm_form *form, const float *packed, bool half, size_t at)
{
    const float *w = packed + head_size(form);
    return half ? nnf_half_to_float(((const uint16_t *)w)[at]) : w[at];
}

static void check_tile(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel, bool half)
{
    const nnf_lstm_f32_tile_fn slow = (nnf_lstm_f32_tile_fn)twin->fn, fast = (nnf_lstm_f32_tile_fn)kernel->fn;
    static const size_t depths[] = {0, 1, 2, 3, 4, 7, 8, 120};
    static const int activations[] = {4, 0, 1, 2, 3, 6, 4};
    for (size_t units = 1; units <= NNF_LSTM_N; units++) {
        for (size_t i = 0; i < 40; i++) {
            const nnf_lstm_form form = {.gates = i & 1 ? 3 : 4, .peephole = i >> 1 & 1,
                                        .activation = activations[i % 7], .clip = i & 4 ? 0.5f : INFINITY};
            const size_t k_x = depths[i % 8], k_h = depths[(3 * i + units) % 8];
            const size_t row = (size_t)form.gates * NNF_LSTM_N;
            float *packed = packed_tile(c, &form, k_x + k_h, half, 0.5f), *start = filled(c, row, 2);
            float *c_in = filled(c, units, 1), *scale = nnf_check_alloc(c, 4 * units);
            float *expected_c = nnf_check_alloc(c, 4 * units), *expected_y = nnf_check_alloc(c, 4 * units);
            float *actual_c = nnf_check_alloc(c, 4 * units), *actual_y = nnf_check_alloc(c, 4 * units);
            nnf_lstm_tile tile = {.packed = packed, .start = i & 8 ? start : NULL, .x = filled(c, k_x, 1),
                                  .h = filled(c, k_h, 1), .c_in = c_in, .k_x = k_x, .k_h = k_h, .units = units,
                                  .c_out = expected_c, .y = expected_y};
            /* Errors of the gate sums reach the results through slopes of at most 1 and factors of at most the sums'
             * own size (two linear activations multiply a gate). */
            for (size_t u = 0; u < units; u++) {
                float total = 4;
                for (size_t j = u; j < row; j += NNF_LSTM_N) {
                    total += fabsf((tile.start ? start : packed)[j]) + 0.5f;
                    for (size_t k = 0; k < k_x + k_h; k++)
                        total += fabsf((k < k_x ? tile.x[k] : tile.h[k - k_x]) * weight(&form, packed, half, k * row + j));
                }
                scale[u] = total * total;
            }
            slow(&form, &tile);
            tile.c_out = actual_c;
            tile.y = actual_y;
            fast(&form, &tile);
            nnf_check_f32(c, expected_c, actual_c, units, scale, k_x + k_h + 8);
            nnf_check_f32(c, expected_y, actual_y, units, scale, k_x + k_h + 8);
            tile.c_out = c_in;
            fast(&form, &tile);
            nnf_check_bytes(c, actual_c, c_in, 4 * units);
            nnf_check_done(c, "units=%zu k_x=%zu k_h=%zu case=%zu", units, k_x, k_h, i);
        }
    }
    const nnf_lstm_form form = {.gates = 4, .activation = 4, .clip = INFINITY};
    const size_t k = 120;
    float *state = filled(c, NNF_LSTM_N, 1), *y = nnf_check_alloc(c, 4 * NNF_LSTM_N);
    const nnf_lstm_tile tile = {.packed = packed_tile(c, &form, 2 * k, half, 0.1f), .x = filled(c, k, 1),
                                .h = filled(c, k, 1), .c_in = state, .k_x = k, .k_h = k, .units = NNF_LSTM_N,
                                .c_out = state, .y = y};
    NNF_BENCH(c, "k=240 units=16", 2 * k * 4 * NNF_LSTM_N, fast(&form, &tile));
    nnf_check_done(c, "bench");
}

NNF_CHECK(lstm_f32_tile, check_tile(c, twin, kernel, false))
NNF_CHECK(lstm_f16_tile, check_tile(c, twin, kernel, true))

/* Sums of a row, bias, peephole and layer norm weights of each gate where `bits` asks for them. */
static nnf_lstm_row row_of(nnf_check *c, int gates, size_t units, int bits)
{
    const size_t stride = units + (bits & 4 ? 3 : 0);
    nnf_lstm_row row = {.sums = filled(c, (size_t)(gates - 1) * stride + units, 2), .stride = stride, .units = units,
                        .c_in = filled(c, units, 1)};
    for (int g = 0; g < gates; g++) {
        row.bias[g] = filled(c, units, 1);
        if (bits & 1 && g != gates - 2)
            row.peephole[g] = filled(c, units, 0.5f);
        if (bits & 2)
            row.normal[g] = filled(c, units, 1);
    }
    return row;
}

/* What rounding errors grow by on their way to the results: layer norm stretches sums that lie close together. */
static float reach(const nnf_lstm_row *row, int gates)
{
    float most = 16;
    for (int g = 0; g < gates; g++) {
        float low = INFINITY, high = -INFINITY;
        for (size_t u = 0; u < row->units; u++) {
            const float z = row->sums[(size_t)g * row->stride + u];
            low = z < low ? z : low;
            high = z > high ? z : high;
        }
        if (row->normal[g])
            most += 16 / fmaxf(high - low, 1e-4f);
    }
    return most;
}

void nnf_check_lstm_f32_rows(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    const nnf_lstm_f32_rows_fn slow = (nnf_lstm_f32_rows_fn)twin->fn, fast = (nnf_lstm_f32_rows_fn)kernel->fn;
    static const int activations[] = {4, 0, 1, 2, 3, 6, 4};
    for (size_t units = 1; units <= 35; units++) {
        for (int i = 0; i < 40; i++) {
            const int gates = i & 8 ? 3 : 4;
            const nnf_lstm_form form = {.gates = gates, .activation = activations[i % 7],
                                        .clip = i & 16 ? 0.5f : INFINITY};
            nnf_lstm_row row = row_of(c, gates, units, i & 7);
            const size_t count = (size_t)(gates - 1) * row.stride + units;
            for (size_t u = 0; (i & 3) == 2 && i >= 24 && u < count; u++)
                row.sums[u] += 80000; /* sums close together: layer norm must not lose what they differ by */
            float *scale = nnf_check_alloc(c, 4 * units), *again = nnf_check_alloc(c, 4 * count);
            float *expected_c = nnf_check_alloc(c, 4 * units), *expected_y = nnf_check_alloc(c, 4 * units);
            float *actual_c = nnf_check_alloc(c, 4 * units), *actual_y = nnf_check_alloc(c, 4 * units);
            memcpy(again, row.sums, 4 * count);
            for (size_t u = 0; u < units; u++)
                scale[u] = reach(&row, gates);
            row.c_out = expected_c;
            row.y = expected_y;
            slow(&form, &row);
            memcpy(row.sums, again, 4 * count);
            row.c_out = actual_c;
            row.y = actual_y;
            fast(&form, &row);
            nnf_check_f32(c, expected_c, actual_c, units, scale, 4);
            nnf_check_f32(c, expected_y, actual_y, units, scale, 4);
            /* The state may be updated in place. */
            memcpy(row.sums, again, 4 * count);
            memcpy(expected_c, row.c_in, 4 * units);
            row.c_in = row.c_out = expected_c;
            fast(&form, &row);
            nnf_check_bytes(c, actual_c, expected_c, 4 * units);
            nnf_check_done(c, "units=%zu gates=%d case=%d", units, gates, i);
        }
    }
    const size_t units = 512;
    const nnf_lstm_form form = {.gates = 4, .activation = 4, .clip = INFINITY};
    nnf_lstm_row row = row_of(c, 4, units, 2);
    row.c_out = nnf_check_alloc(c, 4 * units);
    row.y = nnf_check_alloc(c, 4 * units);
    NNF_BENCH(c, "units=512 normal", units, fast(&form, &row));
    nnf_check_done(c, "bench");
}
