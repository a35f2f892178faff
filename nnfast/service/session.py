"""One client of the server: what it holds, what it may use, what it does now. All of it goes when the client goes."""

import os
import secrets
import threading
import time

from .._native.plan import Cancel
from .._native.threads import Turn, now_ns
from ..driver.buffers import Buffer
from ..driver.device import Device, check_options
from ..driver.durations import deadline_to_ns
from ..driver.execution import PRIORITIES
from ..errors import Cancelled, InvalidArgument
from .histogram import Histogram
from .quotas import ClientBudget, refuse

KINDS = {"prepared": "prepared model", "buffer": "buffer", "memory": "memory", "fenced": "fenced execution",
         "stream": "stream", "load": "checked cache", "burst": "burst"}
KEY_BYTES = 16
MAX_EARLY = 1024
"""Cancels kept for calls that have not begun."""

QUICK_NS = 5_000_000
"""An execution that takes less is not stopped when its client goes: it takes the short way, which looks at no flag."""


class Peer:
    """Who is at the other end of a socket: process, user, executable ("" where it cannot be told)."""

    def __init__(self, pid, uid, gid):
        self.pid, self.uid, self.gid = pid, uid, gid
        try:
            self.executable = os.readlink(f"/proc/{pid}/exe")
        except OSError:
            self.executable = ""


class Held:
    """A prepared model of a client. best_ns: of its shortest run, 0 before the first."""

    def __init__(self, prepared):
        self.prepared, self.best_ns, self.executions = prepared, 0, 0
        self.results = prepared.result_shapes

    @property
    def is_quick(self):
        """True when its executions end so soon that nobody need be able to stop them."""
        return 0 < self.best_ns < QUICK_NS

    def ran(self, spent_ns):
        """An execution took so long."""
        self.executions += 1
        if not self.best_ns or spent_ns < self.best_ns:
            self.best_ns = spent_ns


class Session:
    """The server's side of one client. events: Channel of its first connection, which lives as long as the session."""

    def __init__(self, server, number, peer, events, precision):
        self.server, self.number, self.peer, self.events = server, number, peer, events
        self.key, self.quotas = secrets.token_bytes(KEY_BYTES), server.quotas
        options = server.options
        self.device = Device(options.threads, extensions=options.extensions_of(peer), precision=precision)
        self.device.budget = self.budget = ClientBudget(self.quotas.memory, server.budget)
        self.device.gate.join(server.fair)
        self.latency = Histogram()
        self.failures, self.began = 0, time.monotonic()
        self.closed = False
        self.connections = set()
        self._lock = threading.Lock()
        self._tables = {kind: {} for kind in KINDS}
        self._last = 0
        self.generation = 0  # grows with every release
        self._executing = {}  # Cancel: number of its call, or 0
        self._cancelled = {}  # calls that were cancelled before they were seen to begin
        self._asked = {}  # number of a question to the client: who has asked
        self._launched = set()  # fenced executions that have not ended

    # -- objects -----------------------------------------------------------------------------------------------------
    def add(self, kind, thing, number=None):
        """Keep an object; its number. Raises ResourceExhaustedTransient when there are too many."""
        table = self._tables[kind]
        with self._lock:
            if self.closed:
                raise Cancelled("service: the client has gone")
            self._check_room(kind)
            if number is None:
                self._last += 1
                number = self._last
            elif number in table:
                raise InvalidArgument(f"service: {KINDS[kind]} {number} is there already")
            table[number] = thing
        return number

    def _check_room(self, kind):
        if kind == "prepared":
            if len(self._tables["prepared"]) >= self.quotas.models:
                raise refuse("prepared models", self.quotas.models, "release some first")
        elif kind == "burst" and len(self._tables["burst"]) >= self.quotas.bursts:
            raise refuse("bursts", self.quotas.bursts, "end some first")
        elif sum(map(len, self._tables.values())) - len(self._tables["prepared"]) >= self.quotas.objects:
            raise refuse("buffers, memories, streams and fences", self.quotas.objects, "release some first")

    def check_models(self):
        """Refuse before the work of a preparation what would be refused after it."""
        with self._lock:
            self._check_room("prepared")

    def check_bursts(self):
        """Refuse one burst more than the client may have."""
        with self._lock:
            self._check_room("burst")

    def new_number(self):
        """A number that no object has had."""
        with self._lock:
            self._last += 1
            return self._last

    def get(self, kind, number):
        """The object of a number. Raises InvalidArgument when this client has none."""
        thing = self._tables[kind].get(number)
        if thing is None:
            raise InvalidArgument(f"service: this client has no {KINDS[kind]} {number}")
        return thing

    def buffer(self, number):
        """As Tokens.find, with its words."""
        buffer = self._tables["buffer"].get(number)
        if not isinstance(buffer, Buffer):
            raise InvalidArgument(f"token {number}: no buffer of this device has it")
        return buffer

    def release(self, items):
        """Forget objects; what is not there is ignored. items: [(kind, number)]."""
        gone = []
        with self._lock:
            self.generation += 1
            for kind, number in items:
                if kind in self._tables:
                    gone.append(self._tables[kind].pop(number, None))
            for connection in list(self.connections):
                connection.bound.clear()
        del gone  # outside of the lock: this frees memory

    def count(self, kind):
        """How many objects of a kind there are."""
        return len(self._tables[kind])

    def bursts(self):
        """The bursts."""
        with self._lock:
            return [served.burst for served in self._tables["burst"].values()]

    def count_bursts(self):
        """Bring what bursts have done into the statistics."""
        with self._lock:
            bursts = list(self._tables["burst"].values())
        for burst in bursts:
            burst.counter.count()

    def held(self):
        """The prepared models."""
        with self._lock:
            return list(self._tables["prepared"].values())

    def prepare(self, model, source, preference, priority, input_shapes, keep, deadline):
        """Device.prepare, of a model that other clients may have already. source: its bytes."""
        check_options(preference, priority)
        deadline_to_ns(deadline, now_ns(), "prepare")  # also for a model that is there already
        options = preference, priority, input_shapes, keep
        return self.server.registry.prepare(self.device, model, source, options, deadline,
                                            lambda: self.turn(priority))

    def turn(self, priority="medium"):
        """A context for a preparation: a core, when it is this client's turn. Executions wait for theirs themselves."""
        return Turn(self.device.gate, PRIORITIES.index(priority)).use()

    # -- questions to the client -------------------------------------------------------------------------------------
    def ask(self, asker, call, question):
        """Send a question on the events connection; asker.tell(answer, descriptors) gets the answer."""
        with self._lock:
            if self.closed:
                raise Cancelled("service: the client has gone")
            self._asked[call] = asker
            try:
                self.events.send(question)
            except OSError as error:
                del self._asked[call]
                raise InvalidArgument(f"service: the client does not listen: {error.strerror}") from None

    def told(self, answer, fds):
        """The client has answered a question; what nobody has asked is ignored."""
        asker = self._asked.get(answer.call)
        if asker is not None:
            asker.tell(answer, fds)

    def answered(self, call):
        """Nobody waits for this answer any more."""
        self._asked.pop(call, None)

    # -- executions --------------------------------------------------------------------------------------------------
    def begin(self, call=0):
        """A Cancel that is set when the client cancels `call` or goes, until `end`. Raises where a quota is used up."""
        flag = Cancel()
        with self._lock:
            if self.closed:
                raise Cancelled("service: the client has gone")
            if len(self._executing) >= self.quotas.executions:
                raise refuse("executions in flight", self.quotas.executions, "wait for some to end")
            self._executing[flag] = call
            if self._cancelled.pop(call, None) is not None:
                flag.set()
        return flag

    def end(self, flag):
        """What began is over."""
        with self._lock:
            self._executing.pop(flag, None)

    def cancel(self, call):
        """Stop the execution of a call that the client has numbered."""
        with self._lock:
            flags = [flag for flag, number in self._executing.items() if number == call]
            for flag in flags:
                flag.set()
            if not flags:
                self._cancelled[call] = True
                if len(self._cancelled) > MAX_EARLY:
                    del self._cancelled[next(iter(self._cancelled))]

    def launched(self, control):
        """A fenced execution begins, which ends of its own accord or is abandoned with the client."""
        with self._lock:
            self._launched.add(control)

    def landed(self, control):
        """It has ended."""
        with self._lock:
            self._launched.discard(control)

    def ended(self, began_ns, ended_ns, held):
        """Count an execution."""
        held.ran(ended_ns - began_ns)
        self.latency.add((ended_ns - began_ns) // 1000)
        self.server.latency.add((ended_ns - began_ns) // 1000)

    @property
    def in_flight(self):
        """Executions that run or wait."""
        return len(self._executing)

    # -- end ---------------------------------------------------------------------------------------------------------
    def close(self):
        """The client has gone, or must go: stop its executions, close its connections, free what it held."""
        with self._lock:
            if self.closed:
                return
            self.closed = True
            for flag in self._executing:
                flag.set()
            launched = list(self._launched)
            tables, self._tables = self._tables, {kind: {} for kind in KINDS}
            connections = list(self.connections)
        for control in launched:
            control.abandon()
        for connection in connections:
            connection.interrupt()
        self.events.close()
        del tables
