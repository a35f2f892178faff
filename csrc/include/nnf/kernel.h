/* The kernel registry: one row per kernel variant, listed in csrc/kernels/<family>/<family>.inc.
 *
 * A row is NNF_K(name, op, isa, tolerance, m, n, k):
 *   name       C function, nnf_<op>_<types>_<layout>__<isa>_<tile> (grammar in CONTRIBUTING.md)
 *   op         what it computes; all rows of one op have the same C signature
 *   isa        lowest level that may run it (enum nnf_isa without the prefix)
 *   tolerance  how it must agree with the scalar row: EXACT, APPROX(n) ulp, REDUCE (float sums)
 *   m, n, k    tile: rows x columns, depth group; 0 where it means nothing
 * Rows of an op are ordered slowest to fastest; the last one the machine may run wins. */
#ifndef NNF_KERNEL_H
#define NNF_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#include "nnf/cpu.h"

/* Levels are ordered; each includes the lower ones of its architecture, but for two. AVXVNNI: many processors with
 * AVX-512 lack it, so nothing but the level itself includes it. AVX512VBMI: higher levels include it where the
 * processor has it; one generation with BF16 does not (Cooper Lake). */
enum nnf_isa {
    NNF_ISA_SCALAR = 0,
    NNF_ISA_AVX2 = 1,       /* AVX2, FMA, F16C */
    NNF_ISA_AVXVNNI = 2,    /* + VNNI of 256 bits */
    NNF_ISA_AVX512 = 3,     /* AVX-512 F, BW, DQ, VL */
    NNF_ISA_AVX512VNNI = 4, /* + VNNI */
    NNF_ISA_AVX512VBMI = 5, /* + VBMI: permutations of bytes */
    NNF_ISA_AVX512BF16 = 6, /* + BF16 */
    NNF_ISA_AVX512AMX = 7,  /* + AMX tiles of int8 and bf16, AVX-512 IFMA */
    NNF_ISA_NEON = 8,       /* aarch64 baseline */
    NNF_ISA_NEONDOT = 9,    /* + dot product */
    NNF_ISA_NEONI8MM = 10,  /* + matrix products of bytes */
    NNF_ISA_NEONBF16 = 11   /* + matrix products of bfloat16 */
};

/* Whether what is built for `isa` may run at `level`. */
static inline int nnf_isa_includes(int level, int isa)
{
    if (isa == NNF_ISA_AVXVNNI || level <= isa)
        return level == isa;
    return isa != NNF_ISA_AVX512VBMI || nnf_cpu_permutes_bytes();
}

enum nnf_tolerance { NNF_EXACT = 0, NNF_APPROX = 1, NNF_REDUCE = 2 };

typedef void (*nnf_fn)(void); /* cast to the op's own type before the call */

typedef struct nnf_kernel {
    const char *name;
    const char *op;
    int isa;
    int tolerance; /* enum nnf_tolerance */
    int ulp;       /* for NNF_APPROX */
    int m, n, k;
    nnf_fn fn;
} nnf_kernel;

/* All rows, grouped by family. */
const nnf_kernel *nnf_kernels(size_t *count);

/* Fastest row of `op` that level `isa` includes; NULL when there is none. */
const nnf_kernel *nnf_kernel_pick(const char *op, int isa);

#endif
