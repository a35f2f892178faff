/* Names that all levels share: 4 doubles, and floats as PARTS vectors of them; include only from NEON files. */
#ifndef NNF_SIMD_F64_NEON_H
#define NNF_SIMD_F64_NEON_H

#include "nnf/simd/f32_neon.h"

enum { WIDE = 4, PARTS = 1 };

typedef struct {
    float64x2_t low, high;
} D;

static inline D f64_all(double value) { return (D){vdupq_n_f64(value), vdupq_n_f64(value)}; }
static inline D f64_add(D a, D b) { return (D){vaddq_f64(a.low, b.low), vaddq_f64(a.high, b.high)}; }
static inline D f64_sub(D a, D b) { return (D){vsubq_f64(a.low, b.low), vsubq_f64(a.high, b.high)}; }
static inline D f64_mul(D a, D b) { return (D){vmulq_f64(a.low, b.low), vmulq_f64(a.high, b.high)}; }
static inline D f64_divide(D a, D b) { return (D){vdivq_f64(a.low, b.low), vdivq_f64(a.high, b.high)}; }

static inline D f64_fmadd(D a, D b, D c)
{
    return (D){vfmaq_f64(c.low, a.low, b.low), vfmaq_f64(c.high, a.high, b.high)};
}

static inline D f64_root(D x) { return (D){vsqrtq_f64(x.low), vsqrtq_f64(x.high)}; }

/* a > b ? a : b and a < b ? a : b, so that a NaN on either side gives b. */
static inline D f64_larger(D a, D b)
{
    return (D){vbslq_f64(vcgtq_f64(a.low, b.low), a.low, b.low), vbslq_f64(vcgtq_f64(a.high, b.high), a.high, b.high)};
}

static inline D f64_smaller(D a, D b)
{
    return (D){vbslq_f64(vcltq_f64(a.low, b.low), a.low, b.low), vbslq_f64(vcltq_f64(a.high, b.high), a.high, b.high)};
}

static inline D f64_floor(D x) { return (D){vrndmq_f64(x.low), vrndmq_f64(x.high)}; }
/* The size of `size` with the sign of `sign`. */
static inline D f64_signed(D size, D sign)
{
    const uint64x2_t bit = vdupq_n_u64(UINT64_C(1) << 63);
    return (D){vbslq_f64(bit, sign.low, size.low), vbslq_f64(bit, sign.high, size.high)};
}

/* Of each lane yes where a < b, else no. */
static inline D f64_where_below(D a, D b, D yes, D no)
{
    return (D){vbslq_f64(vcltq_f64(a.low, b.low), yes.low, no.low),
               vbslq_f64(vcltq_f64(a.high, b.high), yes.high, no.high)};
}

static inline D f64_load_whole(const double *x) { return (D){vld1q_f64(x), vld1q_f64(x + 2)}; }

static inline void f64_store_whole(double *y, D value)
{
    vst1q_f64(y, value.low);
    vst1q_f64(y + 2, value.high);
}

static inline float64x2_t f64_pair(size_t count, const double *x)
{
    const float64x1_t none = vdup_n_f64(0);
    return count >= 2 ? vld1q_f64(x) : vcombine_f64(count ? vld1_f64(x) : none, none);
}

/* The first `count`, and zeros behind them. */
static inline D f64_load(size_t count, const double *x)
{
    return (D){f64_pair(count, x), count > 2 ? f64_pair(count - 2, x + 2) : vdupq_n_f64(0)};
}

static inline void f64_store(double *y, size_t count, D value)
{
    double lanes[WIDE];
    f64_store_whole(lanes, value);
    if (count >= WIDE)
        f64_store_whole(y, value);
    for (size_t lane = 0; count < WIDE && lane < count; lane++)
        y[lane] = lanes[lane];
}

static inline D f64_part(V x, int part)
{
    (void)part; /* there is one */
    return (D){vcvt_f64_f32(vget_low_f32(x)), vcvt_high_f64_f32(x)};
}

/* Integers of 32 bits, and back, cut off. */
static inline D f64_integers(int32x4_t x, int part)
{
    (void)part; /* there is one */
    return (D){vcvtq_f64_s64(vmovl_s32(vget_low_s32(x))), vcvtq_f64_s64(vmovl_high_s32(x))};
}

static inline int32x4_t f64_cut(const D *parts)
{
    return vmovn_high_s64(vmovn_s64(vcvtq_s64_f64(parts->low)), vcvtq_s64_f64(parts->high));
}

static inline V f64_floats(const D *parts) { return vcvt_high_f32_f64(vcvt_f32_f64(parts->low), parts->high); }
/* The first `count` floats, and zeros behind them. */
static inline D f64_widen(size_t count, const float *x) { return f64_part(nnf_load_f32_neon(x, count), 0); }
static inline void f64_narrow(float *y, size_t count, D value) { nnf_store_f32_neon(y, f64_floats(&value), count); }

/* Zeros behind the first `count`. */
static inline D f64_keep(size_t count, D value)
{
    double lanes[WIDE];
    f64_store_whole(lanes, value);
    return f64_load(count, lanes);
}

static inline double f64_total(D x) { return vaddvq_f64(vaddq_f64(x.low, x.high)); }

#endif
