"""How many threads runs take beside others: fewer after one was late, more again after a while."""

from hypothesis import given
from hypothesis import strategies as st

from nnfast._native.threads import MAX_THREADS, Room

MS = 1_000_000


def test_all_threads_are_advised_at_first():
    room = Room()
    assert [room.advised(wanted, 0) for wanted in (1, 2, 8, MAX_THREADS)] == [1, 2, 8, MAX_THREADS]


def test_a_late_thread_is_left_out_for_some_milliseconds():
    room = Room()
    room.judge(8, True, 0)
    assert room.advised(8, 1) == room.advised(8, 4 * MS - 1) == 7
    assert room.advised(4, 1) == 4
    assert room.advised(8, 300 * MS) == 8


def test_threads_that_are_late_again_are_left_out_for_longer():
    room, now, pauses = Room(), 0, []
    for _ in range(9):
        room.judge(2, True, now)
        pause = next(ms for ms in range(1, 1000) if room.advised(2, now + ms * MS) == 2)
        pauses.append(pause)
        now += pause * MS
    assert pauses == sorted(pauses) and pauses[-1] == pauses[-2] == 256 and pauses[1] == 2 * pauses[0]


def test_threads_come_back_one_at_a_time():
    room, now = Room(), 0
    for threads in range(8, 3, -1):
        room.judge(threads, True, now)
    assert room.advised(8, now) == 3
    now += 1000 * MS
    for threads in range(4, 9):
        assert room.advised(8, now) == threads
        room.judge(threads, False, now)
    assert room.advised(MAX_THREADS, now) == 9


@given(st.lists(st.tuples(st.integers(2, MAX_THREADS), st.booleans(), st.integers(0, 1000)), max_size=50))
def test_advice_is_within_what_is_wanted(judgements):
    room, now = Room(), 0
    for threads, late, ms in judgements:
        now += ms * MS
        room.judge(threads, late, now)
        for wanted in (1, 2, 7, MAX_THREADS):
            assert 1 <= room.advised(wanted, now) <= wanted
        assert late or room.advised(threads, now) == threads
