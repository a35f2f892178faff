#include "lstm.h"

#include "lstm/lstm_activate_avx512.h"
#include "nnf/simd/f32_avx512.h"

static inline V logistic(V x)
{
    return nnf_logistic_avx512(x);
}

#define KERNEL(op) op##__avx512_16

#include "lstm/lstm_rows_simd.h"
