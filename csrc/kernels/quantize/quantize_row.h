/* How a row of floats becomes codes at run time, from its lowest and highest value on; the same for all levels. */
#ifndef NNF_QUANTIZE_ROW_H
#define NNF_QUANTIZE_ROW_H

#include <stdint.h>

#include "nnf/fixedpoint.h"
#include "quantize/quantize.h"

#define NNF_ROW_FAR 512 /* steps beyond which every code is the lowest or highest, whatever the zero point */

typedef struct nnf_row_scale {
    float factor;     /* steps to a value of 1 */
    int32_t zero, lo; /* signed zero point and lowest code; the highest is 127 */
} nnf_row_scale;

static inline int32_t nnf_row_zero(double lowest, double highest, double step)
{
    const double low = lowest / step, high = highest / step;
    /* An array, as a jump would be guessed wrong for every second row. */
    const double from[2] = {127 - high, -128 - low};
    double zero = from[128 - low < 127 + high];
    zero = zero > -128 ? zero < 127 ? zero : 127 : -128;
    const int32_t whole = (int32_t)zero;
    return whole + (zero - whole >= 0.5) - (zero - whole <= -0.5);
}

/* lowest <= 0 <= highest; fills in `row`. */
static inline nnf_row_scale nnf_row_scale_of(float lowest, float highest, int is_asymmetric, nnf_row_codes *row)
{
    nnf_row_scale made = {1, 0, is_asymmetric ? -128 : -127};
    row->step = 1;
    if (is_asymmetric && lowest != highest) {
        row->step = (highest - lowest) / 255.0f;
        made.zero = nnf_row_zero(lowest, highest, row->step);
        made.factor = 1.0f / row->step;
    } else if (lowest != highest) {
        const float range = -lowest > highest ? -lowest : highest;
        row->step = range / 127.0f;
        made.factor = 127.0f / range;
    }
    row->zero = made.zero + 128;
    return made;
}

/* Half away from zero; a NaN gives the lowest code. */
static inline uint8_t nnf_row_code(float x, const nnf_row_scale *scale)
{
    float steps = x * scale->factor;
    steps = steps > -NNF_ROW_FAR ? steps : -NNF_ROW_FAR;
    steps = steps < NNF_ROW_FAR ? steps : NNF_ROW_FAR;
    const int32_t whole = (int32_t)steps;
    const float rest = steps - (float)whole;
    const int32_t rounded = whole + (rest >= 0.5f) - (rest <= -0.5f);
    return (uint8_t)(nnf_clamp_s32(rounded + scale->zero, scale->lo, 127) + 128);
}

#endif
