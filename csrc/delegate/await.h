/* Waiting for the results of runs. Who sleeps on an idle processor wakes some 50 us late; a run with fewer threads than
 * there are processors leaves one that can look for its results from shortly before they usually come. */
#ifndef DELEGATE_AWAIT_H
#define DELEGATE_AWAIT_H

#include <stdbool.h>
#include <stdint.h>

/* usual_ns: from call to answer, a moving average, 0 before the first; useless: times in a row that looking was in vain,
 * resting: waits that sleep before the next look. */
struct dlg_waiting {
    bool may_look;
    int64_t usual_ns;
    unsigned useless, resting;
};

/* How runs of so many threads wait; 0: as many as there are processors. */
struct dlg_waiting dlg_waiting_of(int num_threads);

/* Returns when a socket has an answer, or nothing is known about when it comes: the caller's read waits for the rest. */
void dlg_await(struct dlg_waiting *waiting, int socket);

#endif
