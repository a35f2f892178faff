"""Clients of the driver: processes of users.

A client is one process, however many sessions it opens: they share its quotas, its fair share of the cores and its
priorities. Processes of one user share that user's limits. A pidfd identifies the process, so that a later one with the
same pid is another client.
"""

import errno
import os
import select
import socket
import struct
from weakref import WeakValueDictionary

from ..._native.engine import UNLIMITED, Charge, Full, Tally
from ...driver.client import Client
from ...engine.budget import Budget
from ...errors import DeviceUnavailable
from .quotas import refuse, tallies_of_client, tallies_of_user
from .turns import LateWork

SO_PEERPIDFD = 77
_CREDENTIALS = struct.Struct("3i")


class Peer:
    """The process at the other end of a socket: pid (0 if unknown, in another namespace), user, pidfd.

    Raises DeviceUnavailable if that process is gone. Must be closed by `close`.
    """

    def __init__(self, sock):
        self.pid, self.uid, _ = _CREDENTIALS.unpack(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED,
                                                                    _CREDENTIALS.size))
        self.pidfd = _pidfd_of(sock, self.pid) if self.pid else -1

    def close(self):
        """Close the pidfd."""
        if self.pidfd >= 0:
            os.close(self.pidfd)
            self.pidfd = -1

    @property
    def is_alive(self):
        """False once the process has ended."""
        if self.pidfd < 0:
            return True
        poller = select.poll()
        poller.register(self.pidfd, select.POLLIN)
        return not poller.poll(0)

    @property
    def executable(self):
        """Path of the executable that the process runs now, "" if unknown.

        A process in its own mount namespace can give any file any path, so its paths prove nothing. The file itself is
        not opened: it may be on a file system that the client serves, and block forever.
        """
        try:
            path = os.readlink(f"/proc/{self.pid}/exe")
            same = os.readlink(f"/proc/{self.pid}/ns/mnt") == os.readlink("/proc/self/ns/mnt")
        except OSError:
            return ""
        return path if same and self.pidfd >= 0 and self.is_alive else ""


def _pidfd_of(sock, pid):
    """A pidfd of the process that connected a socket."""
    try:
        return sock.getsockopt(socket.SOL_SOCKET, SO_PEERPIDFD)
    except OSError as error:
        if error.errno != errno.ENOPROTOOPT:
            raise _unknown(pid, error) from None
    try:
        return os.pidfd_open(pid)  # before Linux 6.5; racy: the pid may have been reused
    except OSError as error:
        raise _unknown(pid, error) from None


def _unknown(pid, error):
    return DeviceUnavailable(f"service: process {pid}, which connected, cannot be told from others: {error.strerror}; "
                             f"connect from a process that lives")


class _User:
    """Limits that all processes of one user share."""

    def __init__(self, uid, totals):
        self.tallies = tallies_of_user(uid, totals)


class ClientProcess(Client):
    """One process that uses the driver, and its quotas. sessions: the open ones; line: queue of its calls with long
    work (turns.py).
    """

    def __init__(self, peer, user, quotas, budget, fair, turns):
        super().__init__()
        self.gate.join(fair)
        self.line = turns.line(self.gate)
        self.peer, self.pid, self.uid = peer, peer.pid, peer.uid
        self.sessions, self.is_watched = set(), False  # is_watched: the server waits for the end of the process
        self.unread = set()  # Unread of connections with results that may not have been received
        self._user = user
        limit = UNLIMITED if quotas.memory is None else quotas.memory
        self.budget = Budget(limit, "the client's quota of memory", budget)
        self.models = _quota(quotas.models, "prepared models")
        self.connections = _quota(quotas.connections, "connections")
        self.executions = _quota(quotas.executions, "executions in flight")
        self.objects = _quota(quotas.objects, "buffers, memories, streams and fences")
        self.bursts = _quota(quotas.bursts, "bursts")
        self.devices = _quota(quotas.sessions, "sessions of one process")
        self._shares = tallies_of_client(quotas, user.tallies)

    def pacing(self, limits):
        """See driver.Client."""
        return LateWork(self.line, limits)

    def hold(self, what, descriptors=0, threads=0, mapped=0, memory=0):
        """Charges for resources about to be held for this client; they count until they are collected.

        what: name in the error message. Raises ResourceExhausted*, without counting anything.
        """
        charges = []
        for name, count in (("descriptors", descriptors), ("threads", threads), ("mapped", mapped)):
            if count:
                try:
                    charges.append(Charge(self._shares[name], count))
                except Full as full:
                    hint = f"{what} needs {count} more; release or close some first"
                    raise refuse(full.tally, hint, count) from None
        if memory:
            charges.append(self.budget.charge(memory, what))
        return charges

    def in_use(self, name):
        """Amount of "descriptors", "threads" or "mapped" that it holds."""
        return self._shares[name].used


def _quota(limit, words):
    return Tally(limit, f"the client's quota of {words}")


class Clients:
    """The processes that have sessions. Only the server's own thread uses it."""

    def __init__(self, quotas, capacity, budget, fair, turns):
        self._quotas, self._budget, self._fair, self._turns = quotas, budget, fair, turns
        self._totals = capacity.tallies()
        self._users, self._processes = WeakValueDictionary(), {}

    def in_use(self):
        """{"descriptors", "threads" or "mapped": (held for all clients, limit)}."""
        return {name: (tally.used, tally.limit) for name, tally in self._totals.items()}

    def find(self, peer):
        """The ClientProcess of a Peer, or None. Live processes are distinguished by pid."""
        found = self._processes.get((peer.pid, peer.uid))
        return found if found is not None and found.peer.is_alive else None

    def add(self, peer):
        """A new one, which takes over the Peer."""
        user = self._users.get(peer.uid)
        if user is None:
            user = self._users[peer.uid] = _User(peer.uid, self._totals)
        client = ClientProcess(peer, user, self._quotas, self._budget, self._fair, self._turns)
        self._processes[peer.pid, peer.uid] = client
        return client

    def forget(self, client):
        """It has no sessions any more."""
        if self._processes.get((client.pid, client.uid)) is client:
            del self._processes[client.pid, client.uid]
        client.peer.close()
