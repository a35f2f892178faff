/* 4 floats under short names, so that a kernel's body can be written once for all widths: V is a vector, M says which
 * of its lanes count. Loads give zeros in the others. Include only from NEON files. */
#ifndef NNF_SIMD_F32_NEON_H
#define NNF_SIMD_F32_NEON_H

#include "nnf/partial_neon.h"

enum { LANES = 4 };

typedef float32x4_t V;
typedef struct {
    size_t from, to; /* lanes from..to-1 */
} M;

static inline M first_lanes(size_t count) { return (M){0, count < LANES ? count : LANES}; }
static inline M lanes_from(size_t first, M live) { return (M){first, live.to}; }
/* Of first lanes only. */
static inline V load(M live, const float *x) { return nnf_load_f32_neon(x, live.to); }

static inline void store(float *y, M live, V value)
{
    if (live.from == 0) {
        nnf_store_f32_neon(y, value, live.to);
        return;
    }
    float lanes[LANES];
    vst1q_f32(lanes, value);
    for (size_t lane = live.from; lane < live.to; lane++)
        y[lane] = lanes[lane];
}

/* All ones where a lane of `live` is. */
static inline uint32x4_t lane_mask(M live)
{
    static const uint32_t number[LANES] = {0, 1, 2, 3};
    const uint32x4_t lane = vld1q_u32(number);
    return vandq_u32(vcgeq_u32(lane, vdupq_n_u32((uint32_t)live.from)),
                     vcltq_u32(lane, vdupq_n_u32((uint32_t)live.to)));
}

static inline V load_whole(const float *x) { return vld1q_f32(x); }
static inline void store_whole(float *y, V value) { vst1q_f32(y, value); }

static inline V keep(M live, V value)
{
    return vreinterpretq_f32_u32(vandq_u32(lane_mask(live), vreinterpretq_u32_f32(value)));
}

static inline V put(V x, size_t lane, float value)
{
    return vbslq_f32(lane_mask((M){lane, lane + 1}), vdupq_n_f32(value), x);
}

static inline V zero(void) { return vdupq_n_f32(0); }
static inline V all(float value) { return vdupq_n_f32(value); }
static inline V add(V a, V b) { return vaddq_f32(a, b); }
static inline V sub(V a, V b) { return vsubq_f32(a, b); }
static inline V mul(V a, V b) { return vmulq_f32(a, b); }
static inline V fmadd(V a, V b, V c) { return vfmaq_f32(c, a, b); }
/* c - a b */
static inline V fnmadd(V a, V b, V c) { return vfmsq_f32(c, a, b); }
/* A NaN stays. */
static inline V between(V lo, V hi, V x) { return vminq_f32(hi, vmaxq_f32(lo, x)); }
static inline int has_nan(V x) { return vminvq_u32(vceqq_f32(x, x)) == 0; }
static inline V clamp(V x, float limit) { return between(all(-limit), all(limit), x); }
static inline V inverse_root(float x) { return vdivq_f32(all(1.0f), vsqrtq_f32(all(x))); }
static inline float total(V x) { return vaddvq_f32(x); }

/* Of 8 vectors: the sum of the lanes of each. */
static inline void totals_of_8(const V x[8], float y[8])
{
    vst1q_f32(y, vpaddq_f32(vpaddq_f32(x[0], x[1]), vpaddq_f32(x[2], x[3])));
    vst1q_f32(y + 4, vpaddq_f32(vpaddq_f32(x[4], x[5]), vpaddq_f32(x[6], x[7])));
}

static inline V bits_and(V a, V b)
{
    return vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(a), vreinterpretq_u32_f32(b)));
}

static inline V bits_or(V a, V b)
{
    return vreinterpretq_f32_u32(vorrq_u32(vreinterpretq_u32_f32(a), vreinterpretq_u32_f32(b)));
}

static inline V divide(V a, V b) { return vdivq_f32(a, b); }
static inline V root(V x) { return vsqrtq_f32(x); }
/* 1 / sqrt(x) */
static inline V inverse_roots(V x) { return vdivq_f32(all(1.0f), vsqrtq_f32(x)); }
static inline V floor_of(V x) { return vrndmq_f32(x); }
/* To the nearest whole number, ties to the even one. */
static inline V nearest(V x) { return vrndnq_f32(x); }
/* The product to the nearest whole number. */
static inline V nearest_product(V a, V b) { return nearest(mul(a, b)); }

/* x 2^n, n a whole number down to -150. In two factors, so that results below 2^-126 become subnormal, not wrong. */
static inline V times_power(V x, V n)
{
    const int32x4_t bias = vdupq_n_s32(127), whole = vcvtq_s32_f32(n), half = vshrq_n_s32(whole, 1);
    const V first = vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(half, bias), 23));
    const int32x4_t more = vaddq_s32(vsubq_s32(whole, half), bias);
    return mul(mul(x, first), vreinterpretq_f32_s32(vshlq_n_s32(more, 23)));
}

/* The same of a result from 2^-126 on. */
static inline V times_normal_power(V x, V n)
{
    return vreinterpretq_f32_s32(vaddq_s32(vreinterpretq_s32_f32(x), vshlq_n_s32(vcvtq_s32_f32(n), 23)));
}

/* m of a normal x = m 2^power > 0 with 2/3 <= m < 4/3. */
static inline V split_power(V x, V *power)
{
    const int32x4_t base = vreinterpretq_s32_f32(all(0x1.555556p-1f));
    const int32x4_t from = vsubq_s32(vreinterpretq_s32_f32(x), base);
    *power = vcvtq_f32_s32(vshrq_n_s32(from, 23));
    return vreinterpretq_f32_s32(vaddq_s32(vandq_s32(from, vdupq_n_s32(0x7fffff)), base));
}

static inline V size_of(V x) { return vabsq_f32(x); }
/* Whether all_above costs less than what a shorter way behind it saves. */
enum { CHEAP_ALL_ABOVE = 0 };
/* Whether a > b in each lane. */
static inline int all_above(V a, V b) { return vminvq_u32(vcgtq_f32(a, b)) != 0; }
static inline V negative(V x) { return vnegq_f32(x); }
/* A NaN of x stays, as in between. */
static inline V at_most(V hi, V x) { return vminq_f32(hi, x); }
/* a > b ? a : b and a < b ? a : b, so that a NaN on either side gives b. */
static inline V larger(V a, V b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }
static inline V smaller(V a, V b) { return vbslq_f32(vcltq_f32(a, b), a, b); }
/* The largest lane. */
static inline float most_of(V x) { return vmaxvq_f32(x); }
/* The lanes that count of `yes`, the others of `no`. */
static inline V choose(M live, V yes, V no) { return vbslq_f32(lane_mask(live), yes, no); }
/* Of each lane yes where a > b, else no. */
static inline V where_above(V a, V b, V yes, V no) { return vbslq_f32(vcgtq_f32(a, b), yes, no); }
/* Of each lane 0 where a > b, else x. */
static inline V zero_above(V a, V b, V x)
{
    return vreinterpretq_f32_u32(vbicq_u32(vreinterpretq_u32_f32(x), vcgtq_f32(a, b)));
}

/* Of each lane the value at a place below 2 LANES in two vectors, one behind the other. */
static inline V pick_of_two(const V x[2], const uint32_t *places)
{
    const uint8x16x2_t both = {{vreinterpretq_u8_f32(x[0]), vreinterpretq_u8_f32(x[1])}};
    const uint32x4_t bytes = vmlaq_n_u32(vdupq_n_u32(0x03020100), vld1q_u32(places), 0x04040404);
    return vreinterpretq_f32_u8(vqtbl2q_u8(both, vreinterpretq_u8_u32(bytes)));
}

/* A maximum that keeps NaNs, as the instruction does; N, which other levels tell where a NaN has been, is empty. */
typedef struct {
    char none;
} N;

static inline V largest(V a, V b) { return vmaxq_f32(a, b); }
static inline N nan_none(void) { return (N){0}; }

static inline N nan_join(N n, V a, V b)
{
    (void)a;
    (void)b;
    return n;
}

static inline V nan_put(N n, V x)
{
    (void)n;
    return x;
}

/* x >= 0 ? yes : no */
static inline V unless_below(V x, V yes, V no) { return vbslq_f32(vcgezq_f32(x), yes, no); }

#endif
