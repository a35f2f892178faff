"""`nnfast serve`: the driver as a process, for any number of clients (docs/service.md)."""

import errno
import fcntl
import os
import signal
import socket
import stat
import time
from contextlib import contextmanager

from .. import config
from ..errors import InvalidArgument
from .output import positive, seconds

FIRST_PASSED = 3
M_MMAP_THRESHOLD, LARGE_BLOCK = -3, 256 << 10
STACK_BYTES = 1 << 20
"""Of each thread: there is one for every call at a time."""

LOCK_SECONDS = 10
"""How long a process waits for others that make or remove a socket in the same folder."""

HEADROOM_BYTES = 1 << 30
"""What the interpreter, stacks of threads and temporaries may take beside --memory-limit."""


def add_arguments(parser):
    parser.add_argument("--socket", metavar="PATH", help="where to serve (default: NNFAST_SOCKET, else nnfast.sock in "
                        "XDG_RUNTIME_DIR); not used where systemd passes sockets")
    parser.add_argument("--threads", type=positive, metavar="N", help="threads per run (default: what affinity and "
                        "quota allow)")
    parser.add_argument("--memory-limit", type=positive, metavar="BYTES",
                        help="weights, working memory and buffers of all clients together (default: no limit)")
    parser.add_argument("--client-memory", type=positive, metavar="BYTES", help="the same of each client")
    parser.add_argument("--client-models", type=positive, metavar="N", help="prepared models of each client")
    parser.add_argument("--client-connections", type=positive, metavar="N", help="calls at a time of each client")
    parser.add_argument("--client-executions", type=positive, metavar="N",
                        help="executions of each client that run or wait at a time")
    parser.add_argument("--client-descriptors", type=positive, metavar="N",
                        help="descriptors held for each client (default: its share of what the process may open)")
    parser.add_argument("--client-mapped", type=positive, metavar="BYTES",
                        help="files of each client in the driver's address space")
    parser.add_argument("--extensions", metavar="FILE", help="which executable may use which vendor extensions "
                        "(default: all may use all that are installed)")
    parser.add_argument("--drain", type=seconds, default=30.0, metavar="SECONDS",
                        help="time that running calls get at a shutdown (default 30)")
    parser.add_argument("--exit-idle", type=seconds, metavar="SECONDS", help="end after so long without clients")


def main(args):
    from .._native.threads import MAX_THREADS, default_threads
    from ..extensions import load_installed
    from ..service.server.allowlist import Allowlist
    from ..service.server.quotas import Quotas
    from ..service.server.server import Options, Server

    threads = args.threads or default_threads()
    if threads > MAX_THREADS:
        raise InvalidArgument(f"threads: is {threads}, must be at most {MAX_THREADS}")
    given = {"memory": args.client_memory, "models": args.client_models, "connections": args.client_connections,
             "executions": args.client_executions, "descriptors": args.client_descriptors,
             "mapped": args.client_mapped}
    quotas = Quotas(**{name: value for name, value in given.items() if value is not None})
    allowlist = Allowlist.read(args.extensions) if args.extensions else Allowlist()
    load_installed()
    options = Options(threads, args.memory_limit, quotas, allowlist, args.drain, args.exit_idle)
    path, listeners = None, passed_sockets()
    if not listeners:
        path = args.socket or config.socket_path()
        listeners = [listen(path)]
    prepare_process(args.memory_limit)
    server = Server(listeners, options)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: server.stop())
    server.sweeper.collect_garbage()
    mark = path and os.stat(path)
    try:
        server.serve()
    finally:
        remove(path, mark)
    return 0


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


def listen(path):
    """A listening socket at `path`, for this user alone. One that nobody serves at any more is replaced.

    Raises InvalidArgument where somebody serves already, something else is in the way, or the folder does not exist.
    Only nnfast's own folder is made where it does not.
    """
    folder = os.path.dirname(path) or "."
    if folder == config.cache_folder():
        os.makedirs(folder, mode=0o700, exist_ok=True)
    elif not os.path.isdir(folder):
        raise InvalidArgument(f"{path}: folder {folder} does not exist")
    with _alone_in(folder):
        _clear(path)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
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


def _clear(path):
    """Remove a socket that nobody listens at."""
    try:
        kind = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(kind):
        raise InvalidArgument(f"{path}: exists and is not a socket")
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as probe:
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


def prepare_process(memory_limit):
    """Many clients need many descriptors, and short turns of the interpreter.

    Results of shapes that only an execution knows are beyond all budgets. So that no client can make the system end
    this process for the memory it takes, its private memory has a limit: what is too much is RESOURCE_EXHAUSTED.
    """
    import ctypes
    import resource
    import sys
    import threading

    low, high = resource.getrlimit(resource.RLIMIT_NOFILE)
    if low < high:
        resource.setrlimit(resource.RLIMIT_NOFILE, (high, high))
    sys.setswitchinterval(0.0005)
    try:
        # Else glibc keeps blocks, in the arena of every thread, as large as the largest that was ever freed.
        ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK)
    except (OSError, AttributeError):
        pass  # another C library, with habits of its own
    threading.stack_size(STACK_BYTES)
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    most = physical // 8 * 7 if memory_limit is None else 2 * memory_limit + HEADROOM_BYTES
    low, high = resource.getrlimit(resource.RLIMIT_DATA)
    if high == resource.RLIM_INFINITY or most < high:
        resource.setrlimit(resource.RLIMIT_DATA, (most, high))


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
