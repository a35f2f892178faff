#include "lstm.h"

#include "lstm/lstm_activate_neon.h"
#include "nnf/simd/f32_neon.h"

static inline V logistic(V x)
{
    return nnf_logistic_neon(x);
}

#define KERNEL(op) op##__neon_4

#include "lstm/lstm_rows_simd.h"
