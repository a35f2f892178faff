"""BATCH_MATMUL by the conv2d steps against its numpy definition: constant and computed matrices, every level."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nnfast
from nnfast._native import kernels
from nnfast.model.quant import conv_multiplier, mbqm, quantize_multiplier
from nnfast.model.types import DTYPES, OperandType

F32, F16, Q8S = "TENSOR_FLOAT32", "TENSOR_FLOAT16", "TENSOR_QUANT8_ASYMM_SIGNED"


def product(type_, batch, sizes, flags, constant, quant, y):
    """(model, shape of input0) of x @ y with [*batch, rows, inner] @ [*batch, inner, columns], before `flags`."""
    (rows, inner, columns), (adj_x, adj_y) = sizes, flags
    quants = [{"scale": scale, "zero_point": zero} for scale, zero in quant] if type_ == Q8S else [{}, {}, {}]
    shape = (*batch, *((inner, rows) if adj_x else (rows, inner)))
    b = nnfast.ModelBuilder("product")
    x = b.input(type_, shape, **quants[0])
    right = b.constant(y, type_, **quants[1]) if constant else b.input(type_, y.shape, **quants[1])
    z = b.output(type_, (*batch, rows, columns), **quants[2])
    b.operation("BATCH_MATMUL", [x, right, b.scalar(adj_x), b.scalar(adj_y)], [z])
    return b.build(), shape


def definition(type_, x, y, flags, quant):
    """The product in float64 or exact integers."""
    x, y = (m.swapaxes(-1, -2) if flag else m for m, flag in zip((x, y), flags, strict=True))
    if type_ != Q8S:
        return x.astype(np.float64) @ y.astype(np.float64)
    (sx, zx), (sy, zy), (sz, zz) = quant
    sums = (x.astype(np.int64) - zx) @ (y.astype(np.int64) - zy)
    multiplier = quantize_multiplier(conv_multiplier(sx, sy, sz))
    return np.clip(mbqm(sums, *multiplier) + zz, -128, 127)


@pytest.mark.parametrize("level", kernels.levels())
def test_products(level):
    zero = st.integers(-128, 127)

    @settings(max_examples=60)
    @given(st.sampled_from((F32, F16, Q8S)), st.lists(st.integers(1, 3), max_size=2),
           st.tuples(*[st.integers(1, 40)] * 3), st.tuples(st.booleans(), st.booleans()), st.booleans(),
           st.tuples(zero, zero, zero), st.sampled_from((4.0, 0.37, 0.01, 2.0**-20, 1e9)), st.integers(0, 2**32 - 1))
    def check(type_, batch, sizes, flags, constant, zeros, scale, seed):
        rng, (_, inner, columns) = np.random.default_rng(seed), sizes
        quant = list(zip((0.5, 0.25, scale), zeros, strict=True))
        right = (*batch, *((columns, inner) if flags[1] else (inner, columns)))
        dtype = DTYPES[OperandType[type_]]

        def values(shape):
            return rng.integers(-128, 128, shape).astype(dtype) if type_ == Q8S else \
                rng.uniform(-1, 1, shape).astype(dtype)

        y = values(right)
        model, shape = product(type_, batch, sizes, flags, constant, quant, y)
        x, results = values(shape), []
        kernels.set_level(level)
        try:
            for threads in (1, 2):
                prepared = nnfast.Device(threads).prepare(model)
                report = prepared.explain()
                assert report.native
                assert (" pack " in str(report)) == (not constant)
                results.append(prepared.run([x] if constant else [x, y])[0])
        finally:
            kernels.set_level(None)
        assert results[0].tobytes() == results[1].tobytes()
        wanted = definition(type_, x, y, flags, quant)
        if type_ == Q8S:
            np.testing.assert_array_equal(results[0], wanted)
        else:
            bound = 2.0**-22 * (inner + 1) + (2.0**-11 * abs(wanted) + 2.0**-24 if type_ == F16 else 0)
            assert (abs(results[0] - wanted) <= bound).all()

    check()


def test_a_large_product_is_shared_by_the_threads():
    rng = np.random.default_rng(1)
    x, y = (rng.uniform(-1, 1, (8, 64, 64)).astype(np.float32) for _ in range(2))
    model, _ = product(F32, (8,), (64, 64, 64), (False, True), False, (), y)
    results = [nnfast.Device(threads).prepare(model).run([x, y])[0] for threads in (1, 2)]
    assert results[0].tobytes() == results[1].tobytes()
    np.testing.assert_allclose(results[0], x.astype(np.float64) @ y.swapaxes(1, 2), atol=1e-5)
