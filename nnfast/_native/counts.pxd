from libc.stdint cimport int64_t, uint64_t

from .fmq cimport nnf_counter, nnf_flag

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
