"""Resources for the executions of one prepared model: threads, a turn at the client's gate, memory."""

from contextlib import contextmanager

from .._native.threads import Team, Turn
from ..errors import Error, ResourceExhaustedTransient
from ..record import record

NO_LOCK = "can't allocate lock"
"""Text of the RuntimeError of threading.Lock when memory runs out."""


@contextmanager
def counted(what):
    """Context manager: turns MemoryError into ResourceExhaustedTransient. what: start of its message."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and str(error) != NO_LOCK:
            raise
        raise exhausted(what, error) from None


def exhausted(what, error):
    """A MemoryError as an error of nnfast, unless it is one already. what: start of its message."""
    return error if isinstance(error, Error) else ResourceExhaustedTransient(f"{what}: out of memory: {error}")


class Owner:
    """An object whose lifetime is that of charged memory."""

    __slots__ = ("__weakref__",)


@record(frozen=True, slots=True)
class Resources:
    """threads: most threads of a run; turn: place at the client's Gate, or None; budget: the client's, or None.

    precision: the device's, None for exact; without_passes: names of compiler passes to leave out. pacing: the
    Client's. team: whose threads programs run on, None for the own ones.
    """

    threads: int
    turn: Turn | None = None
    budget: object = None
    precision: str | None = None
    pacing: object = None
    without_passes: frozenset = frozenset()
    team: Team | None = None

    def take(self, nbytes, owner, what):
        """Charge `nbytes` until `owner` is collected; see Budget.take."""
        if self.budget is not None:
            self.budget.take(nbytes, owner, what)
