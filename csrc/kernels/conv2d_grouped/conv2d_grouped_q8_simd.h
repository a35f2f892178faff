/* Tiles of codes. Include after KERNEL and these, for vectors of N output channels that take K codes each at once, two
 * vectors to a panel:
 *   S: int32 sums; X: inputs, or weights; lanes_of(w), store_lanes(y, x)
 *   spread(x, places), fill(n): all lanes; add_dot(sum, x, weights)
 *   read(a, span, most, from): inputs of a span of up to `most`, a constant: 8, 16, 32 or 64, and not above N K
 *   first_sum(f, vectors, v), put_rows(f, sums [rows][2 N], vectors): what sums of the tile f of conv2d.h begin with,
 *   and its codes
 *   HIGH: rows at once where panels go on from group to group; WIDE: of two vectors of one group, TALL at most */
#ifndef NNF_CONV2D_GROUPED_Q8_SIMD_H
#define NNF_CONV2D_GROUPED_Q8_SIMD_H

#include <string.h>

#include "nnf/unroll.h"

enum { TALL = 12 }; /* rows at once of one vector of one group: so many sums hide the latency of an addition */

/* What finishes a panel's sums of some rows. */
INLINE nnf_conv2d_q8_tile finish_of(const nnf_conv2d_grouped_q8_tile *t, const int32_t *panel, size_t columns, size_t rows,
                                    uint8_t *c)
{
    return (nnf_conv2d_q8_tile){.rows = rows, .columns = columns, .w = panel, .c = c, .ldc = t->ldc,
                                .zero_point = t->zero_point, .lo = t->lo, .hi = t->hi, .flip = t->flip};
}

/* Up to HIGH rows, whose addresses of the first tap are at `a`, of one vector of channels; so many if whole. Sums of rows
 * that are not there repeat the last one. */
INLINE void multiply(const nnf_conv2d_grouped_q8_tile *t, const uint8_t *const *a, const int whole, size_t base,
                     size_t span, const size_t most, const nnf_conv2d_q8_tile *f)
{
    const size_t steps = t->in.depth / K, rows = f->rows;
    const int32_t *which = f->w + nnf_conv2d_grouped_header(N), *w = which + steps * N;
    S sum[HIGH];
    NNF_UNROLL
    for (int i = 0; i < HIGH; i++)
        sum[i] = first_sum(f, 1, 0);
    for (size_t tap = 0; tap < t->taps; tap++, a += NNF_CONV2D_GROUPED_ROWS) {
        X x[HIGH];
        NNF_UNROLL
        for (int i = 0; i < HIGH; i++)
            x[i] = read(a[whole || (size_t)i < rows ? (size_t)i : rows - 1] + base, span, most, t->from);
        for (size_t s = 0; s < steps; s++, w += N) {
            const X weights = lanes_of(w), places = lanes_of(which + s * N);
            NNF_UNROLL
            for (int i = 0; i < HIGH; i++)
                add_dot(&sum[i], spread(x[i], places), weights);
        }
    }
    /* By way of memory: sums that a loop numbers would not be in registers above either. */
    int32_t total[HIGH][2][N] __attribute__((aligned(4 * N)));
    NNF_UNROLL
    for (int i = 0; i < HIGH; i++)
        store_lanes(total[i][0], sum[i]);
    put_rows(f, total[0][0], 1);
}

INLINE void run(const nnf_conv2d_grouped_q8_tile *t, size_t j, size_t span, const size_t most, const int32_t *panel)
{
    const size_t columns = nnf_conv2d_grouped_columns(&t->in, j, 2 * N), base = nnf_conv2d_grouped_base(&t->in, j);
    for (size_t i = 0; i < t->rows; i += HIGH) {
        const size_t rows = t->rows - i < HIGH ? t->rows - i : HIGH;
        const nnf_conv2d_q8_tile f = finish_of(t, panel, columns, rows, t->c + i * t->ldc + j);
        if (rows == HIGH)
            multiply(t, t->a + i, 1, base, span, most, &f);
        else
            multiply(t, t->a + i, 0, base, span, most, &f);
    }
}

/* Inputs that lie together for each tap and row, a step of K to an int32: as many as a line of the cache has. By way of
 * them inputs fill all lanes: permutations have one port, loads two or three. */
enum { TOGETHER = 16, MOST_TAPS = 25 };

typedef struct copies {
    int32_t of[MOST_TAPS][TALL][TOGETHER] __attribute__((aligned(4 * TOGETHER)));
} copies;

/* Inputs base..base + span - 1 of `taps` taps; most: for the first N K of them. Rows that are not there, up to half of TALL
 * or TALL, repeat the last one. */
INLINE void copy_inputs(const nnf_conv2d_grouped_q8_tile *t, const uint8_t *const *a, size_t rows, size_t taps, size_t base,
                        size_t span, const size_t most, copies *to)
{
    const size_t first = span < N * K ? span : N * K, high = rows > TALL / 2 ? TALL : TALL / 2;
    const uint8_t from = t->from;
    for (size_t tap = 0; tap < taps; tap++, a += NNF_CONV2D_GROUPED_ROWS) {
        int32_t(*line)[TOGETHER] = to->of[tap];
        for (size_t i = 0; i < rows; i++) {
            store_lanes(line[i], read(a[i] + base, first, most, from));
            if ((int)N < (int)TOGETHER && span > first)
                store_lanes(line[i] + TOGETHER - N, read(a[i] + base + first, span - first, N * K, from));
        }
        for (size_t i = rows; i < high; i++)
            memcpy(line[i], line[rows - 1], sizeof line[i]);
    }
}

INLINE void copy(const nnf_conv2d_grouped_q8_tile *t, const uint8_t *const *a, size_t rows, size_t taps, size_t base,
                 size_t span, copies *to)
{
    if (span <= 16)
        copy_inputs(t, a, rows, taps, base, span, 16, to);
    else if (span <= 32)
        copy_inputs(t, a, rows, taps, base, span, N * K < 32 ? N * K : 32, to);
    else
        copy_inputs(t, a, rows, taps, base, span, N * K, to);
}

/* Where a group's inputs are: in the copies, if those of a whole group fit, else they are copied tap by tap, a line at a
 * time. */
typedef struct place {
    const uint8_t *const *a; /* addresses of the first row */
    size_t base;             /* first input */
    size_t at;               /* its step in the copies */
    int is_copied;
} place;

/* Adds `steps` steps of one tap from the copies at `codes`, and goes on to the next weights. */
INLINE void add_steps(S sum[TALL][2], const int high, const int vectors, const int32_t *codes, size_t steps,
                      const int32_t **w)
{
    for (size_t s = 0; s < steps; s++, *w += N * vectors, codes++) {
        X weights[2];
        NNF_UNROLL
        for (int v = 0; v < vectors; v++)
            weights[v] = lanes_of(*w + N * v);
        NNF_UNROLL
        for (int i = 0; i < high; i++) {
            const X x = fill(codes[i * TOGETHER]);
            NNF_UNROLL
            for (int v = 0; v < vectors; v++)
                add_dot(&sum[i][v], x, weights[v]);
        }
    }
}

/* As multiply, for one group's panel of so many vectors, and up to `high` rows from number `row` of the copies on. */
INLINE void multiply_apart(const nnf_conv2d_grouped_q8_tile *t, const place *g, size_t row, const int high,
                           const int vectors, const nnf_conv2d_q8_tile *f, copies *c)
{
    const size_t depth = t->in.depth, steps = depth / K, taps = t->taps;
    const int32_t *w = f->w + nnf_conv2d_grouped_header((size_t)(N * vectors));
    S sum[TALL][2];
    NNF_UNROLL
    for (int i = 0; i < high; i++) {
        NNF_UNROLL
        for (int v = 0; v < vectors; v++)
            sum[i][v] = first_sum(f, vectors, v);
    }
    if (g->is_copied) {
        const int32_t *codes = c->of[0][row] + g->at;
        for (size_t tap = 0; tap < taps; tap++, codes += TALL * TOGETHER)
            add_steps(sum, high, vectors, codes, steps, &w);
    } else {
        for (size_t tap = 0; tap < taps; tap++) {
            for (size_t k = 0, span; k < depth; k += span) {
                span = depth - k < TOGETHER * K ? depth - k : TOGETHER * K;
                copy(t, g->a + tap * NNF_CONV2D_GROUPED_ROWS + row, f->rows, 1, g->base + k, span, c);
                add_steps(sum, high, vectors, c->of[0][0], span / K, &w);
            }
        }
    }
    int32_t total[TALL][2][N] __attribute__((aligned(4 * N)));
    NNF_UNROLL
    for (int i = 0; i < high; i++) {
        NNF_UNROLL
        for (int v = 0; v < vectors; v++)
            store_lanes(total[i][v], sum[i][v]);
    }
    put_rows(f, total[0][0], vectors);
}

/* Up to TALL rows of one group's panel, from output channel j on. */
INLINE void run_panel(const nnf_conv2d_grouped_q8_tile *t, const place *g, size_t rows, size_t j, const int most,
                      const int vectors, const int32_t *panel, uint8_t *y, copies *c)
{
    const size_t columns = nnf_conv2d_grouped_columns(&t->in, j, 2 * N);
    for (size_t i = 0, here; i < rows; i += here) {
        here = rows - i < (size_t)most ? rows - i : (size_t)most;
        const nnf_conv2d_q8_tile f = finish_of(t, panel, columns, here, y + i * t->ldc + j);
        if (here > (size_t)most / 2)
            multiply_apart(t, g, i, most, vectors, &f, c);
        else
            multiply_apart(t, g, i, most / 2, vectors, &f, c);
    }
}

/* Up to TALL rows of all groups, which have panels of their own. */
INLINE void run_apart(const nnf_conv2d_grouped_q8_tile *t, const uint8_t *const *a, size_t rows, uint8_t *y)
{
    const size_t depth = t->in.depth, units = t->in.units, all = t->in.groups * units, line = TOGETHER * K / depth;
    place g = {.a = a, .is_copied = line && t->taps <= MOST_TAPS};
    const int32_t *panel = t->w;
    copies c;
    for (size_t j = 0; j < all; j += nnf_conv2d_grouped_columns(&t->in, j, 2 * N)) {
        const size_t width = nnf_conv2d_grouped_width(&t->in, j, 2 * N), number = j / units;
        g.base = number * depth;
        g.at = 0;
        if (g.is_copied) {
            const size_t left = t->in.groups - number;
            g.at = number % line * (depth / K);
            if (j % (line * units) == 0)
                copy(t, a, rows, t->taps, g.base, (left < line ? left : line) * depth, &c);
        }
        if (width == N)
            run_panel(t, &g, rows, j, TALL, 1, panel, y, &c);
        else
            run_panel(t, &g, rows, j, WIDE, 2, panel, y, &c);
        panel += nnf_conv2d_grouped_panel(&t->in, t->taps, width, 2 * N, K);
    }
}

void KERNEL(nnf_conv2d_grouped_qu8_qs8c_nhwc)(const nnf_conv2d_grouped_q8_tile *t)
{
    if (nnf_conv2d_grouped_apart(&t->in, 2 * N)) {
        for (size_t i = 0; i < t->rows; i += TALL)
            run_apart(t, t->a + i, t->rows - i < TALL ? t->rows - i : TALL, t->c + i * t->ldc);
        return;
    }
    const int32_t *panel = t->w;
    for (size_t j = 0; j < t->in.groups * t->in.units; j += nnf_conv2d_grouped_columns(&t->in, j, 2 * N)) {
        const size_t span = nnf_conv2d_grouped_span(&t->in, j, 2 * N);
        if (span <= 8)
            run(t, j, span, 8, panel);
        else if (span <= 16 || N * K == 16)
            run(t, j, span, 16, panel);
        else if (span <= 32 || N * K == 32)
            run(t, j, span, 32, panel);
        else
            run(t, j, span, 64, panel);
        panel += nnf_conv2d_grouped_panel(&t->in, t->taps, N, 2 * N, K);
    }
}

#endif
