/* A ring of fixed-size elements between one writer and one reader, in memory that two processes share: libfmq's
 * synchronized queue [NN 4.13].
 *
 *   writer: reserve(n) -> regions    fill    commit(n)     wake NOT_EMPTY
 *   reader: peek(n)    -> regions    use     release(n)    wake NOT_FULL
 *
 * Counters are bytes, run freely and belong to one side each. The other side is not trusted: whatever it writes into
 * the region, regions stay inside of the data, and impossible counters are NNF_RING_BROKEN. The elements themselves may
 * change while they are looked at: copy, then check. */
#ifndef NNF_RING_H
#define NNF_RING_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum { NNF_RING_NOT_FULL = 1, NNF_RING_NOT_EMPTY = 2 }; /* bits of the event word */

enum nnf_ring_result {
    NNF_RING_OK,
    NNF_RING_TIMEOUT, /* no room, or not so many elements, now or until the deadline */
    NNF_RING_CLOSED,
    NNF_RING_TOO_BIG, /* more elements than the ring holds */
    NNF_RING_BROKEN,  /* more bytes than the ring holds, or parts of elements: the other side wrote nonsense */
};

/* What one side knows; only that side's calls touch it. Valid while the own counter is still `at`. */
typedef struct nnf_ring_side {
    uint64_t at;     /* own counter as this side left it */
    uint64_t place;  /* at modulo bytes */
    uint64_t seen;   /* the other counter when it was last read */
    uint32_t useless; /* waits in a row that span for nothing */
    uint32_t resting; /* waits to come that do not spin */
    char apart[96];  /* the sides may be two threads: no cache line of both */
} nnf_ring_side;

typedef struct nnf_ring {
    _Atomic uint64_t *read, *write;
    unsigned char *data;
    uint64_t bytes; /* of the data, a multiple of quantum */
    size_t quantum; /* bytes of an element */
    size_t capacity; /* elements */
    _Atomic uint32_t *event; /* NULL: nobody can wait for long */
    char apart[64];
    nnf_ring_side reader, writer;
} nnf_ring;

typedef struct nnf_regions {
    unsigned char *at[2];
    size_t count[2]; /* elements; the second is 0 unless the ring wraps */
} nnf_regions;

/* Counters and event word must be aligned, bytes a positive multiple of quantum. Does not touch the shared memory. */
void nnf_ring_init(nnf_ring *ring, _Atomic uint64_t *read, _Atomic uint64_t *write, unsigned char *data,
                   uint64_t bytes, size_t quantum, _Atomic uint32_t *event);

/* Elements; -1: broken. For the writer and the reader: to anybody else a ring in use may seem broken. */
int64_t nnf_ring_readable(const nnf_ring *ring);
int64_t nnf_ring_writable(const nnf_ring *ring);

/* Never block and wake nobody. commit and release take at most what the last reserve or peek gave. */
int nnf_ring_reserve(nnf_ring *ring, size_t n, nnf_regions *regions);
void nnf_ring_commit(nnf_ring *ring, size_t n);
int nnf_ring_peek(nnf_ring *ring, size_t n, nnf_regions *regions);
void nnf_ring_release(nnf_ring *ring, size_t n);

/* All n elements or none; never block and wake nobody. */
int nnf_ring_try_write(nnf_ring *ring, const void *elements, size_t n);
int nnf_ring_try_read(nnf_ring *ring, void *elements, size_t n);

/* Wait until there are n elements, or room for them: spin for at most about spin_us microseconds, then sleep on the
 * event word. Spinning ends early where others want the core, and is left out for a while where it was of no use.
 *   deadline_ns  on nnf_now_ns()'s clock, 0 = forever
 *   closed       looked at in every turn, nonzero ends the wait; NULL = never. Who sets it then calls nnf_ring_wake
 * Without an event word they spin only, and the time-out is the end of that. */
int nnf_ring_wait_readable(nnf_ring *ring, size_t n, int64_t deadline_ns, int spin_us,
                           const _Atomic uint32_t *closed);
int nnf_ring_wait_writable(nnf_ring *ring, size_t n, int64_t deadline_ns, int spin_us,
                           const _Atomic uint32_t *closed);

/* Wait, copy all n elements and wake the other side. */
int nnf_ring_write_wait(nnf_ring *ring, const void *elements, size_t n, int64_t deadline_ns, int spin_us,
                        const _Atomic uint32_t *closed);
int nnf_ring_read_wait(nnf_ring *ring, void *elements, size_t n, int64_t deadline_ns, int spin_us,
                       const _Atomic uint32_t *closed);

/* Sets bits of the event word and wakes who sleeps for them; a system call only where a bit was not set before. */
void nnf_ring_wake(nnf_ring *ring, uint32_t bits);

#endif
