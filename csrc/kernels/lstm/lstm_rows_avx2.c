#include "lstm.h"

#include "lstm/lstm_activate_avx2.h"
#include "nnf/simd/f32_avx2.h"

static inline V logistic(V x)
{
    return nnf_logistic_avx2(x);
}

#include "lstm/lstm_rows_simd.h"

void nnf_lstm_f32_rows__avx2_8(const nnf_lstm_form *form, const nnf_lstm_row *row)
{
    lstm_row(form, row);
}
