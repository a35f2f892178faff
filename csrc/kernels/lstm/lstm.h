/* The part of an LSTM step before the projection: gate sums, gates, cell state, output. */
#ifndef NNF_LSTM_H
#define NNF_LSTM_H

#include <stddef.h>

#define NNF_LSTM_N 16

/* What kind of cell it is. Gates in order: input, forget, cell, output; without the input gate it is 1 - forget,
 * which vectors compute as the gate of the negative sum: of a forget gate close to 1 the difference has few digits. */
typedef struct nnf_lstm_form {
    int gates;      /* 3 or 4 */
    int peephole;   /* 1: the gates also see the cell state (tiles only) */
    int activation; /* of cell gate and output: 0 none, 1 relu, 2 relu1, 3 relu6, 4 tanh, 6 sigmoid */
    float clip;     /* bound of the cell state, infinity for none */
} nnf_lstm_form;

/* One tile of one batch row [NN 14.16] without layer norm.
 *   packed   64-byte aligned: bias [gates][16]; with peephole their weights [gates - 1][16] (input, forget, output);
 *            w[k_x + k_h][gates][16], in op lstm_f16_tile as halves; zeros beyond `units`
 *   start    [gates][16] sums that include the bias, or NULL for the packed bias
 *   c_out    may be the same address as c_in
 * 1 <= units <= 16; k_x, k_h >= 0; any alignment elsewhere. Reads and writes exactly k_x, k_h and `units` elements.
 * The scalar row sums in double. */
typedef struct nnf_lstm_tile {
    const float *packed, *start, *x, *h, *c_in;
    size_t k_x, k_h, units;
    float *c_out, *y;
} nnf_lstm_tile;

typedef void (*nnf_lstm_f32_tile_fn)(const nnf_lstm_form *form, const nnf_lstm_tile *tile);

/* A batch row from its gate sums, with layer norm where the gates have weights for it.
 *   sums      [gates][units], rows `stride` floats apart; overwritten
 *   bias, peephole, normal   [units] of each gate in the form's order; NULL where there is none; every gate has a
 *             bias. With `normal` the units must be all that the layer has.
 *   c_out     may be the same address as c_in
 * units >= 1, any alignment. Reads and writes exactly these elements. The scalar row computes in double. */
typedef struct nnf_lstm_row {
    float *sums;
    size_t stride, units;
    const float *bias[4], *peephole[4], *normal[4], *c_in;
    float *c_out, *y;
} nnf_lstm_row;

#define NNF_LSTM_EPSILON 1e-8f /* added to the variance [NN 14.16] */

typedef void (*nnf_lstm_f32_rows_fn)(const nnf_lstm_form *form, const nnf_lstm_row *row);

#endif
