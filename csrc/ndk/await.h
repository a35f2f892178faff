/* Waiting for the results of runs. Who sleeps on an idle processor wakes 50 us late, and more where the processor slept
 * deeply; a run with fewer threads than there are processors leaves one that can look for its results from shortly
 * before they usually come. */
#ifndef NDK_AWAIT_H
#define NDK_AWAIT_H

#include <stdbool.h>
#include <stdint.h>

/* usual_ns: from call to answer, a moving average, 0 before the first; useless: times in a row that looking was in vain,
 * resting: waits that sleep before the next look. */
struct ndk_waiting {
    bool may_look;
    int64_t began_ns, usual_ns;
    unsigned useless, resting;
};

/* How runs of so many threads wait; 0: as many as there are processors. */
struct ndk_waiting ndk_waiting_of(int64_t num_threads);

/* Whether an answer is there, or comes within so many nanoseconds; 0: a look, which takes no longer than a system call. */
typedef bool ndk_has_answer(void *of, int64_t timeout_ns);

/* Waits until an answer is there, or nothing is known about when it comes; whether it is there. The caller waits for the
 * rest, and says when it has come, if there was no error. */
bool ndk_await(struct ndk_waiting *waiting, ndk_has_answer *has_answer, void *of);
void ndk_awaited(struct ndk_waiting *waiting);

#endif
