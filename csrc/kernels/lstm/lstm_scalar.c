#include "lstm.h"

#include <math.h>
#include <stdbool.h>

#include "nnf/half.h"
#include "nnf/math_scalar.h"

static double activate(int activation, double x)
{
    switch (activation) {
    case 1:
        return x < 0 ? 0 : x;
    case 2:
        return x < -1 ? -1 : x > 1 ? 1 : x;
    case 3:
        return x < 0 ? 0 : x > 6 ? 6 : x;
    case 4:
        return nnf_tanh(x);
    case 6:
        return nnf_logistic(x);
    default:
        return x;
    }
}

static double weight(bool half, const void *w, size_t at)
{
    return half ? nnf_half_to_float(((const uint16_t *)w)[at]) : ((const float *)w)[at];
}

static void cell(bool half, const nnf_lstm_form *form, const nnf_lstm_tile *tile)
{
    const int gates = form->gates, has_input = gates == 4, forget = has_input, row = gates * NNF_LSTM_N;
    const float *peephole = tile->packed + row;
    const float *w = peephole + (form->peephole ? row - NNF_LSTM_N : 0);
    for (size_t u = 0; u < tile->units; u++) {
        double sum[4] = {0};
        for (int g = 0; g < gates; g++) {
            const size_t j = (size_t)g * NNF_LSTM_N + u;
            sum[g] = tile->start ? tile->start[j] : tile->packed[j];
            for (size_t k = 0; k < tile->k_x; k++)
                sum[g] += tile->x[k] * weight(half, w, k * (size_t)row + j);
            for (size_t k = 0; k < tile->k_h; k++)
                sum[g] += tile->h[k] * weight(half, w, (tile->k_x + k) * (size_t)row + j);
        }
        double c = tile->c_in[u];
        if (form->peephole) {
            if (has_input)
                sum[0] += c * peephole[u];
            sum[forget] += c * peephole[forget * NNF_LSTM_N + u];
        }
        const double kept = nnf_logistic(sum[forget]), entered = has_input ? nnf_logistic(sum[0]) : 1 - kept;
        c = kept * c + entered * activate(form->activation, sum[forget + 1]);
        c = c < -(double)form->clip ? -(double)form->clip : c > (double)form->clip ? (double)form->clip : c;
        if (form->peephole)
            sum[forget + 2] += c * peephole[(forget + 1) * NNF_LSTM_N + u];
        tile->c_out[u] = (float)c;
        tile->y[u] = (float)(nnf_logistic(sum[forget + 2]) * activate(form->activation, c));
    }
}

void nnf_lstm_f32_tile__scalar(const nnf_lstm_form *form, const nnf_lstm_tile *tile)
{
    cell(false, form, tile);
}

void nnf_lstm_f16_tile__scalar(const nnf_lstm_form *form, const nnf_lstm_tile *tile)
{
    cell(true, form, tile);
}

/* A gate before its activation: unit u of gate g. */
static double gate(const nnf_lstm_row *row, int g, const float *c, size_t u)
{
    const double sum = row->sums[(size_t)g * row->stride + u];
    return row->peephole[g] ? sum + (double)row->peephole[g][u] * c[u] : sum;
}

typedef struct moments {
    double mean, deviation;
} moments;

static moments moments_of(const nnf_lstm_row *row, int g, const float *c)
{
    moments m = {0, 0};
    for (size_t u = 0; row->normal[g] && u < row->units; u++)
        m.mean += gate(row, g, c, u) / (double)row->units;
    for (size_t u = 0; row->normal[g] && u < row->units; u++) {
        const double off = gate(row, g, c, u) - m.mean;
        m.deviation += off * off / (double)row->units;
    }
    m.deviation = sqrt(m.deviation + (double)NNF_LSTM_EPSILON);
    return m;
}

static double finished(const nnf_lstm_row *row, int g, const float *c, size_t u, const moments *m)
{
    const double value = gate(row, g, c, u);
    return (row->normal[g] ? (value - m->mean) / m->deviation * row->normal[g][u] : value) + row->bias[g][u];
}

void nnf_lstm_f32_rows__scalar(const nnf_lstm_form *form, const nnf_lstm_row *row)
{
    const int has_input = form->gates == 4, forget = has_input, leave = forget + 2;
    moments m[4];
    for (int g = 0; g < leave; g++)
        m[g] = moments_of(row, g, row->c_in);
    for (size_t u = 0; u < row->units; u++) {
        const double kept = nnf_logistic(finished(row, forget, row->c_in, u, &m[forget]));
        const double entered = has_input ? nnf_logistic(finished(row, 0, row->c_in, u, &m[0])) : 1 - kept;
        double c = kept * row->c_in[u] +
                   entered * activate(form->activation, finished(row, forget + 1, row->c_in, u, &m[forget + 1]));
        c = c < -(double)form->clip ? -(double)form->clip : c > (double)form->clip ? (double)form->clip : c;
        row->c_out[u] = (float)c;
    }
    m[leave] = moments_of(row, leave, row->c_out);
    for (size_t u = 0; u < row->units; u++)
        row->y[u] = (float)(nnf_logistic(finished(row, leave, row->c_out, u, &m[leave])) *
                            activate(form->activation, row->c_out[u]));
}
