/* A process-wide team of threads behind one door, and the same work on OpenMP's threads.
 *
 * Workers are created on first need, sleep on a futex when idle, are leased to one run at a time and are forgotten in
 * a forked child, which creates its own. A run that finds no idle worker goes on with fewer threads. */
#ifndef NNF_TEAM_H
#define NNF_TEAM_H

#include <stdatomic.h>
#include <stdint.h>

#include "nnf/meeting.h"
#include "nnf/step.h"

/* Does fn(argument, s, n) for s = 0..n-1 on the caller and n - 1 workers, each share by whichever thread takes it first;
 * then next(argument, n) by one of them, and all again until that returns 0 (NULL: once). Returns n, 1 <= n <= threads.
 * Each share sees what all shares before the last `next` wrote. Waiting threads spin for about spin_us microseconds, then
 * sleep; *waited_ns (or NULL) grows by the time that the caller waited beyond that. */
int nnf_team_run(nnf_team_fn fn, nnf_team_next_fn next, void *argument, int threads, int spin_us, int64_t *waited_ns);

/* Has fn(argument, 0, 1) done by a worker while the caller waits. 0: there is none to be had, and nothing was done. */
int nnf_team_call(nnf_team_fn fn, void *argument, int spin_us);

/* Counts up to `wanted` further threads that others start for a run against the limit below; returns how many, to be
 * given back after it. */
int nnf_team_lease(int wanted);
void nnf_team_give_back(int leased);

/* The same by an OpenMP region. A worker of the team opens it while the caller sleeps: OpenMP keeps threads for whoever
 * opens regions, so that a child forked by a caller has none to wait for. Threads wait between steps as above, before and
 * after a region as OpenMP has them (OMP_WAIT_POLICY). The caller waits for all of it: *waited_ns grows by the run's time.
 * It lives in a module of its own, which names the functions above to it once. */
typedef struct nnf_team_door {
    int (*call)(nnf_team_fn fn, void *argument, int spin_us);
    int (*lease)(int wanted);
    void (*give_back)(int leased);
} nnf_team_door;

void nnf_team_openmp_init(nnf_team_door door);
int nnf_team_openmp_run(nnf_team_fn fn, nnf_team_next_fn next, void *argument, int threads, int spin_us,
                        int64_t *waited_ns);

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

#endif
