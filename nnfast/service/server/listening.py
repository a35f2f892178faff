"""The sockets at which a driver's process serves: made anew, or passed by systemd."""

import errno
import fcntl
import os
import socket
import stat
import time
from contextlib import contextmanager, suppress

from ... import config
from ...errors import InvalidArgument

FIRST_PASSED = 3
LOCK_SECONDS = 10
"""How long a process waits for others that make or remove a socket in the same folder."""


def passed_sockets():
    """The listening sockets that systemd has passed, if any (sd_listen_fds)."""
    listeners = []
    for fd in range(FIRST_PASSED, FIRST_PASSED + config.passed_listeners()):
        listener = socket.socket(fileno=fd)
        if listener.family != socket.AF_UNIX or listener.type != socket.SOCK_SEQPACKET:
            raise InvalidArgument(f"descriptor {fd}: is not a SOCK_SEQPACKET Unix socket; use ListenSequentialPacket=")
        os.set_inheritable(fd, False)
        listeners.append(listener)
    return listeners


def tell_systemd(state):
    """Tell systemd, if it has started this process and asks for it, as sd_notify does: "READY=1", "STOPPING=1"."""
    address = config.notify_address()
    if address is not None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sock, suppress(OSError):
            sock.setblocking(False)
            sock.sendto(state.encode(), address)


def listen(path, kind=socket.SOCK_SEQPACKET):
    """A listening socket of a kind at `path`, for this user alone. One that nobody serves at any more is replaced.

    Raises InvalidArgument where somebody serves already, something else is in the way, or the folder does not exist.
    Only nnfast's own folder is made where it does not.
    """
    folder = os.path.dirname(path) or "."
    if folder == config.cache_folder():
        os.makedirs(folder, mode=0o700, exist_ok=True)
    elif not os.path.isdir(folder):
        raise InvalidArgument(f"{path}: folder {folder} does not exist")
    with _alone_in(folder):
        _clear(path, kind)
        listener = socket.socket(socket.AF_UNIX, kind)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)  # each message tells who has sent it
        before = os.umask(0o177)
        try:
            listener.bind(path)
            listener.listen(128)
        except OSError as error:
            listener.close()
            if error.errno == errno.EADDRINUSE:
                raise InvalidArgument(f"{path}: another driver's process serves there already") from None
            raise InvalidArgument(f"{path}: cannot be served at: {error.strerror or error}") from None
        finally:
            os.umask(before)
    return listener


@contextmanager
def _alone_in(folder):
    """No other driver's process makes or removes a socket in the folder during the block.

    Looking at a socket, removing it and binding in its place are three steps, and so are binding and listening: a
    second process between them would take a socket for abandoned that is about to serve.
    """
    try:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise InvalidArgument(f"{folder}: the folder of the socket cannot be locked: {error.strerror}") from None
    try:
        end = time.monotonic() + LOCK_SECONDS
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    raise InvalidArgument(f"{folder}: somebody has held the lock of the folder for {LOCK_SECONDS} s; "
                                          f"serve in a folder of your own") from None
                time.sleep(0.01)
            except OSError:
                break  # a file system without locks: as good as it gets there
        yield
    finally:
        os.close(fd)


def _clear(path, kind):
    """Remove a socket that nobody listens at."""
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise InvalidArgument(f"{path}: exists and is not a socket")
    with socket.socket(socket.AF_UNIX, kind) as probe:
        probe.setblocking(False)  # a process that is stopped may have a full queue
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            os.unlink(path)
            return
        except BlockingIOError:
            pass
        except OSError as error:
            raise InvalidArgument(f"{path}: somebody else's socket is in the way: {error.strerror}") from None
    raise InvalidArgument(f"{path}: another driver's process serves there already")


def remove(path, mark):
    """Take the socket away, if it is still ours."""
    if path is None:
        return
    try:
        with _alone_in(os.path.dirname(path) or "."):
            now = os.lstat(path)
            if (now.st_dev, now.st_ino) == (mark.st_dev, mark.st_ino):
                os.unlink(path)
    except (OSError, InvalidArgument):
        pass  # it is gone, or it stays as a socket that nobody serves at
