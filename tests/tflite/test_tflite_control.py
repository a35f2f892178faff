"""IF and WHILE with their subgraphs: what they compute, and which files are refused."""

import numpy as np
import pytest

import nnfast
from helpers.tflite.file_builder import Op, Tensor, build
from nnfast.compiler.check import check_model
from nnfast.errors import UnsupportedOperator
from nnfast.tflite import load
from nnfast.tflite.translate import MAX_DEPTH


def one(kind, shape=(2,), dtype="float32"):
    """Subgraph of one operator x -> y."""
    return [Tensor("x", shape, dtype), Tensor("y", shape, dtype)], [Op(kind, ["x"], ["y"])], ["x"], ["y"]


def branches(then=None, other=None, fields=None):
    """c ? then(x) : other(x)."""
    tensors = [Tensor("c", (), "bool"), Tensor("x", (2,)), Tensor("y", (2,))]
    fields = {"ThenSubgraphIndex": 1, "ElseSubgraphIndex": 2} if fields is None else fields
    op = Op("IF", ["c", "x"], ["y"], "IfOptions", fields)
    return build(tensors, [op], ["c", "x"], ["y"], others=[then or one("NEG"), other or one("ABS")])


def loop(step=None, fields=None):
    """k, x = k + 1, x + x while k < limit."""
    test = ([Tensor("k", (), "int32"), Tensor("x", (2,)), Tensor.of("limit", np.array(5, np.int32)),
             Tensor("t", (), "bool")], [Op("LESS", ["k", "limit"], ["t"])], ["k", "x"], ["t"])
    body = ([Tensor("k", (), "int32"), Tensor("x", (2,)), Tensor.of("one", np.array(1, np.int32)),
             Tensor("n", (), "int32"), Tensor("y", (2,))],
            [Op("ADD", ["k", "one"], ["n"], "AddOptions"), Op("ADD", ["x", "x"], ["y"], "AddOptions")],
            ["k", "x"], ["n", "y"])
    tensors = [Tensor("k", (), "int32"), Tensor("x", (2,)), Tensor("n", (), "int32"), Tensor("y", (2,))]
    fields = {"CondSubgraphIndex": 1, "BodySubgraphIndex": 2} if fields is None else fields
    op = Op("WHILE", ["k", "x"], ["n", "y"], "WhileOptions", fields)
    return build(tensors, [op], ["k", "x"], ["n", "y"], others=[test, step or body])


def run(data, inputs):
    model = load(data)
    check_model(model)
    return nnfast.Device().prepare(model).run(inputs)


@pytest.mark.parametrize("flag, wanted", [(1, [3, -4]), (0, [3, 4])])
def test_if(flag, wanted):
    result, = run(branches(), [np.array([flag], np.uint8), np.array([-3, 4], np.float32)])
    assert result.tolist() == wanted


def test_branches_of_one_subgraph_are_translated_once():
    model = load(branches(fields={"ThenSubgraphIndex": 2, "ElseSubgraphIndex": 2}))
    assert len(model.referenced) == 1
    assert [model.main.operands[k].subgraph for k in model.main.operations[0].inputs[1:3]] == [0, 0]


def test_a_branch_that_passes_its_input_on():
    same = [Tensor("x", (2,))], [], ["x"], ["x"]
    result, = run(branches(other=same), [np.zeros(1, np.uint8), np.array([-3, 4], np.float32)])
    assert result.tolist() == [-3, 4]


@pytest.mark.parametrize("start, count", [(0, 5), (3, 2), (9, 0)])
def test_while(start, count):
    k, x = run(loop(), [np.array([start], np.int32), np.array([1.5, -2], np.float32)])
    assert k == max(start, 5) and x.tolist() == [1.5 * 2**count, -2 * 2**count]


def nested(depth):
    """IF in IF: every subgraph runs the one behind it, the last one is plain."""
    graphs = []
    for k in range(1, depth):
        op = Op("IF", ["c", "c"], ["y"], "IfOptions", {"ThenSubgraphIndex": k + 1, "ElseSubgraphIndex": k + 1})
        graphs.append(([Tensor("c", (1,), "bool"), Tensor("y", (1,), "bool")], [op], ["c"], ["y"]))
    return build(*graphs[0], others=[*graphs, one("LOGICAL_NOT", (1,), "bool")])


def test_depth():
    assert len(load(nested(MAX_DEPTH)).referenced) == MAX_DEPTH - 1
    with pytest.raises(UnsupportedOperator, match="too deep"):
        load(nested(40))
    # The same from the innermost outwards: each is translated before it is seen to be deep.
    graphs, ops = [one("LOGICAL_NOT", (1,), "bool")], []
    for k in range(1, 40):
        fields = {"ThenSubgraphIndex": k, "ElseSubgraphIndex": k}
        ops.append(Op("IF", ["c", "c"], [f"y{k}"], "IfOptions", fields))
        graphs.append(([Tensor("c", (1,), "bool"), Tensor("y", (1,), "bool")],
                       [Op("IF", ["c", "c"], ["y"], "IfOptions", fields)], ["c"], ["y"]))
    tensors = [Tensor("c", (1,), "bool"), *(Tensor(f"y{k}", (1,), "bool") for k in range(1, 40))]
    with pytest.raises(UnsupportedOperator, match="too deep") as caught:
        load(build(tensors, ops, ["c"], ["y1"], others=graphs))
    assert f"in subgraph {MAX_DEPTH}:" in caught.value.reason


@pytest.mark.parametrize("data, reason", [
    (branches(fields={"ThenSubgraphIndex": 0, "ElseSubgraphIndex": 2}), "runs subgraph 0, must be one of the 2"),
    (branches(fields={"ThenSubgraphIndex": 1, "ElseSubgraphIndex": 3}), "runs subgraph 3, must be one of the 2"),
    (branches(fields={"ThenSubgraphIndex": -1, "ElseSubgraphIndex": 2}), "runs subgraph -1"),
    (branches(then=one("DELEGATE")), "in subgraph 1: has no translation"),
    (branches(then=one("NEG", (2,), "float16")), "input 0 of the then branch is TENSOR_FLOAT16"),
    (branches(other=one("ABS", (2,), "int32")), "input 0 of the else branch is TENSOR_INT32"),
    (branches(other=([*one("ABS")[0], Tensor("z", (2,))], one("ABS")[1], ["x", "z"], ["y"])),
     "has 2 inputs and 1 output, must have 1 and 1"),
    (loop(fields={"CondSubgraphIndex": 2, "BodySubgraphIndex": 2}), "has 2 inputs and 2 outputs, must have 2 and 1"),
    (loop(fields={"CondSubgraphIndex": 1, "BodySubgraphIndex": 1}), "has 2 inputs and 1 output, must have 2 and 2"),
])
def test_refused(data, reason):
    with pytest.raises(UnsupportedOperator) as caught:
        load(data)
    assert reason in caught.value.reason


def test_subgraphs_that_run_each_other_are_refused():
    def calls(index):
        op = Op("IF", ["c", "c"], ["y"], "IfOptions", {"ThenSubgraphIndex": index, "ElseSubgraphIndex": index})
        return [Tensor("c", (1,), "bool"), Tensor("y", (1,), "bool")], [op], ["c"], ["y"]

    with pytest.raises(UnsupportedOperator, match="not its own"):
        load(build(*calls(1), others=[calls(2), calls(1)]))


def test_variables_in_a_branch_are_refused():
    weights = [Tensor.of(name, np.ones(shape, np.float32)) for name, shape in (("w", (2, 2)), ("r", (2, 2)), ("b", 2))]
    tensors = [Tensor("x", (1, 2)), *weights, Tensor("h", (1, 2), variable=True), Tensor("y", (1, 2))]
    rnn = tensors, [Op("RNN", ["x", "w", "r", "b", "h"], ["y"], "RNNOptions")], ["x"], ["y"]
    with pytest.raises(UnsupportedOperator, match="of a subgraph that IF or WHILE run"):
        load(branches(then=rnn))
