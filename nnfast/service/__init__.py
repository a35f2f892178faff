"""The driver as a process of its own: a server with many clients, and the client's side of it.

    nnfast serve &
    device = nnfast.connect()                # the same methods as nnfast.Device

docs/service.md says what happens when one side dies, docs/protocol.md what the two say to each other.
"""

from .client.device import connect

__all__ = ["connect"]
