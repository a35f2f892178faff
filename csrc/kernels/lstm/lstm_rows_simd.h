/* A batch row of an LSTM in vectors. Include after nnf/simd/f64_<isa>.h and KERNEL. */
#ifndef NNF_LSTM_ROWS_SIMD_H
#define NNF_LSTM_ROWS_SIMD_H

#include "lstm/lstm.h"
#include "lstm/lstm_activate_simd.h"

/* Gate g before its activation, in place: the peephole's share of cell states c, layer norm, bias. */
static void finish_gate(const nnf_lstm_row *row, int g, const float *c)
{
    float *z = row->sums + (size_t)g * row->stride;
    const float *peephole = row->peephole[g], *normal = row->normal[g], *bias = row->bias[g];
    V mean = zero(), rest = zero(), scale = zero();
    if (normal) {
        V sum = zero();
        for (size_t u = 0; u < row->units; u += LANES) {
            const M live = first_lanes(row->units - u);
            V value = load(live, z + u);
            if (peephole)
                value = fmadd(load(live, peephole + u), load(live, c + u), value);
            store(z + u, live, value);
            sum = add(sum, value);
        }
        /* A mean far from 0 is rounded by more than what values close together differ by: the mean of what they are
         * off it is what was lost. */
        const float count = (float)row->units;
        mean = all(total(sum) / count);
        sum = zero();
        V squares = zero();
        for (size_t u = 0; u < row->units; u += LANES) {
            const M live = first_lanes(row->units - u);
            const V off = keep(live, sub(load(live, z + u), mean));
            sum = add(sum, off);
            squares = fmadd(off, off, squares);
        }
        const float lost = total(sum) / count, variance = total(squares) / count - lost * lost;
        rest = all(lost);
        scale = inverse_root((variance > 0 ? variance : 0) + NNF_LSTM_EPSILON);
        peephole = NULL;
    }
    for (size_t u = 0; u < row->units; u += LANES) {
        const M live = first_lanes(row->units - u);
        V value = load(live, z + u);
        if (peephole)
            value = fmadd(load(live, peephole + u), load(live, c + u), value);
        if (normal)
            value = mul(mul(sub(sub(value, mean), rest), scale), load(live, normal + u));
        store(z + u, live, add(value, load(live, bias + u)));
    }
}

void KERNEL(nnf_lstm_f32_rows)(const nnf_lstm_form *form, const nnf_lstm_row *row)
{
    const int forget = form->gates - 3, leave = forget + 2;
    const float *z[4];
    for (int g = 0; g < form->gates; g++)
        z[g] = row->sums + (size_t)g * row->stride;
    for (int g = 0; g < leave; g++)
        finish_gate(row, g, row->c_in);
    for (size_t u = 0; u < row->units; u += LANES) {
        const M live = first_lanes(row->units - u);
        const V keep = load(live, z[forget] + u), kept = logistic(keep);
        const V entered = logistic(forget ? load(live, z[0] + u) : sub(zero(), keep));
        V c = mul(entered, lstm_activate(form->activation, load(live, z[forget + 1] + u)));
        c = fmadd(kept, load(live, row->c_in + u), c);
        store(row->c_out + u, live, clamp(c, form->clip));
    }
    finish_gate(row, leave, row->c_out);
    for (size_t u = 0; u < row->units; u += LANES) {
        const M live = first_lanes(row->units - u);
        const V left = logistic(load(live, z[leave] + u));
        store(row->y + u, live, mul(left, lstm_activate(form->activation, load(live, row->c_out + u))));
    }
}

#endif
