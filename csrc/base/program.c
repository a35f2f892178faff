#define _GNU_SOURCE
#include "nnf/program.h"

#include "nnf/clock.h"
#include "nnf/gate.h"
#include "nnf/room.h"

enum {
    YIELDED = NNF_DECLINED + 1, /* between two steps, for an execution of higher priority or of another client */
    MOST_SHARES = 64            /* of a step that is divided into parts: threads beyond that do whole steps */
};

static nnf_room room;

typedef struct execution {
    const nnf_program *program;
    nnf_run run;
    nnf_middle middle;
    int64_t *times_ns;
    int64_t last_ns;
    int spin_us;
    int threads; /* that it asks for */
    int granted; /* that it runs on: fewer where others have some of the cores */
    bool divides; /* something may stop it: long steps are done in parts */
    int outcome;
    size_t done; /* steps; as the outcome, it changes between two of them */
    nnf_history *history; /* NULL: a run on one thread, or nobody keeps it */
    int wanted;           /* threads, were there no others */
    int64_t waited_ns;    /* by the caller for other threads, beyond spin_us each time */
    int64_t ran_ns;       /* without waiting for a turn */
    int32_t at[MOST_SHARES]; /* the first part of each thread's share of the step that is not done */
} execution;

static bool must_yield(const nnf_run *run)
{
    const nnf_middle *m = run->middle;
    nnf_client *client = run->turn->gate->client;
    return nnf_gate_closed(run->turn, m->threads) ||
           (client && nnf_fair_is_due(client, m->threads, m->wanted, m->began_ns));
}

/* Why an execution should not go on now; NNF_DONE where nothing is in its way. */
static int reason(const nnf_run *run)
{
    const nnf_middle *m = run->middle;
    if (nnf_cancelled(m->cancel))
        return NNF_CANCELLED;
    if (m->deadline_ns && nnf_now_ns() >= m->deadline_ns)
        return NNF_DEADLINE;
    return run->turn && must_yield(run) ? YIELDED : NNF_DONE;
}

int nnf_step_leaves(const nnf_run *run)
{
    nnf_middle *m = run->middle;
    if (!m)
        return 0;
    if (atomic_load_explicit(&m->left, memory_order_relaxed))
        return 1;
    if (reason(run) == NNF_DONE)
        return 0;
    atomic_store_explicit(&m->left, 1, memory_order_relaxed);
    return 1;
}

/* Behind the last step that shares go on to from step e->done without a meeting: only that one where somebody wants to
 * know the time of each step, or where it is a long one that something may stop. */
static size_t round_end(const execution *e, int shares)
{
    const nnf_step *steps = e->program->steps, *first = &steps[e->done];
    size_t end = e->done + 1;
    if (shares == 1 || e->times_ns || !nnf_step_is_even(first, shares) || (e->divides && first->parts > 1))
        return end;
    while (end < e->program->count && steps[end].follows && !(e->divides && steps[end].parts > 1))
        end++;
    return end;
}

/* What has to happen behind the round of step e->done, or where it was left, once for the whole team. */
static void between(execution *e, int threads)
{
    const size_t step = e->done;
    nnf_middle *m = &e->middle;
    if (e->times_ns) {
        const int64_t now = nnf_now_ns();
        e->times_ns[step] = (m->shares ? e->times_ns[step] : 0) + now - e->last_ns;
        e->last_ns = now;
    }
    if (atomic_load_explicit(&m->left, memory_order_relaxed)) {
        atomic_store_explicit(&m->left, 0, memory_order_relaxed);
        m->shares = m->shares ? m->shares : threads;
        e->outcome = reason(&e->run);
        if (e->outcome == NNF_DONE)
            e->outcome = YIELDED; /* what was in the way has gone meanwhile: the gate lets it pass */
        return;
    }
    m->shares = 0;
    e->done = round_end(e, threads);
    if (e->run.declined && __atomic_load_n(e->run.declined, __ATOMIC_RELAXED))
        e->outcome = NNF_DECLINED;
    else if (e->done < e->program->count)
        e->outcome = reason(&e->run);
}

/* A thread's share of a step in `each` parts, with a look between two of them. */
static void do_parts(execution *e, const nnf_step *step, int32_t each, int thread, int threads)
{
    const int shares = nnf_step_shares(&e->run, threads);
    for (int share = thread; share < shares; share += threads) {
        int32_t *at = &e->at[share];
        if (!nnf_step_returns(&e->run))
            *at = 0;
        while (*at < each) {
            const int part = share * each + *at;
            nnf_run run = e->run;
            /* The step takes the part for a thread: its scratch is this thread's. */
            run.scratch -= (ptrdiff_t)run.scratch_stride * (part - thread);
            step->fn(step, &run, part, shares * each);
            ++*at;
            if (*at < each && nnf_step_leaves(&e->run))
                return;
        }
    }
}

static void do_step(execution *e, const nnf_step *step, int thread, int threads)
{
    if (e->divides && step->parts > 1) {
        /* The threads that began it, each with its share of the parts. */
        const int shares = nnf_step_shares(&e->run, threads);
        const int32_t each = step->parts / shares;
        if (each > 1 && shares <= MOST_SHARES) {
            do_parts(e, step, each, thread, threads);
            return;
        }
    }
    step->fn(step, &e->run, thread, threads);
}

static void do_share(void *argument, int share, int shares)
{
    execution *e = argument;
    const size_t end = round_end(e, shares);
    for (size_t step = e->done; step < end; step++)
        do_step(e, &e->program->steps[step], share, shares);
}

/* After a step, or where it was left: whether another one follows. */
static int next_step(void *argument, int shares)
{
    execution *e = argument;
    between(e, shares);
    return e->outcome == NNF_DONE && e->done < e->program->count;
}

/* Runs from step e->done on, until something ends it. */
static void run_on(execution *e)
{
    const int64_t began = e->history || e->times_ns ? nnf_now_ns() : 0;
    e->outcome = NNF_DONE;
    e->last_ns = began;
    const nnf_team_run_fn team = e->run.team && e->granted > 1 ? e->run.team : nnf_team_run;
    if (e->done < e->program->count)
        team(do_share, next_step, e, e->granted, e->spin_us, &e->waited_ns);
    if (e->history)
        e->ran_ns += nnf_now_ns() - began;
}

/* Likewise, once the execution's client may use the cores. */
static void run_fairly(execution *e, nnf_client *client)
{
    nnf_middle *m = &e->middle;
    e->granted = e->threads;
    e->outcome = nnf_fair_enter(client, &e->granted, e->run.turn->priority, m->cancel, m->deadline_ns);
    if (e->outcome != NNF_DONE)
        return;
    m->threads = e->granted;
    m->began_ns = nnf_now_ns();
    run_on(e);
    nnf_fair_leave(client, e->granted, nnf_now_ns() - m->began_ns);
}

int nnf_program_run(const nnf_program *program, const nnf_run *run, int threads, int spin_us,
                    const int *cancel, int64_t deadline_ns, int64_t *times_ns, size_t *done)
{
    const int wanted = program->threads < threads ? program->threads : threads;
    nnf_history *history = wanted > 1 ? program->history : NULL;
    const int useful = history && !times_ns ? nnf_room_wanted(history, wanted) : wanted;
    const int most = history && useful > 1 ? nnf_room_advised(&room, wanted, nnf_now_ns()) : useful;
    nnf_client *client = run->turn ? run->turn->gate->client : NULL;
    execution e = {.program = program, .run = *run, .threads = most, .granted = most, .times_ns = times_ns,
                   .spin_us = spin_us, .wanted = wanted, .history = history,
                   .divides = client || cancel || deadline_ns,
                   .middle = {.cancel = cancel, .deadline_ns = deadline_ns, .threads = most, .wanted = most}};
    e.run.middle = &e.middle;
    if (run->declined)
        *run->declined = 0;
    if (!run->turn) {
        do
            run_on(&e);
        while (e.outcome == YIELDED);
    } else {
        nnf_gate_enter(run->turn, e.threads);
        do {
            e.outcome = nnf_gate_wait(run->turn, e.threads, cancel, deadline_ns);
            if (e.outcome == NNF_DONE && client)
                run_fairly(&e, client);
            else if (e.outcome == NNF_DONE)
                run_on(&e);
        } while (e.outcome == YIELDED);
        nnf_gate_leave(run->turn, e.threads);
    }
    if (e.history && e.outcome == NNF_DONE)
        nnf_room_learn(&room, history, e.granted, wanted, e.waited_ns, e.ran_ns, nnf_now_ns());
    *done = e.done;
    return e.outcome;
}
