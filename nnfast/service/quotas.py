"""What one client may use of the driver's process (hal.md 1.4: RESOURCE_EXHAUSTED_* names what ran out)."""

from dataclasses import dataclass

from ..engine.budget import Budget
from ..errors import ResourceExhaustedTransient

NAME = "the client's quota of memory"


@dataclass(frozen=True, slots=True)
class Quotas:
    """Limits of each client.

    memory: bytes of packed weights, working memory and buffers, None for no limit; models: prepared ones; connections:
    calls at a time; executions: running or waiting at a time; objects: buffers, shared memories, streams, bursts and
    fenced executions together; bursts: each has a thread and up to 256 memories; sessions: of one process.
    """

    memory: int | None = None
    models: int = 256
    connections: int = 64
    executions: int = 64
    objects: int = 4096
    bursts: int = 64
    sessions: int = 8


class ClientBudget(Budget):
    """The memory of one client, which is part of the server's. server: Budget of all clients together, or None."""

    def __init__(self, limit, server):
        super().__init__(1 << 62 if limit is None else limit, NAME)
        self._server = server

    def take(self, nbytes, owner, what):
        if self._server is not None:
            self._server.take(nbytes, owner, what)
        super().take(nbytes, owner, what)

    def share(self, nbytes, owner, what):
        """Weights that several clients use count for each of them, and once for the server."""
        super().take(nbytes, owner, what)


def refuse(name, limit, hint):
    """The error of a quota that is used up."""
    return ResourceExhaustedTransient(f"service: the client's quota of {name} is {limit}, and all of it is in use; "
                                      f"{hint}")
