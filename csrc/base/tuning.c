#include "nnf/tuning.h"

/* Where the sizes were measured; and the caches that scratch memory and tables of rows are made for. */
enum { USUAL1 = 48 << 10, LEAST1 = 16 << 10, MOST1 = 256 << 10 };
enum { USUAL2 = 2 << 20, LEAST2 = 128 << 10, MOST2 = 16 << 20 };

#define PART(bytes, numerator, denominator) ((bytes) / (denominator) * (numerator))

nnf_tuning nnf_sizes = {
    .level1 = USUAL1,
    .level2 = USUAL2,
#define NNF_SIZE(name, cache, numerator, denominator) .name = PART((size_t)USUAL##cache, numerator, denominator),
#include "nnf/tuning.inc"
#undef NNF_SIZE
};

static size_t within(size_t size, size_t usual, size_t least, size_t most)
{
    return !size ? usual : size < least ? least : size > most ? most : size;
}

void nnf_tune(size_t level1, size_t level2)
{
    nnf_tuning *s = &nnf_sizes;
    s->level1 = within(level1, USUAL1, LEAST1, MOST1);
    s->level2 = within(level2, USUAL2, LEAST2, MOST2);
#define NNF_SIZE(name, cache, numerator, denominator) s->name = PART(s->level##cache, numerator, denominator);
#include "nnf/tuning.inc"
#undef NNF_SIZE
}

const char *nnf_size_at(size_t index, size_t *size)
{
#define NNF_SIZE(name, cache, numerator, denominator)                                                                  \
    if (index-- == 0)                                                                                                  \
        return *size = nnf_sizes.name, #name;
#include "nnf/tuning.inc"
#undef NNF_SIZE
    return NULL;
}
