/* How an execution ends, and the flag that cancels it. */
#ifndef NNF_OUTCOME_H
#define NNF_OUTCOME_H

enum nnf_outcome { NNF_DONE = 0, NNF_CANCELLED = 1, NNF_DEADLINE = 2, NNF_DECLINED = 3 };

/* The flag of a cancelled execution, which one thread sets while others look at it; NULL: never. */
static inline void nnf_cancel(int *flag)
{
    __atomic_store_n(flag, 1, __ATOMIC_RELAXED);
}

static inline int nnf_cancelled(const int *flag)
{
    return flag && __atomic_load_n(flag, __ATOMIC_RELAXED);
}

#endif
