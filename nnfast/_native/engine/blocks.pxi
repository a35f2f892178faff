"""A chain of element-wise steps in blocks: some elements of each at a time, so that what lies between them stays in the
level 1 cache, and threads meet once and not at each step.

What only the chain writes and reads lies in buffers of the thread that hold the elements of one block. Where what stops
a program between its steps may stop this one, the program divides it into parts as it does any long step (program.h).
"""

from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int32_t

from .threads cimport NNF_RUN, nnf_run, nnf_share_runs, nnf_step

cdef enum:
    LINKS = 16          # most steps of a chain
    OPERANDS = 48       # most slots that they read and write, three for each
    SHORTEST = 512      # elements of a block, which more and larger buffers make shorter

MAX_LINKS = LINKS


cdef struct links:
    size_t count, elements
    size_t runs                 # most of a block, of NNF_RUN elements
    size_t outer                # slots of the step: the first ones of those of its steps
    size_t inner                # slots behind them that lie in the scratch:
    size_t place[OPERANDS]      # where
    size_t item[OPERANDS]       # bytes of an element
    nnf_step steps[LINKS]
    int32_t numbers[OPERANDS]   # slots of all steps, by their places among the outer and inner ones


cdef void run_links(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const links *c = <const links *>step.params
    cdef nnf_run mine = run[0]
    cdef void *table[2 * OPERANDS]
    cdef unsigned char *scratch = run.scratch + <size_t>thread * run.scratch_stride
    cdef size_t blocks = ((c.elements + NNF_RUN - 1) // NNF_RUN + c.runs - 1) // c.runs, each, i, k, first, last
    cdef int block
    each = (blocks + <size_t>threads - 1) // <size_t>threads
    mine.slot = table
    for i in range(c.outer):
        table[i] = run.slot[step.slots[i]]
    for block in range(<int>(thread * each), <int>((thread + 1) * each)):
        nnf_share_runs(c.elements, block, <int>(threads * each), &first, &last)
        if first == last:
            return
        for i in range(c.inner):
            table[c.outer + i] = scratch + c.place[i] - <ptrdiff_t>(first * c.item[i])
        for k in range(c.count):
            c.steps[k].fn(&c.steps[k], &mine, block, <int>(threads * each))


cdef class Blocks(Step):
    """Runs element-wise steps one after the other; slots: all that they read or write, but for the inner ones.

    steps: 2..MAX_LINKS of one number of `elements`, at most OPERANDS slots in all. inner: slots that nobody else reads
    or writes, each written by one of the steps before others read it. budget: bytes of buffers that a thread may use.
    """

    cdef links c_links
    cdef readonly tuple steps

    def __init__(self, steps, inner, size_t budget):
        cdef links *c = &self.c_links
        cdef Step step
        cdef size_t k, i
        self.steps = tuple(steps)
        c.count, c.elements = len(self.steps), self.steps[0].elements
        kept = dict.fromkeys(slot for step in self.steps for slot in step.slots if slot not in inner)
        if not 2 <= c.count <= LINKS or sum(len(step.slots) for step in self.steps) > OPERANDS:
            raise ValueError("a chain has 2 to 16 steps with 48 slots")
        for k in range(c.count):
            step = self.steps[k]
            if step.elements != c.elements or step.elements == 0:
                raise ValueError(f"step {k} has {step.elements} elements, must have {c.elements}")
            if step.scratch:
                raise ValueError(f"step {k} needs scratch, where the buffers are")
        buffers, sizes = self._buffers(inner)
        places = {slot: i for i, slot in enumerate((*kept, *sizes))}
        c.outer = len(kept)
        i = 0
        for k in range(c.count):
            step = self.steps[k]
            c.steps[k] = step.c
            c.steps[k].slots = &c.numbers[i]
            for slot in step.slots:
                c.numbers[i] = places[slot]
                i += 1
            self.packed += step.packed
            self.work += step.work
            self.tiles += step.tiles - 1
        # Bytes of an element in each buffer: of the largest one that it ever holds.
        widths = {}
        for slot, item in sizes.items():
            widths[buffers[slot]] = max(item, widths.get(buffers[slot], 0))
        c.runs = max(<size_t>SHORTEST, budget // max(<size_t>1, <size_t>sum(widths.values())))
        c.runs = min(c.runs, c.elements + NNF_RUN - 1) // NNF_RUN
        starts = {}
        for buffer, width in widths.items():
            starts[buffer] = self.scratch
            self.scratch += c.runs * NNF_RUN * <size_t>width
        for slot, item in sizes.items():
            c.place[c.inner], c.item[c.inner] = starts[buffers[slot]], item
            c.inner += 1
        self.tiles = min(self.tiles + 1, 64)
        self.bind(run_links, c, kept, " + ".join(dict.fromkeys(step.kernel for step in self.steps)))

    cdef tuple _buffers(self, inner):
        """({inner slot: number of its buffer}, {inner slot: bytes of an element}), in the order in which they are
        written; a buffer serves another slot once the last step has read it."""
        cdef Step step
        cdef int k
        last = {slot: k for k, step in enumerate(self.steps) for slot in step.slots}
        buffers, sizes, free = {}, {}, []
        for k in range(len(self.steps)):
            step = self.steps[k]
            *reads, (slot, item) = zip(step.slots, step.items)
            for read in reads:
                if read[0] in inner and sizes.get(read[0]) != read[1]:
                    raise ValueError(f"step {k} reads what no step before it has written so")
            if slot in inner:
                if slot in sizes:
                    raise ValueError(f"step {k} writes what another has written")
                buffers[slot] = free.pop() if free else len(set(buffers.values()))
                sizes[slot] = item
            for slot in dict.fromkeys(step.slots):
                if slot in buffers and last[slot] == k:
                    free.append(buffers[slot])
        if sizes.keys() != set(inner):
            raise ValueError("no step writes an inner slot")
        return buffers, sizes
