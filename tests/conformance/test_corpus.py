"""The driver itself on a part of the standard's vectors; `nnfast vts` runs them all."""


import pytest

from helpers.shared import VECTORS, needs_vectors
from nnfast.conformance import run

COUPLED_1_0 = 39
OPERATIONS = (
    "CONV_2D,DEPTHWISE_CONV_2D,FULLY_CONNECTED,AVERAGE_POOL_2D,MAX_POOL_2D,ADD,MUL,SUB,RELU,RELU1,RELU6,LOGISTIC,TANH,"
    "SOFTMAX,RESHAPE,CONCATENATION,PAD,MEAN,RESIZE_BILINEAR,HARD_SWISH,PRELU,QUANTIZE,DEQUANTIZE,LSTM,RNN,TRANSPOSE")

pytestmark = needs_vectors


def failures(results):
    return [f"{test.name} [{test.kind}]: {test.reason}" for test in results.tests if test.outcome != "passed"]


@pytest.mark.parametrize("threads", [1, 2])
def test_driver_passes_the_vectors_of_1_0(threads):
    results = run(VECTORS / "V1_0", ops=OPERATIONS, threads=threads, kinds=["general", "dynamic"])
    assert len(results.tests) == 2 * 217 and failures(results) == []


@pytest.mark.parametrize("hal", ["1.0", "1.1", "1.2", "1.3"])
def test_driver_passes_a_sample_of_all_kinds_through_the_faces(hal):
    results = run(VECTORS, hal=hal, sample=25)
    wrong = [test for test in results.tests if test.outcome not in ("passed", "not_applicable")]
    assert [f"{test.name} [{test.kind}]: {test.reason}" for test in wrong] == [] and results.passed >= 30


def test_driver_fails_where_it_must():
    results = run(VECTORS, kinds="failure", ops=OPERATIONS)
    assert len(results.tests) == 44 and failures(results) == []


def test_driver_treats_signed_codes_as_unsigned_ones():
    results = run(VECTORS / "V1_0", kinds="coupling")
    assert len(results.tests) == COUPLED_1_0 and failures(results) == []


def test_driver_ends_endless_loops():
    results = run(VECTORS / "V1_3", kinds="loop_timeout")
    assert len(results.tests) == 5 and failures(results) == []
