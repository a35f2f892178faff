"""What the executions of one prepared model may use: threads, a turn among others, memory."""

from dataclasses import dataclass

from .._native.threads import Turn


@dataclass(frozen=True, slots=True)
class Resources:
    """threads: most threads of a run; turn: place at the client's Gate, or None; budget: the client's, or None.

    precision: what the client asked for, None for exact.
    """

    threads: int
    turn: Turn | None = None
    budget: object = None
    precision: str | None = None

    def take(self, nbytes, owner, what):
        """Count `nbytes` of memory that `owner` holds until it goes; see Budget.take."""
        if self.budget is not None:
            self.budget.take(nbytes, owner, what)
