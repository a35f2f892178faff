"""SVDF lowered to native steps against its reference: forms, levels, threads."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.recurrent import F32, FORMS, check, known, prepared
from helpers.steps import every_level
from nnfast.model.types import OperandType
from nnfast.ops.base import Tensor


@every_level
@given(batch=FORMS["batch"], size=FORMS["size"], units=st.sampled_from([1, 5, 16, 17, 40]), rank=st.integers(1, 3),
       memory=st.sampled_from([1, 2, 7, 8, 9, 20]), bias=st.booleans(), activation=st.sampled_from([0, 1, 2, 3, 4, 6]),
       seed=FORMS["seed"])
@settings(max_examples=30, deadline=None)
def test_svdf(level, batch, size, units, rank, memory, bias, activation, seed):
    random, filters = np.random.default_rng(seed), units * rank
    shapes = [(batch, size), (filters, size), (filters, memory), (units,), (batch, memory * filters)]
    inputs = [known(random.normal(0, 0.4, shape).astype(np.float32)) for shape in shapes]
    if not bias:
        inputs[3] = Tensor(0, F32, None, present=False)
    inputs += [known(np.int32(value), OperandType.INT32) for value in (rank, activation)]
    steps = check(prepared("SVDF", inputs, 2), level)
    assert [step.kernel.count("nnf_svdf_f32_rows__") for step in steps] == [1]
