"""The ring's protocol (csrc/fmq/ring.c) as small programs, and an explorer of everything that they can do together.

Threads take atomic steps in any order, on memory that is as weak as C11's acquire and release allow: a location keeps
all values that were stored, a load may return any that is not older than what the thread knows of, and only a fence or
an acquire load of a release store (or of a read-modify-write that comes after it) tells it more. Elements are plain
memory: to read one without knowing its last store, or to overwrite one without knowing of its last read, is an error. A
sleeper wakes up for a wake-up only, and all asleep is an error: lost wake-ups show.
"""

from dataclasses import dataclass

NOT_FULL, NOT_EMPTY = 1, 2


@dataclass(frozen=True)
class Load:
    """register = location"""

    register: str
    location: str
    acquire: bool = False


@dataclass(frozen=True)
class Store:
    """location = value(registers)"""

    location: str
    value: object
    release: bool = False


@dataclass(frozen=True)
class Change:
    """event = location; location = value(event): one step, of the latest value."""

    value: object
    ordered: bool = True
    location: str = "event"


@dataclass(frozen=True)
class Fence:
    """Sequentially consistent: what was known at one is known after every later one."""


@dataclass(frozen=True)
class Sleep:
    """Sleep for `bits` while the event word is expected(registers); None: whatever it is."""

    bits: int
    expected: object = lambda r: r["event"]


@dataclass(frozen=True)
class Wake:
    """Wake who sleeps for one of the bits, unless all of them were set before."""

    bits: int


@dataclass(frozen=True)
class Fill:
    """Write `count` elements from place(registers) on: each its number."""

    count: int
    place: object = lambda r: r["at"]


@dataclass(frozen=True)
class Use:
    """Read so many; each must be its number."""

    count: int
    place: object = lambda r: r["at"]


@dataclass(frozen=True)
class Let:
    """registers[name] = value(registers)"""

    name: str
    value: object


@dataclass(frozen=True)
class Go:
    """To the label, when the condition holds."""

    label: str
    condition: object = lambda r: True


def raised(bits):
    return lambda value: value | bits


def taken(bits):
    return lambda value: value & ~bits


def raising(bits):
    """nnf_order_raise."""
    return [("raise fence", Fence()), ("glance", Load("event", "event")),
            ("set", Go("wake", lambda r: r["event"] & bits == bits)), ("raise", Change(raised(bits)))]


# -- the protocol, with a name for each step ---------------------------------------------------------------------------
def side(own, other, look, mine, theirs, copy, count, total, flag):
    """A writer or a reader: wait_for, the copy, commit or release, nnf_ring_wake. A list of (name, step)."""
    return [
        ("start", Let("at", lambda r: 0)),
        ("", Let("seen", lambda r: 0)),
        ("", Let("closed", lambda r: 0)),
        ("next", Go("end", lambda r: r["at"] >= total)),
        ("", Load("closed", flag) if flag else Let("closed", lambda r: 0)),
        ("", Go("end", lambda r: r["closed"])),
        ("look", Go("copy", look)),
        ("counter", Load("seen", other, acquire=True)),
        ("", Go("copy", look)),
        ("take", Change(taken(mine))),
        ("take fence", Fence()),
        ("recheck", Go("again", lambda r: r["event"] & mine)),
        ("sleep", Sleep(mine)),
        ("again", Load("closed", flag) if flag else Let("closed", lambda r: 0)),
        ("", Go("end", lambda r: r["closed"])),
        ("", Go("look")),
        ("copy", copy(count)),
        ("publish", Store(own, lambda r: r["at"] + count, release=True)),
        *raising(theirs),
        ("wake", Wake(theirs)),
        ("count", Let("at", lambda r: r["at"] + count)),
        ("", Go("next")),
        ("end", None),
    ]


def writer(capacity, count, total, flag=None):
    """Writes `total` elements, `count` at a time. flag: location that tells it to stop."""
    return side("write", "read", lambda r: r["at"] + count - r["seen"] <= capacity, NOT_FULL, NOT_EMPTY, Fill, count,
                total, flag)


def reader(count, total, flag=None):
    return side("read", "write", lambda r: r["seen"] - r["at"] >= count, NOT_EMPTY, NOT_FULL, Use, count, total, flag)


def libfmq(program):
    """The side as libfmq runs it [NN 4.13]: raises in any case, and takes the bit again after its sleep."""
    bits = dict(program)["sleep"].bits
    program = changed(program, glance=Let("event", lambda r: 0))
    at = [name for name, _ in program].index("again")
    return [*program[:at], ("", Change(taken(bits))), ("", Fence()), *program[at:]]


def closer():
    """Who ends the waits of its own side (Ring.close)."""
    return [
        ("close", Store("closed", lambda r: 1)),
        *raising(NOT_FULL | NOT_EMPTY),
        ("wake", Wake(NOT_FULL | NOT_EMPTY)),
        ("end", None),
    ]


# -- ways to break it --------------------------------------------------------------------------------------------------
def changed(program, **steps):
    """The program with steps of these names in the place of its own."""
    assert set(steps) <= {name for name, _ in program}
    return [(name, steps.get(name, step)) for name, step in program]


def ordered(program, *names):
    """The program with these neighbours in this order."""
    places = sorted([name for name, _ in program].index(name) for name in names)
    assert places == list(range(places[0], places[0] + len(names)))
    steps = dict(program)
    result = list(program)
    for place, name in zip(places, names):
        result[place] = program[place][0], steps[name]  # what is jumped to stays where it is
    return result


# -- the explorer ------------------------------------------------------------------------------------------------------
class Wrong(Exception):
    """What must not happen, and the steps that lead there."""


@dataclass(frozen=True)
class Thread:
    """pc: of the next step that others can notice; asleep: bits, 0 awake; view: what it knows of each location."""

    pc: int
    registers: tuple
    view: tuple
    asleep: int = 0


class Explorer:
    """All states of these programs. event: the event word before the first step."""

    def __init__(self, programs, capacity, event=0):
        self.programs = [self._assembled(program) for program in programs]
        self.capacity = capacity
        self.plain = [f"{kind}{i}" for kind in ("cell", "use") for i in range(capacity)]
        self.locations = ["write", "read", "closed", "event", "fence", *self.plain]
        self.place = {name: i for i, name in enumerate(self.locations)}
        loaded = {step.location for program in self.programs for step, _ in program if isinstance(step, Load)}
        self.loaded = [name in loaded for name in self.locations]
        self.first_plain = self.place[self.plain[0]]
        nothing = (0,) * len(self.locations)
        known = nothing[:self.first_plain] + (1,) * len(self.plain)
        initial = {"event": event}
        memory = tuple(((initial.get(name, 0), nothing),) for name in self.locations[:self.first_plain])
        values = (None,) * capacity
        start = (memory, values, tuple(Thread(0, (), known) for _ in programs))
        for number in range(len(programs)):
            start = self._run_locally(start, number)
        self.start = self._normal(start)

    @staticmethod
    def _assembled(program):
        names = {name: i for i, (name, _) in enumerate(program) if name}
        return [(step, names.get(getattr(step, "label", None))) for _, step in program]

    def explore(self):
        """Visit every state; the number of states. Raises Wrong with the way to the first error."""
        seen = {self.start: None}
        waiting = [self.start]
        while waiting:
            state = waiting.pop()
            try:
                following = list(self._following(state))
            except Wrong as wrong:
                raise Wrong(f"{wrong}; {self._way(seen, state)}") from None
            if not following and not self._all_done(state):
                raise Wrong(f"nobody goes on; {self._way(seen, state)}")
            for after, number in following:
                if after not in seen:
                    seen[after] = state, number
                    waiting.append(after)
        return len(seen)

    def _way(self, seen, state):
        numbers = []
        while seen[state] is not None:
            state, number = seen[state]
            numbers.append(number)
        return f"after steps of {numbers[::-1]}"

    def _all_done(self, state):
        return all(self.programs[i][t.pc][0] is None for i, t in enumerate(state[2]))

    def _following(self, state):
        for number, thread in enumerate(state[2]):
            step, _ = self.programs[number][thread.pc]
            if step is not None and not thread.asleep:
                for after in self._step(state, number, thread, step):
                    yield self._normal(self._run_locally(after, number)), number

    # -- steps that others notice ------------------------------------------------------------------------------------
    def _step(self, state, number, thread, step):
        memory, values, threads = state
        if isinstance(step, Load):
            place = self.place[step.location]
            for when in range(thread.view[place], len(memory[place])):
                value, told = memory[place][when]
                view = self._joined(thread.view, told) if step.acquire else thread.view
                yield self._after(state, number, Thread(thread.pc + 1, self._let(thread, step.register, value),
                                                        self._knows(view, place, when)))
        elif isinstance(step, Store):
            place = self.place[step.location]
            view = self._knows(thread.view, place, len(memory[place]))
            told = view if step.release else (0,) * len(view)
            new = memory[place] + ((step.value(dict(thread.registers)), told),)
            yield self._after((self._with(memory, place, new), values, threads), number,
                              Thread(thread.pc + 1, thread.registers, view))
        elif isinstance(step, Change):
            place = self.place[step.location]
            value, told = memory[place][-1]
            view = self._knows(thread.view, place, len(memory[place]))
            if step.ordered:
                told = view = self._joined(view, told)
            new = memory[place] + ((step.value(value), told),)
            yield self._after((self._with(memory, place, new), values, threads), number,
                              Thread(thread.pc + 1, self._let(thread, "event", value), view))
        elif isinstance(step, Fence):
            place = self.place["fence"]  # holds what was known at fences
            view = self._joined(thread.view, memory[place][-1][1])
            yield self._after((self._with(memory, place, ((0, view),)), values, threads), number,
                              Thread(thread.pc + 1, thread.registers, view))
        elif isinstance(step, Sleep):
            value = memory[self.place["event"]][-1][0]
            stays = step.expected is None or step.expected(dict(thread.registers)) == value
            yield self._after(state, number, Thread(thread.pc + 1, thread.registers, thread.view,
                                                    step.bits if stays else 0))
        elif isinstance(step, Wake):
            reached = 0 if dict(thread.registers)["event"] & step.bits == step.bits else step.bits
            woken = tuple(Thread(t.pc, t.registers, t.view, 0 if t.asleep & reached else t.asleep) for t in threads)
            yield self._after((memory, values, woken), number, Thread(thread.pc + 1, thread.registers, thread.view))

    # -- steps of a thread alone: they join the one before -----------------------------------------------------------
    def _run_locally(self, state, number):
        while True:
            memory, values, threads = state
            thread = threads[number]
            step, target = self.programs[number][thread.pc]
            if isinstance(step, Go):
                pc = target if step.condition(dict(thread.registers)) else thread.pc + 1
                state = self._after(state, number, Thread(pc, thread.registers, thread.view, thread.asleep))
            elif isinstance(step, Let):
                registers = self._let(thread, step.name, step.value(dict(thread.registers)))
                state = self._after(state, number, Thread(thread.pc + 1, registers, thread.view, thread.asleep))
            elif isinstance(step, Fill | Use):
                state = self._copy(state, number, step)
            else:
                return state

    def _copy(self, state, number, step):
        memory, values, threads = state
        thread = threads[number]
        first = step.place(dict(thread.registers))
        for position in range(first, first + step.count):
            cell = position % self.capacity
            stored, used = self.place[f"cell{cell}"], self.place[f"use{cell}"]
            if not thread.view[stored]:
                raise Wrong(f"thread {number} does not know what was stored in element {position}")
            if isinstance(step, Use):
                if values[cell] != position:
                    raise Wrong(f"thread {number} reads {values[cell]} as element {position}")
                touched = used
            else:
                if not thread.view[used]:
                    raise Wrong(f"thread {number} overwrites element {position - self.capacity} while it is read")
                values = self._with(values, cell, position)
                touched = stored
            memory, threads = self._news(memory, threads, touched)
            thread = threads[number]
            thread = Thread(thread.pc, thread.registers, self._with(thread.view, touched, 1), thread.asleep)
            threads = self._with(threads, number, thread)
        return self._after((memory, values, threads), number,
                           Thread(thread.pc + 1, thread.registers, thread.view, thread.asleep))

    def _news(self, memory, threads, place):
        """Nobody knows yet of the last access to a plain location."""
        memory = tuple(tuple((value, self._with(told, place, 0)) for value, told in history) for history in memory)
        return memory, tuple(Thread(t.pc, t.registers, self._with(t.view, place, 0), t.asleep) for t in threads)

    # -- tuples ------------------------------------------------------------------------------------------------------
    @staticmethod
    def _with(values, place, value):
        return values[:place] + (value,) + values[place + 1:]

    @staticmethod
    def _joined(one, other):
        return tuple(map(max, one, other))

    @classmethod
    def _knows(cls, view, place, when):
        return cls._with(view, place, max(view[place], when))

    @staticmethod
    def _let(thread, name, value):
        return tuple(sorted({**dict(thread.registers), name: value}.items()))

    def _after(self, state, number, thread):
        return state[0], state[1], self._with(state[2], number, thread)

    def _normal(self, state):
        """The state without values that nobody can load any more."""
        memory, values, threads = state
        shift = [min(t.view[i] for t in threads) if self.loaded[i] else len(history) - 1
                 for i, history in enumerate(memory)]
        if not any(shift):
            return state
        shift += [0] * len(self.plain)

        def moved_view(view):
            return tuple(max(0, when - by) for when, by in zip(view, shift))

        memory = tuple(tuple((value, moved_view(told)) for value, told in history[by:])
                       for history, by in zip(memory, shift))
        return memory, values, tuple(Thread(t.pc, t.registers, moved_view(t.view), t.asleep) for t in threads)
