"""The way of recurrent layers along time, and two of them at once."""

from .engine cimport Step
from .threads cimport nnf_run, nnf_step

cdef struct nnf_walk:
    size_t batch, times
    size_t in_time, in_batch, out_time, out_batch, out_start    # in elements
    bint backward


# Where step t of the walk finds its input, and where its output goes.
cdef inline const float *input_at(const nnf_walk *w, const float *x, size_t t, size_t b) noexcept nogil:
    return x + (w.times - 1 - t if w.backward else t) * w.in_time + b * w.in_batch


cdef inline float *output_at(const nnf_walk *w, float *y, size_t t, size_t b) noexcept nogil:
    return y + w.out_start + (w.times - 1 - t if w.backward else t) * w.out_time + b * w.out_batch


# Multiply-adds below which a second thread costs more than it saves.
cdef enum:
    WALK_GRAIN = 32768


cdef class Walk:
    """How a recurrent layer goes through its sequences.

    in_strides, out_strides: elements from one time, and one batch row, to the next; out_start: elements of the output
    before the layer's first; backward: from the last time to the first.
    """

    cdef nnf_walk c
    cdef readonly tuple made_with   # its arguments, in order

    def __init__(self, size_t batch, size_t times, in_strides, out_strides, size_t out_start=0, bint backward=False):
        self.c.batch, self.c.times, self.c.out_start, self.c.backward = batch, times, out_start, backward
        self.c.in_time, self.c.in_batch = in_strides
        self.c.out_time, self.c.out_batch = out_strides
        self.made_with = batch, times, tuple(in_strides), tuple(out_strides), out_start, backward


cdef struct pair:
    nnf_step first, second


cdef void run_pair(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const pair *p = <const pair *>step.params
    if thread == 0:
        p.first.fn(&p.first, run, 0, 1)
    if thread == 1 or threads == 1:
        p.second.fn(&p.second, run, 0, 1)


cdef class Pair(Step):
    """Two steps that do not touch each other's results, each on a thread of its own. Neither may need scratch."""

    cdef pair p

    def __init__(self, Step first, Step second):
        if first.scratch or second.scratch:
            raise ValueError("a step of a pair must need no scratch")
        self.keep = first, second
        self.p.first, self.p.second = first.c, second.c
        self.work = first.work + second.work
        self.packed = first.packed + second.packed
        self.tiles = 2 if self.work >= 2 * WALK_GRAIN else 1
        self.bind(run_pair, &self.p, first.slots + second.slots, " + ".join(dict.fromkeys((first.kernel,
                                                                                          second.kernel))))
