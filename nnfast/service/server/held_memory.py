"""Shared memory that the driver's process holds for a client, and counts for it."""

from ...driver.memory import Memory


class HeldMemory(Memory):
    """A Memory whose descriptors, mappings and copies count for a client (clients.ClientProcess).

    Raises ResourceExhausted* where the client may hold no more.
    """

    __slots__ = ("_client",)

    def __init__(self, client, kind, fd, *place, **named):
        self._client = client
        super().__init__(kind, fd, *place, **named)

    def _hold(self, what, **counts):
        return self._client.hold(what, **counts)
