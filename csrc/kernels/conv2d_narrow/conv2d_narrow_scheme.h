/* From 8 sums of codes to 8 codes: what each of them needs, row after row of as many columns as there are at once. */
#ifndef NNF_CONV2D_NARROW_SCHEME_H
#define NNF_CONV2D_NARROW_SCHEME_H

#include <stdint.h>

typedef struct scheme_of_8 {
    int32_t bias[8], multiplier[8], left[8], right[8];
    int32_t zero_point, lo, hi;
    uint8_t flip;
} scheme_of_8;

#endif
