"""The asynchronous launch protocol [NN 3.1, 3.11]."""

import gc
import logging
import threading
import time
import weakref

import numpy as np
import pytest

from helpers.hal_clients import NO_TIME, Callback, Callback1_2, Callback1_3, Pools, add_model, prepare, raw_add
from nnfast.driver.background import Background
from nnfast.errors import ErrorStatus as S
from nnfast.hal import launch, v1_2, v1_3


def test_3_1_invalid_model_gives_callback_first_then_the_same_status(device):
    model, callback = raw_add(), Callback1_3()
    model.main.operands[1].numberOfConsumers = 1
    status = device.prepareModel_1_3(model, 1, 1, None, [], [], bytes(32), callback)
    assert callback.calls == [(S.INVALID_ARGUMENT, None)] and status == S.INVALID_ARGUMENT
    assert callback.threads == [threading.current_thread()]
    assert "main.operand[1]: numberOfConsumers is 1" in device.last_error()


@pytest.mark.parametrize("preference, priority", [(-1, 1), (3, 1), (1, -1), (1, 3), (None, 1), (True, 1), ("1", 1)])
def test_3_1_bad_preference_or_priority(device, preference, priority):
    callback = Callback1_3()
    assert device.prepareModel_1_3(add_model(), preference, priority, None, [], [], bytes(32), callback) == 4
    assert callback.calls == [(S.INVALID_ARGUMENT, None)]


def test_3_1_valid_model_that_is_not_supported_launches(device):
    model, callback = add_model(shape=(2, 3)), Callback1_3()
    model.main.operands[0].dimensions = [4, 3]  # neither equal to [2, 3] nor to be broadcast: an impossible sum
    status, flags = device.getSupportedOperations_1_3(model)
    assert (status, flags) == (S.NONE, [False])
    assert device.prepareModel_1_3(model, 1, 1, None, [], [], bytes(32), callback) == S.NONE
    status, prepared = callback.wait()
    assert status != S.NONE and prepared is None


def test_3_1_success_is_told_once_on_another_thread(face):
    callback = Callback()
    model = add_model(hal=face.hal)
    arguments = {"1.0": (), "1.1": (1,), "1.2": (1, [], [], bytes(32)), "1.3": (1, 1, None, [], [], bytes(32))}
    name = "prepareModel" if face.hal == "1.0" else f"prepareModel_{face.hal.replace('.', '_')}"
    assert getattr(face, name)(model, *arguments[face.hal], callback) == S.NONE
    status, prepared = callback.wait()
    assert status == S.NONE and prepared.hal == face.hal
    assert callback.threads[0] is not threading.current_thread()


def test_3_1_null_callback(face):
    model = add_model(hal="1.0")
    assert face.prepareModel(model, None) == S.INVALID_ARGUMENT
    assert face.last_error() == "callback: is null"
    prepared = prepare(face)
    assert prepared.execute(Pools(hal="1.0").request, None) == S.INVALID_ARGUMENT


@pytest.mark.parametrize("kind, method", [(Callback, "notify"), (Callback1_2, "notify_1_2"),
                                          (Callback1_3, "notify_1_3")])
def test_3_1_the_newest_notify_method_is_called(device, kind, method):
    callback = kind()
    assert prepare(device).execute_1_3(Pools().request, 0, None, None, callback) == S.NONE
    results = callback.wait()
    assert callback.methods == [method]
    assert len(results) == (1 if method == "notify" else 3)


def test_3_1_an_older_face_does_not_know_newer_methods(canonical):
    callback = Callback1_3()
    prepared = prepare(v1_2.Device(canonical))
    assert prepared.execute_1_2(Pools(hal="1.2").request, 0, callback) == S.NONE
    callback.wait()
    assert callback.methods == ["notify_1_2"]


def test_3_1_bad_request_gives_both(device):
    prepared, pools, callback = prepare(device), Pools(), Callback1_3()
    pools.request.outputs = []
    assert prepared.execute_1_3(pools.request, 1, None, None, callback) == S.INVALID_ARGUMENT
    assert callback.calls == [(S.INVALID_ARGUMENT, [], NO_TIME)]


def test_3_1_short_output_launches(device):
    prepared, callback = prepare(device), Callback1_3()
    assert prepared.execute_1_3(Pools(out_bytes=23).request, 1, None, None, callback) == S.NONE
    assert callback.wait() == (S.OUTPUT_INSUFFICIENT_SIZE, [v1_3.OutputShape([2, 3], False)], NO_TIME)


def test_3_1_passed_deadlines_launch(device):
    callback = Callback1_3()
    assert device.prepareModel_1_3(add_model(), 1, 1, time.monotonic_ns() - 1, [], [], bytes(32), callback) == S.NONE
    assert callback.wait() == (S.MISSED_DEADLINE_PERSISTENT, None)
    callback, prepared = Callback1_3(), prepare(device)
    assert prepared.execute_1_3(Pools().request, 1, 0, None, callback) == S.NONE
    assert callback.wait() == (S.MISSED_DEADLINE_PERSISTENT, [], NO_TIME)


@pytest.mark.parametrize("deadline", [(1 << 63) - 1, (1 << 64) - 1, None])
def test_3_16_the_largest_deadlines_are_none(device, deadline):
    status, _, _ = prepare(device).executeSynchronously_1_3(Pools().request, 0, deadline, None)
    assert status == S.NONE


@pytest.mark.parametrize("deadline, loop", [(-1, None), (1 << 64, None), ("now", None), (None, -1), (None, 1.5)])
def test_3_16_what_is_no_time_is_refused(device, deadline, loop):
    status, shapes, timing = prepare(device).executeSynchronously_1_3(Pools().request, 0, deadline, loop)
    assert (status, shapes, timing) == (S.INVALID_ARGUMENT, [], NO_TIME)


def test_1_4_new_statuses_become_general_failure_for_older_callbacks(device):
    callback = Callback1_2()
    assert prepare(device).execute_1_3(Pools().request, 1, 0, None, callback) == S.NONE
    assert callback.wait()[0] == S.GENERAL_FAILURE


def test_3_1_exceptions_of_callbacks_are_logged_and_swallowed(device, caplog):
    class Raises(Callback1_3):
        def notify_1_3(self, *results):
            super().notify_1_3(*results)
            raise KeyError("client bug")

    callback = Raises()
    with caplog.at_level(logging.ERROR, "nnfast"):
        assert prepare(device).execute_1_3(Pools().request, 0, None, None, callback) == S.NONE
        callback.wait()
        assert device.prepareModel_1_3(None, 1, 1, None, [], [], b"", Raises()) == S.INVALID_ARGUMENT
    assert "a callback raised" in caplog.text and "client bug" in caplog.text


def test_3_1_task_that_cannot_be_started(device, monkeypatch):
    def no_thread(self, priority, work):
        raise RuntimeError("can't start new thread")

    prepared, callback = prepare(device), Callback1_3()
    monkeypatch.setattr(Background, "execute", no_thread)
    assert device.prepareModel_1_3(add_model(), 1, 1, None, [], [], bytes(32), callback) == S.GENERAL_FAILURE
    assert callback.calls == [(S.GENERAL_FAILURE, None)]
    callback = Callback1_3()
    assert prepared.execute_1_3(Pools().request, 0, None, None, callback) == S.GENERAL_FAILURE
    assert callback.calls == [(S.GENERAL_FAILURE, [], NO_TIME)]


def test_bugs_of_the_driver_are_statuses_too(device, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(launch.models, "to_canonical", broken)
    callback = Callback1_3()
    assert device.prepareModel_1_3(add_model(), 1, 1, None, [], [], bytes(32), callback) == S.GENERAL_FAILURE
    assert callback.calls == [(S.GENERAL_FAILURE, None)] and "ZeroDivisionError: a bug" in device.last_error()


def test_the_reason_is_kept_per_thread(device):
    seen = []
    assert device.prepareModel_1_3(None, 1, 1, None, [], [], b"", Callback()) == S.INVALID_ARGUMENT
    thread = threading.Thread(target=lambda: seen.append(device.last_error()))
    thread.start()
    thread.join()
    assert seen == [""] and device.last_error() == "model: is NoneType, must be Model1_3"
    device.getSupportedOperations_1_3(add_model())
    assert device.last_error() == ""


def test_3_10_the_driver_keeps_no_reference_to_a_prepared_model(device):
    prepared = prepare(device)
    callback = Callback1_3()
    prepared.execute_1_3(Pools().request, 0, None, None, callback)
    callback.wait()
    seen = weakref.ref(prepared.prepared)
    del prepared
    for _ in range(6000):
        gc.collect()
        if seen() is None:
            return
        time.sleep(0.01)
    pytest.fail("the prepared model is still alive")


def test_3_8_many_executions_at_once_on_one_prepared_model(device):
    prepared, runs = prepare(device), [(Pools(), Callback1_3()) for _ in range(40)]
    for place, (pools, callback) in enumerate(runs):
        pools.input.view(np.float32)[:] = place
        assert prepared.execute_1_3(pools.request, 1, None, None, callback) == S.NONE
    for place, (pools, callback) in enumerate(runs):
        status, _, timing = callback.wait()
        assert status == S.NONE and timing.timeOnDevice <= timing.timeInDriver < 60e6
        assert (pools.output.view(np.float32) == place + 1).all()


def test_3_1_callbacks_that_block_hold_up_nobody(device):
    """Notify methods are oneway: what a client does in them, even waiting for other callbacks, is its own affair."""
    model, results = add_model(), []

    class RunsInside(Callback1_3):
        def notify_1_3(self, status, prepared):
            inner = Callback1_3()
            assert prepared.execute_1_3(Pools().request, 0, None, None, inner) == S.NONE
            results.append(inner.wait()[0])
            super().notify_1_3(status, prepared)

    callbacks = [RunsInside() for _ in range(12)]
    for callback in callbacks:
        assert device.prepareModel_1_3(model, 1, 1, None, [], [], bytes(32), callback) == S.NONE
    for callback in callbacks:
        callback.wait()
    assert results == [S.NONE] * 12
