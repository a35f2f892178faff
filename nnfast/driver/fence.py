"""Sync fences [NN 3.9]: what a fenced execution waits for and signals.

A fence is one end of a socket pair, which any process can poll. The other end never leaves the process that signals the
fence. A poll shows the state, as for a sync file of the kernel:

| state | poll for POLLIN gives |
| --- | --- |
| active | nothing |
| signalled | POLLIN; with POLLHUP once the process that signalled it has closed its end |
| error | POLLERR (besides POLLIN and POLLHUP, which sockets add) |

How it works: the end handed out has sent one byte. If the other end is closed, explicitly or because the process dies,
while that byte is unread, the kernel reports a reset connection, which is the error state. To signal success, the other
end sends a byte and then reads the one it got. It is shut down for reading from the start, so that holders cannot send
it anything; it never blocks, and flags that holders set on their end do not affect it.
"""

from __future__ import annotations

import errno
import os
import re
import select
import socket
import weakref

from .._native.threads import now_ns
from ..checks import is_number, shown
from ..errors import GeneralFailure, InvalidArgument, ResourceExhaustedTransient

ACTIVE, SIGNALED, ERROR, UNKNOWN = "active", "signaled", "error", "unknown"
_LONGEST_MS, _LONGEST_SECONDS = 60_000, 1e9
_KINDS = re.compile(r"socket:|pipe:|anon_inode:(sync_file|\[(eventfd|timerfd)\])")
_NOW = socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL
_made = weakref.WeakSet()


class Descriptor:
    """An open file descriptor, closed when its last reference goes.

    Waiters hold this rather than the Fence, so that the Fence itself can still be dropped.
    """

    __slots__ = ("fd",)

    def __init__(self, fd: int = -1) -> None:
        self.fd = fd

    def fileno(self) -> int:
        """The descriptor's number; -1 once it was given away."""
        return self.fd

    def __del__(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)


class Fence:
    """A sync fence: starts active, and is signalled once, with success or error, by the process that made it.

    If its maker drops it unsignalled, or dies, it goes to the error state.

        execution = prepared.execute_fenced(request)
        execution.fence.wait(timeout=1.0)            # "signaled", "error", or still "active"
    """

    __slots__ = ("descriptor", "_end", "_inode", "_claim", "__weakref__")
    descriptor: Descriptor

    def __init__(self) -> None:
        self.descriptor, self._end, self._inode, self._claim = Descriptor(), -1, 0, [True]
        try:
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        except OSError as error:
            raise ResourceExhaustedTransient(f"fence: no descriptors can be opened: {error.strerror}") from None
        theirs.send(b"?", _NOW)
        ours.shutdown(socket.SHUT_RD)
        self.descriptor.fd, self._end = theirs.detach(), ours.detach()
        self._inode = os.fstat(self._end).st_ino
        _made.add(self)

    @classmethod
    def from_fd(cls, fd: int) -> Fence:
        """A fence to wait for, over a duplicate of a file descriptor.

        fd: of a Fence, sync file, eventfd, timerfd, pipe or socket. The fence is signalled when fd polls POLLIN, and in
        error when it polls POLLERR, or POLLHUP alone. Raises InvalidArgument for anything else: polling a file of a
        FUSE file system, for example, may run foreign code and never return.
        """
        self = cls.__new__(cls)
        self.descriptor, self._end, self._inode, self._claim = Descriptor(), -1, 0, None
        try:
            self.descriptor.fd = os.dup(fd)
            kind = os.readlink(f"/proc/self/fd/{self.fileno()}")
        except (OSError, TypeError, OverflowError) as error:
            if getattr(error, "errno", errno.EBADF) != errno.EBADF:
                raise GeneralFailure(f"fence: descriptor {fd} cannot be copied: {error.strerror}") from None
            raise InvalidArgument(f"fence: {shown(fd)} is not an open file descriptor: {error}") from None
        if not _KINDS.match(kind):
            raise InvalidArgument(f"fence: descriptor {fd} is {kind[:200]!r}, must be a fence, sync file, eventfd, "
                                  f"timerfd, pipe or socket")
        return self

    def fileno(self) -> int:
        """The descriptor, for select and poll; the fence keeps ownership."""
        return self.descriptor.fd

    def hand_over(self) -> int:
        """Pass ownership of the descriptor to the caller; this object can then only signal the fence."""
        fd, self.descriptor.fd = self.descriptor.fd, -1
        return fd

    @property
    def state(self) -> str:
        """"active", "signaled", "error" or "unknown" (not a descriptor that can be polled)."""
        return self._poll(0)

    def wait(self, timeout: float | None = None) -> str:
        """Wait at most `timeout` seconds (None: forever) until the fence is no longer active; returns the state."""
        if timeout is not None and not is_number(timeout):
            raise InvalidArgument(f"fence: timeout is {shown(timeout)}, must be seconds or None")
        end = None if timeout is None else now_ns() + int(max(0.0, min(timeout, _LONGEST_SECONDS)) * 1e9)
        while True:
            left = _LONGEST_MS if end is None else max(0.0, (end - now_ns()) / 1e6)
            state = self._poll(min(left, _LONGEST_MS))
            if state != ACTIVE or left == 0:
                return state

    def signal(self) -> None:
        """Signal success. No effect if the fence was signalled before. Raises InvalidArgument if made elsewhere."""
        if not self._is_first():
            return
        ours = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, self._end)
        try:
            ours.send(b"!", _NOW)
            ours.recv(1, _NOW)
        except OSError:
            pass  # whoever held the fence has closed it or shut it down
        finally:
            ours.detach()  # stays open until the fence goes: closing it would add POLLHUP

    def fail(self) -> None:
        """Signal an error."""
        if self._is_first():
            os.close(self._end)
            self._end = -1

    def _is_first(self):
        """True for the first caller only."""
        if self._claim is None:
            if self.state == ACTIVE:
                raise InvalidArgument(f"fence: descriptor {self.fileno()} was made elsewhere; only its maker can "
                                      "signal it")
            return False
        try:
            return self._claim.pop()
        except IndexError:
            return False

    def _poll(self, milliseconds):
        if self.fileno() < 0:
            return UNKNOWN
        poller = select.poll()
        poller.register(self.fileno(), select.POLLIN)
        events = poller.poll(milliseconds)
        return state_of(events[0][1]) if events else ACTIVE

    def _abandon(self):
        """Close the signalling end in a forked child: an open copy would hide that the parent closes its own."""
        self._claim = None
        try:
            if os.fstat(self._end).st_ino == self._inode:  # else the parent closed it just before the fork
                os.close(self._end)
        except OSError:
            pass  # it is closed
        self._end = -1

    def __del__(self) -> None:
        if self._end >= 0:
            os.close(self._end)

    def __repr__(self) -> str:
        return f"<Fence {self.fileno()} {self.state}>"


def state_of(events):
    """The state of a fence from the events of a poll for POLLIN."""
    if events & select.POLLNVAL:
        return UNKNOWN
    if events & select.POLLERR:
        return ERROR
    if events & select.POLLIN:
        return SIGNALED
    return ERROR if events else ACTIVE  # POLLHUP alone: nobody is left to signal it


def check_fences(fences):
    """Raise InvalidArgument for anything but fences, and for fences in error already [NN 3.9]."""
    for place, fence in enumerate(fences):
        if not isinstance(fence, Fence):
            raise InvalidArgument(f"wait_for[{place}]: is {type(fence).__name__}, must be a nnfast.Fence")
        if fence.state in (ERROR, UNKNOWN):
            raise InvalidArgument(f"wait_for[{place}]: the fence is in the state {fence.state}; nothing will signal "
                                  f"it")


def _after_fork():
    for fence in list(_made):
        fence._abandon()


os.register_at_fork(after_in_child=_after_fork)
