/* The activation of cell gate and output on 4 floats. Include only from NEON files. */
#ifndef NNF_LSTM_ACTIVATE_NEON_H
#define NNF_LSTM_ACTIVATE_NEON_H

#include "nnf/math_neon.h"

static inline float32x4_t lstm_activate(int activation, float32x4_t x)
{
    switch (activation) {
    case 1:
        return vmaxq_f32(vdupq_n_f32(0.0f), x);
    case 3:
        return vminq_f32(vdupq_n_f32(6.0f), vmaxq_f32(vdupq_n_f32(0.0f), x));
    case 4:
        return nnf_tanh_neon(x);
    case 6:
        return nnf_logistic_neon(x);
    default:
        return x;
    }
}

#endif
