"""RNN and UNIDIRECTIONAL_SEQUENCE_RNN."""

import math

import numpy as np
import pytest

from helpers.nodes import T, execute, floats, ints, node, operand, out, run
from helpers.vectors import check_signatures, check_vectors
from nnfast.errors import InvalidArgument

CODES = {
    0: lambda x: x, 1: lambda x: max(x, 0.0), 2: lambda x: min(max(x, -1.0), 1.0), 3: lambda x: min(max(x, 0.0), 6.0),
    4: math.tanh, 6: lambda x: 1 / (1 + math.exp(-x)),
}


def parameters(seed, units=3, size=2, batch=2, half=False):
    """weights, recurrent weights, bias, state."""
    rng = np.random.default_rng(seed)
    shapes = ((units, size), (units, units), (units,), (batch, units))
    return [floats(3 * rng.standard_normal(shape), half) for shape in shapes]


def dot(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))


def loop(steps, weights, recurrent, bias, state, activation):
    """Hidden state of one batch row after each step, in Python floats."""
    states = []
    for x in steps:
        state = [
            activation(b + dot(x, row) + dot(state, back))
            for b, row, back in zip(bias, weights, recurrent, strict=True)
        ]
        states.append(state)
    return states


@pytest.mark.parametrize("code", CODES)
def test_one_step(code):
    data = floats(np.random.default_rng(1).standard_normal((2, 2)))
    inputs = parameters(2)
    hidden, output = run("RNN", [data, *inputs, *ints(code)], [out(), out()])
    values = [t.value.tolist() for t in inputs]
    rows = zip(data.value.tolist(), values[3], strict=True)
    wanted = [loop([row], *values[:3], state, CODES[code])[0] for row, state in rows]
    np.testing.assert_allclose(output, wanted, rtol=1e-6)
    np.testing.assert_array_equal(hidden, output)
    assert not np.shares_memory(hidden, output)


@pytest.mark.parametrize("half", (False, True))
@pytest.mark.parametrize("time_major", (0, 1))
@pytest.mark.parametrize("outputs", (1, 2))
def test_sequences(time_major, outputs, half):
    data = np.random.default_rng(3).standard_normal((2, 5, 2))  # batch, time, size
    stored = floats(data.swapaxes(0, 1) if time_major else data, half)
    data = stored.value.astype(float).swapaxes(0, 1) if time_major else stored.value.astype(float)
    inputs = parameters(4, half=half)
    type_ = T.TENSOR_FLOAT16 if half else T.TENSOR_FLOAT32
    made = node("UNIDIRECTIONAL_SEQUENCE_RNN", [stored, *inputs, *ints(4, time_major)], [out(type_)] * outputs)
    assert made.version == ("1.2" if outputs == 1 else "1.3")
    results = execute(made)
    values = [t.value.astype(float).tolist() for t in inputs]
    wanted = np.array([loop(data[b].tolist(), *values[:3], values[3][b], math.tanh) for b in (0, 1)])
    # Half results of float64 steps, rounded once: a state rounded between the steps would be further off.
    tolerance = np.finfo(stored.value.dtype).eps / 2 * 1.001
    np.testing.assert_allclose(results[0].swapaxes(0, 1) if time_major else results[0], wanted, rtol=tolerance)
    if outputs == 2:
        np.testing.assert_allclose(results[1], wanted[:, -1], rtol=tolerance)


def test_outputs_do_not_share_the_inputs():
    data = floats(np.zeros((1, 1, 2)))
    inputs = parameters(5, batch=1)
    before = inputs[3].value.copy()
    results = run("UNIDIRECTIONAL_SEQUENCE_RNN", [data, *inputs, *ints(0, 1)], [out(), out()])
    for result in results:
        result[...] = 99
    np.testing.assert_array_equal(inputs[3].value, before)


@pytest.mark.parametrize(("place", "shape", "message"), [
    (0, (2, 2, 1), r"main.operation\[3\] RNN input 0 \(input\): rank is 3, must be 2"),
    (1, (3, 4), r"RNN input 1 \(weights\): dimension 1 is 4, must be 2"),
    (1, (3,), r"RNN input 1 \(weights\): rank is 1, must be 2"),
    (2, (3, 2), r"RNN input 2 \(recurrent_weights\): dimension 1 is 2, must be 3"),
    (3, (2,), r"RNN input 3 \(bias\): dimension 0 is 2, must be 3"),
    (4, (1, 3), r"RNN input 4 \(hidden_state_in\): dimension 0 is 1, must be 2"),
])
def test_bad_shapes(place, shape, message):
    inputs = [floats(np.zeros((2, 2))), *parameters(6), *ints(4)]
    inputs[place] = floats(np.zeros(shape))
    with pytest.raises(InvalidArgument, match=message):
        run("RNN", inputs, [out(), out()])


@pytest.mark.parametrize(("name", "scalars", "message"), [
    ("RNN", (5,), r"input 5 \(activation\): is 5, must be 0, 1, 2, 3, 4 or 6"),
    ("UNIDIRECTIONAL_SEQUENCE_RNN", (2, 0), r"input 5 \(activation\): is 2, must be 0, 1, 3, 4 or 6"),
    ("UNIDIRECTIONAL_SEQUENCE_RNN", (4, 2), r"input 6 \(time_major\): is 2, must be 0 or 1"),
])
def test_bad_scalars(name, scalars, message):
    shape = (2, 2) if name == "RNN" else (2, 1, 2)
    with pytest.raises(InvalidArgument, match=message):
        run(name, [floats(np.zeros(shape)), *parameters(7), *ints(*scalars)], [out(), out()])


def test_mixed_float_types_are_refused():
    inputs = [floats(np.zeros((2, 2))), *parameters(8), *ints(4)]
    inputs[3] = operand(T.TENSOR_FLOAT16, np.zeros(3))
    with pytest.raises(InvalidArgument, match=r"RNN input 3 \(bias\): type TENSOR_FLOAT16, must be TENSOR_FLOAT32"):
        node("RNN", inputs, [out(), out()])


def test_signature_tables():
    check_signatures("RNN", "UNIDIRECTIONAL_SEQUENCE_RNN")


@pytest.mark.parametrize("name", ("RNN", "UNIDIRECTIONAL_SEQUENCE_RNN"))
def test_vectors(name):
    check_vectors(name)
