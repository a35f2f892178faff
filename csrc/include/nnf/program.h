/* Runs a list of steps on a team: the whole native part of an execution in one call. */
#ifndef NNF_PROGRAM_H
#define NNF_PROGRAM_H

#include "nnf/step.h"
#include "nnf/team.h"

enum nnf_outcome { NNF_DONE = 0, NNF_CANCELLED = 1, NNF_DEADLINE = 2, NNF_DECLINED = 3 };

typedef struct nnf_program {
    const nnf_step *steps;
    size_t count;
    int threads; /* most that any step can use */
} nnf_program;

/* Runs all steps in order; thread t+1 of a step sees everything that the step before wrote.
 *   cancel       read atomically between steps, nonzero stops; NULL = never
 *   deadline_ns  on nnf_now_ns()'s clock, checked between steps; 0 = none
 *   times_ns     [count] duration of each step, or NULL (no clock is read then)
 * An execution that has a turn waits, before and between steps, while those of higher priority need the cores.
 * Returns enum nnf_outcome; *done is the number of steps that ran, the last of them the one that declined. */
int nnf_program_run(const nnf_program *program, const nnf_run *run, int threads, int spin_us,
                    const int *cancel, int64_t deadline_ns, int64_t *times_ns, size_t *done);

#endif
