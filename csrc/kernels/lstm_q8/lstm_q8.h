/* Gates and cells of the quantized LSTMs: 16-bit words between 8-bit data [NN 14.95, 15.73].
 *
 * Everything is bit for bit. Words of gates before their activation are F3. Reads and writes exactly n elements;
 * n >= 0; any alignment; outputs overlap inputs only where it says so. */
#ifndef NNF_LSTM_Q8_H
#define NNF_LSTM_Q8_H

#include <stddef.h>
#include <stdint.h>

/* Multiplier in 2^30..2^31-1, or 0, and exponent -31..31 [NN 13.4]. */
typedef struct nnf_fixed {
    int32_t multiplier, exponent;
} nnf_fixed;

/* y = clamp16(x * a), and with h further clamp16(h * b + y). h: NULL for none. */
typedef void (*nnf_lstm_gate_qs16_flat_fn)(size_t n, const int32_t *x, nnf_fixed a, const int32_t *h, nnf_fixed b,
                                           int16_t *y);

/* y = clamp16(w * cell * a + y). */
typedef void (*nnf_lstm_peephole_qs16_flat_fn)(size_t n, const int16_t *w, const int16_t *cell, nnf_fixed a,
                                               int16_t *y);

/* y becomes its layer norm by weights w and bias over the row; n >= 1, a: of the normalised words. */
typedef void (*nnf_lstm_norm_qs16_rows_fn)(size_t n, const int16_t *w, const int32_t *bias, nnf_fixed a, int16_t *y);

/* Cell state, of scale 2^k with -15 <= k <= -9, from gate words; enter: NULL for 1 - forget gate. Clamped to lo..hi.
 * c_out may be c_in. */
typedef struct nnf_lstm_update {
    const int16_t *enter, *forget, *candidate, *c_in;
    int16_t *c_out;
    int k, lo, hi;
} nnf_lstm_update;

typedef void (*nnf_lstm_update_qs16_flat_fn)(size_t n, const nnf_lstm_update *u);

/* y = clamp8(logistic(leave) * tanh(c) * a - zero_point); c of scale 2^k. */
typedef void (*nnf_lstm_hidden_qs16_flat_fn)(size_t n, const int16_t *leave, const int16_t *c, int k, nnf_fixed a,
                                             int zero_point, int8_t *y);

/* The whole cell of QUANTIZED_16BIT_LSTM: state F4, y of scale 2^-7 around 128. c_out may be c_in. */
typedef struct nnf_lstm_cell16 {
    const int16_t *enter, *forget, *candidate, *leave, *c_in;
    int16_t *c_out;
    uint8_t *y;
} nnf_lstm_cell16;

typedef void (*nnf_lstm_cell_qs16_flat_fn)(size_t n, const nnf_lstm_cell16 *c);

#endif
