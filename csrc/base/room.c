#include "nnf/room.h"

#include "nnf/team.h"

enum {
    LEAST_PAUSE_NS = 4000000,
    MOST_PAUSE_NS = 256000000,
    LATE_NS = 300000,  /* beyond what waking a thread takes */
    AVERAGE_RUNS = 16, /* about as many runs make an average of recent ones */
    TRIED_RUNS = 16,   /* one of so many late runs has fewer threads tried */
    SHORT_NS = 1000000, /* of a run: a longer one gains by threads */
    WARM_RUNS = 100,   /* until new threads have processors of their own */
    TRIAL_RUNS = 16,   /* on all threads, then as many on one ... */
    TRIAL_EVERY = 1024 /* ... one time in so many runs */
};

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

static int64_t average(int64_t *kept, int64_t value)
{
    const int64_t before = __atomic_load_n(kept, __ATOMIC_RELAXED);
    const int64_t now = before ? before + (value - before) / AVERAGE_RUNS : value;
    __atomic_store_n(kept, now, __ATOMIC_RELAXED);
    return now;
}

int nnf_room_wanted(nnf_history *history, int wanted)
{
    const uint32_t run = __atomic_fetch_add(&history->runs, 1, __ATOMIC_RELAXED);
    if (run < WARM_RUNS)
        return wanted;
    const uint32_t at = (run - WARM_RUNS) % TRIAL_EVERY;
    const int64_t full = __atomic_load_n(&history->tried_full_ns, __ATOMIC_RELAXED);
    const int64_t alone = __atomic_load_n(&history->tried_alone_ns, __ATOMIC_RELAXED);
    if (at == 0)
        __atomic_store_n(&history->tried_full_ns, 0, __ATOMIC_RELAXED);
    if (at < TRIAL_RUNS || full > SHORT_NS)
        return wanted;
    if (at == TRIAL_RUNS)
        __atomic_store_n(&history->tried_alone_ns, 0, __ATOMIC_RELAXED);
    return at < 2 * TRIAL_RUNS || (alone && alone < full) ? 1 : wanted;
}

static void keep_least(int64_t *kept, int64_t value)
{
    const int64_t before = __atomic_load_n(kept, __ATOMIC_RELAXED);
    if (!before || value < before)
        __atomic_store_n(kept, value, __ATOMIC_RELAXED);
}

/* Whether the caller waited far longer than this program has it do: a thread that it waited for did not run. */
static bool was_held_up(nnf_history *history, int64_t waited_ns)
{
    int64_t *least = &history->least_wait_ns;
    const int64_t before = __atomic_load_n(least, __ATOMIC_RELAXED), waited = waited_ns + 1;
    if (!before || waited < before)
        __atomic_store_n(least, waited, __ATOMIC_RELAXED);
    return before && waited > before + before / 2 + LATE_NS;
}

void nnf_room_learn(nnf_room *room, nnf_history *history, int threads, int wanted, int64_t waited_ns, int64_t ran_ns,
                    int64_t now_ns)
{
    const bool had_fewer = __atomic_exchange_n(&history->had_fewer, threads < wanted, __ATOMIC_RELAXED);
    if (threads == wanted && had_fewer)
        return;
    const int64_t fewer = threads < wanted ? average(&history->fewer_ns, ran_ns)
                                           : __atomic_load_n(&history->fewer_ns, __ATOMIC_RELAXED);
    const int64_t full = threads == wanted ? average(&history->full_ns, ran_ns)
                                           : __atomic_load_n(&history->full_ns, __ATOMIC_RELAXED);
    if (threads == wanted)
        keep_least(&history->tried_full_ns, ran_ns);
    if (threads <= 1) {
        keep_least(&history->tried_alone_ns, ran_ns);
        return;
    }
    bool late = was_held_up(history, waited_ns);
    if (late && fewer > full)
        late = __atomic_add_fetch(&history->held_up, 1, __ATOMIC_RELAXED) % TRIED_RUNS == 0;
    nnf_room_judge(room, threads, late, now_ns);
}
