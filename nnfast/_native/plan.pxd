from libc.stdint cimport int32_t, int64_t

from .threads cimport Turn, nnf_program, nnf_run, nnf_step, nnf_step_fn
from .window cimport nnf_axis

# Does output rows first..last-1 of a step on one image; x and y are where row 0 is or would be: of x only the rows that
# these outputs read need be there, of y only those that they are. Scratch is that of the step.
ctypedef void (*band_fn)(const nnf_step *step, const nnf_run *run, const void *x, void *y, size_t first, size_t last,
                         unsigned char *scratch) noexcept nogil


cdef enum:
    PART_ELEMENTS = 1 << 18     # of a part of a long step: 0.1 ms or more (nnf/program.h) ...
    PART_PRODUCTS = 1 << 23     # ... of one that multiplies and adds


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
    cdef double part                # work of a part, PART_ELEMENTS where a family says nothing; 0: it looks itself
    cdef readonly tuple made_with   # (arguments, keyword arguments): what makes an equal step
    cdef object keep                # whatever the parameter struct points into
    cdef band_fn band               # a step of one image that can do some rows of its output alone; else NULL
    cdef nnf_axis rows              # the window along those rows
    cdef readonly size_t in_row     # bytes of a row of the first slot
    cdef readonly size_t out_row    # bytes of a row of the last slot
    cdef public object definition   # run(frame) computes what the step has declined; None: it never does

    cdef int bind(self, nnf_step_fn fn, const void *params, slots, str kernel) except -1
    cdef void bands(self, band_fn fn, nnf_axis rows, size_t in_row, size_t out_row)


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
    cdef readonly Step head         # runs before the steps and is not counted among them; or None
    cdef readonly size_t scratch
    cdef readonly int threads
