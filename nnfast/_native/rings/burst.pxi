"""The driver's end of a burst without the GIL: a loop from request packet to result packet.

The server answers here what a plan of one native program can do with memory that is mapped; everything else it hands
to Python (`nnfast.driver.burst`). No packet, no counter and no value in shared memory is trusted: packets are copied
before they are looked at, and so are the inputs whose values the program relies on.
"""

from cpython.mem cimport PyMem_Calloc, PyMem_Free
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t, uintptr_t
from libc.string cimport memcpy, memset

from .engine cimport Argument, Frame, Runner
from .pthread cimport (
    PTHREAD_MUTEX_RECURSIVE,
    pthread_mutex_destroy,
    pthread_mutex_init,
    pthread_mutex_lock,
    pthread_mutex_t,
    pthread_mutex_trylock,
    pthread_mutex_unlock,
    pthread_mutexattr_init,
    pthread_mutexattr_settype,
    pthread_mutexattr_t,
)
from .threads cimport nnf_cancel, run_program

from .engine import aligned_bytes

cimport numpy as cnp

cnp.import_array()

cdef enum:
    SLOTS = 256             # memories of one burst
    PLACES = 512            # of the table that finds them, a power of two
    ALIGNMENT = 64

MAX_SLOTS = SLOTS
MAX_PACKET = ROOM
ENDED, ILL_FORMED, REQUEST = range(3)
"""What `BurstServer.serve` comes back with."""


cdef struct memory:
    bint used
    int32_t slot
    unsigned char *at
    uint64_t size
    bint writable


cdef struct span:
    unsigned char *at
    size_t size


cdef size_t room_of(Ring ring):
    return min(ring.c.capacity, <size_t>ROOM)


cdef class BurstServer:
    """The driver's end of a burst: reads `requests`, writes `results`; spin_us: how long it polls before it sleeps.

    `serve` answers requests until one needs Python. As a context it is the lock that executions and changes of the
    memories take; the thread that holds it may take it again.
    """

    cdef Ring requests, results
    cdef nnf_request_datum *packet
    cdef nnf_result_datum *answer
    cdef nnf_result_datum *template     # the answer to a success, but for the times
    cdef size_t template_size
    cdef uint32_t *places
    cdef nnf_request request
    cdef nnf_packet_fault fault
    cdef size_t received
    cdef nnf_flag leaving               # no further request is taken
    cdef nnf_flag closed                # nor is one answered
    cdef int cancelled
    cdef int spin_us
    cdef pthread_mutex_t mutex
    cdef memory *memories
    cdef dict arrays                    # slot: array over its memory
    cdef Runner runner
    cdef Frame frame
    cdef bint ready                     # there is a runner and a frame
    cdef span *spans
    cdef unsigned char **copies         # where an input's values are copied to before use, or NULL
    cdef object copied
    cdef readonly int64_t began         # when the request was taken out of the ring
    cdef readonly nnf_counter runs      # requests answered here
    cdef nnf_counter took[BUCKETS]      # how many successful requests took how long
    cdef nnf_flag is_watched

    def __cinit__(self, Ring requests, Ring results, int spin_us):
        cdef pthread_mutexattr_t kind
        pthread_mutexattr_init(&kind)
        pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE)
        pthread_mutex_init(&self.mutex, &kind)
        self.requests, self.results, self.spin_us = requests, results, spin_us
        self.arrays = {}
        self.packet = <nnf_request_datum *>PyMem_Calloc(room_of(requests), sizeof(nnf_request_datum))
        self.places = <uint32_t *>PyMem_Calloc(room_of(requests), sizeof(uint32_t))
        self.answer = <nnf_result_datum *>PyMem_Calloc(room_of(results), sizeof(nnf_result_datum))
        self.memories = <memory *>PyMem_Calloc(PLACES, sizeof(memory))
        if self.packet == NULL or self.places == NULL or self.answer == NULL or self.memories == NULL:
            raise MemoryError()
        requests.take(READER)
        results.take(WRITER)

    def __dealloc__(self):
        PyMem_Free(self.packet)
        PyMem_Free(self.places)
        PyMem_Free(self.answer)
        PyMem_Free(self.template)
        PyMem_Free(self.memories)
        PyMem_Free(self.spans)
        PyMem_Free(self.copies)
        pthread_mutex_destroy(&self.mutex)

    @property
    def watched(self):
        """Whether somebody wants to see executions, so that Python has to do them."""
        return self.is_watched != 0

    @watched.setter
    def watched(self, bint value):
        self.is_watched = value

    def plan(self, Runner runner, checked, packet):
        """Be ready to run a program here. checked: for each input whether its values are copied before use; packet: the
        answer to a success, without times. To be called once, before `serve`."""
        cdef int i, inputs = runner.inputs.count
        cdef const unsigned char[:, ::1] rows = packet
        cdef size_t at = 0, total = 0
        self.spans = <span *>PyMem_Calloc(inputs + runner.outputs.count + 1, sizeof(span))
        self.copies = <unsigned char **>PyMem_Calloc(inputs + 1, sizeof(void *))
        self.template = <nnf_result_datum *>PyMem_Calloc(len(packet), sizeof(nnf_result_datum))
        if self.spans == NULL or self.copies == NULL or self.template == NULL:
            raise MemoryError()
        self.template_size = len(packet)
        memcpy(self.template, &rows[0, 0], self.template_size * sizeof(nnf_result_datum))
        for i in range(inputs):
            if checked[i]:
                total += runner.inputs.items[i].nbytes + ALIGNMENT
        self.copied = aligned_bytes(total)
        for i in range(inputs):
            if checked[i]:
                self.copies[i] = <unsigned char *>cnp.PyArray_DATA(self.copied) + at
                at += (runner.inputs.items[i].nbytes + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
        self.runner = runner

    # -- memories, the frame: under the lock --------------------------------------------------------------------------
    def __enter__(self):
        with nogil:
            pthread_mutex_lock(&self.mutex)
        return self

    def __exit__(self, *error):
        pthread_mutex_unlock(&self.mutex)

    def try_lock(self):
        """Take the lock if nobody has it; `unlock` gives it back."""
        return pthread_mutex_trylock(&self.mutex) == 0

    def unlock(self):
        pthread_mutex_unlock(&self.mutex)

    def set_memory(self, int32_t slot, array):
        """Let a slot be an array over mapped memory, or nothing that is mapped (None)."""
        if array is None:
            self.arrays.pop(slot, None)
        else:
            self.arrays[slot] = array
        memset(self.memories, 0, PLACES * sizeof(memory))
        cdef memory *m
        for number, mapped in self.arrays.items():
            m = self._place(number)
            m.used, m.slot, m.at = True, number, <unsigned char *>cnp.PyArray_DATA(mapped)
            m.size, m.writable = mapped.nbytes, mapped.flags.writeable

    cdef memory *_place(self, int32_t slot) noexcept nogil:
        """Where the slot is in the table, or would be."""
        cdef uint32_t at = <uint32_t>slot
        while self.memories[at & (PLACES - 1)].used and self.memories[at & (PLACES - 1)].slot != slot:
            at += 1
        return &self.memories[at & (PLACES - 1)]

    @property
    def needs_frame(self):
        """True when there is a program, but no memory for it to run in."""
        return self.runner is not None and self.frame is None

    def set_frame(self, Frame frame):
        """Working memory of the runs, or None to give it up."""
        self.frame = frame
        self.ready = self.runner is not None and frame is not None

    # -- requests -----------------------------------------------------------------------------------------------------
    def serve(self):
        """Answer requests until there is one for Python (REQUEST), a malformed one (ILL_FORMED), or an end (ENDED)."""
        cdef int outcome
        with nogil:
            outcome = self._serve()
        return outcome

    cdef int _serve(self) noexcept nogil:
        cdef bint done
        while True:
            if not self._receive():
                return 0
            self.began = nnf_now_ns()
            if self.received == 0:
                return 1
            self.fault = nnf_request_parse(&self.request, self.packet, self.received, self.places)
            if self.fault != NNF_PACKET_OK:
                return 1
            if self.is_watched:
                return 2
            pthread_mutex_lock(&self.mutex)
            done = self.ready and self._run()
            pthread_mutex_unlock(&self.mutex)
            if self.closed:
                return 0
            if not done:
                return 2
            if not self._succeed():
                return 0

    def run(self):
        """Run the request that `serve` came back with, which lacked a frame or memories; False when it is for Python.

        Under the lock, so that the memories stay; `succeed` answers without it.
        """
        cdef bint done
        with nogil:
            done = self.ready and not self.is_watched and self._run()
        return done

    def succeed(self):
        """Answer the request that `run` has run."""
        with nogil:
            self._succeed()

    cdef bint _succeed(self) noexcept nogil:
        """Count and answer a request that has been run; False at the end."""
        self.runs += 1
        self._count()
        return self._write(self.template, self.template_size)

    cdef void _count(self) noexcept nogil:
        self.took[bucket_of(<uint64_t>(nnf_now_ns() - self.began) // 1000)] += 1

    cdef bint _receive(self) noexcept nogil:
        """Copy the next packet, of which `received` tells the elements; False at the end."""
        cdef nnf_regions regions
        cdef int64_t count
        if nnf_ring_wait_readable(&self.requests.c, 1, 0, self.spin_us, &self.leaving) != NNF_RING_OK:
            return False
        count = nnf_ring_readable(&self.requests.c)
        if count <= 0:
            return False
        if count > ROOM:
            self.received = 0
            if nnf_ring_peek(&self.requests.c, <size_t>count, &regions) != NNF_RING_OK:
                return False
            nnf_ring_release(&self.requests.c, <size_t>count)
        else:
            self.received = <size_t>count
            if nnf_ring_try_read(&self.requests.c, self.packet, self.received) != NNF_RING_OK:
                return False
        nnf_ring_wake(&self.requests.c, NNF_RING_NOT_FULL)
        return True

    cdef bint _run(self) noexcept nogil:
        """Run the request by the program; False when it is for Python, which then says what is wrong, if anything."""
        cdef const nnf_request *r = &self.request
        cdef int inputs = self.runner.inputs.count, outputs = self.runner.outputs.count, i, k
        cdef size_t done = 0
        cdef int64_t started, ended
        cdef nnf_result_datum *times = &self.template[self.template_size - 1]
        if r.inputs != <uint32_t>inputs or r.outputs != <uint32_t>outputs:
            return False
        for i in range(<int>r.pools):
            if not self._place(r.packet[r.first_pool + i].as_.slot).used:
                return False
        for i in range(inputs):
            if not self._locate(i, &self.runner.inputs.items[i], False):
                return False
        for i in range(outputs):
            if not self._locate(inputs + i, &self.runner.outputs.items[i], True):
                return False
            for k in range(inputs + i):
                if self.spans[k].at < self.spans[inputs + i].at + self.spans[inputs + i].size and \
                        self.spans[inputs + i].at < self.spans[k].at + self.spans[k].size:
                    return False
        for i in range(inputs):
            if self.copies[i] != NULL:
                memcpy(self.copies[i], self.spans[i].at, self.runner.inputs.items[i].nbytes)
                self.runner.inputs.set(self.frame, i, self.copies[i])
            else:
                self.runner.inputs.set(self.frame, i, self.spans[i].at)
        for i in range(outputs):
            self.runner.outputs.set(self.frame, i, self.spans[inputs + i].at)
        started = nnf_now_ns() if r.measure else 0
        if run_program(&self.runner.program.c, &self.frame.run, self.runner.threads, &self.cancelled, 0, NULL, &done):
            return False
        times.as_.timing.on_device = times.as_.timing.in_driver = NNF_NO_TIME
        if r.measure:
            ended = nnf_now_ns()
            times.as_.timing.on_device = <uint64_t>(ended - started) // 1000
            times.as_.timing.in_driver = <uint64_t>(ended - self.began) // 1000
        return True

    cdef bint _locate(self, int place, const Argument *argument, bint is_output) noexcept nogil:
        """Find the memory of an operand of the request; False when it is not plainly what the program takes."""
        cdef const nnf_request_datum *info = &self.packet[self.places[place]]
        cdef uint64_t end = <uint64_t>info.as_.operand.offset + info.as_.operand.length
        cdef const memory *m
        cdef int axis
        if info.as_.operand.has_no_value or info.as_.operand.pool >= self.request.pools:
            return False
        if info.as_.operand.rank:
            if info.as_.operand.rank != <uint32_t>argument.rank:
                return False
            for axis in range(argument.rank):
                if info[1 + axis].as_.dimension != <uint64_t>argument.dims[axis]:
                    return False
        m = self._place(self.packet[self.request.first_pool + info.as_.operand.pool].as_.slot)
        if not m.used or info.as_.operand.length == 0 or end > m.size:
            return False
        if is_output:
            if not m.writable or info.as_.operand.length < argument.nbytes:
                return False
        elif info.as_.operand.length != argument.nbytes:
            return False
        self.spans[place].at = m.at + info.as_.operand.offset
        self.spans[place].size = info.as_.operand.length
        return <uintptr_t>self.spans[place].at % argument.itemsize == 0

    cdef bint _write(self, const nnf_result_datum *packet, size_t count) noexcept nogil:
        """Answer with a packet, or with a short one that tells of a failure where there is no room; False at the end.

        Where not even that fits into the ring, nothing is sent [NN 4.8].
        """
        cdef nnf_result_datum failure[2]
        cdef int64_t room = nnf_ring_writable(&self.results.c)
        if room < 0:
            return False
        if count == 0 or <uint64_t>room < count:
            count = nnf_result_build(failure, NNF_SHORTEST_RESULT, NNF_GENERAL_FAILURE, NULL, 0, NULL, NNF_NO_TIME,
                                     NNF_NO_TIME)
            packet = failure
        if self.closed:
            return False
        return nnf_ring_write_wait(&self.results.c, packet, count, 0, 0, &self.closed) != NNF_RING_BROKEN

    def values(self):
        """What the request is that Python has to do, as packet.parse_request gives it."""
        return request_values(&self.request)

    def reason(self):
        """Why the request is none."""
        if self.received == 0:
            return f"request packet: has more than {ROOM} elements"
        return fault_text("request", self.fault, self.request.at)

    def send(self, int32_t status, shapes=(), uint64_t on_device=NNF_NO_TIME, uint64_t in_driver=NNF_NO_TIME):
        """Answer the request. shapes: [(dimensions, is sufficient)] of all outputs."""
        cdef size_t count = len(shapes), i = 0, k = 0
        cdef size_t total = sum(len(dims) for dims, _ in shapes)
        cdef nnf_output *outputs = <nnf_output *>PyMem_Calloc(count + 1, sizeof(nnf_output))
        cdef uint32_t *sizes = <uint32_t *>PyMem_Calloc(total + 1, sizeof(uint32_t))
        try:
            if outputs == NULL or sizes == NULL:
                raise MemoryError()
            if status == 0:
                self._count()
            for dims, sufficient in shapes:
                outputs[i].is_sufficient, outputs[i].rank = sufficient, len(dims)
                i += 1
                for dim in dims:
                    sizes[k] = dim
                    k += 1
            with nogil:
                total = nnf_result_build(self.answer, min(self.results.c.capacity, <size_t>ROOM), status, outputs,
                                         <uint32_t>count, sizes, on_device, in_driver)
                self._write(self.answer, total)
        finally:
            PyMem_Free(outputs)
            PyMem_Free(sizes)

    @property
    def durations(self):
        """How many successful requests took how long so far: counts by `bucket_of` their microseconds."""
        found = []
        for i in range(BUCKETS):
            found.append(self.took[i])
        return found

    @property
    def is_closed(self):
        return self.closed != 0

    def finish(self):
        """End the loop after the request that it is on."""
        self.leaving = 1
        nnf_ring_wake(&self.requests.c, NNF_RING_NOT_EMPTY)

    def close(self):
        """End the loop, wherever it is; an execution stops at its next step."""
        self.leaving = 1
        self.closed = 1
        nnf_cancel(&self.cancelled)
        nnf_ring_wake(&self.requests.c, NNF_RING_NOT_EMPTY)
        nnf_ring_wake(&self.results.c, NNF_RING_NOT_FULL)
