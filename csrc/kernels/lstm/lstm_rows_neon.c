#include "lstm.h"

#include "lstm/lstm_activate_neon.h"
#include "nnf/simd/f32_neon.h"

static inline V logistic(V x)
{
    return nnf_logistic_neon(x);
}

#include "lstm/lstm_rows_simd.h"

void nnf_lstm_f32_rows__neon_4(const nnf_lstm_form *form, const nnf_lstm_row *row)
{
    lstm_row(form, row);
}
