#define _GNU_SOURCE
#include "lane.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "await.h"
#include "ends.h"
#include "nnf/clock.h"
#include "nnf/packet.h"
#include "nnf/ring.h"
#include "release.h"

enum {
    RUNS_BEFORE = 8,       /* of a model, until it has a lane: opening one costs the driver a thread */
    MOST_OF_MODEL = 4,
    MOST = 32,             /* in this process: the driver allows 64 */
    MOST_CHANGES = 16,     /* of a model whose memories are others again and again */
    MOST_MEMORIES = NDK_MOST_FDS - 3,
    SMALLEST_ARENA = 1 << 16,
    LOOK_NS = 100000000,   /* between two looks for whether the driver is there */
    SPIN_US = 50,          /* before a wait sleeps */
    LOOKS = 16,            /* at a ring, before one looks at the clock */
};

/* Where the parts of a queue lie in its file: what two sides write is on lines of its own. */
enum { READ_AT = 0, WRITE_AT = 128, EVENT_AT = 256, DATA_AT = 384, ELEMENT = sizeof(nnf_request_datum) };
enum { DATA_BYTES = NDK_LANE_ELEMENTS * ELEMENT, QUEUE_BYTES = DATA_AT + DATA_BYTES };

struct queue {
    int fd;
    uint8_t *map;
    nnf_ring ring;
};

/* is_busy: somebody runs on it; is_over: to be closed when it is given back. serials: of the memories in its slots, from
 * slot 1 on. owner: serial of the prepared model. */
struct ndk_lane {
    struct ndk_lane *next;
    struct ndk_prepared *prepared;
    uint64_t owner;
    bool is_busy, is_over;
    struct queue requests, results;
    int64_t number;
    int arena_fd;
    uint8_t *arena;
    size_t arena_size;
    uint64_t serials[MOST_MEMORIES];
    size_t count;
    struct ndk_waiting waiting;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the list, and of the flags of what is in it */
static struct ndk_lane *lanes;
static atomic_int lane_count; /* of all that are open, or about to be */

/* -- opening and closing --------------------------------------------------------------------------------------------- */
static bool make_queue(struct queue *queue)
{
    queue->fd = ndk_memfd(QUEUE_BYTES);
    queue->map = queue->fd < 0 ? MAP_FAILED
                               : mmap(NULL, QUEUE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, queue->fd, 0);
    if (queue->map == MAP_FAILED) {
        queue->map = NULL;
        return false;
    }
    nnf_ring_init(&queue->ring, (_Atomic uint64_t *)(void *)(queue->map + READ_AT),
                  (_Atomic uint64_t *)(void *)(queue->map + WRITE_AT), queue->map + DATA_AT, DATA_BYTES, ELEMENT,
                  (_Atomic uint32_t *)(void *)(queue->map + EVENT_AT));
    return true;
}

static void free_queue(struct queue *queue)
{
    if (queue->map)
        munmap(queue->map, QUEUE_BYTES);
    if (queue->fd >= 0)
        close(queue->fd);
}

/* Frees a lane that is not in the list any more. */
static void close_lane(struct ndk_lane *lane)
{
    if (lane->number)
        ndk_session_release(lane->prepared->session, "burst", lane->number);
    free_queue(&lane->requests);
    free_queue(&lane->results);
    if (lane->arena)
        munmap(lane->arena, lane->arena_size);
    if (lane->arena_fd >= 0)
        close(lane->arena_fd);
    free(lane);
    lane_count--;
}

static void close_all(struct ndk_lane *list)
{
    while (list) {
        struct ndk_lane *next = list->next;
        close_lane(list);
        list = next;
    }
}

static void put_queue(struct ndk_buffer *message)
{
    static const int64_t places[][2] = {{READ_AT, 8}, {WRITE_AT, 8}, {DATA_AT, DATA_BYTES}, {EVENT_AT, 4}};
    ndk_put_array(message, 4);
    ndk_put_array(message, 4);
    for (size_t i = 0; i < 4; i++) {
        ndk_put_array(message, 4);
        ndk_put_int(message, 0); /* flags */
        ndk_put_int(message, 0); /* its file */
        ndk_put_int(message, places[i][0]);
        ndk_put_int(message, places[i][1]);
    }
    ndk_put_int(message, 1); /* files */
    ndk_put_int(message, ELEMENT);
    ndk_put_int(message, 1); /* flavor: synchronized */
}

/* Tells the driver of a lane with these memories. */
static int introduce(struct ndk_lane *lane, const ANeuralNetworksMemory *const *memories)
{
    struct ndk_connection *connection;
    struct ndk_buffer message = {0};
    struct ndk_reader answer;
    int fds[NDK_MOST_FDS] = {lane->requests.fd, lane->results.fd, lane->arena_fd};
    ndk_put_array(&message, 6);
    ndk_put_int(&message, NDK_OPEN_BURST);
    ndk_put_int(&message, lane->prepared->number);
    put_queue(&message);
    put_queue(&message);
    ndk_put_array(&message, 1 + lane->count);
    for (size_t i = 0; i <= lane->count; i++)
        ndk_put_int(&message, (int64_t)i);
    ndk_put_array(&message, 1 + lane->count);
    ndk_put_array(&message, 4);
    ndk_put_text(&message, "mmap_fd");
    ndk_put_int(&message, (int64_t)lane->arena_size);
    ndk_put_int(&message, PROT_READ | PROT_WRITE);
    ndk_put_int(&message, 0);
    for (size_t i = 0; i < lane->count; i++) {
        fds[3 + i] = ndk_memory_describe(memories[i], &message);
        lane->serials[i] = ndk_memory_serial(memories[i]);
    }
    int code = ndk_take(lane->prepared->session, &connection);
    if (!code) {
        code = ndk_call_with(connection, &message, fds, 3 + lane->count, NDK_NUMBER, &answer, "burst");
        if (!code)
            lane->number = ndk_get_int(&answer);
        ndk_give(connection);
    }
    ndk_buffer_free(&message);
    return code;
}

/* A lane that counts already; NULL if there can be none. */
static struct ndk_lane *open_lane(struct ndk_prepared *prepared, size_t arena_size,
                                  const ANeuralNetworksMemory *const *memories, size_t count)
{
    struct ndk_lane *lane = calloc(1, sizeof *lane);
    if (!lane) {
        lane_count--;
        return NULL;
    }
    lane->prepared = prepared;
    lane->owner = prepared->serial;
    lane->is_busy = true;
    lane->requests.fd = lane->results.fd = -1;
    lane->waiting = ndk_waiting_of(prepared->spins ? ndk_session_num_threads(prepared->session) : 0);
    lane->count = count;
    lane->arena_size = SMALLEST_ARENA;
    while (lane->arena_size < arena_size)
        lane->arena_size *= 2;
    lane->arena_fd = ndk_memfd(lane->arena_size);
    void *arena = lane->arena_fd < 0 ? MAP_FAILED
                                     : mmap(NULL, lane->arena_size, PROT_READ | PROT_WRITE, MAP_SHARED,
                                            lane->arena_fd, 0);
    lane->arena = arena == MAP_FAILED ? NULL : arena;
    if (!lane->arena || !make_queue(&lane->requests) || !make_queue(&lane->results) || introduce(lane, memories)) {
        close_lane(lane);
        return NULL;
    }
    return lane;
}

/* -- the end of others ----------------------------------------------------------------------------------------------- */
static bool knows(const struct ndk_lane *lane, uint64_t serial)
{
    for (size_t i = 0; i < lane->count; i++)
        if (lane->serials[i] == serial)
            return true;
    return false;
}

/* Takes the idle lanes of a prepared model, or with a memory, out of the list, and marks the others. */
static struct ndk_lane *take_out(uint64_t serial)
{
    struct ndk_lane *out = NULL, **link = &lanes;
    while (*link) {
        struct ndk_lane *lane = *link;
        bool is_meant = lane->owner == serial || knows(lane, serial);
        lane->is_over |= is_meant;
        if (is_meant && !lane->is_busy) {
            *link = lane->next;
            lane->next = out;
            out = lane;
        } else {
            link = &lane->next;
        }
    }
    return out;
}

static void end(uint64_t serial)
{
    if (!lane_count)
        return;
    pthread_mutex_lock(&lock);
    struct ndk_lane *out = take_out(serial);
    pthread_mutex_unlock(&lock);
    close_all(out);
}

/* Around fork(): nobody else has a hand on the list of lanes. */
static void before_fork(void)
{
    pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&lock);
}

static void watch(void)
{
    pthread_atfork(before_fork, after_fork, after_fork);
    ndk_watch_ends(end);
}

/* -- in use ---------------------------------------------------------------------------------------------------------- */
static bool fits(const struct ndk_lane *lane, size_t arena_size, const ANeuralNetworksMemory *const *memories,
                 size_t count)
{
    bool knows_all = arena_size <= lane->arena_size;
    for (size_t i = 0; i < count; i++)
        knows_all &= knows(lane, ndk_memory_serial(memories[i]));
    return knows_all;
}

/* Takes a lane out of the list. */
static void drop(struct ndk_lane *lane)
{
    struct ndk_lane **link = &lanes;
    while (*link != lane)
        link = &(*link)->next;
    *link = lane->next;
    lane->next = NULL;
}

struct ndk_lane *ndk_lane_take(struct ndk_prepared *prepared, size_t arena_size,
                               const ANeuralNetworksMemory *const *memories, size_t count)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct ndk_lane *found = NULL, *other = NULL;
    int of_model = 0;
    if (prepared->runs < RUNS_BEFORE) {
        prepared->runs++;
        return NULL;
    }
    if (count > MOST_MEMORIES || prepared->lane_changes > MOST_CHANGES || arena_size > SIZE_MAX / 4 ||
        ndk_session_is_dead(prepared->session))
        return NULL;
    pthread_once(&once, watch);
    pthread_mutex_lock(&lock);
    for (struct ndk_lane *lane = lanes; lane && !found; lane = lane->next)
        if (lane->prepared == prepared) {
            of_model++;
            if (!lane->is_busy && fits(lane, arena_size, memories, count))
                found = lane;
            else if (!lane->is_busy)
                other = lane;
        }
    bool may_open = !found && (of_model < MOST_OF_MODEL || other) && (lane_count < MOST || other);
    if (found)
        found->is_busy = true;
    if (may_open && (of_model == MOST_OF_MODEL || lane_count >= MOST))
        drop(other);
    else
        other = NULL;
    lane_count += may_open;
    pthread_mutex_unlock(&lock);
    close_all(other);
    if (!may_open)
        return found;
    prepared->lane_changes += of_model > 0;
    for (size_t i = 0; i < count; i++)
        if (!ndk_memory_is_plain(memories[i])) {
            lane_count--;
            return NULL;
        }
    found = open_lane(prepared, arena_size, memories, count);
    if (!found) {
        prepared->lane_changes = MOST_CHANGES + 1; /* no more attempts */
        return NULL;
    }
    pthread_mutex_lock(&lock);
    found->next = lanes;
    lanes = found;
    pthread_mutex_unlock(&lock);
    return found;
}

void ndk_lane_give(struct ndk_lane *lane, bool is_broken)
{
    pthread_mutex_lock(&lock);
    lane->is_busy = false;
    bool is_over = lane->is_over || is_broken;
    if (is_over)
        drop(lane);
    pthread_mutex_unlock(&lock);
    if (is_over)
        close_lane(lane);
}

uint8_t *ndk_lane_arena(const struct ndk_lane *lane)
{
    return lane->arena;
}

int32_t ndk_lane_slot(const struct ndk_lane *lane, const ANeuralNetworksMemory *memory)
{
    size_t i = 0;
    while (lane->serials[i] != ndk_memory_serial(memory))
        i++;
    return (int32_t)(1 + i);
}

static bool has_result(void *of, int64_t timeout_ns)
{
    nnf_ring *results = of;
    if (timeout_ns)
        return nnf_ring_wait_readable(results, NNF_SHORTEST_RESULT, nnf_now_ns() + timeout_ns, 0, NULL) !=
               NNF_RING_TIMEOUT;
    for (int i = 0; i < LOOKS; i++) {
        if (nnf_ring_readable(results))
            return true;
        nnf_pause();
    }
    return false;
}

int ndk_lane_exchange(struct ndk_lane *lane, const nnf_request_datum *request, size_t size, nnf_result_datum *result,
                      size_t *count)
{
    struct ndk_session *session = lane->prepared->session;
    nnf_ring *results = &lane->results.ring;
    int spin_us = lane->prepared->spins && !lane->waiting.may_look ? SPIN_US : 0;
    int outcome = nnf_ring_write_wait(&lane->requests.ring, request, size, nnf_now_ns() + LOOK_NS, 0, NULL);
    if (outcome)
        return ANEURALNETWORKS_OP_FAILED;
    ndk_await(&lane->waiting, has_result, results);
    do {
        outcome = nnf_ring_wait_readable(results, NNF_SHORTEST_RESULT, nnf_now_ns() + LOOK_NS, spin_us, NULL);
        spin_us = 0;
    } while (outcome == NNF_RING_TIMEOUT && !ndk_session_has_gone(session));
    if (outcome == NNF_RING_TIMEOUT)
        return ANEURALNETWORKS_DEAD_OBJECT;
    ndk_awaited(&lane->waiting);
    int64_t found = outcome ? -1 : nnf_ring_readable(results); /* the driver writes a packet as one */
    if (found < 0 || nnf_ring_try_read(results, result, (size_t)found))
        return ANEURALNETWORKS_OP_FAILED;
    *count = (size_t)found;
    return ANEURALNETWORKS_NO_ERROR;
}
