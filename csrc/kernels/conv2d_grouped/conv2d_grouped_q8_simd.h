/* Tiles of inputs. Include after KERNEL and these, for vectors of N output channels that take K inputs each at once, an
 * int32 of them, two vectors to a panel:
 *   S: int32 sums; X: inputs, or weights; lanes_of(w), store_lanes(y, x)
 *   spread(x, places), fill(a): in all lanes what is at a; add_dot(sum, x, weights)
 *   read(a, lanes, most): so many lanes of inputs, up to `most`, a constant: N, N / 2 or N / 4
 *   first_sum(f, vectors, v), put_rows(f, sums [rows][2 N], vectors): what sums of the tile f of conv2d.h begin with,
 *   and its codes
 *   HIGH: rows at once where panels go on from group to group; WIDE: of two vectors of one group */
#ifndef NNF_CONV2D_GROUPED_Q8_SIMD_H
#define NNF_CONV2D_GROUPED_Q8_SIMD_H

#include "nnf/unroll.h"

enum { TALL = 12 }; /* rows at once of one vector of one group: so many sums hide the latency of an addition */

/* Address of a lane of inputs of a row, under the first tap. */
INLINE const uint8_t *lane_at(const void *row, size_t lane) { return (const uint8_t *)row + 4 * lane; }

/* Sums of a tile's rows of one panel, of two vectors at most. They go by way of memory: panels have much to set up before
 * their sums become codes, so all rows do it together. */
typedef int32_t sums[NNF_CONV2D_GROUPED_ROWS][2][N] __attribute__((aligned(4 * N)));

/* HIGH rows of one vector of channels, whose addresses of the first tap are at `a`; first: lane of the first inputs. */
INLINE void multiply(const nnf_conv2d_grouped_q8_tile *t, const void *const *a, size_t first, size_t lanes,
                     const size_t most, const nnf_conv2d_q8_tile *f, int32_t (*total)[2][N])
{
    const size_t steps = t->in.depth / K;
    const int32_t *which = f->w + nnf_conv2d_grouped_header(N), *w = which + steps * N;
    S sum[HIGH];
    NNF_UNROLL
    for (int i = 0; i < HIGH; i++)
        sum[i] = first_sum(f, 1, 0);
    for (size_t tap = 0; tap < t->taps; tap++, a += NNF_CONV2D_GROUPED_ROWS) {
        X x[HIGH];
        NNF_UNROLL
        for (int i = 0; i < HIGH; i++)
            x[i] = read(lane_at(a[i], first), lanes, most);
        for (size_t s = 0; s < steps; s++, w += N) {
            const X weights = lanes_of(w), places = lanes_of(which + s * N);
            NNF_UNROLL
            for (int i = 0; i < HIGH; i++)
                add_dot(&sum[i], spread(x[i], places), weights);
        }
    }
    NNF_UNROLL
    for (int i = 0; i < HIGH; i++)
        store_lanes(total[i][0], sum[i]);
}

/* A panel that goes on from group to group. */
INLINE void run_across(const nnf_conv2d_grouped_q8_tile *t, const nnf_conv2d_q8_tile *f, size_t first, size_t lanes,
                       const size_t most)
{
    sums total;
    for (size_t i = 0; i < t->rows; i += HIGH)
        multiply(t, t->a + i, first, lanes, most, f, total + i);
    put_rows(f, total[0][0], 1);
}

/* Adds `steps` steps, a constant, from lane `at` on of rows at `a`, and goes on to the next weights. */
INLINE void add_steps(S sum[TALL][2], const int high, const int vectors, const int steps, const void *const *a, size_t at,
                      const int32_t **w)
{
    X weights[2][2];
    NNF_UNROLL
    for (int s = 0; s < steps; s++) {
        NNF_UNROLL
        for (int v = 0; v < vectors; v++)
            weights[s][v] = lanes_of(*w + N * (s * vectors + v));
    }
    NNF_UNROLL
    for (int i = 0; i < high; i++) {
        const uint8_t *inputs = lane_at(a[i], at);
        NNF_UNROLL
        for (int s = 0; s < steps; s++) {
            const X x = fill(inputs + 4 * s);
            NNF_UNROLL
            for (int v = 0; v < vectors; v++)
                add_dot(&sum[i][v], x, weights[s][v]);
        }
    }
    *w += N * steps * vectors;
}

/* As multiply, `high` rows of one group's panel of so many vectors. One vector takes two steps at once: it has the
 * registers for the weights, and would wait for addresses otherwise. */
INLINE void multiply_apart(const nnf_conv2d_grouped_q8_tile *t, const void *const *a, size_t first, const int high,
                           const int vectors, const nnf_conv2d_q8_tile *f, int32_t (*total)[2][N])
{
    const int together = vectors == 1 ? 2 : 1;
    const size_t last = first + t->in.depth / K;
    const int32_t *w = f->w + nnf_conv2d_grouped_header((size_t)(N * vectors));
    S sum[TALL][2];
    NNF_UNROLL
    for (int i = 0; i < high; i++) {
        NNF_UNROLL
        for (int v = 0; v < vectors; v++)
            sum[i][v] = first_sum(f, vectors, v);
    }
    for (size_t tap = 0; tap < t->taps; tap++, a += NNF_CONV2D_GROUPED_ROWS) {
        size_t at = first;
        for (; at + (size_t)together <= last; at += (size_t)together)
            add_steps(sum, high, vectors, together, a, at, &w);
        if (at < last)
            add_steps(sum, high, vectors, 1, a, at, &w);
    }
    NNF_UNROLL
    for (int i = 0; i < high; i++) {
        NNF_UNROLL
        for (int v = 0; v < vectors; v++)
            store_lanes(total[i][v], sum[i][v]);
    }
}

/* A panel of one group, up to `most` rows at once. */
INLINE void run_apart(const nnf_conv2d_grouped_q8_tile *t, const nnf_conv2d_q8_tile *f, size_t first, const int most,
                      const int vectors)
{
    const size_t high = (size_t)most;
    sums total;
    for (size_t i = 0; i < t->rows; i += high) {
        if (t->rows - i > high / 2)
            multiply_apart(t, t->a + i, first, most, vectors, f, total + i);
        else
            multiply_apart(t, t->a + i, first, most / 2, vectors, f, total + i);
    }
    put_rows(f, total[0][0], vectors);
}

void KERNEL(nnf_conv2d_grouped_qu8_qs8c_nhwc)(const nnf_conv2d_grouped_q8_tile *t)
{
    nnf_conv2d_q8_tile f = {.rows = t->rows, .w = t->w, .ldc = t->ldc, .zero_point = t->zero_point, .lo = t->lo,
                            .hi = t->hi, .flip = t->flip};
    for (size_t j = 0; j < t->in.groups * t->in.units; j += f.columns) {
        const size_t width = nnf_conv2d_grouped_width(&t->in, j, 2 * N), first = nnf_conv2d_grouped_base(&t->in, j) / K;
        f.columns = nnf_conv2d_grouped_columns(&t->in, j, 2 * N);
        f.c = t->c + j;
        if (nnf_conv2d_grouped_apart(&t->in, 2 * N)) {
            if (width == N)
                run_apart(t, &f, first, TALL, 1);
            else
                run_apart(t, &f, first, WIDE, 2);
        } else {
            const size_t lanes = nnf_conv2d_grouped_span(&t->in, j, 2 * N) / K;
            if (lanes <= N / 4)
                run_across(t, &f, first, lanes, N / 4);
            else if (lanes <= N / 2)
                run_across(t, &f, first, lanes, N / 2);
            else
                run_across(t, &f, first, lanes, N);
        }
        f.w = (const int32_t *)f.w + nnf_conv2d_grouped_panel(&t->in, t->taps, width, 2 * N, K);
    }
}

#endif
