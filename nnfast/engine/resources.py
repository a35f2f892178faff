"""What the executions of one prepared model may use: threads, a turn among others, memory."""

from contextlib import contextmanager
from dataclasses import dataclass

from .._native.threads import Turn
from ..errors import Error, ResourceExhaustedTransient

NO_LOCK = "can't allocate lock"
"""What the RuntimeError of a threading.Lock says where memory has run out."""


@contextmanager
def counted(what):
    """Let a MemoryError of Python or numpy inside leave as ResourceExhaustedTransient. what: is done, for its message.
    """
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and str(error) != NO_LOCK:
            raise
        raise exhausted(what, error) from None


def exhausted(what, error):
    """A MemoryError as an error of nnfast, which it may be already. what: was being done."""
    return error if isinstance(error, Error) else ResourceExhaustedTransient(f"{what}: out of memory: {error}")


class Owner:
    """Something that holds counted memory until it goes."""

    __slots__ = ("__weakref__",)


@dataclass(frozen=True, slots=True)
class Resources:
    """threads: most threads of a run; turn: place at the client's Gate, or None; budget: the client's, or None.

    precision: what the client asked for, None for exact; without_passes: names of compiler passes to leave out. pacing:
    as that of the Client.
    """

    threads: int
    turn: Turn | None = None
    budget: object = None
    precision: str | None = None
    pacing: object = None
    without_passes: frozenset = frozenset()

    def take(self, nbytes, owner, what):
        """Count `nbytes` of memory that `owner` holds until it goes; see Budget.take."""
        if self.budget is not None:
            self.budget.take(nbytes, owner, what)
