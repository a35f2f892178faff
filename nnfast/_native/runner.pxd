from cpython.ref cimport PyObject

from .fmq cimport nnf_counter
from .plan cimport Frame, Program

cimport numpy as cnp

cdef extern from "pthread.h" nogil:
    ctypedef struct pthread_mutex_t:
        pass
    int pthread_mutex_init(pthread_mutex_t *mutex, const void *attr)
    int pthread_mutex_lock(pthread_mutex_t *mutex)
    int pthread_mutex_trylock(pthread_mutex_t *mutex)
    int pthread_mutex_unlock(pthread_mutex_t *mutex)
    int pthread_mutex_destroy(pthread_mutex_t *mutex)

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
    cdef list make(self)
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

    cdef PyObject *take_idle(self) noexcept nogil
    cdef bint give_idle(self, PyObject *space) noexcept nogil
    cdef bint _may_write(self, list inputs, list out) noexcept


cdef class BoundRun:
    cdef Runner runner
    cdef tuple arrays
    cdef void **inputs
    cdef void **outputs

    cdef bint run(self, const int *cancel) noexcept nogil
