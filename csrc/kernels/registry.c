/* The table of all kernels, built from the families' lists. */
#include "nnf/kernel.h"

#include <string.h>

/* First pass: declarations. The registry never calls a kernel, so the common type is enough here. */
#define NNF_K(name, op, isa, tolerance, m, n, k) extern void name(void);
#include "families.inc"
#undef NNF_K

#define TOLERANCE_EXACT NNF_EXACT, 0
#define TOLERANCE_REDUCE NNF_REDUCE, 0
#define TOLERANCE_APPROX(ulp) NNF_APPROX, ulp

#define NNF_K(name, op, isa, tolerance, m, n, k) {#name, #op, NNF_ISA_##isa, TOLERANCE_##tolerance, m, n, k, name},
static const nnf_kernel table[] = {
#include "families.inc"
};
#undef NNF_K

const nnf_kernel *nnf_kernels(size_t *count)
{
    *count = sizeof table / sizeof table[0];
    return table;
}

const nnf_kernel *nnf_kernel_pick(const char *op, int isa)
{
    const nnf_kernel *best = NULL;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (strcmp(table[i].op, op) == 0 && nnf_isa_includes(isa, table[i].isa) && (!best || table[i].isa >= best->isa))
            best = &table[i];
    }
    return best;
}
