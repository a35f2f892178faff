"""Recurrent operations prepared for 1, 2 and 3 threads: native, near their definitions, and equal to the bit."""

import numpy as np
import pytest

import nnfast
from helpers.steps import at_level, every_level
from helpers.tuning import put_sizes
from nnfast.conformance.instances import draw, table

NATIVE = (
    "BIDIRECTIONAL_SEQUENCE_LSTM", "BIDIRECTIONAL_SEQUENCE_RNN", "LSTM", "QUANTIZED_16BIT_LSTM",
    "QUANTIZED_LSTM", "RNN", "SVDF", "UNIDIRECTIONAL_SEQUENCE_LSTM",
    "UNIDIRECTIONAL_SEQUENCE_RNN",
)
ROWS = [row for row in table() if row[1].name in NATIVE]
DEVICES = [nnfast.Device(num_threads=threads) for threads in (1, 2, 3)]
SEEDS = 3


def drawn(op, form, nth, seed):
    """A legal instance and its node; every other one has larger dimensions."""
    instance = draw(op, form, nth, seed, 40 if seed % 2 else 12)
    node = instance.node()
    return instance.declared(node), node


@every_level
@pytest.mark.parametrize("near", [0, 1 << 20], ids=["each_time", "all_times"])
@pytest.mark.parametrize("op, form, nth", [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_threads_agree(op, form, nth, near, level, monkeypatch):
    put_sizes(monkeypatch, recurrent_near=near)
    for seed in range(SEEDS):
        instance, node = drawn(op, form, nth, seed)
        wanted = node.op.compute(node, [t.value if t.present else None for t in node.inputs])
        first = None
        for device in DEVICES:
            with at_level(level):
                prepared = device.prepare(instance.model)
                found = prepared.run(instance.arrays)
            assert all(row["kernel"] != "numpy" for row in prepared.explain().rows), instance.text
            for have, want in zip(found, wanted, strict=True):
                # Linear cells grow from step to step, and the float32 error with them.
                size = np.abs(want.astype(np.float64)).max()
                share = 2.0**-9 if want.dtype == np.float16 else 2e-5
                atol = share * max(1, size) if want.dtype.kind == "f" else 0
                np.testing.assert_allclose(have.astype(np.float64), want, rtol=0, atol=atol, err_msg=instance.text)
            first = first or found
            assert [a.tobytes() for a in first] == [a.tobytes() for a in found], instance.text
