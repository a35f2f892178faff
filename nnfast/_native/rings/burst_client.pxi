"""The caller's end of a burst: a request packet out, a result packet back, without the GIL while it waits."""

from cpython.exc cimport PyErr_CheckSignals
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.string cimport memcmp

from ..errors import GeneralFailure


cdef class BurstClient:
    """The caller's end of a burst: writes `requests`, reads `results`. One thread at a time.

    alive(): False when there will be no answer any more; asked while one is long in coming.
    """

    cdef Ring requests, results
    cdef nnf_request_datum *packet
    cdef nnf_result_datum *answer
    cdef nnf_result_datum *before       # the last answer, and what it came to
    cdef uint32_t *places
    cdef size_t size, answered
    cdef tuple came_to
    cdef object built                   # the request that lies in `packet`
    cdef object alive
    cdef nnf_flag closed
    cdef public int spin_us

    def __cinit__(self, Ring requests, Ring results, int spin_us, alive):
        self.requests, self.results, self.spin_us, self.alive = requests, results, spin_us, alive
        self.packet = <nnf_request_datum *>PyMem_Calloc(room_of(requests), sizeof(nnf_request_datum))
        self.answer = <nnf_result_datum *>PyMem_Calloc(room_of(results), sizeof(nnf_result_datum))
        self.before = <nnf_result_datum *>PyMem_Calloc(room_of(results), sizeof(nnf_result_datum))
        self.places = <uint32_t *>PyMem_Calloc(room_of(results), sizeof(uint32_t))
        if self.packet == NULL or self.answer == NULL or self.before == NULL or self.places == NULL:
            raise MemoryError()
        requests.take(WRITER)
        results.take(READER)

    def __dealloc__(self):
        PyMem_Free(self.packet)
        PyMem_Free(self.answer)
        PyMem_Free(self.before)
        PyMem_Free(self.places)

    def forget(self):
        """The slots of the last request have changed."""
        self.built = None

    def holds(self, request):
        """True when the packet of this request, an immutable object, is at hand."""
        return self.built is request

    def build(self, request, slots):
        """Lay out the packet of a canonical request, whose pools have these slots; False when it is too long."""
        cdef size_t inputs = len(request.inputs), count = inputs + len(request.outputs), i = 0, k = 0
        cdef size_t total = 0
        for argument in (*request.inputs, *request.outputs):
            total += len(argument.dims)
        cdef nnf_argument *arguments = <nnf_argument *>PyMem_Calloc(count + 1, sizeof(nnf_argument))
        cdef uint32_t *dims = <uint32_t *>PyMem_Calloc(total + 1, sizeof(uint32_t))
        cdef int32_t *named = <int32_t *>PyMem_Calloc(len(slots) + 1, sizeof(int32_t))
        self.built = None
        try:
            if arguments == NULL or dims == NULL or named == NULL:
                raise MemoryError()
            for a in (*request.inputs, *request.outputs):
                arguments[i].has_no_value, arguments[i].rank = a.has_no_value, len(a.dims)
                arguments[i].pool, arguments[i].offset, arguments[i].length = a.pool, a.offset, a.length
                i += 1
                for dim in a.dims:
                    dims[k] = dim
                    k += 1
            for i in range(len(slots)):
                named[i] = slots[i]
            self.size = nnf_request_build(self.packet, min(self.requests.c.capacity, <size_t>ROOM), arguments,
                                          <uint32_t>inputs, <uint32_t>(count - inputs), dims, named,
                                          <uint32_t>len(slots), 0)
        finally:
            PyMem_Free(arguments)
            PyMem_Free(dims)
            PyMem_Free(named)
        if self.size == 0:
            return False
        self.built = request
        return True

    def fits(self):
        """True when the packet can be written now."""
        return not self.closed and nnf_ring_writable(&self.requests.c) >= <int64_t>self.size

    def exchange(self, bint measure):
        """Send the packet and wait for the answer, as packet.parse_result gives it; the same object for the same bytes.

        Raises GeneralFailure when none comes, or none that is one [NN 4.9].
        """
        cdef nnf_result result
        cdef nnf_packet_fault fault
        cdef int64_t count
        cdef int outcome
        self.packet[self.size - 1].as_.measure = measure
        with nogil:
            outcome = nnf_ring_write_wait(&self.requests.c, self.packet, self.size, 0, 0, &self.closed)
            if outcome == NNF_RING_OK:
                outcome = nnf_ring_wait_readable(&self.results.c, 1, nnf_now_ns() + SLICE_NS, self.spin_us,
                                                 &self.closed)
        while outcome == NNF_RING_TIMEOUT:
            PyErr_CheckSignals()
            if not self.alive():
                break
            with nogil:
                outcome = nnf_ring_wait_readable(&self.results.c, 1, nnf_now_ns() + SLICE_NS, self.spin_us,
                                                 &self.closed)
        count = nnf_ring_readable(&self.results.c) if outcome == NNF_RING_OK else 0
        if not 0 < count <= ROOM or nnf_ring_try_read(&self.results.c, self.answer, <size_t>count) != NNF_RING_OK:
            raise GeneralFailure("burst: there is no answer: the driver is gone, or has ended the burst")
        nnf_ring_wake(&self.results.c, NNF_RING_NOT_FULL)
        if self.came_to is not None and <size_t>count == self.answered and \
                memcmp(self.answer, self.before, <size_t>count * sizeof(nnf_result_datum)) == 0:
            return self.came_to
        fault = nnf_result_parse(&result, self.answer, <size_t>count, self.places)
        if fault != NNF_PACKET_OK:
            raise GeneralFailure(f"burst: {fault_text('result', fault, result.at)}")
        self.came_to = result_values(&result)
        self.answered = <size_t>count
        self.answer, self.before = self.before, self.answer
        return self.came_to

    def close(self):
        """No more exchanges; a thread that waits for an answer gives up."""
        self.closed = 1
        nnf_ring_wake(&self.results.c, NNF_RING_NOT_EMPTY)
        nnf_ring_wake(&self.requests.c, NNF_RING_NOT_FULL)
