#include "lstm.h"

#include "lstm/lstm_activate_avx2.h"
#include "nnf/simd/f32_avx2.h"

static inline V logistic(V x)
{
    return nnf_logistic_avx2(x);
}

#define KERNEL(op) op##__avx2_8

#include "lstm/lstm_rows_simd.h"
