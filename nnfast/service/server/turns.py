"""The turn to do long work in Python: one call at a time, shared fairly between clients.

Threads in Python code compete for the GIL, so each further one delays all others. So a call that checks, plans or reads
a model must hold the turn, of which there is one. Between two steps (nnfast.pace) it passes the turn on if a client
that has used less time waits. Short calls take no turn: they compete with at most one busy thread, however many
connections send long calls.

A client has one place in the queue, however many connections it has: `Line` orders its own calls. Executions in Python
(loops, or shapes that depend on data) take the turn once they have run for a slice of it; those of one client share it.
"""

import heapq
import threading
import time
from contextlib import contextmanager
from itertools import count

from ... import pace
from ..._native.threads import Cancel, Turn, now_ns
from ...errors import Cancelled, MissedDeadlineTransient
from ...forks import renewed

SLICE_NS = 2_000_000
"""Time after which the holder of the turn checks whether another client should have it."""

GRACE_NS = 10_000_000
"""A holder without a step for this long must be in native code, which needs no turn: another call gets it meanwhile."""

LOOK_SECONDS = 0.25
"""How often a waiting call checks whether its client is gone."""


class _Place:
    """The place of one waiting call: `given` can be acquired once the call may go on."""

    def __init__(self):
        self.given = renewed(threading.Lock())
        self.given.acquire()

    def wait(self, work, patience):
        """True once the call may go on, False after `patience` seconds. Raises if the work must stop."""
        end = time.monotonic() + patience
        while True:
            left = end - time.monotonic()
            if self.given.acquire(timeout=max(0.0, min(left, LOOK_SECONDS, work.seconds_left))):
                return True
            work.check()
            if left <= 0:
                return False


class Turns:
    """The turn itself. One call holds it; a holder without steps for a while loses it to a waiting one."""

    def __init__(self):
        self._lock = renewed(threading.Lock())
        self._holder, self._outside, self._waiting = None, set(), {}  # outside: have lost it, and go on in native code
        self._floor_ns = 0  # least time used by any client: idle clients do not accumulate credit

    def line(self, gate):
        """A Line for a new client. gate: its gate for executions."""
        return Line(self, gate)

    def enter(self, work):
        """Wait for the turn. Raises if the work must stop."""
        with self._lock:
            self._raise_floor()
            for line in work.lines:
                line.share_ns = max(line.share_ns, self._floor_ns)
            if self._holder is None and not self._waiting:
                self._give(work)
                return
            place = self._waiting[work] = _Place()
            self._let_in()
        try:
            while not place.wait(work, GRACE_NS / 1e9):
                self._pass_by_silent()
        except BaseException:
            with self._lock:
                self._waiting.pop(work, None)
            self.leave(work)
            raise

    def leave(self, work):
        """Return the turn, if this work has it."""
        with self._lock:
            if self._holder is work:
                self._holder = None
            elif work in self._outside:
                self._outside.remove(work)
            else:
                return
            payer = min(work.lines, key=_share)
            payer.share_ns += now_ns() - work.began_ns
            if self._holder is None and not self._waiting:
                self._floor_ns = max(self._floor_ns, payer.share_ns)
            self._let_in()

    def is_due(self, work):
        """True if a work, at one of its steps, has lost the turn or should pass it on."""
        if self._holder is not work:
            return work in self._outside
        work.seen_ns = now_ns()
        spent_ns = work.seen_ns - work.began_ns
        if spent_ns < SLICE_NS or not self._waiting:
            return False
        with self._lock:
            return any(_claim(other) < _claim(work) + spent_ns for other in self._waiting)

    @property
    def waiting(self):
        """Number of calls waiting for the turn, at most one per client."""
        return len(self._waiting)

    def _pass_by_silent(self):
        """Pass the turn on if its holder has made no step for a while; the holder waits again at its next step."""
        with self._lock:
            if self._holder is not None and now_ns() - self._holder.seen_ns >= GRACE_NS:
                self._outside.add(self._holder)
                self._holder = None
            self._let_in()

    def _raise_floor(self):
        used = list(map(_claim, self._waiting))
        if self._holder is not None:
            used.append(_claim(self._holder) + now_ns() - self._holder.began_ns)
        if used:
            self._floor_ns = max(self._floor_ns, min(used))

    def _let_in(self):
        if self._waiting and self._holder is None:
            work = min(self._waiting, key=_claim)
            self._give(work)
            self._waiting.pop(work).given.release()

    def _give(self, work):
        self._holder = work
        work.began_ns = work.seen_ns = now_ns()


class Line:
    """The calls of one client with long work: one at a time, by priority, then in order of arrival."""

    def __init__(self, turns, gate):
        self.turns, self.share_ns, self.core = turns, 0, Turn(gate, 1)
        self.lock, self._busy, self._waiting, self._order = renewed(threading.Lock()), False, [], count()

    def enter(self, work):
        """Wait until no other call of the client works. Raises if the work must stop."""
        with self.lock:
            if not self._busy:
                self._busy = True
                return
            place = _Place()
            entry = -work.priority, next(self._order), place
            heapq.heappush(self._waiting, entry)
        try:
            while not place.wait(work, LOOK_SECONDS):
                pass
        except BaseException:
            with self.lock:
                waits = entry in self._waiting
                if waits:
                    self._waiting.remove(entry)
                    heapq.heapify(self._waiting)
            if not waits:
                self.leave()
            raise

    def leave(self):
        """Let the client's next call work: this one is over, or steps aside."""
        with self.lock:
            if self._waiting:
                heapq.heappop(self._waiting)[2].given.release()
            else:
                self._busy = False


class Work:
    """`with Work(...):` the long work of one call, which holds its client's turn.

    line: of the client; priority: 0 (low) to 2 (high) among its own calls; deadline_ns: 0 for none. cancel: set it to
    stop the work at its next step, which raises Cancelled then.
    """

    def __init__(self, line, priority=1, deadline_ns=0):
        self.cancel, self.priority, self.lines = Cancel(), priority, [line]
        self._line, self._turns, self._deadline_ns = line, line.turns, deadline_ns
        self._in_line, self.began_ns, self.seen_ns = False, 0, 0
        self._core = line.core.use(deadline_ns, self.cancel)

    def __enter__(self):
        self._go_in()
        self._outer = pace.set_pace(self._step)
        return self

    def __exit__(self, *error):
        pace.set_pace(self._outer)
        self._go_out()

    @property
    def seconds_left(self):
        """Seconds until the deadline; forever without one."""
        return (self._deadline_ns - now_ns()) / 1e9 if self._deadline_ns else float("inf")

    def check(self):
        """Raise if the work must stop."""
        if self.cancel.is_set:
            raise Cancelled("service: the call was cancelled: the client has gone, or the driver shuts down")
        if self.seconds_left <= 0:
            raise MissedDeadlineTransient("service: the deadline passed before the work was done; allow more time")

    @contextmanager
    def aside(self):
        """`with work.aside():` let others work while this call waits for something."""
        self._go_out()
        try:
            yield
        finally:
            self._go_in()

    @contextmanager
    def helped(self, other):
        """`with work.helped(other):` also use the turns of another client's work, which waits for this one."""
        with self._line.lock:
            self.lines = [*self.lines, *other.lines]
        try:
            yield
        finally:
            with self._line.lock:
                lines = list(self.lines)
                for line in other.lines:
                    lines.remove(line)
                self.lines = lines

    def _go_in(self):
        self._line.enter(self)
        self._in_line = True
        try:
            self._turns.enter(self)
        except BaseException:
            self._go_out()
            raise
        self._core.__enter__()

    def _go_out(self):
        self._core.__exit__()
        self._turns.leave(self)
        if self._in_line:
            self._in_line = False
            self._line.leave()

    def _step(self):
        if self.cancel.is_set or self._deadline_ns:
            self.check()
        if self._turns.is_due(self) or self._core.is_due:
            self._core.__exit__()
            self._turns.leave(self)
            self._turns.enter(self)
            self._core.__enter__()


class LateWork(Work):
    """`with LateWork(...):` an execution in Python, which takes the turn once it has run for a slice.

    limits: driver.execution.Limits.
    """

    def __init__(self, line, limits):
        super().__init__(line, deadline_ns=limits.deadline_ns)
        self._flag = limits.cancel

    def __enter__(self):
        self._is_in, self._due_ns = False, now_ns() + SLICE_NS
        self._outer = pace.set_pace(self._step)
        return self

    def __exit__(self, *error):
        pace.set_pace(self._outer)
        self._turns.leave(self)

    def check(self):
        if self._flag is not None and self._flag.is_set:
            self.cancel.set()
        super().check()

    def _step(self):
        if self._is_in:
            self.check()
            if self._turns.is_due(self):
                self._turns.leave(self)
                self._turns.enter(self)
        elif now_ns() >= self._due_ns:
            self._is_in = True
            self._turns.enter(self)


def _share(line):
    return line.share_ns


def _claim(work):
    return min(line.share_ns for line in work.lines)
