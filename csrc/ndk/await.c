#define _GNU_SOURCE
#include "await.h"

#include <sched.h>

#include "nnf/clock.h"

enum {
    EARLY_NS = 100000, /* the kernel ends a sleep up to 50 us late, and waking takes as long */
    LATE_NS = 100000,
    AWAY_NS = 50000,  /* between two looks: others had this processor */
    SPREAD = 16,      /* looks begin and end this part of the usual time earlier and later than that */
    WEIGHT = 8,       /* one part in so many of the average is the last wait */
    MOST_USELESS = 8, /* at most 2^8 - 1 waits sleep before one looks again */
};

struct ndk_waiting ndk_waiting_of(int64_t num_threads)
{
    cpu_set_t processors;
    const bool is_known = !sched_getaffinity(0, sizeof processors, &processors);
    return (struct ndk_waiting){.may_look = is_known && num_threads > 0 && num_threads < CPU_COUNT(&processors)};
}

/* Looks until there is an answer, the time is up, or others want this processor. */
static bool look(ndk_has_answer *has_answer, void *of, int64_t until_ns)
{
    for (int64_t now = nnf_now_ns(), before = now; now < until_ns && now - before < AWAY_NS;
         before = now, now = nnf_now_ns()) {
        if (has_answer(of, 0))
            return true;
        nnf_pause();
    }
    return false;
}

bool ndk_await(struct ndk_waiting *waiting, ndk_has_answer *has_answer, void *of)
{
    if (!waiting->may_look)
        return false;
    waiting->began_ns = nnf_now_ns();
    if (waiting->resting) {
        waiting->resting--;
        return false;
    }
    if (!waiting->usual_ns)
        return false;
    const int64_t spread = waiting->usual_ns / SPREAD, sleep_ns = waiting->usual_ns - spread - EARLY_NS;
    const bool is_there = (sleep_ns > 0 && has_answer(of, sleep_ns)) ||
                          look(has_answer, of, waiting->began_ns + waiting->usual_ns + spread + LATE_NS);
    waiting->useless = is_there ? 0 : waiting->useless + (waiting->useless < MOST_USELESS);
    waiting->resting = (1u << waiting->useless) - 1;
    return is_there;
}

void ndk_awaited(struct ndk_waiting *waiting)
{
    if (!waiting->may_look)
        return;
    const int64_t took = nnf_now_ns() - waiting->began_ns;
    waiting->usual_ns += waiting->usual_ns ? (took - waiting->usual_ns) / WEIGHT : took;
}
