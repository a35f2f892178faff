"""QUANTIZED_LSTM: every kind of cell against a loop over single integers, rules, vectors."""

import math

import numpy as np
import pytest

from helpers import scalar_reference as ref
from helpers.nodes import T, execute, ints, node, omitted, operand, out
from helpers.vectors import check_signatures, check_vectors
from nnfast.errors import InvalidArgument
from nnfast.model.fixedpoint import WORD16, inv_sqrt

Q8S, Q8SY, Q16S, I32 = T.TENSOR_QUANT8_ASYMM_SIGNED, T.TENSOR_QUANT8_SYMM, T.TENSOR_QUANT16_SYMM, T.TENSOR_INT32
BATCH, SIZE, UNITS = 2, 5, 4
GATES = ("input", "forget", "cell", "output")
ORDER = [
    "input", *(f"input_to_{g}_weights" for g in GATES), *(f"recurrent_to_{g}_weights" for g in GATES),
    *(f"cell_to_{g}_weights" for g in GATES if g != "cell"), *(f"{g}_gate_bias" for g in GATES), "projection_weights",
    "projection_bias", "output_state_in", "cell_state_in", *(f"{g}_layer_norm_weights" for g in GATES), "cell_clip",
    "proj_clip", *(f"{g}_intermediate_scale" for g in GATES), "hidden_state_zero_point", "hidden_state_scale",
]
INPUT, STATE, HIDDEN = (0.021, 3), (0.008, -7), (0.0079, 5)  # scale, zero point
SCALES = {"input": 0.011, "recurrent": 0.013, "cell": 0.0007, "norm": 0.0004, "projection": 0.009}
INTERMEDIATE = {"input": 0.0003, "forget": 0.0004, "cell": 0.00025, "output": 0.0005}


def type_of(name):
    if name in ("input", "output_state_in"):
        return Q8S
    if name.endswith("bias"):
        return I32
    if name.startswith("cell_") or "layer_norm" in name:
        return Q16S
    return Q8SY


def quantization(name, k=-11):
    """(scale, zero point) of a tensor; biases do not use theirs."""
    fixed = {"input": INPUT, "output_state_in": STATE, "cell_state_in": (2.0**k, 0)}
    if name in fixed:
        return fixed[name]
    key = "norm" if "layer_norm" in name else name.split("_")[0]
    return SCALES[key], 0


def arrays(seed=1, outputs=UNITS):
    """All tensors by name."""
    rng = np.random.default_rng(seed)
    shapes = {"input": (BATCH, SIZE), "output_state_in": (BATCH, outputs), "cell_state_in": (BATCH, UNITS),
              "projection_weights": (outputs, UNITS), "projection_bias": (outputs,)}
    for gate in GATES:
        shapes |= {f"input_to_{gate}_weights": (UNITS, SIZE), f"recurrent_to_{gate}_weights": (UNITS, outputs)}
        shapes |= {f"cell_to_{gate}_weights": (UNITS,), f"{gate}_layer_norm_weights": (UNITS,),
                   f"{gate}_gate_bias": (UNITS,)}
    limits = {Q8S: 128, Q8SY: 128, Q16S: 16000, I32: 5000}
    return {name: rng.integers(-limits[type_of(name)], limits[type_of(name)], shape) for name, shape in shapes.items()}


def kept(cifg=False, peephole=False, project=False, bias=True, normal=False):
    """Names of the tensors that a kind of cell has."""
    names = {name for name in arrays() if not name.startswith(("projection", "cell_to")) and "layer_norm" not in name}
    names |= {f"cell_to_{g}_weights" for g in GATES if g != "cell"} if peephole else set()
    names |= {f"{g}_layer_norm_weights" for g in GATES} if normal else set()
    names |= ({"projection_weights"} | ({"projection_bias"} if bias else set())) if project else set()
    for_input_gate = {"input_to_input_weights", "recurrent_to_input_weights", "cell_to_input_weights",
                      "input_gate_bias", "input_layer_norm_weights"}
    return names - for_input_gate if cifg else names


def build(values, names, k=-11, clips=(0.0, 0.0), zero_point=HIDDEN[1], change=None):
    """The operation with the tensors `names`. clips: None omits one; change: {name: replacement tensor}."""
    made = {
        "cell_clip": clips[0], "proj_clip": clips[1], "hidden_state_scale": HIDDEN[0],
        **{f"{gate}_intermediate_scale": INTERMEDIATE[gate] for gate in GATES},
    }
    made = {name: omitted(T.FLOAT32, ()) if value is None else operand(T.FLOAT32, value)
            for name, value in made.items()}
    made["hidden_state_zero_point"] = ints(zero_point)[0]
    for name in ORDER:
        if name in names:
            scale, offset = (0.0, 0) if type_of(name) == I32 else quantization(name, k)
            made[name] = operand(type_of(name), values[name], scale, offset)
        elif name not in made:
            made[name] = omitted(type_of(name))
    made |= change or {}
    targets = [out(Q8S, *STATE), out(Q16S, 2.0**k), out(Q8S, *STATE)]
    return node("QUANTIZED_LSTM", [made[name] for name in ORDER], targets)


def product(a, b):
    """float32 product of float32 values."""
    return ref.f32(ref.f32(a) * ref.f32(b))


def quotient(a, b):
    """float32 quotient of float32 values."""
    return ref.f32(ref.f32(a) / ref.f32(b))


def sat(x, bits=16):
    return min(max(x, -(2 ** (bits - 1))), 2 ** (bits - 1) - 1)


def truncated(a, b):
    return a // b if a >= 0 else -(-a // b)


def scaled(x, real):
    """An int32 accumulator times a real multiplier."""
    return ref.mbqm(ref.wrap(int(x)), *ref.quantize_multiplier(real))


def normalised(words, weights, bias):
    """Layer norm of the words of one batch row."""
    n, squares = len(words), sum(v * v for v in words)
    mean = truncated(sum(words) * 1024, n)
    variance = truncated(squares * (2**20 // n) - mean * mean, 2**20)
    if variance < 1:
        variance = min(1, int(10000 * SCALES["norm"]))
    m, e = (int(part) for part in inv_sqrt(variance))
    results = []
    for v, weight, offset in zip(words, weights, bias, strict=True):
        w = ref.wrap(ref.mbqm(1024 * v - mean, m, e) * int(weight) + int(offset))
        w = truncated(w + (512 if w > 0 else -512), 1024)
        m_l, e_l = ref.quantize_multiplier(ref.f32(SCALES["norm"]))
        results.append(sat(ref.mbqm(w, m_l, e_l + 12)))
    return results


def row(v, names, b, k, clips, zero_point):
    """(cell, output) of one batch row, one integer at a time."""
    x = [int(a) - INPUT[1] for a in v["input"][b]]
    h = [int(a) - STATE[1] for a in v["output_state_in"][b]]
    previous = [int(a) for a in v["cell_state_in"][b]]
    has_norm = "output_layer_norm_weights" in names

    def dot(weights, data):
        return sum(int(w) * a for w, a in zip(weights, data, strict=True))

    def gate(name, cell):
        words = []
        for u in range(UNITS):
            total = dot(v[f"input_to_{name}_weights"][u], x) + (0 if has_norm else int(v[f"{name}_gate_bias"][u]))
            real = quotient(product(SCALES["input"], INPUT[0]), INTERMEDIATE[name])
            word = sat(scaled(total, real))
            real = quotient(product(SCALES["recurrent"], STATE[0]), INTERMEDIATE[name])
            word = sat(scaled(dot(v[f"recurrent_to_{name}_weights"][u], h), real) + word)
            if f"cell_to_{name}_weights" in names:
                real = quotient(product(2.0**k, SCALES["cell"]), INTERMEDIATE[name])
                word = sat(scaled(int(v[f"cell_to_{name}_weights"][u]) * cell[u], real) + word)
            words.append(word)
        return normalised(words, v[f"{name}_layer_norm_weights"], v[f"{name}_gate_bias"]) if has_norm else words

    def logistic(words):
        return [int(WORD16.logistic(word, 3)) for word in words]

    forget = logistic(gate("forget", previous))
    cifg = "input_to_input_weights" not in names
    enter = [32767 - f for f in forget] if cifg else logistic(gate("input", previous))
    candidate = [int(WORD16.tanh(word, 3)) for word in gate("cell", previous)]
    cell = [sat(ref.rdbpot(f * c, 15) + ref.rdbpot(i * g, 30 + k))
            for f, c, i, g in zip(forget, previous, enter, candidate, strict=True)]
    if clips[0]:
        bound = math.trunc(min(ref.f32(clips[0] / 2.0**k), 32767))
        cell = [min(max(c, -bound), bound) for c in cell]
    leave = logistic(gate("output", cell))
    real = ref.f32(quotient(2.0**-15, HIDDEN[0]) * 2.0**-15)
    hidden = [sat(scaled(o * int(WORD16.tanh(c, k + 15)), real) - zero_point, 8)
              for o, c in zip(leave, cell, strict=True)]
    if "projection_weights" not in names:
        return cell, hidden
    bias = v["projection_bias"] if "projection_bias" in names else [0] * len(h)
    real = quotient(product(SCALES["projection"], HIDDEN[0]), STATE[0])
    shifted = [a + zero_point for a in hidden]
    outputs = [sat(scaled(dot(weights, shifted) + int(offset), real) + STATE[1], 8)
               for weights, offset in zip(v["projection_weights"], bias, strict=True)]
    if clips[1]:
        bound = math.trunc(min(quotient(clips[1], SCALES["projection"]), 127))
        outputs = [min(max(a, -bound), bound) for a in outputs]
    return cell, outputs


KINDS = [
    {}, {"cifg": True}, {"peephole": True}, {"cifg": True, "peephole": True}, {"project": True}, {"normal": True},
    {"project": True, "bias": False}, {"cifg": True, "normal": True},
    {"peephole": True, "normal": True, "project": True},
    {"cifg": True, "peephole": True, "normal": True, "project": True},
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: "+".join(kind) or "plain")
@pytest.mark.parametrize(("k", "clips"), ((-11, (0.0, 0.0)), (-15, (0.4, 0.3)), (-9, (20.0, 100.0))))
def test_to_the_bit(kind, k, clips):
    values, names = arrays(outputs=3 if kind.get("project") else UNITS), kept(**kind)
    state, cell, output = execute(build(values, names, k, clips))
    wanted = [row(values, names, b, k, clips, HIDDEN[1]) for b in range(BATCH)]
    assert cell.tolist() == [c for c, _ in wanted]
    assert output.tolist() == [o for _, o in wanted]
    np.testing.assert_array_equal(state, output)
    assert not np.shares_memory(state, output)
    assert len(np.unique(output)) > 1 and len(np.unique(cell)) > 1


def test_clips_clip():
    values, names = arrays(outputs=3), kept(project=True)
    free, clipped = (execute(build(values, names, -11, clips)) for clips in ((0.0, 0.0), (2.0, 0.2)))
    assert np.abs(free[1].astype(int)).max() > 2 * 2048 == np.abs(clipped[1].astype(int)).max()
    bound = int(0.2 / SCALES["projection"])
    assert np.abs(free[2].astype(int)).max() > bound == np.abs(clipped[2].astype(int)).max()


def test_omitted_clips_are_off():
    values, names = arrays(outputs=3), kept(project=True)
    for off, none in zip(execute(build(values, names)), execute(build(values, names, clips=(None, None))), strict=True):
        np.testing.assert_array_equal(off, none)


def test_the_low_byte_of_the_hidden_zero_point_counts():
    values, names = arrays(), kept()
    wanted = execute(build(values, names, zero_point=-20))
    np.testing.assert_array_equal(execute(build(values, names, zero_point=256 * 3 - 20))[2], wanted[2])


def test_a_row_of_equal_words_normalises_to_its_bias():
    values, names = arrays(), kept(normal=True)
    for gate in GATES:
        for source in ("input", "recurrent"):
            values[f"{source}_to_{gate}_weights"][:] = 0
    cell = execute(build(values, names))[1]
    wanted = [row(values, names, b, -11, (0, 0), HIDDEN[1])[0] for b in range(BATCH)]
    assert cell.tolist() == wanted


@pytest.mark.parametrize(("drop", "add", "message"), [
    ({"input_gate_bias"}, set(), r"main.operation\[3\] QUANTIZED_LSTM input 12 \(input_gate_bias\): is omitted, must"),
    ({"input_to_input_weights"}, set(), r"input 5 \(recurrent_to_input_weights\): is present, must be omitted where"),
    (set(), {"cell_to_output_weights"}, r"input 10 \(cell_to_forget_weights\): is omitted, must be present where"),
    (set(), {"projection_bias"}, r"input 16 \(projection_weights\): is omitted, must be present where projection_bias"),
    (set(), {"output_layer_norm_weights"}, r"input 21 \(forget_layer_norm_weights\): is omitted, must be present"),
])
def test_presence(drop, add, message):
    execute(build(arrays(), kept()))
    with pytest.raises(InvalidArgument, match=message):
        execute(build(arrays(), kept() - drop | add))


def real(value):
    return operand(T.FLOAT32, value)


@pytest.mark.parametrize(("change", "message"), [
    ({"input": operand(Q8S, np.ones(5), *INPUT)}, r"input 0 \(input\): rank is 1, must be 2"),
    ({"cell_state_in": operand(Q16S, np.ones((2, 3)), 2.0**-11)}, r"\(cell_state_in\): dimension 1 is 3, must"),
    ({"cell_state_in": operand(Q16S, np.ones((2, 4)), 0.0004)}, r"\(cell_state_in\): scale is 0\.000399\d+"),
    ({"cell_state_in": operand(Q16S, np.ones((2, 4)), 2.0**-8)}, r"\(cell_state_in\): scale is 0\.00390625, must"),
    ({"cell_state_in": operand(Q16S, np.ones((2, 4)), 2.0**-16)}, r"must be a power of two, 2\*\*-15 to 2\*\*-9"),
    ({"forget_intermediate_scale": real(0.0)}, r"input 27 \(forget_intermediate_scale\): is 0.0, must be finite"),
    ({"output_intermediate_scale": real(np.nan)}, r"input 29 \(output_intermediate_scale\): is nan, must be finite"),
    ({"hidden_state_scale": real(-1.0)}, r"input 31 \(hidden_state_scale\): is -1.0, must be finite and > 0"),
    ({"hidden_state_scale": real(1e-45)}, r"a product or quotient of scales is infinite in float32, must be finite"),
    ({"cell_clip": real(-1.0)}, r"input 24 \(cell_clip\): is -1.0, must be >= 0"),
])
def test_bad_operands(change, message):
    with pytest.raises(InvalidArgument, match=message):
        execute(build(arrays(), kept(), change=change))


def test_signature_tables():
    check_signatures("QUANTIZED_LSTM")


def test_vectors():
    _, values, off = check_vectors("QUANTIZED_LSTM")
    assert off == 0 < values
