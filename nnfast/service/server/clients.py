"""Who uses the driver: processes of users.

A client is one process, however many sessions it opens: they share its quotas, its fair share of the cores and its
priorities. Processes of one user share what that user may have. A process is known by a pidfd, so that another one that
gets the same number later is another client.
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
    """Who is at the other end of a socket: process (0 where it cannot be told, in another namespace), user, pidfd.

    Raises DeviceUnavailable when that process has gone. `close` when it is not needed any more.
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
        """The path of what the process runs now, "" where it cannot be told.

        A process in a mount namespace of its own may call any file by any name, so that its paths say nothing. The file
        itself is not looked at: its file system may be the client's own, and never answer.
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
        return os.pidfd_open(pid)  # before Linux 6.5; the number may be another process's if that one has ended
    except OSError as error:
        raise _unknown(pid, error) from None


def _unknown(pid, error):
    return DeviceUnavailable(f"service: process {pid}, which connected, cannot be told from others: {error.strerror}; "
                             f"connect from a process that lives")


class _User:
    """What all processes of one user share."""

    def __init__(self, uid, totals):
        self.tallies = tallies_of_user(uid, totals)


class ClientProcess(Client):
    """One process that uses the driver, and what it may use. sessions: those that are open; line: where its calls that
    do long work wait for one another (turns.py).
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
        """Charges of what is about to be held for this client, which count until the last reference to them goes.

        what: for the refusal. Raises ResourceExhausted*, and counts nothing then.
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
        """How much it holds of "descriptors", "threads" or "mapped"."""
        return self._shares[name].used


def _quota(limit, words):
    return Tally(limit, f"the client's quota of {words}")


class Clients:
    """The processes that have sessions. Used by the server's own thread alone."""

    def __init__(self, quotas, capacity, budget, fair, turns):
        self._quotas, self._budget, self._fair, self._turns = quotas, budget, fair, turns
        self._totals = capacity.tallies()
        self._users, self._processes = WeakValueDictionary(), {}

    def in_use(self):
        """{"descriptors", "threads" or "mapped": (how much is held for all of them, how much may be)}."""
        return {name: (tally.used, tally.limit) for name, tally in self._totals.items()}

    def find(self, peer):
        """The ClientProcess of a Peer, or None. Two processes that live have not the same number."""
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
