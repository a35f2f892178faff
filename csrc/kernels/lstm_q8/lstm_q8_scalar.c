#include "lstm_q8.h"

#include "lstm_q8/lstm_q8_normal.h"
#include "nnf/fixedpoint.h"
#include "nnf/word16.h"

enum { GATE_BITS = NNF_GATE_BITS };

static int64_t scaled(int32_t x, nnf_fixed a)
{
    return nnf_mbqm(x, a.multiplier, a.exponent);
}

void nnf_lstm_gate_qs16_flat__scalar(size_t n, const int32_t *x, nnf_fixed a, const int32_t *h, nnf_fixed b, int16_t *y)
{
    for (size_t i = 0; i < n; i++) {
        const int word = nnf_clamp16(scaled(x[i], a));
        y[i] = (int16_t)(h ? nnf_clamp16(scaled(h[i], b) + word) : word);
    }
}

void nnf_lstm_peephole_qs16_flat__scalar(size_t n, const int16_t *w, const int16_t *cell, nnf_fixed a, int16_t *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = (int16_t)nnf_clamp16(scaled(w[i] * cell[i], a) + y[i]);
}

/* -- layer norm ---------------------------------------------------------------------------------------------------- */
void nnf_lstm_norm_qs16_rows__scalar(size_t n, const int16_t *w, const int32_t *bias, nnf_fixed a, int16_t *y)
{
    const int32_t half = 1 << (NNF_NORMAL_BITS - 1);
    int64_t sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        sum += y[i];
        squares += y[i] * y[i];
    }
    const nnf_normal normal = nnf_normal_of(n, sum, squares, a);
    for (size_t i = 0; i < n; i++) {
        const int64_t value = scaled(y[i] * (1 << NNF_NORMAL_BITS) - normal.mean, normal.root);
        const int32_t word = (int32_t)(uint32_t)(value * w[i] + bias[i]);
        const int64_t rounded = ((int64_t)word + (word > 0 ? half : -half)) / (1 << NNF_NORMAL_BITS);
        y[i] = (int16_t)nnf_clamp16(scaled((int32_t)rounded, normal.last));
    }
}

/* -- cells ---------------------------------------------------------------------------------------------------------- */
void nnf_lstm_update_qs16_flat__scalar(size_t n, const nnf_lstm_update *u)
{
    for (size_t i = 0; i < n; i++) {
        const int forget = nnf_logistic16(u->forget[i], GATE_BITS), candidate = nnf_tanh16(u->candidate[i], GATE_BITS);
        const int enter = u->enter ? nnf_logistic16(u->enter[i], GATE_BITS) : INT16_MAX - forget;
        const int cell = nnf_clamp16(nnf_shrink(forget * u->c_in[i], 15) + nnf_shrink(enter * candidate, 30 + u->k));
        u->c_out[i] = (int16_t)(cell < u->lo ? u->lo : cell > u->hi ? u->hi : cell);
    }
}

void nnf_lstm_hidden_qs16_flat__scalar(size_t n, const int16_t *leave, const int16_t *c, int k, nnf_fixed a,
                                       int zero_point, int8_t *y)
{
    for (size_t i = 0; i < n; i++) {
        const int64_t code = scaled(nnf_logistic16(leave[i], GATE_BITS) * nnf_tanh16(c[i], k + 15), a) - zero_point;
        y[i] = (int8_t)(code < -128 ? -128 : code > 127 ? 127 : code);
    }
}

void nnf_lstm_cell_qs16_flat__scalar(size_t n, const nnf_lstm_cell16 *c)
{
    for (size_t i = 0; i < n; i++) {
        const int candidate = nnf_tanh16(c->candidate[i], GATE_BITS);
        const int entered = nnf_shrink(nnf_mul16(nnf_logistic16(c->enter[i], GATE_BITS), candidate), 4);
        const int kept = nnf_mul16(nnf_logistic16(c->forget[i], GATE_BITS), c->c_in[i]), cell = nnf_clamp16(entered + kept);
        const int squashed = nnf_tanh16(nnf_grow16(cell, 1), GATE_BITS);
        const int code = nnf_shrink(nnf_mul16(nnf_logistic16(c->leave[i], GATE_BITS), squashed), 8);
        c->c_out[i] = (int16_t)cell;
        c->y[i] = (uint8_t)(128 + (code < -128 ? -128 : code > 127 ? 127 : code));
    }
}
