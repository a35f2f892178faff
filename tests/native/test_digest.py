"""The keyed digest of the compilation cache: the same on any number of threads, in memory and while a file is read."""

import os
import threading

import numpy as np
import pytest

from nnfast._native.codec import KeyedDigest, same_digest

BLOCK, PIECE = 1 << 18, 4096
SIZES = (0, 1, 7, 64, 1000, PIECE - 1, PIECE, PIECE + 1, BLOCK - 1, BLOCK, BLOCK + 1, 9 * BLOCK + 5)
KEY = bytes(range(32))
digest = KeyedDigest(KEY)


def content(size, seed=1):
    return np.random.default_rng(seed).integers(0, 256, size, np.uint8)


@pytest.fixture
def file(tmp_path):
    """write(bytes): a descriptor of a file that holds them, somewhere behind its beginning."""
    opened = []

    def write(data):
        descriptor = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        opened.append(descriptor)
        os.write(descriptor, bytes(data))
        return descriptor

    yield write
    for descriptor in opened:
        os.close(descriptor)


@pytest.mark.parametrize("size", SIZES)
def test_reading_gives_the_bytes_and_their_digest(file, size):
    data = content(size)
    wanted = digest.of(data)
    for threads in (1, 2, 3):
        assert digest.of(data, threads) == wanted
        copy = np.zeros(size, np.uint8)
        assert digest.read(file(data), copy, threads) == wanted
        assert np.array_equal(copy, data)


def test_digests_are_compared_to_the_last_bit():
    one = bytes(range(32))
    assert same_digest(one, bytes(range(32))) and same_digest(b"", b"")
    for place in range(32):
        for bit in range(8):
            other = bytearray(one)
            other[place] ^= 1 << bit
            assert not same_digest(one, bytes(other))
    assert not same_digest(one, one[:31]) and not same_digest(one, one + b"\0")
    with pytest.raises(TypeError):
        same_digest(one, None)


@pytest.mark.parametrize("size", SIZES)
def test_the_sums_are_those_of_nh(size):
    """Recomputed with Python's integers."""
    from hashlib import blake2b

    words = b"".join(blake2b(i.to_bytes(8, "little"), key=KEY, person=b"nnfast pieces").digest()
                     for i in range(PIECE // 64))
    key = [int(w) for w in np.frombuffer(words, "<u8")]
    total = blake2b(size.to_bytes(8, "little"), key=KEY, digest_size=32, person=b"nnfast buffer")
    data = bytes(content(size))
    for at in range(0, size, PIECE):
        m = [int(w) for w in np.frombuffer(data[at:at + PIECE].ljust(PIECE, b"\0"), "<u8")]
        low = (1 << 64) - 1
        found = sum(((m[i] + key[i]) & low) * ((m[i + 1] + key[i + 1]) & low) for i in range(0, len(m), 2))
        total.update((found & (1 << 128) - 1).to_bytes(16, "little"))
    assert digest.of(content(size)) == total.digest()


@pytest.mark.parametrize("size", SIZES[1:])
def test_every_changed_byte_shows(size):
    data = content(size)
    wanted = digest.of(data)
    for place in {0, size // 2, size - 1, min(size - 1, BLOCK)}:
        data[place] ^= 16
        assert digest.of(data) != wanted
        data[place] ^= 16


def test_another_key_gives_another_digest():
    other = KeyedDigest(KEY[::-1])
    for size in SIZES:
        assert other.of(content(size)) != digest.of(content(size))
    assert digest.of(b"text") == KeyedDigest(KEY).of(b"text") == digest.of(np.frombuffer(b"text", np.uint8))
    for wrong in (b"", KEY[1:], KEY + b"x"):
        with pytest.raises(ValueError, match="must have 32"):
            KeyedDigest(wrong)


def test_pieces_in_another_order_and_other_lengths_show():
    data = content(4 * BLOCK)
    for unit in (PIECE, BLOCK):
        moved = np.concatenate([data[unit:2 * unit], data[:unit], data[2 * unit:]])
        assert digest.of(moved) != digest.of(data)
    zeros = [digest.of(np.zeros(size, np.uint8)) for size in range(200)]
    assert len(set(zeros)) == len(zeros)


@pytest.mark.parametrize("threads", [1, 3])
def test_a_file_that_is_too_short(file, threads):
    for size in (1, BLOCK, 9 * BLOCK):
        assert digest.read(file(content(size - 1)), np.empty(size, np.uint8), threads) is None


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(OSError, match="Bad file descriptor"):
        digest.read(-1, np.empty(4, np.uint8))
    write_only = os.open(tmp_path / "file", os.O_WRONLY | os.O_CREAT)
    with pytest.raises(OSError, match="Bad file descriptor"):
        digest.read(write_only, np.empty(4, np.uint8))
    os.close(write_only)
    folder = os.open(tmp_path, os.O_RDONLY)
    with pytest.raises(IsADirectoryError):
        digest.read(folder, np.empty(4, np.uint8))
    os.close(folder)


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_other_work_goes_on_meanwhile(tmp_path, threads):
    raw = np.random.default_rng(4).integers(0, 256, 9_000_001, dtype=np.uint8)
    path = tmp_path / "raw"
    path.write_bytes(raw.tobytes())
    digest, calls = KeyedDigest(KEY), []
    with open(path, "rb") as stream:
        content = np.zeros_like(raw)
        found = digest.read(stream.fileno(), content, threads, lambda: calls.append(threading.get_ident()))
        assert found == digest.of(raw) and np.array_equal(content, raw)
        assert digest.of(raw, threads, lambda: calls.append(threading.get_ident())) == found
    assert calls == [threading.get_ident()] * 2


@pytest.mark.parametrize("size", [0, 10, 5_000_000])
def test_what_other_work_raises_comes_out(size):
    def fail():
        raise KeyError("meanwhile")

    digest = KeyedDigest(KEY)
    with pytest.raises(KeyError, match="meanwhile"):
        digest.of(np.zeros(size, np.uint8), 3, fail)
    assert digest.of(np.zeros(size, np.uint8), 3, lambda: None) == digest.of(np.zeros(size, np.uint8))
