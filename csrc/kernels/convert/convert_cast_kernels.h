/* Casts between types of numbers. Include after KERNEL and NNF_INDEPENDENT (nnf/independent.h). */
#ifndef NNF_CONVERT_CAST_KERNELS_H
#define NNF_CONVERT_CAST_KERNELS_H

#include "convert/convert.h"
#include "nnf/unroll.h"

/* Casts of one integer; `wide` holds it and all numbers of the targets that are clamped to. */
#define INTEGER(name, type, wide)                                                                                      \
    INLINE wide between_##name(wide lo, wide hi, wide x) { return x < lo ? lo : x > hi ? hi : x; }                     \
    INLINE uint8_t to_qu8_##name(type x) { return (uint8_t)x; }                                                        \
    INLINE int8_t to_s8_##name(type x) { return (int8_t)x; }                                                           \
    INLINE int16_t to_s16_##name(type x) { return (int16_t)x; }                                                        \
    INLINE int32_t to_s32_##name(type x) { return (int32_t)x; }                                                        \
    INLINE int64_t to_s64_##name(type x) { return x; }                                                                 \
    INLINE float to_f32_##name(type x) { return (float)x; }                                                            \
    INLINE uint8_t clamp_qu8_##name(type x) { return (uint8_t)between_##name(0, UINT8_MAX, x); }                       \
    INLINE int32_t clamp_s32_##name(type x) { return (int32_t)between_##name(INT32_MIN, INT32_MAX, x); }

INTEGER(qu8, uint8_t, int32_t)
INTEGER(s8, int8_t, int32_t)
INTEGER(s16, int16_t, int32_t)
INTEGER(s32, int32_t, int32_t)
INTEGER(s64, int64_t, int64_t)

#undef INTEGER

INLINE int64_t to_s64_f32(float x) { return x < 0x1p63f ? (int64_t)(x > -0x1p63f ? x : -0x1p63f) : INT64_MAX; }

/* The same for int32, without a branch, of which gcc makes more vectors than it needs. */
INLINE int32_t to_s32_f32(float x)
{
    const float raised = x > -0x1p31f ? x : -0x1p31f;
    const int32_t whole = (int32_t)(raised < 0x1p31f ? raised : 0), below = -(int32_t)(x < 0x1p31f);
    return (whole & below) | (INT32_MAX & ~below);
}

INLINE int32_t clamp_s32_f32(float x) { return to_s32_f32(x) & -(int32_t)(x == x); }
INLINE uint8_t to_qu8_f32(float x) { return clamp_qu8_s32(to_s32_f32(x)); }
INLINE int8_t to_s8_f32(float x) { return (int8_t)between_s32(INT8_MIN, INT8_MAX, to_s32_f32(x)); }
INLINE int16_t to_s16_f32(float x) { return (int16_t)between_s32(INT16_MIN, INT16_MAX, to_s32_f32(x)); }
INLINE uint8_t clamp_qu8_f32(float x) { return clamp_qu8_s32(clamp_s32_f32(x)); }
INLINE float to_f32_f32(float x) { return x; }

#define LOOP(from, to, value)                                                                                          \
    do {                                                                                                               \
        const from *numbers = x;                                                                                       \
        to *result = y;                                                                                                \
        NNF_INDEPENDENT                                                                                                \
        for (size_t i = 0; i < n; i++)                                                                                 \
            result[i] = value(numbers[i]);                                                                             \
    } while (0)

#define TRUTH(number) ((number) != 0)

#define CAST(kernel, name, type)                                                                                       \
    void KERNEL(kernel)(size_t n, int to, const void *x, void *y)                                                      \
    {                                                                                                                  \
        switch ((enum nnf_cast)to) {                                                                                   \
        case NNF_TO_QU8:                                                                                               \
            LOOP(type, uint8_t, to_qu8_##name);                                                                        \
            break;                                                                                                     \
        case NNF_TO_S8:                                                                                                \
            LOOP(type, int8_t, to_s8_##name);                                                                          \
            break;                                                                                                     \
        case NNF_TO_S16:                                                                                               \
            LOOP(type, int16_t, to_s16_##name);                                                                        \
            break;                                                                                                     \
        case NNF_TO_S32:                                                                                               \
            LOOP(type, int32_t, to_s32_##name);                                                                        \
            break;                                                                                                     \
        case NNF_TO_S64:                                                                                               \
            LOOP(type, int64_t, to_s64_##name);                                                                        \
            break;                                                                                                     \
        case NNF_TO_F32:                                                                                               \
            LOOP(type, float, to_f32_##name);                                                                          \
            break;                                                                                                     \
        case NNF_TO_B8:                                                                                                \
            LOOP(type, uint8_t, TRUTH);                                                                                \
            break;                                                                                                     \
        case NNF_CLAMP_QU8:                                                                                            \
            LOOP(type, uint8_t, clamp_qu8_##name);                                                                     \
            break;                                                                                                     \
        case NNF_CLAMP_S32:                                                                                            \
            LOOP(type, int32_t, clamp_s32_##name);                                                                     \
            break;                                                                                                     \
        }                                                                                                              \
    }

CAST(nnf_cast_qu8_flat, qu8, uint8_t)
CAST(nnf_cast_s8_flat, s8, int8_t)
CAST(nnf_cast_s16_flat, s16, int16_t)
CAST(nnf_cast_s32_flat, s32, int32_t)
CAST(nnf_cast_s64_flat, s64, int64_t)
CAST(nnf_cast_f32_flat, f32, float)

#undef LOOP
#undef TRUTH
#undef CAST

#endif
