#define _GNU_SOURCE
#include "nnf/slice.h"

#include <sched.h>
#include <sys/resource.h>
#include <time.h>

#include "nnf/clock.h"

enum {
    SHORT_NS = 10000, /* reading the clock takes less than a hundredth of this */
    MOST_SHORT = 16,  /* shares between two readings */
    LOOK_NS = 250000,
    AWAY_NS = 100000,      /* beyond what interrupts take */
    ASK_NS = 1500000,      /* a slice of Linux 6.18 is 1.4 ms on two processors, longer on more */
    LEAST_LONG_NS = 3000000
};

bool nnf_slice_looks(nnf_slice *slice, int64_t now_ns)
{
    if (now_ns - slice->read_ns >= SHORT_NS)
        slice->each = 1;
    else if (slice->each < MOST_SHORT)
        slice->each++;
    slice->left = slice->each;
    slice->read_ns = now_ns;
    return now_ns - slice->looked_ns >= LOOK_NS;
}

/* The system looks by itself at ticks, whatever the thread does then: it goes before the next one. */
static int64_t long_ns(int64_t tick_ns)
{
    return tick_ns / 4 * 3 > LEAST_LONG_NS ? tick_ns / 4 * 3 : LEAST_LONG_NS;
}

nnf_slice_step nnf_slice_next(nnf_slice *slice, int64_t now_ns, int64_t absences, int64_t tick_ns)
{
    slice->looked_ns = now_ns;
    if (absences != slice->absences)
        slice->began_ns = now_ns;
    slice->absences = absences;
    const int64_t had = now_ns - slice->began_ns;
    return had < ASK_NS ? NNF_SLICE_KEEP : had < long_ns(tick_ns) ? NNF_SLICE_ASK : NNF_SLICE_YIELD;
}

void nnf_slice_begin(nnf_slice *slice, int64_t now_ns)
{
    slice->began_ns = slice->looked_ns = now_ns;
}

static int64_t in_ns(const struct timespec *t)
{
    return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}

static int64_t tick_ns(void)
{
    static int64_t known;
    int64_t tick = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (!tick) {
        struct timespec t;
        tick = clock_getres(CLOCK_MONOTONIC_COARSE, &t) == 0 ? in_ns(&t) : 1; /* this clock moves at ticks */
        __atomic_store_n(&known, tick, __ATOMIC_RELAXED);
    }
    return tick;
}

/* Reading the thread's processor time brings the system's account of it up to date. Linux 6.6 and later then finds, as at
 * a tick, whether the slice is over, and gives the processor to whoever has had less of it: nobody loses by that, while
 * sched_yield() costs the thread the rest of its slice where it had more to come (Linux 6.18). */
static void ask(void)
{
    struct timespec unused;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &unused);
}

void nnf_slice_pause(void)
{
    static _Thread_local nnf_slice slice;
    if (!nnf_slice_reads(&slice))
        return;
    const int64_t now = nnf_now_ns();
    if (!nnf_slice_looks(&slice, now))
        return;
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    const nnf_slice_step step = nnf_slice_next(&slice, now, usage.ru_nvcsw + usage.ru_nivcsw, tick_ns());
    if (step == NNF_SLICE_KEEP)
        return;
    ask();
    slice.looked_ns = nnf_now_ns();
    if (step == NNF_SLICE_YIELD && slice.looked_ns - now < AWAY_NS) {
        sched_yield();
        nnf_slice_begin(&slice, nnf_now_ns());
    }
}
