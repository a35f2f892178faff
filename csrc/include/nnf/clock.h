/* The clock of deadlines and timings, and the pause of a loop that waits a few cycles. */
#ifndef NNF_CLOCK_H
#define NNF_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Monotonic clock, nanoseconds. */
static inline int64_t nnf_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Leaves the core to its other hyperthread for a moment. */
static inline void nnf_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#endif
