from libc.stdint cimport int32_t, int64_t

from .threads cimport Turn, nnf_program, nnf_run, nnf_step, nnf_step_fn


cdef class Step:
    """One prepared step. A family subclasses it, keeps its parameter struct in the object and calls `bind`."""
    cdef nnf_step c
    cdef int32_t *slot_numbers
    cdef readonly tuple slots       # slot numbers, in the family's order
    cdef readonly str kernel        # name of the kernel that runs
    cdef readonly size_t packed     # bytes of packed parameters
    cdef readonly double work       # multiply-adds (or elements) of one run
    cdef readonly size_t scratch    # bytes of scratch each thread needs
    cdef readonly int tiles         # most threads that find work
    cdef object keep                # whatever the parameter struct points into
    cdef public object definition   # run(frame) computes what the step has declined; None: it never does

    cdef int bind(self, nnf_step_fn fn, const void *params, slots, str kernel) except -1


cdef class Frame:
    cdef void **table
    cdef readonly int size
    cdef nnf_run run
    cdef int declined
    cdef object memory, scratch_memory
    cdef list owned
    cdef public object arrays
    cdef readonly Turn turn
    cdef object __weakref__

    cdef inline void set(self, int slot, void *address) noexcept


cdef class Program:
    cdef nnf_program c
    cdef nnf_step *items
    cdef readonly tuple steps
    cdef readonly size_t scratch
    cdef readonly int threads
