"""Turns for long work in Python: one call at a time, fair between clients, and an end whenever there is a reason."""

import os
import threading
import time

import numpy as np
import pytest

from helpers.raw_client import Raw, prepared_by, sealed
from helpers.service import dense_model, serving, until
from nnfast import pace
from nnfast._native.threads import Cancel, Fair, Gate, Turn, now_ns
from nnfast.driver.execution import Limits
from nnfast.errors import Cancelled, MissedDeadlineTransient
from nnfast.service.server.model_reader import Source
from nnfast.service.server.registry import Registry
from nnfast.service.server.turns import SLICE_NS, LateWork, Turns, Work
from nnfast.service.wire import protocol, records

GUARD = 120.0
"""Seconds after which a test that hangs fails."""


TRIES = 50
"""What the system may spoil on a busy machine is looked for so often."""


class Task(threading.Thread):
    """Runs a function in a thread; `end()` gives what it returned, or raises what it raised."""

    def __init__(self, work, *args):
        super().__init__(daemon=True)
        self._work, self._args, self._result, self._error = work, args, None, None
        self.start()

    def run(self):
        try:
            self._result = self._work(*self._args)
        except BaseException as error:
            self._error = error

    def end(self):
        self.join(GUARD)
        assert not self.is_alive(), "the thread hangs"
        if self._error is not None:
            raise self._error
        return self._result


def step_until(event):
    """Work in steps until an event is set."""
    while not event.is_set():
        pace.step()


def work_in_steps(line, event, began=None, **options):
    with Work(line, **options):
        if began is not None:
            began.set()
        step_until(event)


def started(line, event, **options):
    """A Task that works in steps until the event, and has begun to."""
    began = threading.Event()
    task = Task(lambda: work_in_steps(line, event, began, **options))
    assert began.wait(GUARD)
    return task


def test_steps_without_a_pace_do_nothing():
    pace.step()
    pace.step("main.operation[0] ADD")


def test_another_client_goes_on_between_two_steps():
    turns, done = Turns(), threading.Event()
    long = started(turns.line(Gate(1)), done)
    with Work(turns.line(Gate(1))):
        pace.step()
    done.set()
    long.end()


def test_one_call_of_a_client_works_at_a_time():
    turns = Turns()
    lines = [turns.line(Gate(1)) for _ in range(4)]
    inside = dict.fromkeys(lines, 0)

    def work(line):
        for _ in range(30):
            with Work(line):
                inside[line] += 1
                pace.step()
                assert inside[line] == 1
                inside[line] -= 1

    for task in [Task(work, line) for line in lines * 3]:
        task.end()
    assert turns.waiting == 0


def test_all_connections_of_a_client_have_one_place():
    turns, done = Turns(), threading.Event()
    flood, other = turns.line(Gate(1)), turns.line(Gate(1))
    first = started(flood, done)
    rest = [Task(work_in_steps, flood, done) for _ in range(20)]
    for _ in range(10):
        with Work(other):
            assert turns.waiting <= 1
            pace.step()
    done.set()
    for task in (first, *rest):
        task.end()


def test_a_holder_in_native_code_keeps_nobody_from_working():
    turns, done = Turns(), threading.Event()

    def silent():
        with Work(turns.line(Gate(1))):
            began.set()
            assert done.wait(GUARD)
            pace.step()  # waits for its turn again

    began = threading.Event()
    task = Task(silent)
    assert began.wait(GUARD)
    for _ in range(3):
        with Work(turns.line(Gate(1))):
            pace.step()
    done.set()
    task.end()
    with Work(turns.line(Gate(1))):
        pass


def test_time_of_the_past_gives_no_right_to_the_future():
    turns, done = Turns(), threading.Event()
    first, second = turns.line(Gate(1)), turns.line(Gate(1))
    task = started(first, done)
    end = now_ns() + 50_000_000
    while now_ns() < end:
        time.sleep(0.001)
    with Work(second):
        pass
    done.set()
    task.end()
    assert second.share_ns >= 50_000_000, "it begins with what the one that was working had used"


def test_higher_priority_goes_first_among_the_calls_of_a_client():
    line, order, done = Turns().line(Gate(1)), [], threading.Event()
    first = started(line, done)

    def work(name, priority):
        with Work(line, priority):
            order.append(name)

    tasks = []
    for place, (name, priority) in enumerate((("low", 0), ("medium", 1), ("high", 2), ("high after it", 2))):
        tasks.append(Task(work, name, priority))
        assert until(lambda: len(line._waiting) == place + 1, GUARD)  # noqa: B023  (it is called at once)
    done.set()
    for task in (first, *tasks):
        task.end()
    assert order == ["high", "high after it", "medium", "low"]


@pytest.mark.parametrize("same", [True, False])
def test_what_waits_ends_at_its_deadline_and_when_it_is_cancelled(same):
    turns, done = Turns(), threading.Event()
    line = turns.line(Gate(1))

    def silent():
        with Work(line):
            began.set()
            assert done.wait(GUARD)

    began = threading.Event()
    holder = Task(silent)
    assert began.wait(GUARD)
    mine = line if same else turns.line(Gate(1))
    late = Work(mine, deadline_ns=now_ns() + 1)
    with pytest.raises(MissedDeadlineTransient), late:
        pace.step()
    cancelled = Work(mine)
    cancelled.cancel.set()
    with pytest.raises(Cancelled), cancelled:
        pace.step()
    done.set()
    holder.end()
    with Work(line), Work(turns.line(Gate(1))):
        pass


def silent_holder(turns, done):
    """A Task that holds the turn without a step until `done`, and has got it."""
    began = threading.Event()

    def hold():
        with Work(turns.line(Gate(1))):
            began.set()
            assert done.wait(GUARD)

    task = Task(hold)
    assert began.wait(GUARD)
    return task


def wait_a_slice():
    end = now_ns() + SLICE_NS
    while now_ns() < end:
        pass


def test_a_short_execution_in_python_takes_no_turn():
    """Unless this thread gets no processor for a slice between two lines."""
    turns, done, lines = Turns(), threading.Event(), []
    holder = silent_holder(turns, done)
    while len(lines) < TRIES and not (lines and lines[-1].share_ns == 0):
        lines.append(turns.line(Gate(1)))
        with LateWork(lines[-1], Limits()):
            pace.step()
    assert lines[-1].share_ns == 0
    done.set()
    holder.end()


def test_a_long_execution_in_python_takes_the_turn_and_gives_it_back():
    turns, done = Turns(), threading.Event()
    line = turns.line(Gate(1))
    with LateWork(line, Limits()):
        wait_a_slice()
        pace.step()
        others = [started(turns.line(Gate(1)), done) for _ in range(2)]  # it passes by, which makes no step
        wait_a_slice()
        pace.step()
        assert line.share_ns > 0
    done.set()
    for other in others:
        other.end()
    with Work(turns.line(Gate(1))):
        assert not turns.waiting


def test_executions_of_one_client_take_turns_side_by_side():
    turns = Turns()
    line, count = turns.line(Gate(1)), 4
    inside = threading.Barrier(count)

    def loop():
        with LateWork(line, Limits()):
            inside.wait(GUARD)
            end = now_ns() + 10 * SLICE_NS
            while now_ns() < end:
                pace.step()

    for task in [Task(loop) for _ in range(count)]:
        task.end()
    assert not turns.waiting and line.share_ns > 0


def test_an_execution_that_waits_for_the_turn_ends_at_its_deadline_and_when_it_is_cancelled():
    turns, done = Turns(), threading.Event()
    holder = started(turns.line(Gate(1)), done)
    cancel = Cancel()
    cancel.set()
    for limits, error in ((Limits(cancel=cancel), Cancelled),
                          (Limits(deadline_ns=now_ns() + SLICE_NS), MissedDeadlineTransient)):
        with pytest.raises(error), LateWork(turns.line(Gate(1)), limits):
            wait_a_slice()
            step_until(threading.Event())
    done.set()
    holder.end()


def test_long_work_uses_a_core_of_its_client():
    fair, gate, turns = Fair(1), Gate(1), Turns()
    gate.join(fair)
    with Work(turns.line(gate)) as work:
        assert fair.running == 1
        with work.aside():
            assert fair.running == 0
        pace.step()
        assert fair.running == 1
    assert fair.running == 0 and gate.used_ns > 0


def test_long_work_leaves_its_core_to_a_client_that_has_used_less():
    fair, turns, done = Fair(1), Turns(), threading.Event()
    greedy, modest = Gate(1), Gate(1)
    greedy.join(fair)
    modest.join(fair)
    holder, seen = started(turns.line(greedy), done), []
    while len(seen) < TRIES and 1 not in seen:
        with Turn(modest, 1).use():
            seen.append(fair.running)
    done.set()
    holder.end()
    assert 1 in seen and fair.running == fair.waiting == 0


def test_long_work_ends_when_its_client_goes(server):
    raw, began = Raw(server.path), threading.Event()
    session, = server.sessions()

    def work():
        with session.work():
            began.set()
            step_until(threading.Event())

    task = Task(work)
    assert began.wait(GUARD)
    raw.close()
    with pytest.raises(Cancelled):
        task.end()


def test_long_work_ends_with_the_driver(tmp_path):
    with serving(tmp_path, drain_seconds=0.1) as (path, server):
        raw, began = Raw(path), threading.Event()
        session, = server.sessions()

        def work():
            server.enter()
            try:
                with session.work():
                    began.set()
                    step_until(threading.Event())
            finally:
                server.leave()

        task = Task(work)
        assert began.wait(GUARD)
        server.stop()
        with pytest.raises(Cancelled):
            task.end()
        raw.close()


# -- one compilation for several clients -------------------------------------------------------------------------------
class SlowDevice:
    """Prepares a model in steps, until it may end."""

    precision, without_passes = None, frozenset()

    def __init__(self):
        self.began, self.end = threading.Event(), threading.Event()

    def variant(self, **_):
        return self

    def prepare(self, *_):
        self.began.set()
        step_until(self.end)
        raise Cancelled("it was not to end")


def test_who_waits_for_the_compilation_of_another_has_limits_and_a_claim_of_its_own():
    turns, device = Turns(), SlowDevice()
    registry, model = Registry(lambda precision: device), dense_model()
    source = Source(np.zeros(100, np.uint8), (), 0, False)
    options = "low_power", "low", None, None

    def prepare(work):
        with work:
            registry.prepare(device, model, source, options, None, work)

    first, second = Work(turns.line(Gate(1)), 0), Work(turns.line(Gate(1)), 2, now_ns() + 300_000_000)
    maker = Task(prepare, first)
    assert device.began.wait(GUARD)
    waiter = Task(prepare, second)
    with pytest.raises(MissedDeadlineTransient):
        waiter.end()
    third = Work(turns.line(Gate(1)))
    waiter = Task(prepare, third)
    assert until(lambda: len(first.lines) == 2, GUARD), "the maker has the claim of the one that waits"
    third.cancel.set()
    with pytest.raises(Cancelled):
        waiter.end()
    assert len(first.lines) == 1
    device.end.set()
    with pytest.raises(Cancelled):
        maker.end()
    assert not registry._making


# -- calls -------------------------------------------------------------------------------------------------------------
@pytest.fixture
def entered(server, monkeypatch):
    """The works that have entered the turn."""
    works, enter = [], server.turns.enter

    def note(work):
        works.append(work)
        enter(work)

    monkeypatch.setattr(server.turns, "enter", note)
    return works


def test_long_work_of_calls_takes_a_turn(raw, server, entered):
    fd, files = sealed(dense_model()), [os.memfd_create(name) for name in ("model", "data")]
    number = prepared_by(raw, dense_model())
    assert entered
    keys = [(f"name {place}", (1,)) for place in range(1000)]
    for message, fds in ((protocol.Check("1.3"), [fd]), (protocol.GetUnsupported(), [fd]),
                         (protocol.Prepare("low_power", "low"), [fd]), (protocol.CheckCache(bytes(32)), files),
                         (protocol.LoadCache(bytes(32)), files),
                         (protocol.Explain(number), []), (protocol.Store(number, bytes(32)), files),
                         (protocol.GetStats(), []),
                         (protocol.Allocate([records.Use(number, 0, 1.0)] * 100, [], ()), []),
                         (protocol.Prepare("low_power", "low", keys), [])):
        entered.clear()
        raw.call(message, fds)
        assert entered, message
    for one in (fd, *files):
        os.close(one)


def test_short_calls_take_no_turn(raw, server, other, entered):
    done, began = threading.Event(), threading.Event()

    def silent():
        with Work(server.turns.line(Gate(1))):
            began.set()
            assert done.wait(GUARD)

    task = Task(silent)
    assert began.wait(GUARD)
    entered.clear()
    x = np.ones(4, np.float32)
    other.run([x, x])
    other.submit([x, x]).result(GUARD)
    burst = other.burst()
    burst.run([x, x])
    assert isinstance(raw.call(protocol.Ping()), protocol.Done)
    assert not entered
    done.set()
    task.end()
