#include "nnf/cpu.h"

#include "nnf/kernel.h"

const char *nnf_isa_name(int isa)
{
    static const char *const names[] = {"scalar", "avx2", "avx512", "avx512vnni", "avx512bf16", "neon", "neondot"};
    return isa >= 0 && isa < (int)(sizeof names / sizeof names[0]) ? names[isa] : 0;
}

#if defined(__x86_64__)
#include <cpuid.h>
#include <stdint.h>

static uint64_t xcr0(void)
{
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return ((uint64_t)high << 32) | low;
}

int nnf_cpu_level(void)
{
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d))
        return NNF_ISA_SCALAR;
    const unsigned osxsave = 1u << 27, avx = 1u << 28, fma = 1u << 12, f16c = 1u << 29;
    if ((c & (osxsave | avx | fma | f16c)) != (osxsave | avx | fma | f16c))
        return NNF_ISA_SCALAR;
    /* The system must save the ymm (bits 1, 2) and zmm (bits 5-7) state. */
    const uint64_t state = xcr0();
    if ((state & 0x6) != 0x6 || !__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & (1u << 5)))
        return NNF_ISA_SCALAR;
    const unsigned avx512 = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31; /* F, DQ, BW, VL */
    if ((b & avx512) != avx512 || (state & 0xe0) != 0xe0)
        return NNF_ISA_AVX2;
    if (!(c & (1u << 11)))
        return NNF_ISA_AVX512;
    if (!__get_cpuid_count(7, 1, &a, &b, &c, &d) || !(a & (1u << 5)))
        return NNF_ISA_AVX512VNNI;
    return NNF_ISA_AVX512BF16;
}

#elif defined(__aarch64__)
#include <sys/auxv.h>

int nnf_cpu_level(void)
{
    const unsigned long asimddp = 1ul << 20;
    return getauxval(AT_HWCAP) & asimddp ? NNF_ISA_NEONDOT : NNF_ISA_NEON;
}

#else

int nnf_cpu_level(void)
{
    return NNF_ISA_SCALAR;
}

#endif
