/* A 64-bit checksum at the speed of memory, for large files that were written by us: it finds damage, not malice. */
#ifndef NNF_CHECKSUM_H
#define NNF_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

uint64_t nnf_checksum(const void *data, size_t size);

#endif
