"""The short way of PreparedModel.run: checks, addresses and one native call for a plan that is one program."""

from cpython.mem cimport PyMem_Calloc, PyMem_Free
from libc.stdint cimport uintptr_t

from .plan cimport Frame, Program
from .threads cimport run_program

cimport numpy as cnp

cnp.import_array()

MAX_RANK = RANKS
"""Of the arrays that the short way takes."""

cdef enum:
    MAX_IDLE = 64      # frames kept for the next runs


cdef class Arguments:
    """A row of arguments with known dtype and shape: [(slot or None, dtype, shape, aliased slots)]."""

    def __cinit__(self, rows):
        cdef int i, axis, total = sum(len(row[3]) for row in rows), used = 0
        self.count = len(rows)
        self.items = <Argument *>PyMem_Calloc(max(1, self.count), sizeof(Argument))
        self.alias_slots = <int *>PyMem_Calloc(max(1, total), sizeof(int))
        if self.items == NULL or self.alias_slots == NULL:
            raise MemoryError()
        for i, (slot, dtype, shape, aliased) in enumerate(rows):
            if len(shape) > RANKS:
                raise ValueError(f"rank {len(shape)} is above {RANKS}")
            self.items[i].slot = -1 if slot is None else slot
            self.items[i].type = dtype.num
            self.items[i].rank = len(shape)
            self.items[i].itemsize = self.items[i].nbytes = dtype.itemsize
            for axis in range(len(shape)):
                self.items[i].dims[axis] = shape[axis]
                self.items[i].nbytes *= <size_t>shape[axis]
            self.items[i].first_alias = used
            for other in aliased:
                self.alias_slots[used] = other
                used += 1
            self.items[i].last_alias = used

    def __dealloc__(self):
        PyMem_Free(self.items)
        PyMem_Free(self.alias_slots)

    cdef bint fits(self, list arrays) noexcept:
        """True when every array has exactly the dtype, shape and layout; nothing is raised."""
        cdef int i
        if len(arrays) != self.count:
            return False
        for i in range(self.count):
            if not self.fits_one(i, arrays[i]):
                return False
        return True

    cdef bint fits_one(self, int i, object value) noexcept:
        cdef Argument *a = &self.items[i]
        cdef cnp.ndarray array
        cdef int axis
        if not cnp.PyArray_CheckExact(value):
            return False
        array = <cnp.ndarray>value
        if cnp.PyArray_TYPE(array) != a.type or cnp.PyArray_NDIM(array) != a.rank:
            return False
        for axis in range(a.rank):
            if cnp.PyArray_DIM(array, axis) != a.dims[axis]:
                return False
        return cnp.PyArray_ISCARRAY_RO(array)

    cdef list make(self):
        """Fresh arrays."""
        cdef int i
        return [cnp.PyArray_EMPTY(self.items[i].rank, self.items[i].dims, self.items[i].type, 0)
                for i in range(self.count)]

    cdef void bind(self, Frame frame, list arrays) noexcept:
        """Put the addresses of the arrays into the frame; the caller keeps the arrays alive."""
        cdef int i
        for i in range(self.count):
            self.set(frame, i, cnp.PyArray_DATA(<cnp.ndarray>arrays[i]))

    cdef void set(self, Frame frame, int i, void *address) noexcept nogil:
        """Put one address into the frame."""
        cdef Argument *a = &self.items[i]
        cdef int k
        if a.slot < 0:
            return
        frame.table[a.slot] = address
        for k in range(a.first_alias, a.last_alias):
            frame.table[self.alias_slots[k]] = address


cdef bint _overlap(object first, object second) noexcept:
    cdef uintptr_t a = <uintptr_t>cnp.PyArray_DATA(<cnp.ndarray>first)
    cdef uintptr_t b = <uintptr_t>cnp.PyArray_DATA(<cnp.ndarray>second)
    return a < b + cnp.PyArray_NBYTES(<cnp.ndarray>second) and b < a + cnp.PyArray_NBYTES(<cnp.ndarray>first)


cdef class Runner:
    """Runs one program on arrays that fit exactly.

    inputs, outputs, states_in, states_out: rows as Arguments takes them; initial: first value of each state;
    frame(): a new frame; threads: of a run. `run` returns None when an argument does not fit or a step declines (the
    long way then says why, or finds the results); any number of threads may call it.
    """

    def __init__(self, Program program, frame, int threads, inputs, outputs, states_in, states_out, list initial):
        self.program, self.new_frame, self.threads = program, frame, threads
        self.inputs, self.outputs = Arguments(inputs), Arguments(outputs)
        self.states_in, self.states_out = Arguments(states_in), Arguments(states_out)
        self.initial, self.idle = initial, [None] * MAX_IDLE

    def run(self, list inputs, out=None, list states_in=None, list states_out=None):
        """Outputs as a list, or None when something does not fit or a step declines.

        Without states, they start from `initial`.
        """
        cdef list results
        cdef tuple place
        cdef Frame frame
        cdef size_t done = 0
        cdef int outcome
        if not self.inputs.fits(inputs):
            return None
        if out is None:
            results = self.outputs.make()
        else:
            if type(out) is not list or not self._may_write(inputs, out):
                return None
            results = <list>out
        if self.idle_count:
            self.idle_count -= 1
            place = self.idle[self.idle_count]
        else:
            place = (self.new_frame(), self.states_out.make())
        frame = place[0]
        self.inputs.bind(frame, inputs)
        self.outputs.bind(frame, results)
        self.states_in.bind(frame, self.initial if states_in is None else states_in)
        self.states_out.bind(frame, place[1] if states_out is None else states_out)
        with nogil:
            outcome = run_program(&self.program.c, &frame.run, self.threads, NULL, 0, NULL, &done)
        self.runs += 1
        if self.idle_count < MAX_IDLE:
            self.idle[self.idle_count] = place
            self.idle_count += 1
        return None if outcome else results

    def release_idle(self):
        """Give the memory of idle frames back to the system."""
        self.idle, self.idle_count = [None] * MAX_IDLE, 0

    cdef bint _may_write(self, list inputs, list out) noexcept:
        cdef int i, k
        if not self.outputs.fits(out):
            return False
        for i in range(self.outputs.count):
            if not cnp.PyArray_ISWRITEABLE(<cnp.ndarray>out[i]):
                return False
            for k in range(self.inputs.count):
                if _overlap(out[i], inputs[k]):
                    return False
            for k in range(i):
                if _overlap(out[i], out[k]):
                    return False
        return True
