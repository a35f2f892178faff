"""The driver's end of a connection for calls, as far as it needs no GIL.

A Receiver takes packets out of the socket. Those that repeat an execution it has been told of are answered here;
everything else it hands to Python (`nnfast.service.server.connection`).
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from cpython.ref cimport PyObject
from libc.errno cimport EINTR, errno
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy, memset

import os

from .engine cimport BoundRun, Tally
from .pthread cimport (
    pthread_mutex_destroy,
    pthread_mutex_init,
    pthread_mutex_lock,
    pthread_mutex_t,
    pthread_mutex_trylock,
    pthread_mutex_unlock,
)

cdef extern from "sys/types.h":
    ctypedef Py_ssize_t ssize_t
    ctypedef int pid_t

cdef extern from "sys/socket.h" nogil:
    """
    #ifndef _GNU_SOURCE
    #error "struct ucred needs _GNU_SOURCE"
    #endif
    #include <sys/socket.h>
    """
    struct iovec:
        void *iov_base
        size_t iov_len
    struct msghdr:
        iovec *msg_iov
        size_t msg_iovlen
        void *msg_control
        size_t msg_controllen
        int msg_flags
    struct cmsghdr:
        size_t cmsg_len
        int cmsg_level
        int cmsg_type
    struct ucred:
        pid_t pid
    int SOL_SOCKET, SCM_CREDENTIALS, MSG_CMSG_CLOEXEC, MSG_NOSIGNAL, MSG_TRUNC, MSG_CTRUNC
    cmsghdr *CMSG_FIRSTHDR(msghdr *)
    cmsghdr *CMSG_NXTHDR(msghdr *, cmsghdr *)
    unsigned char *CMSG_DATA(cmsghdr *)
    size_t CMSG_LEN(size_t)
    ssize_t recvmsg(int, msghdr *, int)
    ssize_t send(int, const void *, size_t, int)

cdef extern from "nnf/outcome.h" nogil:
    """
    static void forget_cancel(int *flag)
    {
        __atomic_store_n(flag, 0, __ATOMIC_SEQ_CST);
    }
    """
    void forget_cancel(int *flag)
    void nnf_cancel(int *flag)

cdef enum:
    KNOWN = 16          # calls of one connection that are known
    LONGEST = 2048      # bytes of a message that is kept to know it again
    EARLY = 64          # cancels of calls that have not begun
    TIMES = 2           # numbers of an answer that differ from call to call
    PACKET = 0
    FAILED = 1
    STALE = 2


cdef class Cancels:
    """Numbers of the last calls that a client has cancelled, for the Receivers of all its connections."""

    cdef nnf_counter numbers[EARLY]
    cdef uint32_t next

    def add(self, uint64_t call):
        """A call is cancelled; look at the Receivers afterwards."""
        self.numbers[self.next % EARLY] = call
        self.next += 1

    cdef bint has(self, uint64_t call) noexcept nogil:
        cdef int i
        for i in range(EARLY):
            if self.numbers[i] == call:
                return True
        return False


cdef class KnownCall:
    """A message that comes again, the run that it asks for, and the answer.

    head, tail: bytes of the message before and behind the number of the call, tail None where it has no number; answer:
    bytes; times: where the microseconds of the run, and of the call, stand in the answer, four bytes each; runs: Runs
    of its model.
    """

    cdef bytes head, tail, answer
    cdef BoundRun run
    cdef Runs runs
    cdef const unsigned char *head_at
    cdef const unsigned char *tail_at
    cdef size_t head_size, tail_size
    cdef bint is_numbered
    cdef unsigned char *answer_at
    cdef size_t answer_size
    cdef size_t times[TIMES]
    cdef int times_count

    def __cinit__(self, BoundRun run not None, Runs runs not None, bytes head not None, bytes tail, bytes answer,
                  times=()):
        cdef int i
        self.run, self.runs, self.head, self.tail, self.answer = run, runs, head, tail, answer
        self.head_at, self.head_size = <const unsigned char *>PyBytes_AS_STRING(head), PyBytes_GET_SIZE(head)
        self.is_numbered = tail is not None
        if self.is_numbered:
            self.tail_at, self.tail_size = <const unsigned char *>PyBytes_AS_STRING(tail), PyBytes_GET_SIZE(tail)
        self.answer_size = PyBytes_GET_SIZE(answer)
        self.times_count = len(times)
        if self.times_count > TIMES or any(not 0 <= at <= len(answer) - 4 for at in times):
            raise ValueError(f"times {times} do not lie in an answer of {len(answer)} bytes")
        for i in range(self.times_count):
            self.times[i] = times[i]
        self.answer_at = <unsigned char *>PyMem_Calloc(self.answer_size + 1, 1)
        if self.answer_at == NULL:
            raise MemoryError()
        memcpy(self.answer_at, PyBytes_AS_STRING(answer), self.answer_size)

    def __dealloc__(self):
        PyMem_Free(self.answer_at)

    cdef bint matches(self, const unsigned char *message, size_t size, uint64_t *call) noexcept nogil:
        """True when it is this message; the number of the call, 0 where it has none."""
        cdef size_t digits
        call[0] = 0
        if size < self.head_size + self.tail_size + self.is_numbered or \
                memcmp(message, self.head_at, self.head_size) or \
                self.tail_size and memcmp(message + size - self.tail_size, self.tail_at, self.tail_size):
            return False
        digits = size - self.head_size - self.tail_size
        return _number(message + self.head_size, digits, call) if self.is_numbered else digits == 0

    cdef void tell_time(self, int place, int64_t us) noexcept nogil:
        """Put a time into the answer, big-endian."""
        cdef unsigned char *at
        cdef uint32_t value = <uint32_t>min(us, <int64_t>0xffffffff)
        cdef int i
        if place < self.times_count:
            at = self.answer_at + self.times[place]
            for i in range(4):
                at[i] = <unsigned char>(value >> (24 - 8 * i))


cdef bint _number(const unsigned char *at, size_t digits, uint64_t *value) noexcept nogil:
    """An unsigned integer of msgpack that fills these bytes; False when they are something else."""
    cdef size_t i
    if digits == 1:
        value[0] = at[0]
        return at[0] < 0x80
    if not (digits == 2 and at[0] == 0xcc or digits == 3 and at[0] == 0xcd or digits == 5 and at[0] == 0xce or
            digits == 9 and at[0] == 0xcf):
        return False
    value[0] = 0
    for i in range(1, digits):
        value[0] = value[0] << 8 | at[i]
    return True


cdef class Receiver:
    """Receives on the socket `fd`, of the process `sender`, with room for messages of `room` bytes.

    durations: sequence of two Durations to count executions in; calls: Calls of the server; executions: Tally of those
    of the client, which must not be full; cancels: Cancels of the session. `receive` is for one thread, the rest for
    any.
    """

    cdef int fd, sender, cancelled, at, failure
    cdef readonly bytearray buffer
    cdef unsigned char *data
    cdef size_t room
    cdef Durations own, all
    cdef Calls calls
    cdef Tally executions
    cdef Cancels cancels
    cdef PyObject *known[KNOWN]
    cdef list kept                      # KnownCall or None: what `known` points to
    cdef pthread_mutex_t lock           # held while a call is looked for and run: `known` stays
    cdef nnf_flag stale                 # the known calls must go
    cdef nnf_flag closed
    cdef nnf_flag running
    cdef nnf_counter current            # number of the call that runs
    cdef nnf_flag is_watched
    cdef nnf_flag is_paused
    cdef msghdr message
    cdef ssize_t received
    cdef unsigned char *control
    cdef size_t control_size

    def __cinit__(self, int fd, int sender, size_t room, size_t control_room, durations, Calls calls not None,
                  Tally executions not None, Cancels cancels not None):
        pthread_mutex_init(&self.lock, NULL)
        self.fd, self.sender, self.room, self.control_size = fd, sender, room, control_room
        self.own, self.all = durations
        self.calls, self.executions, self.cancels = calls, executions, cancels
        self.buffer = bytearray(room)
        self.data, self.kept = self.buffer, [None] * KNOWN
        self.control = <unsigned char *>PyMem_Calloc(control_room, 1)
        if self.control == NULL:
            raise MemoryError()

    def __dealloc__(self):
        PyMem_Free(self.control)
        pthread_mutex_destroy(&self.lock)

    # -- for the thread that serves -----------------------------------------------------------------------------------
    def receive(self):
        """The next packet for Python, in `buffer`: (bytes, ancillary data, flags) as socket.recvmsg_into has them.

        Raises OSError.
        """
        cdef int outcome = STALE
        cdef cmsghdr *part
        while outcome == STALE:
            if self.stale:
                self.forget()
            with nogil:
                outcome = self._serve()
        if outcome == FAILED:
            raise OSError(self.failure, os.strerror(self.failure))
        if self.stale:
            self.forget()
        ancillary = []
        part = CMSG_FIRSTHDR(&self.message)
        while part != NULL:
            ancillary.append((part.cmsg_level, part.cmsg_type,
                              (<char *>CMSG_DATA(part))[:part.cmsg_len - CMSG_LEN(0)]))
            part = CMSG_NXTHDR(&self.message, part)
        return self.received, ancillary, self.message.msg_flags

    @property
    def watched(self):
        """Whether somebody wants to see executions, so that Python has to do them."""
        return self.is_watched != 0

    @watched.setter
    def watched(self, bint value):
        self.is_watched = value

    @property
    def paused(self):
        """Whether Python has to say something first."""
        return self.is_paused != 0

    @paused.setter
    def paused(self, bint value):
        self.is_paused = value

    cdef int _serve(self) noexcept nogil:
        cdef int outcome
        while True:
            outcome = self._receive()
            if outcome != PACKET:
                return outcome
            if self.is_watched or self.is_paused or self.closed or self.received > LONGEST or not self._is_plain():
                return PACKET
            pthread_mutex_lock(&self.lock)
            outcome = self._answer(nnf_now_ns())
            pthread_mutex_unlock(&self.lock)
            if outcome < 0:
                return PACKET
            if outcome == FAILED or self.stale:
                return FAILED if outcome == FAILED else STALE

    cdef int _receive(self) noexcept nogil:
        cdef iovec place
        place.iov_base, place.iov_len = self.data, self.room
        while True:
            memset(&self.message, 0, sizeof(msghdr))
            self.message.msg_iov, self.message.msg_iovlen = &place, 1
            self.message.msg_control, self.message.msg_controllen = self.control, self.control_size
            self.received = recvmsg(self.fd, &self.message, MSG_CMSG_CLOEXEC)
            self.message.msg_iov, self.message.msg_iovlen = NULL, 0
            if self.received >= 0:
                return PACKET
            if errno != EINTR:
                self.failure = errno
                return FAILED

    cdef bint _is_plain(self) noexcept nogil:
        """True for a whole message of the client, without descriptors."""
        cdef cmsghdr *part = CMSG_FIRSTHDR(&self.message)
        if self.received <= 0 or self.message.msg_flags & (MSG_TRUNC | MSG_CTRUNC) or part == NULL or \
                CMSG_NXTHDR(&self.message, part) != NULL:
            return False
        return part.cmsg_level == SOL_SOCKET and part.cmsg_type == SCM_CREDENTIALS and \
            part.cmsg_len == CMSG_LEN(sizeof(ucred)) and (<ucred *>CMSG_DATA(part)).pid == self.sender

    cdef int _answer(self, int64_t seen) noexcept nogil:
        """Do what the message says and answer it: 0, FAILED, or -1 where it is for Python. Under the lock."""
        cdef uint64_t call = 0
        cdef int outcome = -1, i
        if self.stale or self.executions.is_full():
            return -1
        i = self._find(&call)
        if i < 0 or not self.calls.begin():
            return -1
        forget_cancel(&self.cancelled)
        self.current, self.running = call, 1
        if not self.closed and not (call and self.cancels.has(call)):
            outcome = self._run(self.known[i], seen)
        self.current, self.running = 0, 0
        self.calls.end()
        return outcome

    cdef int _find(self, uint64_t *call) noexcept nogil:
        """Which of the known calls the message is, and the number of the call; -1 for none."""
        cdef int i
        for i in range(KNOWN):
            if self.known[i] != NULL and (<KnownCall>self.known[i]).matches(self.data, self.received, call):
                return i
        return -1

    cdef int _run(self, PyObject *known, int64_t seen) noexcept nogil:
        cdef int64_t began = nnf_now_ns(), spent
        cdef ssize_t sent = -1
        if not (<KnownCall>known).run.run(&self.cancelled):
            return -1
        spent = nnf_now_ns() - began
        (<KnownCall>known).runs.note(spent)
        self.own.note(<uint64_t>spent // 1000)
        self.all.note(<uint64_t>spent // 1000)
        (<KnownCall>known).tell_time(0, spent // 1000)
        (<KnownCall>known).tell_time(1, (nnf_now_ns() - seen) // 1000)
        while sent < 0:
            sent = send(self.fd, (<KnownCall>known).answer_at, (<KnownCall>known).answer_size, MSG_NOSIGNAL)
            if sent < 0 and errno != EINTR:
                self.failure = errno
                return FAILED
        return 0

    def is_known(self):
        """Whether the packet in `buffer` is a message that is known."""
        cdef uint64_t call = 0
        return self._find(&call) >= 0

    def keep(self, KnownCall known not None):
        """Answer a message here from now on, in the place of the one that came first. Not while `receive` runs."""
        if known.head_size + known.tail_size <= LONGEST:
            pthread_mutex_lock(&self.lock)
            self.known[self.at] = <PyObject *>known
            pthread_mutex_unlock(&self.lock)
            self.kept[self.at] = known
            self.at = (self.at + 1) % KNOWN

    # -- for all threads ----------------------------------------------------------------------------------------------
    def forget(self):
        """Answer no message any more of those that are known; what they hold is free then, or after the one that runs.
        """
        self.stale = 1
        if pthread_mutex_trylock(&self.lock) == 0:
            memset(self.known, 0, sizeof(self.known))
            gone, self.kept = self.kept, [None] * KNOWN
            self.at, self.stale = 0, 0
            pthread_mutex_unlock(&self.lock)
            gone.clear()  # outside of the lock: this frees memory

    def cancel(self, uint64_t call):
        """Stop the execution of a call that runs here."""
        if self.current == call:
            nnf_cancel(&self.cancelled)

    def close(self):
        """Stop the execution that runs here, and answer no more."""
        self.closed = 1
        nnf_cancel(&self.cancelled)

    @property
    def is_running(self):
        """True while an execution runs here."""
        return self.running != 0

    @property
    def known_calls(self):
        """How many calls are known."""
        return sum(known is not None for known in self.kept)
