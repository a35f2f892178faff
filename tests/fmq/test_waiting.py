"""How the two sides of a message queue wait for each other: time limits, wakes, ends."""

import os
import threading
import time

import pytest

from helpers.fmq_items import ITEM, items, numbers
from nnfast import fmq
from nnfast.errors import InvalidArgument


def in_thread(call):
    """(thread, list that gets the result)."""
    found = []

    def run():
        found.append(call())

    thread = threading.Thread(target=run)
    thread.start()
    return thread, found


@pytest.mark.parametrize("spin_us", [0, 20, 10_000_000])
def test_time_outs_end_waits(make, spin_us):
    writer, reader = make(2)
    start = time.monotonic()
    assert reader.read(1, timeout=0.05, spin_us=spin_us) == ("timeout", None)
    writer.write(items(1, 2))
    assert writer.write(items(3), timeout=0.05, spin_us=spin_us) == "timeout"
    assert 0.1 <= time.monotonic() - start < 60
    assert reader.wait_readable(2, timeout=0.05) == "ok"


@pytest.mark.parametrize("spin_us", [0, 1_000_000])
def test_a_waiting_reader_gets_what_comes(make, spin_us):
    writer, reader = make(4)
    thread, found = in_thread(lambda: reader.read(2, timeout=600, spin_us=spin_us))
    time.sleep(0.05)
    writer.write(items(1))
    time.sleep(0.02)
    assert not found
    writer.write(items(2))
    thread.join(600)
    (reason, elements), = found
    assert reason == "ok" and numbers(elements) == [1, 2]


@pytest.mark.parametrize("spin_us", [0, 1_000_000])
def test_a_waiting_writer_gets_room(make, spin_us):
    writer, reader = make(2)
    writer.write(items(1, 2))
    thread, found = in_thread(lambda: writer.write(items(3, 4), timeout=None, spin_us=spin_us))
    time.sleep(0.05)
    reader.read(1)
    time.sleep(0.02)
    assert not found
    _, region = reader.begin_read(1)
    reader.commit_read(1)
    thread.join(600)
    assert found[0] == "ok" and numbers(reader.read(2)[1]) == [3, 4]


def test_waits_sleep(make):
    _, reader = make(2)

    def sleeps():
        thread, found = in_thread(lambda: reader.wait_readable(timeout=0.5))
        before = time.process_time()
        thread.join(600)
        assert found == ["timeout"]
        return time.process_time() - before < 0.2

    assert any(sleeps() for _ in range(10))


@pytest.mark.parametrize("spin_us", [0, 10_000_000])
@pytest.mark.parametrize("side", ["reader", "writer"])
def test_closing_ends_waits(make, side, spin_us):
    writer, reader = make(2)
    writer.write(items(1, 2))
    if side == "reader":
        reader.read(2)
        thread, found = in_thread(lambda: reader.read(1, timeout=None, spin_us=spin_us)[0])
    else:
        thread, found = in_thread(lambda: writer.write(items(3), timeout=None, spin_us=spin_us))
    time.sleep(0.05)
    (reader if side == "reader" else writer).close()
    thread.join(600)
    assert found == ["closed"]


def test_a_closed_side_stays_closed_and_the_other_goes_on(make):
    writer, reader = make(2)
    writer.write(items(1))
    writer.close()
    writer.close()
    assert writer.write(items(2)) == "closed" and writer.begin_write(1) == ("closed", ())
    assert writer.wait_writable() == "closed" and writer.read(1) == ("closed", None)
    assert "closed" in repr(writer)
    assert numbers(reader.read(1)[1]) == [1]
    assert reader.read(1, timeout=0.01) == ("timeout", None)


def test_a_wake_without_data_is_no_data(make):
    writer, reader = make(2)
    thread, found = in_thread(lambda: reader.read(1, timeout=0.2)[0])
    for _ in range(20):
        writer.wake(fmq.NOT_EMPTY | fmq.NOT_FULL)
        time.sleep(0.002)
    thread.join(600)
    assert found == ["timeout"]


def test_a_side_that_raises_bits_all_the_time_does_not_hold_up_deadlines(make):
    writer, reader = make(2)
    done = threading.Event()

    def disturb():
        while not done.is_set():
            writer.wake(fmq.NOT_EMPTY)

    thread = threading.Thread(target=disturb)
    thread.start()
    start = time.monotonic()
    assert reader.read(1, timeout=0.1)[0] == "timeout"
    done.set()
    thread.join()
    assert time.monotonic() - start < 60


def test_a_waiter_looks_around_by_itself(make):
    """Data that nobody announces, as after a writer's death, or when the other side takes bits that are not its own."""
    writer, reader = make(2)
    thread, found = in_thread(lambda: reader.read(1, timeout=None)[0])
    time.sleep(0.05)
    offset = writer.descriptor.grantors[1].offset
    os.pwrite(writer.descriptor.fds[0], ITEM.itemsize.to_bytes(8, "little"), offset)
    thread.join(600)
    assert found[0] == "ok"


def test_one_thread_per_side(make):
    _, reader = make(2)
    thread, found = in_thread(lambda: reader.read(1, timeout=None)[0])
    time.sleep(0.05)
    with pytest.raises(InvalidArgument, match="another thread is reading"):
        reader.read(1)
    assert reader.write(items(1)) == "ok"  # the other side is free
    thread.join(600)
    assert found[0] == "ok"


def test_signals_are_handled_while_waiting(make):
    import signal

    _, reader = make(2)

    def handler(*_):
        raise KeyboardInterrupt

    old = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        with pytest.raises(KeyboardInterrupt):
            reader.read(1, timeout=20)
    finally:
        signal.signal(signal.SIGALRM, old)
    assert reader.read(1) == ("timeout", None)


def test_without_an_event_flag_nobody_waits(make):
    writer, reader = make(2, event_flag=False)
    assert len(writer.descriptor.grantors) == 3 and not reader.has_event_flag
    assert writer.write(items(1)) == "ok" and numbers(reader.read(1)[1]) == [1]
    writer.wake(fmq.NOT_EMPTY)
    for wait in (lambda: reader.read(1, timeout=None), lambda: writer.write(items(1), timeout=1),
                 reader.wait_readable):
        with pytest.raises(InvalidArgument, match="has no event flag"):
            wait()
