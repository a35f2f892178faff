"""The Executor: which path runs take, and what twins share."""

import gc
import weakref
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


def test_a_value_without_dimensions_takes_it_too():
    b = nnfast.ModelBuilder()
    x, y = b.input("TENSOR_FLOAT32", (1,)), b.output("TENSOR_FLOAT32", (1,))
    prepared = nnfast.Device(1).prepare(b.operation("RELU", [x], [y]).build())
    assert prepared.run([np.array(2, np.float32)])[0].tolist() == [2]
    assert prepared.executor.runner.runs == 1
    assert prepared.executor.quick([np.array(2, np.float64)]) is None
    assert prepared.executor.quick([np.float32([2])], [np.empty((), np.float32)]) is None


@pytest.mark.parametrize("dims", [(4,), (0,)])
def test_a_model_goes_with_its_last_user(dims):
    """And not with the next collection of cycles: clients' files and memory are held until then."""
    b = nnfast.ModelBuilder()
    x, y = b.input("TENSOR_FLOAT32", dims), b.output("TENSOR_FLOAT32", dims)
    prepared = nnfast.Device(1).prepare(b.operation("RELU", [x], [y]).build())
    for _ in range(3):
        prepared.run([np.ones(4, np.float32)])
    gone = weakref.ref(prepared.executor)
    gc.disable()
    try:
        del prepared
        assert gone() is None
    finally:
        gc.enable()


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
    twin = prepared.twin(nnfast.Device(1), "low_power", "high")
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


# -- plans that only executions know -------------------------------------------------------------------------------
@pytest.fixture
def open_batch():
    return nnfast.Device(1).prepare(models.conv_model(batch=0))


def images(batch):
    return np.random.default_rng(batch).uniform(-1, 1, (batch, 5, 5, 2)).astype(np.float32)


def test_shapes_that_came_before_take_the_native_path(open_batch):
    first = [open_batch.run([images(batch)])[0] for batch in (1, 3)]
    counts = [runner.runs for runner in open_batch.executor.recent.runners()]
    assert counts == [0, 0]
    for _ in range(2):
        for batch, y in zip((1, 3), first):
            assert open_batch.run([images(batch)])[0].tobytes() == y.tobytes()
    assert [runner.runs for runner in open_batch.executor.recent.runners()] == [2, 2]


def test_values_that_came_before_take_the_native_path():
    prepared = nnfast.Device(1).prepare(models.reshape_model())
    x = np.arange(12, dtype=np.float32).reshape(2, 6) - 5
    for shape in ((3, 4), (6, 2), (3, 4), (12, 1), (6, 2), (3, 4)):
        y, = prepared.run([x, np.int32(shape)])
        assert y.shape == shape and y.tobytes() == np.maximum(x, 0).tobytes()
    assert sorted(runner.runs for runner in prepared.executor.recent.runners()) == [0, 1, 2]
    assert prepared.executor.quick([x, np.int64([3, 4])]) is None
    assert prepared.executor.quick([x, (3, 4)]) is None
    assert prepared.executor.quick([x]) is None
    with pytest.raises(InvalidArgument):
        prepared.run([x, np.int32([3, 5])])


def test_watched_runs_of_such_plans_do_not(open_batch):
    x = images(2)
    y, = open_batch.run([x])
    with nnfast.profile() as seen:
        assert open_batch.run([x])[0].tobytes() == y.tobytes()
    assert [runner.runs for runner in open_batch.executor.recent.runners()] == [0]
    assert "CONV_2D" in str(seen)
    open_batch.run([x])
    assert [runner.runs for runner in open_batch.executor.recent.runners()] == [1]


def test_a_closed_one_keeps_no_such_plan(open_batch):
    open_batch.run([images(2)])
    recent = open_batch.executor.recent
    open_batch.close()
    assert recent.runners() == []
    assert open_batch.executor.quick([images(2)]) is None


def test_idle_memory_of_such_plans_is_released(open_batch):
    x = images(2)
    want = [open_batch.run([x])[0].tobytes() for _ in range(2)]
    assert open_batch.executor.run_count() == 2
    open_batch.executor.release_idle()
    assert [open_batch.run([x])[0].tobytes()] == want[:1]
