"""RANDOM_MULTINOMIAL."""

import numpy as np
import pytest
from scipy.stats import chisquare, kstest

from helpers.nodes import PATH, operand, out, refuses, run
from helpers.vectors import SHARED, check_vectors, vectors
from nnfast.conformance.compare import compare_multinomial
from nnfast.conformance.vectors import collect, read
from nnfast.errors import GeneralFailure
from nnfast.ops.random_multinomial import RANDOM_MULTINOMIAL, philox, uniform


@pytest.mark.parametrize(("seeds", "words"), [
    ((0, 0), "6627E8D5 E169C58D BC57AC4C 9B00DBD8"),
    ((37, 42), "0067565D 0A0FDB5D C6E3A232 D5F8B2C5"),
    ((-1, 7), "DA207BB2 F2F9310E 36608B17 C35B3354"),
])
def test_generator_gives_the_check_values_of_the_standard(seeds, words):
    assert " ".join(f"{word:08X}" for word in philox(seeds, 1)[0]) == words


def test_uniform_numbers():
    assert uniform((37, 42), 2).tolist() == [0.45858482294507685, 0.22709926207169073]
    many = uniform((37, 42), 20001)
    assert many[:2].tolist() == uniform((37, 42), 2).tolist()
    assert kstest(many, "uniform").pvalue > 0.01


def sample(logits, count, seeds=(37, 42), abbreviation="F32"):
    inputs = [operand(abbreviation, logits), operand("i32", count), operand("I32", seeds)]
    return run(RANDOM_MULTINOMIAL, inputs, out("I32"))


@pytest.mark.parametrize("abbreviation", ["F32", "F16"])
def test_classes_come_with_their_probabilities(abbreviation):
    logits = np.array([[0, 1, 2, -1, -np.inf, 0.5], [90, 89, 91, -900, 90.5, np.nan]])
    samples = sample(logits, 20000, abbreviation=abbreviation)
    for row, drawn in zip(logits, samples, strict=True):
        weights = np.exp(np.where(np.isfinite(row), row, -np.inf) - row[np.isfinite(row)].max())
        counts = np.bincount(drawn, minlength=6)
        possible = weights > 1e-9
        assert counts[~possible].sum() == 0
        assert chisquare(counts[possible], 20000 * weights[possible] / weights.sum()).pvalue > 0.001


def test_equal_seeds_repeat_and_rows_go_on():
    logits = np.zeros((2, 50))
    first = sample(logits, 30)
    np.testing.assert_array_equal(first, sample(logits, 30))
    np.testing.assert_array_equal(first.reshape(1, 60), sample(logits[:1], 60))
    assert (first[0] != first[1]).any() and (first != sample(logits, 30, (37, 43))).any()


def test_without_seeds_every_run_is_new():
    assert (sample(np.zeros((1, 1000)), 100, (0, 0)) != sample(np.zeros((1, 1000)), 100, (0, 0))).any()


def test_rules():
    logits, count, seeds, target = operand("F32", [[0, 1]]), operand("i32", 1), operand("I32", [1, 2]), out("I32")
    for inputs, message in (
        ([logits, operand("i32", 0), seeds], " input 1 (sample_count): is 0, must be at least 1"),
        ([logits, count, operand("I32", [1])], " input 2 (seeds): shape is [1], must be [2]"),
        ([operand("F32", [0, 1]), count, seeds], " input 0 (logits): rank is 1, must be 2"),
    ):
        refuses(RANDOM_MULTINOMIAL, inputs, message, target)
    with pytest.raises(GeneralFailure) as caught:
        sample([[0, 1], [np.nan, -np.inf]], 3)
    assert str(caught.value) == f"{PATH} RANDOM_MULTINOMIAL input 0 (logits): row 1 has no finite value, must have one"


def test_vectors():
    check_vectors("RANDOM_MULTINOMIAL")
    for test in vectors("RANDOM_MULTINOMIAL"):
        (path,) = [p for p in collect([SHARED / "vts"]) if p.name == f"{test['name']}.json.gz"]
        for case in (vector.case() for vector in read(path)):
            logits = case.inputs[0]
            drawn = sample(logits, 128, abbreviation="F16" if logits.dtype == np.float16 else "F32")
            assert compare_multinomial(logits, drawn, case.multinomial_tolerance) == ""
