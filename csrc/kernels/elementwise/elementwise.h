/* Element-wise arithmetic over n consecutive elements.
 * n >= 0, any alignment; reads and writes exactly n elements; y may be the same address as a or b. */
#ifndef NNF_ELEMENTWISE_H
#define NNF_ELEMENTWISE_H

#include <stddef.h>

/* y[i] = clamp(a[i] + b[i], lo, hi); a NaN stays a NaN. */
typedef void (*nnf_add_f32_flat_fn)(size_t n, const float *a, const float *b, float *y, float lo, float hi);

#endif
