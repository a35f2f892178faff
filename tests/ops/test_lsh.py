"""LSH_PROJECTION."""

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.nodes import node, omitted, operand, out, refuses, run, version
from helpers.vectors import check_vectors
from nnfast._native.codec import fingerprint64
from nnfast.ops.lsh import DENSE, LSH_PROJECTION, SPARSE, SPARSE_DEPRECATED


def fingerprint(data):
    """Of one key."""
    return int(fingerprint64(np.frombuffer(data, np.uint8).reshape(1, len(data)))[0])


@pytest.mark.parametrize(("text", "value"), [
    ("", 0x9ae16a3b2f90404f), ("abc", 0x24a5b3a074e7f369), ("test", 0x7717383daa85b5b2),
    ("abcdefgh", 0xfee9d22990c82909), ("1footrue", -1541654101129638711), ("2applefalse", 2794438866806483259),
    ("test" * 8, -4196240717365766262), ("I wouldn't marry him with a ten foot pole.", 0xa9961670ce2a46d9),
    ("test" * 64, 3500507768004279527),
])
def test_published_fingerprints(text, value):
    assert fingerprint(text.encode()) == value % 2**64


@given(st.integers(0, 300), st.integers(0, 2**32))
def test_keys_side_by_side_do_not_mix(length, seed):
    keys = np.random.default_rng(seed).integers(0, 256, (3, length), np.uint8)
    assert fingerprint64(keys).tolist() == [fingerprint(row.tobytes()) for row in keys]


def test_every_byte_counts():
    for length in (1, 3, 7, 16, 32, 64, 65, 128, 129, 200):
        key = bytes(range(length))
        others = {fingerprint(key[:at] + bytes([key[at] ^ 128]) + key[at + 1:]) for at in range(length)}
        assert len(others | {fingerprint(key)}) == length + 1


HASH = np.random.default_rng(5).standard_normal((3, 4)).astype(np.float32)
INPUT = np.random.default_rng(6).integers(-99, 99, (5, 2, 3))
WEIGHT = np.random.default_rng(7).standard_normal(5).astype(np.float32)


def bits_by_definition(seeds, rows, weights):
    """One hash at a time, in plain Python."""
    found = []
    for seed in seeds.reshape(-1):
        score = 0.0
        for row, weight in zip(rows, weights, strict=True):
            number = fingerprint(struct.pack("<f", float(seed)) + row.tobytes())
            score += float(weight) * float(number - 2**64 if number >= 2**63 else number)
        found.append(int(score > 0))
    return found


def project(kind, hash_type="F32", input_type="I32", weighted=False, seeds=HASH):
    weight = operand(hash_type, WEIGHT) if weighted else omitted(hash_type)
    inputs = [operand(hash_type, seeds), operand(input_type, INPUT, 0.5, 3), weight, operand("i32", kind)]
    return inputs, run(LSH_PROJECTION, inputs, out("I32"))


@pytest.mark.parametrize("hash_type", ["F32", "F16"])
@pytest.mark.parametrize("input_type", ["F32", "F16", "I32", "Q8"])
def test_dense_gives_every_bit(hash_type, input_type):
    inputs, actual = project(DENSE, hash_type, input_type, weighted=True)
    seeds, source, weight = (t.value for t in inputs[:3])
    wanted = bits_by_definition(seeds, source, weight)
    assert actual.tolist() == wanted and 0 < sum(wanted) < len(wanted)


@pytest.mark.parametrize("kind", [SPARSE_DEPRECATED, SPARSE])
def test_sparse_packs_the_first_bit_on_top(kind):
    inputs, actual = project(kind)
    bits = bits_by_definition(HASH, inputs[1].value, [1] * 5)
    words = [int("".join(map(str, bits[at:at + 4])), 2) for at in (0, 4, 8)]
    assert actual.tolist() == [word + (16 * place if kind == SPARSE else 0) for place, word in enumerate(words)]


def test_32_bits_wrap_into_the_sign():
    seeds = np.random.default_rng(8).standard_normal((3, 32)).astype(np.float32)
    inputs, actual = project(SPARSE, seeds=seeds)
    bits = bits_by_definition(seeds, inputs[1].value, [1] * 5)
    words = [int("".join(map(str, bits[at:at + 32])), 2) for at in (0, 32, 64)]
    assert (actual.astype(np.int64) % 2**32).tolist() == words
    assert actual.min() < 0


def test_rules():
    seeds, x, weight, no = operand("F32", HASH), operand("I32", INPUT), operand("F32", WEIGHT), omitted("F32")
    target = out("I32")

    def refused(inputs, message):
        refuses(LSH_PROJECTION, inputs, message, target)

    refused([seeds, x, weight, operand("i32", 3)], " input 2 (weight): is given, must be omitted for type 3")
    refused([seeds, x, no, operand("i32", 2)], " input 2 (weight): is omitted, must have a value for type 2")
    refused([seeds, x, no, operand("i32", 4)], " input 3 (type): is 4, must be 1, 2 or 3")
    refused([seeds, x, operand("F32", [1]), operand("i32", 2)],
            " input 2 (weight): shape is [1], must be [5], one for each row of the input")
    refused([operand("F32", np.ones((1, 33))), x, no, operand("i32", 1)],
            " input 0 (hash): dimension 1 is 33, must be at most 32 bits")
    refused([operand("F32", [1]), x, no, operand("i32", 1)], " input 0 (hash): rank is 1, must be 2")


def test_versions():
    rest = operand("I32", INPUT), operand("i32", 1)
    assert version(LSH_PROJECTION, [operand("F32", HASH), rest[0], omitted("F32"), rest[1]], out("I32")) == "1.0"
    assert version(LSH_PROJECTION, [operand("F16", HASH), rest[0], omitted("F16"), rest[1]], out("I32")) == "1.2"


def test_vectors():
    check_vectors("LSH_PROJECTION")


def test_a_long_row_and_many_hashes_take_little_time_and_can_be_stopped():
    """Half an hour when each block of a key was an operation of numpy."""
    rows, parts = np.zeros((1, 1 << 20), np.int32), []
    made = node(LSH_PROJECTION, [operand("F32", HASH), operand("I32", rows), omitted("F32"), operand("i32", SPARSE)],
                out("I32"))

    def go_on():
        parts.append(1)
        if len(parts) > 2:
            raise InterruptedError

    arrays = [HASH, rows, None, np.int32(SPARSE)]
    with pytest.raises(InterruptedError):
        LSH_PROJECTION.compute(made.with_values(arrays, go_on), arrays)
    LSH_PROJECTION.compute(made, arrays)
