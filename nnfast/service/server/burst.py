"""The driver's end of bursts between two processes: queues and memories are passed as descriptors, packets only through
the queues.

The driver asks for memories by a message on the session's events connection, and the client answers there. Everything
else is a call.
"""

import os
import time
import weakref
from queue import Empty, SimpleQueue

from ...checks import counted
from ...errors import Error, InvalidArgument
from ...fmq import Descriptor, Grantor
from ..wire import protocol
from ..wire.histogram import BUCKETS
from .held_memory import HeldMemory

ANSWER_SECONDS = 30.0
"""Time after which a client that has not sent the memories is taken to have none."""

class ServedBurst:
    """A client's burst, which ends when it is collected. Raises InvalidArgument for malformed queues or memories."""

    def __init__(self, session, held, requests, results, memories):
        asker, files = Asker(session), requests.fds + results.fds
        self._charges = session.client.hold("a burst", descriptors=len(files), threads=1,
                                            mapped=_mapped(requests) + _mapped(results))
        self.burst = held.prepared.configure_burst(asker.get_memories, requests, results, memories=memories)
        self.number, self.counter = asker.number, Counter(session, held, self.burst)
        weakref.finalize(self, _end, self.burst, asker, self.counter).atexit = False


def _mapped(queue):
    """Bytes of address space for mapping a queue's files: each up to the end of its last grantor."""
    ends = [0] * len(queue.fds)
    for grantor in queue.grantors:
        if 0 <= grantor.fd_index < len(ends):
            ends[grantor.fd_index] = max(ends[grantor.fd_index], grantor.offset + grantor.extent)
    # A grantor beyond the end of its file is refused later, not mapped.
    return sum(min(end, os.fstat(fd).st_size) for end, fd in zip(ends, queue.fds))


def _end(burst, asker, counter):
    burst.end()  # not close: its thread may be blocked by the client
    asker.end()
    counter.count()


class Counter:
    """Adds a burst's counts to the statistics of its client and of the server, which see no single request."""

    def __init__(self, session, held, burst):
        self._histograms = session.latency, session.server.latency
        self._held, self._burst, self._counted = held, burst, [0] * BUCKETS

    def count(self):
        """Count the requests since the last call."""
        now, before = self._burst.durations, self._counted
        new = [count - old for count, old in zip(now, before)]
        for histogram in self._histograms:
            histogram.merge(new)
        self._held.runs.merge(sum(new))
        self._counted = now


class Asker:
    """Asks the client of a session for the memories of one burst. number: the burst's, on both sides.

    Answers come through a SimpleQueue, because a finalizer may have to end the wait: its `put` is reentrant.
    """

    def __init__(self, session):
        self.number = session.new_number()
        self._session, self._answers, self._ended = weakref.ref(session), SimpleQueue(), False

    def get_memories(self, slots):
        """The Memory of each slot. Raises InvalidArgument if the client has none, or does not answer."""
        session = self._session()
        if session is None:
            raise InvalidArgument("the client has gone")
        call = session.new_number()
        session.ask(self, call, protocol.GetMemories(self.number, call, slots))
        session = None
        try:
            answer = self._wait_for(call)
        finally:
            session = self._session()
            if session is not None:
                session.answered(call)
        if isinstance(answer, Error):
            raise answer
        return answer

    def _wait_for(self, call):
        """The answer to one question; those to earlier ones may still come."""
        until = time.monotonic() + ANSWER_SECONDS
        while not self._ended and (left := until - time.monotonic()) > 0:
            try:
                number, answer = self._answers.get(timeout=left)
            except Empty:
                break
            if number == call:
                return answer
        raise InvalidArgument("the client does not answer")

    def tell(self, message, fds):
        """Take the client's answer; fds stay the caller's."""
        try:
            if message.error:
                raise InvalidArgument(message.error)
            session = self._session()
            if session is None:
                raise InvalidArgument("the client has gone")
            answer = _held(session, message.memories, fds)
        except Error as error:
            answer = error.with_traceback(None)
        self._answers.put((message.call, answer))

    def end(self):
        """End the wait. For finalizers, which may run on the very thread that is about to wait, so without an Event,
        whose lock that thread could hold."""
        self._ended = True
        self._answers.put((0, None))


def _held(session, memories, fds):
    """The memories of a message with these descriptors."""
    if len(fds) != len(memories):
        raise InvalidArgument(f"{len(memories)} memories came with {len(fds)} descriptors")
    return [HeldMemory(session.client, m.kind, fd, m.size, m.prot, m.offset) for m, fd in zip(memories, fds)]


def open_burst(connection, message, fds):
    """Handler of OpenBurst."""
    session = connection.session
    held = session.get("prepared", message.prepared)
    session.claim("burst").release()
    first, last = message.requests.files, message.requests.files + message.results.files
    if not 0 <= first <= last <= len(fds):
        raise InvalidArgument(f"service: {len(fds)} descriptors came with queues of {first} and "
                              f"{counted(message.results.files, 'file')}")
    slots = message.slots
    if len(slots) != len(message.memories) or len(set(slots)) != len(slots):
        raise InvalidArgument(f"service: {len(slots)} slots came with {len(message.memories)} memories, must be one "
                              "for each, none twice")
    served = ServedBurst(session, held, _descriptor(message.requests, fds[:first]),
                         _descriptor(message.results, fds[first:last]),
                         dict(zip(slots, _held(session, message.memories, fds[last:]))))
    return protocol.Number(session.add("burst", served, served.number))


def _descriptor(queue, fds):
    return Descriptor(tuple(Grantor(*grantor) for grantor in queue.grantors), tuple(fds), queue.quantum, queue.flavor)


def free_memory(connection, message, fds):
    """Handler of FreeMemory; answers once no execution uses the memory any more."""
    connection.session.get("burst", message.burst).burst.free_memory(message.slot)
    return protocol.Done()


def get_burst_error(connection, message, fds):
    """Handler of GetBurstError."""
    return protocol.Text(connection.session.get("burst", message.burst).burst.last_error())
