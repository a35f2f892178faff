"""One session of a client: its objects, quotas and running executions, all of which end with it."""

import secrets
import threading
import time
from contextlib import contextmanager

from ..._native.rings import Cancels, Runs
from ..._native.threads import Cancel, now_ns
from ...driver.buffers import Buffer
from ...driver.device import Device
from ...driver.durations import deadline_to_ns
from ...driver.execution import PRIORITIES
from ...errors import Cancelled, DeviceUnavailable, InvalidArgument
from ...forks import renewed
from ..wire.histogram import Histogram
from .quotas import claim, refuse
from .sweeper import lists_of
from .turns import Work

KINDS = {"prepared": "prepared model", "buffer": "buffer", "memory": "memory", "fenced": "fenced execution",
         "stream": "stream", "load": "checked cache", "burst": "burst"}
KEY_BYTES = 16
MAX_EARLY = 1024
"""Most Cancels kept for calls that have not begun."""


class Held:
    """A prepared model of a client, and the Runs of it."""

    def __init__(self, prepared):
        self.prepared, self.runs = prepared, Runs()
        self.results = prepared.result_shapes


class Session:
    """One session of a client. events: Channel of its first connection, which lives as long as the session."""

    def __init__(self, server, number, client, events, precision):
        for other in list(client.sessions):
            if other.is_over:
                other.vacate()
        self._place = claim(client.devices, "close some first")
        self._held = client.hold("a session", descriptors=1, threads=1)
        self.server, self.number, self.client, self.events = server, number, client, events
        self.key, self.executable = secrets.token_bytes(KEY_BYTES), client.peer.executable
        options = server.options
        self.device = Device(options.threads, extensions=options.extensions_of(self.executable), precision=precision,
                             client=client)
        self.device.budget = self.budget = client.budget
        self.latency = Histogram()
        self.failures, self.began = 0, time.monotonic()
        self.closed = False
        self.connections = set()
        self._lock = renewed(threading.Lock())
        self._tables = {kind: {} for kind in KINDS}
        self._charges = {}  # (kind, number): charges of an object besides its memory
        self._last = 0
        self.generation = 0  # grows with every release
        self._executing = {}  # Cancel: number of its call, or 0
        self._cancelled = {}  # calls cancelled before they began
        self.cancels = Cancels()  # the latest of them, for calls that run without Python
        self._asked = {}  # number of a question to the client: asker
        self._launched = set()  # fenced executions that have not ended
        self._working = set()  # long work of calls, which stops with the client

    def confirm(self):
        """Raise DeviceUnavailable if permissions depend on the client's program, which has changed since its hello."""
        if self.executable and self.server.options.allowlist.is_limited and \
                self.client.peer.executable != self.executable:
            raise DeviceUnavailable(f"service: process {self.client.pid} was {self.executable} when it connected and "
                                    f"runs another program now; connect again")

    # -- objects -----------------------------------------------------------------------------------------------------
    def add(self, kind, thing, number=None, held=()):
        """Keep an object; returns its number. held: Charges to keep with it. Raises ResourceExhausted* if too many."""
        table = self._tables[kind]
        with self._lock:
            if self.closed:
                raise Cancelled("service: the client has gone")
            charge = self.claim(kind)
            if number is None:
                self._last += 1
                number = self._last
            elif number in table:
                raise InvalidArgument(f"service: {KINDS[kind]} {number} is there already")
            table[number] = thing
            self._charges[kind, number] = (charge, *held)
        return number

    def claim(self, kind):
        """A Charge of one object. Raises ResourceExhaustedTransient if the client has too many."""
        if kind == "prepared":
            return claim(self.client.models, "release some first")
        if kind == "burst":
            return claim(self.client.bursts, "end some first")
        return claim(self.client.objects, "release some first")

    def new_number(self):
        """A number that was never used before."""
        with self._lock:
            self._last += 1
            return self._last

    def get(self, kind, number):
        """The object with a number. Raises InvalidArgument if this client has none."""
        thing = self._tables[kind].get(number)
        if thing is None:
            raise InvalidArgument(f"service: this client has no {KINDS[kind]} {number}")
        return thing

    def buffer(self, number):
        """As Tokens.find, with the same error message."""
        buffer = self._tables["buffer"].get(number)
        if not isinstance(buffer, Buffer):
            raise InvalidArgument(f"token {number}: no buffer of this device has it")
        return buffer

    def release(self, items):
        """Forget objects; unknown ones are ignored. items: [(kind, number)]."""
        gone = []
        with self._lock:
            self.generation += 1
            for kind, number in items:
                if kind in self._tables:
                    gone.append((self._tables[kind].pop(number, None), self._charges.pop((kind, number), None)))
            for connection in list(self.connections):
                connection.receiver.forget()
                connection.kept_model.drop()
        lists = _long_lists(thing for thing, _ in gone)
        del gone  # outside of the lock: this frees memory
        self.server.sweeper.take(lists)

    def count(self, kind):
        """How many objects of a kind there are."""
        return len(self._tables[kind])

    def bursts(self):
        """The bursts."""
        with self._lock:
            return [served.burst for served in self._tables["burst"].values()]

    def count_bursts(self):
        """Add the bursts' counts to the statistics."""
        with self._lock:
            bursts = list(self._tables["burst"].values())
        for burst in bursts:
            burst.counter.count()

    def held(self):
        """The prepared models."""
        with self._lock:
            return list(self._tables["prepared"].values())

    @contextmanager
    def work(self, priority="medium", deadline=None):
        """Context manager for the long work of a call (turns.Work), which stops at the deadline or the client's end."""
        work = Work(self.client.line, PRIORITIES.index(priority), deadline_to_ns(deadline, now_ns(), "prepare"))
        with self._lock:
            if self.closed:
                raise Cancelled("service: the client has gone")
            self._working.add(work)
        try:
            with work:
                yield work
        finally:
            with self._lock:
                self._working.discard(work)

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
        """Pass the client's answer to its asker; unknown numbers are ignored."""
        asker = self._asked.get(answer.call)
        if asker is not None:
            asker.tell(answer, fds)

    def answered(self, call):
        """Forget a question: its asker has stopped waiting."""
        self._asked.pop(call, None)

    # -- executions --------------------------------------------------------------------------------------------------
    def begin(self, call=0):
        """A Cancel that is set when the client cancels `call` or is gone, until `end`. Raises if over quota."""
        flag = Cancel()
        with self._lock:
            if self.closed:
                raise Cancelled("service: the client has gone")
            full = self.client.executions.take(1)
            if full is not None:
                raise refuse(full, "wait for some to end")
            self._executing[flag] = call
            if self._cancelled.pop(call, None) is not None:
                flag.set()
        return flag

    def end(self, flag):
        """What began is over."""
        with self._lock:
            if self._executing.pop(flag, None) is not None:
                self.client.executions.give_back(1)

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
                if call > 0:
                    self.cancels.add(call)
                    for connection in list(self.connections):
                        connection.receiver.cancel(call)

    def launched(self, control):
        """Add a fenced execution, which ends by itself or is abandoned with the client."""
        with self._lock:
            self._launched.add(control)

    def landed(self, control):
        """It has ended."""
        with self._lock:
            self._launched.discard(control)

    def ended(self, began_ns, ended_ns, held):
        """Count an execution."""
        held.runs.add(ended_ns - began_ns)
        self.latency.add((ended_ns - began_ns) // 1000)
        self.server.latency.add((ended_ns - began_ns) // 1000)

    @property
    def in_flight(self):
        """Executions that run or wait."""
        return len(self._executing) + sum(connection.receiver.is_running for connection in list(self.connections))

    # -- end ---------------------------------------------------------------------------------------------------------
    @property
    def is_over(self):
        """True if the client has hung up, even if the session is not closed yet."""
        return self.closed or self.events.is_over

    def vacate(self):
        """Stop counting as one of the client's sessions: it has hung up, though its objects may not be freed yet."""
        self._place.release()

    def hang_up(self):
        """Wake the session's thread, which then closes the session."""
        self.events.hang_up()

    def close(self):
        """End the session: stop its executions, close its connections, free what it held.

        Runs on a thread of this client, as closing its descriptors and unmapping its memories may block for long.
        """
        with self._lock:
            if self.closed:
                return
            self.closed = True
            self.vacate()
            for flag in self._executing:
                flag.set()
            for work in self._working:
                work.cancel.set()
            launched = list(self._launched)
            tables, self._tables = self._tables, {kind: {} for kind in KINDS}
            charges, self._charges, self._held = (self._charges, self._held), {}, ()
            connections = list(self.connections)
        for control in launched:
            control.abandon()
        for connection in connections:
            connection.receiver.close()
            connection.channel.hang_up()
        self.events.close()
        lists = _long_lists(tables["prepared"].values())
        del tables, charges
        self.server.sweeper.take(lists)


def _long_lists(things):
    return [part for thing in things if isinstance(thing, Held) for part in lists_of(thing.prepared)]
