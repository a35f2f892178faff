"""The ring between two processes (csrc/include/nnf/ring.h), on memory that is mapped already.

Nothing is checked here but what would break memory: `nnfast.fmq` does that. Deadlines are nanoseconds of the monotonic
clock, 0 for none, NOW for not waiting. Results are numbers, of which REASONS has the names.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.exc cimport PyErr_CheckSignals

from ..errors import InvalidArgument

cdef extern from "nnf/clock.h":
    int64_t nnf_now_ns() noexcept nogil

REASONS = ("ok", "timeout", "closed", "too_big", "broken")
NOT_FULL, NOT_EMPTY = NNF_RING_NOT_FULL, NNF_RING_NOT_EMPTY
NOW = -1

cdef enum:
    READER = 0
    WRITER = 1
    SLICE_NS = 100000000     # a waiting call looks at signals, and whether the other side lives, so often
    ROOM = 1 << 16          # elements of the longest packet that is looked at


cdef class Ring:
    """One side, or both, of a ring.

    maps: (read counter, write counter, data, event word or None), each (object with a writable buffer, offset); the
    data is `size` bytes of elements of `quantum` bytes. One thread at a time may read, and one write.
    """

    def __cinit__(self, tuple maps, uint64_t size, size_t quantum):
        cdef unsigned char *at[4]
        cdef Py_buffer view
        cdef int i
        cdef uint64_t offset
        for i in range(4):
            at[i] = NULL
            if maps[i] is None:
                continue
            memory, offset = maps[i]
            PyObject_GetBuffer(memory, &view, PyBUF_SIMPLE | PyBUF_WRITABLE)
            at[i] = <unsigned char *> view.buf + offset
            inside = offset + (size if i == 2 else 4 if i == 3 else 8) <= <uint64_t> view.len
            PyBuffer_Release(&view)  # self.maps keeps the memory
            if not inside or <size_t> at[i] % 4:
                raise InvalidArgument(f"ring: piece {i} at offset {offset} does not lie in its memory")
        if quantum == 0 or size == 0 or size % quantum or <size_t> at[0] % 8 or <size_t> at[1] % 8:
            raise InvalidArgument(f"ring: {size} bytes must be elements of {quantum} bytes, counters aligned")
        self.maps = maps
        nnf_ring_init(&self.c, <nnf_counter *> at[0], <nnf_counter *> at[1], at[2], size, quantum, <nnf_flag *> at[3])

    cdef int take(self, int side) except -1:
        if self.taken[side]:
            what = "writing" if side == WRITER else "reading"
            raise InvalidArgument(f"message queue: another thread is {what}; a queue has one writer and one reader")
        self.taken[side] = True
        self.given[side] = 0
        return 0

    cdef void leave(self, int side) noexcept:
        self.taken[side] = False

    cdef int wait_on(self, int side, size_t n, int64_t deadline_ns, int64_t spin_us) except -1:
        """Wait for n elements, or room for them, and look at Python's signals now and then."""
        cdef nnf_regions regions
        cdef int outcome, spin
        cdef int64_t until, now, spin_end
        if self.closed:
            return NNF_RING_CLOSED
        outcome = nnf_ring_reserve(&self.c, n, &regions) if side == WRITER else nnf_ring_peek(&self.c, n, &regions)
        if outcome != NNF_RING_TIMEOUT or deadline_ns < 0:
            return outcome
        now = nnf_now_ns()
        spin_end = now + spin_us * 1000
        while outcome == NNF_RING_TIMEOUT and (deadline_ns == 0 or now < deadline_ns):
            until = now + SLICE_NS if deadline_ns == 0 else min(now + SLICE_NS, deadline_ns)
            spin = <int> (min(max(spin_end - now, 0), SLICE_NS) // 1000)
            with nogil:
                if side == WRITER:
                    outcome = nnf_ring_wait_writable(&self.c, n, until, spin, &self.closed)
                else:
                    outcome = nnf_ring_wait_readable(&self.c, n, until, spin, &self.closed)
                now = nnf_now_ns()
            PyErr_CheckSignals()
        return outcome

    def write(self, elements, size_t n, int64_t deadline_ns, int64_t spin_us):
        """Write n elements from a buffer, and wake the reader."""
        cdef Py_buffer view
        cdef int outcome
        PyObject_GetBuffer(elements, &view, PyBUF_SIMPLE)
        try:
            if n > <size_t> view.len // self.c.quantum:
                raise InvalidArgument(f"ring: the buffer has {view.len} bytes, too few for {n} elements of "
                                      f"{self.c.quantum}")
            self.take(WRITER)
            try:
                outcome = self.wait_on(WRITER, n, deadline_ns, spin_us)
                if outcome == NNF_RING_OK:
                    outcome = nnf_ring_try_write(&self.c, view.buf, n)
                    nnf_ring_wake(&self.c, NNF_RING_NOT_EMPTY)
            finally:
                self.leave(WRITER)
        finally:
            PyBuffer_Release(&view)
        return outcome

    def read(self, elements, size_t n, int64_t deadline_ns, int64_t spin_us):
        """Read n elements into a buffer, and wake the writer."""
        cdef Py_buffer view
        cdef int outcome
        PyObject_GetBuffer(elements, &view, PyBUF_SIMPLE | PyBUF_WRITABLE)
        try:
            if n > <size_t> view.len // self.c.quantum:
                raise InvalidArgument(f"ring: {view.len} bytes do not hold {n} elements")
            self.take(READER)
            try:
                outcome = self.wait_on(READER, n, deadline_ns, spin_us)
                if outcome == NNF_RING_OK:
                    outcome = nnf_ring_try_read(&self.c, view.buf, n)
                    nnf_ring_wake(&self.c, NNF_RING_NOT_FULL)
            finally:
                self.leave(READER)
        finally:
            PyBuffer_Release(&view)
        return outcome

    def wait(self, bint writing, size_t n, int64_t deadline_ns, int64_t spin_us):
        """Wait until there are n elements to read, or room to write them."""
        cdef int side = WRITER if writing else READER
        self.take(side)
        try:
            return self.wait_on(side, n, deadline_ns, spin_us)
        finally:
            self.leave(side)

    def begin(self, bint writing, size_t n):
        """(result, ((offset in the data, elements), ...)) of n elements to fill in, or to look at."""
        cdef nnf_regions regions
        cdef int side = WRITER if writing else READER, outcome
        self.take(side)
        outcome = self.wait_on(side, n, NOW, 0)
        if outcome == NNF_RING_OK:
            outcome = nnf_ring_reserve(&self.c, n, &regions) if writing else nnf_ring_peek(&self.c, n, &regions)
        self.leave(side)
        if outcome != NNF_RING_OK:
            return outcome, ()
        self.given[side] = n
        found = []
        for i in range(2):
            if regions.count[i]:
                found.append((regions.at[i] - self.c.data, regions.count[i]))
        return outcome, tuple(found)

    def commit(self, bint writing, size_t n):
        """Publish the first n of the elements that `begin` gave, and wake the other side."""
        cdef int side = WRITER if writing else READER
        cdef size_t given = self.given[side]
        if n > given:
            raise InvalidArgument(f"message queue: {n} elements cannot be committed, {given} were given out")
        self.take(side)
        if writing:
            nnf_ring_commit(&self.c, n)
        else:
            nnf_ring_release(&self.c, n)
        self.given[side] = given - n
        self.leave(side)
        nnf_ring_wake(&self.c, NNF_RING_NOT_EMPTY if writing else NNF_RING_NOT_FULL)

    def readable(self):
        return nnf_ring_readable(&self.c)

    def writable(self):
        return nnf_ring_writable(&self.c)

    def wake(self, uint32_t bits):
        nnf_ring_wake(&self.c, bits)

    def close(self):
        """No more reads and writes here; who waits in this process is woken."""
        self.closed = 1
        nnf_ring_wake(&self.c, NNF_RING_NOT_FULL | NNF_RING_NOT_EMPTY)

    @property
    def is_closed(self):
        return bool(self.closed)
