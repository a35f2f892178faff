"""The other side writes anything into the region, at any time: calls answer, and keep to the data."""

import mmap
import threading
import time

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from helpers.fmq_items import ITEM, items
from nnfast import fmq

CAPACITY = 5
BYTES = ITEM.itemsize
LIMIT = 1 << 64
EDGES = [0, 1, BYTES, CAPACITY * BYTES, CAPACITY * BYTES + BYTES, LIMIT - 1, LIMIT - BYTES, LIMIT - 8, 1 << 63]
counters = st.one_of(st.sampled_from(EDGES), st.integers(0, LIMIT - 1), st.integers(0, 40).map(lambda n: n * BYTES))


def region(queue):
    """(counters and flag as arrays of one element, data as bytes)."""
    end = max(g.offset + g.extent for g in queue.descriptor.grantors)
    memory = mmap.mmap(queue.descriptor.fds[0], end)
    types = np.uint64, np.uint64, np.uint8, np.uint32
    return [np.frombuffer(memory, kind, g.extent // np.dtype(kind).itemsize, g.offset)
            for kind, g in zip(types, queue.descriptor.grantors)]


def sound(read, write):
    used = (write - read) % LIMIT
    return used <= CAPACITY * BYTES and used % BYTES == 0


@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(read=counters, write=counters, event=st.integers(0, 2 ** 32 - 1), n=st.integers(0, CAPACITY), used=st.booleans())
@example(read=LIMIT - 1, write=LIMIT - 1, event=0, n=0, used=False)
@example(read=1, write=48, event=0, n=0, used=True)
@example(read=24, write=168, event=0, n=1, used=True)  # the element that the reader knows of makes the counters sound
def test_any_counters(make, read, write, event, n, used):
    writer, reader = make(CAPACITY)
    if used:
        writer.write(items(1, 2))
        reader.read(1)
    r, w, _, flag = region(writer)
    r[0], w[0], flag[0] = read, write, event
    well = sound(read, write)
    count = (write - read) % LIMIT // BYTES
    assert reader.readable() == (count if well else -1)
    assert writer.writable() == (CAPACITY - count if well else -1)
    reasons = {reader.read(n)[0], writer.write(items(*range(n))), reader.read(n, timeout=1e-6)[0],
               writer.write(items(*range(n)), timeout=1e-6), writer.begin_write(n)[0], reader.begin_read(n)[0]}
    assert reasons <= {"ok", "timeout", "broken"}
    if not well and used:
        # Room or elements that a side knows of from before need no further look, and taking them moves a counter.
        assert "broken" in reasons or sound(int(r[0]), int(w[0]))
    elif not well:
        assert reasons == {"broken"}
        assert (int(r[0]), int(w[0])) == (read, write)  # nothing was published


@pytest.mark.parametrize("count", [CAPACITY * BYTES + BYTES, LIMIT - BYTES, BYTES + 1])
@pytest.mark.parametrize("side", ["reader", "writer"])
def test_a_waiter_is_told(make, side, count):
    """The counter turns bad while the other side sleeps."""
    writer, reader = make(CAPACITY)
    if side == "writer":
        writer.write(items(*range(CAPACITY)))
    found = []
    call = (lambda: found.append(reader.read(1, timeout=20)[0])) if side == "reader" else \
        (lambda: found.append(writer.write(items(9), timeout=20)))
    thread = threading.Thread(target=call)
    thread.start()
    time.sleep(0.03)
    r, w, _, _ = region(writer)
    if side == "reader":
        w[0] = count
    else:
        r[0] = (CAPACITY * BYTES - count) % LIMIT
    reader.wake(3)
    thread.join(600)
    assert found == ["broken"]


def test_a_side_that_writes_all_over_the_region_all_the_time(make):
    """Nothing but reasons comes back, and regions stay inside of the data."""
    writer, reader = make(CAPACITY)
    r, w, data, flag = region(writer)
    rng = np.random.default_rng(7)
    done = threading.Event()

    def disturb(chance):
        values = chance.integers(0, 64, 4) * chance.choice([1, 8, BYTES])
        w[0], r[0], flag[0] = values[0], values[1], values[2] % 4
        data[:] = values[3]

    def disturb_on():
        chance = np.random.default_rng(8)
        while not done.is_set():
            disturb(chance)

    def reasons():
        n = int(rng.integers(0, CAPACITY + 1))
        for side, begin in ((writer, writer.begin_write), (reader, reader.begin_read)):
            reason, views = begin(n)
            assert sum(len(view) for view in views) == (n if reason == "ok" else 0)
            for view in views:
                start = view.ctypes.data - side._data.ctypes.data
                assert 0 <= start and start % BYTES == 0 and start + view.nbytes <= CAPACITY * BYTES
            yield reason
        yield reader.read(n, timeout=1e-5)[0]
        yield writer.write(items(*range(n)), timeout=1e-5)

    seen = set()
    for _ in range(300):  # what was written before
        disturb(rng)
        seen.update(reasons())
    assert seen == {"ok", "timeout", "broken"}
    thread = threading.Thread(target=disturb_on)
    thread.start()
    end = time.monotonic() + 1.5
    try:
        while time.monotonic() < end:  # and what is written meanwhile
            seen.update(reasons())
    finally:
        done.set()
        thread.join()
    assert seen == {"ok", "timeout", "broken"}


def test_a_queue_mends_when_the_counters_do(make):
    """Broken is what the counters are now, not a state of this side."""
    writer, reader = make(CAPACITY)
    _, w, _, _ = region(writer)
    w[0] = 7
    assert reader.read(1)[0] == writer.write(items(1)) == "broken"
    fmq.MessageQueue.attach(writer.descriptor, ITEM, reset=True)
    assert writer.write(items(1)) == "ok" and reader.read(1)[0] == "ok"
