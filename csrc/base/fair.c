#define _GNU_SOURCE
#include "nnf/fair.h"

#include "nnf/clock.h"
#include "nnf/futex.h"
#include "nnf/outcome.h"
#include "nnf/team.h"

enum {
    LOOK_NS = 1000000,
    GRACE_NS = 5000000,
    SLICE_NS = 2000000,  /* core time that a client may be ahead of another before it stops for that one */
    CREDIT_NS = 4000000  /* core time by which one that comes back from being idle may be behind the others, and one
                          * that nobody waited for may be ahead of them: two slices, enough to go first at once */
};

/* An execution that waits, on its own stack. */
typedef struct nnf_waiter {
    struct nnf_waiter *next;
    nnf_client *client;
    int threads, priority; /* threads: asked for, and granted once it has been let in */
    _Atomic uint32_t go;   /* futex word: 1 once it has been let in */
} nnf_waiter;

/* What the parent of a forked child was running does not run here, and holds no lock. */
static void renew(void *what)
{
    nnf_fair *fair = what;
    pthread_mutex_init(&fair->mutex, NULL);
    fair->running = 0;
    fair->first = NULL;
    atomic_store(&fair->waiting, 0);
}

void nnf_fair_init(nnf_fair *fair, int32_t capacity)
{
    fair->capacity = capacity;
    fair->floor_ns = fair->moved_ns = 0;
    atomic_store(&fair->forks, nnf_team_forks());
    renew(fair);
}

/* Takes the mutex of a client's fair. */
static void lock(nnf_client *client)
{
    nnf_fair *fair = client->fair;
    nnf_team_renew(&fair->forks, renew, fair);
    pthread_mutex_lock(&fair->mutex);
    if (client->forks != nnf_team_forks()) {
        client->forks = nnf_team_forks();
        client->active = client->running = 0;
    }
}

/* Threads that an execution which asks for so many gets now; 0: it has to wait. */
static int granted(const nnf_fair *fair, int threads)
{
    const int32_t left = fair->capacity - fair->running;
    if (fair->running == 0)
        return threads;
    return threads <= left ? threads : left > 0 ? left : 0;
}

static bool goes_before(const nnf_waiter *a, const nnf_waiter *b)
{
    if (a->client->share_ns != b->client->share_ns)
        return a->client->share_ns < b->client->share_ns;
    return a->priority >= b->priority; /* the list begins with the youngest: among equals the last seen is the oldest */
}

/* The place in the list of the one that goes next, NULL when nobody waits. */
static nnf_waiter **next_of(nnf_fair *fair)
{
    nnf_waiter **best = NULL;
    for (nnf_waiter **at = &fair->first; *at; at = &(*at)->next) {
        if (!best || goes_before(*at, *best))
            best = at;
    }
    return best;
}

static void take_out(nnf_fair *fair, nnf_waiter **at)
{
    *at = (*at)->next;
    atomic_fetch_sub(&fair->waiting, 1);
}

/* The mutex is held here and below, so that no waiter can go away under the wake. */
static void let_one_in(nnf_fair *fair, nnf_waiter **at, int threads)
{
    nnf_waiter *waiter = *at;
    take_out(fair, at);
    waiter->threads = threads;
    fair->running += threads;
    waiter->client->running++;
    if (waiter->client->share_ns > fair->floor_ns)
        fair->floor_ns = waiter->client->share_ns;
    fair->moved_ns = nnf_now_ns();
    atomic_store(&waiter->go, 1);
    nnf_futex_wake(&waiter->go, 1);
}

/* Lets in whoever goes next, while there are cores. */
static void let_in(nnf_fair *fair)
{
    nnf_waiter **at;
    int threads;
    while ((at = next_of(fair)) && (threads = granted(fair, (*at)->threads)) > 0)
        let_one_in(fair, at, threads);
}

/* Lets in whoever goes next when nothing has moved for long: on one thread, since several that share the cores with
 * others would wait for each other at every step. */
static void let_late_in(nnf_fair *fair)
{
    nnf_waiter **at = next_of(fair);
    if (at && nnf_now_ns() >= fair->moved_ns + GRACE_NS)
        let_one_in(fair, at, 1);
}

/* A client that comes back from being idle is a little behind the others at most. */
static void raise_share(nnf_client *client)
{
    const int64_t least = client->fair->floor_ns - CREDIT_NS;
    if (client->share_ns < least)
        client->share_ns = least;
}

/* One that uses cores nobody waits for is a little ahead of them at most. */
static void forgive_share(nnf_client *client)
{
    const int64_t most = client->fair->floor_ns + CREDIT_NS;
    if (client->share_ns > most)
        client->share_ns = most;
}

int nnf_fair_enter(nnf_client *client, int *threads, int priority, const int *cancel, int64_t deadline_ns)
{
    nnf_fair *fair = client->fair;
    nnf_waiter self = {.client = client, .threads = *threads, .priority = priority};
    int outcome = NNF_DONE;
    lock(client);
    if (client->active++ == 0)
        raise_share(client);
    const int now = fair->first ? 0 : granted(fair, self.threads);
    if (now > 0) {
        *threads = now;
        forgive_share(client);
        fair->moved_ns = nnf_now_ns();
        fair->running += now;
        client->running++;
        pthread_mutex_unlock(&fair->mutex);
        return outcome;
    }
    self.next = fair->first;
    fair->first = &self;
    atomic_fetch_add(&fair->waiting, 1);
    let_in(fair);
    pthread_mutex_unlock(&fair->mutex);
    while (!atomic_load(&self.go)) {
        if (nnf_cancelled(cancel))
            outcome = NNF_CANCELLED;
        else if (deadline_ns && nnf_now_ns() >= deadline_ns)
            outcome = NNF_DEADLINE;
        if (outcome != NNF_DONE)
            break;
        nnf_futex_wait(&self.go, 0, LOOK_NS);
        if (!atomic_load(&self.go)) {
            lock(client);
            let_late_in(fair);
            pthread_mutex_unlock(&fair->mutex);
        }
    }
    lock(client); /* who lets this one in still touches `self` */
    if (atomic_load(&self.go)) {
        outcome = NNF_DONE;
        *threads = self.threads;
    } else {
        nnf_waiter **at = &fair->first;
        while (*at != &self)
            at = &(*at)->next;
        take_out(fair, at);
        client->active--;
        let_in(fair); /* it may have kept somebody behind it from going */
    }
    pthread_mutex_unlock(&fair->mutex);
    return outcome;
}

void nnf_fair_leave(nnf_client *client, int threads, int64_t spent_ns)
{
    nnf_fair *fair = client->fair;
    lock(client);
    client->share_ns += spent_ns * threads;
    client->used_ns += spent_ns * threads;
    client->active--;
    client->running--;
    fair->running -= threads;
    fair->moved_ns = nnf_now_ns();
    if (fair->running == 0 && !fair->first && client->share_ns > fair->floor_ns)
        fair->floor_ns = client->share_ns; /* nobody wanted the cores meanwhile: nothing is to be made up for */
    let_in(fair);
    pthread_mutex_unlock(&fair->mutex);
}

bool nnf_fair_is_due(nnf_client *client, int threads, int wanted, int64_t began_ns)
{
    nnf_fair *fair = client->fair;
    if (!atomic_load_explicit(&fair->waiting, memory_order_relaxed))
        return threads < wanted && fair->capacity - atomic_load_explicit(&fair->running, memory_order_relaxed) > 0;
    const int64_t spent_ns = nnf_now_ns() - began_ns;
    lock(client);
    nnf_waiter **at = next_of(fair);
    const bool due = at && (*at)->client != client &&
                     (*at)->client->share_ns + SLICE_NS < client->share_ns + spent_ns * threads;
    pthread_mutex_unlock(&fair->mutex);
    return due;
}

int64_t nnf_fair_used_ns(nnf_client *client)
{
    if (!client->fair)
        return 0;
    lock(client);
    const int64_t used = client->used_ns;
    pthread_mutex_unlock(&client->fair->mutex);
    return used;
}
