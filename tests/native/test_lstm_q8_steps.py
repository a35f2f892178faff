"""Quantized LSTM steps (csrc/kernels/lstm_q8) against their numpy definitions, bit for bit."""

import numpy as np
import pytest

from helpers.lowered import check_all_ways, run_native_all
from helpers.steps import at_level, every_level, run
from nnfast._native.recurrent import Cells16, CellsQ8
from nnfast.conformance.instances import draw
from nnfast.model import quant
from nnfast.model.fixedpoint import WORD16
from nnfast.model.types import OperationType
from nnfast.ops import registry

WORDS = np.arange(-32768, 32768).astype(np.int16)
MULTIPLIER = (1518500250, -23)


@pytest.mark.parametrize("name", ["QUANTIZED_LSTM", "QUANTIZED_16BIT_LSTM"])
def test_large_layers(name):
    op, most = registry.lookup(OperationType[name]), 1
    for seed in range(12):
        node = draw(op, 0, 0, seed, 500).node()
        check_all_ways(node, [])
        most = max(most, *(step.tiles for step in run_native_all(node, [])[1]))
    assert most > 1


def saturated(words):
    return np.clip(words, -32768, 32767)


@every_level
@pytest.mark.parametrize("coupled", [False, True])
@pytest.mark.parametrize("k", range(-15, -8))
def test_every_word_through_a_cell(k, coupled, level):
    random = np.random.default_rng(-k)
    enter, forget, candidate, leave = (random.permutation(WORDS) for _ in range(4))
    state = random.permutation(WORDS)
    gates = (forget, candidate, leave) if coupled else (enter, forget, candidate, leave)
    names = ("forget", "cell", "output") if coupled else ("input", "forget", "cell", "output")
    cell, hidden, copy = np.zeros_like(state), np.zeros(len(WORDS), np.int8), np.zeros(len(WORDS), np.int8)
    slots = {"words": 0, "cell_in": 1, "cell_out": 2, "hidden": 3, "copy": 4}
    with at_level(level):
        step = CellsQ8(slots, names, (1, len(WORDS)), k, (-30000, 30000), 5, {"hidden": MULTIPLIER})
    run([step], [np.concatenate(gates), state, cell, hidden, copy], 2)

    kept = WORD16.logistic(forget, 3)
    entered = WORD16.max - kept if coupled else WORD16.logistic(enter, 3)
    wanted = saturated(quant.rdbpot(kept * state, 15) + quant.rdbpot(entered * WORD16.tanh(candidate, 3), 30 + k))
    wanted = np.clip(wanted, -30000, 30000)
    assert np.array_equal(cell, wanted)
    codes = quant.mbqm(WORD16.logistic(leave, 3) * WORD16.tanh(wanted, k + 15), *MULTIPLIER) - 5
    assert np.array_equal(hidden, np.clip(codes, -128, 127)) and np.array_equal(hidden, copy)


@every_level
def test_every_word_through_a_cell_of_16_bits(level):
    random = np.random.default_rng(3)
    enter, forget, candidate, leave, state = (random.permutation(WORDS) for _ in range(5))
    cell, output = np.zeros_like(state), np.zeros(len(WORDS), np.uint8)
    with at_level(level):
        step = Cells16((0, 1, 2, 3), 1, len(WORDS))
    run([step], [np.concatenate([enter, forget, candidate, leave]), state, cell, output], 2)

    kept = WORD16.mul(WORD16.logistic(forget, 3), state)
    wanted = saturated(
        WORD16.rescale(WORD16.mul(WORD16.logistic(enter, 3), WORD16.tanh(candidate, 3)), 0, 4) + kept)
    assert np.array_equal(cell, wanted)
    words = WORD16.mul(WORD16.logistic(leave, 3), WORD16.tanh(WORD16.rescale(wanted, 4, 3), 3))
    assert np.array_equal(output, 128 + np.clip(quant.rdbpot(words, 8), -128, 127))


def test_slots_of_cells_have_an_order():
    with pytest.raises(ValueError, match="must begin with words"):
        CellsQ8({"cell_in": 0}, ("forget", "cell", "output"), (1, 1), -11, (0, 0), 0, {"hidden": (0, 0)})
