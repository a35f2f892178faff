"""Operations that move data, through the driver: pieces, views, open forms, and sizes that nothing can hold."""

import numpy as np
import pytest

from nnfast import ModelBuilder
from nnfast.errors import GeneralFailure, InvalidArgument

FLOAT, INTS, CODES = "TENSOR_FLOAT32", "TENSOR_INT32", "TENSOR_QUANT8_ASYMM"


def split_model(scale, zero_point=3):
    """Two halves of [4] codes; the second one declares a scale and zero point of its own."""
    b = ModelBuilder("split")
    x = b.input(CODES, (4,), 0.5, 3)
    halves = b.output(CODES, (2,), 0.5, 3), b.output(CODES, (2,), scale, zero_point)
    return b.operation("SPLIT", [x, b.scalar(0), b.scalar(2)], halves).build()


def test_split_writes_all_outputs(device):
    first, second = device.prepare(split_model(0.5)).run([np.array([1, 2, 3, 4], np.uint8)])
    assert first.tolist() == [1, 2] and second.tolist() == [3, 4]


@pytest.mark.parametrize(("scale", "zero_point"), [(0.25, 3), (0.5, 4)])
def test_every_output_of_split_must_declare_the_quantization(device, scale, zero_point):
    with pytest.raises(InvalidArgument, match=f"SPLIT output 1: scale {scale} and zero point {zero_point}, must be"):
        device.prepare(split_model(scale, zero_point))


@pytest.mark.parametrize(("scale", "zero_point"), [(2.0, 0), (1.0, 1)])
def test_hits_of_a_hashtable_have_a_fixed_quantization(device, scale, zero_point):
    b = ModelBuilder("lookup")
    lookups, keys = b.input(INTS, (2,)), b.constant(np.array([4, 7], np.int32))
    values = b.constant(np.ones((2, 3), np.float32))
    outputs = b.output(FLOAT, (2, 3)), b.output(CODES, (2,), scale, zero_point)
    model = b.operation("HASHTABLE_LOOKUP", [lookups, keys, values], outputs).build()
    with pytest.raises(InvalidArgument, match="HASHTABLE_LOOKUP output 1: .*, must be 1 and 0"):
        device.prepare(model)


def test_dimensions_of_size_1_cost_no_copy(device):
    b = ModelBuilder("views")
    x, y = b.input(FLOAT, (2, 3)), b.output(FLOAT, (2, 3))
    wide, narrow = b.operand(FLOAT, (2, 1, 3)), b.operand(FLOAT, (2, 3))
    b.operation("EXPAND_DIMS", [x, b.scalar(1)], [wide])
    b.operation("SQUEEZE", [wide, b.constant(np.array([1], np.int32))], [narrow])
    prepared = device.prepare(b.operation("RELU", [narrow], [y]).build())
    assert [row["kernel"] for row in prepared.explain().rows][:2] == ["no copy"] * 2
    value = np.array([[1, -2, 3], [-4, 5, -6]], np.float32)
    np.testing.assert_array_equal(prepared.run([value])[0], np.maximum(value, 0))


def test_an_omitted_input_may_make_a_model_right(device):
    """LSH_PROJECTION of type 3 must run without its weight, which only the request can leave out."""
    b = ModelBuilder("hash")
    seeds, x, weight = b.constant(np.ones((3, 4), np.float32)), b.input(FLOAT, (5, 2)), b.input(FLOAT, (5,))
    model = b.operation("LSH_PROJECTION", [seeds, x, weight, b.scalar(3)], [b.output(INTS, (3,))]).build()
    prepared = device.prepare(model)
    value = np.arange(10, dtype=np.float32).reshape(5, 2)
    (found,) = prepared.run([value, None])
    assert (found // 16).tolist() == [0, 1, 2] and len(set(found % 16)) == 1
    with pytest.raises(InvalidArgument, match=r"\(weight\): is given, must be omitted for type 3"):
        prepared.run([value, np.ones(5, np.float32)])


def fill_model(rank):
    b = ModelBuilder("fill")
    dims = b.input(INTS, (rank,))
    return b.operation("FILL", [dims, b.scalar(1.0)], [b.output(FLOAT, ())]).build()


@pytest.mark.parametrize(("dims", "text"), [
    ([2**31 - 1] * 3, "bytes, must be less than 4294967296"),
    ([2**15, 2**15], "takes 4294967296 bytes, must be less than 4294967296"),
    ([0] + [2**31 - 1] * 3, "bytes, must be less than"),
    ([1] * 65, "rank is 65, must be at most 64"),
])
def test_sizes_that_nothing_can_hold(device, dims, text):
    with pytest.raises(GeneralFailure, match=text):
        device.prepare(fill_model(len(dims))).run([np.array(dims, np.int32)])


def test_sizes_from_the_request(device):
    prepared = device.prepare(fill_model(2))
    for dims in ([2, 3], [0, 5], [4, 1]):
        (actual,) = prepared.run([np.array(dims, np.int32)])
        assert actual.shape == tuple(dims) and (actual == 1).all()
