/* A thread's slice of time on a processor that others want too. The system takes the processor away after some
 * milliseconds, mostly in the middle of a share of work, which the other threads of the run then wait for. A thread that
 * lets it do so a little earlier, between two shares, leaves all of them to the others. */
#ifndef NNF_SLICE_H
#define NNF_SLICE_H

#include <stdbool.h>
#include <stdint.h>

/* Zero-initialised. All times in nanoseconds, on nnf_now_ns()'s clock. */
typedef struct nnf_slice {
    int32_t each, left; /* the clock, which costs as much as a small share, is read once in `each` shares */
    int64_t read_ns;    /* when it was last */
    int64_t looked_ns;  /* when `absences` was read */
    int64_t absences;   /* times that the thread had left its processor, or lost it */
    int64_t began_ns;   /* when that had changed: the thread has been on its processor since then, at least */
} nnf_slice;

typedef enum nnf_slice_step {
    NNF_SLICE_KEEP,
    NNF_SLICE_ASK,  /* let the system look whether the slice is over */
    NNF_SLICE_YIELD /* likewise, and give up the processor if it finds that it is not */
} nnf_slice_step;

/* Before a share, whether to read the clock. */
static inline bool nnf_slice_reads(nnf_slice *slice)
{
    return --slice->left <= 0;
}

/* Whether to look at the absences as well: not so soon after the last time. */
bool nnf_slice_looks(nnf_slice *slice, int64_t now_ns);

/* With these: what to do. tick_ns: time between two looks of the system at who runs. */
nnf_slice_step nnf_slice_next(nnf_slice *slice, int64_t now_ns, int64_t absences, int64_t tick_ns);

/* After a NNF_SLICE_YIELD: the thread has its processor again. */
void nnf_slice_begin(nnf_slice *slice, int64_t now_ns);

/* Gives up the processor where this thread's slice is over and others want it, and returns when it is its turn again. For
 * threads that hold nothing that others wait for. */
void nnf_slice_pause(void);

#endif
