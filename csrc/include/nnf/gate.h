/* Whose turn it is: executions of higher priority get the cores first, and lower ones stop for them between two steps
 * [NN 8.1]. */
#ifndef NNF_GATE_H
#define NNF_GATE_H

#include <stdatomic.h>
#include <stdint.h>

#include "nnf/fair.h"

enum { NNF_PRIORITIES = 3 }; /* 0 is the lowest */

/* One for all executions that compete; zero-initialised but for the capacity. */
typedef struct nnf_gate {
    _Atomic int32_t asked[NNF_PRIORITIES]; /* threads that the executions of each priority use, or wait for */
    _Atomic uint32_t changed;              /* raised whenever somebody leaves; futex word */
    _Atomic uint32_t sleepers;
    _Atomic uint32_t forks; /* of the process whose executions are counted */
    int32_t capacity;       /* threads for which there are cores */
    nnf_client *client;     /* whose executions these are, where several clients share the cores; else NULL */
} nnf_gate;

/* What one execution asks for. */
typedef struct nnf_turn {
    nnf_gate *gate;
    int32_t priority;
} nnf_turn;

/* Whether executions of higher priority leave no cores for `threads` more. */
static inline int nnf_gate_closed(const nnf_turn *turn, int threads)
{
    int32_t higher = 0;
    for (int p = turn->priority + 1; p < NNF_PRIORITIES; p++)
        higher += atomic_load_explicit(&turn->gate->asked[p], memory_order_relaxed);
    return higher > 0 && higher + threads > turn->gate->capacity;
}

/* An execution announces itself; from then on it counts, also while it waits. */
void nnf_gate_enter(const nnf_turn *turn, int threads);
void nnf_gate_leave(const nnf_turn *turn, int threads);

/* Waits while the gate is closed, and looks every millisecond whether *cancel (NULL: never) or the deadline (0: none)
 * ends the wait. Returns enum nnf_outcome (program.h). */
int nnf_gate_wait(const nnf_turn *turn, int threads, const int *cancel, int64_t deadline_ns);

#endif
