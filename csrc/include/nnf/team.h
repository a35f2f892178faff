/* A process-wide team of threads behind one door, and the same work on OpenMP's threads.
 *
 * Workers are created on first need, sleep on a futex when idle, are leased to one run at a time and are forgotten in
 * a forked child, which creates its own. A run that finds no idle worker goes on with fewer threads. */
#ifndef NNF_TEAM_H
#define NNF_TEAM_H

#include <stdatomic.h>
#include <stdint.h>

#include "nnf/step.h"

#define NNF_TEAM_MAX 64

/* Runs fn(argument, t, n) for t = 0..n-1 at the same time, t = 0 on the caller; returns n, 1 <= n <= threads.
 * The caller waits for all; waiting threads spin for about spin_us microseconds, then sleep. *slept_ns (or NULL) grows
 * by the time that the caller slept. */
int nnf_team_run(nnf_team_fn fn, void *argument, int threads, int spin_us, int64_t *slept_ns);

/* Counts up to `wanted` further threads that others start for a run against the limit below; returns how many, to be
 * given back after it. */
int nnf_team_lease(int wanted);
void nnf_team_give_back(int leased);

/* The same by an OpenMP region. A worker of the team opens it while the caller sleeps: OpenMP keeps threads for whoever
 * opens regions, so that a child forked by a caller has none to wait for. Waiting is up to OpenMP (OMP_WAIT_POLICY);
 * barriers between steps are those below. *slept_ns does not grow.
 * It lives in a module of its own, which names the functions above to it once. */
typedef struct nnf_team_door {
    nnf_team_run_fn run;
    int (*lease)(int wanted);
    void (*give_back)(int leased);
} nnf_team_door;

void nnf_team_openmp_init(nnf_team_door door);
int nnf_team_openmp_run(nnf_team_fn fn, void *argument, int threads, int spin_us, int64_t *slept_ns);

/* Upper bound for the sum of threads that concurrent runs occupy beyond their callers. */
void nnf_team_set_limit(int workers);
int nnf_team_limit(void);

/* Workers alive in this process. */
int nnf_team_size(void);

/* How many forks lie between this process and the one that loaded this code, as far as teams or gates saw them. */
uint32_t nnf_team_forks(void);

/* Sees to it that forks are counted from now on. */
void nnf_team_watch_forks(void);

/* Has renew(what) called once in each forked child, before the first caller there goes on: other threads of the parent
 * may have held what it describes, and do not exist in the child. `seen` belongs to it: nnf_team_forks() at its
 * initialisation, or 0. The lock that this takes is never held at a fork. */
void nnf_team_renew(_Atomic uint32_t *seen, void (*renew)(void *), void *what);

/* Meeting point of the threads of one run; zero-initialised. */
typedef struct nnf_barrier {
    _Atomic uint32_t arrived;
    _Atomic uint32_t phase; /* futex word */
    _Atomic uint32_t sleepers;
} nnf_barrier;

/* True for exactly one thread, the last to arrive: it may act for all and must then call nnf_barrier_release.
 * The others return false after the release; *slept_ns (or NULL) grows by the time that this thread slept. */
int nnf_barrier_arrive(nnf_barrier *barrier, int threads, int spin_us, int64_t *slept_ns);
void nnf_barrier_release(nnf_barrier *barrier);

#endif
