from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t

from .atomic cimport nnf_counter
from .pthread cimport pthread_mutex_t
from .threads cimport Team, Turn, nnf_history, nnf_program, nnf_run, nnf_step, nnf_step_fn
from .window cimport nnf_axis

cimport numpy as cnp

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
    cdef readonly size_t elements   # that the step computes one by one, in shares of nnf_share_runs; else 0
    cdef readonly tuple items       # bytes of each slot's element, the output's last; 0: all take the first
    cdef readonly size_t grains     # equal pieces of the last slot, which even shares (nnf/step.h) do not cut; 0: none
    cdef readonly size_t least      # grains of a share from which on their number does not change how a sum is added up
    cdef readonly bint pointwise    # even shares read, of what other steps write, only pieces of their own number
    cdef public object reference    # run(frame) computes what the step has declined; None: it never does

    cdef int bind(self, nnf_step_fn fn, const void *params, slots, str kernel) except -1
    cdef void bands(self, band_fn fn, nnf_axis rows, size_t in_row, size_t out_row)
    cdef void one_by_one(self, size_t elements, tuple items)
    cdef void even(self, size_t grains, bint pointwise, size_t least=?)


cdef class Frame:
    cdef void **table
    cdef readonly int size
    cdef nnf_run run
    cdef int declined
    cdef object memory, scratch_memory
    cdef list owned
    cdef public object arrays
    cdef readonly Turn turn
    cdef readonly Team team
    cdef object __weakref__

    cdef inline void set(self, int slot, void *address) noexcept


cdef class Program:
    cdef nnf_program c
    cdef nnf_step *items
    cdef nnf_history history
    cdef readonly tuple steps
    cdef readonly Step head         # runs before the steps and is not counted among them; or None
    cdef readonly size_t scratch
    cdef readonly int threads


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


cdef enum:
    RANKS = 8             # MAX_RANK
    MAX_IDLE = 64         # workspaces kept for the next runs


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
    cdef list make(self, list sources)
    cdef void bind(self, Frame frame, list arrays) noexcept
    cdef void set(self, Frame frame, int i, void *address) noexcept nogil


cdef class Workspace:
    cdef Frame frame
    cdef list states
    cdef void **addresses   # of the states


cdef class Runner:
    cdef Program program
    cdef Arguments inputs, outputs, states_in, states_out
    cdef list initial
    cdef void **first                   # addresses of the initial states
    cdef pthread_mutex_t lock           # of idle and idle_count, which need no GIL
    cdef PyObject *idle[MAX_IDLE]
    cdef int idle_count
    cdef readonly nnf_counter runs
    cdef object new_frame
    cdef int threads
    cdef public bint watched

    cdef PyObject *take_idle(self) noexcept nogil
    cdef bint give_idle(self, PyObject *space) noexcept nogil
    cdef bint _may_write(self, list inputs, list out) noexcept


cdef class BoundRun:
    cdef Runner runner
    cdef tuple arrays
    cdef void **inputs
    cdef void **outputs

    cdef bint run(self, const int *cancel) noexcept nogil
