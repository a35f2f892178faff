/* The baseline of the platform: 128-bit vectors, multiply and add apart. */
#include "peak/peak_loop.h"

typedef float f32x4 __attribute__((vector_size(16)));
typedef int64_t s64x2 __attribute__((vector_size(16)));

#if defined(__x86_64__)
#define REGISTER "x"
#elif defined(__aarch64__)
#define REGISTER "w"
#else
#define REGISTER "m"
#endif

void nnf_peak_f32__scalar(size_t rounds)
{
    f32x4 x = {0.999f, 0.999f, 0.999f, 0.999f};
    const f32x4 y = {1e-3f, 1e-3f, 1e-3f, 1e-3f};
#define STEP(a) ((a) * x + y)
    NNF_PEAK_LOOP(REGISTER, f32x4, y, x, STEP);
#undef STEP
}

void nnf_peak_read__scalar(const void *p, size_t bytes, size_t rounds)
{
#define LOAD(q) (*(const s64x2 *)(const void *)(q))
    NNF_PEAK_READ_LOOP(REGISTER, s64x2, 16, LOAD);
#undef LOAD
}
