"""A driver's process (`nnfast serve`) under test: start and end it, look at what it holds."""

import os
import re
import signal
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from .. import connect
from ..checks import counted
from ..service.spawn import start

START_SECONDS = 30
SETTLE_SECONDS = 10
END_SECONDS = 60
REST_SECONDS = 0.5
GROWTH = 32 << 20
"""Bytes that the driver may keep: fragments and pools of threads, not leaks."""
SPARE_THREADS, SPARE_DESCRIPTORS = 16, 2
"""What it may keep: pools of threads grow with the need, and one of them sleeps at a descriptor."""


@dataclass(frozen=True)
class State:
    """What a process holds."""

    resident: int
    descriptors: int
    threads: int

    @classmethod
    def of(cls, pid):
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        return cls(pages * os.sysconf("SC_PAGE_SIZE"), len(os.listdir(f"/proc/{pid}/fd")),
                   len(os.listdir(f"/proc/{pid}/task")))

    def __str__(self):
        return f"{self.resident >> 20} MiB, {self.descriptors} descriptors, {counted(self.threads, 'thread')}"

    def problems(self, before):
        """What is more than before, in words; [] where nothing is."""
        return [text for text, wrong in (
            (f"memory grew from {before.resident >> 20} to {self.resident >> 20} MiB",
             self.resident > before.resident + GROWTH),
            (f"descriptors grew from {before.descriptors} to {self.descriptors}",
             self.descriptors > before.descriptors + SPARE_DESCRIPTORS),
            (f"threads grew from {before.threads} to {self.threads}",
             self.threads > before.threads + SPARE_THREADS)) if wrong]


class Driver:
    """A running driver's process. path: of its socket; pid; log: file with what it writes to its standard error."""

    def __init__(self, *options, patience=START_SECONDS):
        """options: of `nnfast serve`; patience: seconds until it must serve."""
        self._folder = tempfile.TemporaryDirectory()
        self.path, self._options, self._patience = os.path.join(self._folder.name, "nnfast.sock"), options, patience
        self.log = Path(self._folder.name) / "log"
        self.start()

    def start(self):
        """Start it, again after a kill."""
        with self.log.open("ab") as log:
            self._process = start(self.path, *map(str, self._options), stderr=log)
        connect(self.path, patience=self._patience).close()

    @property
    def pid(self):
        return self._process.pid

    def is_running(self):
        return self._process.poll() is None

    def state(self):
        return State.of(self.pid)

    def settled(self, before=None):
        """State once everybody has gone: as soon as it is back where it was, or after SETTLE_SECONDS."""
        until = time.monotonic() + SETTLE_SECONDS
        self.wait_for_clients(until)
        time.sleep(REST_SECONDS)
        while before is not None and self.state().problems(before) and time.monotonic() < until:
            time.sleep(0.05)
        return self.state()

    def wait_for_clients(self, until):
        """Wait until the driver knows of no client but the one that asks; whether it came to that."""
        with connect(self.path) as device:
            while (others := len(device.stats()["clients"]) > 1) and time.monotonic() < until:
                time.sleep(0.02)
        return not others

    def kill(self):
        """kill -9."""
        self._process.kill()
        self._process.wait()

    def end(self):
        """SIGTERM; its exit code."""
        if self.is_running():
            self._process.send_signal(signal.SIGTERM)
        return self._process.wait(END_SECONDS)

    def said(self):
        """Lines of its log that tell of an internal error."""
        return [line for line in self.log.read_text(errors="replace").splitlines()
                if re.search(r"internal error|Traceback|Error:|Exception", line)]

    def close(self):
        if self.is_running():
            self.kill()
        self._folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
