"""The driver as a process of its own: a server with many clients, and the client's side of it.

    nnfast serve &
    device = nnfast.connect()                # the same methods as nnfast.Device

docs/service.md tells how the two talk, and what happens when one of them dies.
"""

from .client.device import connect

__all__ = ["connect"]
