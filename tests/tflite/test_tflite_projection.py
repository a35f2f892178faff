"""The hidden state of an int8 LSTM before its projection."""

import numpy as np

import nnfast
from helpers.litert_models import litert_outputs
from helpers.tflite.file_builder import Op, Tensor, build


def test_hidden_state_before_a_projection_ends_at_its_codes(tmp_path):
    """The zero point is taken off: real values of the hidden state lie between (zero - 128) and (zero + 127) steps."""
    zero, step, of, tensors, random = 100, 0.002, {}, [], np.random.default_rng(5)
    for gate in "ifco":
        for kind, size in (("i", 5), ("r", 3)):
            of[kind + gate] = random.integers(-127, 128, (4, size)).astype(np.int8)
            tensors.append(Tensor.of(kind + gate, of[kind + gate], scale=0.02))
        tensors.append(Tensor.of("b" + gate, np.zeros(4, np.int32)))
    of["p"] = random.integers(-127, 128, (3, 4)).astype(np.int8)
    tensors += [Tensor.of("p", of["p"], scale=0.01), Tensor("x", (1, 2, 5), "int8", scale=0.05),
                Tensor("h", (2, 3), "int8", scale=0.01, variable=True),
                Tensor("c", (2, 4), "int16", scale=2.0**-11, variable=True),
                Tensor("y", (1, 2, 3), "int8", scale=0.01)]
    tensors += [Tensor(f"t{k}", (), "int8", scale=step, zero_point=zero) for k in range(5)]
    names = ["x", *("i" + gate for gate in "ifco"), *("r" + gate for gate in "ifco"), *[None] * 3,
             *("b" + gate for gate in "ifco"), "p", None, "h", "c", *[None] * 4]
    op = Op("UNIDIRECTIONAL_SEQUENCE_LSTM", names, ["y"], "UnidirectionalSequenceLSTMOptions",
            {"FusedActivationFunction": 4, "TimeMajor": True}, intermediates=[f"t{k}" for k in range(5)])
    file, x = build(tensors, [op], ["x"], ["y"]), random.integers(-128, 128, (1, 2, 5)).astype(np.int8)
    (found,) = nnfast.Device().prepare(nnfast.load(file)).run([x])[:1]
    i, _, c, o = (np.clip(x[0] * 0.05 @ (of["i" + gate].T * 0.02), -8, 8) for gate in "ifco")
    hidden = np.tanh(np.tanh(c) / (1 + np.exp(-i))) / (1 + np.exp(-o))
    kept = np.clip(hidden, (zero - 128) * step, (zero + 127) * step)
    other = np.clip(hidden, (-zero - 128) * step, (127 - zero) * step)
    assert np.abs(kept - other).max() > 50 * step
    assert np.abs(found[0] - np.clip(kept @ (of["p"].T * 0.01) / 0.01, -128, 127)).max() < 4
    theirs = litert_outputs(tmp_path, file, [[x]])
    if theirs is not None:
        np.testing.assert_array_equal(found, theirs[0][0])
