/* The activation of cell gate and output in vectors. Include after nnf/simd/f64_<isa>.h. */
#ifndef NNF_LSTM_ACTIVATE_SIMD_H
#define NNF_LSTM_ACTIVATE_SIMD_H

#include "nnf/math_simd.h"

static inline V lstm_activate(int activation, V x)
{
    switch (activation) {
    case 1:
        return largest(zero(), x);
    case 2:
        return between(all(-1.0f), all(1.0f), x);
    case 3:
        return between(zero(), all(6.0f), x);
    case 4:
        return tangent(x);
    case 6:
        return logistic(x);
    default:
        return x;
    }
}

#endif
