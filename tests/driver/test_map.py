"""PreparedModel.map: results in order, equal to those of single runs; what fails, and what is freed."""

import gc
import itertools
import os
import threading
import time
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nnfast
from helpers import models
from helpers.shared import MODELS
from nnfast.errors import GeneralFailure, InvalidArgument
from nnfast.service.spawn import service_device

FLOAT, BYTES = "TENSOR_FLOAT32", "TENSOR_QUANT8_ASYMM"


def codes_model(batch=1, softmax_axis=None, name="codes"):
    """8-bit fully connected layer of [batch, 6] to 4 codes; softmax_axis: followed by a softmax along this axis."""
    rng = np.random.default_rng(5)
    b = nnfast.ModelBuilder(name)
    x = b.input(BYTES, (batch, 6), 0.5, 128, name="x")
    w = b.constant(rng.integers(0, 255, (4, 6), np.uint8), BYTES, scale=0.25, zero_point=120)
    bias = b.constant(rng.integers(-90, 90, 4, np.int32), "TENSOR_INT32", scale=0.125)
    last = softmax_axis is None
    y = b.output(BYTES, (batch, 4), 4.0, 100, name="y") if last else b.operand(BYTES, (batch, 4), 4.0, 100)
    b.operation("FULLY_CONNECTED", [x, w, bias, b.scalar(0)], [y])
    if not last:
        z = b.output(BYTES, (batch, 4), 1 / 256, 0, name="z")
        b.operation("SOFTMAX", [y, b.scalar(np.float32(0.1)), b.scalar(softmax_axis)], [z])
    return b.build()


def gather_model():
    """Rows of a table by number: a number beyond it makes an execution fail."""
    b = nnfast.ModelBuilder("gather")
    table = b.constant(np.arange(12, dtype=np.float32).reshape(4, 3))
    numbers, y = b.input("TENSOR_INT32", (1,), name="numbers"), b.output(FLOAT, (1, 3), name="y")
    return b.operation("GATHER", [table, b.scalar(0), numbers], [y]).build()


def rows(count, seed=0):
    return np.random.default_rng(seed).integers(0, 255, (count, 6), np.uint8, endpoint=True)


@pytest.fixture(scope="module")
def codes():
    model = codes_model()
    return model, nnfast.Device(2).prepare(model)


class Counted:
    """Iterable of items that counts how many were taken."""

    def __init__(self, items, seconds=0):
        self.items, self.taken, self.seconds = items, 0, seconds

    def __iter__(self):
        for item in self.items:
            time.sleep(self.seconds)
            self.taken += 1
            yield item


# -- right -------------------------------------------------------------------------------------------------------------
@settings(max_examples=60)
@given(count=st.integers(0, 40), batch=st.sampled_from([1, 2, 3, 8]), clients=st.integers(1, 5),
       more=st.integers(0, 20), form=st.sampled_from(["array", "wide", "list", "generator", "dict", "names"]))
def test_bytes_of_single_runs_in_order(codes, count, batch, clients, more, form):
    _, prepared = codes
    x = rows(count, count)
    items = {"array": x, "wide": x[:, None], "list": list(x[:, None]), "generator": ([row[None]] for row in x),
             "dict": {"x": x}, "names": ({"x": row[None]} for row in x)}[form]
    with prepared.map(items, batch=batch, clients=clients, ahead=batch + more) as results:
        assert (results.batch, results.reason, results.clients) == (batch, "", clients)
        found = list(results)
    if form in ("dict", "names"):
        assert all(list(result) == ["y"] for result in found)
        found = [[result["y"]] for result in found]
    expected = [prepared.run([row[None]]) for row in x]
    assert [y.tobytes() for y, in found] == [y.tobytes() for y, in expected]
    assert all(y.shape == (1, 4) for y, in found)


@pytest.mark.parametrize("name", ["mobilenet_v1_0.25_128_int8", "mobilenet_v1_0.25_128_uint8",
                                  "mobilenet_v1_0.25_128_f32", "tts_like_f32"])
def test_shared_models(name):
    path = MODELS / f"{name}.tflite"
    if not path.exists():
        pytest.skip(f"no {path}")
    model = nnfast.load(path)
    prepared = nnfast.Device(2).prepare(model)
    rng = np.random.default_rng(3)
    info, = prepared.inputs
    items = [rng.uniform(-1, 1, info.shape).astype(np.float32) if info.dtype.kind == "f" else
             rng.integers(np.iinfo(info.dtype).min, 127, info.shape).astype(info.dtype) for _ in range(7)]
    expected = [prepared.run([item]) for item in items]
    for batch, clients in itertools.product((1, 3), (1, 2)):
        found = list(prepared.map(items, batch=batch, clients=clients))
        for ours, alone in zip(found, expected):
            for mine, other in zip(ours, alone):
                if mine.dtype.kind == "f" and batch > 1:
                    np.testing.assert_allclose(mine, other, atol=2e-5 * np.ptp(other))
                else:
                    assert mine.tobytes() == other.tobytes()


def test_several_inputs_by_name(device):
    prepared = device.prepare(models.two_step_model())
    x, z = (np.random.default_rng(k).standard_normal((5, 2, 3), np.float32) for k in range(2))
    found = [next(iter(y.values())) for y in prepared.map({"z": z, "x": x})]
    assert np.array_equal(found, np.clip(x + z, 0, 6))
    assert np.array_equal([y for y, in prepared.map(zip(x, z))], found)
    with pytest.raises(InvalidArgument, match="map inputs: is one array, the model has 2 inputs; give a dict"):
        prepared.map(x)
    with pytest.raises(InvalidArgument, match="map inputs: have 5 of 'x', 4 of 'z', must be as many items of each"):
        prepared.map({"x": x, "z": z[:4]})


def test_prepare_runs_on_the_clients_threads(codes):
    seen = set()

    def prepare(place):
        seen.add(threading.get_ident())
        return {"x": rows(1, place)}

    _, prepared = codes
    found = [y["y"] for y in prepared.map(range(20), batch=4, clients=2, prepare=prepare)]
    assert np.array_equal(found, [prepared.run([rows(1, place)])[0] for place in range(20)])
    assert threading.get_ident() not in seen


def test_a_model_of_any_batch(device):
    prepared = device.prepare(model := models.conv_model(batch=0))
    x = np.random.default_rng(2).standard_normal((4, 5, 5, 2), np.float32)
    results = prepared.map([x[:1], x[1:2], x[:3], x[3:]], batch=2, clients=1)
    assert results.batch == 2 and model is not None
    found = [y for y, in results]
    assert [y.shape[0] for y in found] == [1, 1, 3, 1]
    np.testing.assert_allclose(np.concatenate(found), prepared.run([x[[0, 1, 0, 1, 2, 3]]])[0], atol=1e-5)


def test_in_a_drivers_process():
    prepared = service_device(2).prepare(model := codes_model())
    x = rows(9)
    expected = [y for y, in nnfast.Device(1).prepare(model).map(x)]
    for batch, clients in ((1, 2), (4, 1)):
        results = prepared.map(x, batch=batch, clients=clients)
        assert results.batch == batch
        assert np.array_equal([y for y, in results], expected)


def test_within_a_memory_limit():
    device = nnfast.Device(2, memory_limit=1 << 20)
    prepared = device.prepare(model := codes_model())
    before = device.budget.used
    with prepared.map(rows(20), batch=4, clients=2) as results:
        assert len(list(results)) == 20 and model is not None
    del results
    gc.collect()
    prepared.release_idle()
    assert device.budget.used <= before


# -- where there is no batch -------------------------------------------------------------------------------------------
def test_items_that_would_not_stay_apart_run_alone(device):
    x = rows(6)
    for axis, batch in ((1, 3), (0, 1)):
        prepared = device.prepare(model := codes_model(softmax_axis=axis))
        results = prepared.map(x, batch=3)
        assert model is not None and results.batch == batch
        assert bool(results.reason) == (batch == 1)
        assert np.array_equal([y for y, in results], [prepared.run([row[None]])[0] for row in x])


def test_states_are_not_shared(device):
    prepared = device.prepare(model := models.counter_model())
    x = np.eye(3, dtype=np.float32)
    results = prepared.map(list(x), batch=3)
    assert model is not None and results.batch == 1 and "states" in results.reason
    assert np.array_equal([y for y, in results], x)


def test_constants_that_are_gone(device):
    prepared = device.prepare(models.wide_model(2, 2))
    with pytest.raises(InvalidArgument, match="map batch: is 2, .* keep the nnfast.Model"):
        prepared.map([], batch=2)
    assert list(prepared.map([])) == []


def test_constants_of_a_model_from_the_cache(tmp_path):
    model, x = models.wide_model(2, 8), np.ones((4, 8, 8, 16), np.float32)
    found = []
    for _ in range(2):  # stored, and restored
        prepared = nnfast.Device(1).prepare(model, cache_dir=str(tmp_path))
        results = prepared.map(x, batch=2)
        assert (results.batch, results.reason) == (2, "")
        found.append(np.array([y for y, in results]))
    assert found[0].tobytes() == found[1].tobytes()


# -- bounded -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("batch, clients, ahead, bound", [(1, 1, None, 2), (1, 3, None, 6), (4, 2, None, 16),
                                                          (4, 2, 5, 5), (1, 2, 1, 1)])
def test_inputs_are_taken_as_far_as_said(codes, batch, clients, ahead, bound):
    """Not further where they take a while, and never where it is said."""
    _, prepared = codes
    items = Counted(rows(50)[:, None], 0 if ahead else 0.005)
    results = prepared.map(items, batch=batch, clients=clients, ahead=ahead)
    assert items.taken == 0
    for delivered, _ in enumerate(results):
        assert items.taken - delivered <= bound
    assert (items.taken, delivered) == (50, 49)


@pytest.mark.parametrize("batch", [1, 4])
def test_short_items_go_to_a_client_several_at_a_time(codes, batch, monkeypatch):
    monkeypatch.setattr("nnfast.driver.mapping.CHUNK_NS", 1 << 60)  # all are short
    _, prepared = codes
    x = rows(1003)[:, None]
    wanted = [prepared.run([row])[0].tobytes() for row in x]
    items, most, found = Counted([*x[:700], x[0, :, :3], *x[700:]]), 0, []
    for result in prepared.map(items, batch=batch, clients=2, errors="return"):
        most = max(most, items.taken - len(found))
        found.append(result)
    assert 64 < most <= 2 * 2 * 64 * batch
    assert found[700].place == 700 and "map item 700" in str(found[700].error)
    assert [y.tobytes() for y, in found[:700] + found[701:]] == wanted


@settings(max_examples=40)
@given(st.sampled_from([1, 4]), st.integers(1, 3),
       st.lists(st.tuples(st.integers(1, 90), st.sampled_from([10_000, 100_000, 900_000, 9_000_000])), max_size=8))
def test_items_that_become_longer_and_shorter(codes, batch, clients, spells):
    """Chunks grow and shrink with them; what had gathered for a larger one is not lost."""
    clock, (_, prepared) = [0], codes
    spent = [ns for count, ns in spells for _ in range(count)]
    x = rows(len(spent))[:, None]

    def prepare(k):
        clock[0] += spent[k]
        return x[k]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nnfast.driver.mapping.now_ns", lambda: clock[0])
        found = [y.tobytes() for y, in prepared.map(range(len(spent)), batch, clients, prepare=prepare)]
    assert found == [prepared.run([row])[0].tobytes() for row in x]


def test_endless_inputs(codes):
    _, prepared = codes
    x = rows(1)
    found = list(itertools.islice(prepared.map(itertools.repeat(x)), 100))
    assert {y.tobytes() for y, in found} == {prepared.run([x])[0].tobytes()}


@pytest.mark.parametrize("batch", [1, 4])
def test_closing_early_frees_all(codes, batch):
    _, prepared = codes

    class Item:
        def __init__(self, array):
            self.array = array

        def __array__(self, dtype=None, copy=None):
            return self.array

    alive = []

    def items():
        while True:
            item = Item(rows(1))
            alive.append(weakref.ref(item))
            yield item
            del item

    results = prepared.map(items(), batch=batch, clients=2)
    next(results)
    results.close()
    results.close()
    gc.collect()
    assert len(alive) > batch and not any(ref() for ref in alive)
    assert list(results) == []
    with prepared.map(items()) as results:
        next(results)
    assert list(results) == []
    assert prepared.run([rows(1)])[0].shape == (1, 4)


def test_dropping_the_iterator_ends_its_threads(codes):
    _, prepared = codes
    before = set(threading.enumerate())
    results = prepared.map(itertools.repeat(rows(1)), clients=2)
    next(results)
    started = [thread for thread in threading.enumerate() if thread not in before]
    del results
    gc.collect()
    for thread in started:
        thread.join(60)
        assert not thread.is_alive()


# -- failures ----------------------------------------------------------------------------------------------------------
WRONG = {3: (np.zeros((1, 6), np.float32), "map item 3: run input 'x': dtype is float32, must be uint8"),
         7: (np.zeros((1, 5), np.uint8), "map item 7: run input 'x': shape is .1, 5., must be .1, 6."),
         8: ("text", "map item 8: run input 'x': is a str"), 9: ([], "map item 9: run: got 0 inputs, must be 1")}


@pytest.mark.parametrize("batch", [1, 4])
def test_failed_items_do_not_lose_the_rest(codes, batch):
    _, prepared = codes
    x = rows(12)[:, None]
    items = [WRONG[k][0] if k in WRONG else x[k] for k in range(12)]
    found = list(prepared.map(items, batch=batch, errors="return"))
    for k, result in enumerate(found):
        if k in WRONG:
            assert isinstance(result, nnfast.FailedItem) and result.place == k
            assert isinstance(result.error, InvalidArgument)
            with pytest.raises(InvalidArgument, match=WRONG[k][1]):
                raise result.error
        else:
            assert np.array_equal(result[0], prepared.run([x[k]])[0])


@pytest.mark.parametrize("batch", [1, 4])
def test_raised_errors_do_not_end_the_iterator(codes, batch):
    _, prepared = codes
    results = prepared.map([rows(1), None, b"", rows(1)], batch=batch)
    assert next(results)[0].shape == (1, 4)
    for place in (1, 2):
        with pytest.raises(InvalidArgument, match=f"^map item {place}: "):
            next(results)
    assert len(list(results)) == 1


def test_a_value_that_fails_alone_fails_in_a_batch(device):
    prepared = device.prepare(model := gather_model())
    numbers = np.array([[0], [3], [99], [1]], np.int32)
    for batch in (1, 2, 4):
        results = prepared.map(numbers, batch=batch, errors="return")
        assert results.batch == batch and model is not None
        found = list(results)
        assert isinstance(found[2], nnfast.FailedItem) and isinstance(found[2].error, GeneralFailure)
        assert str(found[2].error).startswith("map item 2: main.operation[0] GATHER")
        assert [found[k][0][0, 0] for k in (0, 1, 3)] == [0, 9, 3]


def test_errors_of_the_callers_own(codes):
    _, prepared = codes

    def prepare(place):
        if place == 1:
            raise KeyError("mine")
        if place == 2:
            raise StopIteration
        return rows(1)

    results = prepared.map(range(4), prepare=prepare)
    next(results)
    with pytest.raises(KeyError, match="mine") as caught:
        next(results)
    assert caught.value.__notes__ == ["map item 1"]
    with pytest.raises(RuntimeError, match="map item 2: prepare raised StopIteration"):
        next(results)
    assert len(list(results)) == 1


def test_inputs_that_raise_lose_nothing(codes):
    _, prepared = codes

    def broken():
        yield rows(1)
        yield rows(1)
        raise OSError("the disk is gone")

    results = prepared.map(broken(), batch=4)
    assert len([next(results), next(results)]) == 2
    with pytest.raises(OSError, match="the disk is gone"):
        next(results)
    assert list(results) == []


@pytest.mark.parametrize("options, text", [
    ({"batch": 0}, "map batch: is 0, must be a whole number from 1"), ({"clients": 0}, "map clients: is 0"),
    ({"batch": 4, "ahead": 3}, "map ahead: is 3, must be a whole number from 4"),
    ({"errors": "ignore"}, "map errors: is 'ignore', must be one of raise, return"),
    ({"prepare": 3}, "map prepare: is 3, must be a function"), ({"inputs": 5}, "map inputs: is 5, must be an array or"),
    ({"inputs": np.zeros(6, np.uint8)}, "map inputs: shape is .6., must have 2 or 3 dimensions"),
    ({"inputs": {"x": [1]}}, "map inputs 'x': is .1., must be an array"),
    ({"inputs": {"z": rows(1)}}, "run input 'z': no such input"),
])
def test_bad_arguments(codes, options, text):
    with pytest.raises(InvalidArgument, match=text):
        codes[1].map(**{"inputs": rows(2), **options})


def test_rows_that_do_not_divide(device):
    prepared = device.prepare(codes_model(batch=4))
    assert [y.shape for y, in prepared.map(rows(8))] == [(4, 4)] * 2
    with pytest.raises(InvalidArgument, match="the first dimension must be a multiple of 4"):
        prepared.map(rows(6))


def test_a_forked_child_has_its_own(codes):
    _, prepared = codes
    results = prepared.map(itertools.repeat(rows(1)))
    next(results)
    pid = os.fork()
    if not pid:
        code = 1
        try:
            fresh = len(list(prepared.map(rows(3)))) == 3
            for _ in range(100):
                next(results)
        except GeneralFailure as error:
            code = 0 if fresh and "belong to the parent process" in str(error) else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    next(results)
    results.close()
