"""Convolutions whose filter or bias is computed: native, and beside the same with constants."""

import numpy as np
import pytest

import nnfast
from helpers.steps import at_level, every_level

SCALES = 0.5, 0.01
"""Of inputs, and of filters with one scale."""

CASES = {
    # image, filter, dimension of its units, numbers behind the bias: padding SAME, strides, ... activation, layout
    "CONV_2D": ((2, 7, 6, 5), (19, 3, 2, 5), 0, (1, 2, 1, 1)),
    "DEPTHWISE_CONV_2D": ((2, 7, 6, 5), (1, 3, 2, 10), 3, (1, 1, 2, 2, 0)),
    "GROUPED_CONV_2D": ((2, 7, 6, 6), (34, 3, 3, 3), 0, (1, 1, 1, 2, 1, False)),
    "TRANSPOSE_CONV_2D": ((2, 4, 5, 6), (18, 3, 1, 6), 0, (1, 2, 2, 1, False)),
    "FULLY_CONNECTED": ((5, 33), (21, 33), 0, (1,)),
}
TYPES = "float32", "float16", "uint8", "int8", "channels"


def drawn(shape, kind, rng):
    if kind.startswith("float"):
        return rng.standard_normal(shape).astype(kind)
    low, high = (0, 256) if kind == "uint8" else (-127, 128)
    return rng.integers(low, high, shape).astype("uint8" if kind == "uint8" else "int8")


def build(name, kind, filter_=None, bias=None):
    """Model of one layer; what of filter and bias is None is an input."""
    shape, filter_shape, dim, numbers = CASES[name]
    units, b = filter_shape[dim], nnfast.ModelBuilder(name)
    tensor = {"float32": "TENSOR_FLOAT32", "float16": "TENSOR_FLOAT16", "uint8": "TENSOR_QUANT8_ASYMM"}.get(
        kind, "TENSOR_QUANT8_ASYMM_SIGNED")
    floats = kind.startswith("float")
    quant = {} if floats else {"scale": SCALES[0], "zero_point": 120 if kind == "uint8" else 7}
    of_filter, of_bias = {}, {"type": "TENSOR_INT32", "scale": SCALES[0] * SCALES[1]}
    weights = tensor
    if kind == "channels":
        scales = tuple(0.01 + 0.001 * unit for unit in range(units))
        weights, of_filter = "TENSOR_QUANT8_SYMM_PER_CHANNEL", {"channel_quant": (dim, scales)}
        of_bias["scale"] = 0.0
    elif floats:
        of_bias = {"type": tensor}
    else:
        of_filter = {"scale": SCALES[1], "zero_point": 131 if kind == "uint8" else 3}
    x = b.input(tensor, shape, **quant)
    w = b.input(weights, filter_shape, **of_filter) if filter_ is None else b.constant(filter_, weights, **of_filter)
    c = b.input(dims=(units,), **of_bias) if bias is None else b.constant(bias, **of_bias)
    extra = [b.constant(np.int32([2, 8, 9, units]))] if name == "TRANSPOSE_CONV_2D" else []
    y = b.output(tensor, {"FULLY_CONNECTED": (5, units)}.get(name, (0, 0, 0, 0)),
                 **({} if floats else {"scale": 4.0, "zero_point": 9}))
    return b.operation(name, [x, w, c, *extra, *map(b.scalar, numbers)], [y]).build()


@every_level
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("name", CASES)
def test_as_with_constants(name, kind, level):
    if (name, kind) == ("FULLY_CONNECTED", "channels"):
        pytest.skip("the standard has no such layer")
    rng = np.random.default_rng(len(name))
    shape, filter_shape, dim, _ = CASES[name]
    x, w = drawn(shape, kind, rng), drawn(filter_shape, kind, rng)
    c = rng.standard_normal(filter_shape[dim]).astype(kind) if kind.startswith("float") else \
        rng.integers(-2000, 2000, filter_shape[dim]).astype(np.int32)
    with at_level(level):
        device = nnfast.Device(num_threads=2)
        wanted, = device.prepare(build(name, kind, w, c)).run([x])
        assert np.ptp(wanted.astype(np.float64)) > 0
        for given in ({}, {"filter_": w}, {"bias": c}):
            prepared = device.prepare(build(name, kind, **given))
            assert "numpy" not in {row["kernel"] for row in prepared.explain().rows}
            found, = prepared.run([x, *([] if "filter_" in given else [w]), *([] if "bias" in given else [c])])
            if kind.startswith("float"):
                np.testing.assert_allclose(found, wanted, *((1e-5, 1e-4) if kind == "float32" else (2e-3, 2e-2)))
            else:
                np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("bad", [np.inf, np.nan])
@pytest.mark.parametrize("name", CASES)
def test_infinite_weights_do_not_meet_padding(name, bad):
    rng = np.random.default_rng(3)
    shape, filter_shape, dim, _ = CASES[name]
    x, w, c = (np.abs(drawn(s, "float32", rng)) for s in (shape, filter_shape, (filter_shape[dim],)))
    w[(0,) * w.ndim] = bad
    wanted, = nnfast.Device(num_threads=1).prepare(build(name, "float32", w, c)).run([x])
    found, = nnfast.Device(num_threads=2).prepare(build(name, "float32")).run([x, w, c])
    assert np.isfinite(wanted).any() and not np.isfinite(wanted).all()
    np.testing.assert_allclose(found, wanted, 1e-5, 1e-4)
