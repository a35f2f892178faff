/* Names that all levels share: codes as doubles; include only from NEON files. */
#ifndef NNF_SIMD_CODES_F64_NEON_H
#define NNF_SIMD_CODES_F64_NEON_H

#include "nnf/simd/codes_neon.h"
#include "nnf/simd/f64_neon.h"

enum { CODE_DOUBLES = CODES / WIDE };

/* Vector `part` of CODE_DOUBLES. */
static inline D codes_double(C x, int part)
{
    const int32x4_t four = part ? x.high : x.low;
    return (D){vcvtq_f64_s64(vmovl_s32(vget_low_s32(four))), vcvtq_f64_s64(vmovl_high_s32(four))};
}

/* Doubles below 2^31 to the nearest whole number, ties away from zero. */
static inline int32x4_t codes_nearest_four(D x)
{
    return vmovn_high_s64(vmovn_s64(vcvtaq_s64_f64(x.low)), vcvtaq_s64_f64(x.high));
}

static inline C codes_nearest_double(const D *x) { return (C){codes_nearest_four(x[0]), codes_nearest_four(x[1])}; }

static inline int32x4_t codes_whole_four(D x)
{
    return vmovn_high_s64(vmovn_s64(vcvtq_s64_f64(x.low)), vcvtq_s64_f64(x.high));
}

/* Their whole parts. */
static inline C codes_whole_double(const D *x) { return (C){codes_whole_four(x[0]), codes_whole_four(x[1])}; }

#endif
