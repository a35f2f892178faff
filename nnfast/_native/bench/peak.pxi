"""Measures what the machine can do at most (csrc/peak/peak.h), on the same thread team that runs models."""

from libc.stdint cimport int64_t

from .engine cimport Step
from .kernels cimport effective_isa, includes, isa_name
from .threads cimport nnf_run, nnf_step

import numpy as np

from .engine import Frame, Program, aligned_bytes

cdef extern from "peak/peak.h":
    ctypedef void (*nnf_peak_fn)(size_t rounds) noexcept nogil
    ctypedef void (*nnf_peak_read_fn)(const void *p, size_t bytes, size_t rounds) noexcept nogil

    ctypedef struct nnf_peak:
        const char *name
        const char *types
        int isa
        double operations
        nnf_peak_fn fn

    const nnf_peak *nnf_peaks(size_t *count) nogil
    nnf_peak_read_fn nnf_peak_read(int isa) nogil
    enum:
        NNF_PEAK_READ


cdef struct load:
    nnf_peak_fn compute         # one of the two
    nnf_peak_read_fn read
    size_t bytes                # that each thread reads
    size_t rounds


cdef void run_load(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const load *p = <const load *>step.params
    if p.read != NULL:
        p.read(<const char *>run.slot[step.slots[0]] + thread * p.bytes, p.bytes, p.rounds)
    else:
        p.compute(p.rounds)


cdef class Load(Step):
    """A step that every thread does in full: `rounds` rounds of row `name`, or of reading `size` bytes of slot 0."""

    cdef load p

    def __init__(self, name, size_t size, size_t rounds, int threads):
        cdef size_t count, i
        cdef const nnf_peak *rows = nnf_peaks(&count)
        for i in range(count):
            if rows[i].name.decode() == name:
                self.p.compute = rows[i].fn
        if name is None:
            self.p.read = nnf_peak_read(effective_isa())
        self.p.bytes = size
        self.p.rounds = rounds
        self.tiles = threads
        self.bind(run_load, &self.p, (0,), "peak")


def peak_rows():
    """Every measure of arithmetic that the level in force allows: dicts name, types, isa, operations (of a round)."""
    cdef size_t count, i
    cdef const nnf_peak *found = nnf_peaks(&count)
    dicts = []
    for i in range(count):
        if includes(found[i].isa):
            dicts.append({"name": found[i].name.decode(), "types": found[i].types.decode(),
                          "isa": isa_name(found[i].isa), "operations": found[i].operations})
    return dicts


def peak_memory(size_t size, int threads):
    """Written memory for reads of `size` bytes by each of `threads` threads; the size is rounded up to whole reads."""
    size = (size + NNF_PEAK_READ - 1) // NNF_PEAK_READ * NNF_PEAK_READ
    array = aligned_bytes(size * threads)
    array.fill(1)
    return array


def measure_peak(name, array, size_t rounds, int threads):
    """Nanoseconds in which each of `threads` threads does `rounds` rounds.

    name: a row of peak_rows(), or None to read the thread's share of `array` (of peak_memory()) once in every round.
    """
    cdef size_t size = 0 if array is None else array.size // threads
    if name is not None and name not in {row["name"] for row in peak_rows()}:
        raise LookupError(f"no measure {name}")
    program = Program([Load(name, size, rounds, threads)])
    frame = Frame(1, {}, 0, {}, 0, threads)
    if array is not None:
        frame.bind(0, array)
    cdef int64_t[::1] times = np.zeros(1, np.int64)
    program.run(frame, threads, None, 0, times)
    return times[0]
