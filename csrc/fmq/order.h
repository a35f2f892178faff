/* The memory order of rings: four functions, and nothing else in csrc/fmq orders memory. Whoever calls one says which
 * access of the other side it pairs with. */
#ifndef NNF_FMQ_ORDER_H
#define NNF_FMQ_ORDER_H

#include <stdatomic.h>
#include <stdint.h>

/* The other side's counter. What it did to the elements before it published this value is seen afterwards. */
static inline uint64_t nnf_order_counter(const _Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_acquire);
}

/* A side's own counter. What it did to the elements before is seen by whoever reads this value. */
static inline void nnf_order_publish(_Atomic uint64_t *counter, uint64_t value)
{
    atomic_store_explicit(counter, value, memory_order_release);
}

/* Sets bits of the event word after a publish; returns what it was. All changes of the word happen one after another:
 * either the side that takes a bit comes later, finds it, and sees all that was published before; or it came before, and
 * its sleep on the old value fails or is ended by the wake-up. Where all bits are set already nothing changes, and the
 * word's cache line stays with both sides. The fence pairs with the one in nnf_order_take: who sees bits that the other
 * side is about to take has published early enough for the look after that. */
static inline uint32_t nnf_order_raise(_Atomic uint32_t *event, uint32_t bits)
{
    atomic_thread_fence(memory_order_seq_cst);
    const uint32_t before = atomic_load_explicit(event, memory_order_relaxed);
    return (before & bits) == bits ? before : atomic_fetch_or_explicit(event, bits, memory_order_acq_rel);
}

/* Clears bits of the event word before a look at the other side's counter; returns what it was. */
static inline uint32_t nnf_order_take(_Atomic uint32_t *event, uint32_t bits)
{
    const uint32_t before = atomic_fetch_and_explicit(event, ~bits, memory_order_acq_rel);
    atomic_thread_fence(memory_order_seq_cst);
    return before;
}

#endif
