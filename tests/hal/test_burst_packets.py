"""Packets and requests of bursts [NN 4.7, 11.11, 11.12], through HAL 1.2 and 1.3."""


import numpy as np
import pytest

from helpers import burst_clients as packets
from helpers.hal_clients import prepare
from nnfast import Memory, ModelBuilder
from nnfast._native.rings import NO_TIME as NEVER
from nnfast._native.rings import build_request, parse_result
from nnfast.conformance import bursts
from nnfast.errors import ErrorStatus as S
from nnfast.hal.burst import BurstContext
from nnfast.hal.layout import from_canonical

REFUSED = [], NEVER, NEVER


# -- [NN 4.7]: packets and requests ------------------------------------------------------------------------------------
def test_4_7_ill_formed_packets(client):
    packet = client.packet()
    spoiled = {at: packet.copy() for at in range(len(packet))}
    for at, rows in spoiled.items():
        rows[at, 0] = 9  # a tag that is none
    nothing_first = np.delete(packet, 0, axis=0)
    for wrong in (*spoiled.values(), nothing_first, packet[:-1], np.concatenate([packet, packet])):
        assert client.exchange(wrong) == (S.GENERAL_FAILURE, *REFUSED)
        assert client.context.last_error().startswith("request packet: element ")
    assert client.exchange()[0] == S.NONE


def test_4_7_counts_are_bounded_before_use(client):
    for place in (4, 8, 12, 16):
        for count in (0, 1, 2, 3, 100, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF):
            packet = client.packet()
            if packet[0, place:place + 4].view(np.uint32)[0] == count:
                continue
            packet[0, place:place + 4] = np.array([count], np.uint32).view(np.uint8)
            assert client.exchange(packet) == (S.GENERAL_FAILURE, *REFUSED)
    assert client.exchange()[0] == S.NONE


def test_4_7_values_that_are_none(client):
    for element, place, value in ((-1, 4, 2), (-1, 4, 255), (1, 4, 2), (0, 1, 1), (1, 5, 1), (2, 7, 1), (-1, 3, 1)):
        packet = client.packet()
        packet[element, place] = value
        assert client.exchange(packet) == (S.GENERAL_FAILURE, *REFUSED)


@pytest.mark.parametrize(("inputs", "outputs", "words"), [
    ([], [(False, 1, 0, 24, ())], "request inputs: got 0"),
    ([(False, 0, 0, 24, ())], [], "request outputs: got 0"),
    ([(False, 0, 0, 24, ())] * 2, [(False, 1, 0, 24, ())], "request inputs: got 2"),
    ([(True, 0, 0, 24, ())], [(False, 1, 0, 24, ())], "request input 0: has no value, so its location"),
    ([(True, 0, 0, 0, ())], [(False, 1, 0, 24, ())], ""),
    ([(False, 2, 0, 24, ())], [(False, 1, 0, 24, ())], "request input 0: pool is 2, there are 2 pools"),
    ([(False, 0, 4, 24, ())], [(False, 1, 0, 24, ())], "request input 0: bytes 4..28 must lie in pool 0 of 24 bytes"),
    ([(False, 0, 0xFFFFFFFF, 24, ())], [(False, 1, 0, 24, ())], "request input 0: bytes 4294967295..4294967319"),
    ([(False, 0, 0, 20, ())], [(False, 1, 0, 24, ())], "request input 0: length is 20, must be 24"),
    ([(False, 0, 0, 0, ())], [(False, 1, 0, 24, ())], "request input 0: bytes 0..0 must"),
    ([(False, 0, 0, 24, (3, 2))], [(False, 1, 0, 24, ())], "request input 0: dimensions are [3, 2]"),
    ([(False, 0, 0, 24, (2, 3, 1))], [(False, 1, 0, 24, ())], "request input 0: dimensions are [2, 3, 1]"),
    ([(False, 0, 0, 24, ())], [(True, 0, 0, 0, ())], "request output 0: an output must have a place"),
    ([(False, 0, 0, 24, ())], [(False, 1, 0, 24, (3, 2))], "request output 0: dimensions are [3, 2]"),
    ([(False, 0, 0, 24, ())], [(False, 1, 20, 24, ())], "request output 0: bytes 20..44 must lie in pool 1"),
])
def test_4_7_requests_that_are_wrong_for_the_model(client, inputs, outputs, words):
    assert client.exchange()[0] == S.NONE  # so that the native way meets them
    status, *rest = client.exchange(build_request(inputs, outputs, [0, 1], True))
    assert tuple(rest) == REFUSED and words in client.context.last_error()
    assert status == S.INVALID_ARGUMENT if words else status != S.NONE
    assert client.exchange()[0] == S.NONE


def test_4_7_read_only_memory_for_an_output(prepared):
    with open("/proc/self/exe", "rb") as file:
        read_only = Memory("mmap_fd", file.fileno(), 24, prot=1)
    with packets.Client(prepared, memories={0: Memory.create(24), 1: read_only}) as client:
        assert client.exchange() == (S.INVALID_ARGUMENT, *REFUSED)
        assert "pool 1 is read-only" in client.context.last_error()


def test_3_14_an_output_that_is_short(client):
    for _ in range(2):
        answer = client.exchange(build_request([(False, 0, 0, 24, ())], [(False, 1, 0, 23, ())], [0, 1], True))
        assert answer == (S.OUTPUT_INSUFFICIENT_SIZE, [((2, 3), False)], NEVER, NEVER)
        assert client.exchange()[0] == S.NONE


def test_4_7_arguments_anywhere_in_a_pool(prepared):
    """Unaligned, overlapping and larger than needed: the same results, natively or not."""
    memory = Memory.create(256)
    with packets.Client(prepared, memories={0: memory}) as client:
        for start, end, extra in ((0, 64, 0), (4, 64, 8), (1, 64, 0), (0, 65, 3), (3, 101, 1), (0, 0, 0), (0, 12, 0)):
            memory.array()[:] = 0xEE
            memory.array()[start:start + 24] = np.arange(6, dtype=np.float32).view(np.uint8)
            packet = build_request([(False, 0, start, 24, (2, 3))], [(False, 0, end, 24 + extra, (2, 3))], [0], False)
            assert client.exchange(packet)[0] == S.NONE
            assert memory.array()[end:end + 24].copy().view(np.float32).tolist() == [1, 2, 3, 4, 5, 6]
            assert (memory.array()[end + 24:end + 24 + extra] == 0xEE).all()
        assert client.burst.runs == 2  # two were plain enough


def test_4_7_files_that_may_shrink_are_copied(prepared, tmp_path):
    (tmp_path / "pool").write_bytes(np.arange(6, dtype=np.float32).tobytes() + bytes(24))
    with open(tmp_path / "pool", "r+b") as file:
        memory = Memory("mmap_fd", file.fileno(), 48)
        with packets.Client(prepared, memories={0: memory}) as client:
            packet = build_request([(False, 0, 0, 24, ())], [(False, 0, 24, 24, ())], [0], False)
            for _ in range(3):
                assert client.exchange(packet)[0] == S.NONE
            assert client.burst.runs == 0
            file.truncate(30)
            status, *rest = client.exchange(packet)
            assert status != S.NONE and tuple(rest) == REFUSED
    assert np.frombuffer((tmp_path / "pool").read_bytes()[24:28], np.float32).tolist() == [1]


# -- [NN 11.12]: ValidateBurst -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("rule", ["burst datum removed", "burst datum inserted", "burst datum replaced"])
def test_11_12_mutated_packets_on_one_burst(client, rule):
    tried = 0
    for name, where, packet in bursts.mutated(client.packet()):
        if name == rule:
            bursts.must_fail(client.exchange(packet))
            assert not client.results.readable(), where
            tried += 1
    assert tried >= 6 and client.exchange()[0] == S.NONE


def test_11_12_fmq_length(prepared):
    with packets.Client(prepared, result_capacity=8) as client:
        assert client.exchange()[0] == S.NONE  # 5 elements
    b = ModelBuilder("split")
    x = b.input("TENSOR_FLOAT32", (2, 4))
    halves = [b.output("TENSOR_FLOAT32", (2, 2)) for _ in range(2)]
    model = b.operation("SPLIT", [x, b.scalar(1), b.scalar(2)], halves).build()
    split = prepare(prepared.device, from_canonical(model, prepared.hal))
    packet = build_request([(False, 0, 0, 32, ())], [(False, 0, 64, 16, ()), (False, 0, 96, 16, ())], [0], True)
    with packets.Client(split, memories={0: Memory.create(128)}) as client:
        client.send(packet)
        rows = client.receive()
        assert len(rows) == 8 and parse_result(rows)[0] == S.NONE
    with packets.Client(split, memories={0: Memory.create(128)}, result_capacity=7) as client:
        assert client.exchange(packet) == (S.GENERAL_FAILURE, *REFUSED)


def test_11_12_sanitized(client):
    for _ in range(2):
        client.send(client.packet())
        rows = client.receive()
        assert not rows[:, 1:8].any() and not rows[rows[:, 0] == 1][:, 9:12].any()


def test_11_11_requests_that_lack_an_argument(client):
    assert client.exchange()[0] == S.NONE
    for inputs, outputs in (([], [(False, 1, 0, 24, ())]), ([(False, 0, 0, 24, ())], [])):
        for measure in (False, True):
            assert client.exchange(build_request(inputs, outputs, [0, 1], measure)) == (S.INVALID_ARGUMENT, *REFUSED)
    for slot in (0, 99, 0):
        client.context.freeMemory(slot)
    assert client.exchange()[0] == S.NONE


def test_the_context_is_one_of_1_2(client):
    assert type(client.context) is BurstContext
