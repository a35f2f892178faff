from libc.stdint cimport int64_t


cdef class Tally:
    cdef readonly int64_t limit, used, small
    cdef readonly str name
    cdef readonly Tally above
    cdef readonly bint shared

    cdef int64_t _reserve(self)
    cdef bint _fits(self, int64_t count)
    cdef bint is_full(self) noexcept nogil
    cdef void _add(self, int64_t count)
    cpdef Tally take(self, int64_t count)
