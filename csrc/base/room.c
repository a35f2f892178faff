#include "nnf/room.h"

#include "nnf/team.h"

enum { LEAST_PAUSE_NS = 4000000, MOST_PAUSE_NS = 256000000 };

static int least_late(const nnf_room *room)
{
    return NNF_TEAM_MAX - atomic_load_explicit(&room->fewer, memory_order_relaxed);
}

int nnf_room_advised(const nnf_room *room, int wanted, int64_t now_ns)
{
    const int most = least_late(room);
    if (wanted <= most)
        return wanted;
    return now_ns < atomic_load_explicit(&room->grows_ns, memory_order_relaxed) ? most : most + 1;
}

/* Runs that judge at once overwrite each other's word: any of them is good advice. */
void nnf_room_judge(nnf_room *room, int threads, bool was_late, int64_t now_ns)
{
    if (!was_late && threads <= least_late(room))
        return;
    int64_t pause = atomic_load_explicit(&room->pause_ns, memory_order_relaxed);
    pause = was_late ? pause * 2 : pause / 2;
    pause = pause < LEAST_PAUSE_NS ? LEAST_PAUSE_NS : pause > MOST_PAUSE_NS ? MOST_PAUSE_NS : pause;
    atomic_store_explicit(&room->pause_ns, pause, memory_order_relaxed);
    if (was_late)
        atomic_store_explicit(&room->grows_ns, now_ns + pause, memory_order_relaxed);
    atomic_store_explicit(&room->fewer, NNF_TEAM_MAX - threads + was_late, memory_order_relaxed);
}
