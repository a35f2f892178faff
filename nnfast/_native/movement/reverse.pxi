"""Sequences whose first elements are put the other way round, as many as an execution says."""

from math import prod


cdef struct turning:
    nnf_reverse_fn turn     # of sequences that are dense; NULL: others
    size_t lengths, seq     # how many lengths there are, and the largest
    size_t rows, outer, between, inner, item
    bint by_length          # the outer dimension is that of the lengths, the inner one the sequence; or else
    int width


# A length as it is used: another process may own its memory and write to it after the check.
cdef inline size_t length_of(const turning *p, const uint8_t *lengths, size_t i) noexcept nogil:
    return min(<uint64_t>index_of(lengths, p.width, i), p.seq)


cdef inline void turn_sequence(const turning *p, const uint8_t *x, uint8_t *y, size_t length) noexcept nogil:
    cdef size_t i
    if p.turn != NULL:
        p.turn(1, length, x, 0, y)
    else:
        for i in range(length):
            copy_item(y + i * p.item, x + (length - 1 - i) * p.item, p.item)
    if length < p.inner:
        memcpy(y + length * p.item, x + length * p.item, (p.inner - length) * p.item)


cdef void run_turning(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const turning *p = <const turning *>step.params
    cdef const uint8_t *x = <const uint8_t *>run.slot[step.slots[0]]
    cdef const uint8_t *lengths = <const uint8_t *>run.slot[step.slots[1]]
    cdef uint8_t *y = <uint8_t *>run.slot[step.slots[2]]
    cdef size_t row, first, last, i, length, place, source, whole = p.inner * p.item
    for i in range(p.lengths):
        if <uint64_t>index_of(lengths, p.width, i) > p.seq:  # below 0: above any size
            nnf_decline(run)
            return
    nnf_share(p.rows, thread, threads, &first, &last)
    for row in range(first, last):
        place = row // p.between % p.outer
        if p.by_length:
            turn_sequence(p, x + row * whole, y + row * whole, length_of(p, lengths, place))
            continue
        for i in range(p.inner):
            length = length_of(p, lengths, i)
            source = row if place >= length else row - (2 * place + 1 - length) * p.between
            copy_item(y + row * whole + i * p.item, x + source * whole + i * p.item, p.item)


cdef class ReverseSequence(Step):
    """y = x, but of every sequence the first elements, as many as the lengths say, the other way round.

    Slots x, lengths (integers of `width` bytes: 2, 4 or 8), y. shape: of x, whose dimensions `seq_axis` and
    `batch_axis` are a sequence's and the lengths'. item: bytes of an element.
    Declines when a length is outside of [0, shape[seq_axis]].
    """

    cdef turning p

    def __init__(self, slots, shape, int seq_axis, int batch_axis, size_t item, int width):
        cdef const nnf_kernel *row
        cdef int first = min(seq_axis, batch_axis), last = max(seq_axis, batch_axis)
        self.p.by_length = batch_axis < seq_axis
        self.p.lengths, self.p.seq, self.p.width = shape[batch_axis], shape[seq_axis], width
        self.p.outer, self.p.between, self.p.inner = shape[first], prod(shape[first + 1:last]), shape[last]
        self.p.rows = prod(shape[:last])
        self.p.item = item * <size_t>prod(shape[last + 1:])
        name = "reversed sequences"
        if self.p.by_length:
            row = reversing(self.p.item)
            if row != NULL:
                self.p.turn = <nnf_reverse_fn>row.fn
                name = f"{name} + {row.name.decode()}"
        self.work = self.p.rows * self.p.inner * self.p.item
        self.tiles = <int>max(1, min(tiles_of(<size_t>self.work), self.p.rows))
        self.bind(run_turning, &self.p, slots, name)
