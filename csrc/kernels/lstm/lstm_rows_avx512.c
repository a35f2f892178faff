#include "lstm.h"

#include "lstm/lstm_activate_avx512.h"

enum { LANES = 16 };

typedef __m512 V;
typedef __mmask16 M;

static inline M first_lanes(size_t count)
{
    return count < LANES ? (M)((1u << count) - 1) : (M)0xffff;
}

static inline V load(M live, const float *x)
{
    return _mm512_maskz_loadu_ps(live, x);
}

static inline void store(float *y, M live, V value)
{
    _mm512_mask_storeu_ps(y, live, value);
}

static inline V keep(M live, V value)
{
    return _mm512_maskz_mov_ps(live, value);
}

static inline V zero(void)
{
    return _mm512_setzero_ps();
}

static inline V all(float value)
{
    return _mm512_set1_ps(value);
}

static inline V add(V a, V b)
{
    return _mm512_add_ps(a, b);
}

static inline V sub(V a, V b)
{
    return _mm512_sub_ps(a, b);
}

static inline V mul(V a, V b)
{
    return _mm512_mul_ps(a, b);
}

static inline V fmadd(V a, V b, V c)
{
    return _mm512_fmadd_ps(a, b, c);
}

/* min/max return the second operand when either is NaN. */
static inline V clamp(V x, float limit)
{
    return _mm512_min_ps(all(limit), _mm512_max_ps(all(-limit), x));
}

static inline V inverse_root(float x)
{
    return _mm512_div_ps(all(1.0f), _mm512_sqrt_ps(all(x)));
}

static inline float total(V x)
{
    return _mm512_reduce_add_ps(x);
}

static inline V logistic(V x)
{
    return nnf_logistic_avx512(x);
}

#include "lstm/lstm_rows.h"

void nnf_lstm_f32_rows__avx512_16(const nnf_lstm_form *form, const nnf_lstm_row *row)
{
    lstm_row(form, row);
}
