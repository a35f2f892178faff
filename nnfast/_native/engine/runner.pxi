"""The fast path of an Executor: checks, addresses and one native call for a plan that is one program."""

from cpython.mem cimport PyMem_Calloc, PyMem_Free
from cpython.ref cimport PyObject, Py_XDECREF, Py_XINCREF
from libc.stdint cimport uintptr_t

from .pthread cimport (
    pthread_mutex_destroy,
    pthread_mutex_init,
    pthread_mutex_lock,
    pthread_mutex_unlock,
)
from .threads cimport Cancel, run_program

cimport numpy as cnp

cnp.import_array()

MAX_RANK = RANKS
"""Of the arrays that the fast path takes."""


cdef enum:
    LINED = 1 << 14  # bytes of a result that begins at a cache line: stores across two lines take half as long again


cdef cnp.ndarray _empty(Argument *a, uintptr_t source):
    """A new array, made from what lies at `source`."""
    if a.nbytes < LINED:
        return cnp.PyArray_EMPTY(a.rank, a.dims, a.type, 0)
    cdef uintptr_t each = PAGE_BYTES if a.nbytes >= LARGE_BYTES else LINE_BYTES
    cdef cnp.npy_intp size = <cnp.npy_intp>(a.nbytes + each)
    cdef cnp.ndarray raw = cnp.PyArray_EMPTY(1, &size, cnp.NPY_UINT8, 0)
    cdef uintptr_t shift = ((source - APART) // LINE_BYTES * LINE_BYTES - <uintptr_t>cnp.PyArray_DATA(raw)) & (each - 1)
    cdef cnp.ndarray made = cnp.PyArray_SimpleNewFromData(a.rank, a.dims, a.type,
                                                          <char *>cnp.PyArray_DATA(raw) + shift)
    cnp.set_array_base(made, raw)
    return made


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

    cdef list make(self, list sources):
        """Fresh arrays, to be made from these."""
        cdef int i
        cdef list made = [None] * self.count
        cdef uintptr_t source = <uintptr_t>cnp.PyArray_DATA(<cnp.ndarray>sources[0]) if sources else 0
        for i in range(self.count):
            made[i] = _empty(&self.items[i], source)
        return made

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


cdef void **_addresses(list arrays) except NULL:
    """Where the arrays lie, which the caller keeps alive."""
    cdef void **result = <void **>PyMem_Calloc(len(arrays) + 1, sizeof(void *))
    cdef int i
    if result == NULL:
        raise MemoryError()
    for i in range(len(arrays)):
        result[i] = cnp.PyArray_DATA(<cnp.ndarray>arrays[i])
    return result


cdef class Workspace:
    """What one run at a time works in: a frame, and arrays for the states that it leaves."""

    def __cinit__(self, Frame frame not None, list states):
        self.frame, self.states = frame, states
        self.addresses = _addresses(states)

    def __dealloc__(self):
        PyMem_Free(self.addresses)


cdef class Runner:
    """Runs one program on arrays that fit exactly.

    inputs, outputs, states_in, states_out: rows as Arguments takes them; initial: first value of each state;
    frame(): a new frame; threads: of a run. watched: somebody wants to see executions, so that Python has to do them.
    `run` returns None where only the general path finds the results, or can say what is wrong; any number of threads
    may call it.
    """

    def __cinit__(self, *_):
        pthread_mutex_init(&self.lock, NULL)

    def __init__(self, Program program, frame, int threads, inputs, outputs, states_in, states_out, list initial):
        self.program, self.new_frame, self.threads = program, frame, threads
        self.inputs, self.outputs = Arguments(inputs), Arguments(outputs)
        self.states_in, self.states_out = Arguments(states_in), Arguments(states_out)
        self.initial, self.first = initial, _addresses(initial)

    def __dealloc__(self):
        cdef int i
        for i in range(self.idle_count):
            Py_XDECREF(self.idle[i])
        PyMem_Free(self.first)
        pthread_mutex_destroy(&self.lock)

    cdef PyObject *take_idle(self) noexcept nogil:
        """A Workspace that nobody works in, whose reference is the caller's; NULL when there is none."""
        cdef PyObject *space = NULL
        pthread_mutex_lock(&self.lock)
        if self.idle_count:
            self.idle_count -= 1
            space = self.idle[self.idle_count]
        pthread_mutex_unlock(&self.lock)
        return space

    cdef bint give_idle(self, PyObject *space) noexcept nogil:
        """Keep a Workspace for the next run; False when there are enough: the reference is still the caller's then."""
        cdef bint kept
        pthread_mutex_lock(&self.lock)
        kept = self.idle_count < MAX_IDLE
        if kept:
            self.idle[self.idle_count] = space
            self.idle_count += 1
        pthread_mutex_unlock(&self.lock)
        return kept

    def run(self, inputs, out=None, list states_in=None, list states_out=None, Cancel cancel=None):
        """Outputs as a list: fresh arrays, or `out`. None when something does not fit, a step declines, memory runs
        out, `cancel` is set, or the Runner is watched.

        Without states, they start from `initial`.
        """
        cdef list given, results
        cdef PyObject *taken
        cdef Workspace space
        cdef Frame frame
        cdef size_t done = 0
        cdef const int *flag = NULL if cancel is None else &cancel.flag
        cdef int outcome, i
        if self.watched or not (type(inputs) is list or type(inputs) is tuple):
            return None
        given = list(inputs)  # other threads may change the caller's
        for i in range(len(given)):
            if cnp.PyArray_CheckExact(given[i]) and not cnp.PyArray_NDIM(<cnp.ndarray>given[i]):
                given[i] = given[i].reshape(1)  # as driver/tensors.py has it
        if not self.inputs.fits(given):
            return None
        if out is not None and (type(out) is not list or not self._may_write(given, out)):
            return None
        try:
            results = self.outputs.make(given) if out is None else <list>out
            taken = self.take_idle()
            if taken != NULL:
                space = <Workspace>taken
                Py_XDECREF(taken)
            else:
                space = Workspace(self.new_frame(), self.states_out.make([]))
        except MemoryError:
            return None
        frame = space.frame
        self.inputs.bind(frame, given)
        self.outputs.bind(frame, results)
        self.states_in.bind(frame, self.initial if states_in is None else states_in)
        self.states_out.bind(frame, space.states if states_out is None else states_out)
        with nogil:
            outcome = run_program(&self.program.c, &frame.run, self.threads, flag, 0, NULL, &done)
        self.runs += 1
        Py_XINCREF(<PyObject *>space)
        if not self.give_idle(<PyObject *>space):
            Py_XDECREF(<PyObject *>space)
        return None if outcome else results

    def bind(self, list inputs, list outputs):
        """A BoundRun on these arrays, or None where they do not fit exactly, or overlap."""
        if not self.inputs.fits(inputs) or not self._may_write(inputs, outputs):
            return None
        return BoundRun(self, inputs, outputs)

    def release_idle(self):
        """Give the memory of idle frames back to the system."""
        cdef PyObject *space = self.take_idle()
        while space != NULL:
            Py_XDECREF(space)
            space = self.take_idle()

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


cdef class BoundRun:
    """A run of a Runner on arrays that stay where they are, which needs no GIL; Runner.bind makes it.

    It starts from the initial states. Any number of threads may call it, though the arrays are the same.
    """

    def __cinit__(self, Runner runner not None, list inputs, list outputs):
        self.runner, self.arrays = runner, (inputs, outputs)
        self.inputs, self.outputs = _addresses(inputs), _addresses(outputs)

    def __dealloc__(self):
        PyMem_Free(self.inputs)
        PyMem_Free(self.outputs)

    cdef bint run(self, const int *cancel) noexcept nogil:
        """True when the outputs are computed; False when the run is cancelled, a step declines, or there is no idle
        Workspace: Runner.run makes one.
        """
        cdef PyObject *space = self.runner.take_idle()
        cdef size_t done = 0
        cdef int i, outcome
        if space == NULL:
            return False
        for i in range(self.runner.inputs.count):
            self.runner.inputs.set((<Workspace>space).frame, i, self.inputs[i])
        for i in range(self.runner.outputs.count):
            self.runner.outputs.set((<Workspace>space).frame, i, self.outputs[i])
        for i in range(self.runner.states_in.count):
            self.runner.states_in.set((<Workspace>space).frame, i, self.runner.first[i])
        for i in range(self.runner.states_out.count):
            self.runner.states_out.set((<Workspace>space).frame, i, (<Workspace>space).addresses[i])
        outcome = run_program(&self.runner.program.c, &(<Workspace>space).frame.run, self.runner.threads, cancel, 0,
                              NULL, &done)
        self.runner.runs += 1
        if not self.runner.give_idle(space):
            with gil:
                Py_XDECREF(space)
        return outcome == 0
