/* Waiting on a 32-bit word: of this process, or of memory that processes share. */
#ifndef NNF_FUTEX_H
#define NNF_FUTEX_H

#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Sleeps while *word is `value`, at most timeout_ns nanoseconds (0: without end); may wake for no reason. */
static inline void nnf_futex_wait(_Atomic uint32_t *word, uint32_t value, int64_t timeout_ns)
{
    const struct timespec time = {.tv_sec = timeout_ns / 1000000000, .tv_nsec = timeout_ns % 1000000000};
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, timeout_ns ? &time : NULL, NULL, 0);
}

static inline void nnf_futex_wake(_Atomic uint32_t *word, int count)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

/* The same in shared memory. `bits` names what the sleeper waits for: only a wake-up that has one of them reaches it.
 * until_ns is a time of CLOCK_MONOTONIC (0: without end). */
static inline void nnf_futex_wait_shared(_Atomic uint32_t *word, uint32_t value, uint32_t bits, int64_t until_ns)
{
    const struct timespec time = {.tv_sec = until_ns / 1000000000, .tv_nsec = until_ns % 1000000000};
    syscall(SYS_futex, word, FUTEX_WAIT_BITSET, value, until_ns ? &time : NULL, NULL, bits);
}

/* Wakes all who sleep for one of the bits. */
static inline void nnf_futex_wake_shared(_Atomic uint32_t *word, uint32_t bits)
{
    syscall(SYS_futex, word, FUTEX_WAKE_BITSET, INT_MAX, NULL, NULL, bits);
}

#endif
