/* Runs a list of steps on a team: the whole native part of an execution in one call. */
#ifndef NNF_PROGRAM_H
#define NNF_PROGRAM_H

#include "nnf/outcome.h"
#include "nnf/room.h"
#include "nnf/step.h"
#include "nnf/team.h"

typedef struct nnf_program {
    const nnf_step *steps;
    size_t count;
    int threads; /* most that any step can use */
    nnf_history *history; /* NULL: none is kept, and runs take all threads */
} nnf_program;

/* A long step may stop halfway, for an execution that is cancelled, late or in the way of others. Its threads
 * ask nnf_step_leaves between parts of their shares, each after at least one, and return when it says so; where they
 * were, they keep in their scratch. The step is then called again, on fewer threads perhaps, or never.
 *
 * A step that says into how many parts it may be divided need not know of this: nnf_program_run calls it once for each
 * part, as if there were that many threads, where something could stop it. */
typedef struct nnf_middle {
    const int *cancel;
    int64_t deadline_ns;
    int64_t began_ns; /* when the execution was let in, where clients share the cores */
    int threads;      /* that the gate counts */
    int wanted;       /* that it would run on if there were cores */
    int shares;       /* threads that began the step, each with its share; 0: this is its beginning */
    _Atomic int left; /* some thread has returned with a part of its share undone */
} nnf_middle;

int nnf_step_leaves(const nnf_run *run);

/* Threads whose shares a step has to finish: thread t of n does those of t, t + n, ... */
static inline int nnf_step_shares(const nnf_run *run, int threads)
{
    return run->middle && run->middle->shares ? run->middle->shares : threads;
}

/* Whether it goes on with what was left. */
static inline int nnf_step_returns(const nnf_run *run)
{
    return run->middle && run->middle->shares;
}

/* Runs all steps in order; thread t+1 of a step sees everything that the step before wrote.
 *   cancel       read atomically between steps, nonzero stops; NULL = never
 *   deadline_ns  on nnf_now_ns()'s clock, checked between steps; 0 = none
 *   times_ns     [count] duration of each step, or NULL (no clock is read then)
 * An execution that has a turn waits, before and between steps, while those of higher priority need the cores.
 * "Between steps" is also where a step asks nnf_step_leaves.
 * Returns enum nnf_outcome; *done is the number of steps that ran, the last of them the one that declined. */
int nnf_program_run(const nnf_program *program, const nnf_run *run, int threads, int spin_us,
                    const int *cancel, int64_t deadline_ns, int64_t *times_ns, size_t *done);

#endif
