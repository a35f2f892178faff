"""Resource variables of files: first values from the initializing subgraph, state between the calls of a stream."""

import numpy as np
import pytest

import nnfast
from helpers.tflite.file_builder import Op, Tensor, build
from nnfast.errors import UnsupportedOperator
from nnfast.tflite import load

START = np.array([[1.0, 2.0]], np.float32)


def counter(stored=START, assigned="new", fields=None):
    """y = v + x; v = y. The subgraph that runs once stores START in v."""
    tensors = [Tensor("v", (), "resource"), Tensor("x", (1, 2)), Tensor("old", (1, 2)), Tensor("new", (1, 2)),
               Tensor("y", (1, 2))]
    ops = [Op("CALL_ONCE", [], [], "CallOnceOptions", fields or {"InitSubgraphIndex": 1}), Op("VAR_HANDLE", [], ["v"]),
           Op("READ_VARIABLE", ["v"], ["old"]), Op("ADD", ["old", "x"], ["new"], "AddOptions"),
           Op("ASSIGN_VARIABLE", ["v", assigned], []), Op("READ_VARIABLE", ["v"], ["y"])]
    first = Tensor.of("first", stored) if isinstance(stored, np.ndarray) else Tensor("first", (1, 2))
    once = ([Tensor("v", (), "resource"), first],
            [Op("VAR_HANDLE", [], ["v"]), Op("ASSIGN_VARIABLE", ["v", "first"], [])],
            [] if isinstance(stored, np.ndarray) else ["first"], [])
    return build(tensors, ops, ["x"], ["y"], others=[once])


def test_a_stream_carries_the_value_and_a_run_starts_anew():
    prepared = nnfast.Device().prepare(load(counter()))
    x = np.ones((1, 2), np.float32)
    stream = prepared.stream()
    assert [stream.run([x])[0].tolist() for _ in range(3)] == [[[2, 3]], [[3, 4]], [[4, 5]]]
    stream.reset()
    assert stream.run([x])[0].tolist() == prepared.run([x])[0].tolist() == [[2, 3]]


def test_a_variable_that_is_never_assigned_keeps_its_first_value():
    tensors = [Tensor("v", (), "resource"), Tensor("x", (1, 2)), Tensor("old", (1, 2)), Tensor("y", (1, 2))]
    ops = [Op("VAR_HANDLE", [], ["v"]), Op("READ_VARIABLE", ["v"], ["old"]),
           Op("ADD", ["old", "x"], ["y"], "AddOptions")]
    stream = nnfast.Device().prepare(load(build(tensors, ops, ["x"], ["y"]))).stream()
    assert [stream.run([START])[0].tolist() for _ in range(2)] == [START.tolist()] * 2


@pytest.mark.parametrize("kind, inputs, wanted", [
    ("FILL", [np.int32([1, 2]), np.float32(3)], [[3, 3]]), ("CAST", [np.int32([[4, -5]])], [[4, -5]]),
    ("CAST", [np.int64([[6, -7]])], [[6, -7]]), ("NEG", [START], [[-1, -2]]),
])
def test_the_first_value_may_be_computed_of_constants(kind, inputs, wanted):
    tensors = [Tensor("v", (), "resource"), Tensor("x", (1, 2)), Tensor("old", (1, 2)), Tensor("y", (1, 2))]
    ops = [Op("CALL_ONCE", [], [], "CallOnceOptions", {"InitSubgraphIndex": 1}), Op("VAR_HANDLE", [], ["v"]),
           Op("READ_VARIABLE", ["v"], ["old"]), Op("ADD", ["old", "x"], ["y"], "AddOptions")]
    names = [f"i{k}" for k in range(len(inputs))]
    once = ([Tensor("v", (), "resource"), *map(Tensor.of, names, inputs), Tensor("first", (1, 2))],
            [Op(kind, names, ["first"]), Op("VAR_HANDLE", [], ["v"]), Op("ASSIGN_VARIABLE", ["v", "first"], [])],
            [], [])
    prepared = nnfast.Device().prepare(load(build(tensors, ops, ["x"], ["y"], others=[once])))
    assert prepared.run([START])[0].tolist() == (wanted + START).tolist()


@pytest.mark.parametrize("dtype", ["int64", "int8", "uint8", "bool", "float32", "int32"])
def test_a_single_constant_may_be_stored(dtype):
    value = np.array(7).astype(dtype)
    tensors = [Tensor("v", (), "resource"), Tensor.of("c", value), Tensor("x", (1, 2)), Tensor("new", (), dtype),
               Tensor("y", (1, 2))]
    ops = [Op("VAR_HANDLE", [], ["v"]), Op("ASSIGN_VARIABLE", ["v", "c"], []), Op("READ_VARIABLE", ["v"], ["new"]),
           Op("NEG", ["x"], ["y"])]
    found = nnfast.Device().prepare(load(build(tensors, ops, ["x"], ["new", "y"]))).run([START])[0]
    assert found.dtype == dtype and found.tolist() == [value.item()]


@pytest.mark.parametrize("first", [None, np.array([1 << 40, -3])])
def test_a_variable_of_int64_counts_on(first):
    tensors = [Tensor("v", (), "resource"), Tensor("x", (2,), "int64"), Tensor("old", (2,), "int64"),
               Tensor("new", (2,), "int64")]
    ops = [Op("VAR_HANDLE", [], ["v"]), Op("READ_VARIABLE", ["v"], ["old"]),
           Op("ADD", ["old", "x"], ["new"], "AddOptions"), Op("ASSIGN_VARIABLE", ["v", "new"], [])]
    others = []
    if first is not None:
        ops.insert(0, Op("CALL_ONCE", [], [], "CallOnceOptions", {"InitSubgraphIndex": 1}))
        others = [([Tensor("v", (), "resource"), Tensor.of("first", first)],
                   [Op("VAR_HANDLE", [], ["v"]), Op("ASSIGN_VARIABLE", ["v", "first"], [])], [], [])]
    stream = nnfast.Device().prepare(load(build(tensors, ops, ["x"], ["new"], others=others))).stream()
    x, start = np.array([1 << 33, -1]), np.zeros(2, np.int64) if first is None else first
    assert [stream.run([x])[0].tolist() for _ in range(3)] == [(start + k * x).tolist() for k in (1, 2, 3)]


@pytest.mark.parametrize("data, reason", [
    (counter(stored=None), "has inputs, must have none"),
    (counter(stored=np.ones((1, 2), np.int64)), "values of int64"),
    (counter(fields={"InitSubgraphIndex": 0}), "runs subgraph 0"),
    (counter(fields={"InitSubgraphIndex": 7}), "runs subgraph 7"),
])
def test_refused(data, reason):
    with pytest.raises(UnsupportedOperator, match=reason):
        load(data)


def test_a_variable_without_a_handle_is_refused():
    with pytest.raises(UnsupportedOperator, match="VAR_HANDLE"):
        load(build([Tensor("x", (1, 2)), Tensor("y", (1, 2))], [Op("READ_VARIABLE", ["x"], ["y"])], ["x"], ["y"]))
