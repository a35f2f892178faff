#include "peak/peak.h"

#include "nnf/kernel.h"

#define NNF_P(name, types, isa, operations) {#name, types, NNF_ISA_##isa, operations, name},
static const nnf_peak rows[] = {
#include "peak/peak.inc"
};
#undef NNF_P

const nnf_peak *nnf_peaks(size_t *count)
{
    *count = sizeof rows / sizeof rows[0];
    return rows;
}

nnf_peak_read_fn nnf_peak_read(int isa)
{
#if defined(__x86_64__)
    if (isa >= NNF_ISA_AVX512)
        return nnf_peak_read__avx512;
    if (isa >= NNF_ISA_AVX2)
        return nnf_peak_read__avx2;
#endif
    (void)isa;
    return nnf_peak_read__scalar;
}
