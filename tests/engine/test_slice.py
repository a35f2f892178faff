"""When a thread of a run lets others have a processor that they want, too."""

import pytest

from nnfast._native.threads import Slice

MS = 1_000_000


class Thread:
    """A thread that works in shares; what it does before each, by the milliseconds since its last absence."""

    def __init__(self, tick=4):
        self.slice, self.tick = Slice(), tick
        self.now, self.absences, self.back = 10**12, 0, 10**12
        self.done = []

    def work(self, ms, share=0.1):
        for _ in range(round(ms / share)):
            self.now += int(share * MS)
            step = self.slice.next(self.now, self.absences, self.tick * MS)
            if step != "keep":
                self.done.append((step, (self.now - self.back) / MS))
            if step == "yield":
                self.slice.begin(self.now)
        return self

    def is_away(self, ms=4):
        """Put aside, or asleep."""
        self.now += int(ms * MS)
        self.absences, self.back = self.absences + 1, self.now
        return self

    def when(self, step):
        return [ms for name, ms in self.done if name == step]


def test_it_asks_from_one_and_a_half_milliseconds_on():
    asked = Thread().is_away().work(2.9).when("ask")
    assert 1.5 <= asked[0] <= 2.1
    assert 2 <= len(asked) <= 6
    assert Thread().is_away().work(1.4).done == []


@pytest.mark.parametrize("tick, least", [(1, 3), (4, 3), (10, 7.5)])
def test_it_yields_after_three_quarters_of_a_tick_and_no_less_than_three_milliseconds(tick, least):
    first, second = Thread(tick).is_away().work(3 * least).when("yield")[:2]
    assert least <= first <= least + 0.8
    assert first + least <= second <= first + least + 0.8


@pytest.mark.parametrize("away", [0.05, 0.5, 4])
def test_a_thread_that_was_away_begins_anew(away):
    thread = Thread()
    for _ in range(20):
        thread.is_away(away).work(1.4)
    assert thread.done == []


@pytest.mark.parametrize("share", [0.0005, 0.003])
def test_short_shares_are_like_long_ones(share):
    thread = Thread().is_away().work(10, share)
    assert 1.5 <= thread.when("ask")[0] <= 2.1
    assert 3 <= thread.when("yield")[0] <= 3.8


@pytest.mark.parametrize("share", [0.0005, 0.1])
def test_it_looks_no_more_often_than_four_times_a_millisecond(share):
    assert 40 <= len(Thread().is_away().work(40, share).done) <= 160
