"""Rows by a matrix, and RNN made of them, against their reference: forms, levels, threads."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.recurrent import FORMS, check, known, prepared
from helpers.steps import every_level
from helpers.tuning import put_sizes
from nnfast._native import recurrent as native
from nnfast._native.recurrent import Walk
from nnfast.model.types import OperandType


@every_level
@pytest.mark.parametrize("sequence", [False, True])
@given(units=FORMS["outputs"], size=FORMS["size"], batch=FORMS["batch"], activation=st.sampled_from([0, 1, 3, 4, 6]),
       time=st.integers(1, 5), time_major=st.booleans(), near=st.sampled_from([0, 1 << 20]), seed=FORMS["seed"])
@settings(max_examples=30)
def test_rnn(sequence, level, units, size, batch, activation, time, time_major, near, seed):
    random = np.random.default_rng(seed)
    shape = (batch, size) if not sequence else (time, batch, size) if time_major else (batch, time, size)
    inputs = [known(random.normal(0, 0.5, shape).astype(np.float32))]
    for extents in ((units, size), (units, units), (units,), (batch, units)):
        inputs.append(known(random.normal(0, 0.3, extents).astype(np.float32)))
    inputs.append(known(np.int32(activation), OperandType.INT32))
    if sequence:
        inputs.append(known(np.int32(time_major), OperandType.INT32))
    node = prepared("UNIDIRECTIONAL_SEQUENCE_RNN" if sequence else "RNN", inputs, 2)
    with pytest.MonkeyPatch.context() as patch:
        put_sizes(patch, recurrent_near=near)
        check(node, level)


def test_panels_hold_bias_then_columns():
    weights, bias = np.arange(33 * 2, dtype=np.float32).reshape(33, 2), np.arange(33, dtype=np.float32)
    packed = native.pack_gemv_f32(weights, bias)
    assert packed.shape == (2, 3, 32)
    assert np.array_equal(packed[0, 0], bias[:32]) and np.array_equal(packed[0, 2], weights[:32, 1])
    assert np.array_equal(packed[1, :, 0], [32, *weights[32]]) and not packed[1, :, 1:].any()


def test_several_times_need_one_thread():
    walk = Walk(1, 2, (4, 4), (4, 4))
    with pytest.raises(ValueError, match="alone"):
        native.RecurrentF32((0, 1, 2, 3), walk, 4, 4, (0, 2), False, None, (-1, 1))
