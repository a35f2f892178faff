"""A mistake in the code of an operation ends in one line that names the operation, and leaves every object usable."""

import numpy as np
import pytest

import nnfast
from helpers.hal_clients import add_model
from nnfast.errors import ErrorStatus, InternalError
from nnfast.hal import v1_3
from nnfast.model.types import OperationType
from nnfast.ops.registry import lookup

X = np.float32([1.5, -2.5])
FLOOR = lookup(OperationType.FLOOR)


def mistaken(node, *arrays):
    """A rule of an operation that does not hold its own inputs."""
    raise IndexError("a word\nof more lines")


def floors(shape):
    """A model of one operation."""
    b = nnfast.ModelBuilder("floors")
    return b.operation("FLOOR", [b.input("TENSOR_FLOAT32", shape)], [b.output("TENSOR_FLOAT32", shape)]).build()


def assert_internal(call):
    """The call fails in one line that names the operation."""
    with pytest.raises(InternalError, match=r"operation\[0\] FLOOR: internal error, .*: IndexError: a word") as caught:
        call()
    assert "\n" not in str(caught.value) and isinstance(caught.value.__cause__, IndexError)


@pytest.mark.parametrize("part", ["validate", "infer", "lower"])
def test_a_mistake_while_preparing(monkeypatch, part):
    device = nnfast.Device(1)
    with monkeypatch.context() as context:
        context.setattr(FLOOR, part, mistaken)
        assert_internal(lambda: device.prepare(floors((2,))))
    assert device.prepare(floors((2,))).run([X])[0].tolist() == [1, -3]


@pytest.mark.parametrize("part", ["infer", "lower"])
def test_a_mistake_when_the_shapes_are_known(monkeypatch, part):
    prepared = nnfast.Device(1).prepare(floors((0,)))
    with monkeypatch.context() as context:
        context.setattr(FLOOR, part, mistaken)
        assert_internal(lambda: prepared.run([X]))
    assert prepared.run([X])[0].tolist() == [1, -3]


def test_a_mistake_at_a_run(monkeypatch):
    monkeypatch.setattr(FLOOR, "lower", None)
    prepared = nnfast.Device(1).prepare(floors((2,)))
    with monkeypatch.context() as context:
        context.setattr(FLOOR, "compute", mistaken)
        assert_internal(lambda: prepared.run([X]))
        context.setattr(FLOOR, "compute", lambda node, inputs: [np.zeros(3, np.float64)])
        with pytest.raises(InternalError, match=r"FLOOR output 0: internal error, .*: computed float64\(3,\)"):
            prepared.run([X])
    assert prepared.run([X])[0].tolist() == [1, -3]


def test_a_mistake_while_a_file_is_loaded(monkeypatch):
    data = nnfast.to_tflite(floors((2,)))
    with monkeypatch.context() as context:
        context.setattr(FLOOR, "infer", mistaken)
        with pytest.raises(InternalError, match=r"operator\[0\] FLOOR: internal error, .*: IndexError: a word"):
            nnfast.load(data, input_shapes={0: (3,)})
    assert nnfast.Device(1).prepare(nnfast.load(data)).run([X])[0].tolist() == [1, -3]


def test_the_hal_tells_its_log(monkeypatch, caplog):
    face = v1_3.Device(nnfast.Device(1))
    monkeypatch.setattr(lookup(OperationType.ADD), "infer", mistaken)
    status, _ = face.getSupportedOperations_1_3(add_model(hal="1.3"))
    assert status == ErrorStatus.GENERAL_FAILURE and "ADD: internal error" in face.last_error()
    assert "IndexError" in caplog.text and "test_internal_errors.py" in caplog.text
