/* A thread's slice of time on a processor that others want too. The system takes the processor away after some
 * milliseconds, mostly in the middle of a share of work, which the other threads of the run then wait for. A thread that
 * gives it up a little earlier, between two shares, leaves all of them to the others. */
#ifndef NNF_SLICE_H
#define NNF_SLICE_H

#include <stdbool.h>
#include <stdint.h>

/* Zero-initialised. All times in nanoseconds, on nnf_now_ns()'s clock. */
typedef struct nnf_slice {
    int32_t each, left; /* the clock, which costs as much as a small share, is read once in `each` shares */
    int64_t read_ns;    /* when it was last */
    int64_t began_ns;   /* the thread has been on its processor since then, at least */
    int64_t looked_ns;  /* when `used_ns` was read */
    int64_t used_ns;    /* processor time of the thread */
    int64_t taken_ns;   /* when the processor was seen to have been taken away */
    int64_t times;      /* that it had been by then */
} nnf_slice;

/* Before a share, whether to read the clock. */
static inline bool nnf_slice_reads(nnf_slice *slice)
{
    return --slice->left <= 0;
}

/* Whether to read the thread's processor time as well: not so soon after the last time. */
bool nnf_slice_looks(nnf_slice *slice, int64_t now_ns);

/* With that time: whether the thread has had the processor for about as long as the system lets it. A tick is the time
 * between two looks of the system at who runs. */
bool nnf_slice_is_over(nnf_slice *slice, int64_t now_ns, int64_t used_ns, int64_t tick_ns);

/* With the number of times that the processor was taken away from the thread: whether others want it. Giving it up where
 * nobody does costs the thread its place in the next queue. */
bool nnf_slice_is_wanted(nnf_slice *slice, int64_t now_ns, int64_t times);

/* Gives up the processor where this thread's slice is over and others want it, and returns when it is its turn again. For
 * threads that hold nothing that others wait for. */
void nnf_slice_pause(void);

#endif
