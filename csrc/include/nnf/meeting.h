/* Where the threads of a run meet: its steps are done in shares, each by whichever thread takes it first. A thread that
 * sleeps, or waits for a processor, holds nobody up; one that is put aside with a share half done is waited for. */
#ifndef NNF_MEETING_H
#define NNF_MEETING_H

#include <stdatomic.h>
#include <stdint.h>

#include "nnf/step.h"

#define NNF_TEAM_MAX 64

/* What is to be done: fn for each share of a step, then next, by one thread, until it returns 0. NULL: one step. */
typedef struct nnf_work {
    nnf_team_fn fn;
    nnf_team_next_fn next;
    void *argument;
    int shares;
    int seats, walkers; /* those who may take shares; the first of them leave when the work is done, the others serve */
    int spin_us;        /* that a thread spins before it sleeps */
    int gives_way;      /* nonzero: threads pause between steps before the system takes their processor (nnf/slice.h) */
} nnf_work;

/* Zero-initialised. Threads may serve here long after the work is done, and while the next is opened: the memory of a
 * meeting must outlive them; that of its work need not, as only who has taken a share reads it. */
typedef struct nnf_meeting {
    _Alignas(64) _Atomic uint64_t phase; /* odd: a step is open; grows by 2 for each, by 1 when the work is done */
    _Atomic int32_t shares, seats, spin_us, gives_way; /* of the work, also for those who come late */
    nnf_work work;
    _Alignas(64) _Atomic uint64_t taken[NNF_TEAM_MAX]; /* phase in which each share was last taken */
    _Alignas(64) _Atomic int32_t done;                 /* shares of this phase */
    _Alignas(64) _Atomic uint64_t asleep;              /* a bit for each seat */
    _Atomic uint32_t bell[NNF_TEAM_MAX];               /* futex words of the seats */
    struct nnf_meeting *next;                          /* for its owner */
} nnf_meeting;

/* Opens the first step of some work, where the one before is done; by one thread at a time. It wakes nobody. */
void nnf_meeting_open(nnf_meeting *m, const nnf_work *work);

/* A bit for each of these seats in which a thread sleeps, to be woken by nnf_meeting_wake: it counts as awake now. */
uint64_t nnf_meeting_sleepers(nnf_meeting *m, uint64_t seats);
void nnf_meeting_wake(nnf_meeting *m, int seat);

/* Takes shares, its own number first, until the work is done. *waited_ns (or NULL) grows by the time that this thread
 * waited for others beyond spin_us. */
void nnf_meeting_walk(nnf_meeting *m, int seat, int64_t *waited_ns);

/* Waits until the work is done, without a share in it. */
void nnf_meeting_wait(nnf_meeting *m, int seat);

/* Takes shares of whatever is opened to its seat while *place is `here`. Who changes that wakes the seat if it sleeps. */
void nnf_meeting_serve(nnf_meeting *m, int seat, const _Atomic uintptr_t *place, uintptr_t here);

#endif
