"""Random numbers with the seeds of a file: LiteRT's, and going on from run to run."""

import numpy as np
import pytest

import nnfast
from helpers.tflite.running import Const, One
from nnfast.errors import UnsupportedOperator

SHAPE = np.array([2, 3], np.int32)


def one(kind, seed=0, seed2=5):
    return One(kind, [SHAPE], [((2, 3), "float32")], "RandomOptions", {"Seed": seed, "Seed2": seed2})


def words(seed, seed2, blocks):
    """Words of Philox4x32-10, one block at a time."""
    found = []
    for block in range(blocks):
        counter, key = [block, 0, seed2, 0], [seed, 0]
        for _ in range(10):
            a, b = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
            low = (1 << 32) - 1
            counter = [b >> 32 ^ counter[1] ^ key[0], b & low, a >> 32 ^ counter[3] ^ key[1], a & low]
            key = [key[0] + 0x9E3779B9 & low, key[1] + 0xBB67AE85 & low]
        found += counter
    return found


def test_uniform_numbers_are_the_low_bits_of_the_generator_and_go_on():
    stream = nnfast.Device().prepare(one("RANDOM_UNIFORM", 3, 5).model()).stream()
    values = [(word & 0x7FFFFF) / 2**23 for word in words(3, 5, 4)]
    # Six numbers use two blocks of four; the rest of the second is lost.
    assert stream.run([SHAPE])[0].reshape(-1).tolist() == values[:6]
    assert stream.run([SHAPE])[0].reshape(-1).tolist() == values[8:14]


def test_normal_numbers():
    (result,) = one("RANDOM_STANDARD_NORMAL").run()
    first, second = ((word & 0x7FFFFF) / 2**23 for word in words(0, 5, 1)[:2])
    expected = np.sqrt(-2 * np.log(first)) * np.array([np.sin(2 * np.pi * second), np.cos(2 * np.pi * second)])
    np.testing.assert_allclose(result.reshape(-1)[:2], expected, 1e-5)


def test_seeds_of_32_bits_are_kept():
    assert one("RANDOM_UNIFORM", (1 << 33) + 3).run()[0].tolist() == one("RANDOM_UNIFORM", 3).run()[0].tolist()


@pytest.mark.parametrize("kind", ["RANDOM_UNIFORM", "RANDOM_STANDARD_NORMAL"])
def test_without_seeds_runs_differ(kind):
    assert one(kind, 0, 0).run()[0].tolist() != one(kind, 0, 0).run()[0].tolist()


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_multinomial_draws_finite_classes_in_proportion(dtype):
    logits = np.log(np.array([[1, 0, 3], [1, 1, 2]], np.float32), where=[[1, 0, 1], [1, 1, 1]],
                    out=np.full((2, 3), -np.inf, np.float32)).astype(np.float32)
    draws = One("MULTINOMIAL", [logits, Const(np.array(4000, np.int32))], [((2, 4000), dtype)], "RandomOptions",
                {"Seed": 1, "Seed2": 2}).run()[0]
    assert draws.dtype == dtype
    shares = np.array([np.bincount(row, minlength=3) / 4000 for row in draws])
    assert shares[0, 1] == 0 and abs(shares - [[0.25, 0, 0.75], [0.25, 0.25, 0.5]]).max() < 0.03


PHILOX = [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]
THREEFRY = [0x6b200159, 0x99ba4efe]
"""First words for a key and a number of 0, as the authors of both publish them."""


@pytest.mark.parametrize(("algorithm", "size", "first"), [(0, 2, PHILOX), (1, 3, PHILOX), (2, 2, THREEFRY)])
@pytest.mark.parametrize("dtype", ["uint32", "int32", "uint64", "int64"])
def test_bit_generators_go_on_from_their_state(algorithm, size, first, dtype):
    def run(state, count):
        return One("STABLEHLO_RNG_BIT_GENERATOR", [state], [((size,), "uint64"), ((count,), dtype)],
                   "StablehloRngBitGeneratorOptions", {"Algorithm": algorithm}).run()

    state, wide = np.zeros(size, np.uint64), np.dtype(dtype).itemsize // 4
    (after, found), (last, whole) = run(state, len(first) // wide), run(state, 12 // wide)
    assert found.view(np.uint32).tolist() == first and after.tolist() == [0, 1, 0][:size]
    (end, rest) = run(after, 12 // wide - len(found))
    np.testing.assert_array_equal(np.concatenate([found, rest]), whole)
    assert end.tolist() == last.tolist() == [0, 12 // len(first), 0][:size]
    carried = np.array([0, (1 << 64) - 1, 0][:size], np.uint64)
    assert run(carried, 12 // wide)[0][1] == 12 // len(first) - 1


def test_bit_generators_refuse_other_states():
    with pytest.raises(UnsupportedOperator, match="Threefry"):
        One("STABLEHLO_RNG_BIT_GENERATOR", [np.zeros(3, np.uint64)], [((3,), "uint64"), ((2,), "int32")],
            "StablehloRngBitGeneratorOptions", {"Algorithm": 2}).model()
