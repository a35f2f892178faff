#include "lstm.h"

#include "nnf/simd/f64_avx2.h"

#define KERNEL(op) op##__avx2_8

#include "lstm/lstm_rows_simd.h"
