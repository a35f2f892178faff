/* The first stage of a keyed digest, at the speed of memory: NH, the universal hash of UMAC and VMAC, with 64-bit words.
 *
 * Two different messages of the same length give the same sum with a probability of 2^-64 over the keys. The sums are no
 * secret-keeping function: they have to go through one (codec/digest.pxi: keyed BLAKE2b) before anybody sees them. */
#ifndef NNF_DIGEST_H
#define NNF_DIGEST_H

#include <stddef.h>
#include <stdint.h>

enum { NNF_DIGEST_PIECE = 4096, NNF_DIGEST_WORDS = NNF_DIGEST_PIECE / 8 };

/* sum[2 * i], sum[2 * i + 1]: low and high half of the sum of piece i. The last piece may be shorter: it counts as if
 * zeros followed, so that the length of the message must be digested too. */
void nnf_digest_pieces(const uint64_t key[NNF_DIGEST_WORDS], const void *data, size_t size, uint64_t *sum);

#endif
