/* The check function of each op: one for every scalar row of the registry's lists, so that an op without a check does
 * not link. */
#ifndef NNF_CHECKS_H
#define NNF_CHECKS_H

#include "check.h"

/* Expands `once(op)` for scalar rows and nothing for the others. */
#define NNF_ONCE_SCALAR(once, op) once(op)
#define NNF_ONCE_AVX2(once, op)
#define NNF_ONCE_AVXVNNI(once, op)
#define NNF_ONCE_AVX512(once, op)
#define NNF_ONCE_AVX512VNNI(once, op)
#define NNF_ONCE_AVX512VBMI(once, op)
#define NNF_ONCE_AVX512BF16(once, op)
#define NNF_ONCE_AVX512AMX(once, op)
#define NNF_ONCE_NEON(once, op)
#define NNF_ONCE_NEONDOT(once, op)
#define NNF_ONCE_NEONI8MM(once, op)
#define NNF_ONCE_NEONBF16(once, op)

#define NNF_DECLARE(op) void nnf_check_##op(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel);
#define NNF_K(name, op, isa, tolerance, m, n, k) NNF_ONCE_##isa(NNF_DECLARE, op)
#include "families.inc"
#undef NNF_K

#endif
