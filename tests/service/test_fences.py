"""Fences, fenced executions and descriptors of one client do not hold up another, nor the driver itself."""

import faulthandler
import os
import signal
import socket
import struct
import sys
import threading
import traceback

import numpy as np
import pytest

import nnfast
from helpers.raw_client import Raw, prepared_by
from helpers.service import add_model, add_request, endless_model, reach
from nnfast import Fence, Memory, Request, RequestArgument
from nnfast.errors import DeviceUnavailable
from nnfast.service.server import server as serving
from nnfast.service.spawn import start
from nnfast.service.wire import protocol
from nnfast.service.wire.channel import LARGE
from nnfast.service.wire.protocol import Hello
from nnfast.service.wire.records import Argument, Pool

X = np.ones(4, np.float32)
HANG_SECONDS = 120


def endless_request():
    one = Memory.create(8)
    one.array()[:4] = np.float32([1]).view(np.uint8)
    return Request((RequestArgument(0, 0, 4),), (RequestArgument(0, 4, 4),), (one,))


def test_fenced_executions_do_not_queue_behind_those_of_another_client(server, device):
    prepared = device.prepare(add_model())
    foe = nnfast.connect(server.path)
    endless, request = foe.prepare(endless_model()), endless_request()
    running = [endless.execute_fenced(request) for _ in range(60)]  # each takes 15 s when nobody stops it
    gate, out = Fence(), np.zeros(16, np.uint8)
    fenced = [prepared.execute_fenced(add_request(X, X, out)), prepared.execute_fenced(add_request(X, X, out), [gate])]
    gate.signal()
    assert [execution.fence.wait(600) for execution in fenced] == ["signaled"] * 2
    assert (out.view(np.float32) == 2).all()
    assert [execution.fence.state for execution in running[20:]] == ["active"] * 40
    foe.close()
    assert [execution.fence.wait(600) for execution in running] == ["error"] * 60


def test_the_waits_of_a_client_end_when_it_hangs_up(server):
    never, device = Fence(), nnfast.connect(server.path)
    prepared, memory = device.prepare(add_model()), Memory.create(48)
    request = Request((RequestArgument(0, 0, 16), RequestArgument(0, 16, 16)), (RequestArgument(0, 32, 16),), (memory,))
    waiting = [prepared.execute_fenced(request, [never]) for _ in range(5)]
    device.close()
    assert [execution.fence.wait(600) for execution in waiting] == ["error"] * 5


# -- descriptors that take long to close -------------------------------------------------------------------------------
@pytest.fixture
def process(tmp_path):
    """A driver's process; `.path` is its socket."""
    process = start(str(tmp_path / "nnfast.sock"), "--threads", "1")
    process.path = str(tmp_path / "nnfast.sock")
    yield process
    process.kill()
    process.wait()


@pytest.fixture
def lingering():
    """A socket whose last reference takes ten minutes to close."""
    listener = socket.create_server(("127.0.0.1", 0))
    ours = socket.create_connection(listener.getsockname())
    peer, _ = listener.accept()
    ours.setblocking(False)
    with pytest.raises(BlockingIOError):
        while True:
            ours.send(bytes(1 << 16))
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 600))
    yield ours
    peer.close()  # it had unread data: that resets the connection
    listener.close()


def in_a_hello(path, fd):
    channel = Raw.open(Unconnected(path))
    return lambda: channel.send(Hello("nnfast", 0, "events"), [fd])


def behind_a_hello(path, fd):
    channel = Raw.open(Unconnected(path))

    def send():
        channel.send(Hello("nnfast", 0, "events"))
        channel.send(protocol.Release([]), [fd])

    return send


def behind_the_first_message(path, fd):
    raw = Raw(path)

    def send():
        raw.events.socket.send(b"\xc1")  # which ends the session
        raw.events.send(protocol.Release([]), [fd])

    return send


def as_a_large_hello(path, fd):
    channel = Raw.open(Unconnected(path))
    return lambda: channel._send_with(LARGE.pack(0xC1, 100), [fd])


def behind_as_many_as_a_message_may_have(path, fd):
    channel = Raw.open(Unconnected(path))
    return lambda: channel.send(Hello("nnfast", 0, "events"), [0] * 252 + [fd])


def in_an_event(path, fd):
    raw = Raw(path)
    return lambda: raw.events.send(protocol.Release([]), [fd])


def as_a_memory(path, fd):
    raw = Raw(path)
    return lambda: raw.calls.send(protocol.AddMemory(7, "mmap_fd", 64, 3, 0), [fd])


def as_a_fence(path, fd):
    raw, memory = Raw(path), Memory.create(64)
    raw.calls.send(protocol.AddMemory(7, memory.kind, memory.size, memory.prot, memory.offset), [memory.fileno()])
    inputs = [Argument(0, 0, 16, (), False), Argument(0, 16, 16, (), False)]
    message = protocol.Fenced(prepared_by(raw, add_model()), inputs, [Argument(0, 32, 16, (), False)],
                              [Pool("memory", 7)])
    return lambda: raw.calls.send(message, [fd])


class Unconnected:
    """What Raw.open needs."""

    def __init__(self, path):
        self.path = path


def connected(path):
    """A device of the driver's, which drops under load who says nothing for a while, but not so often."""
    for _ in range(99):
        try:
            return nnfast.connect(path)
        except nnfast.errors.DeadObject:
            pass
    return nnfast.connect(path)


@pytest.mark.parametrize("deed", [in_a_hello, behind_a_hello, as_a_large_hello, behind_as_many_as_a_message_may_have,
                                  behind_the_first_message, in_an_event, as_a_memory, as_a_fence])
def test_the_driver_serves_others_while_it_closes_a_descriptor(process, lingering, deed):
    reach(process.path).close()
    read, write = os.pipe()
    again, go = os.pipe()
    child = os.fork()
    if not child:  # the driver's reference has to be the last: the client sends while the driver is stopped, and goes
        faulthandler.register(signal.SIGALRM, file=sys.__stderr__, chain=True)  # says where it stands, and ends it
        signal.alarm(HANG_SECONDS)
        code = 1
        try:
            send = deed(process.path, lingering.fileno())
            os.write(write, b"!")
            os.read(again, 1)
            send()
            code = 0
        except (BrokenPipeError, ConnectionResetError):
            code = 0  # under load: the driver drops who says nothing for a while
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    os.close(write)
    assert os.read(read, 1) == b"!"
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED)  # all its threads: a running one might take the message at once
    lingering.close()
    os.write(go, b"!")
    assert os.waitpid(child, 0)[1] == 0
    process.send_signal(signal.SIGCONT)
    served = threading.Event()

    def serve():
        for _ in range(20):
            device = connected(process.path)
            assert (device.prepare(add_model()).run([X, X])[0] == 2).all()
            device.close()
        served.set()

    threading.Thread(target=serve, daemon=True).start()
    assert served.wait(600)
    process.terminate()
    assert process.wait(600) == 0
    for fd in (read, again, go):
        os.close(fd)


def test_the_driver_serves_others_while_it_closes_a_connection_of_a_process_it_cannot_tell(server, lingering,
                                                                                           monkeypatch):
    accepted, gone, told = threading.Event(), threading.Event(), serving.Peer

    def unknown(sock):
        monkeypatch.setattr(serving, "Peer", told)
        accepted.set()
        gone.wait()
        raise DeviceUnavailable("service: the process that connected has ended")

    monkeypatch.setattr(serving, "Peer", unknown)
    channel = Raw.open(server)
    accepted.wait()
    channel.send(Hello("nnfast", 0, "events"), [lingering.fileno()])
    channel.close()
    lingering.close()
    gone.set()
    device = nnfast.connect(server.path)
    assert (device.prepare(add_model()).run([X, X])[0] == 2).all()
    device.close()
