"""A client is a process: what its sessions share, how it is known, and what it may hold of the driver's process."""

import fcntl
import os
import socket
import struct
import subprocess
import sys
import tempfile
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import nnfast
from helpers.raw_client import Raw, prepared_by, refused, sealed
from helpers.service import OtherProcess, add_model, add_request, dense_model, serving, until
from nnfast.errors import ErrorStatus, ResourceExhaustedPersistent, ResourceExhaustedTransient
from nnfast.service.server.allowlist import Allowlist
from nnfast.service.server.clients import Peer
from nnfast.service.server.quotas import Capacity, Quotas, tallies_of_client, tallies_of_user
from nnfast.service.wire import models, protocol
from nnfast.service.wire.channel import Channel
from nnfast.service.wire.protocol import Hello

X = np.ones(4, np.float32)
EXHAUSTED = ErrorStatus.RESOURCE_EXHAUSTED_TRANSIENT
RUN = "device.prepare(add_model()).run([np.ones(4, np.float32)] * 2)[0][0]"


def sparse(size, sealed=True):
    """Descriptor of a memfd that is all hole."""
    fd = os.memfd_create("sparse", os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, size)
    if sealed:
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
    return fd


# -- one process is one client -----------------------------------------------------------------------------------------
def test_sessions_of_one_process_share_its_turn_and_its_quotas(server):
    devices = [nnfast.connect(server.path) for _ in range(3)]
    with OtherProcess(server.path) as other:
        assert other.ask(RUN) == "2.0"
        sessions = server.sessions()
        clients = [session.client for session in sessions]
        assert len(sessions) == 4 and [clients.index(client) for client in clients] == [0, 0, 0, 3]
        assert len({id(session.device.gate) for session in sessions}) == 2
        used = [session.budget.used for session in sessions]
        kept = devices[1].prepare(dense_model())
        assert [session.budget.used > before for session, before in zip(sessions, used)] == [True, True, True, False]
        assert [row["memory_bytes"] for row in kept.device.stats()["clients"]][0] == clients[0].budget.used
    del sessions, clients
    for device in devices:
        device.close()
    assert until(lambda: not server.sessions() and not server.clients._processes)


def test_priorities_act_between_sessions_of_one_process(server):
    first, second = nnfast.connect(server.path), nnfast.connect(server.path)
    low, high = first.prepare(add_model(), priority="low"), second.prepare(add_model(), priority="high")
    assert low and high
    turns = [session.held()[0].prepared.executor.resources.turn for session in server.sessions()]
    gates = [session.device.gate for session in server.sessions()]
    assert len(turns) == 2 and gates[0] is gates[1]


def test_connections_are_lent_between_sessions(tmp_path):
    """A session whose process has used up its connections gets those that another session keeps idle."""
    with serving(tmp_path, quotas=Quotas(connections=2)) as (path, _):
        first, second = nnfast.connect(path), nnfast.connect(path)
        prepared = first.prepare(add_model())
        futures = [prepared.submit([X, X]) for _ in range(8)]
        assert all((future.result(600)[0] == 2).all() for future in futures)
        for device in (second, first, second):
            assert (device.prepare(add_model()).run([X, X])[0] == 2).all()


# -- who it is ---------------------------------------------------------------------------------------------------------
def packets():
    return socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def in_child(work):
    """The exit status of a forked child that does `work`."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitpid(pid, 0)[1]


def test_a_message_of_another_process_is_refused(server, raw, other):
    def work():
        refused(raw.call(protocol.Ping()), f"process {os.getpid()}", "connect again")

    assert in_child(work) == 0
    assert isinstance(raw.call(protocol.Ping()), protocol.Done)


def test_another_process_cannot_join_with_the_key(server, raw, other):
    def work():
        channel = raw.open()
        refused(raw.ask(channel, Hello("nnfast", protocol.VERSION, "calls", raw.welcome.session, raw.welcome.key)),
                "no session", status=ErrorStatus.DEVICE_UNAVAILABLE)

    assert in_child(work) == 0


def test_a_client_ends_with_its_process_whoever_holds_its_sockets(server, other):
    code = "import os, subprocess, sys, nnfast\n" \
        "device = nnfast.connect(sys.argv[1])\n" \
        "for fd in map(int, os.listdir('/proc/self/fd')):\n" \
        "    try: os.set_inheritable(fd, True)\n" \
        "    except OSError: pass\n" \
        "nothing = subprocess.DEVNULL\n" \
        "child = subprocess.Popen(['sleep', '600'], close_fds=False, stdin=nothing, stdout=nothing, stderr=nothing)\n" \
        "print(child.pid, flush=True)\n" \
        "sys.stdin.readline()\n" \
        "os._exit(0)\n"
    with subprocess.Popen([sys.executable, "-c", code, server.path], stdin=subprocess.PIPE, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        heir = int(process.stdout.readline())
        try:
            assert until(lambda: len(server.sessions()) == 2)
            process.communicate("\n", timeout=600)
            assert until(lambda: len(server.sessions()) == 1, 60)
            assert os.path.exists(f"/proc/{heir}")
        finally:
            os.kill(heir, 9)


def test_a_program_that_was_started_by_the_holder_of_a_socket_lends_nothing(tmp_path):
    """The audit's way round the allowlist: a child connects and becomes an allowed program, its parent says hello."""
    rules = tmp_path / "list"
    rules.write_text(f"{os.path.realpath('/bin/sleep')} *\n")
    with serving(tmp_path, allowlist=Allowlist.read(rules)) as (path, server):
        sock = packets()
        os.set_inheritable(sock.fileno(), True)
        ready, told = os.pipe()
        pid = os.fork()
        if pid == 0:
            sock.connect(path)
            os.write(told, b"x")
            os.execv("/bin/sleep", ["sleep", "600"])
        try:
            os.read(ready, 1)
            channel = Channel(sock)
            channel.send(Hello("nnfast", protocol.VERSION, "events"))
            refused(channel.receive(protocol.FROM_SERVER, []), f"connection of process {pid}",
                    f"process {os.getpid()}")
            assert not server.sessions()
        finally:
            os.kill(pid, 9)
            os.waitpid(pid, 0)
            sock.close()
            for fd in (ready, told):
                os.close(fd)


def test_a_client_that_becomes_another_program_loses_its_extensions(tmp_path, monkeypatch):
    rules = tmp_path / "list"
    rules.write_text(f"{os.readlink('/proc/self/exe')} *\n")
    with serving(tmp_path, allowlist=Allowlist.read(rules)) as (path, server):
        raw = Raw(path)
        session, = server.sessions()
        session.confirm()
        session.executable = "/usr/bin/another"  # as if the process had executed what it runs now since then
        fd = os.memfd_create("cache")
        for message in (protocol.CheckCache(bytes(32)), protocol.LoadCache(bytes(32))):
            refused(raw.call(message, [fd, fd]), "runs another program now", status=ErrorStatus.DEVICE_UNAVAILABLE)
        os.close(fd)
        raw.close()


# -- what it may hold --------------------------------------------------------------------------------------------------
def held(server):
    """Descriptors, threads and mapped bytes that count for all clients."""
    return [used for used, _ in server.clients.in_use().values()]


def fill_with_memories(raw):
    """Send memories until one is refused; how many there were, and the refusal."""
    fd = sparse(4096)
    for number in range(1, 5000):
        raw.calls.send(protocol.AddMemory(number, "ashmem", 4096, 3, 0), [fd])
        if number % 16 == 0:
            answer = raw.call(protocol.Ping())
            if not isinstance(answer, protocol.Done):
                break
    os.close(fd)
    return number, answer


def test_descriptors_of_one_client_leave_enough_for_others(tmp_path):
    with serving(tmp_path, capacity=Capacity(descriptors=512)) as (path, server), OtherProcess(path) as other:
        assert other.ask(RUN) == "2.0"
        assert until(lambda: held(server)[0] < 8)
        before, raws, counts = held(server)[0], [Raw(path) for _ in range(3)], []
        for raw in raws:
            count, answer = fill_with_memories(raw)
            refused(answer, "descriptors", "release or close some", status=EXHAUSTED)
            counts.append(count)
        assert 100 <= counts[0] <= 128 and max(counts[1:]) <= 32, "sessions of one process share its quota"
        assert other.ask(RUN) == "2.0"
        with OtherProcess(path) as third:
            assert third.ask(RUN) == "2.0"
        for raw in raws:
            raw.close()
        assert until(lambda: held(server)[0] <= before)


@pytest.mark.skipif(os.getuid() != 0, reason="needs another user")
def test_processes_of_one_user_leave_enough_for_another():
    """Many processes of one user, each with all that it gets: a new client of another user finds what it needs."""
    with tempfile.TemporaryDirectory() as folder, \
            serving(Path(folder), capacity=Capacity(descriptors=1024)) as (path, server):
        os.chmod(folder, 0o755)
        os.chmod(path, 0o666)
        (full, tell), (go, stop) = os.pipe(), os.pipe()
        crowd = []
        for _ in range(12):
            crowd.append(os.fork())
            if crowd[-1] == 0:
                try:
                    os.setuid(65534)
                    os.close(stop)
                    raw = Raw(path)  # kept until the end
                    fill_with_memories(raw)
                except (AssertionError, nnfast.Error, OSError):
                    pass  # it was refused, as the later ones must be
                finally:
                    os.write(tell, b"x")
                    os.read(go, 1)
                    os._exit(0)
        for _ in crowd:
            os.read(full, 1)
        used, limit = server.clients.in_use()["descriptors"]
        assert limit // 4 < used <= limit // 2
        with OtherProcess(path) as other:
            assert other.ask(RUN) == "2.0"
        os.close(stop)
        for pid in crowd:
            os.waitpid(pid, 0)
        assert until(lambda: held(server) == [0, 0, 0], 60)
        for fd in (full, tell, go):
            os.close(fd)


def test_the_quota_of_descriptors(tmp_path):
    with serving(tmp_path, quotas=Quotas(descriptors=40)) as (path, server):
        raw = Raw(path)
        refused(fill_with_memories(raw)[1], "client's quota of descriptors is 40", status=EXHAUSTED)
        raw.close()
        assert until(lambda: held(server) == [0, 0, 0])


def test_descriptors_of_messages_and_fences_count(tmp_path):
    with serving(tmp_path, quotas=Quotas(descriptors=40)) as (path, server):
        device = nnfast.connect(path)
        prepared, gates = device.prepare(add_model()), [nnfast.Fence() for _ in range(12)]
        out = np.zeros(16, np.uint8)
        with pytest.raises(ResourceExhaustedTransient, match="quota of descriptors is 40"):
            prepared.execute_fenced(add_request(X, X, out), gates * 4)
        waiting = prepared.execute_fenced(add_request(X, X, out), gates)
        with pytest.raises(ResourceExhaustedTransient, match="quota of descriptors is 40"):
            prepared.execute_fenced(add_request(X, X, out), gates * 2)
        for gate in gates:
            gate.signal()
        assert waiting.fence.wait(600) == "signaled"
        assert (prepared.run([X, X])[0] == 2).all()
        device.close()
        assert until(lambda: held(server) == [0, 0, 0])


def test_threads_of_one_client_leave_some_for_others(tmp_path):
    with serving(tmp_path, capacity=Capacity(descriptors=512, threads=32)) as (path, server), \
            OtherProcess(path) as other:
        raw, channels = Raw(path), []
        with pytest.raises(AssertionError, match="threads"):
            while True:
                channels.append(raw.join())
        assert 4 <= len(channels) <= 6  # half of what the user may have, with the two threads that the session has
        assert other.ask(RUN) == "2.0"
        for channel in channels:
            channel.close()
        raw.close()


def test_sparse_files_do_not_use_up_the_address_space(tmp_path):
    with serving(tmp_path, quotas=Quotas(mapped=1 << 30)) as (path, server):
        raw = Raw(path)
        number = prepared_by(raw, add_model())
        fd = sparse(1 << 40)
        raw.calls.send(protocol.Arena(1 << 40), [fd])
        refused(raw.call(protocol.Ping()), "quota of mapped bytes is 1073741824", status=EXHAUSTED)
        raw.calls.send(protocol.AddMemory(1, "ashmem", 1 << 40, 3, 0), [fd])
        argument = protocol.Argument
        execute = protocol.Execute(number, [argument(0, 0, 16, (), False), argument(0, 16, 16, (), False)],
                                   [argument(0, 32, 16, (), False)], [protocol.Pool("memory", 1)])
        refused(raw.call(execute), "quota of mapped bytes", status=EXHAUSTED)
        raw.calls.send(protocol.AddMemory(2, "ashmem", 1 << 29, 3, 0), [fd])
        fits = protocol.Execute(number, execute.inputs, execute.outputs, [protocol.Pool("memory", 2)])
        assert isinstance(raw.call(fits), protocol.Executed)
        now = held(server)[2]
        assert now >= 1 << 29
        raw.calls.send(protocol.Release([("memory", 2)]))
        assert isinstance(raw.call(protocol.Ping()), protocol.Done)
        assert held(server)[2] == now - (1 << 29)
        os.close(fd)
        raw.close()


def test_a_user_never_takes_more_than_it_leaves():
    """However many processes a user has: others find as much as they hold together."""
    totals = Capacity(descriptors=1024, threads=64, mapped=1 << 20).tallies()
    first, second = (tallies_of_user(uid, totals)["descriptors"] for uid in (1, 2))

    def take_all(user):
        for _ in range(100):
            process = tallies_of_client(Quotas(), {name: user if name == "descriptors" else totals[name]
                                                   for name in totals})["descriptors"]
            while process.take(1) is None:
                pass
        return user.used

    assert 500 <= take_all(first) <= 512
    assert 240 <= take_all(second) <= 256
    assert totals["descriptors"].limit - totals["descriptors"].used >= 256


# -- memory ------------------------------------------------------------------------------------------------------------
def padded(model, size):
    """A model's memory with a hole behind the constants."""
    fd = sealed(model)
    content = os.pread(fd, os.fstat(fd).st_size, 0)
    os.close(fd)
    magic, header, _ = struct.unpack("<8sQQ", content[:24])
    fd = os.memfd_create("padded", os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, size)
    os.pwrite(fd, struct.pack("<8sQQ", magic, header, size) + content[24:], 0)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE)
    return fd


def test_all_bytes_of_a_model_count_before_they_are_mapped(tmp_path):
    with serving(tmp_path, quotas=Quotas(memory=1 << 20)) as (path, server):
        raw, fd = Raw(path), padded(add_model(), 1 << 30)
        for call in (protocol.Check("1.3"), protocol.GetUnsupported(),
                     protocol.Prepare("fast_single_answer", "medium")):
            refused(raw.call(call, [fd]), "model: needs 1073741824 bytes, the client's quota of memory is 1048576",
                    status=ErrorStatus.RESOURCE_EXHAUSTED_PERSISTENT)
        assert server.sessions()[0].budget.used == 0 and held(server)[2] == 0
        os.close(fd)
        raw.close()


def test_models_plans_and_headers_count(tmp_path):
    """A model of many operations without weights: its objects and tables are what it takes."""
    def chain(count):
        b = nnfast.ModelBuilder("chain")
        x, none = b.input("TENSOR_FLOAT32", (1,)), b.scalar(0)
        for step in range(count):
            y = b.output("TENSOR_FLOAT32", (1,)) if step == count - 1 else b.operand("TENSOR_FLOAT32", (1,))
            b.operation("ADD", [x, x, none], [y])
            x = y
        return b.build()

    with serving(tmp_path, quotas=Quotas(memory=1 << 21)) as (path, server):
        device = nnfast.connect(path)
        kept, budget = device.prepare(chain(100)), server.sessions()[0].budget
        assert budget.used >= 100 * 2048
        with pytest.raises((ResourceExhaustedPersistent, ResourceExhaustedTransient), match="quota of memory"):
            device.prepare(chain(2000))
        held_now = budget.used
        device.check(chain(500))
        assert until(lambda: budget.used == held_now)
        assert kept.run([np.float32([0])])[0] == 0
        device.close()
        assert until(lambda: budget.used == 0)


def test_a_shared_model_is_not_held_at_the_cost_of_the_first(server):
    device = nnfast.connect(server.path)
    with OtherProcess(server.path) as other:
        kept = device.prepare(dense_model())
        assert other.ask("kept.append(device.prepare(dense_model()))") == "None"
        mine, theirs = (session.client.budget for session in sorted(server.sessions(),
                                                                   key=lambda s: s.client.pid != os.getpid()))
        assert mine.used == theirs.used > 0
        del kept
        device.check(add_model())
        assert until(lambda: mine.used == 0) and theirs.used > 0


def fill_model():
    """y = FILL(shape, 1): as large as the execution says."""
    b = nnfast.ModelBuilder("fill")
    shape = b.input("TENSOR_INT32", (1,), name="shape")
    return b.operation("FILL", [shape, b.scalar(np.float32(1))], [b.output("TENSOR_FLOAT32", (0,))]).build()


def test_results_beyond_the_quota_are_refused_before_they_are_made(tmp_path):
    with serving(tmp_path, quotas=Quotas(memory=8 << 20)) as (path, server):
        prepared = nnfast.connect(path).prepare(fill_model())
        tracemalloc.start()  # which numpy tells of its arrays
        try:
            with pytest.raises(ResourceExhaustedPersistent, match="results: needs 268435456 bytes, the client's quota"):
                prepared.run([np.int32([1 << 26])])
            assert tracemalloc.get_traced_memory()[1] < 64 << 20
        finally:
            tracemalloc.stop()
        assert prepared.run([np.int32([3])])[0].tolist() == [1, 1, 1]
        assert until(lambda: server.sessions()[0].client.budget.used < 1 << 20)


def test_results_that_nobody_receives_count(tmp_path):
    with serving(tmp_path, quotas=Quotas(memory=8 << 20)) as (path, server):
        raw = Raw(path)
        number = prepared_by(raw, fill_model())
        memory = nnfast.Memory.create(4096)
        raw.calls.send(protocol.Arena(4096), [memory.fileno()])
        memory.array()[:4] = np.int32([1 << 18]).view(np.uint8)
        run = protocol.Run(number, [protocol.Place(0, (1,))])
        for _ in range(40):
            raw.calls.send(run)
        assert until(lambda: server.sessions()[0].client.budget.used > 4 << 20)
        answers = [raw.answer(raw.calls) for _ in range(40)]
        for answer in answers:
            if not isinstance(answer, protocol.Results):
                refused(answer, "the client's quota of memory", status=EXHAUSTED)
        # What was received counts no more, on whatever connection the next call comes.
        other, client = raw.join(), server.sessions()[0].client
        assert until(lambda: isinstance(raw.ask(other, protocol.Ping()), protocol.Done) and
                     client.budget.used < 1 << 20)
        assert isinstance(raw.call(run), protocol.Results)
        raw.close()


def test_copies_of_memory_that_may_shrink_count(tmp_path):
    with serving(tmp_path, quotas=Quotas(memory=1 << 20)) as (path, server):
        raw = Raw(path)
        model = models.pack(big_add())
        answer = raw.call(protocol.Prepare("fast_single_answer", "medium"), [model])
        os.close(model)
        fd = sparse(3 << 20, sealed=False)
        raw.calls.send(protocol.AddMemory(1, "ashmem", 3 << 20, 3, 0), [fd])
        argument, n = protocol.Argument, 1 << 20
        refused(raw.call(protocol.Execute(answer.number, [argument(0, 0, n, (), False), argument(0, n, n, (), False)],
                                          [argument(0, 2 * n, n, (), False)], [protocol.Pool("memory", 1)])),
                "a copy of what may shrink", "quota of memory", status=EXHAUSTED)
        os.close(fd)
        raw.close()


def big_add():
    b = nnfast.ModelBuilder("big")
    x, y, z = (make("TENSOR_FLOAT32", (1 << 18,)) for make in (b.input, b.input, b.output))
    return b.operation("ADD", [x, y, b.scalar(0)], [z]).build()


def test_a_peer_is_a_process_not_a_number():
    """A connection whose process has ended belongs to nobody that lives."""
    near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with near, far:
        peer = Peer(near)
        assert peer.pid == os.getpid() and peer.is_alive and peer.executable == os.readlink("/proc/self/exe")
        peer.close()
        peer.close()
    listener = packets()
    with tempfile.TemporaryDirectory() as folder, listener:
        listener.bind(f"{folder}/s")
        listener.listen()
        with packets() as sock:
            assert in_child(lambda: sock.connect(f"{folder}/s")) == 0
            accepted, _ = listener.accept()
            with accepted:
                try:
                    peer = Peer(accepted)
                except nnfast.Error as error:
                    assert error.status == ErrorStatus.DEVICE_UNAVAILABLE
                else:
                    assert not peer.is_alive and peer.executable == ""
                    peer.close()
