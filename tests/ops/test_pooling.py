"""AVERAGE_POOL_2D, L2_POOL_2D and MAX_POOL_2D."""

import math

import numpy as np
import pytest

from helpers.nodes import T, flag, floats, ints, node, operand, out, run
from helpers.vectors import check_coupling, check_signatures, check_vectors
from nnfast.errors import InvalidArgument
from nnfast.model.types import OperationType
from nnfast.ops import registry

Q8, Q8S = T.TENSOR_QUANT8_ASYMM, T.TENSOR_QUANT8_ASYMM_SIGNED


def pool(name, data, *scalars, layout=None, scale=0.5, zero_point=0, type_=T.TENSOR_FLOAT32):
    extra = [] if layout is None else [flag(layout)]
    source = operand(type_, data, *((scale, zero_point) if type_ in (Q8, Q8S) else ()))
    result, = run(name, [source, *ints(*scalars), *extra], [out(type_, source.scale, source.zero_point)])
    return result


def image(rows):
    return np.asarray(rows)[None, :, :, None]


def test_average_counts_only_what_lies_inside():
    data = image([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])
    result = pool("AVERAGE_POOL_2D", data, 1, 1, 1, 1, 2, 2, 3, 3, 0)
    assert result[0, :, :, 0].tolist() == [[3.0, 4.0], [6.0, 7.0]]


def test_max_ignores_padding_below_zero():
    result = pool("MAX_POOL_2D", image([[-3.0, -7.0], [-4.0, -5.0]]), 1, 1, 1, 2, 2, 0)
    assert result[0, :, :, 0].tolist() == [[-3.0, -5.0], [-4.0, -5.0]]


@pytest.mark.parametrize(("type_", "codes", "wanted"), [
    (Q8, [[1, 2], [2, 1]], 2),        # 1.5 up
    (Q8, [[1, 1], [2, 1]], 1),        # 1.25 down
    (Q8S, [[1, 2], [2, 1]], 2),       # halves away from zero on either side
    (Q8S, [[-1, -2], [-2, -1]], -2),
    (Q8S, [[-1, -1], [-2, -1]], -1),
    (Q8S, [[-128, -128], [-128, -127]], -128),
    (Q8, [[255, 255], [255, 254]], 255),
])
def test_average_of_codes_rounds_to_nearest(type_, codes, wanted):
    result = pool("AVERAGE_POOL_2D", image(codes), 2, 1, 1, 2, 2, 0, type_=type_)
    assert result.tolist() == [[[[wanted]]]]


@pytest.mark.parametrize("type_", (Q8, Q8S))
@pytest.mark.parametrize("name", ("AVERAGE_POOL_2D", "MAX_POOL_2D"))
def test_pools_against_a_loop(name, type_):
    rng = np.random.default_rng(4)
    low = 0 if type_ == Q8 else -128
    data = rng.integers(low, low + 256, (2, 6, 7, 3))
    result = pool(name, data, 1, 0, 0, 2, 2, 3, 3, 4, 0, type_=type_)  # left 1, bottom 2, stride (3, 2), filter (4, 3)
    wanted = np.empty_like(result)
    for b, y, x, c in np.ndindex(result.shape):
        rows, columns = slice(max(3 * y, 0), 3 * y + 4), slice(max(2 * x - 1, 0), 2 * x - 1 + 3)
        values = data[b, rows, columns, c].ravel().tolist()
        total, n = sum(values), len(values)
        mean = int((abs(total) + n // 2) // n) * (1 if total > 0 else -1)
        wanted[b, y, x, c] = max(values) if name == "MAX_POOL_2D" else mean
    assert result.shape == (2, 2, 3, 3)
    np.testing.assert_array_equal(result, wanted)


def test_l2_is_the_root_of_the_mean_square_of_what_lies_inside():
    data = np.random.default_rng(8).standard_normal((2, 6, 7, 3)).astype(np.float32)
    result = pool("L2_POOL_2D", data, 1, 0, 0, 2, 2, 3, 3, 4, 0)  # left 1, bottom 2, stride (3, 2), filter (4, 3)
    assert result.shape == (2, 2, 3, 3)
    for b, y, x, c in np.ndindex(result.shape):
        values = data[b, 3 * y:3 * y + 4, max(2 * x - 1, 0):2 * x + 2, c].ravel().tolist()
        wanted = math.sqrt(sum(v * v for v in values) / len(values))
        assert result[b, y, x, c] == pytest.approx(wanted, rel=6e-8)


def test_l2_squares_do_not_overflow():
    data = image([[3e4, -4e4]])
    assert pool("L2_POOL_2D", data, 2, 1, 1, 2, 1, 0, type_=T.TENSOR_FLOAT16).item() == np.float16(math.sqrt(12.5e8))
    assert pool("L2_POOL_2D", image([[3e38, 3e38]]), 2, 1, 1, 2, 1, 0).item() == np.float32(3e38)


def test_l2_has_no_quantized_form():
    message = r"L2_POOL_2D input 0 \(input\): type TENSOR_QUANT8_ASYMM, must be TENSOR_FLOAT32 or TENSOR_FLOAT16"
    with pytest.raises(InvalidArgument, match=message):
        pool("L2_POOL_2D", image([[1]]), 1, 1, 1, 1, 1, 0, type_=Q8)


@pytest.mark.parametrize("name", ("AVERAGE_POOL_2D", "L2_POOL_2D", "MAX_POOL_2D"))
def test_layouts_agree(name):
    data = np.random.default_rng(5).standard_normal((2, 5, 6, 3)).astype(np.float32)
    scalars = (1, 2, 1, 3, 2, 1)
    last = pool(name, data, *scalars, layout=False)
    first = pool(name, data.transpose(0, 3, 1, 2), *scalars, layout=True)
    np.testing.assert_array_equal(first.transpose(0, 2, 3, 1), last)
    assert last.shape == (2, 5, 3, 3)


@pytest.mark.parametrize(("activation", "wanted"), ((0, [90, 255]), (1, [100, 255]), (2, [98, 102]), (3, [100, 112])))
def test_activation_clamps_codes(activation, wanted):
    result = pool("MAX_POOL_2D", image([[90, 255]]), 2, 1, 1, 1, 1, activation, type_=Q8, zero_point=100)
    assert result.ravel().tolist() == wanted


def test_activation_clamps_floats():
    data = image([[-3.0, 0.5, 9.0]])
    assert pool("MAX_POOL_2D", data, 2, 1, 1, 1, 1, 3).ravel().tolist() == [0.0, 0.5, 6.0]
    assert pool("AVERAGE_POOL_2D", data, 2, 1, 1, 1, 1, 2).ravel().tolist() == [-1.0, 0.5, 1.0]
    assert pool("L2_POOL_2D", data, 2, 1, 1, 1, 1, 3).ravel().tolist() == [3.0, 0.5, 6.0]


def test_half_sums_do_not_overflow():
    result = pool("AVERAGE_POOL_2D", np.full((1, 4, 4, 1), 60000.0), 2, 4, 4, 4, 4, 0, type_=T.TENSOR_FLOAT16)
    assert result.dtype == np.float16
    assert result.item() == np.float16(60000.0)


@pytest.mark.parametrize("name", ("AVERAGE_POOL_2D", "L2_POOL_2D", "MAX_POOL_2D"))
def test_an_empty_batch_gives_an_empty_output(name):
    assert registry.lookup(OperationType[name]).zero_sized == "batch"
    assert pool(name, np.zeros((0, 4, 4, 2)), 2, 1, 1, 2, 2, 0).shape == (0, 3, 3, 2)


@pytest.mark.parametrize("name", ("AVERAGE_POOL_2D", "MAX_POOL_2D"))
def test_the_output_keeps_the_quantization(name):
    assert registry.lookup(OperationType[name]).quant == "same"


def test_versions():
    source = floats(np.zeros((1, 2, 2, 1)))
    short = [source, *ints(1, 1, 1, 1, 1, 0)]
    assert node("MAX_POOL_2D", short, [out()]).version == "1.0"
    assert node("MAX_POOL_2D", [*short, flag(False)], [out()]).version == "1.2"
    signed = operand(Q8S, np.zeros((1, 2, 2, 1)), scale=1)
    assert node("MAX_POOL_2D", [signed, *short[1:]], [out(Q8S, 1.0)]).version == "1.3"


def test_output_type_must_be_the_input_type():
    message = r"AVERAGE_POOL_2D output 0 \(output\): type TENSOR_FLOAT16, must be TENSOR_FLOAT32"
    with pytest.raises(InvalidArgument, match=message):
        node("AVERAGE_POOL_2D", [floats(np.zeros((1, 2, 2, 1))), *ints(1, 1, 1, 1, 1, 0)], [out(T.TENSOR_FLOAT16)])


def test_signature_tables():
    check_signatures("AVERAGE_POOL_2D", "L2_POOL_2D", "MAX_POOL_2D")


@pytest.mark.parametrize("name", ("AVERAGE_POOL_2D", "MAX_POOL_2D"))
def test_vectors(name):
    _, values, off = check_vectors(name)
    assert off == 0 < values


def test_l2_vectors():
    check_vectors("L2_POOL_2D")


def test_signed_twins_of_max_are_equal():
    check_coupling("MAX_POOL_2D")  # averages may differ by one step: each type rounds halves its own way
