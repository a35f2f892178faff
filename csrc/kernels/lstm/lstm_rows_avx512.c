#include "lstm.h"

#include "nnf/simd/f64_avx512.h"

#define KERNEL(op) op##__avx512_16

#include "lstm/lstm_rows_simd.h"
