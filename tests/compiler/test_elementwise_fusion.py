"""Chains of element-wise operations in blocks give the bits that one after the other gives."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nnfast
from helpers.steps import every_level, run_all_ways
from helpers.tuning import put_sizes
from nnfast._native import kernels
from nnfast._native.elementwise import BinaryF32, ClampF32, Convert, DequantizeQ8, LookupQ8, QuantizeF32, UnaryF32
from nnfast._native.engine import MAX_LINKS, Blocks

NAME = "elementwise_fusion"
FLOAT, CODES, HALF, WHOLE = "TENSOR_FLOAT32", "TENSOR_QUANT8_ASYMM", "TENSOR_FLOAT16", "TENSOR_INT32"
QUANT = {FLOAT: {}, CODES: {"scale": 0.05, "zero_point": 128}, HALF: {}, WHOLE: {}}
UNARY = {FLOAT: ("TANH", "ABS", "RELU6", "NEG", "FLOOR", "HARD_SWISH"), CODES: ("RELU6", "TANH", "DEQUANTIZE")}
BINARY = {FLOAT: ("ADD", "MUL", "SUB", "MAXIMUM", "DIV"), CODES: ("ADD", "MAXIMUM", "MUL")}
LINK = st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9))
"""Which operation, and which of the tensors before it are its operands."""


@pytest.fixture(scope="module")
def limits():
    """Sets what a tensor must have to be joined over, and the bytes of the buffers."""
    with pytest.MonkeyPatch.context() as patch:
        def put(large, buffers):
            put_sizes(patch, blocks_tensor=large, blocks_buffers=buffers)

        yield put


def chain(kind, shape, links, seen=()):
    """Model of links one after the other: each has what the one before it made, and another tensor or a number.

    seen: places of links that the model gives out, besides the last.
    """
    b = nnfast.ModelBuilder("chain")
    made = [(b.input(kind, shape, **QUANT[kind]), kind)]
    number = {FLOAT: lambda: b.constant(np.float32([1.5])), CODES: lambda: b.constant(
        np.uint8([150]), type=CODES, **QUANT[CODES])}
    for place, (which, other, form) in enumerate(links):
        (x, kind), make = made[-1], b.output if place in (*seen, len(links) - 1) else b.operand
        is_unary = form % 3 == 0
        names = (UNARY if is_unary else BINARY)[kind]
        name = names[which % len(names)]
        if name == "DEQUANTIZE":
            kind = FLOAT
        quant = QUANT[kind]
        if name == "MUL" and kind == CODES or name == "TANH" and kind == CODES:
            quant = {"scale": 1 / 128, "zero_point": 128} if name == "TANH" else {"scale": 0.1, "zero_point": 128}
        y = make(kind, shape, **quant)
        if is_unary:
            b.operation(name, [x], [y])
        else:
            before = [t for t in made if t[1] == kind and (kind == FLOAT or t is made[-1] or name == "ADD")]
            operand = number[kind]() if form % 3 == 1 else before[other % len(before)][0]
            pair = [x, operand] if form % 2 else [operand, x]
            b.operation(name, [*pair, *([] if name == "MAXIMUM" else [b.scalar(which % 4 if kind == FLOAT else 0)])],
                        [y])
        made.append((y, kind))
    return b.build()


def values(prepared):
    rng, made = np.random.default_rng(3), []
    for info in prepared.inputs:
        if info.dtype.kind == "f":
            x = (5 * rng.standard_normal(info.shape)).astype(info.dtype)
            x.reshape(-1)[:6] = np.array([0, -0.0, np.inf, -np.inf, np.nan, 1e-40], info.dtype)[:x.size]
            made.append(x)
        else:
            made.append(rng.integers(0, 200, info.shape).astype(info.dtype))
    return made


def bits(arrays):
    """Their bytes, with one NaN for all: which of two NaNs a sum takes is the processor's choice."""
    return [np.where(np.isnan(y), np.float32(np.nan), y).tobytes() if y.dtype == np.float32 else y.tobytes()
            for y in arrays]


def joined(prepared):
    return [row["joined"] for row in prepared.explain().rows]


def check(model, put, budgets, levels=None):
    """Blocks of several lengths, one to three threads: the bits of the steps one by one. Whether all are one chain."""
    for level in levels or kernels.levels():
        kernels.set_level(level)
        try:
            alone = nnfast.Device(1, without_passes=[NAME]).prepare(model)
            assert NAME not in alone.explain().passes
            inputs = values(alone)
            wanted = bits(alone.run(inputs))
            for budget in budgets:
                put(1, budget)
                for threads in (1, 2, 3):
                    prepared = nnfast.Device(threads).prepare(model)
                    assert bits(prepared.run(inputs)) == wanted, (level, budget, threads)
        finally:
            kernels.set_level(None)
    return NAME in prepared.explain().passes


@pytest.mark.parametrize("shape", [(1,), (63,), (64,), (65,), (1, 7, 11, 13), (2, 40, 40, 9)], ids=str)
@pytest.mark.parametrize("kind", [FLOAT, CODES])
def test_blocks_equal_the_steps(kind, shape, limits):
    """Tensors of less than a block, of whole ones and of parts of one; numbers and tensors as second operands."""
    links = [(0, 0, 1), (1, 0, 3), (2, 0, 2), (1, 2, 5), (0, 1, 4), (3, 3, 2)]
    assert check(chain(kind, shape, links), limits, (1, 40000))


@settings(max_examples=60)
@given(st.sampled_from([FLOAT, CODES]), st.lists(LINK, min_size=2, max_size=20), st.integers(1, 3000),
       st.sets(st.integers(0, 18)))
def test_any_chain(limits, kind, links, count, seen):
    check(chain(kind, (count,), links, seen), limits, (1, 9000), kernels.levels()[-1:])


def test_joined_rows_and_no_memory_between(limits):
    """Operations but the last count for it, and what lies between them takes no place in the arena."""
    links = [(0, 0, 1), (0, 0, 3), (1, 0, 1), (1, 0, 3)]
    limits(1, 4096)
    prepared, plain = (nnfast.Device(1, without_passes=names).prepare(chain(FLOAT, (1, 50, 50, 4), links))
                       for names in ([], [NAME]))
    assert joined(prepared) == [3, 3, 3, None] and joined(plain) == [None] * 4
    assert "arena 0 B" in str(prepared.explain()) and "arena 0 B" not in str(plain.explain())
    with nnfast.profile() as times:
        prepared.run(values(prepared))
    assert [row["ns"] > 0 for row in times.rows] == [False, False, False, True]


def test_what_others_see_is_written(limits):
    """An output in the middle, and one that stays with keep=."""
    limits(1, 512)
    model = chain(FLOAT, (300,), [(0, 0, 1), (1, 0, 3), (2, 0, 1), (4, 0, 3)], seen={1})
    kept = model.main.operations[0].outputs[0]
    prepared = nnfast.Device(2).prepare(model, keep=[kept])
    plain = nnfast.Device(1, without_passes=[NAME]).prepare(model, keep=[kept])
    inputs = values(plain)
    assert joined(prepared) == [3, 3, 3, None]
    found, wanted = prepared.run(inputs), plain.run(inputs)
    assert len(found) == 3 and bits(found) == bits(wanted)


def test_what_a_reshape_shares_is_written(limits):
    """A tensor that a chain reads again, and whose memory a RESHAPE gives to somebody behind the chain."""
    limits(1, 512)
    b = nnfast.ModelBuilder("shared")
    x, first, shaped = b.input(FLOAT, (30, 40)), b.operand(FLOAT, (30, 40)), b.operand(FLOAT, (40, 30))
    b.operation("TANH", [x], [first])
    b.operation("MUL", [first, x, b.scalar(0)], [b.output(FLOAT, (30, 40))])
    b.operation("RESHAPE", [first, b.constant(np.int32([40, 30]))], [shaped])
    b.operation("SOFTMAX", [shaped, b.scalar(np.float32(1))], [b.output(FLOAT, (40, 30))])
    prepared, plain = (nnfast.Device(1, without_passes=names).prepare(b.build()) for names in ([], [NAME]))
    assert joined(prepared)[:2] == [1, None]
    inputs = values(plain)
    assert bits(prepared.run(inputs)) == bits(plain.run(inputs))


def test_a_single_element_is_no_link(limits):
    """A number that an operation computes, and the next takes for all of its elements."""
    limits(1, 512)
    b = nnfast.ModelBuilder("number")
    x, z, number = b.input(FLOAT, (1,)), b.input(FLOAT, (400,)), b.operand(FLOAT, (1,))
    b.operation("ABS", [x], [number])
    b.operation("ADD", [z, number, b.scalar(0)], [b.output(FLOAT, (400,))])
    prepared = nnfast.Device(1).prepare(b.build())
    assert joined(prepared) == [None, None]
    number, z = np.float32([-2]), np.arange(400, dtype=np.float32)
    assert prepared.run([number, z])[0].tolist() == (z + 2).tolist()


def test_where_a_chain_ends(limits):
    """At a tensor of another size, at one that it does not read, and after MAX_LINKS steps."""
    limits(1, 512)
    b = nnfast.ModelBuilder("ends")
    x, z = b.input(FLOAT, (4, 100)), b.input(FLOAT, (4, 100))
    first, second, last = (b.operand(FLOAT, (4, 100)) for _ in range(3))
    b.operation("TANH", [x], [first])
    b.operation("ABS", [first], [second])
    b.operation("NEG", [z], [last])
    b.operation("ADD", [second, b.constant(np.ones((3, 4, 100), np.float32)), b.scalar(0)],
                [b.output(FLOAT, (3, 4, 100))])
    b.operation("ABS", [last], [b.output(FLOAT, (4, 100))])
    assert joined(nnfast.Device(1).prepare(b.build())) == [1, None, None, None, None]
    many = nnfast.Device(1).prepare(chain(FLOAT, (50,), [(0, 0, 3)] * (MAX_LINKS + 3)))
    assert joined(many) == [MAX_LINKS - 1] * (MAX_LINKS - 1) + [None] + [MAX_LINKS + 2] * 2 + [None]


@pytest.mark.parametrize("count, wanted", [(1023, None), (1024, 1)])
def test_small_tensors_stay_apart(count, wanted, monkeypatch):
    put_sizes(monkeypatch, blocks_tensor=4096)
    assert joined(nnfast.Device(1).prepare(chain(FLOAT, (count,), [(0, 0, 1), (1, 0, 3)]))) == [wanted, None]


@pytest.mark.parametrize("kind, names", [(HALF, ("ADD", "TANH", "MUL")), (WHOLE, ("ADD", "MUL", "MAXIMUM"))])
@pytest.mark.parametrize("shape", [(5, 77), (5, 77777)])
def test_float16_and_int32_chains(kind, names, shape, limits):
    """Conversions around float32 steps, and arithmetic of integers."""
    b = nnfast.ModelBuilder(kind)
    x = b.input(kind, shape)
    for name in names:
        y = (b.output if name == names[-1] else b.operand)(kind, shape)
        b.operation(name, [x] if name == "TANH" else [x, x] if name == "MAXIMUM" else [x, x, b.scalar(0)], [y])
        x = y
    assert check(b.build(), limits, (1, 5000))


@every_level
@pytest.mark.parametrize("count", [1, 700, 5000, 64 * 1000 + 1])
def test_blocks_in_parts(count, level):
    """A step that something may stop is divided into parts: each has its own blocks."""
    def make_steps():
        return [Blocks([BinaryF32((0, 1, 5), "mul", (count,), (count,)), UnaryF32((5, 6), "tanh", count),
                        BinaryF32((6, 0, 7), "add", (count,), (count,)), BinaryF32((7, 2, 3), "sub", (count,), (1,)),
                        ClampF32((3, 4), count, -1, 1)], (5, 6, 7), 4096)]

    rng = np.random.default_rng(4)
    x, y = rng.standard_normal((2, count)).astype(np.float32)
    number = np.float32([0.25])
    unclamped, clamped = run_all_ways(make_steps, (x, y, number), [((count,), np.float32)] * 2, level)
    assert np.allclose(unclamped, np.tanh(x * y) + x - 0.25, atol=1e-6)
    assert clamped.tobytes() == unclamped.clip(-1, 1).tobytes()


@every_level
def test_a_buffer_for_elements_of_other_sizes(level):
    """Bytes, float16 and float32 values take turns in one buffer, each where its own block lies."""
    count = 300_001
    codes = np.random.default_rng(5).integers(0, 256, count).astype(np.uint8)
    turned = np.arange(255, -1, -1, dtype=np.uint8)

    def make_steps():
        return [Blocks([LookupQ8((0, 3), count, turned), DequantizeQ8((3, 4), False, 1, count, 0, np.float32([0.5])),
                        Convert((4, 5), count, True), Convert((5, 6), count, False), UnaryF32((6, 7), "neg", count),
                        QuantizeF32((7, 8), count, 0.5, 255, (0, 255)), LookupQ8((8, 1), count, turned)],
                       (3, 4, 5, 6, 7, 8), 4096),
                UnaryF32((2, 2), "abs", 1)]

    (found, _) = run_all_ways(make_steps, (codes,), [((count,), np.uint8), ((1,), np.float32)], level)
    assert found.tobytes() == turned[255 - turned[codes]].tobytes()


@pytest.mark.parametrize("steps, inner, reason", [
    ([UnaryF32((0, 1), "abs", 8)], (), "a chain has 2 to 16 steps"),
    ([UnaryF32((0, 1), "abs", 8), UnaryF32((1, 2), "abs", 9)], (1,), "step 1 has 9 elements, must have 8"),
    ([UnaryF32((0, 1), "abs", 8), UnaryF32((1, 2), "abs", 8)], (0, 1), "step 0 reads what no step before it"),
    ([UnaryF32((0, 1), "abs", 8), UnaryF32((0, 1), "abs", 8)], (1,), "step 1 writes what another has written"),
    ([UnaryF32((0, 1), "abs", 8), UnaryF32((1, 2), "abs", 8)], (1, 5), "no step writes an inner slot"),
    ([LookupQ8((0, 1), 8, np.zeros(256, np.uint8)), UnaryF32((1, 2), "abs", 8)], (1,), "step 1 reads what no step"),
    ([UnaryF32((0, 1), "abs", 8), BinaryF32((2, 1, 3), "add", (8,), (1,))], (1,), "step 1 reads what no step"),
    ([UnaryF32((0, 1), "abs", 8), BinaryF32((1, 2, 3), "add", (2, 4), (4,))], (1,), "step 1 has 0 elements"),
], ids=lambda value: value if isinstance(value, str) else "")
def test_steps_that_are_no_chain(steps, inner, reason):
    with pytest.raises(ValueError, match=reason):
        Blocks(steps, inner, 4096)
