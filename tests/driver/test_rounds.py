"""WHILE loops whose rounds run without Python between them: the same results as those that are watched."""

import numpy as np
import pytest

import nnfast
from helpers.tflite.file_builder import Op, Tensor, build
from nnfast.errors import MissedDeadlineTransient
from nnfast.tflite import load


def fibonacci(limit=10, grows=False):
    """k, a, b = k + 1, b, a + b while k < limit; c goes with them. grows: a and b get longer by b each round."""
    names, shape = ["k", "a", "b", "c"], {"signature": (-1,)} if grows else {}
    state = [Tensor("k", (), "int32"), *(Tensor(name, (2,), **shape) for name in names[1:])]
    test = [*state, Tensor.of("limit", np.array(limit, np.int32)), Tensor("t", (), "bool")]
    more = [Tensor.of("one", np.array(1, np.int32)), Tensor("n", (), "int32"), Tensor("sum", (2,), **shape)]
    ops = [Op("ADD", ["k", "one"], ["n"], "AddOptions"), Op("ADD", ["a", "b"], ["sum"], "AddOptions")]
    if grows:
        more.append(Tensor("long", (2,), **shape))
        ops.append(Op("CONCATENATION", ["b", "c"], ["long"], "ConcatenationOptions"))
    body = [*state, *more], ops, names, ["n", "b" if not grows else "long", "sum" if not grows else "long", "c"]
    outputs = [Tensor(name.upper(), t.shape, t.dtype, signature=t.signature) for name, t in zip(names, state)]
    op = Op("WHILE", names, ["K", "A", "B", "C"], "WhileOptions", {"CondSubgraphIndex": 1, "BodySubgraphIndex": 2})
    return load(build([*state, *outputs], [op], names, ["K", "A", "B", "C"], others=[
        (test, [Op("LESS", ["k", "limit"], ["t"])], names, ["t"]), body]))


def start(k=0):
    return [np.array([k], np.int32), np.float32([0, 1]), np.float32([1, 5]), np.float32([7, 8])]


@pytest.mark.parametrize("k", [0, 1, 9, 10])
def test_state_goes_back_and_forth(k):
    inputs, a, b = start(k), [0, 1], [1, 5]
    for _ in range(10 - k):
        a, b = b, [x + y for x, y in zip(a, b)]
    prepared = nnfast.Device().prepare(fibonacci())
    for _ in range(2):
        outputs = prepared.run(inputs)
        assert [y.tolist() for y in outputs] == [[10], a, b, [7, 8]]
        assert not any(np.shares_memory(x, y) for x in inputs for y in outputs)
    with nnfast.profile():
        assert [y.tolist() for y in prepared.run(inputs)] == [[10], a, b, [7, 8]]


def test_a_state_that_grows():
    *_, a, b, _ = nnfast.Device().prepare(fibonacci(3, grows=True)).run(start())
    assert a.tolist() == [1, 5, *[7, 8] * 3] == b.tolist()


def test_rounds_end_with_the_loop_timeout():
    prepared = nnfast.Device().prepare(fibonacci(2**31 - 1))
    with pytest.raises(MissedDeadlineTransient, match="the loop ran longer than 2000 ms"):
        prepared.run(start())


def test_rounds_end_with_the_deadline():
    prepared = nnfast.Device().prepare(fibonacci(2**31 - 1))
    with pytest.raises(MissedDeadlineTransient, match="deadline"):
        prepared.submit(start(), timeout=0.05).result()
