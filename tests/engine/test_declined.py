"""A step that declines what it finds: its numpy definition takes its place, or says what is wrong."""

import numpy as np
import pytest

from nnfast import Device, ModelBuilder, profile
from nnfast.errors import GeneralFailure
from nnfast.ops import gather

X = np.arange(12, dtype=np.float32).reshape(4, 3)
MESSAGE = r"^main\.operation\[1\] GATHER input 2 \(indices\): holds 9, must be in \[0, 4\)$"


def gathers(count=1):
    """RELU, `count` gathers of rows by an input, RELU; all native."""
    b = ModelBuilder()
    x, indices = b.input("TENSOR_FLOAT32", (4, 3)), b.input("TENSOR_INT32", (4,))
    now = b.operand("TENSOR_FLOAT32", (4, 3))
    b.operation("RELU", [x], [now])
    for _ in range(count):
        then = b.operand("TENSOR_FLOAT32", (4, 3))
        b.operation("GATHER", [now, b.scalar(0), indices], [then])
        now = then
    return b.operation("RELU", [now], [b.output("TENSOR_FLOAT32", (4, 3))]).build()


@pytest.mark.parametrize("threads", [1, 2])
def test_the_error_is_that_of_the_definition(threads):
    prepared = Device(num_threads=threads).prepare(gathers())
    assert prepared.explain().native
    with pytest.raises(GeneralFailure, match=MESSAGE):
        prepared.run([X, np.int32([0, 1, 9, -1])])
    with profile(), pytest.raises(GeneralFailure, match=MESSAGE):
        prepared.run([X, np.int32([0, 1, 9, -1])])
    (found,) = prepared.run([X, np.int32([3, 1, 2, 0])])
    np.testing.assert_array_equal(found, X[[3, 1, 2, 0]])


@pytest.mark.parametrize("count", [1, 3])
def test_the_rest_of_the_program_goes_on(count, monkeypatch):
    # The definition takes indices that the step does not: they count from the end.
    monkeypatch.setattr(gather, "_check_range", lambda *_: None)
    prepared = Device(num_threads=2).prepare(gathers(count))
    indices = np.int32([-1, 1, 2, 0])
    wanted = X
    for _ in range(count):
        wanted = wanted[indices]
    for _ in range(3):
        (found,) = prepared.run([X, indices])
        np.testing.assert_array_equal(found, wanted)
    with profile() as seen:
        (found,) = prepared.run([X, indices])
    np.testing.assert_array_equal(found, wanted)
    assert len(seen.rows) == count + 2
