/* Up to eight bytes of a row's end, without a call of memcpy, which would spill every vector register. */
#ifndef NNF_PARTIAL_H
#define NNF_PARTIAL_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* `count` bytes, at most 8, from the lowest up and zeros above them. */
static inline uint64_t nnf_load_bytes(const uint8_t *x, size_t count)
{
    uint64_t raw = 0;
    uint32_t four;
    uint16_t two;
    int bits = 0;
    if (count >= 8) {
        memcpy(&raw, x, 8);
        return raw;
    }
    if (count & 4) {
        memcpy(&four, x, 4);
        raw = four;
        x += 4;
        bits = 32;
    }
    if (count & 2) {
        memcpy(&two, x, 2);
        raw |= (uint64_t)two << bits;
        x += 2;
        bits += 16;
    }
    if (count & 1)
        raw |= (uint64_t)*x << bits;
    return raw;
}

/* Writes the lowest `count` bytes, at most 8. */
static inline void nnf_store_bytes(uint8_t *y, uint64_t raw, size_t count)
{
    if (count >= 8) {
        memcpy(y, &raw, 8);
        return;
    }
    if (count & 4) {
        memcpy(y, &raw, 4);
        y += 4;
        raw >>= 32;
    }
    if (count & 2) {
        memcpy(y, &raw, 2);
        y += 2;
        raw >>= 16;
    }
    if (count & 1)
        *y = (uint8_t)raw;
}

#endif
