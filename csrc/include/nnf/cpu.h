/* What this processor can run. */
#ifndef NNF_CPU_H
#define NNF_CPU_H

/* Highest enum nnf_isa level that processor and operating system support. */
int nnf_cpu_level(void);

/* Lower-case name of a level ("scalar", "avx2", ...), or NULL. */
const char *nnf_isa_name(int isa);

#endif
