#include "lstm.h"

#include "lstm/lstm_activate_avx512.h"
#include "nnf/simd/f32_avx512.h"

static inline V logistic(V x)
{
    return nnf_logistic_avx512(x);
}

#include "lstm/lstm_rows_simd.h"

void nnf_lstm_f32_rows__avx512_16(const nnf_lstm_form *form, const nnf_lstm_row *row)
{
    lstm_row(form, row);
}
