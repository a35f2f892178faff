"""Loops that time ways between two processes: rings, a bare futex, files (pipes and sockets).

A message is a datum of 24 bytes [NN 4.2] that begins with its number; whoever gets another one than expected
raises. `ping` and `echo` face each other, and so do `send` and `receive`. Nobody waits longer than PATIENCE_NS: the
other side may be gone.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset
from posix.unistd cimport read, write

from .rings cimport (
    Ring,
    nnf_flag,
    nnf_ring,
    nnf_ring_read_wait,
    nnf_ring_try_read,
    nnf_ring_try_write,
    nnf_ring_write_wait,
)

from ..errors import GeneralFailure

cdef extern from "nnf/clock.h":
    int64_t nnf_now_ns() nogil
    void nnf_pause() nogil

cdef extern from "<sched.h>":
    int sched_yield() nogil

cdef extern from "nnf/futex.h":
    void nnf_futex_wait_shared(nnf_flag *word, uint32_t value, uint32_t bits, int64_t until_ns) nogil
    void nnf_futex_wake_shared(nnf_flag *word, uint32_t bits) nogil

cdef enum:
    DATUM = 24
    BATCH_MAX = 256
    SPIN_US = 1000000
    LOOKS = 1000    # of a side that polls, before it yields its core

cdef int64_t PATIENCE_NS = 100000000000


cdef int check(int failed) except -1:
    if failed:
        raise GeneralFailure("benchmark: a message did not arrive as it was sent")
    return 0


cdef inline bint is_late(int64_t end) noexcept nogil:
    """Let the other side run, which may need this core; whether the time is up."""
    sched_yield()
    return nnf_now_ns() >= end


# -- rings -------------------------------------------------------------------------------------------------------------
cdef inline int put(nnf_ring *ring, const void *data, size_t n, bint wakes, int spin_us, int64_t end) noexcept nogil:
    """Write, and wake the reader if it may sleep; where nobody is woken, both sides poll."""
    if wakes:
        return nnf_ring_write_wait(ring, data, n, end, spin_us, NULL)
    cdef int looks = 0
    while nnf_ring_try_write(ring, data, n):
        nnf_pause()
        looks += 1
        if looks % LOOKS == 0 and is_late(end):
            return 1
    return 0


cdef inline int get(nnf_ring *ring, void *data, size_t n, bint wakes, int spin_us, int64_t end) noexcept nogil:
    if wakes:
        return nnf_ring_read_wait(ring, data, n, end, spin_us, NULL)
    cdef int looks = 0
    while nnf_ring_try_read(ring, data, n):
        nnf_pause()
        looks += 1
        if looks % LOOKS == 0 and is_late(end):
            return 1
    return 0


def ring_ping(Ring out, Ring back, uint64_t count, bint wakes, bint spins):
    """Nanoseconds of `count` round trips. wakes: use the event flag; spins: wait without sleeping."""
    cdef unsigned char data[DATUM]
    cdef uint64_t i, answer
    cdef int failed = 0, spin_us = SPIN_US if spins else 0
    cdef int64_t start, end
    memset(data, 0, DATUM)
    with nogil:
        start = nnf_now_ns()
        end = start + PATIENCE_NS
        for i in range(count):
            memcpy(data, &i, 8)
            failed = put(&out.c, data, 1, wakes, spin_us, end) or get(&back.c, data, 1, wakes, spin_us, end)
            memcpy(&answer, data, 8)
            if failed or answer != i:
                failed = 1
                break
        start = nnf_now_ns() - start
    check(failed)
    return start


def ring_echo(Ring come, Ring back, uint64_t count, bint wakes, bint spins):
    cdef unsigned char data[DATUM]
    cdef uint64_t _i
    cdef int failed = 0, spin_us = SPIN_US if spins else 0
    cdef int64_t end = nnf_now_ns() + PATIENCE_NS
    with nogil:
        for _i in range(count):
            failed = get(&come.c, data, 1, wakes, spin_us, end) or put(&back.c, data, 1, wakes, spin_us, end)
            if failed:
                break
    check(failed)


def ring_send(Ring out, uint64_t count, size_t batch, bint wakes):
    """Send `count` messages, a multiple of `batch`, so many in one call. Spins where the ring is full."""
    cdef unsigned char data[DATUM * BATCH_MAX]
    cdef uint64_t i = 0, number
    cdef size_t k
    cdef int failed = 0
    cdef int64_t end = nnf_now_ns() + PATIENCE_NS
    check(not 0 < batch <= BATCH_MAX)
    memset(data, 0, sizeof(data))
    with nogil:
        while i < count and not failed:
            for k in range(batch):
                number = i + k
                memcpy(data + DATUM * k, &number, 8)
            failed = put(&out.c, data, batch, wakes, SPIN_US, end)
            i += batch
    check(failed)


def ring_receive(Ring come, uint64_t count, size_t batch, bint wakes):
    """Nanoseconds from the first message to the last."""
    cdef unsigned char data[DATUM * BATCH_MAX]
    cdef uint64_t i = 0, number
    cdef size_t k
    cdef int failed = 0
    cdef int64_t start = 0, end = nnf_now_ns() + PATIENCE_NS
    check(not 0 < batch <= BATCH_MAX)
    with nogil:
        while i < count and not failed:
            failed = get(&come.c, data, batch, wakes, SPIN_US, end)
            for k in range(batch):
                memcpy(&number, data + DATUM * k, 8)
                failed |= number != i + k
            if i == 0:
                start = nnf_now_ns()
            i += batch
        start = nnf_now_ns() - start
    check(failed)
    return start


# -- two words and a futex ---------------------------------------------------------------------------------------------
cdef int await_word(nnf_flag *word, uint32_t value, int64_t end) noexcept nogil:
    """Sleep until the word has this value."""
    cdef uint32_t seen = word[0]
    while seen != value:
        if nnf_now_ns() >= end:
            return 1
        nnf_futex_wait_shared(word, seen, 1, end)
        seen = word[0]
    return 0


cdef nnf_flag *word_at(unsigned char[::1] memory, size_t offset) except NULL:
    if offset + 4 > <size_t> memory.shape[0]:
        raise GeneralFailure("benchmark: no memory for a futex")
    return <nnf_flag *> &memory[offset]


def futex_ping(unsigned char[::1] memory, uint32_t count):
    """Nanoseconds of `count` round trips with nothing but a store, a wake-up and a sleep on each side."""
    cdef nnf_flag *out = word_at(memory, 0)
    cdef nnf_flag *back = word_at(memory, 128)
    cdef uint32_t i, base = out[0]
    cdef int failed = 0
    cdef int64_t start, end
    with nogil:
        start = nnf_now_ns()
        end = start + PATIENCE_NS
        for i in range(count):
            out[0] = base + i + 1
            nnf_futex_wake_shared(out, 1)
            failed = await_word(back, base + i + 1, end)
            if failed:
                break
        start = nnf_now_ns() - start
    check(failed)
    return start


def futex_echo(unsigned char[::1] memory, uint32_t count):
    cdef nnf_flag *come = word_at(memory, 0)
    cdef nnf_flag *back = word_at(memory, 128)
    cdef uint32_t i, base = back[0]
    cdef int failed = 0
    cdef int64_t end = nnf_now_ns() + PATIENCE_NS
    with nogil:
        for i in range(count):
            failed = await_word(come, base + i + 1, end)
            if failed:
                break
            back[0] = base + i + 1
            nnf_futex_wake_shared(back, 1)
    check(failed)


# -- files -------------------------------------------------------------------------------------------------------------
cdef inline int put_file(int fd, const void *data) noexcept nogil:
    cdef ssize_t done = 0, moved
    while done < DATUM:
        moved = write(fd, <const char *> data + done, <size_t> (DATUM - done))
        if moved <= 0:
            return 1
        done += moved
    return 0


cdef inline int get_file(int fd, void *data) noexcept nogil:
    cdef ssize_t done = 0, moved
    while done < DATUM:
        moved = read(fd, <char *> data + done, <size_t> (DATUM - done))
        if moved <= 0:
            return 1
        done += moved
    return 0


def file_ping(int out, int back, uint64_t count):
    """Nanoseconds of `count` round trips through two files."""
    cdef unsigned char data[DATUM]
    cdef uint64_t i, answer
    cdef int failed = 0
    cdef int64_t start
    memset(data, 0, DATUM)
    with nogil:
        start = nnf_now_ns()
        for i in range(count):
            memcpy(data, &i, 8)
            failed = put_file(out, data) or get_file(back, data)
            memcpy(&answer, data, 8)
            if failed or answer != i:
                failed = 1
                break
        start = nnf_now_ns() - start
    check(failed)
    return start


def file_echo(int come, int back, uint64_t count):
    cdef unsigned char data[DATUM]
    cdef uint64_t _i
    cdef int failed = 0
    with nogil:
        for _i in range(count):
            failed = get_file(come, data) or put_file(back, data)
            if failed:
                break
    check(failed)


def file_send(int out, uint64_t count):
    cdef unsigned char data[DATUM]
    cdef uint64_t i
    cdef int failed = 0
    memset(data, 0, DATUM)
    with nogil:
        for i in range(count):
            memcpy(data, &i, 8)
            failed = put_file(out, data)
            if failed:
                break
    check(failed)


def file_receive(int come, uint64_t count):
    """Nanoseconds from the first message to the last."""
    cdef unsigned char data[DATUM]
    cdef uint64_t i, number
    cdef int failed = 0
    cdef int64_t start = 0
    with nogil:
        for i in range(count):
            failed = get_file(come, data)
            memcpy(&number, data, 8)
            if failed or number != i:
                failed = 1
                break
            if i == 0:
                start = nnf_now_ns()
        start = nnf_now_ns() - start
    check(failed)
    return start
