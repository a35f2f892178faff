/* Sizes in bytes that follow from the caches of a core (nnf/tuning.inc). */
#ifndef NNF_TUNING_H
#define NNF_TUNING_H

#include <stddef.h>

typedef struct nnf_tuning {
    size_t level1, level2; /* data caches of a core, or its share of them */
#define NNF_SIZE(name, cache, numerator, denominator) size_t name;
#include "nnf/tuning.inc"
#undef NNF_SIZE
} nnf_tuning;

/* Those in force: of 48 KB and 2 MB until nnf_tune. */
extern nnf_tuning nnf_sizes;

/* Sets all sizes; 0 for a cache of unknown size. No kernel may run meanwhile. */
void nnf_tune(size_t level1, size_t level2);

/* Size `index` of the list and its name; NULL behind the last. */
const char *nnf_size_at(size_t index, size_t *size);

#endif
