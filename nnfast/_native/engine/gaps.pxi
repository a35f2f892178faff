"""Gaps in memory: the lowest address range that is free during a lifetime, found without a look at every other tensor.

A segment tree over the steps of a plan. Each node holds two lists of address ranges, sorted and disjoint, neighbours
merged: `whole`, of blocks that live during all steps of the node, and `some`, of blocks that live during any of them.
What is taken during a lifetime is then the `some` of the few nodes that make it up and the `whole` of those above them.
"""

from libc.stdint cimport int64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memmove

cdef enum:
    LISTS = 256    # more than a lifetime is ever made up of: four for each level of the tree
    TRIES = 256    # gaps to look at before a block goes on top of all others of its lifetime


cdef struct ranges:
    int64_t (*at)[2]    # start and end of each
    size_t count, room


cdef struct node:
    ranges whole, some


cdef inline size_t first_ending(const ranges *r, int64_t least) noexcept nogil:
    """Number of the first range whose end is at least `least`."""
    cdef size_t low = 0, high = r.count, middle
    while low < high:
        middle = (low + high) // 2
        if r.at[middle][1] < least:
            low = middle + 1
        else:
            high = middle
    return low


cdef int add(ranges *r, int64_t start, int64_t end) noexcept nogil:
    """Put a range into a list; 0 when there is no memory."""
    cdef size_t first = first_ending(r, start), last = first
    cdef void *larger
    while last < r.count and r.at[last][0] <= end:
        start = min(start, r.at[last][0])
        end = max(end, r.at[last][1])
        last += 1
    if first == last and r.count == r.room:
        larger = realloc(r.at, (2 * r.room + 2) * sizeof(r.at[0]))
        if larger == NULL:
            return 0
        r.at = <int64_t (*)[2]>larger
        r.room = 2 * r.room + 2
    if last != first + 1:
        memmove(&r.at[first + 1], &r.at[last], (r.count - last) * sizeof(r.at[0]))
        r.count = r.count + 1 - (last - first)
    r.at[first][0] = start
    r.at[first][1] = end
    return 1


cdef class Gaps:
    """Memory of a plan with `steps` steps, in which nothing lies yet."""

    cdef node *nodes
    cdef size_t leaves
    cdef const ranges *lists[LISTS]
    cdef int count
    cdef readonly int64_t total

    def __cinit__(self, size_t steps):
        self.leaves = 1
        while self.leaves < steps:
            self.leaves *= 2
        self.nodes = <node *>calloc(2 * self.leaves, sizeof(node))
        if self.nodes == NULL:
            raise MemoryError()

    def __dealloc__(self):
        cdef size_t i
        if self.nodes != NULL:
            for i in range(2 * self.leaves):
                free(self.nodes[i].whole.at)
                free(self.nodes[i].some.at)
            free(self.nodes)

    def place(self, const int64_t[:, ::1] blocks, int64_t[::1] offsets):
        """Place blocks (size, first step, last step) in this order, each in the lowest gap; fills in their offsets.

        Where there are very many gaps in which a block does not fit, it goes on top.
        """
        cdef Py_ssize_t i
        cdef bint done = True
        if blocks.shape[1] != 3 or offsets.shape[0] != blocks.shape[0]:
            raise ValueError("blocks must be rows of three, with an offset each")
        for i in range(blocks.shape[0]):
            if not (0 < blocks[i, 0] and 0 <= blocks[i, 1] <= blocks[i, 2] < <int64_t>self.leaves):
                raise ValueError(f"block {i} is {tuple(blocks[i])}, must have a size and lie in {self.leaves} steps")
        with nogil:
            for i in range(blocks.shape[0]):
                self.count = 0
                self.gather(1, 0, self.leaves - 1, blocks[i, 1], blocks[i, 2])
                offsets[i] = self.lowest(blocks[i, 0])
                self.total = max(self.total, offsets[i] + blocks[i, 0])
                done = self.take(1, 0, self.leaves - 1, blocks[i, 1], blocks[i, 2], offsets[i],
                                 offsets[i] + blocks[i, 0])
                if not done:
                    break
        if not done:
            raise MemoryError("no memory for the table of gaps")

    cdef void gather(self, size_t number, size_t low, size_t high, size_t first, size_t last) noexcept nogil:
        """Note the lists that say what is taken in steps first..last; `number` is the node of steps low..high."""
        cdef const node *here = &self.nodes[number]
        cdef size_t middle = (low + high) // 2
        cdef bint inside = first <= low and high <= last
        cdef const ranges *taken = &here.some if inside else &here.whole
        if taken.count:
            self.lists[self.count] = taken
            self.count += 1
        if inside:
            return
        if first <= middle:
            self.gather(2 * number, low, middle, first, last)
        if last > middle:
            self.gather(2 * number + 1, middle + 1, high, first, last)

    cdef bint take(self, size_t number, size_t low, size_t high, size_t first, size_t last, int64_t start,
                   int64_t end) noexcept nogil:
        """Mark addresses start..end-1 as taken in steps first..last; False when there is no memory."""
        cdef node *here = &self.nodes[number]
        cdef size_t middle = (low + high) // 2
        if not add(&here.some, start, end):
            return False
        if first <= low and high <= last:
            return add(&here.whole, start, end)
        return (first > middle or self.take(2 * number, low, middle, first, last, start, end)) and \
            (last <= middle or self.take(2 * number + 1, middle + 1, high, first, last, start, end))

    cdef int64_t lowest(self, int64_t size) noexcept nogil:
        """Lowest address from which `size` bytes are free in all noted lists."""
        cdef int64_t at = 0
        cdef const ranges *taken
        cdef size_t i
        cdef int k = 0, tries = 0, free_in = 0
        while free_in < self.count:  # lists in a row that have nothing here
            taken = self.lists[k]
            i = first_ending(taken, at + 1)
            free_in += 1
            while i < taken.count and taken.at[i][0] < at + size:
                at = taken.at[i][1]
                i += 1
                tries += 1
                free_in = 1
            k = k + 1 if k + 1 < self.count else 0
            if tries > TRIES:
                for k in range(self.count):
                    at = max(at, self.lists[k].at[self.lists[k].count - 1][1])
                return at
        return at
