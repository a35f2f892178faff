"""Turns of contestants, and what is made of their times."""

import pytest

from nnfast.bench import timing
from nnfast.bench.timing import Contestant, take_turns


@pytest.fixture
def clock(monkeypatch):
    """A clock that only the contestants move."""
    state = {"now": 0.0}
    monkeypatch.setattr(timing.time, "perf_counter", lambda: state["now"])
    monkeypatch.setattr(timing.time, "sleep", lambda seconds: None)

    def takes(name, seconds, log):
        def run():
            log.append(name)
            state["now"] += seconds
        return Contestant(name, run)
    return takes


def test_turns_alternate_and_start_with_a_run_that_does_not_count(clock):
    log = []
    pair = [clock("a", 0.02, log), clock("b", 0.06, log)]
    take_turns(pair, runs=4)
    assert [len(c.times_ms) for c in pair] == [4, 4]
    assert "".join(log) == "aaaa" + "bb" + "aa" + "bb" * 3
    assert pair[0].times_ms == pytest.approx([20] * 4) and pair[1].times_ms == pytest.approx([60] * 4)


def test_without_a_number_of_runs_time_decides(clock):
    log = []
    fast, slow = clock("f", 0.01, log), clock("s", 3.0, log)
    shares = []
    take_turns([fast, slow], seconds=1.0, at_least=3, progress=lambda done, total: shares.append((done, total)))
    assert len(fast.times_ms) == 100 and len(slow.times_ms) == 3
    assert shares == sorted(shares) and shares[-1] == (1000, 1000)


def test_summary():
    row = Contestant("a", None, [4.0, 1.0, 2.0, 3.0, 5.0]).summary()
    assert row == {"runs": 5, "min_ms": 1.0, "median_ms": 3.0, "spread_percent": pytest.approx(100 * 2 / 3)}
    assert Contestant("a", None, [2.0]).summary()["spread_percent"] == 0
