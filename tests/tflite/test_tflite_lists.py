"""Loops that keep a list of results: list[i] = item, as converters write it with SLICE and CONCATENATION."""

import numpy as np
import pytest

import nnfast
from helpers.tflite.file_builder import Op, Tensor, build
from nnfast.compiler.resolve import resolve
from nnfast.errors import GeneralFailure
from nnfast.tflite import load


def body(step=1, middle="item", tail=0, shape=(-1, -1)):
    """k, list = k + 1, list with x[k] + 1 at k."""
    tensors = [
        Tensor("k", (), "int32"), Tensor("list", (1, 2), signature=shape), Tensor("x", (1, 2), signature=(-1, 2)),
        Tensor.of("one", np.array(step, np.int32)), Tensor.of("zero", np.array(0, np.int32)),
        Tensor.of("unit", np.array([1], np.int32)), Tensor.of("half", np.array(1, np.float32)),
        Tensor.of("rest", np.array([-1], np.int32)), Tensor.of("tail", np.array([tail], np.int32)),
        Tensor.of("origin", np.array([0, 0], np.int32)), Tensor.of("all", np.array([-1, -1], np.int32)),
        Tensor("n", (), "int32"), Tensor("row", (2,)), Tensor("more", (2,)), Tensor("item", (1, 2)),
        Tensor("k1", (1,), "int32"), Tensor("n1", (1,), "int32"), Tensor("size", (2,), "int32"),
        Tensor("begin", (2,), "int32"), Tensor("left", (1, 2), signature=(-1, 2)),
        Tensor("right", (1, 2), signature=(-1, 2)), Tensor("after", (1, 2), signature=(-1, 2)),
    ]
    ops = [
        Op("ADD", ["k", "one"], ["n"], "AddOptions"), Op("GATHER", ["x", "k"], ["row"], "GatherOptions"),
        Op("ADD", ["row", "half"], ["more"], "AddOptions"), Op("EXPAND_DIMS", ["more", "zero"], ["item"]),
        Op("RESHAPE", ["k", "unit"], ["k1"]), Op("CONCATENATION", ["k1", "rest"], ["size"], "ConcatenationOptions"),
        Op("SLICE", ["list", "origin", "size"], ["left"]),
        Op("RESHAPE", ["n", "unit"], ["n1"]), Op("CONCATENATION", ["n1", "tail"], ["begin"], "ConcatenationOptions"),
        Op("SLICE", ["list", "begin", "all"], ["right"]),
        Op("CONCATENATION", ["left", middle, "right"], ["after"], "ConcatenationOptions"),
    ]
    return tensors, ops, ["k", "list", "x"], ["n", "after", "x"]


def loop(**more):
    """For k from the first number on, while k is below 4: list[k] = x[k] + 1."""
    names = ["k", "list", "x"]
    limit = [Tensor("k", (), "int32"), Tensor("list", (1, 2), signature=(-1, 2)),
             Tensor("x", (1, 2), signature=(-1, 2)), Tensor.of("limit", np.array(4, np.int32)), Tensor("t", (), "bool")]
    tensors = [*limit[:3], Tensor("n", (), "int32"), Tensor("y", (1, 2), signature=(-1, 2)),
               Tensor("z", (1, 2), signature=(-1, 2))]
    op = Op("WHILE", names, ["n", "y", "z"], "WhileOptions", {"CondSubgraphIndex": 1, "BodySubgraphIndex": 2})
    return load(build(tensors, [op], names, ["n", "y"], others=[
        (limit, [Op("LESS", ["k", "limit"], ["t"])], names, ["t"]), body(**more)]))


def in_body(model):
    """Names of the operations of the loop's body."""
    return [operation.type.name for operation in resolve(model, {}).referenced[1].operations]


def run(model, first, rows):
    x, before = (np.arange(rows * 2, dtype=np.float32).reshape(rows, 2) + base for base in (0, 100))
    n, y = nnfast.Device().prepare(model).run([np.array([first], np.int32), before, x])
    return x, before, n, y


@pytest.mark.parametrize("first", [0, 1, 3])
def test_a_list_is_filled_in_a_loop(first):
    model = loop()
    x, before, n, y = run(model, first, 4)
    assert n == 4 and y.tolist() == [*before[:first].tolist(), *(x[first:] + 1).tolist()]
    assert "TFL_SET_ITEM" in in_body(model) and not {"SLICE", "CONCATENATION"} & set(in_body(model))


@pytest.mark.parametrize("more", [{"step": 2}, {"middle": "left"}, {"tail": 1}])
def test_what_only_looks_like_it_stays(more):
    """Other steps, two slices side by side, a slice that begins elsewhere."""
    assert "TFL_SET_ITEM" not in in_body(loop(**more))


def test_an_index_behind_the_list_is_an_error():
    with pytest.raises(GeneralFailure, match=r"index\): is 3, must be in \[0, 3\)|outside|must be in"):
        run(loop(), 0, 3)


def test_the_length_of_the_list_may_be_any():
    prepared = nnfast.Device().prepare(loop())
    for rows in (4, 9, 4):
        x = np.ones((rows, 2), np.float32)
        _, y = prepared.run([np.array([2], np.int32), np.zeros_like(x), x])
        assert y.tolist() == [[0, 0]] * 2 + [[2, 2]] * 2 + [[0, 0]] * (rows - 4)
