"""What the property run has found once, one test each."""

import numpy as np
import pytest

from nnfast import Device, ModelBuilder

LARGEST = np.finfo(np.float16).max


@pytest.mark.parametrize("name, start, odd", [
    ("REDUCE_MAX", -LARGEST, -np.inf), ("REDUCE_MAX", -LARGEST, np.nan),
    ("REDUCE_MIN", LARGEST, np.inf), ("REDUCE_MIN", LARGEST, np.nan),
])
def test_float16_extreme_without_a_number_is_the_finite_start(name, start, odd):
    b = ModelBuilder()
    x, y = b.input("TENSOR_FLOAT16", (2, 3)), b.output("TENSOR_FLOAT16", (3,))
    model = b.operation(name, [x, b.constant(np.int32([0])), b.scalar(False)], [y]).build()
    prepared = Device(num_threads=1).prepare(model)
    assert prepared.explain().native
    (found,) = prepared.run([np.array([[odd, odd, 1], [odd, -start, 2]], np.float16)])
    assert found.tolist() == [start, -start, 2 if name == "REDUCE_MAX" else 1]


@pytest.mark.parametrize("name, filter_shape, more", [
    ("CONV_2D", (4, 3, 3, 2), ()), ("CONV_2D", (16, 3, 3, 16), ()),
    ("GROUPED_CONV_2D", (4, 3, 3, 1), (2,)), ("TRANSPOSE_CONV_2D", (4, 3, 3, 2), ()),
    ("DEPTHWISE_CONV_2D", (1, 3, 3, 16), (1,)),
])
@pytest.mark.parametrize("odd", [np.inf, np.nan])
def test_infinite_weights_do_not_meet_the_zeros_of_padding(name, filter_shape, more, odd):
    """Outputs whose windows reach the tap outside of the image are finite, the others are not."""
    weights = np.ones(filter_shape, np.float32)
    weights[..., :1, :1, :] = odd
    channels = filter_shape[3] * (more[0] if name == "GROUPED_CONV_2D" else 1)
    b = ModelBuilder()
    x, y = b.input("TENSOR_FLOAT32", (1, 5, 5, channels)), b.output("TENSOR_FLOAT32", (0, 0, 0, 0))
    units = filter_shape[3] if name == "DEPTHWISE_CONV_2D" else filter_shape[0]
    b.operation(name, [x, b.constant(weights), b.constant(np.zeros(units, np.float32)),
                       *map(b.scalar, (1, 1, 1, 1, 1, 1, *more, 0)),
                       *([b.scalar(False)] if name == "TRANSPOSE_CONV_2D" or more and name.startswith("G") else [])],
                [y])
    result = Device(num_threads=1).prepare(b.build()).run([np.ones((1, 5, 5, channels), np.float32)])[0]
    finite = np.isfinite(result).all(axis=3)[0]
    wanted = np.zeros_like(finite)
    if name == "TRANSPOSE_CONV_2D":
        wanted[-1:] = wanted[:, -1:] = True  # tap (0, 0) of the last input is cropped, and no later one follows
    else:
        wanted[:1] = wanted[:, :1] = True
    assert np.array_equal(finite, wanted)
