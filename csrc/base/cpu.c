#define _GNU_SOURCE /* syscall */
#include "nnf/cpu.h"

#include <stdatomic.h>

#include "nnf/kernel.h"

const char *nnf_isa_name(int isa)
{
    static const char *const names[] = {"scalar", "avx2", "avxvnni", "avx512", "avx512vnni", "avx512vbmi", "avx512bf16",
                                        "avx512amx", "neon", "neondot", "neoni8mm", "neonbf16"};
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

#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>

/* Whether the kernel lets this process use tile data (state component 18); the answer holds for all its threads. */
static int tiles_granted(void)
{
    enum { REQUEST = 0x1023, TILE_DATA = 18 }; /* ARCH_REQ_XCOMP_PERM */
    return syscall(SYS_arch_prctl, REQUEST, TILE_DATA) == 0;
}
#else
static int tiles_granted(void)
{
    return 0;
}
#endif

static int has_avx_vnni(void)
{
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & (1u << 4));
}

/* What the processor has and the system saves, tiles aside, of levels up to `limit`. */
static int level_without_tiles(uint64_t state, int limit)
{
    unsigned a, b, c, d;
    /* The system must save the ymm (bits 1, 2) and zmm (bits 5-7) state. */
    if ((state & 0x6) != 0x6 || !__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & (1u << 5)))
        return NNF_ISA_SCALAR;
    const unsigned avx512 = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31; /* F, DQ, BW, VL */
    if (limit < NNF_ISA_AVX512 || (b & avx512) != avx512 || (state & 0xe0) != 0xe0)
        return limit >= NNF_ISA_AVXVNNI && has_avx_vnni() ? NNF_ISA_AVXVNNI : NNF_ISA_AVX2;
    if (!(c & (1u << 11)))
        return NNF_ISA_AVX512;
    const int without_bf16 = c & (1u << 1) ? NNF_ISA_AVX512VBMI : NNF_ISA_AVX512VNNI;
    if (limit < NNF_ISA_AVX512BF16 || !__get_cpuid_count(7, 1, &a, &b, &c, &d) || !(a & (1u << 5)))
        return without_bf16;
    return NNF_ISA_AVX512BF16;
}

/* AVX-512 IFMA, AMX-TILE, AMX-INT8, AMX-BF16, and both parts of the tile state saved by the system. */
static int has_tiles(uint64_t state)
{
    unsigned a, b, c, d;
    const unsigned amx = 1u << 22 | 1u << 24 | 1u << 25;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & (1u << 21)))
        return 0;
#ifdef NNF_EMULATE_TILES
    return 1;
#endif
    return (d & amx) == amx && (state & 0x60000) == 0x60000 && tiles_granted();
}

int nnf_cpu_level(int limit)
{
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d))
        return NNF_ISA_SCALAR;
    const unsigned osxsave = 1u << 27, avx = 1u << 28, fma = 1u << 12, f16c = 1u << 29;
    if ((c & (osxsave | avx | fma | f16c)) != (osxsave | avx | fma | f16c))
        return NNF_ISA_SCALAR;
    const uint64_t state = xcr0();
    const int level = level_without_tiles(state, limit);
    if (level == NNF_ISA_AVX512BF16 && limit >= NNF_ISA_AVX512AMX && has_tiles(state))
        return NNF_ISA_AVX512AMX;
    return level < limit ? level : limit;
}

#elif defined(__aarch64__)
#include <sys/auxv.h>

int nnf_cpu_level(int limit)
{
    const unsigned long asimddp = 1ul << 20, i8mm = 1ul << 13, bf16 = 1ul << 14; /* of AT_HWCAP, and of AT_HWCAP2 */
    const unsigned long more = getauxval(AT_HWCAP2);
    const int level = !(getauxval(AT_HWCAP) & asimddp) ? NNF_ISA_NEON
                      : !(more & i8mm) ? NNF_ISA_NEONDOT : !(more & bf16) ? NNF_ISA_NEONI8MM : NNF_ISA_NEONBF16;
    return level < limit ? level : limit < NNF_ISA_NEON ? NNF_ISA_SCALAR : limit;
}

#else

int nnf_cpu_level(int limit)
{
    (void)limit;
    return NNF_ISA_SCALAR;
}

#endif

int nnf_cpu_permutes_bytes(void)
{
    static _Atomic int known = -1; /* on a virtual machine, a look at the processor costs some microseconds */
    int found = atomic_load_explicit(&known, memory_order_relaxed);
    if (found < 0) {
        found = nnf_cpu_level(NNF_ISA_AVX512VBMI) == NNF_ISA_AVX512VBMI;
        atomic_store_explicit(&known, found, memory_order_relaxed);
    }
    return found;
}
