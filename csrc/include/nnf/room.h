/* How many threads runs should take beside others. A thread that the system has put aside holds up all that meet it; so
 * a run that was held up has the next ones take a thread less for some milliseconds, for longer each time that this
 * happens again, and a run that was not lets them take another one. Zero-initialised; any thread may call at any time. */
#ifndef NNF_ROOM_H
#define NNF_ROOM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct nnf_room {
    _Atomic int32_t fewer; /* threads less than NNF_TEAM_MAX that had nobody late */
    _Atomic int64_t grows_ns, pause_ns;
} nnf_room;

/* Threads of those wanted that a run should take now, at least 1. */
int nnf_room_advised(const nnf_room *room, int wanted, int64_t now_ns);

/* A run on more than one thread has ended, and was held up by a late one or not. */
void nnf_room_judge(nnf_room *room, int threads, bool was_late, int64_t now_ns);

#endif
