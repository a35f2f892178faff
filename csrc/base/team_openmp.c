#include <omp.h>

#include "nnf/team.h"

/* One run, on its caller's stack. */
typedef struct region {
    nnf_team_fn fn;
    void *argument;
    int threads; /* asked for, then those that took part */
} region;

static nnf_team_door door;

void nnf_team_openmp_init(nnf_team_door the_door)
{
    door = the_door;
}

/* Work of two threads of the team: the caller's returns, and waits so for the worker, which opens the region. */
static void open_region(void *argument, int thread, int threads)
{
    region *r = argument;
    if (threads == 1) { /* no worker was to be had */
        r->threads = 1;
        r->fn(r->argument, 0, 1);
        return;
    }
    if (thread == 0)
        return;
    /* The caller sleeps: it and the worker are one of the threads that compute. */
    const int more = door.lease(r->threads - 2);
    int given = 1;
#pragma omp parallel num_threads(more + 2)
    {
        const int number = omp_get_thread_num(), count = omp_get_num_threads();
        if (number == 0)
            given = count;
        r->fn(r->argument, number, count);
    }
    door.give_back(more);
    r->threads = given;
}

int nnf_team_openmp_run(nnf_team_fn fn, void *argument, int threads, int spin_us, int64_t *slept_ns)
{
    (void)slept_ns;
    region r = {.fn = fn, .argument = argument, .threads = threads < NNF_TEAM_MAX ? threads : NNF_TEAM_MAX};
    door.run(open_region, &r, r.threads > 1 ? 2 : 1, spin_us, NULL);
    return r.threads;
}
