/* A prepared step and the execution it runs in. */
#ifndef NNF_STEP_H
#define NNF_STEP_H

#include <stddef.h>
#include <stdint.h>

struct nnf_turn;
struct nnf_middle;

/* A share of work; what comes between two rounds of shares, 0 after the last; and how a team has them done (team.h). */
typedef void (*nnf_team_fn)(void *argument, int share, int shares);
typedef int (*nnf_team_next_fn)(void *argument, int shares);
typedef int (*nnf_team_run_fn)(nnf_team_fn fn, nnf_team_next_fn next, void *argument, int threads, int spin_us,
                               int64_t *waited_ns);

/* One running execution as a step sees it. */
typedef struct nnf_run {
    void *const *slot;     /* address of each slot: operands, temporaries, constants */
    unsigned char *scratch; /* thread t owns scratch + t * scratch_stride, 64-byte aligned */
    size_t scratch_stride;
    int *declined; /* nonzero once a step has declined; a program without such steps may have NULL */
    const struct nnf_turn *turn; /* priority of the execution (gate.h); NULL: it neither waits nor makes others wait */
    nnf_team_run_fn team;      /* on whose threads it runs; NULL: nnf_team_run */
    struct nnf_middle *middle; /* for steps that can stop halfway (program.h); nnf_program_run sets it */
} nnf_run;

typedef struct nnf_step nnf_step;

/* Does share `thread` of the step's `threads`; each is done once, by any thread, several perhaps by one. Allocates
 * nothing. It cannot fail, but it may decline the values that it finds, and leave its outputs as they come. */
typedef void (*nnf_step_fn)(const nnf_step *step, const nnf_run *run, int thread, int threads);

struct nnf_step {
    nnf_step_fn fn;
    const void *params;    /* the family's own struct, owned by the Step object */
    const int32_t *slots;  /* slot numbers, in the order the family documents */
    int32_t parts;         /* into which it may be divided, each a fraction of a millisecond; 0 or 1: none */
    int32_t pieces;        /* equal ones of its tensors, which even shares (below) do not cut; 0: shares are never even */
    int32_t follows;       /* nonzero: even shares read, of what steps wrote since threads met, only what shares of their
                            * own number did, and write nothing that others still read; pieces are those of the step
                            * before */
};

/* Whether shares are even: the t-th of n writes the t-th n-th of the output. */
static inline int nnf_step_is_even(const nnf_step *step, int threads)
{
    return step->pieces && step->pieces % threads == 0;
}

/* A step declines: the program stops behind it, for the reference of its operation to compute it, or to refuse. */
static inline void nnf_decline(const nnf_run *run)
{
    __atomic_store_n(run->declined, 1, __ATOMIC_RELAXED);
}

/* Items first..last of `count` that thread `thread` of `threads` does, in equal shares. */
static inline void nnf_share(size_t count, int thread, int threads, size_t *first, size_t *last)
{
    if (threads == 1) { /* a small step does not wait for divisions */
        *first = 0;
        *last = count;
        return;
    }
    const size_t each = count / (size_t)threads, extra = count % (size_t)threads, t = (size_t)thread;
    *first = t * each + (t < extra ? t : extra);
    *last = *first + each + (t < extra ? 1 : 0);
}

/* The same in whole runs of NNF_RUN items, but for what is left at the end: vectors of a share begin where those of the
 * whole do. */
enum { NNF_RUN = 64 };

static inline void nnf_share_runs(size_t count, int thread, int threads, size_t *first, size_t *last)
{
    nnf_share((count + NNF_RUN - 1) / NNF_RUN, thread, threads, first, last);
    *first = *first * NNF_RUN < count ? *first * NNF_RUN : count;
    *last = *last * NNF_RUN < count ? *last * NNF_RUN : count;
}

#endif
