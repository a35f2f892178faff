"""`nnfast serve`: the driver as a process, for any number of clients (docs/service.md)."""

import logging
import os
import signal
import socket

from .. import config
from ..errors import InvalidArgument
from .output import positive, seconds
from .service_log import FORMATS, LEVELS, set_up

log = logging.getLogger("nnfast.service")
M_MMAP_THRESHOLD, LARGE_BLOCK = -3, 256 << 10
STACK_BYTES = 1 << 20
"""Of each thread: there is one for every call at a time."""

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
    parser.add_argument("--metrics", metavar="ADDRESS", help="serve figures for Prometheus at http://ADDRESS/metrics: "
                        "[HOST:]PORT (default host: 127.0.0.1), or the path of a Unix socket, with a /")
    parser.add_argument("--log-format", choices=FORMATS, default="text", help="of the lines on stderr (default text)")
    parser.add_argument("--log-level", choices=LEVELS, default="warning", help="least level of the lines on stderr: "
                        "info adds sessions and refusals (default warning; NNFAST_VLOG adds lines by tag)")
    parser.add_argument("--drain", type=seconds, default=30.0, metavar="SECONDS",
                        help="time that running calls get at a shutdown (default 30)")
    parser.add_argument("--exit-idle", type=seconds, metavar="SECONDS", help="end after so long without clients")


def main(args):
    from .._native.threads import MAX_THREADS, default_threads
    from ..extensions import load_installed
    from ..service.server.allowlist import Allowlist
    from ..service.server.listening import listen, passed_sockets, remove, tell_systemd
    from ..service.server.metrics import Metrics, listener_at
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
    page = listener_at(args.metrics) if args.metrics else None
    if not listeners:
        path = args.socket or config.socket_path()
        listeners = [listen(path)]
    prepare_process(args.memory_limit)
    lines = set_up(args.log_format, args.log_level)
    server = Server(listeners, options)
    metrics = Metrics(server, page) if page else None
    signals, tell = socket.socketpair()
    tell.setblocking(False)
    signal.set_wakeup_fd(tell.fileno(), warn_on_full_buffer=False)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: server.stop())
    server.sweeper.collect_garbage()
    mark = path and os.stat(path)
    log.info("serving at %s, %d thread%s", path or "the sockets of systemd", threads, "" if threads == 1 else "s")
    if metrics:
        metrics.start()
        log.info("metrics at %s", metrics.address)
    tell_systemd("READY=1")
    try:
        server.serve(stopping=lambda: tell_systemd("STOPPING=1"), signals=signals)
    finally:
        signal.set_wakeup_fd(-1)
        signals.close()
        tell.close()
        if metrics:
            metrics.stop()
        remove(path, mark)
        log.info("served %d session%s", server.opened, "" if server.opened == 1 else "s")
        lines.finish()
    return 0


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
    page = os.sysconf("SC_PAGE_SIZE")
    most = page * os.sysconf("SC_PHYS_PAGES") // 8 * 7 if memory_limit is None else 2 * memory_limit + HEADROOM_BYTES
    with open("/proc/self/statm") as file:
        held = page * int(file.read().split()[5])  # more than any machine has where a sanitizer keeps shadows of memory
    low, high = resource.getrlimit(resource.RLIMIT_DATA)
    if held < most and (high == resource.RLIM_INFINITY or most < high):
        resource.setrlimit(resource.RLIMIT_DATA, (most, high))
