"""Either side may die at any time: nothing is left behind, and whoever waits is told [NN 3.12]."""

import os
import resource
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import nnfast
from helpers.processes import environment
from helpers.service import (
    FLOAT,
    add_model,
    add_request,
    core_ns,
    dense_model,
    endless_model,
    in_flight,
    reach,
    serving,
    state_model,
    until,
)
from nnfast import Memory, ModelBuilder, Role
from nnfast.driver.durations import MAXIMUM_LOOP_TIMEOUT_NS
from nnfast.errors import ErrorStatus
from nnfast.hal import v1_3
from nnfast.service.client.prepared import RemotePreparedModel
from nnfast.service.client.session import ClientSession
from nnfast.service.spawn import start

ONE = np.float32([1])
X = np.ones(4, np.float32)


@pytest.fixture
def process(tmp_path):
    """A driver's process; `.path` is its socket."""
    process = start(str(tmp_path / "nnfast.sock"), "--threads", "1")
    process.path = str(tmp_path / "nnfast.sock")
    yield process
    process.kill()
    process.wait()


def dead(call, *args):
    with pytest.raises(nnfast.DeadObject) as caught:
        call(*args)
    assert caught.value.status == ErrorStatus.DEVICE_UNAVAILABLE and "gone" in str(caught.value)


# -- the driver dies ---------------------------------------------------------------------------------------------------
def test_every_pending_and_later_call_is_told(process):
    device = reach(process.path)
    prepared, endless = device.prepare(add_model()), device.prepare(endless_model())
    stream, state = device.prepare(state_model()).stream(), device.prepare(dense_model())
    buffer = device.allocate([Role(prepared, 0)])
    gate = nnfast.Fence()
    waiting = prepared.execute_fenced(add_request(X, X, np.zeros(16, np.uint8)), [gate])
    shared = Memory.create(32)
    shared_waiting = prepared.execute_fenced(
        nnfast.Request((nnfast.RequestArgument(0, 0, 16), nnfast.RequestArgument(0, 16, 16)),
                       (nnfast.RequestArgument(1, 0, 16),), (shared, Memory.create(16))), [gate])
    running, outcome = endless.submit([ONE]), []
    thread = threading.Thread(target=lambda: outcome.append(pytest.raises(nnfast.DeadObject, endless.run, [ONE])))
    thread.start()
    time.sleep(0.1)
    process.kill()
    with pytest.raises(nnfast.DeadObject):
        running.result(600)
    thread.join(600)
    assert outcome
    assert waiting.fence.wait(600) == "error" and shared_waiting.fence.wait(600) == "error"
    for call in (lambda: prepared.run([X, X]), lambda: device.prepare(add_model()), lambda: stream.run([X[:2]]),
                 lambda: buffer.copy_from(X), lambda: state.explain(), waiting.info, lambda: prepared.submit([X, X]),
                 lambda: device.capabilities, lambda: prepared.execute(add_request(X, X, bytearray(16))),
                 lambda: prepared.execute_fenced(add_request(X, X, bytearray(16))), device.stats):
        dead(call)
    assert not device.is_available


def test_reconnect(process, tmp_path):
    device = reach(process.path)
    old = device.prepare(add_model())
    process.kill()
    process.wait()
    dead(old.run, [X, X])
    with pytest.raises(nnfast.DeadObject, match="nnfast serve"):
        device.reconnect()
    again = start(process.path, "--threads", "1")
    try:
        reach(process.path).close()
        device.reconnect()
        assert device.is_available
        assert (device.prepare(add_model()).run([X, X])[0] == 2).all()
        dead(old.run, [X, X])
    finally:
        again.kill()
        again.wait()


class Callback:
    def __init__(self):
        self.calls, self.told = [], threading.Event()

    def notify_1_3(self, *results):
        self.calls.append(results)
        self.told.set()


def hal_request():
    from nnfast.hal.layout import request_from_canonical

    one, out = Memory.create(4), Memory.create(4)
    one.array()[:] = ONE.view(np.uint8)
    return request_from_canonical(nnfast.Request((nnfast.RequestArgument(0, 0, 4),), (nnfast.RequestArgument(1, 0, 4),),
                                                 (one, out)), "1.3")


def test_callbacks_are_told_once_when_the_driver_dies(process):
    from nnfast.hal.layout import Layout

    face = v1_3.Device(reach(process.path))
    model = Layout(endless_model(), "1.3").model()
    made = Callback()
    assert face.prepareModel_1_3(model, 1, 1, None, [], [], bytes(32), made) == ErrorStatus.NONE
    assert made.told.wait(600)
    (status, prepared), = made.calls
    assert status == ErrorStatus.NONE
    ran = [Callback() for _ in range(5)]
    for callback in ran:
        assert prepared.execute_1_3(hal_request(), 0, None, MAXIMUM_LOOP_TIMEOUT_NS, callback) == ErrorStatus.NONE
    status, handle, info = prepared.executeFenced(hal_request(), [], 0, None, MAXIMUM_LOOP_TIMEOUT_NS, None)
    assert status == ErrorStatus.NONE
    time.sleep(0.1)
    process.kill()
    for callback in ran:
        assert callback.told.wait(600)
    time.sleep(0.1)
    assert [callback.calls for callback in ran] == [[(ErrorStatus.DEVICE_UNAVAILABLE, [],
                                                      v1_3.Timing())]] * len(ran)
    assert nnfast.Fence.from_fd(handle.fds[0]).wait(600) == "error"
    assert info.getExecutionInfo()[0] == ErrorStatus.DEVICE_UNAVAILABLE
    assert face.getStatus() == v1_3.DeviceStatus.OFFLINE
    late = Callback()
    assert prepared.execute_1_3(hal_request(), 0, None, None, late) == ErrorStatus.DEVICE_UNAVAILABLE
    assert len(late.calls) == 1 and late.calls[0][0] == ErrorStatus.DEVICE_UNAVAILABLE
    assert face.getCapabilities_1_3()[0] == ErrorStatus.DEVICE_UNAVAILABLE


STEPS = ("connect", "prepare", "allocate", "run", "execute", "fenced", "submit")


def test_a_killed_driver_is_noticed_at_every_step(tmp_path):
    path = str(tmp_path / "nnfast.sock")
    for delay in np.linspace(0.0, 0.12, 7):
        process = start(path, "--threads", "1")
        device = reach(path)
        killer = threading.Timer(delay, process.kill)
        killer.start()
        with pytest.raises(nnfast.DeadObject):
            for _ in range(10_000):
                prepared = device.prepare(dense_model())
                prepared.run([np.ones((1, 64), np.float32)])
                device.allocate([Role(prepared, 0)]).copy_from(np.ones((1, 64), np.float32))
                prepared.submit([np.ones((1, 64), np.float32)]).result(600)
        killer.join()
        process.wait()


# -- the client dies ---------------------------------------------------------------------------------------------------
def run_client(path, rounds):
    code = f"from helpers.client_steps import steps; steps({path!r}, {rounds})"
    return subprocess.Popen([sys.executable, "-c", code], env=environment(),
                            stdout=subprocess.PIPE)


def test_a_killed_client_leaves_nothing_behind(tmp_path):
    with serving(tmp_path) as (path, server):
        other = nnfast.connect(path)
        mine = other.prepare(dense_model())
        wanted = mine.run([np.ones((1, 64), np.float32)])[0]
        descriptors = []
        for delay in (0.0, 0.01, 0.02, 0.05, 0.1):
            client = run_client(path, 1000)
            assert client.stdout.readline() == b"round\n"
            time.sleep(delay)
            client.send_signal(signal.SIGKILL)
            client.wait()
            client.stdout.close()
            assert until(lambda: len(server.sessions()) == 1)
            assert until(lambda: not in_flight(server))
            np.testing.assert_array_equal(mine.run([np.ones((1, 64), np.float32)])[0], wanted)
            assert until(lambda: len(server.registry.roots()) == 1)
            time.sleep(0.1)
            descriptors.append(len(os.listdir("/proc/self/fd")))
        assert until(lambda: len(os.listdir("/proc/self/fd")) <= descriptors[0]), descriptors


def test_a_closed_client_frees_everything_at_once(server):
    device = nnfast.connect(server.path)
    prepared, gate = device.prepare(dense_model()), nnfast.Fence()
    add = device.prepare(add_model())
    waiting = add.execute_fenced(add_request(X, X, np.zeros(16, np.uint8)), [gate])
    session, = server.sessions()
    root, = [root for root in server.registry.roots() if len(root.users) and root.prepared.model.name == "dense"]
    budget = session.budget
    assert budget.used > 0
    device.close()
    assert until(lambda: not server.sessions())
    del root, session
    assert until(lambda: not server.registry.roots() and budget.used == 0)
    assert waiting.fence.wait(600) == "error"
    with pytest.raises(nnfast.DeadObject, match="closed"):
        prepared.run([np.ones((1, 64), np.float32)])


def test_a_closed_model_refuses_before_the_driver_has_heard_of_it(server, monkeypatch):
    monkeypatch.setattr(ClientSession, "drop", lambda *_: None)
    with nnfast.connect(server.path) as device:
        prepared = device.prepare(add_model())
        future, arrays = prepared.submit([X, X]), [X, X]
        prepared.close()
        for call in (lambda: prepared.run(arrays), lambda: prepared.submit(arrays), lambda: prepared.stream(),
                     lambda: prepared.execute(add_request(X, X, np.zeros(16, np.uint8))), lambda: prepared.explain(),
                     lambda: device.allocate((), (nnfast.Role(prepared, 0),))):
            with pytest.raises(nnfast.InvalidArgument, match="is closed; prepare the model again"):
                call()
        np.testing.assert_array_equal(future.result(600)[0], 2 * X)
        prepared.close()


def test_a_model_is_released_after_what_was_submitted(server, monkeypatch):
    """The driver may read a release before an execution that was sent earlier, on another connection."""
    gate, events, drop, finish = threading.Event(), [], ClientSession.drop, RemotePreparedModel._finish
    monkeypatch.setattr(ClientSession, "drop", lambda *told: (events.append("release"), drop(*told)))
    monkeypatch.setattr(RemotePreparedModel, "_finish", lambda *told: (
        gate.wait(600), events.append("finish"), finish(*told)))
    with nnfast.connect(server.path) as device:
        prepared = device.prepare(add_model())
        future = prepared.submit([X, X])
        prepared.close()
        gate.set()
        np.testing.assert_array_equal(future.result(600)[0], 2 * X)
        assert until(lambda: len(events) == 2), events
        assert events == ["finish", "release"]


def test_a_dropped_client_goes_without_being_closed(server):
    device = nnfast.connect(server.path)
    device.prepare(add_model())
    del device
    assert until(lambda: not server.sessions())


def test_a_socket_closed_in_the_middle_of_a_call(server):
    device, other = nnfast.connect(server.path), nnfast.connect(server.path)
    future = device.prepare(endless_model()).submit([ONE])
    assert until(lambda: core_ns(server))
    device._session._events.socket.shutdown(2)
    with pytest.raises(nnfast.DeadObject):
        future.result(600)
    assert until(lambda: not in_flight(server) and len(server.sessions()) == 1)
    assert (other.prepare(add_model()).run([X, X])[0] == 2).all()
    other.close()


def test_a_forked_child_has_to_connect_again(server):
    device = nnfast.connect(server.path)
    prepared = device.prepare(add_model())
    prepared.run([X, X])
    pid = os.fork()
    if not pid:
        code = 1
        try:
            try:
                prepared.run([X, X])
            except nnfast.DeadObject as error:
                code = 0 if "parent" in str(error) else 2
        finally:
            os._exit(code)
    assert os.waitpid(pid, 0)[1] == 0
    assert (prepared.run([X, X])[0] == 2).all()
    device.close()
    assert until(lambda: not server.sessions())


def test_a_client_without_descriptors_keeps_its_session(server):
    device = nnfast.connect(server.path)
    prepared = device.prepare(add_model())
    low, high = resource.getrlimit(resource.RLIMIT_NOFILE)
    running = device.prepare(endless_model()).submit([ONE])  # has the one connection that there is
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, high))
        with pytest.raises(nnfast.errors.ResourceExhaustedTransient, match="cannot create a socket"):
            prepared.run([X, X])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (low, high))
    assert (prepared.run([X, X])[0] == 2).all()
    running.cancel()
    device.close()


# -- clean ends --------------------------------------------------------------------------------------------------------
def long_model(steps=400):
    """Takes a while, and ends."""
    b = ModelBuilder("long")
    x = at = b.input(FLOAT, (256, 256), name="x")
    for step in range(steps):
        after = b.output(FLOAT, (256, 256), name="y") if step == steps - 1 else b.operand(FLOAT, (256, 256))
        b.operation("TANH", [at], [after])
        at = after
    return b.build(), np.ones((256, 256), np.float32), x


def test_sigterm_finishes_what_runs_and_refuses_what_is_new(process):
    device = reach(process.path)
    model, x, _ = long_model()
    prepared = device.prepare(model)
    prepared.run([x])
    futures = [prepared.submit([x]) for _ in range(3)]
    time.sleep(0.005)
    process.terminate()
    results = []
    for future in futures:
        try:
            results.append(future.result(600))
        except nnfast.Error as error:
            assert error.status == ErrorStatus.DEVICE_UNAVAILABLE
    assert results
    assert process.wait(600) == 0
    assert not os.path.exists(process.path)
    with pytest.raises(nnfast.errors.DeviceUnavailable):
        prepared.run([x])


def test_drain_has_an_end(tmp_path):
    process = start(str(tmp_path / "s"), "--threads", "1", "--drain", "0.2")
    device = reach(str(tmp_path / "s"))
    future = device.prepare(endless_model()).submit([ONE])
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    with pytest.raises((nnfast.Error, OSError)):
        future.result(600)
    assert process.wait(600) == 0


def test_exit_idle(tmp_path):
    process = start(str(tmp_path / "s"), "--threads", "1", "--exit-idle", "3")
    device = reach(str(tmp_path / "s"))
    time.sleep(3.5)
    assert process.poll() is None and device.is_available
    device.close()
    assert process.wait(600) == 0
