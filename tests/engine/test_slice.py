"""When a thread of a run gives up a processor that others want too."""

import pytest

from nnfast._native.threads import Slice

MS = 1_000_000


def ends(shares, tick=4):
    """Milliseconds after which a thread gives up its processor, of (work, time away, times that it was taken away)."""
    part, now, used, times, found = Slice(), 10**12, 0, 0, []
    for work, away, taken in shares:
        now += int((work + away) * MS)
        used += int(work * MS)
        times += taken
        if part.ends(now, used, times, tick * MS):
            found.append((now - 10**12) / MS)
            now, times = now + 2 * MS, times + 1  # somebody else has it
    return found


def wanted(count, work=0.1):
    """A thread whose processor has just been taken away, and then so many shares."""
    return [(work, 4, 1)] + [(work, 0, 0)] * count


def test_a_thread_gives_way_after_two_milliseconds():
    assert ends(wanted(17)) == []
    (first,) = ends(wanted(30))
    assert 4 + 2 <= first <= 4 + 2.5


@pytest.mark.parametrize("tick, least", [(1, 2), (4, 2), (10, 5)])
def test_a_slice_is_half_a_tick_and_no_shorter_than_two_milliseconds(tick, least):
    first, second = ends(wanted(30 * least), tick)[:2]
    assert 4 + least <= first <= 4 + least + 0.5
    assert first + 2 + least <= second <= first + 2 + least + 0.5


def test_a_thread_that_was_away_begins_anew():
    """Put aside, or asleep: it has its processor from then on."""
    assert ends(wanted(10) + wanted(10)) == []
    assert ends([(0.3, 0.5, 1)] * 100) == []


def test_interruptions_are_no_absence():
    assert len(ends([(0.1, 4, 1)] + [(0.29, 0.01, 0)] * 10)) == 1


def test_a_processor_that_nobody_else_wants_is_kept():
    assert ends([(0.1, 0, 0)] * 1000) == []
    assert ends([(0.1, 0, 0)] * 100 + [(0.1, 3, 0)] * 2 + [(0.1, 0, 0)] * 100) == []


def test_one_that_others_wanted_is_kept_after_a_while():
    part, now, found = Slice(), 10**12, []
    for place in range(2000):  # it is taken away once, and giving it up changes nothing
        now += MS // 10
        if part.ends(now, now - 10**12, place > 0, 4 * MS):
            found.append((now - 10**12) / MS)
    assert found and found[0] <= 2.5 and 40 <= found[-1] <= 55


@pytest.mark.parametrize("short", [0.0005, 0.003])
def test_short_shares_end_a_slice_as_long_ones_do(short):
    first, second = ends(wanted(int(6 / short), short) + [(0.5, 0, 0)] * 20)[:2]
    assert 4 + 2 <= first <= 4 + 2.5
    assert first + 2 + 2 <= second <= first + 2 + 2.5
