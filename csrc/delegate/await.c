#define _GNU_SOURCE
#include "await.h"

#include <poll.h>
#include <sched.h>
#include <time.h>

#include "nnf/clock.h"

enum {
    EARLY_NS = 100000, /* the kernel ends a sleep up to 50 us late, and waking takes as long */
    LATE_NS = 100000,
    SPREAD = 16,      /* looks begin and end this part of the usual time earlier and later than that */
    WEIGHT = 8,       /* one part in so many of the average is the last wait */
    MOST_USELESS = 8, /* at most 2^8 - 1 waits sleep before one looks again */
};

struct dlg_waiting dlg_waiting_of(int num_threads)
{
    cpu_set_t processors;
    const bool is_known = !sched_getaffinity(0, sizeof processors, &processors);
    return (struct dlg_waiting){.may_look = is_known && num_threads && num_threads < CPU_COUNT(&processors)};
}

static bool has_answer(int socket, int64_t timeout_ns)
{
    struct pollfd event = {.fd = socket, .events = POLLIN};
    struct timespec timeout = {timeout_ns / 1000000000, timeout_ns % 1000000000};
    return ppoll(&event, 1, timeout_ns < 0 ? NULL : &timeout, NULL) != 0; /* an interrupt or error: the read tells */
}

void dlg_await(struct dlg_waiting *waiting, int socket)
{
    if (!waiting->may_look)
        return;
    const int64_t began = nnf_now_ns(), spread = waiting->usual_ns / SPREAD;
    bool is_there = false;
    if (waiting->resting) {
        waiting->resting--;
    } else if (waiting->usual_ns) {
        const int64_t sleep_ns = waiting->usual_ns - spread - EARLY_NS;
        const int64_t end = began + waiting->usual_ns + spread + LATE_NS;
        is_there = sleep_ns > 0 && has_answer(socket, sleep_ns);
        while (!is_there && nnf_now_ns() < end)
            is_there = has_answer(socket, 0);
        waiting->useless = is_there ? 0 : waiting->useless + (waiting->useless < MOST_USELESS);
        waiting->resting = (1u << waiting->useless) - 1;
    }
    if (!is_there)
        has_answer(socket, -1);
    const int64_t took = nnf_now_ns() - began;
    waiting->usual_ns += waiting->usual_ns ? (took - waiting->usual_ns) / WEIGHT : took;
}
