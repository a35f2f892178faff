"""Packets of bursts [NN 4.2-4.7] against their definition, on valid, mutated and random packets."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import packet_reference as definition
from nnfast._native import rings as native
from nnfast.errors import Error, GeneralFailure, InvalidArgument

uint32 = st.one_of(st.integers(0, 12), st.sampled_from([0x7FFFFFFF, 0x80000000, 0xFFFFFFFF]), st.integers(0, 2**32 - 1))
dims = st.lists(uint32, max_size=4).map(tuple)
operand = st.tuples(st.booleans(), uint32, uint32, uint32, dims)
requests = st.tuples(st.lists(operand, max_size=4), st.lists(operand, max_size=4),
                     st.lists(st.integers(-2**31, 2**31 - 1), max_size=4), st.booleans())
uint64 = st.integers(0, 2**64 - 1)
results = st.tuples(st.integers(0, 4), st.lists(st.tuples(dims, st.booleans()), max_size=4), uint64, uint64)

EXAMPLE = bytes.fromhex(  # [NN 4.5], element by element
    "00000000 07000000 01000000 01000000 01000000 00000000"
    "01000000 00000000 00000000 00000000 10000000 02000000"
    "02000000 01000000 00000000 00000000 00000000 00000000"
    "02000000 04000000 00000000 00000000 00000000 00000000"
    "03000000 00000000 00000000 10000000 10000000 00000000"
    "05000000 00000000 00000000 00000000 00000000 00000000"
    "06000000 01000000 00000000 00000000 00000000 00000000")
EXAMPLE_VALUES = [(False, 0, 0, 16, (1, 4))], [(False, 0, 16, 16, ())], [0], True
EXAMPLE_RESULT = bytes.fromhex(
    "00000000 00000000 05000000 00000000 01000000 00000000"
    "01000000 00000000 01000000 02000000 00000000 00000000"
    "02000000 00000000 01000000 00000000 00000000 00000000"
    "02000000 00000000 04000000 00000000 00000000 00000000"
    "03000000 00000000 0a000000 00000000 0c000000 00000000")


@st.composite
def mutated(draw, packets):
    """The bytes of a packet, with up to three elements removed, doubled, exchanged, cut or overwritten."""
    rows = [bytes(row) for row in draw(packets)]
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, max(0, len(rows) - 1)))
        other = draw(st.integers(0, max(0, len(rows) - 1)))
        action = draw(st.integers(0, 5))
        if action == 0 or not rows:
            del rows[at:at + 1]
        elif action == 1:
            rows.insert(at, rows[other])
        elif action == 2:
            rows[at] = rows[other]
        elif action == 3:
            del rows[at:]
        elif action == 4:
            place = 4 * draw(st.integers(1, 5))
            rows[at] = rows[at][:place] + draw(uint32).to_bytes(4, "little") + rows[at][place + 4:]
        else:
            place = draw(st.integers(0, 23))
            rows[at] = rows[at][:place] + bytes([draw(st.integers(0, 255))]) + rows[at][place + 1:]
    return b"".join(rows)


def verdict(parse, packet, refusal):
    try:
        return parse(packet)
    except refusal:
        return None


def same_verdict(packet, kind):
    raw = np.frombuffer(packet, np.uint8)
    right = verdict(getattr(definition, kind), packet, definition.IllFormed)
    assert verdict(getattr(native, f"parse_{kind}"), raw, Error) == right
    return right


def test_4_5_example():
    assert native.build_request(*EXAMPLE_VALUES).tobytes() == EXAMPLE
    assert native.parse_request(np.frombuffer(EXAMPLE, np.uint8)) == EXAMPLE_VALUES
    assert native.build_result(0, [((1, 4), True)], 10, 12).tobytes() == EXAMPLE_RESULT
    assert native.parse_result(np.frombuffer(EXAMPLE_RESULT, np.uint8)) == (0, [((1, 4), True)], 10, 12)


@given(requests)
def test_requests_come_out_again(values):
    packet = native.build_request(*values)
    assert len(packet) == packet[0, 4:8].view(np.uint32)[0]
    assert same_verdict(packet.tobytes(), "request") == values


@given(results)
def test_results_come_out_again(values):
    assert same_verdict(native.build_result(*values).tobytes(), "result") == values


@settings(max_examples=400)
@given(mutated(requests.map(lambda values: native.build_request(*values))))
def test_mutated_requests(packet):
    same_verdict(packet, "request")


@settings(max_examples=400)
@given(mutated(results.map(lambda values: native.build_result(*values))))
def test_mutated_results(packet):
    same_verdict(packet, "result")


@given(st.integers(0, 6).flatmap(lambda count: st.binary(min_size=24 * count, max_size=24 * count)),
       st.sampled_from(["request", "result"]))
def test_noise(packet, kind):
    same_verdict(packet, kind)


@pytest.mark.parametrize("at", range(len(EXAMPLE)))
def test_every_byte_of_the_example(at):
    for value in (1, 5, 0x80, 0xFF):
        packet = EXAMPLE[:at] + bytes([EXAMPLE[at] ^ value]) + EXAMPLE[at + 1:]
        same_verdict(packet, "request")


@pytest.mark.parametrize(("place", "value", "text"), [
    (4, 8, "element 0 announces another number of elements than there are"),
    (12, 0xFFFFFFFF, "element 0 announces more operands and pools than there are elements"),
    (44, 0xFFFFFFFF, "element 1 announces more dimensions than elements are left"),
    (24, 3, "element 1 is of another kind than announced"),
    (24, 200, "element 1 is of another kind than announced"),
    (28, 2, "element 1 has an invalid value"),
    (28, 0x0100, "element 1 has padding that is not zero"),
    (48, 0x0102, "element 2 has padding that is not zero"),
    (148, 2, "element 6 has an invalid value"),
    (8, 0, "element 1 is of another kind than announced"),
])
def test_4_7_reasons(place, value, text):
    packet = EXAMPLE[:place] + value.to_bytes(4, "little") + EXAMPLE[place + 4:]
    with pytest.raises(InvalidArgument, match=f"^request packet: {text}$"):
        native.parse_request(np.frombuffer(packet, np.uint8))


def test_4_7_ends_of_packets():
    empty = np.zeros(0, np.uint8)
    with pytest.raises(InvalidArgument, match="has no elements"):
        native.parse_request(empty)
    with pytest.raises(GeneralFailure, match="has no elements"):
        native.parse_result(empty)
    with pytest.raises(ValueError, match="not a multiple of 24"):
        native.parse_request(np.zeros(25, np.uint8))
    longer = np.frombuffer(EXAMPLE + EXAMPLE[-24:], np.uint8).copy()
    longer[4] += 1
    with pytest.raises(InvalidArgument, match="element 7 is behind the last one announced"):
        native.parse_request(longer)


def test_11_12_padding_of_results_is_zero():
    packet = native.build_result(0, [((), True), ((3,), False)])
    rows = packet[packet[:, 0] == definition.OPERAND]
    assert len(rows) == 2 and not rows[:, 1:8].any() and not rows[:, 9:12].any()
