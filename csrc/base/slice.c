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
    AWAY_NS = 100000,        /* beyond what interrupts take */
    LEAST_LONG_NS = 2000000, /* Linux lets a thread run for 2 to 4 ms at least */
    WANTED_NS = 50000000
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

/* Who gets the processor then has it to a tick, and to the next one if that was too short: after half of one it is the
 * first, so that both have it for as long as without this. */
static int64_t long_ns(int64_t tick_ns)
{
    return tick_ns / 2 > LEAST_LONG_NS ? tick_ns / 2 : LEAST_LONG_NS;
}

bool nnf_slice_is_over(nnf_slice *slice, int64_t now_ns, int64_t used_ns, int64_t tick_ns)
{
    const int64_t spent = used_ns - slice->used_ns;
    if (now_ns - slice->looked_ns - spent > AWAY_NS)
        slice->began_ns = now_ns - spent; /* it was away, and came back then or later */
    slice->looked_ns = now_ns;
    slice->used_ns = used_ns;
    return now_ns - slice->began_ns >= long_ns(tick_ns);
}

bool nnf_slice_is_wanted(nnf_slice *slice, int64_t now_ns, int64_t times)
{
    if (times != slice->times)
        slice->taken_ns = now_ns;
    slice->times = times;
    return slice->taken_ns && now_ns - slice->taken_ns < WANTED_NS;
}

static int64_t in_ns(const struct timespec *t)
{
    return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}

static int64_t processor_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return in_ns(&t);
}

static int64_t times_taken(void)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nivcsw;
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

void nnf_slice_pause(void)
{
    static _Thread_local nnf_slice slice;
    if (!nnf_slice_reads(&slice))
        return;
    const int64_t now = nnf_now_ns();
    if (!nnf_slice_looks(&slice, now) || !nnf_slice_is_over(&slice, now, processor_ns(), tick_ns()) ||
        !nnf_slice_is_wanted(&slice, now, times_taken()))
        return;
    sched_yield();
    slice.began_ns = slice.looked_ns = nnf_now_ns();
    slice.used_ns = processor_ns();
}
