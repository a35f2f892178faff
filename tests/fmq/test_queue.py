"""What a message queue does, one behaviour per test: two objects on the same memory, as two processes have them."""


import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from helpers.fmq_items import ITEM, items, numbers
from helpers.open_files import open_files
from nnfast import fmq
from nnfast.errors import InvalidArgument


def test_elements_arrive_in_order(make):
    writer, reader = make(8)
    assert writer.write(items(1, 2, 3)) == "ok"
    assert writer.write(items(4)) == "ok"
    reason, elements = reader.read(4)
    assert reason == "ok" and numbers(elements) == [1, 2, 3, 4]
    assert elements.dtype == ITEM


def test_an_empty_queue_has_nothing(make):
    writer, reader = make(4)
    assert reader.readable() == 0 and writer.writable() == 4
    assert reader.read(1) == ("timeout", None)
    writer.write(items(1))
    assert reader.read(2) == ("timeout", None)
    assert reader.readable() == 1


def test_a_full_queue_holds_its_capacity_and_no_more(make):
    writer, reader = make(4)
    assert writer.capacity == reader.capacity == 4
    assert writer.write(items(1, 2, 3, 4)) == "ok"
    assert (writer.writable(), reader.readable()) == (0, 4)
    assert writer.write(items(5)) == "timeout"
    assert numbers(reader.read(1)[1]) == [1]
    assert writer.write(items(5)) == "ok"
    assert numbers(reader.read(4)[1]) == [2, 3, 4, 5]


def test_a_write_is_all_or_nothing(make):
    writer, reader = make(4)
    writer.write(items(1, 2))
    assert writer.write(items(3, 4, 5)) == "timeout"
    assert writer.writable() == 2 and reader.readable() == 2


def test_more_than_the_capacity_is_too_big(make):
    writer, reader = make(4)
    assert writer.write(items(*range(5)), timeout=1) == "too_big"
    assert reader.read(5, timeout=1) == ("too_big", None)
    assert reader.read(1 << 62) == ("too_big", None)
    assert writer.begin_write(5) == ("too_big", ()) and reader.begin_read(5) == ("too_big", ())
    assert reader.wait_readable(5) == writer.wait_writable(5) == "too_big"
    assert reader.readable() == 0


@pytest.mark.parametrize("capacity", [1, 2, 3, 5, 7, 16, 63])
def test_wrapping_keeps_every_element(make, capacity):
    writer, reader = make(capacity)
    rng = np.random.default_rng(capacity)
    sent = received = 0
    while received < 40 * capacity:
        count = int(rng.integers(1, capacity + 1))
        if writer.write(items(*range(sent, sent + count))) == "ok":
            sent += count
        count = int(rng.integers(1, capacity + 1))
        reason, elements = reader.read(count)
        if reason == "ok":
            assert numbers(elements) == list(range(received, received + count))
            received += count
        assert reader.readable() == sent - received and writer.writable() == capacity - sent + received


@pytest.mark.parametrize("size", [1, 2, 3, 5, 12, 24, 100, 4097])
def test_elements_of_odd_sizes(make, size):
    writer, reader = make(5, np.dtype(f"V{size}"))
    data = np.random.default_rng(size).integers(0, 256, (23, size), np.uint8)
    for start in range(0, 21, 3):
        chunk = data[start:start + 3]
        assert writer.write(chunk.reshape(-1).view(f"V{size}")) == "ok"
        assert reader.read(3)[1].tobytes() == chunk.tobytes()


def test_nothing_is_written_and_read_at_once(make):
    writer, reader = make(2)
    assert writer.write(items()) == "ok"
    reason, elements = reader.read(0)
    assert reason == "ok" and elements.shape == (0,)


def test_arrays_of_any_order_are_written_in_theirs(make):
    writer, reader = make(8, np.int16)
    grid = np.arange(8, dtype=np.int16).reshape(2, 4)
    assert writer.write(grid[:, ::-1]) == "ok"
    assert reader.read(8)[1].tolist() == [3, 2, 1, 0, 7, 6, 5, 4]


# -- without copies ----------------------------------------------------------------------------------------------------
def test_regions_are_seen_after_commit(make):
    writer, reader = make(4)
    reason, (region,) = writer.begin_write(3)
    assert reason == "ok" and region.shape == (3,)
    region[:] = items(1, 2, 3)
    assert reader.readable() == 0
    writer.commit_write(2)
    reason, (region,) = reader.begin_read(2)
    assert reason == "ok" and numbers(region) == [1, 2]
    assert writer.writable() == 2
    reader.commit_read(2)
    assert (writer.writable(), reader.readable()) == (4, 0)


def test_regions_are_two_where_the_ring_wraps(make):
    writer, reader = make(4)
    writer.write(items(0, 0, 0))
    reader.read(3)
    reason, (first, second) = writer.begin_write(3)
    assert reason == "ok" and (len(first), len(second)) == (1, 2)
    first[:], second[:] = items(7), items(8, 9)
    writer.commit_write(3)
    reason, (first, second) = reader.begin_read(3)
    assert numbers(first) == [7] and numbers(second) == [8, 9]
    reader.commit_read(1)
    assert numbers(reader.read(2)[1]) == [8, 9]


def test_commits_of_more_than_was_given_are_refused(make):
    writer, reader = make(4)
    with pytest.raises(InvalidArgument, match="1 elements cannot be committed, 0 were given out"):
        writer.commit_write(1)
    writer.begin_write(2)
    with pytest.raises(InvalidArgument, match="3 elements cannot be committed, 2 were given out"):
        writer.commit_write(3)
    writer.commit_write(1)
    with pytest.raises(InvalidArgument, match="2 elements cannot be committed, 1 were given out"):
        writer.commit_write(2)
    assert reader.readable() == 1


def test_regions_outlive_the_queue():
    queue = fmq.MessageQueue.create(ITEM, 2)
    _, (region,) = queue.begin_write(2)
    queue.close()
    del queue
    region[:] = items(1, 2)
    assert numbers(region) == [1, 2]


# -- reset -------------------------------------------------------------------------------------------------------------
def test_attaching_may_reset(make):
    writer, reader = make(4)
    writer.write(items(1, 2, 3))
    reader.read(1)
    other = fmq.MessageQueue.attach(writer.descriptor, ITEM)
    assert other.readable() == 2
    other = fmq.MessageQueue.attach(writer.descriptor, ITEM, reset=True)
    assert (other.readable(), reader.readable(), writer.writable()) == (0, 0, 4)
    assert reader.read(1) == ("timeout", None)
    assert writer.write(items(7, 8, 9, 10)) == "ok"
    assert numbers(reader.read(4)[1]) == [7, 8, 9, 10]


# -- arguments ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", [object, "V0", np.dtype([("a", object)]), "nonsense"])
def test_elements_must_be_plain_bytes(dtype):
    with pytest.raises(InvalidArgument, match="message queue: "):
        fmq.MessageQueue.create(dtype, 4)


@pytest.mark.parametrize("capacity", [0, -1, 1.5, True, "4", None, 1 << 60])
def test_capacities_must_be_sensible(capacity):
    with pytest.raises(InvalidArgument, match="capacity is"):
        fmq.MessageQueue.create(ITEM, capacity)


@pytest.mark.parametrize("bad", [np.zeros(1, np.uint8), [1], b"abc", None])
def test_written_arrays_must_have_the_dtype(make, bad):
    writer, _ = make(2)
    with pytest.raises(InvalidArgument, match="elements are"):
        writer.write(bad)


@pytest.mark.parametrize("timeout", [-1, float("nan"), float("inf"), True, "1"])
def test_time_outs_must_be_times(make, timeout):
    _, reader = make(2)
    with pytest.raises(InvalidArgument, match="timeout is"):
        reader.read(1, timeout=timeout)


@pytest.mark.parametrize("spin_us", [-1, 1.5, True, 1 << 31, None])
def test_spinning_is_microseconds(make, spin_us):
    _, reader = make(2)
    with pytest.raises(InvalidArgument, match="spin_us is"):
        reader.read(1, spin_us=spin_us)


@pytest.mark.parametrize("n", [-1, 1.0, True, None, 1 << 63])
def test_counts_are_whole_numbers(make, n):
    _, reader = make(2)
    with pytest.raises(InvalidArgument, match="number of elements is"):
        reader.read(n)


@pytest.mark.parametrize("mask", [0, -1, True, 1.0, 1 << 32])
def test_masks_are_bits(make, mask):
    writer, _ = make(2)
    with pytest.raises(InvalidArgument, match="mask is"):
        writer.wake(mask)


def test_closed_and_dropped_queues_leave_no_files():
    before = open_files()
    for how in range(30):
        queue = fmq.MessageQueue.create(ITEM, 4)
        other = fmq.MessageQueue.attach(queue.descriptor, ITEM)
        if how % 2:
            queue.close()
            other.close()
        del queue, other
    assert not open_files() - before


# -- against a model ---------------------------------------------------------------------------------------------------
class QueueMachine(RuleBasedStateMachine):
    """Any sequence of calls against a list."""

    capacity = 7

    def __init__(self):
        super().__init__()
        self.writer = fmq.MessageQueue.create(ITEM, self.capacity)
        self.reader = fmq.MessageQueue.attach(self.writer.descriptor, ITEM)
        self.model, self.next = [], 0
        self.given = self.filled = None

    def fresh(self, n):
        return items(*range(self.next, self.next + n))

    def teardown(self):
        self.writer.close()
        self.reader.close()

    @rule(n=st.integers(0, 9))
    def write(self, n):
        expected = "too_big" if n > self.capacity else "ok" if n <= self.capacity - len(self.model) else "timeout"
        assert self.writer.write(self.fresh(n)) == expected
        self.filled = None
        if expected == "ok":
            self.model += range(self.next, self.next + n)
            self.next += n

    @rule(n=st.integers(0, 9))
    def read(self, n):
        expected = "too_big" if n > self.capacity else "ok" if n <= len(self.model) else "timeout"
        reason, elements = self.reader.read(n)
        assert reason == expected
        self.given = None
        if expected == "ok":
            assert numbers(elements) == self.model[:n]
            del self.model[:n]

    @rule(n=st.integers(0, 7))
    def begin_write(self, n):
        reason, regions = self.writer.begin_write(n)
        fits = n <= self.capacity - len(self.model)
        assert reason == ("ok" if fits else "timeout")
        self.filled = None
        if fits:
            fresh = self.fresh(n)
            for region in regions:
                region[:], fresh = fresh[:len(region)], fresh[len(region):]
            assert len(fresh) == 0
            self.filled = n

    @precondition(lambda self: self.filled is not None)
    @rule(data=st.data())
    def commit_write(self, data):
        n = data.draw(st.integers(0, self.filled))
        self.writer.commit_write(n)
        self.model += range(self.next, self.next + n)
        self.next += n
        self.filled = None

    @rule(n=st.integers(0, 7))
    def begin_read(self, n):
        reason, regions = self.reader.begin_read(n)
        assert reason == ("ok" if n <= len(self.model) else "timeout")
        self.given = None
        if reason == "ok":
            assert sum((numbers(region) for region in regions), []) == self.model[:n]
            self.given = n

    @precondition(lambda self: self.given is not None)
    @rule(data=st.data())
    def commit_read(self, data):
        n = data.draw(st.integers(0, self.given))
        self.reader.commit_read(n)
        del self.model[:n]
        self.given = None

    @rule(mask=st.sampled_from([1, 2, 3]))
    def wake(self, mask):
        self.reader.wake(mask)

    @rule(which=st.sampled_from(["reader", "writer"]))
    def attach_again(self, which):
        """Another object, which knows nothing, goes on where the last one stopped."""
        getattr(self, which).close()
        other = self.writer if which == "reader" else self.reader
        setattr(self, which, fmq.MessageQueue.attach(other.descriptor, ITEM))
        if which == "reader":
            self.given = None
        else:
            self.filled = None

    @invariant()
    def counts(self):
        assert self.reader.readable() == len(self.model)
        assert self.writer.writable() == self.capacity - len(self.model)


TestQueueMachine = QueueMachine.TestCase
TestQueueMachine.settings = settings(max_examples=60, stateful_step_count=40)
