"""`nnfast serve`: its socket, the sockets of systemd, what it refuses; and the way of a model to the other process."""

import fcntl
import os
import socket
import stat
import subprocess
import sys
import threading
import time
from dataclasses import fields

import numpy as np
import pytest

import nnfast
from helpers.processes import fresh
from helpers.service import add_model, dense_model, endless_model, reach, state_model
from nnfast import config
from nnfast.cli import serve
from nnfast.cli.main import main
from nnfast.errors import ErrorStatus, InvalidArgument
from nnfast.service.server import listening, model_reader
from nnfast.service.server.listening import listen, passed_sockets
from nnfast.service.spawn import service_device, start
from nnfast.service.wire import models, protocol
from nnfast.service.wire.channel import Channel

X = np.ones(4, np.float32)


def packets():
    return socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def test_the_socket_is_for_the_user_alone(tmp_path):
    path = str(tmp_path / "s")
    listener = listen(path)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    with pytest.raises(InvalidArgument, match="serves there already"):
        listen(path)
    listener.close()
    listen(path).close()  # nobody serves any more: it is replaced


def test_two_starts_at_one_abandoned_socket_do_not_both_serve(tmp_path, monkeypatch):
    path = str(tmp_path / "s")
    listen(path).close()
    about_to_replace, other_has_tried, unlink = threading.Event(), threading.Event(), os.unlink
    outcomes = []

    def slow_unlink(name):
        about_to_replace.set()
        other_has_tried.wait(600)
        unlink(name)

    def start_one():
        try:
            outcomes.append(listen(path))
        except InvalidArgument as error:
            outcomes.append(str(error))

    monkeypatch.setattr(listening.os, "unlink", slow_unlink)
    first = threading.Thread(target=start_one)
    first.start()
    assert about_to_replace.wait(600)
    monkeypatch.setattr(listening.os, "unlink", unlink)
    second = threading.Thread(target=start_one)
    second.start()
    second.join(0.3)  # it either serves by now, or it has to wait for the first
    other_has_tried.set()
    first.join(600)
    second.join(600)
    texts = [outcome for outcome in outcomes if isinstance(outcome, str)]
    assert len(outcomes) == 2 and len(texts) == 1 and "serves there already" in texts[0]
    with packets() as client:
        client.connect(path)
    next(outcome for outcome in outcomes if not isinstance(outcome, str)).close()


def test_a_folder_that_others_keep_locked_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(listening, "LOCK_SECONDS", 0)
    fd = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_EX)
    with pytest.raises(InvalidArgument, match="somebody has held the lock of the folder"):
        listen(str(tmp_path / "s"))
    os.close(fd)
    listen(str(tmp_path / "s")).close()


def test_a_driver_that_is_stopped_with_a_full_queue_is_in_the_way(tmp_path):
    path = str(tmp_path / "s")
    with packets() as listener:
        listener.bind(path)
        listener.listen(0)
        with packets() as client:
            client.connect(path)
            with pytest.raises(InvalidArgument, match="serves there already"):
                listen(path)


def test_only_the_folder_of_nnfast_is_made(tmp_path, monkeypatch):
    monkeypatch.setenv("NNFAST_CACHE_DIR", str(tmp_path / "ours"))
    monkeypatch.delenv("NNFAST_SOCKET", raising=False)
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    listen(config.socket_path()).close()
    assert stat.S_IMODE(os.stat(tmp_path / "ours").st_mode) == 0o700
    with pytest.raises(InvalidArgument, match="folder .*theirs does not exist"):
        listen(str(tmp_path / "theirs" / "s"))
    assert not (tmp_path / "theirs").exists()


def test_what_is_in_the_way_is_left_alone(tmp_path):
    path = tmp_path / "file"
    path.write_text("mine")
    with pytest.raises(InvalidArgument, match="is not a socket"):
        listen(str(path))
    assert path.read_text() == "mine"
    stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    stream.bind(str(tmp_path / "stream"))
    stream.listen()
    with pytest.raises(InvalidArgument, match="somebody else's"):
        listen(str(tmp_path / "stream"))
    stream.close()
    with pytest.raises(InvalidArgument, match="too long"):
        listen(str(tmp_path / ("x" * 150)))


def test_a_killed_process_leaves_a_socket_that_the_next_one_replaces(tmp_path):
    path = str(tmp_path / "s")
    first = start(path)
    reach(path)
    first.kill()
    first.wait()
    assert os.path.exists(path)
    second = start(path)
    device = reach(path)
    assert device.pid == second.pid
    third = start(path)
    assert third.wait(600) == 2
    assert (device.prepare(add_model()).run([X, X])[0] == 2).all()
    second.terminate()
    assert second.wait(600) == 0 and not os.path.exists(path)


def test_sockets_of_systemd(tmp_path):
    path = str(tmp_path / "s")
    listener = packets()
    listener.bind(path)
    listener.listen()
    code = ("import os, sys; os.dup2(int(sys.argv[1]), 3); os.environ.update(LISTEN_PID=str(os.getpid()), "
            "LISTEN_FDS='1'); sys.path[:0] = sys.argv[2:]; from nnfast.cli.main import main; "
            "sys.exit(main(['serve', '--exit-idle', '3']))")
    process = subprocess.Popen([sys.executable, "-c", code, str(listener.fileno()), *sys.path],
                               pass_fds=[listener.fileno()])
    listener.close()
    device = reach(path)
    assert device.pid == process.pid
    assert (device.prepare(add_model()).run([X, X])[0] == 2).all()
    device.close()
    assert process.wait(600) == 0
    assert os.path.exists(path)  # it is systemd's


def test_variables_for_other_processes_are_ignored(monkeypatch):
    monkeypatch.setenv("LISTEN_FDS", "1")
    monkeypatch.setenv("LISTEN_PID", "1")
    assert passed_sockets() == []
    monkeypatch.setenv("LISTEN_PID", str(os.getpid()))
    monkeypatch.setenv("LISTEN_FDS", "many")
    assert config.passed_listeners() == 0
    assert "LISTEN_FDS" not in os.environ


def test_default_path(monkeypatch, tmp_path):
    monkeypatch.delenv("NNFAST_SOCKET", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert config.socket_path() == str(tmp_path / "nnfast.sock")
    monkeypatch.setenv("NNFAST_SOCKET", "/elsewhere")
    assert config.socket_path() == "/elsewhere"
    monkeypatch.delenv("NNFAST_SOCKET")
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    monkeypatch.setenv("NNFAST_CACHE_DIR", str(tmp_path / "cache"))
    assert config.socket_path() == str(tmp_path / "cache" / "nnfast.sock")


@pytest.mark.parametrize("args, words", [(["--threads", "100000"], "threads: is 100000"),
                                         (["--extensions", "/no/such/file"], "No such file"),
                                         (["--socket", "/proc/x/y"], "/proc")])
def test_bad_options(capsys, args, words):
    assert main(["serve", *args]) == 2
    assert words in capsys.readouterr().err


def test_nobody_serves(tmp_path):
    with pytest.raises(nnfast.DeadObject, match="nnfast serve"):
        nnfast.connect(tmp_path / "s")
    with pytest.raises(nnfast.DeadObject):
        nnfast.connect(tmp_path / "s", patience=0.1)


def test_a_connection_that_is_closed_at_hello(tmp_path):
    listener = packets()
    listener.bind(str(tmp_path / "s"))
    listener.listen()
    import threading

    def close():
        listener.accept()[0].close()

    thread = threading.Thread(target=close)
    thread.start()
    with pytest.raises(nnfast.DeadObject):
        nnfast.connect(tmp_path / "s")
    thread.join()
    listener.close()


def test_the_device_of_the_conformance_route():
    device = service_device(1)
    assert device.num_threads == 1 and device.pid != os.getpid()
    device.close()


def test_precision_is_the_clients(tmp_path):
    path = str(tmp_path / "s")
    process = start(path, "--threads", "1")
    try:
        exact, fast = reach(path), nnfast.connect(path, precision="bf16")
        assert (exact.precision, fast.precision) == (None, "bf16")
        assert fast.prepare(dense_model()).explain().precision == "bf16"
        with pytest.raises(InvalidArgument, match="precision"):
            nnfast.connect(path, precision="fp4")
    finally:
        process.kill()
        process.wait()


# -- models ------------------------------------------------------------------------------------------------------------
def through_memory(model):
    fd = models.pack(model)
    try:
        return model_reader.unpack(model_reader.open_bytes(fd, 1 << 30))
    finally:
        os.close(fd)


def same(a, b):
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if hasattr(a, "__dataclass_fields__"):
        return all(same(getattr(a, field.name), getattr(b, field.name)) for field in fields(a) if field.compare)
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


@pytest.mark.parametrize("model", [add_model(), dense_model(), endless_model(), state_model()])
def test_models_arrive_as_they_were(model):
    got = through_memory(model)
    assert same(model, got)
    for operand in got.main.operands:
        assert operand.data is None or not operand.data.flags.writeable


def test_a_model_that_no_message_can_hold_is_refused():
    from dataclasses import replace

    model = add_model()
    wrong = replace(model.main.operands[0], dims=("four",), name=object())
    with pytest.raises(InvalidArgument, match="cannot be sent"):
        models.pack(model.with_main(operands=(wrong, *model.main.operands[1:])))
    text = replace(model.main.operands[0], dims=("four",))
    with pytest.raises(InvalidArgument, match=r"main\.operand\[0\]: Expected `int`, got `str`"):
        through_memory(model.with_main(operands=(text, *model.main.operands[1:])))


def test_messages_survive_the_channel():
    a, b = (Channel(end) for end in socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET))
    sent = [protocol.Run(1, [protocol.Place(0, (4,)), None], [64], 0, 3, 1.5),
            protocol.Execute(1, [protocol.Argument(0, 0, 4, (), False)], [], [protocol.Pool("arena", 0, 4, False)]),
            protocol.Release([("prepared", 1)] * 500),
            protocol.Prepare("low_power", "low", None, [f"operand {place}" for place in range(10_000)])]
    for message in sent:
        a.send(message, [0])
        fds = []
        assert b.receive(protocol.FROM_CLIENT, fds) == message
        assert len(fds) == 1
        os.close(fds[0])
    a.close()
    assert b.receive(protocol.FROM_CLIENT, []) is None
    b.close()


def test_every_call_has_a_handler():
    from nnfast.service.server.connection import HANDLERS

    assert set(HANDLERS) == set(protocol.CALLS)
    tags = [kind.__struct_config__.tag for kind in (*protocol.ONE_WAY, *protocol.CALLS, *protocol.ANSWERS)]
    assert len(tags) == len(set(tags))


# -- the process as a whole --------------------------------------------------------------------------------------------
def fill_model():
    """y = FILL(shape, 1): as large as the execution says."""
    b = nnfast.ModelBuilder("fill")
    shape = b.input("TENSOR_INT32", (1,), name="shape")
    return b.operation("FILL", [shape, b.scalar(np.float32(1))], [b.output("TENSOR_FLOAT32", (0,))]).build()


def test_one_client_cannot_take_all_memory(tmp_path):
    path = str(tmp_path / "s")
    process = start(path, "--threads", "1", "--memory-limit", str(1 << 20))
    try:
        greedy, other = reach(path), nnfast.connect(path)
        prepared = other.prepare(add_model())
        fill = greedy.prepare(fill_model())
        assert fill.run([np.int32([5])])[0].tolist() == [1.0] * 5
        for elements in (2**29, 2**30 - 1):
            with pytest.raises(nnfast.Error) as caught:
                fill.run([np.int32([elements])])
            assert "RESOURCE_EXHAUSTED" in caught.value.status.name
        assert (prepared.run([X, X])[0] == 2).all()
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()


def test_quota_of_sessions(tmp_path):
    from helpers.service import serving
    from nnfast.service.server.quotas import Quotas

    with serving(tmp_path, quotas=Quotas(sessions=2)) as (path, _):
        first, _second = nnfast.connect(path), nnfast.connect(path)
        with pytest.raises(nnfast.errors.ResourceExhaustedTransient, match="sessions of one process is 2"):
            nnfast.connect(path)
        first.close()
        assert nnfast.connect(path, patience=5).prepare(add_model())


def test_an_error_of_the_servers_own_costs_one_client(tmp_path, monkeypatch):
    from helpers.service import serving, until

    with serving(tmp_path) as (path, server):
        good, bad = nnfast.connect(path), nnfast.connect(path)
        assert until(lambda: len(server.sessions()) == 2)
        monkeypatch.setattr(server.sessions()[1], "release", lambda items: 1 / 0)
        bad._session.tell(protocol.Release([]))
        assert until(lambda: len(server.sessions()) == 1)
        with pytest.raises(nnfast.DeadObject):
            bad.prepare(add_model())
        assert (good.prepare(add_model()).run([X, X])[0] == 2).all()


def test_no_descriptors_left_is_survived(tmp_path):
    import resource

    path = str(tmp_path / "s")
    process = start(path, "--threads", "1")
    try:
        device = reach(path)
        prepared = device.prepare(add_model())
        time.sleep(0.3)  # the model's memory is closed after the answer
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (len(os.listdir(f"/proc/{process.pid}/fd")), 4096))
        refused = []
        for _ in range(3):
            sock = packets()
            sock.settimeout(0.1)
            sock.connect(path)
            refused.append(sock)
        for _ in range(3):  # its arena does not arrive
            with pytest.raises(nnfast.Error, match="descriptor") as caught:
                prepared.run([X, X])
            assert caught.value.status in (ErrorStatus.RESOURCE_EXHAUSTED_TRANSIENT, ErrorStatus.GENERAL_FAILURE)
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (4096, 4096))
        assert (prepared.run([X, X])[0] == 2).all()
        assert nnfast.connect(path).prepare(add_model())
        for sock in refused:
            sock.close()
    finally:
        process.kill()
        process.wait()


def test_no_threads_left_is_survived(tmp_path, monkeypatch):
    from helpers.service import serving
    from nnfast.service.server.connection import Connection

    with serving(tmp_path) as (path, server):
        device = nnfast.connect(path)
        with monkeypatch.context() as context:
            context.setattr(Connection, "start", lambda self: (_ for _ in ()).throw(RuntimeError("no new thread")))
            with pytest.raises(nnfast.errors.ResourceExhaustedTransient, match="no new thread"):
                device.prepare(add_model())
        assert not server.sessions()[0].connections
        assert (device.prepare(add_model()).run([X, X])[0] == 2).all()


@pytest.mark.parametrize("options", [
    ["--memory-limit", "1e23"], ["--memory-limit", str(10**23)], ["--memory-limit", "9" * 5000],
    ["--memory-limit", "0"],
    ["--client-memory", str(1 << 64)], ["--threads", str(10**23)], ["--drain", "nan"], ["--drain", "inf"],
    ["--drain", "-1"], ["--exit-idle", "nan"], ["--exit-idle", "1e300"],
])
def test_numbers_that_mean_nothing_are_refused_in_one_line(tmp_path, options, capsys):
    with pytest.raises(SystemExit) as caught:
        main(["serve", "--socket", str(tmp_path / "s"), *options])
    text = capsys.readouterr().err
    assert caught.value.code == 2 and "nnfast: error: " in text
    assert text.count("\n") == 1 and len(text) < 1000 and not (tmp_path / "s").exists()


@pytest.mark.parametrize("more", [0, 4 << 30])
def test_private_memory_has_a_limit_where_the_process_can_live_within_it(more):
    """It cannot under a sanitizer, whose shadow of memory is larger than any limit."""
    most = (2 << 20) + serve.HEADROOM_BYTES
    held, limit = map(int, fresh("""
import mmap, resource, sys
from nnfast.cli.serve import prepare_process
kept = mmap.mmap(-1, int(sys.argv[1]) + 1, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)  # MAP_NORESERVE
print(mmap.PAGESIZE * int(open("/proc/self/statm").read().split()[5]))
prepare_process(1 << 20)
print(resource.getrlimit(resource.RLIMIT_DATA)[0])
""", str(more)).split())
    assert held > more and (limit == most) == (held < most)


TOLD = """
import os, signal, sys, threading, time
from nnfast.cli.main import main
def tell():
    while not os.path.exists(sys.argv[1]):
        time.sleep(0.01)
    time.sleep(0.2)
    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)
threading.Thread(target=tell, daemon=True).start()
sys.exit(main(["serve", "--socket", sys.argv[1]]))
"""


def test_a_signal_to_another_thread_ends_the_process(tmp_path):
    """It does not end what the thread that serves waits for, as one that comes right before it waits does not."""
    subprocess.run([sys.executable, "-c", TOLD, tmp_path / "s"], check=True, timeout=600)
