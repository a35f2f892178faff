#define _GNU_SOURCE
#include "nnf/ring.h"

#include <string.h>

#include "fmq/order.h"
#include "nnf/clock.h"
#include "nnf/futex.h"

enum {
    LOOK_NS = 100000000, /* a sleeper looks around so often: the other side may have died before its wake-up, or take
                          * bits that it has no right to */
    LOOKS = 16,          /* between two readings of the clock while it spins: about a microsecond */
    AWAY_NS = 200000,    /* looks that took so long were interrupted: somebody else has run on this core meanwhile */
    MOST_USELESS = 8,    /* at most 2^8 - 1 waits sleep at once before one spins again */
    PROBE_US = 250,      /* and that one spins no longer than this */
};

/* What was seen of the other counter is no longer of use: so much can be in no ring, and the next look reads it. */
static inline void forget_reader(nnf_ring_side *side)
{
    side->seen = side->at - 1;
}

static inline void forget_writer(nnf_ring_side *side)
{
    side->seen = side->at + 1;
}

void nnf_ring_init(nnf_ring *ring, _Atomic uint64_t *read, _Atomic uint64_t *write, unsigned char *data,
                   uint64_t bytes, size_t quantum, _Atomic uint32_t *event)
{
    memset(ring, 0, sizeof *ring);
    ring->read = read;
    ring->write = write;
    ring->data = data;
    ring->bytes = bytes;
    ring->quantum = quantum;
    ring->capacity = (size_t)(bytes / quantum);
    ring->event = event;
    forget_reader(&ring->reader);
    forget_writer(&ring->writer);
}

/* Takes up where the own counter is, when this side did not leave it there: the first call, a reset. */
static inline int settle(const nnf_ring *ring, nnf_ring_side *side, uint64_t own)
{
    if (own % ring->quantum)
        return NNF_RING_BROKEN;
    side->at = own;
    side->place = own % ring->bytes;
    return NNF_RING_OK;
}

static inline int is_sound(const nnf_ring *ring, uint64_t used)
{
    return used <= ring->bytes && used % ring->quantum == 0;
}

/* Whether n elements can be read: OK, TIMEOUT (not now), TOO_BIG, BROKEN. */
static inline int look_reader(nnf_ring *ring, size_t n)
{
    nnf_ring_side *side = &ring->reader;
    const uint64_t own = atomic_load_explicit(ring->read, memory_order_relaxed); /* nobody else's: no order */
    if (n > ring->capacity)
        return NNF_RING_TOO_BIG;
    const uint64_t wanted = (uint64_t)n * ring->quantum;
    if (own == side->at && side->seen - own <= ring->bytes && side->seen - own >= wanted)
        return NNF_RING_OK;
    if (own != side->at && settle(ring, side, own))
        return NNF_RING_BROKEN;
    side->seen = nnf_order_counter(ring->write); /* pairs with the publish in nnf_ring_commit */
    if (!is_sound(ring, side->seen - own)) {
        forget_reader(side);
        return NNF_RING_BROKEN;
    }
    return side->seen - own >= wanted ? NNF_RING_OK : NNF_RING_TIMEOUT;
}

/* Whether there is room for n elements. */
static inline int look_writer(nnf_ring *ring, size_t n)
{
    nnf_ring_side *side = &ring->writer;
    const uint64_t own = atomic_load_explicit(ring->write, memory_order_relaxed); /* nobody else's: no order */
    if (n > ring->capacity)
        return NNF_RING_TOO_BIG;
    const uint64_t most = ring->bytes - (uint64_t)n * ring->quantum; /* that may be in use */
    if (own == side->at && own - side->seen <= most)
        return NNF_RING_OK;
    if (own != side->at && settle(ring, side, own))
        return NNF_RING_BROKEN;
    side->seen = nnf_order_counter(ring->read); /* pairs with the publish in nnf_ring_release */
    if (!is_sound(ring, own - side->seen)) {
        forget_writer(side);
        return NNF_RING_BROKEN;
    }
    return own - side->seen <= most ? NNF_RING_OK : NNF_RING_TIMEOUT;
}

/* Elements in use; -1: broken. */
static int64_t used(const nnf_ring *ring)
{
    const uint64_t read = nnf_order_counter(ring->read);   /* pairs with the publish in nnf_ring_release */
    const uint64_t write = nnf_order_counter(ring->write); /* pairs with the publish in nnf_ring_commit */
    return is_sound(ring, write - read) ? (int64_t)((write - read) / ring->quantum) : -1;
}

int64_t nnf_ring_readable(const nnf_ring *ring)
{
    return used(ring);
}

int64_t nnf_ring_writable(const nnf_ring *ring)
{
    const int64_t count = used(ring);
    return count < 0 ? count : (int64_t)ring->capacity - count;
}

/* The n elements from the place of a side on. */
static inline void cut(const nnf_ring *ring, const nnf_ring_side *side, size_t n, nnf_regions *regions)
{
    const size_t left = (size_t)(ring->bytes - side->place) / ring->quantum; /* until the ring wraps */
    regions->at[0] = ring->data + side->place;
    regions->at[1] = ring->data;
    regions->count[0] = n < left ? n : left;
    regions->count[1] = n - regions->count[0];
}

static inline void advance(const nnf_ring *ring, nnf_ring_side *side, size_t n)
{
    const uint64_t bytes = (uint64_t)n * ring->quantum;
    side->at += bytes;
    side->place += bytes;
    if (side->place >= ring->bytes)
        side->place -= ring->bytes;
}

int nnf_ring_reserve(nnf_ring *ring, size_t n, nnf_regions *regions)
{
    const int outcome = look_writer(ring, n);
    if (!outcome)
        cut(ring, &ring->writer, n, regions);
    return outcome;
}

void nnf_ring_commit(nnf_ring *ring, size_t n)
{
    advance(ring, &ring->writer, n);
    nnf_order_publish(ring->write, ring->writer.at); /* pairs with the reader's look at the write counter */
}

int nnf_ring_peek(nnf_ring *ring, size_t n, nnf_regions *regions)
{
    const int outcome = look_reader(ring, n);
    if (!outcome)
        cut(ring, &ring->reader, n, regions);
    return outcome;
}

void nnf_ring_release(nnf_ring *ring, size_t n)
{
    advance(ring, &ring->reader, n);
    nnf_order_publish(ring->read, ring->reader.at); /* pairs with the writer's look at the read counter */
}

/* Bytes until the ring wraps, of so many from the place of a side on. */
static inline size_t before_wrap(const nnf_ring *ring, const nnf_ring_side *side, size_t bytes)
{
    const uint64_t left = ring->bytes - side->place;
    return bytes < left ? bytes : (size_t)left;
}

int nnf_ring_try_write(nnf_ring *ring, const void *elements, size_t n)
{
    const int outcome = look_writer(ring, n);
    if (outcome)
        return outcome;
    const unsigned char *from = elements;
    const size_t bytes = n * ring->quantum, first = before_wrap(ring, &ring->writer, bytes);
    memcpy(ring->data + ring->writer.place, from, first);
    if (first < bytes)
        memcpy(ring->data, from + first, bytes - first);
    nnf_ring_commit(ring, n);
    return outcome;
}

int nnf_ring_try_read(nnf_ring *ring, void *elements, size_t n)
{
    const int outcome = look_reader(ring, n);
    if (outcome)
        return outcome;
    unsigned char *to = elements;
    const size_t bytes = n * ring->quantum, first = before_wrap(ring, &ring->reader, bytes);
    memcpy(to, ring->data + ring->reader.place, first);
    if (first < bytes)
        memcpy(to + first, ring->data, bytes - first);
    nnf_ring_release(ring, n);
    return outcome;
}

static inline int is_set(const _Atomic uint32_t *closed)
{
    /* No order: who closes sets this first and then raises a bit, which the waiter takes before it sleeps. */
    return closed && atomic_load_explicit(closed, memory_order_relaxed);
}

typedef int look_fn(nnf_ring *ring, size_t n);

/* Spins until `look` has an answer, the ring is closed, the time is up, or others want this core: to yield it would
 * cost a time slice of each of them, whereas a sleeper is woken soon. */
static inline int spin(nnf_ring *ring, look_fn *look, size_t n, int64_t now_ns, int64_t until_ns, int *was_away,
                       const _Atomic uint32_t *closed)
{
    for (;;) {
        for (int i = 0; i < LOOKS; i++) {
            const int outcome = look(ring, n);
            if (outcome != NNF_RING_TIMEOUT)
                return outcome;
            if (is_set(closed))
                return NNF_RING_CLOSED;
            nnf_pause();
        }
        const int64_t before_ns = now_ns;
        now_ns = nnf_now_ns();
        *was_away |= now_ns - before_ns > AWAY_NS;
        if (now_ns >= until_ns || (*was_away && ring->event))
            return look(ring, n);
    }
}

/* Spins for a while where that has been of use. Each wait in a row that span for nothing doubles the number of waits
 * after it that do not spin at all: the other side takes longer than the window, or needs this very core. */
static inline int spin_if_useful(nnf_ring *ring, nnf_ring_side *side, look_fn *look, size_t n, int64_t deadline_ns,
                                 int spin_us, const _Atomic uint32_t *closed)
{
    if (side->resting && ring->event) {
        side->resting--;
        return NNF_RING_TIMEOUT;
    }
    const int64_t window_us = side->useless && ring->event && spin_us > PROBE_US ? PROBE_US : spin_us;
    const int64_t now = nnf_now_ns(), end = now + window_us * 1000;
    int was_away = 0;
    const int outcome = spin(ring, look, n, now, deadline_ns && deadline_ns < end ? deadline_ns : end, &was_away,
                             closed);
    if (outcome == NNF_RING_TIMEOUT || was_away) {
        side->useless += side->useless < MOST_USELESS;
        side->resting = (1u << side->useless) - 1;
    } else {
        side->useless = 0;
    }
    return outcome;
}

/* Always inlined, for the sake of `look`. */
static inline int wait_for(nnf_ring *ring, nnf_ring_side *side, look_fn *look, size_t n, uint32_t bit,
                           int64_t deadline_ns, int spin_us, const _Atomic uint32_t *closed)
{
    if (is_set(closed))
        return NNF_RING_CLOSED;
    int outcome = look(ring, n);
    if (outcome != NNF_RING_TIMEOUT)
        return outcome;
    if (spin_us > 0)
        outcome = spin_if_useful(ring, side, look, n, deadline_ns, spin_us, closed);
    while (outcome == NNF_RING_TIMEOUT && ring->event) {
        /* Pairs with nnf_order_raise in nnf_ring_wake. A bit that was set is why to look again; it stays set when the
         * look succeeds, so that the other side has no reason for a system call while this one is awake. */
        const uint32_t event = nnf_order_take(ring->event, bit);
        const int64_t now = nnf_now_ns(), soon = now + LOOK_NS;
        if (deadline_ns && now >= deadline_ns)
            break;
        if (!(event & bit))
            nnf_futex_wait_shared(ring->event, event, bit, deadline_ns && deadline_ns < soon ? deadline_ns : soon);
        outcome = is_set(closed) ? NNF_RING_CLOSED : look(ring, n);
    }
    return outcome;
}

int nnf_ring_wait_readable(nnf_ring *ring, size_t n, int64_t deadline_ns, int spin_us,
                           const _Atomic uint32_t *closed)
{
    return wait_for(ring, &ring->reader, look_reader, n, NNF_RING_NOT_EMPTY, deadline_ns, spin_us, closed);
}

int nnf_ring_wait_writable(nnf_ring *ring, size_t n, int64_t deadline_ns, int spin_us,
                           const _Atomic uint32_t *closed)
{
    return wait_for(ring, &ring->writer, look_writer, n, NNF_RING_NOT_FULL, deadline_ns, spin_us, closed);
}

int nnf_ring_write_wait(nnf_ring *ring, const void *elements, size_t n, int64_t deadline_ns, int spin_us,
                        const _Atomic uint32_t *closed)
{
    int outcome = nnf_ring_wait_writable(ring, n, deadline_ns, spin_us, closed);
    if (!outcome) {
        outcome = nnf_ring_try_write(ring, elements, n);
        nnf_ring_wake(ring, NNF_RING_NOT_EMPTY);
    }
    return outcome;
}

int nnf_ring_read_wait(nnf_ring *ring, void *elements, size_t n, int64_t deadline_ns, int spin_us,
                       const _Atomic uint32_t *closed)
{
    int outcome = nnf_ring_wait_readable(ring, n, deadline_ns, spin_us, closed);
    if (!outcome) {
        outcome = nnf_ring_try_read(ring, elements, n);
        nnf_ring_wake(ring, NNF_RING_NOT_FULL);
    }
    return outcome;
}

void nnf_ring_wake(nnf_ring *ring, uint32_t bits)
{
    /* Pairs with nnf_order_take in wait_for: comes after what was published, and before the sleepers are woken. */
    if (ring->event && (nnf_order_raise(ring->event, bits) & bits) != bits)
        nnf_futex_wake_shared(ring->event, bits);
}
