"""Prepared steps, the frames they run in, and the loop that runs a list of them without the GIL."""

from cpython.mem cimport PyMem_Calloc, PyMem_Free
from libc.stdint cimport INT32_MAX, int64_t, uintptr_t
from libc.string cimport memset

from .threads cimport NNF_RUN, Cancel, Team, Turn, nnf_step, nnf_step_fn, run_program
from .window cimport nnf_axis

import numpy as np

from .. import config
from ..errors import InvalidArgument

cimport numpy as cnp

cnp.import_array()

cdef extern from *:
    """
    #include <stdlib.h>
    #if defined(__GLIBC__)
    #include <malloc.h>
    #define nnf_trim() malloc_trim(0)
    #else
    #define nnf_trim() 0
    #endif
    """
    int nnf_trim() nogil

OUTCOMES = ("done", "cancelled", "deadline", "declined")

cdef enum:
    LINE_BYTES = 64
    PAGE_BYTES = 4096
    LARGE_BYTES = 8 * PAGE_BYTES
    APART = 13 * 64  # of a page: it and its small multiples are far from 0, and none is a multiple of 1024

ALIGNMENT = LINE_BYTES
PAGE = PAGE_BYTES
"""A load waits for stores before it whose addresses differ from its own by a multiple of so many bytes."""
LARGE = LARGE_BYTES
"""Bytes of a tensor from which on its place in a page is chosen, so that it is apart from what it is made from."""


def phase(int64_t order):
    """Where in a page the order-th of tensors begins that are made one from the other. The 0th is the caller's, which
    allocators put near the beginning."""
    return (-order * APART) & (PAGE_BYTES - 1)


def trim():
    """Give the pages of freed memory back to the system, where the C library can; packing leaves many."""
    with nogil:
        nnf_trim()


cdef int poison_byte = -2  # -1: none, -2: not known yet


def poison():
    """The byte of NNFAST_POISON or set_poison, None without one."""
    global poison_byte
    if poison_byte == -2:
        set_poison(config.get_int("NNFAST_POISON", 0))
    return None if poison_byte < 0 else poison_byte


def set_poison(value):
    """Let memory that is made from now on, and programs that are planned from now on, be poisoned with a byte, or None.
    """
    global poison_byte
    if value is not None and not 0 <= value <= 255:
        raise InvalidArgument(f"NNFAST_POISON: {value} is not a byte, must be 0 to 255")
    poison_byte = -1 if value is None else value


def aligned_bytes(size_t size):
    """uint8 array of `size` bytes that starts at a multiple of 64: uninitialised, or poisoned."""
    cdef size_t shift = 0
    if size >= HUGE_PAGE:
        raw = np.frombuffer(HugePages(size), np.uint8)
    else:
        raw = np.empty(size + ALIGNMENT, np.uint8)
        shift = (-<uintptr_t>cnp.PyArray_DATA(raw)) % ALIGNMENT
    byte = poison()
    if byte is not None:
        raw.fill(byte)
    return raw[shift:shift + size]


cdef class Step:
    def __cinit__(self, *args, **named):
        self.made_with = args, named
        self.part = PART_ELEMENTS

    def __dealloc__(self):
        PyMem_Free(self.slot_numbers)

    cdef int bind(self, nnf_step_fn fn, const void *params, slots, str kernel) except -1:
        cdef int i
        self.slots = tuple(slots)
        self.slot_numbers = <int32_t *>PyMem_Calloc(max(1, len(self.slots)), sizeof(int32_t))
        if self.slot_numbers == NULL:
            raise MemoryError()
        for i in range(len(self.slots)):
            self.slot_numbers[i] = self.slots[i]
        self.kernel = kernel
        self.tiles = max(1, self.tiles)
        self.c.fn = fn
        self.c.params = params
        self.c.slots = self.slot_numbers
        return 0

    cdef void bands(self, band_fn fn, nnf_axis rows, size_t in_row, size_t out_row):
        self.band = fn
        self.rows = rows
        self.in_row = in_row
        self.out_row = out_row

    cdef void one_by_one(self, size_t elements, tuple items):
        self.elements = elements
        self.items = items
        self.even(elements // NNF_RUN if elements % NNF_RUN == 0 else 0, True)

    cdef void even(self, size_t grains, bint pointwise, size_t least=1):
        self.grains = grains
        self.pointwise = pointwise
        self.least = least

    def cut(self, size_t pieces, bint follows):
        """Let shares be even where threads divide this number of `pieces`; follows: a thread may go on to its share of
        this step from that of the step before (nnf/step.h)."""
        if not 0 < pieces <= min(self.grains, <size_t>INT32_MAX) or self.grains % pieces \
                or follows and not self.pointwise or self.reference is not None:
            raise ValueError(f"{pieces} pieces of a step that has {self.grains}")
        self.c.pieces, self.c.follows = <int32_t>pieces, follows

    @property
    def pieces(self):
        """The number given to `cut`, or 0."""
        return self.c.pieces

    @property
    def follows(self):
        """What was given to `cut`."""
        return self.c.follows != 0

    @property
    def window(self):
        """(rows of the input, rows of the output, stride, rows under a window) of a step that can do some rows of
        its output alone, else None."""
        if self.band == NULL:
            return None
        return self.rows.size, self.rows.out, self.rows.stride, (self.rows.taps - 1) * self.rows.dilation + 1


cdef struct poisoned:
    int byte
    size_t count
    size_t *sizes               # bytes of each slot


cdef void run_poison(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const poisoned *p = <const poisoned *>step.params
    cdef size_t i
    memset(run.scratch + <size_t>thread * run.scratch_stride, p.byte, run.scratch_stride)
    if thread == 0:
        for i in range(p.count):
            memset(run.slot[step.slots[i]], p.byte, p.sizes[i])


cdef class Poison(Step):
    """Every byte of some slots, and of each thread's scratch, becomes `byte`. sizes: bytes of each slot."""

    cdef poisoned p

    def __init__(self, slots, sizes, int byte, int threads):
        cdef size_t i
        self.p.byte, self.p.count = byte, len(slots)
        self.p.sizes = <size_t *>PyMem_Calloc(max(1, self.p.count), sizeof(size_t))
        if self.p.sizes == NULL:
            raise MemoryError()
        for i in range(self.p.count):
            self.p.sizes[i] = sizes[i]
        self.tiles = threads
        self.bind(run_poison, &self.p, slots, "poison")

    def __dealloc__(self):
        PyMem_Free(self.p.sizes)


cdef class Frame:
    """Addresses of one execution: a table of slots, the arena, and scratch for each thread.

    size: number of slots; arena: {slot: byte offset}; arena_bytes; constants: {slot: array};
    scratch: bytes per thread; threads: most threads of a run; turn: of its runs at a Gate, or None; team: None for
    the own one.
    """

    def __cinit__(self, int size, dict arena, size_t arena_bytes, dict constants, size_t scratch, int threads,
                  Turn turn=None, Team team=None):
        self.size = size
        self.table = <void **>PyMem_Calloc(max(1, size), sizeof(void *))
        if self.table == NULL:
            raise MemoryError()
        self.arrays = [None] * size
        self.memory = aligned_bytes(arena_bytes)
        cdef char *base = <char *>cnp.PyArray_DATA(self.memory)
        for slot, offset in arena.items():
            self.set(slot, base + <size_t>offset)
        for slot, array in constants.items():
            self.bind(slot, array)
        cdef size_t stride = (scratch + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
        self.scratch_memory = aligned_bytes(stride * threads)
        self.run.slot = self.table
        self.run.scratch = <unsigned char *>cnp.PyArray_DATA(self.scratch_memory)
        self.run.scratch_stride = stride
        self.run.declined = &self.declined
        self.turn = turn
        self.run.turn = &turn.c if turn is not None else NULL
        self.team = team
        self.run.team = team.run if team is not None else NULL

    def __dealloc__(self):
        PyMem_Free(self.table)

    cdef inline void set(self, int slot, void *address) noexcept:
        self.table[slot] = address

    def bind(self, int slot, cnp.ndarray array):
        """Let a slot be the memory of an array, which the frame keeps alive until it is bound again."""
        self.arrays[slot] = array
        self.set(slot, cnp.PyArray_DATA(array))

    def alias(self, int slot, int of):
        """Let a slot share the memory of another that is bound."""
        self.arrays[slot] = self.arrays[of]
        self.set(slot, self.table[of])

    def release(self, slots):
        """Forget the arrays of these slots."""
        for slot in slots:
            self.arrays[slot] = None

    def view(self, int slot, shape, dtype):
        """Array over the memory of a slot; valid as long as the frame and what it is bound to."""
        array = self.arrays[slot]
        if array is not None and array.shape == shape and array.dtype == dtype:
            return array
        cdef cnp.ndarray base = self.memory if array is None else array
        cdef uintptr_t start = <uintptr_t>cnp.PyArray_DATA(base), at = <uintptr_t>self.table[slot]
        cdef size_t nbytes = np.dtype(dtype).itemsize
        for extent in shape:
            nbytes *= extent
        if at < start or at + nbytes > start + <size_t>base.nbytes:
            raise AssertionError("slot lies outside its memory")
        flat = base.reshape(-1).view(np.uint8)
        return flat[at - start:at - start + nbytes].view(dtype).reshape(shape)


cdef class Program:
    """A list of steps that runs in one call without the GIL.

    head: a Step to run before them each time, which is not counted. parts: into how many each step is divided where
    something may stop a run in the middle of it; 0: so many that each takes a fraction of a millisecond.
    """

    def __cinit__(self, steps, Step head=None, int parts=0):
        cdef Step step
        cdef Py_ssize_t i
        cdef tuple all_steps = tuple(steps) if head is None else (head, *steps)
        self.steps, self.head = tuple(steps), head
        self.items = <nnf_step *>PyMem_Calloc(max(1, len(all_steps)), sizeof(nnf_step))
        if self.items == NULL:
            raise MemoryError()
        self.threads = 1
        for i in range(len(all_steps)):
            step = all_steps[i]
            self.items[i] = step.c
            if step.part:
                self.items[i].parts = parts or <int32_t>min(<double>step.tiles, step.work / step.part)
            self.scratch = max(self.scratch, step.scratch)
            self.threads = max(self.threads, step.tiles)
        self.c.steps = self.items
        self.c.count = len(all_steps)
        self.c.threads = self.threads
        self.c.history = &self.history

    def __dealloc__(self):
        PyMem_Free(self.items)

    def run(self, Frame frame, int threads, Cancel cancel=None, int64_t deadline_ns=0, int64_t[::1] times=None,
            size_t first=0):
        """Run the steps from `first` on; returns (outcome, number of the step to go on with).

        times: int64 nanoseconds per step, filled in. After "declined" the reference of the step before that number has
        to run.
        """
        cdef nnf_program head = self.c, rest = self.c
        cdef size_t done = 0
        cdef int outcome
        cdef const int *flag = &cancel.flag if cancel is not None else NULL
        cdef int64_t *clock = &times[first] if times is not None and <size_t>times.shape[0] > first else NULL
        head.count = self.c.count - <size_t>len(self.steps)
        rest.count = len(self.steps)
        if first > rest.count:
            raise ValueError(f"step {first} is behind the last of {rest.count}")
        rest.steps += head.count + first
        rest.count -= first
        with nogil:
            if head.count and first == 0:
                run_program(&head, &frame.run, threads, NULL, 0, NULL, &done)
            outcome = run_program(&rest, &frame.run, threads, flag, deadline_ns, clock, &done)
        return OUTCOMES[outcome], first + done
