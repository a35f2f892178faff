#define _GNU_SOURCE
#include "nnf/meeting.h"

#include <limits.h>
#include <stdbool.h>

#include "nnf/clock.h"
#include "nnf/futex.h"
#include "nnf/slice.h"

static bool is_open(uint64_t phase)
{
    return phase & 1;
}

static uint64_t first_seats(int count)
{
    return count < 64 ? ((uint64_t)1 << count) - 1 : UINT64_MAX;
}

void nnf_meeting_wake(nnf_meeting *m, int seat)
{
    atomic_fetch_add(&m->bell[seat], 1);
    nnf_futex_wake(&m->bell[seat], INT_MAX);
}

/* Whoever calls has changed what they wait for before their bits are read here; they set their bits before they look at
 * it for the last time (all sequentially consistent). So none sleeps on. */
uint64_t nnf_meeting_sleepers(nnf_meeting *m, uint64_t seats)
{
    if (!(atomic_load(&m->asleep) & seats))
        return 0;
    return atomic_fetch_and(&m->asleep, ~seats) & seats;
}

void nnf_meeting_open(nnf_meeting *m, const nnf_work *work)
{
    const uint64_t phase = atomic_load_explicit(&m->phase, memory_order_relaxed) + 1;
    m->work = *work;
    atomic_store_explicit(&m->shares, work->shares, memory_order_relaxed);
    atomic_store_explicit(&m->seats, work->seats, memory_order_relaxed);
    atomic_store_explicit(&m->spin_us, work->spin_us, memory_order_relaxed);
    atomic_store_explicit(&m->gives_way, work->gives_way, memory_order_relaxed);
    for (int share = 0; share < work->shares; share++)
        atomic_store_explicit(&m->taken[share], phase - 2, memory_order_relaxed);
    atomic_store(&m->phase, phase);
}

/* Every share is taken once in every phase, so a thread that is late finds that it was taken in this phase or a later
 * one, whatever it believes: the meeting's work is there for who succeeds, until its share is done. */
static bool take(nnf_meeting *m, int share, uint64_t phase)
{
    uint64_t before = phase - 2;
    return atomic_load_explicit(&m->taken[share], memory_order_relaxed) == before &&
           atomic_compare_exchange_strong_explicit(&m->taken[share], &before, phase, memory_order_acq_rel,
                                                   memory_order_relaxed);
}

/* After the last share of a step. Once the phase is changed, the work may be gone. */
static void go_on(nnf_meeting *m, uint64_t phase, int shares)
{
    const bool more = m->work.next && m->work.next(m->work.argument, shares);
    const uint64_t seats = first_seats(more ? m->work.seats : m->work.walkers);
    atomic_store_explicit(&m->done, 0, memory_order_relaxed);
    atomic_store(&m->phase, phase + (more ? 2 : 1));
    for (uint64_t left = nnf_meeting_sleepers(m, seats); left; left &= left - 1)
        nnf_meeting_wake(m, __builtin_ctzll(left));
}

/* All shares of a step that are there to be taken, from its own number on: that thread has what it needs in its caches. */
static void take_shares(nnf_meeting *m, uint64_t phase, int seat)
{
    const int shares = atomic_load_explicit(&m->shares, memory_order_relaxed);
    if (atomic_load_explicit(&m->gives_way, memory_order_relaxed))
        nnf_slice_pause(); /* its share is there for the others meanwhile */
    for (int i = 0; i < shares; i++) {
        const int share = (seat + i) % shares;
        if (!take(m, share, phase))
            continue;
        m->work.fn(m->work.argument, share, shares);
        /* acq_rel: publishes what this thread wrote and, for the last, shows what the others did. */
        if (atomic_fetch_add_explicit(&m->done, 1, memory_order_acq_rel) + 1 == shares)
            go_on(m, phase, shares);
    }
}

static bool is_now(nnf_meeting *m, uint64_t phase, const _Atomic uintptr_t *place, uintptr_t here)
{
    return atomic_load(&m->phase) == phase && (!place || atomic_load(place) == here);
}

/* Spins while the phase and the place are these, until the time is up; true when one differs. The clock is read every 64
 * pauses. */
static bool spin(nnf_meeting *m, uint64_t phase, const _Atomic uintptr_t *place, uintptr_t here)
{
    const int64_t spin_us = atomic_load_explicit(&m->spin_us, memory_order_relaxed);
    const int64_t end = spin_us > 0 ? nnf_now_ns() + spin_us * 1000 : 0;
    do {
        for (int i = 0; i < 64; i++) {
            if (!is_now(m, phase, place, here))
                return true;
            if (end)
                nnf_pause();
        }
    } while (end && nnf_now_ns() < end);
    return false;
}

/* Waits until the phase or the place is another one. */
static void rest(nnf_meeting *m, uint64_t phase, int seat, const _Atomic uintptr_t *place, uintptr_t here,
                 int64_t *waited_ns)
{
    if (spin(m, phase, place, here))
        return;
    const int64_t began = waited_ns ? nnf_now_ns() : 0;
    while (is_now(m, phase, place, here)) {
        const uint32_t bell = atomic_load(&m->bell[seat]);
        atomic_fetch_or(&m->asleep, (uint64_t)1 << seat);
        if (is_now(m, phase, place, here))
            nnf_futex_wait(&m->bell[seat], bell, 0);
    }
    if (waited_ns)
        *waited_ns += nnf_now_ns() - began;
}

void nnf_meeting_walk(nnf_meeting *m, int seat, int64_t *waited_ns)
{
    uint64_t phase;
    while (is_open(phase = atomic_load_explicit(&m->phase, memory_order_acquire))) {
        take_shares(m, phase, seat);
        rest(m, phase, seat, NULL, 0, waited_ns);
    }
}

void nnf_meeting_wait(nnf_meeting *m, int seat)
{
    uint64_t phase;
    while (is_open(phase = atomic_load_explicit(&m->phase, memory_order_acquire)))
        rest(m, phase, seat, NULL, 0, NULL);
}

void nnf_meeting_serve(nnf_meeting *m, int seat, const _Atomic uintptr_t *place, uintptr_t here)
{
    while (atomic_load(place) == here) {
        const uint64_t phase = atomic_load_explicit(&m->phase, memory_order_acquire);
        if (is_open(phase) && seat < atomic_load_explicit(&m->seats, memory_order_relaxed))
            take_shares(m, phase, seat);
        rest(m, phase, seat, place, here, NULL);
    }
}
