/* Fair share between clients: while their executions want more cores than there are, the client that has used the
 * least goes next, and an execution of one that has used more stops for it between two steps. */
#ifndef NNF_FAIR_H
#define NNF_FAIR_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct nnf_waiter;

/* One for all clients that compete. */
typedef struct nnf_fair {
    pthread_mutex_t mutex;
    int32_t capacity;          /* cores */
    _Atomic int32_t running;   /* threads of the executions that have been let in */
    struct nnf_waiter *first;  /* in no order */
    _Atomic uint32_t waiting;  /* how many there are, for a look without the mutex */
    int64_t floor_ns;          /* share of the last one let in after a wait, or that left the cores idle; it grows */
    int64_t moved_ns;          /* when an execution was let in, or stopped, last */
    _Atomic uint32_t forks;    /* of the process whose executions are counted */
} nnf_fair;

/* One client; zero-initialised but for `fair`. All but that under the mutex. */
typedef struct nnf_client {
    nnf_fair *fair;
    int64_t share_ns; /* core time used, kept near the floor: nobody saves up or pays back much */
    int64_t used_ns;  /* core time used */
    int32_t active;   /* executions that wait or run */
    int32_t running;  /* those that run */
    uint32_t forks;   /* of the process whose executions are counted */
} nnf_client;

void nnf_fair_init(nnf_fair *fair, int32_t capacity);

/* Waits until an execution that wants *threads may run, and says in *threads on how many: on those cores that are free;
 * one that wants more than there are gets as many threads when it is alone. Among those of one client the higher
 * priority goes first. Whoever goes next waits 5 ms at most for those that run to stop, so that long steps cannot keep
 * the cores: the system then divides them. Looks every millisecond whether *cancel (NULL: never) or the deadline
 * (0: none) ends the wait. Returns enum nnf_outcome (program.h); only after NNF_DONE the caller must leave, and not in a
 * process that was forked meanwhile. */
int nnf_fair_enter(nnf_client *client, int *threads, int priority, const int *cancel, int64_t deadline_ns);

/* The execution has stopped after `spent_ns` on so many threads. */
void nnf_fair_leave(nnf_client *client, int threads, int64_t spent_ns);

/* Whether an execution that has run on so many threads since `began_ns`, and wanted more perhaps, should stop: to let
 * another client go first, or to come back for cores that are free now. */
bool nnf_fair_is_due(nnf_client *client, int threads, int wanted, int64_t began_ns);

/* Executions that wait. */
static inline int nnf_fair_waiting(nnf_fair *fair)
{
    return (int)atomic_load_explicit(&fair->waiting, memory_order_relaxed);
}

/* Core time that the client has used. */
int64_t nnf_fair_used_ns(nnf_client *client);

#endif
