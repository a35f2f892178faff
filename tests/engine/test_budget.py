"""Budgets of memory: what is counted, what is refused, and owners that the collector frees at any moment."""

import gc
import threading
import time

import pytest

from nnfast._native.engine import Charge, Full, Tally
from nnfast.engine.budget import Budget
from nnfast.errors import ResourceExhaustedPersistent, ResourceExhaustedTransient


class Owner:
    """Something that memory is held for."""


def test_memory_counts_until_its_owner_goes():
    budget, owner = Budget(100), Owner()
    budget.take(60, owner, "main: weights")
    assert budget.used == 60
    with pytest.raises(ResourceExhaustedTransient, match="main: needs 41 bytes, the device's memory limit is 100 "
                       "and 40 are free"):
        budget.take(41, Owner(), "main")
    with pytest.raises(ResourceExhaustedPersistent, match="main: needs 101 bytes, the device's memory limit is 100"):
        budget.take(101, Owner(), "main")
    assert budget.used == 60
    del owner
    assert budget.used == 0


def test_a_budget_is_part_of_another():
    total = Budget(100, "the total")
    first, second = Budget(80, "the first", total), Budget(80, "the second", total)
    held = first.charge(70, "a")
    with pytest.raises(ResourceExhaustedTransient, match="the total is 100 and 30 are free"):
        second.charge(31, "b")
    assert (first.used, second.used, total.used) == (70, 0, 70)
    shared = second.charge(50, "b", only_here=True)
    assert (second.used, total.used) == (50, 70)
    held.lift()
    assert (first.used, total.used) == (0, 70)
    held.release()
    held.release()
    alone = total.charge(5, "c")
    alone.lift()
    assert total.used == 0
    shared.release()
    assert (first.used, second.used, total.used) == (0, 0, 0)


def test_the_collector_may_free_owners_inside_of_take():
    """A refusal allocates, so that the collector may run there and give back what others held in the same budget."""
    keep, reached, before = Owner(), [], gc.get_threshold()

    def work():
        for threshold in range(1, 60):
            gc.disable()
            gc.collect()
            budget, circle = Budget(100), Owner()
            circle.self = circle
            budget.take(60, circle, "garbage")
            del circle
            gc.set_threshold(threshold, 1, 1)
            gc.enable()
            try:
                budget.take(60, keep, "buffer")
            except ResourceExhaustedTransient:
                pass
            reached.append(threshold)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(600)
    gc.set_threshold(*before)
    gc.enable()
    assert not thread.is_alive() and len(reached) == 59


def test_a_finalizer_that_takes_inside_of_a_refusal():
    """Python code of others may run while a refusal is made: it may use the same budget."""
    budget = Budget(100)

    class Greedy:
        def __del__(self):
            taken.append(budget.charge(10, "in a finalizer"))

    taken, held = [], budget.charge(60, "held")
    greedy = Greedy()
    greedy.self = greedy
    del greedy
    before = gc.get_threshold()
    gc.set_threshold(1, 1, 1)
    try:
        with pytest.raises(ResourceExhaustedTransient):
            budget.charge(60, "refused")
        while not taken:  # another thread may collect at this moment, which makes collect() return at once
            gc.collect()
            time.sleep(0.001)
    finally:
        gc.set_threshold(*before)
    assert budget.used == 70 and len(taken) == 1
    held.release()


def test_a_shared_tally_leaves_as_much_as_it_holds():
    total = Tally(96, "total")
    first, second, third = (Tally(96, name, total, True) for name in ("first", "second", "third"))
    assert first.take(48) is None and first.take(1) is first
    assert second.take(24) is None and second.take(1) is second
    assert third.take(12) is None and third.take(1) is third
    first.give_back(48)
    assert third.take(12) is None and total.used == 48
    with pytest.raises(Full) as refused:
        Charge(first, 30)
    assert refused.value.tally is first and total.used == 48


def test_many_threads_count_right():
    total = Tally(1 << 40, "total")
    tallies = [Tally(1 << 40, f"{k}", total) for k in range(4)]

    def work(tally):
        for _ in range(20_000):
            Charge(tally, 3).release()
            tally.take(1)

    threads = [threading.Thread(target=work, args=(tally,)) for tally in tallies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert total.used == 80_000 and all(tally.used == 20_000 for tally in tallies)
