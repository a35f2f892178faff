"""Clients of devices: priorities compare executions of one client."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._native import threads
from ..checks import kind_of
from ..errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_named = {}
"""Clients by name; "" is the client of devices without one. They live as long as the process."""


class Client:
    """An application, or a part of one, that devices work for: `Device(client=...)`.

    Executions on all devices of one client compete by priority: a higher one goes first, and a lower one pauses for it
    between two operations if there are not enough cores for both. Priorities of different clients are independent.
    After a fork, executions of the parent do not count in the child.
    """

    gate: Any
    pacing: Callable[..., Any] | None = None
    """pacing(limits): context manager around each execution in Python, where clients share the interpreter."""

    def __init__(self) -> None:
        self.gate = threads.Gate(threads.available())


def client_of(client):
    """The Client for Device's `client`: a Client itself, a name, or None for the shared default client."""
    if isinstance(client, Client):
        return client
    if client is not None and not isinstance(client, str):
        raise InvalidArgument(f"Device client: is {kind_of(client)}, must be an nnfast.Client, a name or None")
    name = client or ""
    found = _named.get(name)
    return _named.setdefault(name, Client()) if found is None else found
