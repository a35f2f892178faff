"""The shared benchmark models: where they are, what they were fed and what LiteRT's reference kernels gave."""

from pathlib import Path

import numpy as np

from nnfast import config

MODELS = Path(config.get("NNFAST_SHARED")) / "models"
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
