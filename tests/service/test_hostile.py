"""Clients that break the protocol: every message gets its refusal, and other clients notice nothing."""

import os
import random
import socket
import subprocess
import sys
import threading
import time

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import nnfast
from helpers.raw_client import Raw, prepared_by, refused, sealed
from helpers.service import add_model, serving, until
from nnfast.errors import ErrorStatus
from nnfast.model.records import encode
from nnfast.service.server import server
from nnfast.service.wire import protocol, records
from nnfast.service.wire.channel import LARGE, Channel, sealed_memfd
from nnfast.service.wire.protocol import Failure, Hello

X = np.ones(4, np.float32)


# -- hello -------------------------------------------------------------------------------------------------------------
def test_another_version_is_told(server):
    for version in (0, protocol.VERSION - 1, protocol.VERSION + 1, 10**6):
        channel = Channel(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
        channel.socket.connect(server.path)
        channel.send(Hello("nnfast", version, "events"))
        refused(channel.receive(protocol.FROM_SERVER, []), f"version {version}", "same nnfast")
        assert channel.receive(protocol.FROM_SERVER, []) is None
        channel.close()


def test_a_client_is_told_of_another_version_of_the_driver(server, monkeypatch):
    monkeypatch.setattr(server_module := protocol, "VERSION", 7)
    answer = []
    original = server_module.Hello

    def old(magic, version, *rest):
        return original(magic, 1, *rest)

    monkeypatch.setattr(protocol, "Hello", old)
    with pytest.raises(nnfast.InvalidArgument, match="version 1 of the protocol, this driver version 7"):
        nnfast.connect(server.path)
    assert not answer


def test_a_hello_of_the_future_may_be_longer(server):
    channel = Channel(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
    channel.socket.connect(server.path)
    channel.socket.send(msgspec.msgpack.encode(["nnfast", 99, "events", 0, b"", None, "new", {"a": 1}]))
    refused(channel.receive(protocol.FROM_SERVER, []), "version 99")
    channel.close()


@pytest.mark.parametrize("packet", [b"GET / HTTP/1.1\r\n", b"\xc1", b"\x90", b"\xff" * 100,
                                    msgspec.msgpack.encode(["other", protocol.VERSION, "events"]),
                                    msgspec.msgpack.encode(["nnfast", protocol.VERSION, "king"]),
                                    msgspec.msgpack.encode(["nnfast", protocol.VERSION, "calls", 1, bytes(16)]),
                                    msgspec.msgpack.encode(["nnfast", protocol.VERSION, "calls", 99, b""]),
                                    msgspec.msgpack.encode(["nnfast", protocol.VERSION, "events", 0, b"", "fp4"])])
def test_a_wrong_hello_is_refused_and_the_connection_ends(server, other, packet):
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    sock.connect(server.path)
    sock.send(packet)
    channel = Channel(sock)
    unknown = b"calls" in packet
    refused(channel.receive(protocol.FROM_SERVER, []),
            status=ErrorStatus.DEVICE_UNAVAILABLE if unknown else ErrorStatus.INVALID_ARGUMENT)
    assert channel.receive(protocol.FROM_SERVER, []) is None
    channel.close()


def test_the_key_of_another_session_opens_nothing(server, raw):
    stranger = Raw(server.path)
    channel = raw.open()
    refused(raw.ask(channel, Hello("nnfast", protocol.VERSION, "calls", raw.welcome.session, stranger.welcome.key)),
            "no session of this number and key", status=ErrorStatus.DEVICE_UNAVAILABLE)
    channel.close()
    stranger.close()


def test_connections_that_say_nothing_are_closed(tmp_path, monkeypatch):
    monkeypatch.setattr(server, "HELLO_SECONDS", 0.1)
    monkeypatch.setattr(server, "MAX_UNAUTHENTICATED", 4)
    with serving(tmp_path) as (path, _):
        socks = [socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(8)]
        for sock in socks:
            sock.connect(path)
        assert all(sock.recv(1) == b"" for sock in socks)
        device = nnfast.connect(path)
        assert (device.prepare(add_model()).run([X, X])[0] == 2).all()
        for sock in socks:
            sock.close()


def test_a_crowd_that_says_nothing_keeps_nobody_out(tmp_path, monkeypatch):
    monkeypatch.setattr(server, "HELLO_SECONDS", 600)
    monkeypatch.setattr(server, "MAX_UNAUTHENTICATED", 4)
    crowd = "import socket, sys\nsocks = [socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(9)]\n" \
        "for sock in socks: sock.connect(sys.argv[1])\nprint('there', flush=True)\nsys.stdin.read()"
    with serving(tmp_path) as (path, _):
        slow = Channel(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
        slow.socket.connect(path)
        command = [sys.executable, "-c", crowd, path]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as foe:
            foe.stdout.readline()
            device = nnfast.connect(path)
            assert (device.prepare(add_model()).run([X, X])[0] == 2).all()
            slow.send(Hello("nnfast", protocol.VERSION, "events"))
            assert isinstance(slow.receive(protocol.FROM_SERVER, []), protocol.Welcome)
            foe.stdin.close()
        slow.close()


def test_quota_of_connections(tmp_path):
    from nnfast.service.server.quotas import Quotas

    with serving(tmp_path, quotas=Quotas(connections=2)) as (path, _):
        raw = Raw(path)
        second, third = raw.join(), raw.open()
        refused(raw.ask(third, Hello("nnfast", protocol.VERSION, "calls", raw.welcome.session, raw.welcome.key)),
                "quota of connections is 2", status=ErrorStatus.RESOURCE_EXHAUSTED_TRANSIENT)
        assert isinstance(raw.call(protocol.Ping()), protocol.Done)
        for channel in (second, third):
            channel.close()
        raw.close()


# -- messages ----------------------------------------------------------------------------------------------------------
def encoded(*items):
    return msgspec.msgpack.encode(list(items))


@pytest.mark.parametrize("packet", [
    b"\x00", b"\xc1", b"\xc1" + bytes(8), b"\xc1" + bytes(7), encoded(), encoded(999), encoded(10, 1), encoded(22),
    encoded(22, "1", []), encoded(22, 1, [None], None, 0, 0, None, 5), encoded(22, 1, {}), encoded(101, 4, "no"),
    encoded(22, 1, [[0, [4], 1]]), {}, None, b"\xdd\xff\xff\xff\xff", b"\x91" * 60000, encoded(22, 2**64 - 1, []),
])
def test_what_is_no_message_is_refused_and_the_stream_goes_on(raw, other, packet):
    packet = packet if isinstance(packet, bytes) else msgspec.msgpack.encode(packet)
    answer = raw.call(packet)
    assert isinstance(answer, Failure) and answer.status == ErrorStatus.INVALID_ARGUMENT
    assert isinstance(raw.call(protocol.Ping()), protocol.Done)


def test_too_long_and_too_many_descriptors(raw, other):
    refused(raw.call(bytes(protocol.MAX_PACKET + 1)), "more than 65536 bytes")
    refused(raw.call(b"\xc1" + bytes(8), [0] * 250))
    refused(raw.call(encode(protocol.Ping()), [0] * 253), "descriptors",
            status=ErrorStatus.RESOURCE_EXHAUSTED_TRANSIENT)
    assert isinstance(raw.call(protocol.Ping()), protocol.Done)


def test_large_messages(raw, other):
    keys = [(k, (1,) * 30) for k in range(5000)]
    fd = sealed(add_model())
    refused(raw.call(protocol.Prepare("low_power", "low", keys), [fd]), "input_shapes")
    unsealed = os.memfd_create("x")
    os.write(unsealed, bytes(100))
    head = LARGE.pack(0xC1, 100)
    refused(raw.call(head, [unsealed]), "sealed memfd")
    short = sealed_memfd([bytes(50)])
    refused(raw.call(head, [short]), "announced size")
    reader, writer = os.pipe()
    refused(raw.call(head, [reader]), "sealed memfd")
    for one in (fd, unsealed, short, reader, writer):
        os.close(one)


def test_objects_of_others_cannot_be_named(raw, other, server):
    mine = other.number
    for message in (protocol.Run(mine, []), protocol.Execute(mine, [], [], []), protocol.Fenced(mine, [], [], []),
                    protocol.Explain(mine), protocol.OpenStream(mine), protocol.Store(mine, bytes(32)),
                    protocol.Allocate([protocol.Use(mine, 0, 1.0)], [], ())):
        refused(raw.call(message), f"this client has no prepared model {mine}")
    for message in (protocol.GetFencedInfo(1), protocol.ResetStream(1), protocol.Load(1), protocol.GetBuffer(1)):
        refused(raw.call(message), "this client has no")
    raw.calls.send(protocol.Release([("prepared", mine), ("king", 1), ("buffer", -1)]))
    assert isinstance(raw.call(protocol.Ping()), protocol.Done)


def test_arenas(raw, other):
    number = prepared_by(raw, add_model())
    run = protocol.Run(number, [protocol.Place(0, (4,)), protocol.Place(64, (4,))], [128])
    refused(raw.call(run), "do not lie in the arena of 0")
    unsealed = os.memfd_create("x")
    os.ftruncate(unsealed, 4096)
    raw.calls.send(protocol.Arena(4096), [unsealed])
    refused(raw.call(protocol.Ping()), "sealed with F_SEAL_SHRINK")
    raw.calls.send(protocol.Arena(4096))
    refused(raw.call(protocol.Ping()), "one descriptor")
    memory = nnfast.Memory.create(4096)
    raw.calls.send(protocol.Arena(8192), [memory.fileno()])
    refused(raw.call(protocol.Ping()), status=ErrorStatus.GENERAL_FAILURE)
    raw.calls.send(protocol.Arena(4096), [memory.fileno()])
    assert isinstance(raw.call(run), protocol.Results)
    for places, outputs in (([(0, (4,)), (4096, (4,))], [128]), ([(0, (4,)), (-64, (4,))], [128]),
                            ([(0, (4,)), (1, (4,))], [128]), ([(0, (4,)), (64, (4,))], [4096 - 4]),
                            ([(0, (4,)), (64, (2**40, 2**40))], [128]),
                            ([(0, (4,)), (64, (2**64 - 1, 0))], [128]), ([(0, (4,)), (64, (2**40, 2**40, 0))], [128]),
                            ([(0, (4,)), (64, (1,) * 64 + (4,))], [128]), ([(0, (-4,)), (64, (4,))], [128]),
                            ([(0, (4,)), (64, (4,))], [64]), ([(0, (4,))], [128]), ([(0, (5,)), (64, (4,))], [128])):
        refused(raw.call(protocol.Run(number, [protocol.Place(*place) for place in places], outputs)))
    pools = [protocol.Pool("arena", 0, 2**63 - 1)], [protocol.Pool("memory", 5)], [protocol.Pool("buffer", 5)], \
        [protocol.Pool("king", 5)], [protocol.Pool("arena", 4096, 1)], [protocol.Pool("arena", -1, 1)]
    for pool in pools:
        refused(raw.call(protocol.Execute(number, [], [], pool)))
    os.close(unsealed)


def test_results_over_the_inputs_are_refused_or_right(raw, other):
    number = prepared_by(raw, add_model())
    memory = nnfast.Memory.create(4096)
    raw.calls.send(protocol.Arena(4096), [memory.fileno()])
    memory.array()[:32] = np.float32([1, 2, 3, 4, 5, 6, 7, 8]).view(np.uint8)
    refused(raw.call(protocol.Run(number, [protocol.Place(0, (4,)), protocol.Place(64, (4,))], [0])), "shares memory")


def test_memories_are_checked(raw, other):
    number = prepared_by(raw, add_model())
    fd = os.memfd_create("x")
    for fields, fds in ((("ashmem", 0, 3, 0), [fd]), (("king", 8, 3, 0), [fd]), (("ashmem", 8, 3, 0), []),
                        (("ashmem", 8, 9, 0), [fd]), (("mmap_fd", 8, 3, -1), [fd])):
        raw.calls.send(protocol.AddMemory(1, *fields), fds)
        refused(raw.call(protocol.Ping()))
    raw.calls.send(protocol.AddMemory(1, "ashmem", 48, 3, 0), [fd])  # empty, and may change its size
    argument = protocol.Argument
    execute = protocol.Execute(number, [argument(0, 0, 16, (), False), argument(0, 16, 16, (), False)],
                               [argument(0, 32, 16, (), False)], [protocol.Pool("memory", 1)])
    refused(raw.call(execute), "the file has 0 bytes", status=ErrorStatus.GENERAL_FAILURE)
    os.ftruncate(fd, 48)
    assert isinstance(raw.call(execute), protocol.Executed)
    raw.calls.send(protocol.AddMemory(1, "ashmem", 48, 3, 0), [fd])
    refused(raw.call(protocol.Ping()), "there already")
    os.close(fd)


# -- random messages ---------------------------------------------------------------------------------------------------
NUMBERS = st.one_of(st.integers(-2, 5), st.sampled_from([2**31, 2**32, 2**63 - 1, 2**63, -2**63]))
VALUES = st.recursive(st.one_of(NUMBERS, st.none(), st.booleans(), st.floats(), st.text(max_size=6),
                                st.binary(max_size=40), st.sampled_from(["arena", "memory", "buffer", "prepared"])),
                      lambda inner: st.lists(inner, max_size=4), max_leaves=12)
TAGS = st.sampled_from([kind.__struct_config__.tag for kind in (*protocol.ONE_WAY, *protocol.CALLS)])
MESSAGES = st.one_of(st.binary(max_size=80), st.builds(lambda tag, rest: encoded(tag, *rest), TAGS,
                                                      st.lists(VALUES, max_size=8)))


def typed(kind):
    """Messages of one kind, right in their types."""
    fields = {}
    for field in msgspec.structs.fields(kind):
        fields[field.name] = strategy(field.type)
    return st.builds(kind, **fields)


def strategy(kind):
    if isinstance(kind, type) and issubclass(kind, records.Record):
        return typed(kind)
    args = getattr(kind, "__args__", ())
    origin = getattr(kind, "__origin__", None)
    if origin is list:
        return st.lists(strategy(args[0]), max_size=3)
    if origin is tuple:
        if len(args) == 2 and args[1] is Ellipsis:
            return st.lists(strategy(args[0]), max_size=3).map(tuple)
        return st.tuples(*map(strategy, args))
    if args:
        return st.one_of(*map(strategy, args))
    return {int: st.one_of(st.integers(-1, 4), st.just(64), st.integers(-2**63, 2**63 - 1)), str: st.sampled_from(
        ["arena", "memory", "buffer", "prepared", "low", "low_power", "1.3", "x"]), bool: st.booleans(),
        bytes: st.binary(max_size=40), float: st.floats(), type(None): st.none()}[kind]


@pytest.mark.parametrize("source", ["random", "typed"])
def test_random_messages(source, tmp_path):
    strategies = MESSAGES if source == "random" else st.one_of(*map(typed, (*protocol.ONE_WAY, *protocol.CALLS)))
    with serving(tmp_path) as (path, server):
        device = nnfast.connect(path)
        good, raw = device.prepare(add_model()), Raw(path)
        prepared_by(raw, add_model())
        memory = nnfast.Memory.create(4096)
        raw.calls.send(protocol.Arena(4096), [memory.fileno()])
        model = sealed(add_model())

        @settings(max_examples=600, suppress_health_check=list(HealthCheck))
        @given(strategies, st.sampled_from([[], [model], [memory.fileno()], [model, memory.fileno()]]))
        def attack(message, fds):
            packet = message if isinstance(message, bytes) else encode(message)
            if not packet:
                return
            raw.calls._send_with(packet, fds) if fds else raw.calls.socket.send(packet)
            raw.calls.send(protocol.Ping())  # gets what was wrong with a message without an answer
            raw.calls.send(protocol.GetStats())
            while not isinstance(answer := raw.answer(raw.calls), protocol.Stats):
                assert answer is not None
                assert not isinstance(answer, Failure) or "internal error" not in answer.text, answer.text
                while raw.fds:
                    os.close(raw.fds.pop())

        attack()
        assert (good.run([X, X])[0] == 2).all()
        os.close(model)
        raw.close()
        assert until(lambda: len(server.sessions()) == 1)


# -- the events connection ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("packet", [b"\xff", encoded(10), encoded(3, "x"), bytes(70000)])
def test_nonsense_on_the_events_connection_ends_the_session(raw, other, server, packet):
    raw.events.socket.send(packet)
    assert until(lambda: len(server.sessions()) == 1)
    assert raw.answer(raw.calls) is None


def test_a_slow_reader_holds_up_nobody_else(raw, other, server):
    ping = encode(protocol.Ping())
    raw.calls.socket.settimeout(0.2)
    with pytest.raises(TimeoutError):
        for _ in range(100_000):
            raw.calls.socket.send(ping)  # never reads an answer
    began = time.monotonic()
    for _ in range(50):
        assert (other.run([X, X])[0] == 2).all()
    assert time.monotonic() - began < 60
    raw.events.close()
    assert until(lambda: len(server.sessions()) == 1)


def test_many_hostile_clients_at_once(server, other):
    chance, stop = random.Random(3), threading.Event()

    def attack(seed):
        chance = random.Random(seed)
        while not stop.is_set():
            raw = Raw(server.path)
            for _ in range(chance.randint(1, 20)):
                raw.calls.socket.send(chance.randbytes(chance.randint(1, 300)))
            raw.events.close() if chance.random() < 0.5 else raw.calls.close()
            raw.close()

    threads = [threading.Thread(target=attack, args=(chance.random(),)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(200):
        assert (other.run([X, X])[0] == 2).all()
    stop.set()
    for thread in threads:
        thread.join(600)
    assert until(lambda: len(server.sessions()) == 1)


# -- small limits ------------------------------------------------------------------------------------------------------
def large(channel, data, size=None):
    """Send a message in a memfd."""
    fd = sealed_memfd([data])
    channel._send_with(LARGE.pack(0xC1, len(data) if size is None else size), [fd])
    os.close(fd)


def test_a_stranger_sends_little(raw, server, other):
    hello = protocol.Hello("nnfast", protocol.VERSION, "events", 0, bytes(2 * protocol.MAX_HELLO))
    refused(raw.ask(raw.open(), hello), f"more than {protocol.MAX_HELLO} bytes")
    channel = raw.open()
    large(channel, encode(protocol.Hello("nnfast", protocol.VERSION, "events")))
    refused(raw.answer(channel), "at most 0 bytes")
    assert isinstance(raw.ask(raw.open(), protocol.Hello("nnfast", protocol.VERSION, "events")), protocol.Welcome)


@pytest.mark.parametrize("send", [
    lambda channel: large(channel, encode(protocol.Release([("memory", 1)]))),
    lambda channel: channel.socket.send(encode(protocol.Release([("memory", 1)] * (protocol.MAX_RELEASE + 1)))),
    lambda channel: channel.socket.send(bytes(protocol.MAX_EVENT + 1))])
def test_much_on_the_events_connection_ends_the_session(raw, server, other, send):
    before = len(server.sessions())
    send(raw.events)
    assert until(lambda: len(server.sessions()) == before - 1, 60)


def test_a_call_in_a_memfd_has_a_limit(raw, other):
    data = encode(protocol.Prepare("low_power", "low", None, ["x" * (protocol.MAX_CALL + 1)]))
    large(raw.calls, data)
    refused(raw.answer(raw.calls), f"at most {protocol.MAX_CALL} bytes")
    raw.calls.socket.send(encode(protocol.Release([("memory", 1)] * (protocol.MAX_RELEASE + 1))))
    refused(raw.answer(raw.calls), "512")
    assert isinstance(raw.call(protocol.Ping()), protocol.Done)


def test_a_client_drops_more_objects_than_go_into_one_message(server):
    device = nnfast.connect(server.path)
    prepared = device.prepare(add_model())
    kept = [device.allocate([nnfast.Role(prepared, 0)]) for _ in range(2 * protocol.MAX_RELEASE)]
    session, = server.sessions()
    assert session.count("buffer") == len(kept)
    del kept
    assert until(lambda: session.count("buffer") == 0, 60)
    device.close()
