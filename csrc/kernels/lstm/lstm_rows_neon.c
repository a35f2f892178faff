#include "lstm.h"

#include "nnf/simd/f64_neon.h"

#define KERNEL(op) op##__neon_4

#include "lstm/lstm_rows_simd.h"
