#include "nnf/digest.h"

#include <string.h>

#include "nnf/unroll.h"

__extension__ typedef unsigned __int128 wide;

static inline uint64_t word(const unsigned char *from)
{
    uint64_t w;
    memcpy(&w, from, sizeof w);
    return w;
}

static inline wide product(const uint64_t *key, const unsigned char *from)
{
    return (wide)(word(from) + key[0]) * (word(from + 8) + key[1]);
}

/* Four running sums hide the latency of additions with carry. */
static wide piece(const uint64_t *key, const unsigned char *from)
{
    wide sum[4] = {0};
    for (size_t i = 0; i < NNF_DIGEST_WORDS; i += 8) {
        NNF_UNROLL
        for (size_t j = 0; j < 4; j++)
            sum[j] += product(key + i + 2 * j, from + 8 * i + 16 * j);
    }
    return sum[0] + sum[1] + sum[2] + sum[3];
}

void nnf_digest_pieces(const uint64_t key[NNF_DIGEST_WORDS], const void *data, size_t size, uint64_t *sum)
{
    const unsigned char *from = data;
    for (; size; sum += 2) {
        wide found;
        if (size >= NNF_DIGEST_PIECE) {
            found = piece(key, from);
            from += NNF_DIGEST_PIECE;
            size -= NNF_DIGEST_PIECE;
        } else {
            unsigned char last[NNF_DIGEST_PIECE] = {0};
            memcpy(last, from, size);
            found = piece(key, last);
            size = 0;
        }
        sum[0] = (uint64_t)found;
        sum[1] = (uint64_t)(found >> 64);
    }
}
