"""The client's end of bursts between two processes (service/server/burst.py)."""

from functools import partial

from ... import vlog
from ...driver.burst import checked_channel, checked_memories
from ...errors import DeadObject, Error, InvalidArgument
from ...fmq import REQUEST_DATUM, RESULT_DATUM
from ..wire import protocol


class RemoteBurst:
    """The client's proxy of a driver.burst.Burst."""

    def __init__(self, prepared, get_memories, requests, results, memories):
        if not callable(get_memories):
            raise InvalidArgument(f"burst get_memories: is {get_memories!r}, must be a function")
        memories = checked_memories(memories)
        requests = checked_channel(requests, REQUEST_DATUM, "request")
        results = checked_channel(results, RESULT_DATUM, "result")
        self._session, self._prepared = prepared.session, prepared
        answer = self._session.call(
            protocol.OpenBurst(prepared.number, _queue(requests), _queue(results), list(memories),
                               _records(memories.values())),
            [*requests.fds, *results.fds, *(memory.fileno() for memory in memories.values())])
        self._number = answer.number
        # No request was written yet, so the driver cannot have asked for memories before this.
        self._session.bursts[self._number] = get_memories

    def free_memory(self, slot):
        """As Burst.free_memory."""
        if -1 << 31 <= slot < 1 << 31:
            self._session.call(protocol.FreeMemory(self._number, slot))

    def is_alive(self):
        """False when no request will be answered any more."""
        return self._session.dead is None

    def last_error(self):
        """As Burst.last_error."""
        try:
            return self._session.call(protocol.GetBurstError(self._number)).text
        except Error:
            return ""

    def death(self):
        """The error for a call that was pending when the driver died, or None while it lives."""
        return None if self._session.dead is None else DeadObject(self._session.dead)

    def end(self):
        """End the burst without waiting."""
        if self._session.bursts.pop(self._number, None) is not None:
            self._session.drop("burst", self._number)

    close = end


def _queue(descriptor):
    return protocol.Queue([(g.flags, g.fd_index, g.offset, g.extent) for g in descriptor.grantors],
                          len(descriptor.fds), descriptor.quantum, descriptor.flavor)


def _records(memories):
    return [protocol.SharedMemory(m.kind, m.size, m.prot, m.offset) for m in memories]


def answer_later(session, message):
    """Answer the driver's question for memories; get_memories runs in the background, as it may block."""
    try:
        session.background.call(partial(_answer, session, message))
    except RuntimeError:
        _answer(session, message)


def _answer(session, message):
    get_memories, memories, problem = session.bursts.get(message.burst), (), ""
    try:
        if get_memories is None:
            raise InvalidArgument(f"there is no burst {message.burst}")
        memories = list(get_memories(message.slots))
        items = _records(memories)
        if len(items) > protocol.MAX_FDS:
            raise InvalidArgument(f"{len(items)} memories at once, must be at most {protocol.MAX_FDS}")
    except Exception as error:
        problem, items, memories = str(error) or type(error).__name__, [], ()
        vlog.log(vlog.MEMORY, "burst %d: no memory for slots %s: %s", message.burst, message.slots, error)
    session.tell(protocol.Memories(message.call, problem, items), [memory.fileno() for memory in memories])
