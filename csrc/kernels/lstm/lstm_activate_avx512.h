/* The activation of cell gate and output on 16 floats. Include only from AVX-512 files. */
#ifndef NNF_LSTM_ACTIVATE_AVX512_H
#define NNF_LSTM_ACTIVATE_AVX512_H

#include "nnf/math_avx512.h"

static inline __m512 lstm_activate(int activation, __m512 x)
{
    switch (activation) {
    case 1:
        return _mm512_max_ps(_mm512_setzero_ps(), x);
    case 3:
        return _mm512_min_ps(_mm512_set1_ps(6.0f), _mm512_max_ps(_mm512_setzero_ps(), x));
    case 4:
        return nnf_tanh_avx512(x);
    case 6:
        return nnf_logistic_avx512(x);
    default:
        return x;
    }
}

#endif
