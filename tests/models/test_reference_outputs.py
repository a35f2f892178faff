"""Whole models against the stored outputs of LiteRT's reference kernels, at every level, with one and two threads.

8-bit models must give the same bytes with LiteRT's arithmetic, which files get. With that of the standard int8 models
may be a step away in front of the last function: LiteRT forms the multipliers of per-channel filters in double, the
standard multiplies the scales in float32. LOGISTIC has slopes above one step per step, so the scores of the detector
are judged on the logits that go into it.
"""

import numpy as np
import pytest

import nnfast
from helpers.shared import FLOAT_TOLERANCE, MODELS, answers, relative_error, steps_apart
from helpers.steps import BF16_LEVELS
from nnfast._native import conv, kernels
from nnfast.model.types import OperationType

BF16_TOLERANCE = 0.03  # of the range of the reference: seven bits less of every product, through all layers
FILES = sorted(MODELS.glob("*.tflite"))
INT8 = [path for path in FILES if path.stem.endswith("_int8")]

pytestmark = pytest.mark.skipif(not FILES, reason="no shared models (NNFAST_SHARED)")


@pytest.fixture(autouse=True)
def own_level():
    yield
    kernels.set_level(None)


def logits_of(model):
    """Operands that go into the model's SOFTMAX or LOGISTIC, which is its last operation."""
    last = model.main.operations[-1]
    return [last.inputs[0]] if last.type in (OperationType.SOFTMAX, OperationType.LOGISTIC) else []


def stored(path):
    return np.load(path.with_suffix(".npz"))


def test_every_kind_of_model_is_there():
    assert {path.stem.rsplit("_", 1)[1] for path in FILES} == {"f32", "int8", "uint8"}
    assert all(path.with_suffix(".npz").exists() for path in FILES)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_reference_output(path):
    data, model = stored(path), nnfast.load(path)
    logits = logits_of(model)
    references = [data[key] for key in ("ref_0", "ref_1", "presoftmax") if key in data]
    if "presoftmax" not in data and logits:
        references.append(None)  # what goes into a LOGISTIC is not stored
    lowest = None
    for level in kernels.levels():
        kernels.set_level(level)
        results = answers(nnfast.Device(num_threads=1).prepare(model, keep=logits), data)
        assert len(results) == len(references)
        for i, (got, reference) in enumerate(zip(results, references)):
            if reference is not None:
                check(got, reference, f"{level} result {i}")
        threaded = answers(nnfast.Device(num_threads=2).prepare(model, keep=logits), data)
        for one, two in zip(results, threaded):
            np.testing.assert_array_equal(one, two, err_msg=f"{level}: 1 and 2 threads")
        lowest = lowest or results
        for low, this in zip(lowest, results):
            if this.dtype != np.float32:
                np.testing.assert_array_equal(low, this, err_msg=f"{kernels.levels()[0]} and {level}")


def check(got, reference, where):
    assert got.shape == reference.shape and got.dtype == reference.dtype, where
    if got.dtype == np.float32:
        assert relative_error(got, reference) <= FLOAT_TOLERANCE, where
    else:
        np.testing.assert_array_equal(got, reference, err_msg=where)


@pytest.mark.parametrize("path", INT8, ids=lambda path: path.stem)
def test_arithmetic_of_the_standard_is_one_step_apart(path):
    data, model = stored(path), nnfast.load(path, arithmetic="nnapi")
    device, exact = nnfast.Device(num_threads=1), nnfast.load(path)
    standard = answers(device.prepare(model, keep=logits_of(model)), data)
    reference = answers(device.prepare(exact, keep=logits_of(exact)), data)
    assert steps_apart(standard[-1], reference[-1]) <= 1


@pytest.mark.skipif(not conv.bf16_available(), reason="this machine multiplies no bfloat16")
@pytest.mark.parametrize("path", [path for path in FILES if path.stem.endswith("_f32")], ids=lambda path: path.stem)
def test_bf16_stays_near(path):
    """At each level that has it, with one thread and with two; exact results for who does not ask."""
    data, model = stored(path), nnfast.load(path)
    exact = answers(nnfast.Device(num_threads=1).prepare(model), data)
    for level in BF16_LEVELS:
        kernels.set_level(level)
        one, two = (answers(nnfast.Device(threads, precision="bf16").prepare(model), data) for threads in (1, 2))
        for i, (first, second) in enumerate(zip(one, two)):
            assert relative_error(first, data[f"ref_{i}"]) <= BF16_TOLERANCE, level
            np.testing.assert_array_equal(first, second, err_msg=f"{level}: 1 and 2 threads")
    assert any(a.tobytes() != b.tobytes() for a, b in zip(exact, one))
