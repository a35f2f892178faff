"""LSTM lowered to native steps against its float64 reference: forms, levels, threads."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nnfast
from helpers.recurrent import F32, FORMS, Arrays, check, known, prepared
from helpers.steps import at_level, every_level
from helpers.tuning import put_sizes
from nnfast._native import kernels
from nnfast._native import recurrent as native
from nnfast._native.engine import Frame, Program
from nnfast._native.recurrent import GatesQ8, Pair, Walk
from nnfast.model.types import OperandType
from nnfast.ops.base import Tensor
from nnfast.ops.lstm import BIASES, GATES


def lstm_inputs(random, data, units, outputs, cifg, peephole, projection, bias, activation, clips):
    """Operands 0..22 of LSTM for an input of any rank."""
    absent = Tensor(0, F32, None, present=False)
    size = data.shape[-1]

    def normal(*shape):
        return known(random.normal(0, 0.6, shape).astype(np.float32))

    def maybe(wanted, *shape):
        return normal(*shape) if wanted else absent

    inputs = [known(data)]
    for width in (size, outputs):
        inputs += [maybe(gate != "input" or not cifg, units, width) for gate in GATES]
    inputs += [maybe(peephole and not (gate == "input" and cifg), units) for gate in GATES if gate != "cell"]
    inputs += [maybe(gate != "input" or not cifg, units) for gate in BIASES]
    inputs += [maybe(projection, outputs, units), maybe(projection and bias, outputs)]
    return inputs, [known(np.int32(activation), OperandType.INT32),
                    *(known(np.float32(clip), OperandType.FLOAT32) for clip in clips)]


@every_level
@given(**FORMS)
@settings(max_examples=40)
def test_lstm(level, units, size, outputs, batch, cifg, peephole, projection, bias, activation, clips, seed):
    random, outputs = np.random.default_rng(seed), outputs if projection else units
    data = random.normal(size=(batch, size)).astype(np.float32)
    inputs, scalars = lstm_inputs(random, data, units, outputs, cifg, peephole, projection, bias, activation, clips)
    states = [known(random.normal(size=(batch, width)).astype(np.float32)) for width in (outputs, units)]
    node = prepared("LSTM", [*inputs, *states, *scalars], 4)
    steps = check(node, level)
    assert steps[-1].kernel.startswith("nnf_gemv_f32_tile__" if projection else "nnf_lstm_f32_tile__")


@every_level
@pytest.mark.parametrize("near", [0, 1 << 20])
@given(**FORMS, time=st.integers(1, 5), time_major=st.booleans(), states_out=st.booleans())
@settings(max_examples=30)
def test_sequence_lstm(near, level, units, size, outputs, batch, cifg, peephole, projection, bias, activation, clips,
                       seed, time, time_major, states_out):
    random, outputs = np.random.default_rng(seed), outputs if projection else units
    # Linear and ramp cells grow from step to step, and the float32 error with them.
    activation = activation if activation in (4, 6) else 4
    data = random.normal(size=(time, batch, size) if time_major else (batch, time, size)).astype(np.float32)
    inputs, scalars = lstm_inputs(random, data, units, outputs, cifg, peephole, projection, bias, activation, clips)
    states = [known(random.normal(size=(batch, width)).astype(np.float32)) for width in (outputs, units)]
    absent = [Tensor(0, F32, None, present=False)] * 4
    node = prepared("UNIDIRECTIONAL_SEQUENCE_LSTM", [
        *inputs, *states, *scalars, known(np.uint8(time_major), OperandType.BOOL), *absent], 3 if states_out else 1)
    with pytest.MonkeyPatch.context() as patch:
        put_sizes(patch, recurrent_near=near)
        steps = check(node, level)
    if near == 0:
        assert len(steps) >= time


@every_level
@pytest.mark.parametrize("cifg", [False, True])
@pytest.mark.parametrize("scale, kernel", [(1, "nnf_lstm_f16_tile__"), (1e7, "nnf_lstm_f32_tile__")])
def test_relaxed_lstm_stores_large_weights_as_halves(level, cifg, scale, kernel):
    """Unless one of them is beyond their range."""
    random = np.random.default_rng(5)
    data = random.normal(size=(2, 301)).astype(np.float32)
    inputs, scalars = lstm_inputs(random, data, 333, 333, cifg, True, False, False, 4, (0, 0))
    for place in range(1, 9):
        if inputs[place].present:
            inputs[place] = known(np.float32(0.1) * inputs[place].value)
    inputs[3] = known(np.where(np.arange(301) == 7, np.float32(scale), 1) * inputs[3].value)
    states = [known(random.normal(size=(2, 333)).astype(np.float32)) for _ in range(2)]
    node = prepared("LSTM", [*inputs, *states, *scalars], 4)
    node.relaxed = True
    wanted = node.op.compute(node, [t.value if t.present else None for t in node.inputs])
    build = Arrays()
    with at_level(level):
        assert node.op.lower(node, build) is None
    program = Program(build.steps)
    frame = Frame(len(build.arrays), {}, 0, dict(enumerate(build.arrays)), program.scratch, 1)
    assert build.steps[0].kernel.startswith(kernel) and program.run(frame, 1)[0] == "done"
    for tensor, want in zip(node.outputs[1:], wanted[1:]):
        np.testing.assert_allclose(build.arrays[build.slot(tensor)], want, rtol=5 * 2**-10, atol=5 * 2**-10)


def test_exact_and_small_lstm_keep_their_floats():
    random = np.random.default_rng(6)
    for relaxed, units in ((True, 32), (False, 333)):
        data = np.ones((1, 300), np.float32)
        inputs, scalars = lstm_inputs(random, data, units, units, False, False, False, False, 4, (0, 0))
        states = [known(np.zeros((1, units), np.float32)) for _ in range(2)]
        node = prepared("LSTM", [*inputs, *states, *scalars], 4)
        node.relaxed = relaxed
        build = Arrays()
        assert node.op.lower(node, build) is None and build.steps[0].kernel.startswith("nnf_lstm_f32_tile__")


def test_a_pair_has_no_scratch():
    gates = GatesQ8((0, 1, 2, 3, 4, 5), (1, 4, 4, 4), (0, 0, 0), True, False, [(0, 0)], [(0, 0)])
    with pytest.raises(ValueError, match="no scratch"):
        Pair(gates, gates)


def test_several_times_need_one_thread():
    walk = Walk(1, 2, (4, 4), (4, 4))
    with pytest.raises(ValueError, match="alone"):
        native.LstmF32((0, 1, 2, 3, 4, 5), "cells", walk, (4, 4, 4), (0, 2), False, cifg=False, peephole=False,
                     activation=4)


@pytest.mark.parametrize("units", [1, 7, 8, 16, 40])
@pytest.mark.parametrize("level", kernels.levels())
def test_a_coupled_input_gate_close_to_zero_keeps_its_digits(level, units):
    """1 - forget gate, of a forget gate that rounds to nearly 1: vectors had 2e-4 of it wrong."""
    b = nnfast.ModelBuilder()
    x, h, c = (b.input("TENSOR_FLOAT32", shape) for shape in ((1, 1, 3), (1, units), (1, units)))
    y, none = b.output("TENSOR_FLOAT32", (1, 1, units)), b.omitted("TENSOR_FLOAT32")

    def weights(*shape, value=0.0):
        return b.constant(np.full(shape, value, np.float32))

    b.operation("UNIDIRECTIONAL_SEQUENCE_LSTM", [
        x, none, *(weights(units, 3) for _ in range(3)), none, *(weights(units, units) for _ in range(3)),
        none, none, none, none, weights(units, value=8.0), weights(units, value=3.0), weights(units, value=30.0),
        none, none, h, c, b.scalar(1), b.scalar(np.float32(0)), b.scalar(np.float32(0)), b.scalar(True),
        none, none, none, none], [y])
    kernels.set_level(level)
    try:
        found, = nnfast.Device(1).prepare(b.build()).run([np.zeros(shape, np.float32) for shape in
                                                          ((1, 1, 3), (1, units), (1, units))])
    finally:
        kernels.set_level(None)
    np.testing.assert_allclose(found, 3 / (1 + np.exp(8.0)), rtol=1e-6)
