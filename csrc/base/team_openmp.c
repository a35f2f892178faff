#define _GNU_SOURCE
#include <omp.h>

#include "nnf/clock.h"
#include "nnf/futex.h"
#include "nnf/team.h"

/* One run, on its caller's stack. */
typedef struct region {
    nnf_work work;
    _Atomic uint32_t missing; /* threads that have not begun; futex word */
} region;

static nnf_team_door door;

void nnf_team_openmp_init(nnf_team_door the_door)
{
    door = the_door;
}

static void arrive(region *r)
{
    if (atomic_fetch_sub(&r->missing, 1) == 1)
        nnf_futex_wake(&r->missing, 1);
}

/* OpenMP would spin for the last thread to begin, perhaps on the very processor that it is to run on. */
static void wait_for_all(region *r)
{
    uint32_t left;
    while ((left = atomic_load(&r->missing)))
        nnf_futex_wait(&r->missing, left, 0);
}

/* Has some work done while the caller sleeps: that one and this worker are one of the threads that compute. OpenMP may
 * start fewer than it is asked for. */
static void open_region(void *argument, int share, int shares)
{
    (void)share;
    (void)shares;
    region *r = argument;
    nnf_meeting meeting = {0};
    const int more = door.lease(r->work.shares - 2);
    r->work.shares = r->work.seats = r->work.walkers = more + 2;
    nnf_meeting_open(&meeting, &r->work);
#pragma omp parallel num_threads(more + 2)
    {
        const int number = omp_get_thread_num();
        if (number == 0)
            atomic_fetch_add(&r->missing, (uint32_t)omp_get_num_threads());
        arrive(r);
        nnf_meeting_walk(&meeting, number, NULL);
        if (number == 0)
            wait_for_all(r);
    }
    door.give_back(more);
}

int nnf_team_openmp_run(nnf_team_fn fn, nnf_team_next_fn next, void *argument, int threads, int spin_us,
                        int64_t *waited_ns)
{
    const int most = threads < NNF_TEAM_MAX ? threads : NNF_TEAM_MAX;
    region r = {.work = {fn, next, argument, .shares = most, .spin_us = spin_us}};
    const int64_t began = nnf_now_ns();
    if (most > 1 && door.call(open_region, &r, spin_us)) {
        if (waited_ns)
            *waited_ns += nnf_now_ns() - began;
        return r.work.shares;
    }
    do
        fn(argument, 0, 1);
    while (next && next(argument, 1));
    return 1;
}
