"""Random legal instances of every signature: what the device computes is what the numpy definition computes.

`--instances N` sets how many of each signature and type set. A failure names the instance; `draw` makes it again from
the same seed and limit.
"""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import nnfast
from nnfast._native import kernels
from nnfast.conformance.instances import draw, load_makers, table
from nnfast.errors import Error

FEW = 20
"""Up to this number of instances a run draws the same ones every time."""

LIMITS = (2, 40)
"""Largest dimension that an instance may draw; hypothesis shrinks towards the smaller."""

MOST_REFUSED = 0.2
TABLE = table()
LEVELS = tuple(kernels.levels())
DEVICES = {threads: nnfast.Device(num_threads=threads) for threads in (1, 2)}


def tolerance(dtype):
    """(absolute, relative) error of a type: half of what the standard allows floats, 0 for all else.

    The most seen in 200 instances of each signature was 2.8e-6, of a plain float32 sum of 2,688 terms.
    """
    if dtype == np.float16:
        return 5 * 2.0**-11, 5 * 2.0**-11
    return (5e-6, 5 * 2.0**-24) if dtype == np.float32 else (0.0, 0.0)


def agree(actual, wanted, text):
    """Shapes, dtypes and values are the same, floats within the tolerance; a NaN equals a NaN."""
    assert actual.shape == wanted.shape and actual.dtype == wanted.dtype, text
    if actual.tobytes() == wanted.tobytes():
        return
    atol, rtol = tolerance(wanted.dtype)
    np.testing.assert_allclose(actual.astype(np.float64), wanted.astype(np.float64), rtol, atol, err_msg=text)


def compare(instance, node, seed):
    """Run the instance on a device at a level of the kernels; returns True when its operation was native."""
    wanted = node.op.compute(node, [t.value if t.present else None for t in node.inputs])
    threads, level = 1 + seed // 2 % 2, LEVELS[seed // 4 % len(LEVELS)]
    kernels.set_level(level)
    try:
        prepared = DEVICES[threads].prepare(instance.model)
        found = prepared.run(instance.arrays)
    finally:
        kernels.set_level(None)
    assert len(found) == len(wanted)
    for place, (actual, array) in enumerate(zip(found, wanted)):
        agree(actual, array, f"{instance.text} threads {threads} {level} output {place}\n{prepared.explain()}")
    return is_native(prepared)


def is_native(prepared):
    rows = prepared.explain().rows
    return bool(rows) and rows[0]["kernel"] != "numpy"


def legal(instance):
    """The node of an instance, or None when the operation refuses it."""
    try:
        return instance.node()
    except Error:
        return None


@pytest.mark.parametrize("op, form, nth", [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_native_matches_numpy(op, form, nth, request, tally):
    amount = request.config.getoption("--instances", default=3)

    @settings(max_examples=amount, database=None, derandomize=amount <= FEW,
              suppress_health_check=list(HealthCheck))
    @given(seed=st.integers(0, 2**32 - 1), limit=st.integers(*LIMITS))
    def check(seed, limit):
        instance = draw(op, form, nth, seed, limit)
        node = legal(instance)
        if node is None:
            tally["refused"] += 1
            return
        if seed % 2:
            instance = instance.declared(node)
        tally["native"] += compare(instance, node, seed)
        tally["instances"] += 1

    tally["signatures"] += 1
    check()


@pytest.mark.parametrize("name", sorted({row[1].name for row in TABLE}))
def test_instances_are_legal(name):
    rows = [row for row in TABLE if row[1].name == name]
    tried = [legal(draw(*row[1:], seed, 9 + seed)) for row in rows for seed in range(max(3, 20 // len(rows)))]
    assert tried.count(None) <= MOST_REFUSED * len(tried)


def test_every_operation_has_a_maker():
    assert {row[1].name for row in TABLE} == set(load_makers())


@pytest.mark.parametrize("name", sorted({row[1].name for row in TABLE if row[1].lower is not None}))
def test_native_steps_are_reached(name):
    rows = [row for row in TABLE if row[1].name == name]
    for seed in range(10):
        for _, op, form, nth in rows:
            instance = draw(op, form, nth, seed, 20)
            if legal(instance) is not None and is_native(DEVICES[1].prepare(instance.model)):
                return
    pytest.fail(f"{name} has a lowering, but none of its instances was native")
