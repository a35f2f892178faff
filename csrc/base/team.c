#define _GNU_SOURCE
#include "nnf/team.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>

#include "nnf/clock.h"
#include "nnf/futex.h"

/* Spins until *word differs from value or the time is up; true when it differs. The clock is read every 64 pauses. */
static int spin_while(_Atomic uint32_t *word, uint32_t value, int spin_us)
{
    if (atomic_load_explicit(word, memory_order_acquire) != value)
        return 1;
    if (spin_us <= 0)
        return 0;
    const int64_t end = nnf_now_ns() + (int64_t)spin_us * 1000;
    do {
        for (int i = 0; i < 64; i++) {
            nnf_pause();
            if (atomic_load_explicit(word, memory_order_acquire) != value)
                return 1;
        }
    } while (nnf_now_ns() < end);
    return 0;
}

/* Waits until *word differs from value. `sleepers` tells the waker that a system call is needed: it is raised before
 * the futex checks the word again, and the waker changes the word before it reads it (both sequentially consistent). */
static void wait_while(_Atomic uint32_t *word, uint32_t value, _Atomic uint32_t *sleepers, int spin_us,
                       int64_t *slept_ns)
{
    if (spin_while(word, value, spin_us))
        return;
    const int64_t began = slept_ns ? nnf_now_ns() : 0;
    atomic_fetch_add(sleepers, 1);
    while (atomic_load(word) == value)
        nnf_futex_wait(word, value, 0);
    atomic_fetch_sub(sleepers, 1);
    if (slept_ns)
        *slept_ns += nnf_now_ns() - began;
}

int nnf_barrier_arrive(nnf_barrier *barrier, int threads, int spin_us, int64_t *slept_ns)
{
    const uint32_t phase = atomic_load_explicit(&barrier->phase, memory_order_acquire);
    /* acq_rel: publishes this thread's writes and, for the last to arrive, sees those of the others. */
    if (atomic_fetch_add_explicit(&barrier->arrived, 1, memory_order_acq_rel) + 1 == (uint32_t)threads)
        return 1;
    wait_while(&barrier->phase, phase, &barrier->sleepers, spin_us, slept_ns);
    return 0;
}

void nnf_barrier_release(nnf_barrier *barrier)
{
    atomic_store_explicit(&barrier->arrived, 0, memory_order_relaxed);
    atomic_fetch_add(&barrier->phase, 1); /* pairs with the acquire loads of the waiting threads */
    if (atomic_load(&barrier->sleepers))
        nnf_futex_wake(&barrier->phase, INT_MAX);
}

typedef struct worker {
    struct worker *next_idle;
    _Atomic uint32_t ticket; /* raised once for each job; futex word */
    _Atomic uint32_t sleepers;
    struct job *job;
    int thread;
    cpu_set_t home;     /* processors it may use */
    _Atomic pid_t id;   /* 0 until the above is known */
    _Atomic int is_sent; /* its processors were narrowed for this job */
} worker;

/* One call of nnf_team_run, on its caller's stack. */
typedef struct job {
    nnf_team_fn fn;
    void *argument;
    int threads;
    int spin_us;
    _Atomic uint32_t running; /* workers not done yet; futex word */
} job;

static pthread_mutex_t team_lock = PTHREAD_MUTEX_INITIALIZER;
static worker *idle_workers;
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

/* A sleeping worker is often woken on the processor of the thread that wakes it, and waits there for milliseconds while
 * that thread works and spins: it is sent elsewhere first, and lifts the restriction itself. */
static void send_away(worker *to, int cpu)
{
    const pid_t id = atomic_load(&to->id);
    cpu_set_t others;
    if (!id || cpu < 0)
        return;
    others = to->home;
    CPU_CLR((size_t)cpu, &others);
    if (CPU_COUNT(&others) > 0 && sched_setaffinity(id, sizeof others, &others) == 0)
        atomic_store(&to->is_sent, 1);
}

static void *worker_main(void *argument)
{
    worker *self = argument;
    uint32_t seen = 0;
    int spin_us = 0;
    if (sched_getaffinity(0, sizeof self->home, &self->home) == 0)
        atomic_store(&self->id, (pid_t)syscall(SYS_gettid));
    for (;;) {
        wait_while(&self->ticket, seen, &self->sleepers, spin_us, NULL);
        seen++;
        job *current = self->job;
        const int thread = self->thread;
        spin_us = current->spin_us;
        if (atomic_exchange(&self->is_sent, 0))
            sched_setaffinity(0, sizeof self->home, &self->home);
        current->fn(current->argument, thread, current->threads);
        /* Idle again before the caller may return, so that its next run finds this worker. */
        pthread_mutex_lock(&team_lock);
        self->next_idle = idle_workers;
        idle_workers = self;
        leased_count--;
        pthread_mutex_unlock(&team_lock);
        /* The caller may return as soon as the count is 0, and its stack with the job be gone: the wake-up only names
         * the address, and one that arrives late is a spurious wake-up for whoever waits there then. */
        if (atomic_fetch_sub(&current->running, 1) == 1)
            nnf_futex_wake(&current->running, 1);
    }
    return NULL;
}

static worker *new_worker(void)
{
    worker *fresh = calloc(1, sizeof *fresh);
    if (!fresh)
        return NULL;
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

/* How many of `wanted` threads the limit leaves room for, which count as leased then; the lock is held. */
static int lease(int wanted)
{
    const int left = worker_limit - leased_count;
    const int taken = wanted < left ? wanted : left > 0 ? left : 0;
    leased_count += taken;
    return taken;
}

int nnf_team_lease(int wanted)
{
    nnf_team_watch_forks();
    pthread_mutex_lock(&team_lock);
    const int taken = lease(wanted > 0 ? wanted : 0);
    pthread_mutex_unlock(&team_lock);
    return taken;
}

void nnf_team_give_back(int leased)
{
    pthread_mutex_lock(&team_lock);
    leased_count -= leased;
    pthread_mutex_unlock(&team_lock);
}

int nnf_team_run(nnf_team_fn fn, void *argument, int threads, int spin_us, int64_t *slept_ns)
{
    worker *mine[NNF_TEAM_MAX];
    int count = 0;
    if (threads > NNF_TEAM_MAX)
        threads = NNF_TEAM_MAX;
    if (threads > 1) {
        nnf_team_watch_forks();
        pthread_mutex_lock(&team_lock);
        while (count < threads - 1 && leased_count < worker_limit) {
            worker *next = idle_workers;
            if (next) {
                idle_workers = next->next_idle;
            } else {
                next = new_worker();
                if (!next)
                    break;
                worker_count++;
            }
            leased_count++;
            mine[count++] = next;
        }
        pthread_mutex_unlock(&team_lock);
    }
    if (!count) {
        fn(argument, 0, 1);
        return 1;
    }
    job current = {.fn = fn, .argument = argument, .threads = count + 1, .spin_us = spin_us};
    atomic_store_explicit(&current.running, (uint32_t)count, memory_order_relaxed);
    for (int i = 0; i < count; i++) {
        mine[i]->job = &current;
        mine[i]->thread = i + 1;
        atomic_fetch_add(&mine[i]->ticket, 1); /* publishes the job; pairs with the worker's acquire */
        if (atomic_load(&mine[i]->sleepers)) {
            send_away(mine[i], sched_getcpu());
            nnf_futex_wake(&mine[i]->ticket, 1);
        }
    }
    fn(argument, 0, count + 1);
    for (;;) {
        const uint32_t left = atomic_load(&current.running);
        if (!left)
            break;
        if (spin_while(&current.running, left, spin_us))
            continue;
        const int64_t began = slept_ns ? nnf_now_ns() : 0;
        nnf_futex_wait(&current.running, left, 0);
        if (slept_ns)
            *slept_ns += nnf_now_ns() - began;
    }
    return count + 1;
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
