"""Worker processes that work through tasks, so that a crash costs one entry and all cores work.

A task is (head, entries): what its entries share, as a file, and a list of (key, ticket). The worker gets the head and
the tickets; its messages are ("start", ...) before each, ("result", *content) after it, ("idle", marks) at the end of
the task and ("error", text), which ends everything. The key is what `finished` gets back.
"""

import os
import signal
import subprocess
import sys
import time
from collections import deque
from multiprocessing import Pipe
from multiprocessing.connection import wait

from ..errors import GeneralFailure, InvalidArgument

START_SECONDS = 120.0
"""A worker that takes longer to begin an entry (to start, to make its device, to read its file) is stopped."""

# Workers leave interrupts from the keyboard to the pool, which ends them.
_BOOT = """
import importlib, json, signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
handle, module, arguments, *sys.path = sys.argv[1:]
importlib.import_module(module).main(int(handle), *json.loads(arguments))
"""


class _Worker:
    """One worker process and the task it is on."""

    def __init__(self, boot, head, entries):
        self.connection, other = Pipe()
        command = [sys.executable, "-c", _BOOT, str(other.fileno()), *boot, *map(os.path.abspath, sys.path)]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=[other.fileno()])
        other.close()
        self.started, self.last = False, None
        self.give(head, entries)

    def give(self, head, entries):
        self.head, self.entries, self.since = head, deque(entries), time.monotonic()
        try:
            self.connection.send((head, [ticket for _, ticket in entries]))
        except (BrokenPipeError, ConnectionResetError):
            pass  # it died; waiting on the connection shows that

    def end(self):
        """Kill and reap."""
        self.process.kill()
        self.process.wait()
        self.connection.close()

    def death(self):
        """How the process ended, in words."""
        try:
            code = self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            return "it closed its connection"
        if code < 0:
            return f"killed by {signal.Signals(-code).name}"
        return f"exit code {code}"


class Pool:
    """Keeps the workers busy until all tasks are done.

    module, arguments: the worker's `main(handle, *arguments)` and what it gets besides, as JSON text. finished(key,
    *content): takes a result; died(key, text): an entry whose worker died, or that came before a death between two.
    seconds(key): how long an entry may take; what: what an entry is, in messages; idle(marks): of a finished task.
    """

    def __init__(self, tasks, jobs, module, arguments, finished, died, seconds, what="test", idle=None):
        self.tasks, self.jobs, self.boot = deque(tasks), jobs, (module, arguments)
        self.finished, self.died, self.seconds, self.what, self.idle = finished, died, seconds, what, idle
        self.workers = {}

    def run(self):
        try:
            while self.tasks and len(self.workers) < self.jobs:
                self._hire(*self.tasks.popleft())
            while self.workers:
                ready = wait(list(self.workers), timeout=1.0)
                for connection in ready:
                    self._receive(self.workers[connection])
                self._stop_slow(set(self.workers) - set(ready))
        finally:
            for worker in self.workers.values():
                worker.end()

    def _hire(self, head, entries):
        worker = _Worker(self.boot, head, entries)
        self.workers[worker.connection] = worker

    def _receive(self, worker):
        try:
            message, *content = worker.connection.recv()
        except (EOFError, ConnectionResetError):
            self._replace(worker, worker.death())
            return
        if message == "start":
            worker.started, worker.since = True, time.monotonic()
        elif message == "result":
            self.finished(self._next(worker), *content)
        elif message == "error":
            raise InvalidArgument(content[0])
        else:
            if self.idle is not None:
                self.idle(content[0])
            if self.tasks:
                worker.give(*self.tasks.popleft())
            else:
                self._dismiss(worker)

    @staticmethod
    def _next(worker):
        """The key of the entry that the worker is through with."""
        key, _ = worker.entries.popleft()
        worker.started, worker.last, worker.since = False, key, time.monotonic()
        return key

    def _replace(self, worker, how):
        """The worker died: that is the failure of the entry it was on; another one takes the rest of its task."""
        if worker.started:
            self.died(self._next(worker), f"the process died during this {self.what}: {how}")
        elif worker.last is not None:
            self.died(worker.last, f"the process died after this {self.what}: {how}")
        else:
            raise GeneralFailure(f"a conformance worker ended before its first {self.what}, of {worker.head}: {how}")
        self._dismiss(worker)
        if worker.entries:
            self._hire(worker.head, worker.entries)
        elif self.tasks:
            self._hire(*self.tasks.popleft())

    def _dismiss(self, worker):
        del self.workers[worker.connection]
        worker.end()

    def _stop_slow(self, silent):
        for connection in silent:
            worker = self.workers.get(connection)
            if not worker:
                continue
            limit = self.seconds(worker.entries[0][0]) if worker.started else START_SECONDS
            if time.monotonic() - worker.since > limit:
                worker.process.kill()
                self._replace(worker, f"stopped after {limit:.0f} s without an answer")
