"""Shared memory that the driver's process holds for a client, charged to that client's quota."""

from ...driver.memory import Memory


class HeldMemory(Memory):
    """A Memory whose descriptors, mappings and copies are charged to a client (clients.ClientProcess).

    Raises ResourceExhausted* if that exceeds the client's quota.
    """

    __slots__ = ("_client",)

    def __init__(self, client, kind, fd, *place, **named):
        self._client = client
        super().__init__(kind, fd, *place, **named)

    def _hold(self, what, **counts):
        return self._client.hold(what, **counts)
