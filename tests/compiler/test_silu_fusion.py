"""x times LOGISTIC of x is one step where nothing else needs LOGISTIC, and gives the same bits."""

import numpy as np
import pytest

import nnfast
from helpers.steps import every_level, run_all_ways
from nnfast._native.elementwise import BinaryF32, UnaryF32

FLOAT, CODES = "TENSOR_FLOAT32", "TENSOR_QUANT8_ASYMM"
NAME = "silu_fusion"
ODD = np.float32([0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -1e-40, 88.8, -87.5, -95, -103.9, -120, 3e38, -3e38])


def gated(kind=FLOAT, shape=(1, 5, 7, 3), swapped=False, activation=0, seen=False, twice=False, between=False,
          other=False):
    """LOGISTIC and MUL over an input, or something that is nearly that."""
    b = nnfast.ModelBuilder("gated")
    quant = {"scale": 0.05, "zero_point": 128} if kind == CODES else {}
    unit = {"scale": 1 / 256, "zero_point": 0} if kind == CODES else {}
    x = b.input(kind, shape, **quant)
    gate = (b.output if seen else b.operand)(kind, shape, **unit)
    b.operation("LOGISTIC", [x], [gate])
    factor = b.input(kind, shape, **quant) if other else x
    if between:
        factor = x
        b.operation("TANH", [x], [b.output(kind, shape, **({"scale": 1 / 128, "zero_point": 128} if quant else {}))])
    pair = [gate, factor] if swapped else [factor, gate]
    b.operation("MUL", [*pair, b.scalar(activation)], [b.output(kind, shape, **quant)])
    if twice:
        b.operation("TANH", [gate], [b.output(kind, shape)])
    return b.build()


def values(prepared):
    rng = np.random.default_rng(2)
    made = []
    for info in prepared.inputs:
        x = (rng.integers(0, 256, info.shape) if info.dtype != np.float32 else 20 * rng.standard_normal(info.shape))
        x = x.astype(info.dtype)
        if x.dtype == np.float32:
            x.reshape(-1)[:ODD.size] = ODD
        made.append(x)
    return made


def bits(y):
    """The bytes of an array, with one NaN for all: which of two NaNs a product takes is the processor's choice."""
    return np.where(np.isnan(y), np.float32(np.nan), y).tobytes() if y.dtype == np.float32 else y.tobytes()


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("shape", [(1, 5, 7, 3), (2, 40, 40, 16), (15,)])
@pytest.mark.parametrize("threads", [1, 2])
def test_one_step_and_the_same_bits(shape, swapped, threads):
    model = gated(shape=shape, swapped=swapped)
    one = nnfast.Device(threads).prepare(model)
    two = nnfast.Device(threads, without_passes=[NAME]).prepare(model)
    assert NAME in one.explain().passes and NAME not in two.explain().passes
    assert "nnf_silu" in str(one.explain()) and "nnf_silu" not in str(two.explain())
    inputs = values(one)
    assert bits(one.run(inputs)[0]) == bits(two.run(inputs)[0])


@pytest.mark.parametrize("options", [{"activation": 1}, {"seen": True}, {"twice": True}, {"between": True},
                                     {"other": True}, {"kind": CODES}], ids=str)
def test_what_is_nearly_that_stays(options):
    model = gated(**options)
    prepared = nnfast.Device(1).prepare(model)
    assert NAME not in prepared.explain().passes
    inputs = values(prepared)
    plain = nnfast.Device(1, without_passes=[NAME]).prepare(model).run(inputs)
    assert [bits(y) for y in prepared.run(inputs)] == [bits(y) for y in plain]


def test_several_in_a_row_among_others():
    """Rows of explain() keep their steps: the LOGISTIC of each pair counts for its MUL."""
    b, shape = nnfast.ModelBuilder("several"), (1, 6, 6, 8)
    x = b.input(FLOAT, shape)
    for _ in range(3):
        x = b.add("TANH", [x])
        x = b.add("MUL", [x, b.add("LOGISTIC", [x]), b.scalar(0)])
    b.operation("ADD", [x, x, b.scalar(0)], [b.output(FLOAT, shape)])
    model = b.build()
    one, two = nnfast.Device(1).prepare(model), nnfast.Device(1, without_passes=[NAME]).prepare(model)
    rows = one.explain().rows
    assert [row.get("joined") for row in rows] == [None, 2, None, None, 5, None, None, 8, None, None]
    assert [NAME in row["passes"] for row in rows] == [False, True, True] * 3 + [False]
    inputs = [np.random.default_rng(1).standard_normal(shape).astype(np.float32)]
    assert bits(one.run(inputs)[0]) == bits(two.run(inputs)[0])


def test_a_compiled_model_keeps_it(tmp_path):
    model, device = gated(shape=(2, 40, 40, 16)), nnfast.Device(1)
    first, again = (device.prepare(model, cache_dir=tmp_path) for _ in range(2))
    assert len(list(tmp_path.iterdir())) == 2 and str(again.explain()) == str(first.explain())
    assert bits(again.run(values(again))[0]) == bits(first.run(values(first))[0])


@every_level
def test_the_step_is_both(level):
    """At every level: the bits of LOGISTIC and MUL."""
    x = np.concatenate([ODD, np.random.default_rng(3).uniform(-110, 110, 9001).astype(np.float32)])
    n, form = x.size, [(x.shape, np.float32)]
    (one,) = run_all_ways(lambda: [UnaryF32((0, 1), "silu", n)], [x], form, level)
    gate, two = run_all_ways(lambda: [UnaryF32((0, 1), "logistic", n), BinaryF32((0, 1, 2), "mul", (n,), (n,))], [x],
                             2 * form, level)
    assert bits(one) == bits(two)
