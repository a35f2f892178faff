/* Bodies of the measuring loops: NNF_PEAK_CHAINS accumulators go round, each waiting for itself only. */
#ifndef NNF_PEAK_LOOP_H
#define NNF_PEAK_LOOP_H

#include "nnf/unroll.h"
#include "peak/peak.h"

/* Keeps a value in a register of class `in` and lets the compiler forget what it is: nothing folds, nothing is hoisted
 * out of the loop, nothing is dropped at its end. */
#define NNF_OPAQUE(in, value) __asm__ volatile("" : "+" in(value))

/* STEP(a) gives the next value of an accumulator from x, y and itself. */
#define NNF_PEAK_LOOP(in, type, first, x, STEP)                                                                        \
    do {                                                                                                               \
        type a[NNF_PEAK_CHAINS];                                                                                       \
        NNF_UNROLL                                                                                                     \
        for (int i = 0; i < NNF_PEAK_CHAINS; i++) {                                                                    \
            a[i] = first;                                                                                              \
            NNF_OPAQUE(in, a[i]);                                                                                      \
        }                                                                                                              \
        for (size_t round = 0; round < rounds; round++) {                                                              \
            NNF_UNROLL                                                                                                 \
            for (int i = 0; i < NNF_PEAK_CHAINS; i++) {                                                                \
                NNF_OPAQUE(in, x);                                                                                     \
                a[i] = STEP(a[i]);                                                                                     \
            }                                                                                                          \
        }                                                                                                              \
        NNF_UNROLL                                                                                                     \
        for (int i = 0; i < NNF_PEAK_CHAINS; i++)                                                                      \
            NNF_OPAQUE(in, a[i]);                                                                                      \
    } while (0)

/* LOAD(i) reads vector i of the `width` bytes wide vectors at p. A loaded vector is used by nobody: the loads count. */
#define NNF_PEAK_READ_LOOP(in, type, width, LOAD)                                                                      \
    do {                                                                                                               \
        const char *const start = p;                                                                                   \
        for (size_t round = 0; round < rounds; round++)                                                                \
            for (size_t at = 0; at < bytes; at += NNF_PEAK_READ) {                                                     \
                NNF_UNROLL                                                                                             \
                for (int i = 0; i < NNF_PEAK_READ; i += width) {                                                       \
                    type v = LOAD(start + at + i);                                                                     \
                    NNF_OPAQUE(in, v);                                                                                 \
                }                                                                                                      \
            }                                                                                                          \
    } while (0)

#endif
