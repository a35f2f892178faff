"""A chain of steps in bands: some output rows of each at a time, so that what lies between them never leaves the cache.

Each step but the last writes into a buffer of the thread that holds the rows the next one still reads. A thread does a
contiguous share of the last step's rows; rows that two threads read between the steps are made by both. Between two
bands, a chain stops for what stops a program between its steps, and makes the rows that it kept once more.
"""

from libc.stddef cimport ptrdiff_t
from libc.string cimport memmove

from .threads cimport nnf_run, nnf_share, nnf_step, nnf_step_returns, nnf_step_shares, step_leaves
from .window cimport nnf_axis

cdef enum:
    STAGES = 16             # most steps of a chain
    GRAIN = 65536           # multiply-adds below which a second thread costs more than it saves

MAX_STEPS = STAGES


cdef struct stage:
    nnf_step step
    band_fn fn
    nnf_axis rows
    size_t row              # bytes of an output row
    size_t capacity         # rows of the buffer behind the step
    size_t buffer           # its offset in the scratch


cdef struct chain:
    size_t count, height    # steps; output rows of the last one in a band
    size_t progress         # where in the scratch a share keeps its first row that is not done
    stage stages[STAGES]


cdef inline size_t first_read(const nnf_axis *a, size_t row) noexcept nogil:
    """First input row that output row `row` or a later one reads."""
    cdef size_t at = row * a.stride
    return min(at - a.head if at > a.head else 0, a.size)


cdef inline size_t end_read(const nnf_axis *a, size_t end) noexcept nogil:
    """End of the input rows that output rows before `end` read."""
    cdef size_t at = (end - 1) * a.stride + (a.taps - 1) * a.dilation + 1 if end else 0
    return min(at - a.head if at > a.head else 0, a.size)


cdef bint run_share(const nnf_step *step, const nnf_run *run, unsigned char *scratch, size_t first, size_t end,
                    size_t *done) noexcept nogil:
    """Output rows first..end-1 of the last step; False when they are not all done. done: where they begin next time."""
    cdef const chain *c = <const chain *>step.params
    cdef const stage *s
    cdef const stage *after
    cdef unsigned char *x
    cdef unsigned char *y
    cdef size_t made[STAGES]        # rows before this one are done, or not this share's
    cdef size_t origin[STAGES]      # row that the buffer begins with
    cdef size_t goal[STAGES]
    cdef size_t last = c.count - 1, k, keep
    made[last] = first
    for k in range(last, 0, -1):
        made[k - 1] = origin[k - 1] = first_read(&c.stages[k].rows, made[k])
    while made[last] < end:
        goal[last] = min(end, made[last] + c.height)
        for k in range(last, 0, -1):
            goal[k - 1] = max(made[k - 1], end_read(&c.stages[k].rows, goal[k]))
        x = <unsigned char *>run.slot[step.slots[0]]
        for k in range(c.count):
            s = &c.stages[k]
            if k == last:
                y = <unsigned char *>run.slot[step.slots[1]]
            else:
                y = scratch + s.buffer
                after = s + 1
                if goal[k] - origin[k] > s.capacity:
                    keep = min(first_read(&after.rows, made[k + 1]), made[k])
                    memmove(y, y + (keep - origin[k]) * s.row, (made[k] - keep) * s.row)
                    origin[k] = keep
                y -= <ptrdiff_t>(origin[k] * s.row)
            if made[k] < goal[k]:
                s.fn(&s.step, run, x, y, made[k], goal[k], scratch)
            made[k] = goal[k]
            x = y
        done[0] = made[last]
        if made[last] < end and step_leaves(run):
            return False
    return True


cdef void run_chain(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const chain *c = <const chain *>step.params
    cdef int share = thread, shares = nnf_step_shares(run, threads)
    cdef size_t first, end
    cdef size_t *done
    while share < shares:
        nnf_share(c.stages[c.count - 1].rows.out, share, shares, &first, &end)
        # Kept where the thread that began the share has its scratch: it outlives a pause (program.h).
        done = <size_t *>(run.scratch + share * run.scratch_stride + c.progress)
        if nnf_step_returns(run):
            first = done[0]
        else:
            done[0] = first
        if first < end and not run_share(step, run, run.scratch + thread * run.scratch_stride, first, end, done):
            return
        share += threads


cdef class Bands(Step):
    """Runs steps one after the other, each on the last slot of the one before; slots: the first step's first, the last
    step's last, and what else they read.

    steps: 2..MAX_STEPS of one image whose `window` is not None; budget: bytes of buffers that a thread may use, if one
    row at a time needs no more.
    """

    cdef chain c_chain
    cdef readonly tuple steps

    def __init__(self, steps, size_t budget):
        cdef Step step
        cdef stage *s = self.c_chain.stages
        cdef Py_ssize_t k, last = len(steps) - 1
        self.steps = tuple(steps)
        self.c_chain.count = last + 1
        for k in range(last + 1):
            step = self.steps[k]
            s = &self.c_chain.stages[k]
            s.step, s.fn, s.rows, s.row = step.c, step.band, step.rows, step.out_row
            self.scratch = max(self.scratch, (step.scratch + 63) // 64 * 64)
            self.packed += step.packed
            self.work += step.work
        self._plan(s.rows.out, budget)
        for k in range(last):
            self.scratch += (<size_t>phase(k + 1) - self.scratch) & (PAGE_BYTES - 1)
            self.c_chain.stages[k].buffer = self.scratch
            self.scratch += (self.c_chain.stages[k].capacity * self.c_chain.stages[k].row + 63) // 64 * 64
        self.c_chain.progress = self.scratch
        self.scratch += 64
        self.tiles = <int>min(s.rows.out, 1 + self.work / GRAIN)
        self.part = 0
        inner = {slot for step in self.steps[1:] for slot in step.slots[:1]}
        others = dict.fromkeys(slot for step in self.steps for slot in step.slots if slot not in inner)
        first, final = self.steps[0].slots[0], step.slots[len(step.slots) - 1]
        slots = [first, final, *(slot for slot in others if slot not in (first, final))]
        self.bind(run_chain, &self.c_chain, slots, " + ".join(dict.fromkeys(step.kernel for step in self.steps)))

    cdef int _plan(self, size_t rows, size_t budget) except -1:
        """Choose the height of a band: the largest that the budget allows, all bands of about equal height."""
        cdef size_t height = 1, count
        while height < rows and self._buffers(height + 1) <= budget:
            height += 1
        count = (rows + height - 1) // height
        self.c_chain.height = (rows + count - 1) // count
        self._buffers(self.c_chain.height)
        return 0

    cdef size_t _buffers(self, size_t height):
        """Bytes of the buffers for bands of `height` rows; sets their capacities."""
        cdef size_t k, total = 0, fresh = height
        cdef nnf_axis *a
        for k in range(self.c_chain.count - 1, 0, -1):
            a = &self.c_chain.stages[k].rows
            # What lies under the windows of so many outputs; the rows between windows, where they do not overlap.
            fresh = max((fresh - 1) * a.stride + (a.taps - 1) * a.dilation + 1, fresh * a.stride)
            self.c_chain.stages[k - 1].capacity = min(fresh, a.size)
            total += self.c_chain.stages[k - 1].capacity * self.c_chain.stages[k - 1].row
        return total
