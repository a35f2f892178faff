#define _GNU_SOURCE
#include "nnf/gate.h"

#include <limits.h>

#include "nnf/clock.h"
#include "nnf/futex.h"
#include "nnf/outcome.h"
#include "nnf/team.h"

enum { LOOK_NS = 1000000 };

/* What the parent of a forked child was running does not run here. */
static void renew(void *what)
{
    nnf_gate *gate = what;
    for (int p = 0; p < NNF_PRIORITIES; p++)
        atomic_store(&gate->asked[p], 0);
    atomic_store(&gate->sleepers, 0);
}

void nnf_gate_enter(const nnf_turn *turn, int threads)
{
    nnf_gate *gate = turn->gate;
    nnf_team_renew(&gate->forks, renew, gate);
    atomic_fetch_add(&gate->asked[turn->priority], threads);
}

void nnf_gate_leave(const nnf_turn *turn, int threads)
{
    nnf_gate *gate = turn->gate;
    atomic_fetch_sub(&gate->asked[turn->priority], threads);
    /* Nobody waits for an execution of the lowest priority. The word changes before the sleepers are read, and a waiter
     * counts itself before it reads the word: one of the two sees the other. */
    if (turn->priority > 0) {
        atomic_fetch_add(&gate->changed, 1);
        if (atomic_load(&gate->sleepers))
            nnf_futex_wake(&gate->changed, INT_MAX);
    }
}

int nnf_gate_wait(const nnf_turn *turn, int threads, const int *cancel, int64_t deadline_ns)
{
    nnf_gate *gate = turn->gate;
    int outcome = NNF_DONE;
    nnf_team_renew(&gate->forks, renew, gate);
    if (!nnf_gate_closed(turn, threads))
        return outcome;
    atomic_fetch_add(&gate->sleepers, 1);
    for (;;) {
        const uint32_t seen = atomic_load(&gate->changed);
        if (!nnf_gate_closed(turn, threads))
            break;
        if (nnf_cancelled(cancel)) {
            outcome = NNF_CANCELLED;
            break;
        }
        if (deadline_ns && nnf_now_ns() >= deadline_ns) {
            outcome = NNF_DEADLINE;
            break;
        }
        nnf_futex_wait(&gate->changed, seen, LOOK_NS);
    }
    atomic_fetch_sub(&gate->sleepers, 1);
    return outcome;
}
