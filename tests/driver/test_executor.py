"""The Executor: which path runs take, and what twins share."""

from dataclasses import replace

import numpy as np
import pytest

import nnfast
from helpers import models
from nnfast._native.threads import Cancel
from nnfast.driver.execution import NO_LIMITS
from nnfast.errors import Cancelled, InvalidArgument, ResourceExhaustedTransient

X = np.arange(6, dtype=np.float32).reshape(2, 3) - 2


@pytest.fixture
def prepared():
    return nnfast.Device(1).prepare(models.two_step_model())


def names(prepared):
    return [info.name for info in prepared.inputs]


WAYS = {
    "list": lambda p: p.run([X, X]), "tuple": lambda p: p.run((X, X)),
    "out": lambda p: p.run([X, X], [np.empty_like(X)]), "tuple of out": lambda p: p.run([X, X], (np.empty_like(X),)),
    "dict": lambda p: list(p.run(dict.fromkeys(names(p), X)).values()), "submit": lambda p: p.submit([X, X]).result(),
    "stream": lambda p: p.stream().run([X, X]),
    "within limits": lambda p: p.executor.perform([X, X], None, replace(NO_LIMITS, cancel=Cancel())),
}


@pytest.mark.parametrize("way", WAYS)
def test_what_fits_takes_the_native_path(prepared, way):
    before = prepared.executor.runner.runs
    y, = WAYS[way](prepared)
    assert y.tobytes() == np.clip(X + X, 0, 6).tobytes()
    assert prepared.executor.runner.runs == before + 1


@pytest.mark.parametrize("way", WAYS)
def test_what_somebody_watches_does_not(prepared, way):
    before = prepared.executor.runner.runs
    with nnfast.profile():
        late = nnfast.Device(1).prepare(models.two_step_model())  # prepared while somebody watches
        results = [WAYS[way](one) for one in (prepared, late)]
        assert late.executor.runner.runs == 0
    assert all(y.tobytes() == np.clip(X + X, 0, 6).tobytes() for y, in results)
    assert prepared.executor.runner.runs == before
    assert late.run([X, X]) and late.executor.runner.runs == 1


def test_results_that_need_room_are_asked_for_first(prepared):
    asked = []
    limits = replace(NO_LIMITS, room=asked.append)
    prepared.executor.perform([X, X], [np.empty_like(X)], limits)
    assert asked == []
    prepared.executor.perform([X, X], None, limits)
    assert asked == [X.nbytes]

    def refuse(nbytes):
        raise ResourceExhaustedTransient("no room")

    with pytest.raises(ResourceExhaustedTransient, match="no room"):
        prepared.executor.perform([X, X], None, replace(NO_LIMITS, room=refuse))


def test_a_cancelled_run_says_so(prepared):
    cancel = Cancel()
    cancel.set()
    with pytest.raises(Cancelled):
        prepared.executor.perform([X, X], None, replace(NO_LIMITS, cancel=cancel))


def test_a_twin_shares_the_plan_and_no_working_memory(prepared):
    twin = prepared.twin(nnfast.Device(1), "high")
    assert twin.priority == "high" and prepared.priority == "medium"
    assert twin.executor.segment.items is prepared.executor.segment.items
    assert twin.run([X, X])[0].tobytes() == prepared.run([X, X])[0].tobytes()
    assert twin.executor.runner.runs == prepared.executor.runner.runs == 1
    prepared.close()
    assert twin.run([X, X])[0].tobytes() == np.clip(X + X, 0, 6).tobytes()


def test_a_closed_one_is_in_nobodys_way(prepared):
    """Profiles tell all models that they watch, the watchdog asks all for their memory: also those that are closed."""
    other = nnfast.Device(1).prepare(models.two_step_model())
    prepared.close()
    with nnfast.profile():
        other.run([X, X])
    assert other.executor.runner.runs == 0
    other.run([X, X])
    assert other.executor.runner.runs == 1
    prepared.executor.release_idle()
    assert prepared.executor.run_count() == 0


def test_a_closed_one_refuses(prepared):
    prepared.close()
    with pytest.raises(InvalidArgument, match="is closed"):
        prepared.executor.perform([X, X])
    assert prepared.executor.quick([X, X]) is None
