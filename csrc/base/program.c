#define _GNU_SOURCE
#include "nnf/program.h"

#include "nnf/clock.h"
#include "nnf/gate.h"

enum { YIELDED = NNF_DECLINED + 1 }; /* between two steps, for an execution of higher priority or of another client */

typedef struct execution {
    const nnf_program *program;
    const nnf_run *run;
    const int *cancel;
    int64_t deadline_ns;
    int64_t *times_ns;
    int64_t last_ns;
    int64_t began_ns; /* of the part that runs now, where clients share the cores */
    int spin_us;
    int threads;
    int outcome; /* written by the last thread to arrive at the barrier, read by all behind it */
    size_t done;
    nnf_barrier barrier;
} execution;

static bool must_yield(const execution *e)
{
    nnf_client *client = e->run->turn->gate->client;
    return nnf_gate_closed(e->run->turn, e->threads) || (client && nnf_fair_is_due(client, e->threads, e->began_ns));
}

/* What has to happen between two steps, once for the whole team. */
static void between(execution *e, size_t finished)
{
    e->done = finished;
    if (e->times_ns) {
        const int64_t now = nnf_now_ns();
        e->times_ns[finished - 1] = now - e->last_ns;
        e->last_ns = now;
    }
    if (e->run->declined && __atomic_load_n(e->run->declined, __ATOMIC_RELAXED)) {
        e->outcome = NNF_DECLINED;
        return;
    }
    if (finished == e->program->count)
        return;
    if (e->cancel && __atomic_load_n(e->cancel, __ATOMIC_RELAXED))
        e->outcome = NNF_CANCELLED;
    else if (e->deadline_ns && nnf_now_ns() >= e->deadline_ns)
        e->outcome = NNF_DEADLINE;
    else if (e->run->turn && must_yield(e))
        e->outcome = YIELDED;
}

static void body(void *argument, int thread, int threads)
{
    execution *e = argument;
    const nnf_step *steps = e->program->steps;
    const size_t count = e->program->count;
    for (size_t i = e->done; i < count; i++) {
        steps[i].fn(&steps[i], e->run, thread, threads);
        if (threads == 1) {
            between(e, i + 1);
        } else if (nnf_barrier_arrive(&e->barrier, threads, e->spin_us)) {
            between(e, i + 1);
            nnf_barrier_release(&e->barrier);
        }
        if (e->outcome != NNF_DONE)
            return;
    }
}

/* Runs from step e->done on, until something ends it. */
static void run_on(execution *e)
{
    e->outcome = NNF_DONE;
    if (e->times_ns)
        e->last_ns = nnf_now_ns();
    if (e->threads <= 1)
        body(e, 0, 1);
    else
        nnf_team_run(body, e, e->threads, e->spin_us);
}

/* Likewise, once the execution's client may use the cores. */
static void run_fairly(execution *e, nnf_client *client)
{
    e->outcome = nnf_fair_enter(client, e->threads, e->run->turn->priority, e->cancel, e->deadline_ns);
    if (e->outcome != NNF_DONE)
        return;
    e->began_ns = nnf_now_ns();
    run_on(e);
    nnf_fair_leave(client, e->threads, nnf_now_ns() - e->began_ns);
}

int nnf_program_run(const nnf_program *program, const nnf_run *run, int threads, int spin_us,
                    const int *cancel, int64_t deadline_ns, int64_t *times_ns, size_t *done)
{
    execution e = {.program = program, .run = run, .cancel = cancel, .deadline_ns = deadline_ns,
                   .times_ns = times_ns, .spin_us = spin_us};
    e.threads = program->threads < threads ? program->threads : threads;
    if (run->declined)
        *run->declined = 0;
    if (!run->turn) {
        run_on(&e);
    } else {
        nnf_gate_enter(run->turn, e.threads);
        do {
            e.outcome = nnf_gate_wait(run->turn, e.threads, cancel, deadline_ns);
            if (e.outcome == NNF_DONE && run->turn->gate->client)
                run_fairly(&e, run->turn->gate->client);
            else if (e.outcome == NNF_DONE)
                run_on(&e);
        } while (e.outcome == YIELDED);
        nnf_gate_leave(run->turn, e.threads);
    }
    *done = e.done;
    return e.outcome;
}
