/* How many threads runs should take beside other processes. A thread that the system has put aside in the middle of a
 * share, or at OpenMP's end of a run, holds up the others; so a run that was held up has the next ones take a thread less
 * for some milliseconds, for longer each time that this happens again, and a run that was not lets them take another one.
 * Zero-initialised; any thread may call at any time. */
#ifndef NNF_ROOM_H
#define NNF_ROOM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct nnf_room {
    _Atomic int32_t fewer; /* threads less than NNF_TEAM_MAX that had nobody late */
    _Atomic int64_t grows_ns, pause_ns;
} nnf_room;

/* What the runs of one program that could use several threads have met so far; zero-initialised, all atomic. */
typedef struct nnf_history {
    int64_t least_wait_ns;    /* of the caller for other threads; from 1 on, 0: no run yet */
    int64_t full_ns, fewer_ns; /* recent average of runs on all threads wanted, and on fewer; 0: none */
    int64_t tried_full_ns, tried_alone_ns; /* least of the runs on all threads and on one since it was tried; 0: none */
    uint32_t held_up;          /* runs that were held up although fewer threads take longer */
    uint32_t runs;
    bool had_fewer;            /* the last one ran on fewer */
} nnf_history;

/* Threads of those wanted that the next run of a program should take, room or not: one if that is faster, which short
 * programs try behind their first runs, and at times again. Threads meet at each step, which takes longer than many
 * steps do. */
int nnf_room_wanted(nnf_history *history, int wanted);

/* Threads of those wanted that a run should take now, at least 1. */
int nnf_room_advised(const nnf_room *room, int wanted, int64_t now_ns);

/* A run on more than one thread has ended, and was held up by a late one or not. */
void nnf_room_judge(nnf_room *room, int threads, bool was_late, int64_t now_ns);

/* A run on `threads` of those wanted has ended, whose caller waited so long for others: judges whether it was held up, and
 * whether fewer threads are worth it. Where every processor is in use, more threads get more of them although each
 * meeting waits: so runs take fewer only if they are not slower so, which is tried at times. The first run on all threads
 * after one on fewer says nothing: those left out have slept meanwhile, and had to be woken. */
void nnf_room_learn(nnf_room *room, nnf_history *history, int threads, int wanted, int64_t waited_ns, int64_t ran_ns,
                    int64_t now_ns);

#endif
