/* What the machine can do at most: arithmetic on registers alone, and reads of memory. Measured, not looked up.
 *
 * A row is NNF_P(name, types, isa, operations): C function, type token of what it multiplies, lowest level that may run
 * it, multiplies and adds of one round. All rows are in peak.inc; rows of one type are ordered by level. */
#ifndef NNF_PEAK_H
#define NNF_PEAK_H

#include <stddef.h>
#include <stdint.h>

/* Does `rounds` rounds of independent multiply-adds that never leave the registers. */
typedef void (*nnf_peak_fn)(size_t rounds);

/* Reads the memory p[0..bytes) `rounds` times. p is aligned to 64 bytes, bytes a multiple of NNF_PEAK_READ. */
typedef void (*nnf_peak_read_fn)(const void *p, size_t bytes, size_t rounds);

#define NNF_PEAK_READ 256
#define NNF_PEAK_CHAINS 12 /* accumulators: more than latency times pipes of any core, fewer than registers */

typedef struct nnf_peak {
    const char *name;
    const char *types; /* "f32", "s8", "bf16" */
    int isa;           /* enum nnf_isa */
    double operations; /* of one round */
    nnf_peak_fn fn;
} nnf_peak;

#define NNF_P(name, types, isa, operations) void name(size_t rounds);
#include "peak/peak.inc"
#undef NNF_P

/* All rows. */
const nnf_peak *nnf_peaks(size_t *count);

/* Reads with the widest loads of a level. */
nnf_peak_read_fn nnf_peak_read(int isa);

void nnf_peak_read__scalar(const void *p, size_t bytes, size_t rounds);
void nnf_peak_read__avx2(const void *p, size_t bytes, size_t rounds);
void nnf_peak_read__avx512(const void *p, size_t bytes, size_t rounds);

#endif
