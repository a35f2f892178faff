#define _GNU_SOURCE
#include "nnf/team.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A thread of the team. It serves a meeting, whoever its work there belongs to, until it is sent to another one. */
typedef struct worker {
    struct worker *next_idle;
    _Atomic uintptr_t place; /* a meeting, and in the low bits a seat of it */
    cpu_set_t home;          /* processors it may use */
    _Atomic pid_t id;        /* 0 until the above is known */
} worker;

enum { SEATS = NNF_TEAM_MAX }; /* meetings are aligned to so many bytes: a seat fits below */
_Static_assert(sizeof(nnf_meeting) % SEATS == 0, "aligned_alloc takes multiples");

static pthread_mutex_t team_lock = PTHREAD_MUTEX_INITIALIZER;
static worker *idle_workers;
static nnf_meeting *idle_meetings; /* never freed: workers may look at them at any time */
static int worker_count;
static int worker_limit = NNF_TEAM_MAX - 1;
static int leased_count;
static _Atomic uint32_t forks;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

/* A forked child has none of the parent's threads: it forgets them (their memory stays with the parent's image). */
static void before_fork(void)
{
    pthread_mutex_lock(&team_lock);
}

static void after_fork_parent(void)
{
    pthread_mutex_unlock(&team_lock);
}

static void after_fork_child(void)
{
    idle_workers = NULL;
    idle_meetings = NULL;
    worker_count = 0;
    leased_count = 0;
    atomic_fetch_add(&forks, 1);
    pthread_mutex_unlock(&team_lock);
}

static void install_fork_handlers(void)
{
    pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

void nnf_team_watch_forks(void)
{
    pthread_once(&fork_once, install_fork_handlers);
}

uint32_t nnf_team_forks(void)
{
    return atomic_load_explicit(&forks, memory_order_relaxed);
}

void nnf_team_renew(_Atomic uint32_t *seen, void (*renew)(void *), void *what)
{
    if (atomic_load_explicit(seen, memory_order_acquire) == nnf_team_forks())
        return;
    pthread_mutex_lock(&team_lock);
    if (atomic_load_explicit(seen, memory_order_relaxed) != nnf_team_forks()) {
        renew(what);
        atomic_store_explicit(seen, nnf_team_forks(), memory_order_release);
    }
    pthread_mutex_unlock(&team_lock);
}

static nnf_meeting *meeting_of(uintptr_t place)
{
    return (nnf_meeting *)(place / SEATS * SEATS);
}

static int seat_of(uintptr_t place)
{
    return (int)(place % SEATS);
}

/* Wakes a worker that sleeps in a seat. It is often woken on the processor of the thread that wakes it, and waits there for
 * milliseconds while that thread works: so for as long as the system looks for a processor, it may not use that one. */
static void wake_elsewhere(worker *w, nnf_meeting *meeting, int seat)
{
    const pid_t id = atomic_load(&w->id);
    const int cpu = sched_getcpu();
    bool narrowed = false;
    if (id && cpu >= 0) {
        cpu_set_t others = w->home;
        CPU_CLR((size_t)cpu, &others);
        narrowed = CPU_COUNT(&others) > 0 && sched_setaffinity(id, sizeof others, &others) == 0;
    }
    nnf_meeting_wake(meeting, seat);
    if (narrowed)
        sched_setaffinity(id, sizeof w->home, &w->home);
}

static void *worker_main(void *argument)
{
    worker *self = argument;
    if (sched_getaffinity(0, sizeof self->home, &self->home) == 0)
        atomic_store(&self->id, (pid_t)syscall(SYS_gettid));
    for (;;) {
        const uintptr_t place = atomic_load(&self->place);
        nnf_meeting_serve(meeting_of(place), seat_of(place), &self->place, place);
    }
    return NULL;
}

static worker *new_worker(uintptr_t place)
{
    worker *fresh = calloc(1, sizeof *fresh);
    if (!fresh)
        return NULL;
    atomic_init(&fresh->place, place);
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    /* Signals belong to the client's threads. */
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    const int failed = pthread_create(&thread, &attributes, worker_main, fresh);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attributes);
    if (failed) {
        free(fresh);
        return NULL;
    }
    return fresh;
}

int nnf_team_lease(int wanted)
{
    nnf_team_watch_forks();
    pthread_mutex_lock(&team_lock);
    const int left = worker_limit > leased_count ? worker_limit - leased_count : 0;
    const int taken = wanted < left ? wanted : left;
    leased_count += taken;
    pthread_mutex_unlock(&team_lock);
    return taken;
}

void nnf_team_give_back(int leased)
{
    pthread_mutex_lock(&team_lock);
    leased_count -= leased;
    pthread_mutex_unlock(&team_lock);
}

/* What a caller borrows for a run. */
typedef struct crew {
    nnf_meeting *meeting;
    worker *workers[NNF_TEAM_MAX - 1];
    int count;
} crew;

static nnf_meeting *take_meeting(void)
{
    nnf_meeting *m = idle_meetings;
    if (m) {
        idle_meetings = m->next;
    } else {
        m = aligned_alloc(SEATS, sizeof *m);
        if (m)
            memset(m, 0, sizeof *m);
    }
    return m;
}

/* A meeting and up to `wanted` workers, each of which has been told its seat there; those that come from elsewhere are
 * woken. False: there is no worker to be had. */
static bool borrow(crew *c, int wanted)
{
    uintptr_t left[NNF_TEAM_MAX - 1]; /* where workers were before; 0: here */
    nnf_team_watch_forks();
    pthread_mutex_lock(&team_lock);
    c->count = 0;
    c->meeting = leased_count < worker_limit ? take_meeting() : NULL;
    while (c->meeting && c->count < wanted && leased_count < worker_limit) {
        const uintptr_t place = (uintptr_t)c->meeting + (uintptr_t)c->count + 1;
        worker *next = idle_workers;
        left[c->count] = 0;
        if (next) {
            idle_workers = next->next_idle;
            if (atomic_load(&next->place) != place)
                left[c->count] = atomic_exchange(&next->place, place);
        } else {
            next = new_worker(place);
            if (!next)
                break;
            worker_count++;
        }
        leased_count++;
        c->workers[c->count++] = next;
    }
    if (c->meeting && !c->count) {
        c->meeting->next = idle_meetings;
        idle_meetings = c->meeting;
    }
    pthread_mutex_unlock(&team_lock);
    for (int i = 0; i < c->count; i++) {
        nnf_meeting *m = meeting_of(left[i]);
        if (m && nnf_meeting_sleepers(m, (uint64_t)1 << seat_of(left[i])))
            wake_elsewhere(c->workers[i], m, seat_of(left[i]));
    }
    return c->count > 0;
}

/* The workers need not have noticed that the run is over. */
static void bring_back(crew *c)
{
    pthread_mutex_lock(&team_lock);
    while (c->count) { /* the next run finds them in the same order */
        worker *w = c->workers[--c->count];
        w->next_idle = idle_workers;
        idle_workers = w;
        leased_count--;
    }
    c->meeting->next = idle_meetings;
    idle_meetings = c->meeting;
    pthread_mutex_unlock(&team_lock);
}

static void begin(crew *c, const nnf_work *work)
{
    nnf_meeting_open(c->meeting, work);
    for (int seat = 1; seat <= c->count; seat++) {
        if (nnf_meeting_sleepers(c->meeting, (uint64_t)1 << seat))
            wake_elsewhere(c->workers[seat - 1], c->meeting, seat);
    }
}

int nnf_team_run(nnf_team_fn fn, nnf_team_next_fn next, void *argument, int threads, int spin_us, int64_t *waited_ns)
{
    crew c;
    if (threads > NNF_TEAM_MAX)
        threads = NNF_TEAM_MAX;
    if (threads < 2 || !borrow(&c, threads - 1)) {
        do
            fn(argument, 0, 1);
        while (next && next(argument, 1));
        return 1;
    }
    const int shares = c.count + 1;
    begin(&c, &(nnf_work){fn, next, argument, .shares = shares, .seats = shares, .walkers = 1, .spin_us = spin_us,
                          .gives_way = 1});
    nnf_meeting_walk(c.meeting, 0, waited_ns);
    bring_back(&c);
    return shares;
}

int nnf_team_call(nnf_team_fn fn, void *argument, int spin_us)
{
    crew c;
    if (!borrow(&c, 1))
        return 0;
    begin(&c, &(nnf_work){fn, NULL, argument, .shares = 1, .seats = 2, .walkers = 1, .spin_us = spin_us});
    nnf_meeting_wait(c.meeting, 0);
    bring_back(&c);
    return 1;
}

void nnf_team_set_limit(int workers)
{
    pthread_mutex_lock(&team_lock);
    worker_limit = workers < 0 ? 0 : workers < NNF_TEAM_MAX - 1 ? workers : NNF_TEAM_MAX - 1;
    pthread_mutex_unlock(&team_lock);
}

int nnf_team_limit(void)
{
    pthread_mutex_lock(&team_lock);
    const int limit = worker_limit;
    pthread_mutex_unlock(&team_lock);
    return limit;
}

int nnf_team_size(void)
{
    pthread_mutex_lock(&team_lock);
    const int size = worker_count;
    pthread_mutex_unlock(&team_lock);
    return size;
}
