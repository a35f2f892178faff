#include <immintrin.h>

#define DOT _mm256_dpbusd_avx_epi32

#include "conv2d_dot_avx2.h"

void nnf_conv2d_qu8_qs8c_nhwc__avxvnni_60x16k4(const nnf_conv2d_q8_tile *t)
{
    multiply_tile(t, 0);
}

void nnf_conv2d_s32_qu8_qs8c_nhwc__avxvnni_60x16k4(const nnf_conv2d_q8_tile *t)
{
    multiply_tile(t, 1);
}

void nnf_conv2d_f32_qu8_qs8c_nhwc__avxvnni_60x16k4(const nnf_conv2d_q8_tile *t)
{
    multiply_to(t, TO_VALUES);
}

void nnf_conv2d_once_qu8_qs8c_nhwc__avxvnni_60x16k4(const nnf_conv2d_q8_tile *t)
{
    multiply_to(t, TO_CODES_ONCE);
}
