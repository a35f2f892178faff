"""Convolutions that read what a PAD writes pad the image themselves, and give the same results."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nnfast
from helpers.steps import at_level, every_level

NAME = "pad_fusion"
KINDS = {"TENSOR_FLOAT32": ("TENSOR_FLOAT32", {}), "TENSOR_FLOAT16": ("TENSOR_FLOAT16", {}),
         "TENSOR_QUANT8_ASYMM": ("TENSOR_QUANT8_ASYMM", {"scale": 0.5, "zero_point": 131}),
         "TENSOR_QUANT8_ASYMM_SIGNED": ("TENSOR_QUANT8_ASYMM_SIGNED", {"scale": 0.5, "zero_point": -7})}


def padded(kind="TENSOR_FLOAT32", size=(9, 11), channels=5, units=6, filter_=(3, 3), stride=(1, 1), dilation=(1, 1),
           own=(0, 0, 0, 0), pads=((0, 0), (1, 1), (1, 1), (0, 0)), depthwise=False, scheme=None, batch=1, inner=False,
           seen=False, others=False, weights=None):
    """PAD and CONV_2D or DEPTHWISE_CONV_2D over an input; own: (left, right, top, bottom) of the convolution.

    inner: a RELU stands before PAD; seen: the output of PAD is one of the model; others: an ADD reads it too.
    """
    rng = np.random.default_rng(3)
    kind, quant = KINDS[kind]
    b = nnfast.ModelBuilder("padded")
    x = b.input(kind, (batch, *size, channels), **quant)
    if inner:
        before, x = x, b.operand(kind, (batch, *size, channels), **quant)
        b.operation("RELU", [before], [x])
    shape = [n + sum(p) for n, p in zip((batch, *size, channels), pads)]
    framed = (b.output if seen else b.operand)(kind, shape, **quant)
    b.operation("PAD", [x, b.constant(np.int32(pads), "TENSOR_INT32")], [framed])
    units = shape[3] if depthwise else units
    dims = (1, *filter_, units) if depthwise else (units, *filter_, shape[3])
    if quant:
        codes = np.int8 if "SIGNED" in kind else np.uint8
        made = rng.integers(*((-128, 128) if codes is np.int8 else (0, 256)), dims).astype(codes)
        w = b.constant(made, kind, scale=0.25, zero_point=-3 if codes is np.int8 else 120)
        bias = b.constant(rng.integers(-500, 500, units).astype(np.int32), "TENSOR_INT32", scale=0.125, zero_point=0)
    else:
        dtype = np.float16 if kind == "TENSOR_FLOAT16" else np.float32
        made = rng.standard_normal(dims).astype(dtype) if weights is None else np.full(dims, weights, dtype)
        w = b.constant(made, kind)
        bias = b.constant(rng.standard_normal(units).astype(dtype), kind)
    padding = [b.scalar(v) for v in own] if scheme is None else [b.scalar(scheme)]
    more = [b.scalar(1)] if depthwise else []
    y = b.output(kind, (0, 0, 0, 0), **({"scale": 40.0, "zero_point": 5} if quant else {}))
    b.operation("DEPTHWISE_CONV_2D" if depthwise else "CONV_2D",
                [framed, w, bias, *padding, b.scalar(stride[1]), b.scalar(stride[0]), *more, b.scalar(0),
                 b.scalar(False), b.scalar(dilation[1]), b.scalar(dilation[0])], [y])
    if others:
        b.operation("ABS", [framed], [b.output(kind, shape, **quant)])
    return b.build()


def data_of(prepared):
    rng = np.random.default_rng(4)
    return [rng.standard_normal(i.shape).astype(i.dtype) if i.dtype.kind == "f" else
            rng.integers(np.iinfo(i.dtype).min, np.iinfo(i.dtype).max + 1, i.shape).astype(i.dtype)
            for i in prepared.inputs]


def same(a, b):
    """Integers to the last bit; float sums may be added up in another order."""
    assert a.shape == b.shape
    if a.dtype.kind == "f":
        bound = 2e-2 if a.itemsize == 2 else 2e-5
        np.testing.assert_allclose(a.astype(np.float64), b.astype(np.float64), rtol=bound, atol=bound)
    else:
        assert a.tobytes() == b.tobytes()


def agree(model):
    """With the pass and without it results are the same; the model prepared with it."""
    one = nnfast.Device(1).prepare(model)
    two = nnfast.Device(1, without_passes=[NAME]).prepare(model)
    data = data_of(one)
    for a, b in zip(one.run(data), two.run(data), strict=True):
        same(a, b)
    assert NAME in one.explain().passes and NAME not in two.explain().passes
    return one


@every_level
@pytest.mark.parametrize("depthwise", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_at_every_level(kind, depthwise, level):
    with at_level(level):
        for case in ({}, {"stride": (2, 2)}, {"channels": 32, "units": 40, "size": (14, 15)},
                     {"pads": ((0, 0), (0, 1), (0, 2), (0, 0)), "stride": (2, 2)}, {"inner": True, "batch": 2}):
            prepared = agree(padded(kind, depthwise=depthwise, **case))
            rows = prepared.explain().rows
            assert [row["kernel"] for row in rows if row["operation"] == "PAD"] == ["no copy"]


@settings(max_examples=150)
@given(st.data())
def test_any_geometry(data):
    number = st.integers(0, 3)
    filter_, dilation = data.draw(st.tuples(*[st.integers(1, 4)] * 2)), data.draw(st.tuples(*[st.integers(1, 2)] * 2))
    reach = [(f - 1) * d + 1 for f, d in zip(filter_, dilation)]
    own = tuple(data.draw(st.integers(0, reach[axis] - 1)) for axis in (1, 1, 0, 0))
    size = tuple(data.draw(st.integers(1, 9)) for _ in range(2))
    pads = ((0, 0), *((data.draw(number), data.draw(number)) for _ in range(2)), (0, 0))
    if any(n + sum(p) < r for n, p, r in zip(size, pads[1:3], reach)):
        size = tuple(max(n, r) for n, r in zip(size, reach))
    numbers = st.integers(1, 9)
    model = padded(data.draw(st.sampled_from(tuple(KINDS))), size, data.draw(numbers), data.draw(numbers), filter_,
                   data.draw(st.tuples(*[st.integers(1, 3)] * 2)), dilation, own, pads, data.draw(st.booleans()),
                   data.draw(st.sampled_from((None, 1, 2))), data.draw(st.integers(1, 2)))
    one = nnfast.Device(1).prepare(model)
    two = nnfast.Device(1, without_passes=[NAME]).prepare(model)
    values = data_of(one)
    a, b = one.run(values)[0], two.run(values)[0]
    same(a, b)


@pytest.mark.parametrize("case", [
    {"seen": True}, {"others": True}, {"weights": np.inf}, {"weights": np.nan},
    {"pads": ((0, 0), (1, 1), (1, 1), (0, 2))}, {"pads": ((1, 0), (1, 1), (0, 0), (0, 0))},
    {"pads": ((0, 0), (3, 0), (0, 0), (0, 0))},
], ids=str)
def test_it_stays_where_it_is_needed(case):
    """Others see it, it is not around images, windows would not reach them, or 0 * weight is not 0."""
    model = padded(**case)
    one, two = nnfast.Device(1).prepare(model), nnfast.Device(1, without_passes=[NAME]).prepare(model)
    values = data_of(one)
    for a, b in zip(one.run(values), two.run(values), strict=True):
        same(a, b)
    assert NAME not in one.explain().passes


def test_from_a_cache(tmp_path):
    """A compiled model in a file has the joined windows, and runs the same."""
    model = padded("TENSOR_QUANT8_ASYMM_SIGNED", channels=8, units=16)
    first = nnfast.Device(1).prepare(model, cache_dir=tmp_path)
    values = data_of(first)
    expected = first.run(values)[0]
    again = nnfast.Device(1).prepare(model, cache_dir=tmp_path)
    assert again.run(values)[0].tobytes() == expected.tobytes()
    assert NAME in again.explain().passes
