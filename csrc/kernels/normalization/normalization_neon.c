#include "normalization.h"

#include "nnf/partial_neon.h"

enum { WIDE = 4 };

typedef struct {
    float64x2_t low, high;
} D;
typedef size_t L; /* how many lanes count */

static inline L lanes(size_t count)
{
    return count < WIDE ? count : WIDE;
}

static inline D widen(L live, const float *x)
{
    const float32x4_t value = nnf_load_f32_neon(x, live);
    return (D){vcvt_f64_f32(vget_low_f32(value)), vcvt_high_f64_f32(value)};
}

static inline void narrow(float *y, L live, D value)
{
    nnf_store_f32_neon(y, vcvt_high_f32_f64(vcvt_f32_f64(value.low), value.high), live);
}

static inline float64x2_t take_pair(size_t count, const double *x)
{
    const float64x1_t none = vdup_n_f64(0);
    return count >= 2 ? vld1q_f64(x) : vcombine_f64(count ? vld1_f64(x) : none, none);
}

static inline void put_pair(double *y, size_t count, float64x2_t value)
{
    if (count >= 2)
        vst1q_f64(y, value);
    else if (count)
        vst1q_lane_f64(y, value, 0);
}

static inline float64x2_t keep_pair(size_t count, float64x2_t value)
{
    return count >= 2 ? value : vcombine_f64(count ? vget_low_f64(value) : vdup_n_f64(0), vdup_n_f64(0));
}

static inline D take(L live, const double *x)
{
    return (D){take_pair(live, x), live > 2 ? take_pair(live - 2, x + 2) : vdupq_n_f64(0)};
}

static inline void put(double *y, L live, D value)
{
    put_pair(y, live, value.low);
    if (live > 2)
        put_pair(y + 2, live - 2, value.high);
}

static inline D keep(L live, D value)
{
    return (D){keep_pair(live, value.low), live > 2 ? keep_pair(live - 2, value.high) : vdupq_n_f64(0)};
}

static inline double total(D x)
{
    return vaddvq_f64(vaddq_f64(x.low, x.high));
}

static inline D all(double x)
{
    return (D){vdupq_n_f64(x), vdupq_n_f64(x)};
}

static inline D add(D a, D b)
{
    return (D){vaddq_f64(a.low, b.low), vaddq_f64(a.high, b.high)};
}

static inline D sub(D a, D b)
{
    return (D){vsubq_f64(a.low, b.low), vsubq_f64(a.high, b.high)};
}

static inline D mul(D a, D b)
{
    return (D){vmulq_f64(a.low, b.low), vmulq_f64(a.high, b.high)};
}

static inline D divide(D a, D b)
{
    return (D){vdivq_f64(a.low, b.low), vdivq_f64(a.high, b.high)};
}

/* a b + c */
static inline D fmadd(D a, D b, D c)
{
    return (D){vfmaq_f64(c.low, a.low, b.low), vfmaq_f64(c.high, a.high, b.high)};
}

static inline D root(D x)
{
    return (D){vsqrtq_f64(x.low), vsqrtq_f64(x.high)};
}

#include "normalization/normalization_simd.h"

void nnf_l2_norm_f32_rows__neon_4(size_t n, const float *x, float *y)
{
    l2_norm(n, x, y);
}

void nnf_lrn_f32_rows__neon_4(const nnf_lrn *p, size_t n, const float *x, float *y, double *sums)
{
    lrn(p, n, x, y, sums);
}

void nnf_instance_norm_f32_nhwc__neon_4(const nnf_instance_norm *p, size_t n, const float *x, float *y)
{
    instance_norm_nhwc(p, n, x, y);
}

void nnf_instance_norm_f32_nchw__neon_4(const nnf_instance_norm *p, size_t n, const float *x, float *y)
{
    (void)n;
    instance_norm_nchw(p, x, y);
}
