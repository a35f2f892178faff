#include "nnf/checksum.h"

#include <string.h>

#include "nnf/unroll.h"

enum { LANES = 8 };

static const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);

/* Every step is a bijection of the lane for a fixed word and of the word for a fixed lane: one changed word changes the
 * lane for good. Eight lanes hide the latency of the multiplication. */
static inline uint64_t step(uint64_t lane, uint64_t word)
{
    lane = (lane ^ word) * odd;
    return lane << 29 | lane >> 35;
}

uint64_t nnf_checksum(const void *data, size_t size)
{
    const unsigned char *from = data;
    uint64_t lane[LANES], words[LANES];
    for (int i = 0; i < LANES; i++)
        lane[i] = (uint64_t)i + 1;
    size_t left = size;
    for (; left >= sizeof words; left -= sizeof words, from += sizeof words) {
        memcpy(words, from, sizeof words);
        NNF_UNROLL
        for (int i = 0; i < LANES; i++)
            lane[i] = step(lane[i], words[i]);
    }
    memset(words, 0, sizeof words);
    memcpy(words, from, left);
    uint64_t sum = size * odd;
    for (int i = 0; i < LANES; i++)
        sum = step(sum, step(lane[i], words[i]));
    return sum ^ sum >> 32;
}
