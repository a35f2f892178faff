"""Limits of one client, and of all clients together. Error messages name the resource that ran out."""

import os
import resource
import threading
from dataclasses import dataclass

from ..._native.engine import Charge, Full, Tally
from ...errors import ResourceExhaustedTransient

ADDRESS_SPACE = 1 << 46
"""Address space for clients' files: half of what a process has; the rest is for threads and memory."""

MOST_THREADS = 4096
LARGEST_RESERVE = 4096
HELD = ("descriptors", "threads", "mapped")
"""Resources that are divided among users."""

SMALL = {"descriptors": 64, "threads": 8, "mapped": 1 << 30}
"""What a client may always hold of its user's share, whatever others hold: a few models and connections."""

_WORDS = {"descriptors": "descriptors", "threads": "threads", "mapped": "mapped bytes"}


@dataclass(frozen=True, slots=True)
class Quotas:
    """Limits of each client, which is a process: all of its sessions share them.

    memory: bytes of packed weights, working memory, buffers, models and results, None for no limit; models: prepared
    ones; connections: calls at a time; executions: running or waiting at a time; objects: buffers, shared memories,
    streams and fenced executions together; bursts: each has a thread and up to 256 memories; sessions: its devices;
    descriptors: of the driver's process, held for it; mapped: bytes of its files in the driver's address space.
    """

    memory: int | None = None
    models: int = 256
    connections: int = 64
    executions: int = 64
    objects: int = 4096
    bursts: int = 64
    sessions: int = 8
    descriptors: int = 1 << 20
    mapped: int = 1 << 40


@dataclass(frozen=True, slots=True)
class Capacity:
    """Limits of all clients together: descriptors, threads, bytes of address space."""

    descriptors: int
    threads: int = MOST_THREADS
    mapped: int = ADDRESS_SPACE

    @classmethod
    def of_process(cls):
        """Capacity by the limits of this process, less a reserve for connections before their hello, and for
        descriptors of messages, which are counted only after they were received.
        """
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        files = 1 << 20 if files == resource.RLIM_INFINITY else files
        files -= len(os.listdir("/proc/self/fd"))
        processes, space = (resource.getrlimit(limit)[0] for limit in (resource.RLIMIT_NPROC, resource.RLIMIT_AS))
        return cls(max(1, files - min(LARGEST_RESERVE, files // 4)),
                   MOST_THREADS if processes == resource.RLIM_INFINITY else
                   max(1, min(MOST_THREADS, processes // 2 - threading.active_count())),
                   ADDRESS_SPACE if space == resource.RLIM_INFINITY else max(1, min(ADDRESS_SPACE, space // 2)))

    def tallies(self):
        """{name: Tally} for everything that is shared."""
        return {name: Tally(getattr(self, name), f"the driver's limit of {_WORDS[name]}") for name in HELD}


def tallies_of_user(uid, totals):
    """{name: Tally} of one user: at most half of everything, and never more than what is free."""
    return {name: Tally(max(1, total.limit // 2), f"user {uid}'s share of the driver's {_WORDS[name]}", total, True)
            for name, total in totals.items()}


def tallies_of_client(quotas, user):
    """{name: Tally} of one client: at most half of its user's share, and never more than is free of it, except for the
    amounts in SMALL.
    """
    limits = {"descriptors": quotas.descriptors, "threads": quotas.connections + quotas.bursts, "mapped": quotas.mapped}
    return {name: Tally(limit, f"the client's quota of {_WORDS[name]}", user[name], True, SMALL[name])
            for name, limit in limits.items()}


def claim(tally, hint):
    """A Charge of one. Raises ResourceExhaustedTransient if there is no room."""
    try:
        return Charge(tally, 1)
    except Full as full:
        raise refuse(full.tally, hint) from None


def refuse(tally, hint, count=1):
    """The error of a limit that leaves no room for `count` more."""
    free = tally.limit - tally.used
    if free <= 0:
        text = f"{tally.name} is {tally.limit}, and all of it is in use"
    elif count > free:
        text = f"{tally.name} is {tally.limit}, and {tally.used} are in use"
    else:
        text = f"{tally.name} is never more than what others leave free: {tally.used} are in use, " \
               f"{tally.free_above} are free"
    return ResourceExhaustedTransient(f"service: {text}; {hint}")
