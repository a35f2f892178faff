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


def full_runs(took, count=20_000, stalls=()):
    """Share of the runs that were on both threads, of a program that takes 470 us on one.

    took(was_alone): (slept, ran) nanoseconds of a run on both, by whether the one before was on one; stalls: numbers of
    runs in which the other thread is held up for 5 ms.
    """
    room, now, full, was_alone = Room(), 0, 0, False
    for number in range(count):
        threads = room.advised(2, now)
        slept, ran = (0, 470_000) if threads == 1 else (5 * MS, 6 * MS) if number in stalls else took(was_alone)
        now += ran
        room.learn(threads, 2, slept, ran, now)
        full += threads == 2
        was_alone = threads == 1
    return full / count


def test_threads_that_had_to_be_woken_were_not_late():
    """The first run on both threads after some on one wakes the other, and takes longer than those on one."""
    share = full_runs(lambda was_alone: (600_000, 900_000) if was_alone else (0, 270_000), stalls=range(100, 2000, 100))
    assert share > 0.9


def test_threads_that_are_mostly_late_are_left_out():
    count = iter(range(1 << 30))
    assert full_runs(lambda was_alone: (3 * MS, 4 * MS) if next(count) else (0, 4 * MS)) < 0.05


def test_threads_come_back_soon_once_nobody_is_late():
    """The first run of a program is slow, and some after it are held up: averages of so few say little."""
    slow = iter([(0, 10 * MS)] + 3 * [(9 * MS, 10 * MS)])
    assert full_runs(lambda was_alone: next(slow, (0, 250_000)), count=4000) > 0.9


def shared_runs(took, count):
    """Which runs took both threads, of a program that takes took(number, threads) microseconds, and far longer at
    first.
    """
    room, now, shared = Room(), 0, []
    for number in range(count):
        threads = room.wanted(2)
        ran = 1000 * (took(number, threads) + 20_000 // (1 + number**3))
        now += ran
        room.learn(threads, 2, 0, ran, now)
        shared.append(threads == 2)
    return shared


def test_short_programs_run_on_one_thread_if_that_is_faster():
    """Both are tried first, and all threads at times again."""
    shared = shared_runs(lambda number, threads: (13, 20)[threads - 1], 5000)
    assert shared[:132] == [True] * 116 + [False] * 16
    assert 0 < sum(shared[132:]) < 0.02 * len(shared)


def test_short_programs_run_on_all_threads_if_that_is_faster():
    shared = shared_runs(lambda number, threads: (200, 130)[threads - 1], 5000)
    assert sum(shared[132:]) > 0.98 * (len(shared) - 132)


def test_long_programs_always_run_on_all_threads():
    assert all(shared_runs(lambda number, threads: (2500, 1500)[threads - 1], 3000))


def test_the_faster_way_is_found_again_when_it_changes():
    """As beside a process that comes and goes."""
    shared = shared_runs(lambda number, threads: 200 if threads == 1 else 130 if number // 20_000 % 2 else 400, 60_000)
    assert sum(shared[8000:20_000]) < 0.03 * 12_000
    assert sum(shared[28_000:40_000]) > 0.97 * 12_000
    assert sum(shared[48_000:]) < 0.03 * 12_000
