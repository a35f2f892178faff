/* Stress of the thread team, the step loop and the gate, for the thread sanitizer: several callers of different
 * priorities and clients run dependent steps at the same time, cancel some runs, and with --fork children that are forked
 * meanwhile do so too (the sanitizer cannot follow them). --openmp: on OpenMP's threads, where this was built with them,
 * which the thread sanitizer does not know. Each step reads what every thread wrote in the step before. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nnf/clock.h"
#include "nnf/gate.h"
#include "nnf/program.h"

enum { CELLS = 64, STEPS = 40, RUNS = 300, CALLERS = 4, SLOWLY = 300, CHILDREN = 8, CHILD_SECONDS = 60, SECONDS = 600,
       MOST_BUSY = 256 };

/* Of every cell and the sum of all: wrong to the end as soon as one thread's share is missing anywhere. */
static uint32_t next_value(uint32_t x, uint32_t sum, size_t i)
{
    return (x ^ sum) * 2654435761u + (uint32_t)i;
}

static void sum_step(const nnf_step *step, const nnf_run *run, int thread, int threads)
{
    const uint32_t *x = run->slot[step->slots[0]];
    uint32_t *y = run->slot[step->slots[1]];
    size_t first, last;
    uint32_t sum = 0;
    for (size_t i = 0; i < CELLS; i++)
        sum += x[i];
    nnf_share(CELLS, thread, threads, &first, &last);
    for (size_t i = first; i < last; i++)
        y[i] = next_value(x[i], sum, i);
}

/* The same sums, slowly, in parts of a cell, between which it leaves when it should. */
static void parts_step(const nnf_step *step, const nnf_run *run, int thread, int threads)
{
    const uint32_t *x = run->slot[step->slots[0]];
    uint32_t *y = run->slot[step->slots[1]];
    uint32_t sum = 0;
    for (size_t i = 0; i < CELLS; i++)
        sum += x[i];
    const int shares = nnf_step_shares(run, threads);
    for (int share = thread; share < shares; share += threads) {
        size_t *at = (size_t *)(void *)(run->scratch + (size_t)share * run->scratch_stride), first, last;
        nnf_share(CELLS, share, shares, &first, &last);
        if (!nnf_step_returns(run))
            *at = first;
        while (*at < last) {
            for (volatile int i = 0; i < SLOWLY; i++) {
            }
            y[*at] = next_value(x[*at], sum, *at);
            ++*at;
            if (*at < last && nnf_step_leaves(run))
                return;
        }
    }
}

static const int32_t even[] = {0, 1}, odd[] = {1, 0};

static void expected_values(uint32_t *x)
{
    for (int s = 0; s < STEPS; s++) {
        uint32_t sum = 0;
        for (size_t i = 0; i < CELLS; i++)
            sum += x[i];
        for (size_t i = 0; i < CELLS; i++)
            x[i] = next_value(x[i], sum, i);
    }
}

static nnf_fair fair;
static nnf_client clients[2] = {{.fair = &fair}, {.fair = &fair}};
/* One client that shares with nobody, and two that share three cores. */
static nnf_gate gates[3] = {{.capacity = 3}, {.capacity = 3, .client = &clients[0]},
                            {.capacity = 3, .client = &clients[1]}};

static nnf_team_run_fn team;

static int run_many(unsigned seed, int runs)
{
    const nnf_turn turn = {&gates[seed % 3], (int32_t)(seed / 3 % NNF_PRIORITIES)};
    nnf_step steps[STEPS];
    for (int s = 0; s < STEPS; s++)
        steps[s] = (nnf_step){.fn = s % 3 ? sum_step : parts_step, .slots = s % 2 ? odd : even,
                               .parts = s % 3 ? 6 : 0};
    static nnf_history history;
    const nnf_program program = {steps, STEPS, 4, &history};
    for (int r = 0; r < runs; r++) {
        uint32_t a[CELLS], b[CELLS], wanted[CELLS];
        size_t scratch[4][8];
        for (size_t i = 0; i < CELLS; i++)
            a[i] = wanted[i] = seed + (uint32_t)r * 31 + (uint32_t)i;
        expected_values(wanted);
        void *slots[2] = {a, b};
        const nnf_run run = {.slot = slots, .turn = r % 5 ? &turn : NULL, .scratch = (unsigned char *)scratch,
                             .scratch_stride = sizeof scratch[0], .team = team};
        size_t done = 0;
        const int cancel = r % 17 == 0;
        const int outcome = nnf_program_run(&program, &run, 1 + r % 4, r % 3 * 20, &cancel, 0, NULL, &done);
        /* Cancelled in the first step, or before it while it waited. */
        if (cancel ? outcome != NNF_CANCELLED || done > 0 : outcome != NNF_DONE || done != STEPS)
            return 1;
        if (!cancel && memcmp(a, wanted, sizeof a))
            return 1;
    }
    return 0;
}

enum { ROUNDS = 3, SHARES = 5 };

static void count_share(void *argument, int share, int shares)
{
    ((int *)argument)[share] += shares;
}

static int next_round(void *argument, int shares)
{
    return ((int *)argument)[shares - 1] < ROUNDS * shares;
}

/* Whoever else has a seat, and a share with it, need not come. */
static int run_without_the_others(void)
{
    static nnf_meeting meeting;
    int counts[SHARES] = {0};
    const nnf_work work = {count_share, next_round, counts, .shares = SHARES, .seats = SHARES, .walkers = 1};
    nnf_meeting_open(&meeting, &work);
    nnf_meeting_walk(&meeting, 2, NULL);
    for (int i = 0; i < SHARES; i++) {
        if (counts[i] != ROUNDS * SHARES)
            return 1;
    }
    return 0;
}

static _Atomic int yields, yields_within;
static _Thread_local bool has_a_share;

/* In place of the C library's. */
int sched_yield(void)
{
    atomic_fetch_add(&yields, 1);
    atomic_fetch_add(&yields_within, has_a_share);
    return (int)syscall(SYS_sched_yield);
}

static void short_share(void *argument, int share, int shares)
{
    (void)argument;
    (void)share;
    (void)shares;
    has_a_share = true;
    for (volatile int i = 0; i < SLOWLY; i++) {
    }
    has_a_share = false;
}

static int until_all_gave_way(void *argument, int shares)
{
    const int64_t *began_ns = argument;
    (void)shares;
    return atomic_load(&yields) < 10 && nnf_now_ns() < *began_ns + CHILD_SECONDS * (int64_t)1000000000;
}

static void *be_busy(void *argument)
{
    while (!atomic_load((_Atomic bool *)argument)) {
    }
    return NULL;
}

/* Beside busy threads, a run that goes on for milliseconds gives up its processors now and then, and never with a share
 * in hand. */
static int run_gives_way(void)
{
    pthread_t busy[MOST_BUSY];
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    const int count = processors < MOST_BUSY ? (int)processors : MOST_BUSY;
    _Atomic bool stop = false;
    int64_t began_ns = nnf_now_ns();
    for (int i = 0; i < count; i++)
        pthread_create(&busy[i], NULL, be_busy, &stop);
    nnf_team_run(short_share, until_all_gave_way, &began_ns, 2, 20, NULL);
    atomic_store(&stop, true);
    for (int i = 0; i < count; i++)
        pthread_join(busy[i], NULL);
    return atomic_load(&yields) < 10 || atomic_load(&yields_within);
}

static void *caller(void *argument)
{
    return run_many(*(unsigned *)argument, RUNS) ? argument : NULL;
}

/* In a child that was forked at any moment of the parent's executions: it waits for none of them, in any call. */
static int run_in_child(void)
{
    alarm(CHILD_SECONDS);
    for (int g = 0; g < 3; g++) {
        const nnf_turn low = {&gates[g], 0};
        if (nnf_gate_wait(&low, 3, NULL, 0) != NNF_DONE)
            return 1;
        if (gates[g].client && nnf_fair_used_ns(gates[g].client) < 0)
            return 1;
    }
    for (unsigned seed = 0; seed < 9; seed++) {
        if (run_many(seed, 20))
            return 1;
    }
    return nnf_team_size() > 3;
}

static int fork_children(void)
{
    pid_t children[CHILDREN];
    int failed = 0, status;
    for (int i = 0; i < CHILDREN; i++) {
        usleep(1000);
        children[i] = fork();
        if (children[i] == 0)
            _exit(run_in_child());
    }
    for (int i = 0; i < CHILDREN; i++)
        failed |= waitpid(children[i], &status, 0) < 0 || status;
    return failed;
}

int main(int argc, char **argv)
{
    int with_fork = 0;
    alarm(SECONDS); /* a thread that is not woken waits for ever */
    for (int i = 1; i < argc; i++) {
        with_fork |= strcmp(argv[i], "--fork") == 0;
#ifdef _OPENMP
        if (strcmp(argv[i], "--openmp") == 0) {
            nnf_team_openmp_init((nnf_team_door){nnf_team_call, nnf_team_lease, nnf_team_give_back});
            team = nnf_team_openmp_run;
        }
#endif
    }
    if (run_without_the_others()) {
        puts("team_stress: a thread that did not come was missed");
        return 1;
    }
    if (run_gives_way()) {
        puts("team_stress: threads keep their processors, or give them up with a share in hand");
        return 1;
    }
    nnf_team_set_limit(3);
    nnf_fair_init(&fair, 3);
    for (int round = 0; round < 5; round++) {
        pthread_t threads[CALLERS];
        unsigned seeds[CALLERS];
        for (int i = 0; i < CALLERS; i++) {
            seeds[i] = (unsigned)(round * CALLERS + i);
            pthread_create(&threads[i], NULL, caller, &seeds[i]);
        }
        if (with_fork && fork_children()) {
            puts("team_stress: a forked child failed, or waited for its parent");
            return 1;
        }
        for (int i = 0; i < CALLERS; i++) {
            void *bad;
            pthread_join(threads[i], &bad);
            if (bad) {
                puts("team_stress: wrong result");
                return 1;
            }
        }
    }
    for (int g = 0; g < 3; g++) {
        for (int p = 0; p < NNF_PRIORITIES; p++) {
            if (atomic_load(&gates[g].asked[p])) {
                puts("team_stress: a gate still counts executions");
                return 1;
            }
        }
    }
    if (fair.running || fair.first || clients[0].active || clients[1].active || !clients[0].used_ns) {
        puts("team_stress: executions that have ended still count, or took no time");
        return 1;
    }
    printf("team_stress: %d runs, %d workers\n", 5 * CALLERS * RUNS, nnf_team_size());
    return 0;
}
