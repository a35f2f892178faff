/* The activation of cell gate and output on 8 floats. Include only from AVX2 files. */
#ifndef NNF_LSTM_ACTIVATE_AVX2_H
#define NNF_LSTM_ACTIVATE_AVX2_H

#include "nnf/math_avx2.h"

static inline __m256 lstm_activate(int activation, __m256 x)
{
    switch (activation) {
    case 1:
        return _mm256_max_ps(_mm256_setzero_ps(), x);
    case 3:
        return _mm256_min_ps(_mm256_set1_ps(6.0f), _mm256_max_ps(_mm256_setzero_ps(), x));
    case 4:
        return nnf_tanh_avx2(x);
    case 6:
        return nnf_logistic_avx2(x);
    default:
        return x;
    }
}

#endif
