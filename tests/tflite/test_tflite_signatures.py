"""Signatures of files: names of inputs and outputs, and subgraphs that only a signature reaches."""

import numpy as np
import pytest

import nnfast
from helpers.tflite.file_builder import Op, Tensor, build
from nnfast import InvalidArgument


def two():
    """Subgraph 0: add, 1: multiply; "sum" and "total" name the first, "product" the second."""
    def graph(op):
        return ([Tensor("a", (3,)), Tensor("b", (3,)), Tensor("c", (3,))],
                [Op(op, ["a", "b"], ["c"], f"{op.capitalize()}Options")], ["a", "b"], ["c"])

    names = {"a": "x", "b": "y"}, {"c": "z"}
    return build(*graph("ADD"), others=[graph("MUL")], signatures=[
        ("sum", 0, *names), ("total", 0, {"b": "left", "a": "right"}, {"c": "all"}), ("product", 1, *names)])


@pytest.fixture
def device():
    return nnfast.Device(num_threads=1)


X, Y = np.array([1, 2, 3], np.float32), np.array([4, 5, 6], np.float32)


def test_signatures_of_one_subgraph(device):
    prepared = device.prepare(nnfast.load(two()))
    assert [info.name for info in prepared.inputs] == ["x", "y"]
    total = prepared.signature("total")
    assert list(total.inputs) == ["left", "right"] and list(total.outputs) == ["all"]
    assert total.inputs["left"].shape == (3,)
    assert total(right=X, left=Y)["all"].tolist() == [5, 7, 9]
    assert repr(total) == "<SignatureRunner total: left, right -> all>"


def test_any_subgraph_can_be_reached(device):
    model = nnfast.load(two(), signature="product")
    assert [(s.key, s.is_loaded) for s in model.signatures] == [("sum", False), ("total", False), ("product", True)]
    prepared = device.prepare(model)
    assert prepared.signature("product")(x=X, y=Y)["z"].tolist() == [4, 10, 18]
    assert prepared.run({"x": X, "y": Y})["z"].tolist() == [4, 10, 18]


def test_signatures_on_a_stream_share_its_state(device):
    tensors = [Tensor("v", (), "resource"), Tensor("x", (2,)), Tensor("old", (2,)), Tensor("y", (2,))]
    ops = [Op("VAR_HANDLE", [], ["v"]), Op("READ_VARIABLE", ["v"], ["old"]),
           Op("ADD", ["old", "x"], ["y"], "AddOptions"), Op("ASSIGN_VARIABLE", ["v", "y"], [])]
    prepared = device.prepare(nnfast.load(build(tensors, ops, ["x"], ["y"], signatures=[
        ("add", 0, {"x": "x"}, {"y": "sum"}), ("again", 0, {"x": "more"}, {"y": "sum"})])))
    stream = prepared.stream()
    add, again = prepared.signature("add", stream), prepared.signature("again", stream)
    one = np.ones(2, np.float32)
    assert [add(x=one)["sum"][0], again(more=one)["sum"][0], stream.run([one])[0][0]] == [1, 2, 3]
    assert prepared.signature("add")(x=one)["sum"][0] == 1


def test_what_a_signature_is_not(device):
    with pytest.raises(InvalidArgument, match="model: has no signature 'mean'; its signatures: 'sum', 'total'"):
        nnfast.load(two(), signature="mean")
    prepared = device.prepare(nnfast.load(two()))
    for key, text in ((None, "has 3"), ("mean", "signature 'mean': the model has 'sum', 'total', 'product'"),
                      (5, "signature 5"), ("product", r"nnfast.load\(path, signature='product'\)")):
        with pytest.raises(InvalidArgument, match=text):
            prepared.signature(key)
    sums = prepared.signature("sum")
    with pytest.raises(InvalidArgument, match="input 'y': is missing"):
        sums(x=X)
    with pytest.raises(InvalidArgument, match="input 'w': no such input; there are 'x', 'y'"):
        sums(x=X, y=Y, w=X)
    with pytest.raises(InvalidArgument, match="the model has 0"):
        device.prepare(nnfast.load(plain())).signature()


def plain():
    """A file without signatures."""
    return build([Tensor("x", (3,)), Tensor("y", (3,))], [Op("RELU", ["x"], ["y"])], ["x"], ["y"])


def test_signatures_are_saved_and_cached(device, tmp_path):
    model = nnfast.load(two(), signature="product")
    model.save(tmp_path / "m.nnapi")
    assert nnfast.load(tmp_path / "m.nnapi").signatures == model.signatures
    for _ in range(2):
        prepared = device.prepare(model, cache_dir=tmp_path / "cache")
        assert prepared.signature("product")(x=X, y=Y)["z"].tolist() == [4, 10, 18]
