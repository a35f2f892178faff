from .plan cimport Frame, Program

cimport numpy as cnp

cdef enum:
    RANKS = 8             # MAX_RANK


cdef struct Argument:
    int slot          # -1: nothing reads or writes it
    int type
    int rank
    cnp.npy_intp dims[RANKS]
    size_t itemsize, nbytes
    int first_alias   # its aliases lie at first_alias .. last_alias - 1 of the alias table
    int last_alias


cdef class Arguments:
    cdef Argument *items
    cdef int *alias_slots
    cdef int count

    cdef bint fits(self, list arrays) noexcept
    cdef bint fits_one(self, int i, object value) noexcept
    cdef list make(self)
    cdef void bind(self, Frame frame, list arrays) noexcept
    cdef void set(self, Frame frame, int i, void *address) noexcept nogil


cdef class Runner:
    cdef Program program
    cdef Arguments inputs, outputs, states_in, states_out
    cdef list initial, idle    # idle: the first idle_count entries, so that taking and giving allocate nothing
    cdef int idle_count
    cdef readonly unsigned long runs
    cdef object new_frame
    cdef int threads

    cdef bint _may_write(self, list inputs, list out) noexcept
