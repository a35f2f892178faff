"""float16 and NCHW operations: native, and bit for bit what their float32 or NHWC form gives."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nnfast
from nnfast._native import kernels
from nnfast.model.types import DTYPES, OperandType
from nnfast.ops import elementwise

FLOAT, HALF = "TENSOR_FLOAT32", "TENSOR_FLOAT16"
CODES = ("TENSOR_QUANT8_ASYMM", "TENSOR_QUANT8_ASYMM_SIGNED")


@pytest.fixture(params=kernels.levels(), autouse=True)
def level(request):
    """Every test runs at every level of this machine."""
    kernels.set_level(request.param)
    yield
    kernels.set_level(None)


def run(model, *arrays):
    """Outputs of a model, which must be all native and bit-equal for one and two threads; and what explain() says."""
    results = []
    for threads in (1, 2):
        prepared = nnfast.Device(threads).prepare(model)
        report = prepared.explain()
        assert report.native, str(report)
        results.append(prepared.run(list(arrays)))
    assert all(a.tobytes() == b.tobytes() for a, b in zip(*results, strict=True))
    return results[0], str(report)


def single(name, type_, shapes, extra, output, constants=()):
    """Model of one operation: inputs of `type_`, then constants of it, then scalars."""
    b = nnfast.ModelBuilder("single")
    inputs = [b.input(type_, shape) for shape in shapes]
    inputs += [b.constant(value.astype(DTYPES[OperandType[type_]])) for value in constants]
    target = b.output(type_, output)
    return b.operation(name, inputs + [b.scalar(value) for value in extra], [target]).build()


HALVES = st.sampled_from(("ADD", "MUL", "SUB", "PRELU", "LOGISTIC", "TANH", "RELU6", "SOFTMAX", "FULLY_CONNECTED"))


@settings(max_examples=25)
@given(HALVES, st.integers(1, 40), st.integers(1, 9), st.integers(0, 2**32 - 1))
def test_float16_is_the_rounded_float32(name, width, rows, seed):
    rng, shape = np.random.default_rng(seed), (rows, width)
    shapes, extra, constants, output = [shape], [], [], shape
    if name in ("ADD", "MUL", "SUB"):
        shapes, extra = [shape, (width,)], [0]
    elif name == "PRELU":
        constants = [rng.standard_normal(width).astype(np.float16)]
    elif name == "SOFTMAX":
        extra = [1.5]
    elif name == "FULLY_CONNECTED":
        constants = [rng.standard_normal(s).astype(np.float16) for s in ((5, width), (5,))]
        extra, output = [0], (rows, 5)
    data = [rng.uniform(-8, 8, s).astype(np.float16) for s in shapes]
    wide, _ = run(single(name, FLOAT, shapes, extra, output, constants), *(x.astype(np.float32) for x in data))
    extra = [np.float16(v) if isinstance(v, float) else v for v in extra]
    half, report = run(single(name, HALF, shapes, extra, output, constants), *data)
    assert half[0].dtype == np.float16
    assert half[0].tobytes() == wide[0].astype(np.float16).tobytes()
    assert "convert_f16_f32" in report
    assert "convert_f32_f16" in report


def test_an_operand_that_is_read_twice_is_widened_once():
    b = nnfast.ModelBuilder("twice")
    x, y = b.input(HALF, (3, 5)), b.output(HALF, (3, 5))
    model = b.operation("MUL", [x, x, b.scalar(0)], [y]).build()
    data = np.linspace(-300, 300, 15).astype(np.float16).reshape(3, 5)
    (result,), _ = run(model, data)
    with np.errstate(over="ignore"):
        wanted = (data.astype(np.float32) ** 2).astype(np.float16)
    assert np.array_equal(result, wanted)
    rows = nnfast.Device(1).prepare(model)
    assert str(rows.explain()).count("convert_f16_f32") == 1


@pytest.mark.parametrize(("name", "shape"), [
    ("RESHAPE", (2, 6)), ("TRANSPOSE", (4, 3)), ("CONCATENATION", (6, 4)),
])
def test_moving_halves_converts_nothing(name, shape):
    b = nnfast.ModelBuilder("moves")
    x, y = b.input(HALF, (3, 4)), b.output(HALF, shape)
    order = {"RESHAPE": np.int32([2, 6]), "TRANSPOSE": np.int32([1, 0])}.get(name)
    inputs = [x, x, b.scalar(0)] if order is None else [x, b.constant(order)]
    data = np.arange(12).astype(np.float16).reshape(3, 4)
    (result,), report = run(b.operation(name, inputs, [y]).build(), data)
    wanted = {"RESHAPE": data.reshape(2, 6), "TRANSPOSE": data.T}.get(name, np.concatenate([data, data]))
    assert np.array_equal(result, wanted)
    assert "convert" not in report


def test_a_value_that_the_float32_form_needs_is_waited_for(monkeypatch):
    lower = elementwise.MUL.lower

    def needs_the_value(node, b):
        if node["input0"].type == OperandType.TENSOR_FLOAT32:
            assert node.value("input1").dtype == np.float32
        return lower(node, b)

    monkeypatch.setattr(elementwise.MUL, "lower", needs_the_value)
    b = nnfast.ModelBuilder("waits")
    x, y, z = b.input(HALF, (4,)), b.input(HALF, (4,)), b.output(HALF, (4,))
    prepared = nnfast.Device(1).prepare(b.operation("MUL", [x, y, b.scalar(0)], [z]).build())
    for factor in (2, 3):
        result, = prepared.run([np.arange(4, dtype=np.float16), np.full(4, factor, np.float16)])
        assert result.tolist() == [0, factor, 2 * factor, 3 * factor]


@pytest.mark.parametrize(("source", "target"), [(FLOAT, HALF), (HALF, FLOAT), (HALF, HALF)])
def test_casts_between_floats(source, target):
    b = nnfast.ModelBuilder("cast")
    x, y = b.input(source, (5, 7)), b.output(target, (5, 7))
    types = [DTYPES[OperandType[type_]] for type_ in (source, target)]
    data = np.linspace(-70000, 70000, 35).reshape(5, 7)
    with np.errstate(over="ignore"):
        data = data.astype(types[0])
        wanted = data.astype(types[1])
    (result,), _ = run(b.operation("CAST", [x], [y]).build(), data)
    assert result.tobytes() == wanted.tobytes()


# -- NCHW ----------------------------------------------------------------------------------------------------------
def images(type_, nchw, size, channels, read_again, depthwise):
    """CONV_2D or DEPTHWISE_CONV_2D, then MAX_POOL_2D, in one layout; `read_again` adds a RELU of what lies between."""
    b, rng, dtype = nnfast.ModelBuilder("images"), np.random.default_rng(5), DTYPES[OperandType[type_]]
    quant = {"scale": 0.5, "zero_point": 3} if type_ in CODES else {}

    def place(n, h, w, c):
        return (n, c, h, w) if nchw else (n, h, w, c)

    def values(*shape):
        if not quant:
            return b.constant(rng.standard_normal(shape).astype(dtype))
        return b.constant(rng.integers(0, 100, shape).astype(dtype), type_, **quant)

    units = channels if depthwise else 6
    x = b.input(type_, place(2, *size, channels), **quant)
    weights = values(1, 3, 2, channels) if depthwise else values(units, 3, 2, channels)
    bias = b.constant(np.zeros(units, np.int32), scale=0.25) if quant else values(units)
    wide = {"scale": 20.0, "zero_point": 7} if quant else {}
    y = b.operand(type_, place(2, *size, units), **wide)
    z = b.output(type_, place(2, *size, units), **wide)
    s, multiplier = b.scalar, [b.scalar(1)] if depthwise else []
    name = "DEPTHWISE_CONV_2D" if depthwise else "CONV_2D"
    b.operation(name, [x, weights, bias, s(1), s(1), s(1), *multiplier, s(0), s(nchw)], [y])
    b.operation("MAX_POOL_2D", [y, s(1), s(1), s(1), s(2), s(2), s(0), s(nchw)], [z])
    if read_again:
        b.operation("RELU", [y], [b.output(type_, place(2, *size, units), **wide)])
    return b.build()


@settings(max_examples=20)
@given(st.sampled_from((FLOAT, HALF, *CODES)), st.tuples(st.integers(1, 6), st.integers(1, 6)), st.integers(1, 5),
       st.booleans(), st.booleans(), st.integers(0, 2**32 - 1))
def test_nchw_is_nhwc_in_another_order(type_, size, channels, read_again, depthwise, seed):
    rng, dtype = np.random.default_rng(seed), DTYPES[OperandType[type_]]
    image = rng.integers(-100, 100, (2, *size, channels)).astype(dtype)
    last, _ = run(images(type_, False, size, channels, read_again, depthwise), image)
    first, report = run(images(type_, True, size, channels, read_again, depthwise),
                        np.ascontiguousarray(image.transpose(0, 3, 1, 2)))
    assert len(last) == len(first) == 1 + read_again
    for a, b in zip(last, first):
        assert np.ascontiguousarray(b.transpose(0, 2, 3, 1)).tobytes() == a.tobytes()
    # One copy in, one out; what lies between is only copied for the RELU, which has no layout.
    rows = [line for line in report.splitlines() if "strided copy" in line]
    assert len(rows) == 2 + read_again


@pytest.mark.parametrize("type_", [FLOAT, HALF, CODES[0]])
def test_a_given_output_size_that_nothing_reads_may_come_with_the_execution(type_):
    """TRANSPOSE_CONV_2D with padding VALID only takes its output_shape for the form."""
    quantized = type_ == CODES[0]
    dtype = np.uint8 if quantized else np.float16 if type_ == HALF else np.float32
    form = (0.25, 10) if quantized else ()
    b = nnfast.ModelBuilder()
    x = b.input(type_, (1, 2, 4, 4), *form)
    weights = np.arange(18).reshape(1, 3, 3, 2).astype(dtype)
    w = b.constant(weights, scale=0.5, zero_point=8) if quantized else b.constant(weights)
    bias = b.constant(np.zeros(1, np.int32), scale=0.125) if quantized else b.constant(np.zeros(1, dtype))
    size = b.input("TENSOR_INT32", (4,))
    y = b.output(type_, (0, 0, 0, 0), *((32.0, 80) if quantized else ()))
    b.operation("TRANSPOSE_CONV_2D", [x, w, bias, size, *map(b.scalar, (2, 1, 1, 0, True))], [y])
    image = np.arange(32).reshape(1, 2, 4, 4).astype(dtype)
    model = b.build()
    prepared = nnfast.Device(1).prepare(model)
    (first,) = prepared.run([image, np.int32([1, 1, 6, 6])])
    assert first.shape == (1, 1, 6, 6) and first.any()
