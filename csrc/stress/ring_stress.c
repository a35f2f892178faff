/* Stress of the ring, for the sanitizers: a writer and a reader, as threads or (--fork; the thread sanitizer cannot
 * follow it) as processes, move numbered elements of odd sizes through rings of odd capacities in every way there is;
 * waits are closed at any moment; and a third thread writes nonsense into the counters and the event word while both
 * sides go on. Elements lie against a guard page. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nnf/clock.h"
#include "nnf/ring.h"

enum { MOST = 9, ELEMENTS = 20000, PAGE = 4096, QUANTUM_MAX = 40 };

/* The shared memory: counters, event word, and the data up to the end of its last page. */
typedef struct shared {
    _Atomic uint64_t read;
    char apart0[120];
    _Atomic uint64_t write;
    char apart1[120];
    _Atomic uint32_t event;
} shared;

typedef struct test {
    nnf_ring ring; /* one object for both threads, or a copy for each process */
    size_t elements;
    unsigned seed;
    _Atomic uint32_t closed, done;
} test;

static shared *map(size_t bytes, unsigned char **data)
{
    const size_t pages = (bytes + PAGE - 1) / PAGE * PAGE;
    char *memory = mmap(NULL, PAGE + pages + PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory + PAGE + pages, PAGE, PROT_NONE))
        abort();
    *data = (unsigned char *)memory + PAGE + pages - bytes;
    return (shared *)memory;
}

static void unmap(shared *memory, size_t bytes)
{
    munmap(memory, PAGE + (bytes + PAGE - 1) / PAGE * PAGE + PAGE);
}

static void start(test *t, shared **memory, size_t capacity, size_t quantum, unsigned seed)
{
    unsigned char *data;
    memset(t, 0, sizeof *t);
    *memory = map(capacity * quantum, &data);
    nnf_ring_init(&t->ring, &(*memory)->read, &(*memory)->write, data, capacity * quantum, quantum, &(*memory)->event);
    t->elements = ELEMENTS;
    t->seed = seed;
}

static unsigned next(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* Every byte of an element hangs on its number. */
static void fill(unsigned char *element, size_t quantum, size_t number)
{
    for (size_t i = 0; i < quantum; i++)
        element[i] = (unsigned char)(number * 31 + (number >> 8) + i);
}

static int is_right(const unsigned char *element, size_t quantum, size_t number)
{
    unsigned char wanted[QUANTUM_MAX];
    fill(wanted, quantum, number);
    return memcmp(element, wanted, quantum) == 0;
}

/* So many that never both sides wait: what one leaves over is always enough for the other. */
static size_t some(const test *t, unsigned *state, size_t left)
{
    const size_t half = (t->ring.capacity + 1) / 2, most = half < MOST ? half : MOST;
    const size_t n = 1 + next(state) % most;
    return n < left ? n : left;
}

static int write_some(test *t, unsigned *state, size_t first, size_t n)
{
    const size_t quantum = t->ring.quantum;
    const int spin_us = next(state) % 3 == 0 ? 20 : 0;
    unsigned char elements[MOST * QUANTUM_MAX];
    nnf_regions regions;
    int outcome;
    if (next(state) % 3) {
        for (size_t i = 0; i < n; i++)
            fill(elements + i * quantum, quantum, first + i);
        return nnf_ring_write_wait(&t->ring, elements, n, 0, spin_us, &t->closed);
    }
    outcome = nnf_ring_wait_writable(&t->ring, n, 0, spin_us, &t->closed);
    if (!outcome)
        outcome = nnf_ring_reserve(&t->ring, n, &regions);
    if (outcome)
        return outcome;
    for (size_t i = 0; i < n; i++) {
        const size_t second = i >= regions.count[0];
        fill(regions.at[second] + (i - second * regions.count[0]) * quantum, quantum, first + i);
    }
    nnf_ring_commit(&t->ring, n);
    nnf_ring_wake(&t->ring, NNF_RING_NOT_EMPTY);
    return outcome;
}

static void *writer(void *argument)
{
    test *t = argument;
    unsigned state = t->seed * 2 + 1;
    for (size_t sent = 0, n; sent < t->elements; sent += n) {
        n = some(t, &state, t->elements - sent);
        if (write_some(t, &state, sent, n))
            return argument;
    }
    return NULL;
}

static int read_some(test *t, unsigned *state, size_t first, size_t n)
{
    const size_t quantum = t->ring.quantum;
    const int spin_us = next(state) % 3 == 0 ? 20 : 0;
    unsigned char elements[MOST * QUANTUM_MAX];
    nnf_regions regions;
    int outcome, right = 1;
    if (next(state) % 3) {
        outcome = nnf_ring_read_wait(&t->ring, elements, n, 0, spin_us, &t->closed);
        for (size_t i = 0; !outcome && i < n; i++)
            right &= is_right(elements + i * quantum, quantum, first + i);
        return outcome ? outcome : right ? 0 : -1;
    }
    outcome = nnf_ring_wait_readable(&t->ring, n, 0, spin_us, &t->closed);
    if (!outcome)
        outcome = nnf_ring_peek(&t->ring, n, &regions);
    if (outcome)
        return outcome;
    for (size_t i = 0; i < n; i++) {
        const size_t second = i >= regions.count[0];
        right &= is_right(regions.at[second] + (i - second * regions.count[0]) * quantum, quantum, first + i);
    }
    nnf_ring_release(&t->ring, n);
    nnf_ring_wake(&t->ring, NNF_RING_NOT_FULL);
    return right ? 0 : -1;
}

static void *reader(void *argument)
{
    test *t = argument;
    unsigned state = t->seed * 2 + 2;
    for (size_t got = 0, n; got < t->elements; got += n) {
        n = some(t, &state, t->elements - got);
        if (read_some(t, &state, got, n))
            return argument;
    }
    return NULL;
}

static int move_between_threads(size_t capacity, size_t quantum, unsigned seed)
{
    test t;
    shared *memory;
    pthread_t threads[2];
    void *bad[2];
    start(&t, &memory, capacity, quantum, seed);
    pthread_create(&threads[0], NULL, writer, &t);
    pthread_create(&threads[1], NULL, reader, &t);
    pthread_join(threads[0], &bad[0]);
    pthread_join(threads[1], &bad[1]);
    const int64_t left = nnf_ring_readable(&t.ring);
    unmap(memory, capacity * quantum);
    return bad[0] || bad[1] || left;
}

static int move_between_processes(size_t capacity, size_t quantum, unsigned seed)
{
    test t;
    shared *memory;
    int status = 1;
    start(&t, &memory, capacity, quantum, seed);
    const pid_t child = fork();
    if (child == 0)
        _exit(writer(&t) != NULL);
    const int bad = reader(&t) != NULL;
    waitpid(child, &status, 0);
    unmap(memory, capacity * quantum);
    return bad || status;
}

/* A reader that nobody writes to, and a writer that nobody reads from, closed at some moment: both must end. */
static void *starve(void *argument)
{
    test *t = argument;
    unsigned char element[QUANTUM_MAX];
    const int outcome = nnf_ring_read_wait(&t->ring, element, 1, 0, (int)(t->seed % 3 * 30), &t->closed);
    return outcome == NNF_RING_CLOSED ? NULL : argument;
}

static void *choke(void *argument)
{
    test *t = argument;
    unsigned char element[QUANTUM_MAX] = {0};
    int outcome;
    do
        outcome = nnf_ring_write_wait(&t->ring, element, 1, 0, (int)(t->seed % 3 * 30), &t->closed);
    while (outcome == NNF_RING_OK);
    return outcome == NNF_RING_CLOSED ? NULL : argument;
}

static int close_waits(unsigned seed)
{
    test t;
    shared *memory;
    pthread_t thread;
    void *bad;
    start(&t, &memory, 3, 24, seed);
    const int64_t before = nnf_now_ns();
    pthread_create(&thread, NULL, seed % 2 ? starve : choke, &t);
    for (volatile unsigned i = 0; i < seed % 64 * 100; i++)
        ;
    atomic_store_explicit(&t.closed, 1, memory_order_relaxed);
    nnf_ring_wake(&t.ring, NNF_RING_NOT_EMPTY | NNF_RING_NOT_FULL);
    pthread_join(thread, &bad);
    unmap(memory, 3 * 24);
    /* A lost wake-up ends after 100 ms; a busy machine may take as long, and the caller counts. */
    return bad ? -1 : nnf_now_ns() - before > 90000000;
}

/* Somebody who writes anything anywhere: each call must come back with a reason, and touch nothing but the data. */
static void *vandal(void *argument)
{
    test *t = argument;
    unsigned state = t->seed;
    const uint64_t odd[] = {0, 1, t->ring.quantum, t->ring.bytes, t->ring.bytes + t->ring.quantum, UINT64_MAX,
                            UINT64_MAX - t->ring.quantum + 1, (uint64_t)1 << 63};
    while (!atomic_load(&t->done)) {
        atomic_store(next(&state) % 2 ? t->ring.read : t->ring.write,
                     next(&state) % 4 ? next(&state) % 8 * t->ring.quantum : odd[next(&state) % 8]);
        atomic_store(t->ring.event, next(&state));
    }
    return NULL;
}

static int survive(size_t capacity, size_t quantum, unsigned seed)
{
    test t;
    shared *memory;
    pthread_t thread;
    unsigned state = seed;
    const unsigned all = 1u << NNF_RING_OK | 1u << NNF_RING_TIMEOUT | 1u << NNF_RING_TOO_BIG | 1u << NNF_RING_BROKEN;
    unsigned seen = 0;
    const int64_t end = nnf_now_ns() + 20000000000;
    unsigned char elements[MOST * QUANTUM_MAX] = {0};
    start(&t, &memory, capacity, quantum, seed);
    pthread_create(&thread, NULL, vandal, &t);
    for (int i = 0; i < ELEMENTS || (seen != all && nnf_now_ns() < end); i++) {
        nnf_regions regions;
        const size_t n = next(&state) % (capacity + 2); /* at most MOST */
        const int64_t soon = nnf_now_ns() + 2000;
        if (!nnf_ring_reserve(&t.ring, n, &regions)) {
            memset(regions.at[0], 1, regions.count[0] * quantum);
            memset(regions.at[1], 2, regions.count[1] * quantum);
            nnf_ring_commit(&t.ring, n);
        }
        if (!nnf_ring_peek(&t.ring, n, &regions)) {
            memcpy(elements, regions.at[0], regions.count[0] * quantum);
            memcpy(elements, regions.at[1], regions.count[1] * quantum);
            nnf_ring_release(&t.ring, n);
        }
        seen |= 1u << nnf_ring_write_wait(&t.ring, elements, n, soon, 0, NULL);
        seen |= 1u << nnf_ring_read_wait(&t.ring, elements, n, soon, 1, NULL);
        if (nnf_ring_readable(&t.ring) > (int64_t)capacity || nnf_ring_writable(&t.ring) > (int64_t)capacity)
            seen |= 1u << 31;
    }
    atomic_store(&t.done, 1);
    pthread_join(thread, NULL);
    unmap(memory, capacity * quantum);
    return seen != all;
}

int main(int argc, char **argv)
{
    const int with_fork = argc > 1 && strcmp(argv[1], "--fork") == 0;
    static const size_t capacities[] = {1, 2, 3, 7, 16, 61};
    static const size_t quanta[] = {24, 1, 8, 13, 40};
    unsigned seed = 1;
    int late = 0;
    for (size_t c = 0; c < sizeof capacities / sizeof *capacities; c++) {
        for (size_t q = 0; q < sizeof quanta / sizeof *quanta; q++, seed++) {
            if (move_between_threads(capacities[c], quanta[q], seed)) {
                printf("ring_stress: wrong elements, capacity %zu, quantum %zu\n", capacities[c], quanta[q]);
                return 1;
            }
            if (with_fork && move_between_processes(capacities[c], quanta[q], seed)) {
                printf("ring_stress: wrong elements between processes, capacity %zu, quantum %zu\n", capacities[c],
                       quanta[q]);
                return 1;
            }
        }
    }
    for (seed = 0; seed < 400; seed++) {
        const int outcome = close_waits(seed);
        late += outcome > 0;
        if (outcome < 0 || late > 100) {
            puts("ring_stress: a closed wait did not end");
            return 1;
        }
    }
    for (size_t c = 0; c < 3; c++) {
        if (survive(c * 3 + 1, quanta[c], 77)) {
            puts("ring_stress: nonsense in the counters came through");
            return 1;
        }
    }
    printf("ring_stress: %zu rings of %d elements, %u closed waits\n", sizeof capacities / sizeof *capacities *
           (sizeof quanta / sizeof *quanta), ELEMENTS, seed);
    return 0;
}
