"""SVDF."""

import numpy as np
import pytest

from helpers.nodes import T, execute, floats, ints, node, omitted, out, run
from helpers.vectors import check_signatures, check_vectors
from nnfast.errors import InvalidArgument

BATCH, SIZE, UNITS, RANK, MEMORY = 2, 3, 2, 3, 4
FILTERS = UNITS * RANK


def tensors(seed=1):
    """input, weights_feature, weights_time, bias, state_in as float32 arrays."""
    rng = np.random.default_rng(seed)
    shapes = ((BATCH, SIZE), (FILTERS, SIZE), (FILTERS, MEMORY), (UNITS,), (BATCH, MEMORY * FILTERS))
    return [rng.standard_normal(shape).astype(np.float32) for shape in shapes]


def build(arrays, rank=RANK, activation=0, bias=True, half=False):
    inputs = [floats(array, half) for array in arrays]
    type_ = T.TENSOR_FLOAT16 if half else T.TENSOR_FLOAT32
    if not bias:
        inputs[3] = omitted(type_)
    return node("SVDF", [*inputs, *ints(rank, activation)], [out(type_), out(type_)])


def loop(data, feature, time, bias, state):
    """(state, output before the activation) of one batch row, one value at a time."""
    after, sums = [], list(bias)
    for f in range(FILTERS):
        history = [float(v) for v in state[f * MEMORY:(f + 1) * MEMORY]]
        history[-1] = sum(float(a) * float(b) for a, b in zip(data, feature[f], strict=True))
        sums[f // RANK] += sum(a * float(b) for a, b in zip(history, time[f], strict=True))
        after += [*history[1:], 0.0]
    return after, sums


@pytest.mark.parametrize("half", (False, True))
@pytest.mark.parametrize("bias", (True, False))
def test_one_step(bias, half):
    arrays = [a.astype(np.float16 if half else np.float32) for a in tensors()]
    data, feature, time, offset, state = arrays
    wanted = [loop(data[b], feature, time, offset.astype(float) if bias else [0.0] * UNITS, state[b]) for b in (0, 1)]
    before = state.copy()
    results = execute(build(arrays, bias=bias, half=half))
    tolerance = np.finfo(data.dtype).eps / 2 * 1.001
    for result, expected in zip(results, zip(*wanted, strict=True), strict=True):
        np.testing.assert_allclose(result, expected, rtol=tolerance, atol=1e-12)
    np.testing.assert_array_equal(state, before)


def test_an_impulse_walks_through_the_time_weights():
    time = np.array([[1.0, 2.0, 3.0, 4.0]])
    state, seen = np.zeros((1, MEMORY)), []
    for x in (1.0, 0.0, 0.0, 0.0, 0.0):
        inputs = [floats([[x]]), floats([[10.0]]), floats(time), floats([0.5]), floats(state), *ints(1, 0)]
        state, output = run("SVDF", inputs, [out(), out()])
        seen.append(output.item())
    assert seen == [40.5, 30.5, 20.5, 10.5, 0.5]


@pytest.mark.parametrize(("activation", "function"), [
    (1, lambda x: np.maximum(x, 0)), (2, lambda x: np.clip(x, -1, 1)), (3, lambda x: np.clip(x, 0, 6)), (4, np.tanh),
    (6, lambda x: 1 / (1 + np.exp(-x))),
])
def test_activations_apply_to_the_output_only(activation, function):
    state, plain = execute(build(tensors()))
    activated_state, activated = execute(build(tensors(), activation=activation))
    np.testing.assert_allclose(activated, function(plain), rtol=1e-6)
    np.testing.assert_array_equal(activated_state, state)


@pytest.mark.parametrize(("place", "shape", "message"), [
    (0, (2, 3, 1), r"main.operation\[3\] SVDF input 0 \(input\): rank is 3, must be 2"),
    (1, (6, 4), r"input 1 \(weights_feature\): dimension 1 is 4, must be 3"),
    (2, (6,), r"input 2 \(weights_time\): rank is 1, must be 2"),
    (2, (5, 4), r"input 5 \(rank\): is 3, must be > 0 and divide the 5 filters"),
    (3, (3,), r"input 3 \(bias\): dimension 0 is 3, must be 2"),
    (4, (2, 18), r"input 4 \(state_in\): dimension 1 is 18, must be 24"),
])
def test_bad_shapes(place, shape, message):
    arrays = tensors()
    arrays[place] = np.zeros(shape)
    with pytest.raises(InvalidArgument, match=message):
        execute(build(arrays))


@pytest.mark.parametrize(("options", "message"), [
    ({"rank": 0}, r"input 5 \(rank\): is 0, must be > 0"), ({"rank": 4}, r"is 4, must be > 0 and divide the 6 filters"),
    ({"activation": 5}, r"input 6 \(activation\): is 5, must be 0, 1, 2, 3, 4 or 6"),
])
def test_bad_scalars(options, message):
    with pytest.raises(InvalidArgument, match=message):
        execute(build(tensors(), **options))


def test_signature_tables():
    check_signatures("SVDF")


def test_vectors():
    check_vectors("SVDF")
