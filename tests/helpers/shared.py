"""What lies under NNFAST_SHARED: vectors, and benchmark models with what LiteRT's reference kernels gave for them."""

from pathlib import Path

import numpy as np
import pytest

from nnfast import config


def shared():
    """The folder, relative to the repository."""
    return (Path(__file__).resolve().parents[2] / config.get("NNFAST_SHARED")).resolve()


SHARED = shared()

VECTORS, MODELS = SHARED / "vts", SHARED / "models"

needs_vectors = pytest.mark.skipif(not VECTORS.is_dir(), reason=f"no vectors in {VECTORS} (NNFAST_SHARED)")
needs_models = pytest.mark.skipif(not MODELS.is_dir(), reason=f"no models in {MODELS} (NNFAST_SHARED)")

FLOAT_TOLERANCE = 2e-5  # of the range of the reference


def answers(prepared, data):
    """Outputs of a prepared model on the stored input, stacked over the calls of a recurrent one (from zero state)."""
    if int(data["calls"]) == 1:
        return prepared.run([data["input"]])
    stream = prepared.stream()
    return [np.stack(calls) for calls in zip(*(stream.run([x]) for x in data["input"]))]


def relative_error(got, reference):
    """Largest absolute difference over the range of the reference."""
    return float(np.abs(got.astype(np.float64) - reference).max() / np.ptp(reference))


def steps_apart(got, reference):
    """Largest difference of two integer arrays, in steps."""
    return int(np.abs(got.astype(np.int64) - reference).max())
