from libc.stdint cimport int64_t, uint32_t, uint64_t

from .atomic cimport nnf_counter, nnf_flag

cdef extern from "nnf/ring.h":

    ctypedef struct nnf_ring:
        nnf_counter *read
        nnf_counter *write
        unsigned char *data
        uint64_t bytes
        size_t quantum
        size_t capacity
        nnf_flag *event

    ctypedef struct nnf_regions:
        unsigned char *at[2]
        size_t count[2]

    int NNF_RING_NOT_FULL
    int NNF_RING_NOT_EMPTY

    int NNF_RING_OK
    int NNF_RING_TIMEOUT
    int NNF_RING_CLOSED
    int NNF_RING_BROKEN

    void nnf_ring_init(nnf_ring *ring, nnf_counter *read, nnf_counter *write, unsigned char *data, uint64_t bytes,
                       size_t quantum, nnf_flag *event) nogil
    int64_t nnf_ring_readable(const nnf_ring *ring) nogil
    int64_t nnf_ring_writable(const nnf_ring *ring) nogil
    int nnf_ring_reserve(nnf_ring *ring, size_t n, nnf_regions *regions) nogil
    void nnf_ring_commit(nnf_ring *ring, size_t n) nogil
    int nnf_ring_peek(nnf_ring *ring, size_t n, nnf_regions *regions) nogil
    void nnf_ring_release(nnf_ring *ring, size_t n) nogil
    int nnf_ring_try_write(nnf_ring *ring, const void *elements, size_t n) nogil
    int nnf_ring_try_read(nnf_ring *ring, void *elements, size_t n) nogil
    int nnf_ring_wait_readable(nnf_ring *ring, size_t n, int64_t deadline_ns, int spin_us,
                               const nnf_flag *closed) nogil
    int nnf_ring_wait_writable(nnf_ring *ring, size_t n, int64_t deadline_ns, int spin_us,
                               const nnf_flag *closed) nogil
    int nnf_ring_write_wait(nnf_ring *ring, const void *elements, size_t n, int64_t deadline_ns, int spin_us,
                            const nnf_flag *closed) nogil
    int nnf_ring_read_wait(nnf_ring *ring, void *elements, size_t n, int64_t deadline_ns, int spin_us,
                           const nnf_flag *closed) nogil
    void nnf_ring_wake(nnf_ring *ring, uint32_t bits) nogil


cdef class Ring:
    cdef nnf_ring c
    cdef nnf_flag closed
    cdef tuple maps
    cdef size_t given[2]
    cdef bint taken[2]
    # What runs `c` without the GIL takes its side before, and leaves it afterwards: a second thread on the same side
    # would spoil what the first knows.
    cdef int take(self, int side) except -1
    cdef void leave(self, int side) noexcept
    cdef int wait_on(self, int side, size_t n, int64_t deadline_ns, int64_t spin_us) except -1


cdef enum:
    BUCKETS = 128       # of durations

cpdef int bucket_of(uint64_t us) noexcept nogil


cdef class Durations:
    cdef nnf_counter buckets[BUCKETS]
    cdef nnf_counter count

    cdef void note(self, uint64_t us) noexcept nogil


cdef class Runs:
    cdef nnf_counter count, best

    cdef void note(self, int64_t spent_ns) noexcept nogil


cdef class Calls:
    cdef nnf_counter running
    cdef nnf_flag stopped

    cdef bint begin(self) noexcept nogil
    cdef void end(self) noexcept nogil
