"""Chains of convolutions in bands of rows give the bits that one step after the other gives."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nnfast
from helpers.tuning import put_sizes
from nnfast._native import kernels
from nnfast.compiler.passes import row_fusion

CHANNELS, WIDTH = 6, 9
NAMES = ("CONV_2D", "DEPTHWISE_CONV_2D", "MAX_POOL_2D", "AVERAGE_POOL_2D")
LINK = st.tuples(st.sampled_from(NAMES), st.integers(1, 5), st.integers(1, 3),
                 st.integers(1, 2), st.integers(0, 4), st.integers(0, 4))
"""Operation, rows under a window, stride, dilation, padding above and below (if the window is higher)."""


def chain(links, height):
    """Model of the links one after the other on an image of so many rows; None when the rows run out."""
    rng, b = np.random.default_rng(height), nnfast.ModelBuilder("chain")
    at = b.input("TENSOR_FLOAT32", (1, height, WIDTH, CHANNELS))
    for place, (name, taps, stride, dilation, top, bottom) in enumerate(links):
        dilation = 1 if "POOL" in name else dilation
        reach = (taps - 1) * dilation + 1
        top, bottom = min(top, reach - 1), min(bottom, reach - 1)
        if height + top + bottom < reach:
            return None
        height = (height + top + bottom - reach) // stride + 1
        # Columns: 3 taps, stride 1, and as much padding as keeps the width.
        make = b.output if place == len(links) - 1 else b.operand
        target = make("TENSOR_FLOAT32", (1, height, WIDTH, CHANNELS))
        if "POOL" in name:
            b.operation(name, [at, *map(b.scalar, [1, 1, top, bottom, 1, stride, 3, taps, 1])], [target])
            at = target
            continue
        depthwise = name == "DEPTHWISE_CONV_2D"
        weights = rng.standard_normal((1 if depthwise else CHANNELS, taps, 3, CHANNELS)).astype(np.float32)
        bias = rng.standard_normal(CHANNELS).astype(np.float32)
        scalars = [dilation, dilation, top, bottom, 1, stride, *([1] if depthwise else []), 1]
        scalars = [*map(b.scalar, scalars), b.scalar(False), b.scalar(dilation), b.scalar(dilation)]
        b.operation(name, [at, b.constant(weights), b.constant(bias), *scalars], [target])
        at = target
    return b.build()


@pytest.fixture(scope="module")
def limits():
    """Sets what a tensor must have to be joined over, and the bytes of the buffers."""
    with pytest.MonkeyPatch.context() as patch:
        def put(large, buffers):
            put_sizes(patch, bands_tensor=large, bands_buffers=buffers)
            patch.setattr(row_fusion, "SPREAD", 100.0)

        yield put


def joined(prepared):
    return [row["joined"] for row in prepared.explain().rows]


def chains(model):
    """What `joined` gives where all chains run in bands: they end where one row lies between two operations."""
    places, last = [], len(model.main.operations) - 1
    for place, operation in reversed([*enumerate(model.main.operations)]):
        is_end = place == last or model.main.operands[operation.outputs[0]].shape[1] == 1
        last = place if is_end else last
        places.append(None if is_end else last)
    return places[::-1]


def check(model, put, budgets=(1, 1500, 1 << 20)):
    """Bands of several heights, one to three threads and every level: the bits of the steps one by one."""
    x = np.random.default_rng(1).standard_normal(model.main.operands[0].shape).astype(np.float32)
    for level in kernels.levels():
        kernels.set_level(level)
        try:
            alone = nnfast.Device(1, without_passes=["row_fusion"]).prepare(model)
            assert set(joined(alone)) == {None}
            wanted = alone.run([x])[0]
            put(1, 1)
            for budget in budgets:
                put(1, budget)
                for threads in (1, 2, 3):
                    prepared = nnfast.Device(threads).prepare(model)
                    assert joined(prepared) == chains(model)
                    assert prepared.run([x])[0].tobytes() == wanted.tobytes(), (level, budget, threads)
        finally:
            kernels.set_level(None)


@pytest.mark.parametrize("links", [
    [("CONV_2D", 3, 2, 1, 0, 1), ("DEPTHWISE_CONV_2D", 3, 1, 1, 1, 1), ("CONV_2D", 1, 1, 1, 0, 0),
     ("DEPTHWISE_CONV_2D", 3, 2, 1, 0, 1)],
    [("CONV_2D", 1, 1, 1, 0, 0), ("DEPTHWISE_CONV_2D", 5, 1, 2, 4, 4)],
    [("CONV_2D", 3, 1, 1, 1, 1), ("MAX_POOL_2D", 3, 2, 1, 0, 1), ("AVERAGE_POOL_2D", 2, 1, 1, 1, 0)],
    [("CONV_2D", 1, 1, 1, 0, 0), ("CONV_2D", 1, 3, 1, 0, 0), ("CONV_2D", 1, 3, 1, 0, 0)],
    [("DEPTHWISE_CONV_2D", 5, 1, 1, 4, 4), ("DEPTHWISE_CONV_2D", 2, 1, 4, 4, 4), ("CONV_2D", 5, 1, 1, 4, 4)],
])
def test_bands_equal_the_steps(links, limits):
    check(chain(links, 23), limits)


@settings(max_examples=40)
@given(st.lists(LINK, min_size=2, max_size=5), st.integers(1, 30))
def test_any_chain(limits, links, height):
    model = chain(links, height)
    if model is not None:
        check(model, limits, (1, 2000))


def test_a_tensor_that_others_read_ends_a_chain(limits):
    links = [("CONV_2D", 1, 1, 1, 0, 0)] * 3
    model = chain(links, 8)
    x = np.ones(model.main.operands[0].shape, np.float32)
    limits(1, 1)
    inner = model.main.operations[1].outputs[0]
    prepared = nnfast.Device(1).prepare(model, keep=[inner])
    assert joined(prepared) == [1, None, None]
    assert len(prepared.run([x])) == 2


def test_threads_do_not_make_many_rows_twice(monkeypatch):
    links = [("CONV_2D", 5, 1, 1, 2, 2)] * 2
    put_sizes(monkeypatch, bands_tensor=1)
    monkeypatch.setattr(row_fusion, "SPREAD", 1.1)
    assert joined(nnfast.Device(1).prepare(chain(links, 12))) == [1, None]
    assert joined(nnfast.Device(4).prepare(chain(links, 12))) == [None, None]


def test_profile_counts_a_chain_for_its_last_operation(limits):
    model = chain([("CONV_2D", 1, 1, 1, 0, 0)] * 2, 8)
    limits(1, 1)
    prepared = nnfast.Device(1).prepare(model)
    with nnfast.profile() as times:
        prepared.run([np.ones(model.main.operands[0].shape, np.float32)])
    first, last = times.rows
    assert first["ns"] == 0 and first["joined"] == 1 and first["work"] == 0
    assert last["ns"] > 0 and last["joined"] is None and last["work"] == 2 * 8 * WIDTH * 3 * CHANNELS**2
    assert "joined to 1" in str(times)
