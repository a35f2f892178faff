#include "conv2d_narrow.h"

#include "conv2d_narrow_q8_neon.h"

#define KERNEL_Q8(op) op##__neondot_16

enum { CODES = 16, IS_SIGNED = 1 };

static inline S dot(S sum, X x, W w) { return vdotq_s32(sum, x, w); }

#include "conv2d_narrow/conv2d_narrow_q8_simd.h"
