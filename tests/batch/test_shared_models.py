"""Every model at hand: `map` and `nnfast batch` give what `run` gives, item by item."""

import numpy as np
import pytest

import nnfast
from helpers.batch_data import batch
from helpers.shared import MODELS

COUNT = 5
"""Items: two batches of two, and one left over."""

FILES = sorted(MODELS.glob("*.tflite")) + sorted((MODELS / "mlts").glob("*.tflite"))


def items_of(prepared):
    """An array with the items of each input along its first dimension."""
    rng = np.random.default_rng(11)
    arrays = {}
    for info in prepared.inputs:
        shape = (COUNT, *info.shape)
        if info.dtype.kind == "f":
            arrays[info.name] = rng.uniform(-1, 1, shape).astype(info.dtype)
        else:
            limits = np.iinfo(info.dtype)
            arrays[info.name] = rng.integers(limits.min, limits.max, shape, info.dtype, endpoint=True)
    return arrays


def same(ours, alone, is_batch):
    """Equal bytes; sums of floats may be added up in another order in a batch."""
    assert (ours.shape, ours.dtype) == (alone.shape, alone.dtype)
    if is_batch and ours.dtype.kind == "f":
        np.testing.assert_allclose(ours, alone, rtol=0, atol=2e-5 * max(np.ptp(alone), 1e-3))
    else:
        assert ours.tobytes() == alone.tobytes()


@pytest.mark.skipif(not FILES, reason=f"no models in {MODELS} (NNFAST_SHARED)")
@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_items_are_those_of_run(tmp_path, path):
    prepared = nnfast.Device(2).prepare(model := nnfast.load(path))
    arrays = items_of(prepared)
    rows = [[array[k] for array in arrays.values()] for k in range(COUNT)]
    expected = [prepared.run(row) for row in rows]
    assert any(a.tobytes() != b.tobytes() for a, b in zip(expected[0], expected[1])) and model is not None
    for size, clients in ((1, 2), (2, 2), (2, 1)):
        with prepared.map(rows, batch=size, clients=clients) as results:
            found, is_batch = list(results), results.batch > 1
        assert len(found) == COUNT
        for result, alone in zip(found, expected):
            for ours, other in zip(result, alone):
                same(ours, other, is_batch)
    np.savez(tmp_path / "items.npz", **arrays)
    for size in (1, 2):
        out = tmp_path / f"out{size}.npz"
        code, document = batch(path, tmp_path / "items.npz", output=out, chunk=2, batch=size, threads=2)
        assert (code, document["written"]) == (0, COUNT)
        with np.load(out) as written:
            columns = [written[name] for name, *_ in document["job"]["outputs"]]
        for k, alone in enumerate(expected):
            for column, other in zip(columns, alone):
                same(column[k].reshape(other.shape), other, size > 1)
