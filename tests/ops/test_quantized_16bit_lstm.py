"""QUANTIZED_16BIT_LSTM: the example of [NN 15.73], a loop over single values, rules, vectors."""

import numpy as np
import pytest

from helpers import scalar_reference as ref
from helpers.nodes import T, execute, node, operand, out
from helpers.vectors import check_signatures, check_vectors
from nnfast.errors import InvalidArgument
from nnfast.model.fixedpoint import WORD16

Q8, Q16S, I32 = T.TENSOR_QUANT8_ASYMM, T.TENSOR_QUANT16_SYMM, T.TENSOR_INT32
GATES = ("i", "f", "c", "o")
DATA = (1 / 128, 128)

# [NN 15.73].
EXAMPLE = {
    "input": [[200]], "Wi": [[120], [80]], "Wf": [[140], [60]], "Wc": [[90], [150]], "Wo": [[110], [100]],
    "Ri": [[105, 95], [130, 70]], "Rf": [[100, 160], [20, 110]], "Rc": [[180, 100], [90, 115]],
    "Ro": [[60, 140], [125, 75]], "bi": [100, -200], "bf": [300, 50], "bc": [-400, 500], "bo": [0, 250],
    "cell": [[1000, -3000]], "output": [[100, 150]],
}


def build(values, scale=0.01, zero_point=100, change=None):
    """The operation over arrays by name. change: {name: replacement tensor}."""
    scale = float(np.float32(scale))
    made = {"input": operand(Q8, values["input"], *DATA), "output": operand(Q8, values["output"], *DATA),
            "cell": operand(Q16S, values["cell"], 2.0**-11)}
    for gate in GATES:
        for source in ("W", "R"):
            made[source + gate] = operand(Q8, values[source + gate], scale, zero_point)
        made["b" + gate] = operand(I32, values["b" + gate], scale / 128)
    made |= change or {}
    order = ["input", *("W" + g for g in GATES), *("R" + g for g in GATES), *("b" + g for g in GATES), "cell", "output"]
    return node("QUANTIZED_16BIT_LSTM", [made[name] for name in order], [out(Q16S, 2.0**-11), out(Q8, *DATA)])


def test_the_worked_example():
    cell, output = execute(build(EXAMPLE))
    assert cell.tolist() == [[896, -1066]]
    assert output.tolist() == [[150, 94]]


def step(values, scale, zero_point, row):
    """(cell, output) of one batch row, one value at a time; only the functions of a word are shared."""
    data = [v - 128 for v in (*values["input"][row], *values["output"][row])]
    multiplier = ref.quantize_multiplier(4096 * ref.f32(scale) / 128)
    cells, outputs = [], []
    for unit in range(len(values["bi"])):
        words = {}
        for gate in GATES:
            weights = [int(w) - zero_point for w in (*values["R" + gate][unit], *values["W" + gate][unit])]
            total = int(values["b" + gate][unit]) + sum(int(d) * w for d, w in zip(data, weights, strict=True))
            words[gate] = min(max(ref.mbqm(ref.wrap(total), *multiplier), -32768), 32767)
        i, f, o = (int(WORD16.logistic(words[gate], 3)) for gate in "ifo")
        g = int(WORD16.tanh(words["c"], 3))
        cell = ref.rdbpot(mul(i, g), 4) + mul(f, int(values["cell"][row][unit]))
        cell = min(max(cell, -32768), 32767)
        squashed = int(WORD16.tanh(min(max(2 * cell, -32768), 32767), 3))
        cells.append(cell)
        outputs.append(128 + min(max(ref.rdbpot(mul(o, squashed), 8), -128), 127))
    return cells, outputs


def mul(a, b):
    """16-bit saturating rounding doubling high multiply."""
    if a == b == -32768:
        return 32767
    p = a * b + (2**14 if a * b >= 0 else 1 - 2**14)
    return p // 2**15 if p >= 0 else -(-p // 2**15)


@pytest.mark.parametrize(("scale", "zero_point"), ((0.01, 100), (0.9, 0), (0.0003, 255)))
def test_random_cells_against_a_loop(scale, zero_point):
    rng = np.random.default_rng(zero_point)
    batch, size, units = 3, 5, 4
    values = {"input": rng.integers(0, 256, (batch, size)), "output": rng.integers(0, 256, (batch, units)),
              "cell": rng.integers(-32768, 32768, (batch, units))}
    for gate in GATES:
        values |= {"W" + gate: rng.integers(0, 256, (units, size)), "R" + gate: rng.integers(0, 256, (units, units)),
                   "b" + gate: rng.integers(-20000, 20000, units)}
    cell, output = execute(build(values, scale, zero_point))
    wanted = [step(values, scale, zero_point, row) for row in range(batch)]
    assert cell.tolist() == [c for c, _ in wanted]
    assert output.tolist() == [o for _, o in wanted]


@pytest.mark.parametrize(("change", "message"), [
    ({"input": operand(Q8, [[1]], 0.01, 128)},
     r"main.operation\[3\] QUANTIZED_16BIT_LSTM input 0 \(input\): scale 0\.00999\d+ and zero point 128, must be "
     r"0\.0078125 and 128"),
    ({"input": operand(Q8, [1], *DATA)}, r"input 0 \(input\): rank is 1, must be 2"),
    ({"Wf": operand(Q8, [[1], [2]], 0.01, 99)},
     r"input 2 \(input_to_forget_weights\): scale 0\.00999\d+ and zero point 99, must be 0\.00999\d+ and 100"),
    ({"Ro": operand(Q8, np.ones((2, 2)), 0.02, 100)}, r"input 8 \(recurrent_to_output_weights\): "),
    ({"Ri": operand(Q8, np.ones((2, 1)), 0.01, 100)}, r"dimension 1 is 1, must be 2"),
    ({"bc": operand(I32, [1, 2], 0.01)}, r"input 11 \(cell_gate_bias\): .* be 7\.81249\d+e-05"),
    ({"bc": operand(I32, [1], 0.01)}, r"input 11 \(cell_gate_bias\): dimension 0 is 1, must be 2"),
    ({"cell": operand(Q16S, [[1, 2]], 2.0**-10)}, r"input 13 \(cell_state_in\): scale 0\.0009765625"),
])
def test_bad_operands(change, message):
    with pytest.raises(InvalidArgument, match=message):
        execute(build(EXAMPLE, change=change))


def test_signature_tables():
    check_signatures("QUANTIZED_16BIT_LSTM")


def test_vectors():
    _, values, off = check_vectors("QUANTIZED_16BIT_LSTM")
    assert off == 0 < values
