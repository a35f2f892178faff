"""Ways between two processes, timed in turns: rings, a bare futex, a pipe, a Unix socket, multiprocessing.Queue.

The message is a datum of 24 bytes [NN 4.2]. Everything but multiprocessing.Queue runs in native loops on both
sides, which check every message; each process stays on a processor of its own where there are two.
"""

import mmap
import os
import statistics
import time
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context, reduction
from types import SimpleNamespace

from .. import fmq
from .._native import bench
from ..errors import GeneralFailure

CAPACITY = 1024
"""Elements of a queue, as AOSP's clients take [NN 4.11]."""
BATCH = 32
"""Messages that are written, and read, in one call, where a row says so."""
BARE, PAIR = "two words and a futex", "ring, sleeping"
"""Rows whose round trips are compared."""
PAGE = 4096
_SECONDS = 120  # of one wait; a busy machine has much to do meanwhile
"""Longest wait for the other process."""


@dataclass(frozen=True)
class Way:
    """One row: what each side does, and how often in a block (0: not measured).

    ping(ends, n) and receive(ends, n) return nanoseconds; echo and send face them. A turn is `blocks` of them: the
    median of many short blocks is that of the undisturbed ones. `spins`: both sides keep a processor busy.
    """

    name: str
    ping: object
    echo: object
    trips: int
    send: object = None
    receive: object = None
    messages: int = 0
    spins: bool = False

    @property
    def blocks(self):
        """(of round trips, of messages) in a turn."""
        return (200, 40) if self.spins else (40, 8)


def _ring(name, wakes, spins, trips, batch=1, messages=0):
    return Way(name,
               lambda e, n: bench.ring_ping(e.out, e.come, n, wakes, spins),
               lambda e, n: bench.ring_echo(e.come, e.out, n, wakes, spins), trips,
               lambda e, n: bench.ring_send(e.out, n, batch, wakes),
               lambda e, n: bench.ring_receive(e.come, n, batch, wakes), messages, True if messages else spins)


def _file(name, which, trips, messages):
    def fds(ends):
        return getattr(ends, which)

    return Way(name,
               lambda e, n: bench.file_ping(fds(e)[1], fds(e)[0], n),
               lambda e, n: bench.file_echo(*fds(e), n), trips,
               lambda e, n: bench.file_send(fds(e)[1], n),
               lambda e, n: bench.file_receive(fds(e)[0], n), messages)


def _queue_ping(ends, count):
    start = time.perf_counter_ns()
    for i in range(count):
        ends.queues[1].put(i.to_bytes(24, "little"))
        _expect(ends.queues[0].get(timeout=_SECONDS), i)
    return time.perf_counter_ns() - start


def _queue_echo(ends, count):
    for _ in range(count):
        ends.queues[1].put(ends.queues[0].get(timeout=_SECONDS))


def _queue_send(ends, count):
    for i in range(count):
        ends.queues[1].put(i.to_bytes(24, "little"))


def _queue_receive(ends, count):
    start = 0
    for i in range(count):
        _expect(ends.queues[0].get(timeout=_SECONDS), i)
        start = start or time.perf_counter_ns()
    return time.perf_counter_ns() - start


def _expect(message, number):
    if message != number.to_bytes(24, "little"):
        raise GeneralFailure("benchmark: a message did not arrive as it was sent")


WAYS = (
    _ring("ring, spinning", False, True, 100, 1, 4 * CAPACITY),
    _ring("ring, spinning, waking", True, True, 100, 1, 4 * CAPACITY),
    _ring(f"ring, spinning, {BATCH} in a call", False, True, 0, BATCH, 16 * CAPACITY),
    _ring(PAIR, True, False, 10),
    Way(BARE, lambda e, n: bench.futex_ping(e.memory, n), lambda e, n: bench.futex_echo(e.memory, n), 10),
    _file("pipe", "pipes", 10, 5_000),
    _file("Unix socket", "sockets", 10, 1_000),
    Way("multiprocessing.Queue", _queue_ping, _queue_echo, 5, _queue_send, _queue_receive, 200),
)


class _Ends:
    """What one process holds of all ways; the native loops take what they need of it."""

    def __init__(self, queues, memory, pipes, socket, python_queues):
        self.held = queues, pipes, socket  # as long as the ends are in use
        self.come, self.out = (queue.ring for queue in queues)
        self.memory = mmap.mmap(memory, PAGE)
        self.pipes = tuple(pipe.fileno() for pipe in pipes)
        self.sockets = (socket.fileno(),) * 2
        self.queues = python_queues


def _memory():
    fd = os.memfd_create("nnfast_benchmark", os.MFD_CLOEXEC)
    os.ftruncate(fd, PAGE)
    return fd


def _peer(control, pipes, socket, python_queues, processor):
    """The other process: does its part of what it is told, until it is told nothing more."""
    if processor is not None:
        os.sched_setaffinity(0, [processor])
    fds = [reduction.recv_handle(control) for _ in range(3)]
    tables = control.recv()
    queues = [fmq.MessageQueue.attach(fmq.Descriptor.from_table(table, (fd,), fmq.DATUM_BYTES), fmq.REQUEST_DATUM)
              for table, fd in zip(tables, fds)]
    ends = _Ends(queues, fds[2], pipes, socket, python_queues)
    while (told := control.recv()) is not None:
        row, verb, count, blocks = told
        try:
            control.send([getattr(WAYS[row], verb)(ends, count) for _ in range(blocks)])
        except Exception as error:
            control.send(error)


@contextmanager
def _pair():
    """What this process holds, how it tells the other one what to do, and their processors."""
    context = get_context("spawn")
    processors = sorted(os.sched_getaffinity(0))
    pinned = processors[:2] if len(processors) > 1 else [None, None]
    here, there = context.Pipe()
    back, forth, (near, far) = context.Pipe(False), context.Pipe(False), context.Pipe()
    python_queues = [context.Queue(), context.Queue()]
    queues = [fmq.MessageQueue.create(fmq.REQUEST_DATUM, CAPACITY) for _ in range(2)]
    memory = _memory()
    process = context.Process(target=_peer, daemon=True,
                              args=(there, (forth[0], back[1]), far, python_queues[::-1], pinned[1]))
    process.start()
    try:
        there.close()
        for fd in (queues[1].descriptor.fds[0], queues[0].descriptor.fds[0], memory):
            reduction.send_handle(here, fd, process.pid)
        here.send([queues[1].descriptor.table(), queues[0].descriptor.table()])
        if pinned[0] is not None:
            os.sched_setaffinity(0, [pinned[0]])
        yield SimpleNamespace(ends=_Ends(queues, memory, (back[0], forth[1]), near, python_queues), control=here,
                              processors=pinned)
        here.send(None)
        process.join(_SECONDS)
    finally:
        os.sched_setaffinity(0, processors)
        process.kill()
        process.join()
        os.close(memory)


def _answer(control):
    if not control.poll(_SECONDS):
        raise GeneralFailure("benchmark: the other process does not answer")
    answer = control.recv()
    if isinstance(answer, Exception):
        raise answer
    return answer


def _round_trips(pair, row, blocks):
    """Microseconds of a round trip, block by block."""
    way = WAYS[row]
    pair.control.send((row, "echo", way.trips, blocks))
    spent = [way.ping(pair.ends, way.trips) for _ in range(blocks)]
    _answer(pair.control)
    return [1e-3 * ns / way.trips for ns in spent]


def _rates(pair, row, blocks):
    """Messages in a second, from this process to the other."""
    way = WAYS[row]
    pair.control.send((row, "receive", way.messages, blocks))
    for _ in range(blocks):
        way.send(pair.ends, way.messages)
    return [1e9 * way.messages / ns for ns in _answer(pair.control)]


def measure(turns=20, progress=None, only=None):
    """Time all ways in turns. Returns a plain document (`nnfast benchmark --rings --json`).

    turns: of each row; progress(done, total, note): called before each; only: names of WAYS to leave the others out.
    {"processors": of the two sides, or None, "capacity", "batch", "bytes", "futex_ratio": round trip of PAIR over that
     of BARE, None where one is left out, "rows": [{"way", "spins", "round_trip_us": summary or None, "one_way_us": half
     of its median, "messages_per_s": summary or None}]}; a summary is {"median", "low", "high", "blocks"}, low to high
    the middle half of the blocks. Rows that spin are left out where there is one processor.
    """
    trips, rates = ([[] for _ in WAYS] for _ in range(2))  # of each row, block by block
    with _pair() as pair:
        alone = pair.processors[0] is None
        rows = [row for row, way in enumerate(WAYS) if not (alone and way.spins) and (only is None or way.name in only)]
        for turn in range(turns + 1):  # the first does not count
            for place, row in enumerate(rows):
                way, blocks = WAYS[row], WAYS[row].blocks
                if progress is not None:
                    progress(turn * len(rows) + place, (turns + 1) * len(rows), way.name)
                found = (_round_trips(pair, row, blocks[0]) if way.trips else [],
                         _rates(pair, row, blocks[1]) if way.messages else [])
                if turn:
                    trips[row] += found[0]
                    rates[row] += found[1]
    rows = [_row(WAYS[row], trips[row], rates[row]) for row in rows]
    middle = {row["way"]: row["round_trip_us"]["median"] for row in rows if row["round_trip_us"]}
    return {"processors": None if alone else pair.processors, "capacity": CAPACITY, "batch": BATCH,
            "bytes": fmq.DATUM_BYTES, "rows": rows,
            "futex_ratio": middle[PAIR] / middle[BARE] if {PAIR, BARE} <= set(middle) else None}


def _row(way, trips, rates):
    trip = _summary(trips)
    return {"way": way.name, "spins": way.spins, "round_trip_us": trip, "one_way_us": trip and trip["median"] / 2,
            "messages_per_s": _summary(rates)}


def _summary(values):
    if not values:
        return None
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return {"median": middle, "low": low, "high": high, "blocks": len(values)}
