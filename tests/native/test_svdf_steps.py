"""SVDF lowered to native steps against its reference: forms, levels, threads."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.lowered import check_all_ways, make
from helpers.nodes import ints, omitted, operand, out
from helpers.recurrent import F32, FORMS, check, known, prepared
from helpers.steps import every_level
from nnfast.model.types import OperandType
from nnfast.ops import tfl_svdf
from nnfast.ops.base import Tensor


@every_level
@given(batch=FORMS["batch"], size=FORMS["size"], units=st.sampled_from([1, 5, 16, 17, 40]), rank=st.integers(1, 3),
       memory=st.sampled_from([1, 2, 7, 8, 9, 20]), bias=st.booleans(), activation=st.sampled_from([0, 1, 2, 3, 4, 6]),
       seed=FORMS["seed"])
@settings(max_examples=30)
def test_svdf(level, batch, size, units, rank, memory, bias, activation, seed):
    random, filters = np.random.default_rng(seed), units * rank
    shapes = [(batch, size), (filters, size), (filters, memory), (units,), (batch, memory * filters)]
    inputs = [known(random.normal(0, 0.4, shape).astype(np.float32)) for shape in shapes]
    if not bias:
        inputs[3] = Tensor(0, F32, None, present=False)
    inputs += [known(np.int32(value), OperandType.INT32) for value in (rank, activation)]
    steps = check(prepared("SVDF", inputs, 2), level)
    assert [step.kernel.count("nnf_svdf_f32_rows__") for step in steps] == [1]


@pytest.mark.parametrize("memory_type", ["Q16S", "Q8S"])
@pytest.mark.parametrize(("batch", "size", "units", "rank", "memory"), [(1, 96, 64, 1, 8), (3, 7, 5, 2, 1),
                                                                      (2, 33, 40, 3, 17)])
def test_int8(batch, size, units, rank, memory, memory_type):
    random = np.random.default_rng(8)
    filters, words = units * rank, np.int16 if memory_type == "Q16S" else np.int8

    def codes(shape, dtype=np.int8):
        return random.integers(np.iinfo(dtype).min, np.iinfo(dtype).max + 1, shape).astype(dtype)

    x, state, zero = codes((batch, size)), codes((batch, memory * filters), words), 0 if memory_type == "Q16S" else 9
    scales = (4e-3, 2e-5) if memory_type == "Q16S" else (0.5, 1e-3)
    for bias in (operand("I32", random.integers(-10**6, 10**6, units)), omitted("I32")):
        made = make(tfl_svdf.TFL_INT8_SVDF, [
            operand("Q8S", x, 0.02, -13), operand("Q8S", codes((filters, size)), 0.01),
            operand(memory_type, codes((filters, memory), words), scales[1]), bias,
            operand(memory_type, state, scales[0], zero), *ints(rank)],
            out(memory_type, scales[0], zero), out("Q8S", 0.03, 21))
        check_all_ways(made, [x])
