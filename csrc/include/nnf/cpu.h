/* What this processor can run. */
#ifndef NNF_CPU_H
#define NNF_CPU_H

/* Highest enum nnf_isa level, at most `limit`, that processor and operating system support. Tiles are a state that Linux
 * hands out to a process that asks: this asks once, where the processor has them and `limit` lets them be used. A refusal
 * means the level below. */
int nnf_cpu_level(int limit);

/* Whether processor and operating system support level NNF_ISA_AVX512VBMI, which higher levels do not tell. */
int nnf_cpu_permutes_bytes(void);

/* Lower-case name of a level ("scalar", "avx2", ...), or NULL. */
const char *nnf_isa_name(int isa);

#endif
