"""Whom devices work for: priorities are relative to each other among the executions of one client."""

from .._native import threads
from ..errors import InvalidArgument

_named = {}
"""Clients by name, "" for the one of devices that name none. They live as long as the process."""


class Client:
    """An application, or a part of one, that devices work for: `Device(client=...)`.

    All devices of one client share one place where executions meet: one of higher priority goes first, whatever device
    it is on, and one of lower priority stops for it between two operations when there are not cores for both.
    Priorities of different clients have nothing to do with each other. After a fork, what the parent runs does not
    count in the child.
    """

    pacing = None
    """pacing(limits): a context for each execution that runs in Python, where clients share the interpreter."""

    def __init__(self):
        self.gate = threads.Gate(threads.available())


def client_of(client):
    """The Client of a Device: a Client, the name of one, or None for the one of all devices that name none."""
    if isinstance(client, Client):
        return client
    if client is not None and not isinstance(client, str):
        raise InvalidArgument(f"Device client: is a {type(client).__name__}, must be an nnfast.Client, a name or None")
    name = client or ""
    found = _named.get(name)
    return _named.setdefault(name, Client()) if found is None else found
