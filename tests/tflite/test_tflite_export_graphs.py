"""Models with states and with graphs of IF and WHILE, written as `.tflite` files and read again, also by LiteRT."""

from dataclasses import replace

import numpy as np
import pytest

import nnfast
from helpers.litert_models import litert_outputs
from helpers.tflite.file_builder import Op, Tensor, build
from nnfast import ModelBuilder, UnsupportedOperator

F32, FLOAT, INT, BOOL = np.float32, "TENSOR_FLOAT32", "TENSOR_INT32", "TENSOR_BOOL8"
X = np.array([[1, -2]], F32)


def agree(model, runs, wanted, tmp_path):
    """The model, the file read again, and LiteRT where it is, give what is wanted in each run of a stream."""
    data, device = nnfast.to_tflite(model), nnfast.Device(num_threads=1)
    again = nnfast.load(data)
    assert len(again.states) == len(model.states)
    found = [[stream.run(run) for run in runs] for stream in (device.prepare(m).stream() for m in (model, again))]
    theirs = litert_outputs(tmp_path, data, runs)
    for outputs in (*found, *([] if theirs is None else [theirs])):
        for arrays, expected in zip(outputs, wanted, strict=True):
            for array, value in zip(arrays, expected, strict=True):
                np.testing.assert_array_equal(np.reshape(array, np.shape(value)), value)


@pytest.mark.parametrize("first", [None, np.array([[10, 20]], F32)])
def test_a_state_starts_and_goes_on(first, tmp_path):
    b = ModelBuilder("sum")
    x, before = b.input(FLOAT, (1, 2), name="x"), b.input(FLOAT, (1, 2), name="state")
    after = b.output(FLOAT, (1, 2), name="next")
    y = b.output(FLOAT, (1, 2), name="y")
    b.operation("ADD", [x, before, b.scalar(0)], [after]).operation("MUL", [after, after, b.scalar(0)], [y])
    model = b.state(before, after, first).build()
    start = 0 if first is None else first
    agree(model, [[X], [3 * X], [X]], [[(start + k * X) ** 2] for k in (1, 4, 5)], tmp_path)


def test_a_quantized_state_starts_with_zero(tmp_path):
    b, kind = ModelBuilder(), ("TENSOR_QUANT8_ASYMM", (4,), 0.5, 128)
    x, before, after = b.input(*kind, name="x"), b.input(*kind, name="before"), b.output(*kind, name="after")
    y = b.output(*kind, name="y")
    b.operation("MAXIMUM", [x, before], [after]).operation("MINIMUM", [x, before], [y])
    model = b.state(before, after).build()
    runs = [[np.array(values, np.uint8)] for values in ([100, 200, 130, 0], [250, 150, 129, 10])]
    agree(model, runs, [[[100, 128, 128, 0]], [[128, 150, 129, 10]]], tmp_path)


def branch(kind, more):
    b = ModelBuilder()
    x, s = b.input(FLOAT, (1, 2)), b.input(FLOAT, (1, 2))
    y = b.output(FLOAT, (1, 2))
    return b.operation(kind, [x, s, *([b.scalar(0)] if more else [])], [y])


@pytest.mark.parametrize("other", ["MAXIMUM", "ADD"])
def test_branches_and_a_state(other, tmp_path):
    b = ModelBuilder()
    c, x, s = b.input(BOOL, (1,), name="c"), b.input(FLOAT, (1, 2), name="x"), b.input(FLOAT, (1, 2), name="s")
    y, after = b.output(FLOAT, (1, 2), name="y"), b.output(FLOAT, (1, 2), name="after")
    then = branch("MUL", True)
    graphs = [b.subgraph(then), b.subgraph(branch(other, other == "ADD"))]
    b.operation("IF", [c, *graphs, x, s], [y]).operation("ADD", [y, x, b.scalar(0)], [after])
    model, state = b.state(s, after, np.array([[2, 3]], F32)).build(), np.array([[2, 3]], F32)
    runs, wanted = [[np.array([flag]), k * X] for k, flag in enumerate((True, False, False, True), 1)], []
    for (flag,), v in runs:
        result = v * state if flag else np.maximum(v, state) if other == "MAXIMUM" else v + state
        state = result + v
        wanted.append([result])
    agree(model, runs, wanted, tmp_path)


@pytest.mark.parametrize("seen", [1, 2])
def test_a_loop_with_values_that_stay(seen, tmp_path):
    """while k < limit: k += 1; x += step. Results: k, or k and x; limit and step are only read."""
    test, body, b = ModelBuilder(), ModelBuilder(), ModelBuilder("loop")
    kinds = (INT, (1,)), (FLOAT, (1, 2)), (INT, (1,)), (FLOAT, (1, 2))
    k, _, limit, _ = (test.input(*kind) for kind in kinds)
    test.operation("LESS", [k, limit], [test.output(BOOL, (1,))])
    k, x, _, step = (body.input(*kind) for kind in kinds)
    body.operation("ADD", [k, body.constant(np.int32([1])), body.scalar(0)], [body.output(*kinds[0])])
    body.operation("ADD", [x, step, body.scalar(0)], [body.output(*kinds[1])])
    values = [b.input(*kind, name=name) for kind, name in zip(kinds, ("k", "x", "limit", "step"))]
    outputs = [b.output(*kind, name=name) for kind, name in zip(kinds[:seen], ("n", "y"))]
    model = b.operation("WHILE", [b.subgraph(test), b.subgraph(body), *values], outputs).build()
    runs = [[np.int32([k]), X, np.int32([5]), np.ones((1, 2), F32)] for k in (0, 3, 9)]
    agree(model, runs, [[[max(k, 5)], X + max(5 - k, 0)][:seen] for k in (0, 3, 9)], tmp_path)


def test_values_that_change_places_in_a_loop(tmp_path):
    """while k < 3: k += 1; x, y = y, x."""
    test, body, b = ModelBuilder(), ModelBuilder(), ModelBuilder("swap")
    kinds = (INT, (1,)), (FLOAT, (1, 2)), (FLOAT, (1, 2))
    k, _, _ = (test.input(*kind) for kind in kinds)
    test.operation("LESS", [k, test.constant(np.int32([3]))], [test.output(BOOL, (1,))])
    k, x, y = (body.input(*kind) for kind in kinds)
    body.operation("ADD", [k, body.constant(np.int32([1])), body.scalar(0)], [body.output(*kinds[0])])
    shape = body.constant(np.int32([1, 2]))
    body.operation("RESHAPE", [y, shape], [body.output(*kinds[1])])
    body.operation("RESHAPE", [x, shape], [body.output(*kinds[2])])
    values = [b.input(*kind, name=name) for kind, name in zip(kinds, "kxy")]
    outputs = [b.output(*kind, name=name) for kind, name in zip(kinds, "nab")]
    model = b.operation("WHILE", [b.subgraph(test), b.subgraph(body), *values], outputs).build()
    agree(nnfast.load(nnfast.to_tflite(model)), [[np.int32([k]), X, 5 * X] for k in (0, 1)],
          [[[3], 5 * X, X], [[3], X, 5 * X]], tmp_path)


@pytest.mark.parametrize("dtype", ["float32", "int32", "int64"])
def test_variables_of_a_file_in_branches(dtype, tmp_path):
    """y = c ? (v += x) : -x."""
    handle, first = Op("VAR_HANDLE", [], ["v"], "VarHandleOptions", {}), np.array([[7, 9]], dtype)
    once = ([Tensor("v", (), "resource"), Tensor.of("first", first)],
            [handle, Op("ASSIGN_VARIABLE", ["v", "first"], [])], [], [])
    then = ([Tensor("v", (), "resource"), *(Tensor(name, (1, 2), dtype) for name in ("x", "old", "y"))],
            [handle, Op("READ_VARIABLE", ["v"], ["old"]), Op("ADD", ["old", "x"], ["y"], "AddOptions"),
             Op("ASSIGN_VARIABLE", ["v", "y"], [])], ["x"], ["y"])
    other = [Tensor("x", (1, 2), dtype), Tensor("y", (1, 2), dtype)], [Op("NEG", ["x"], ["y"])], ["x"], ["y"]
    tensors = [Tensor("c", (1,), "bool"), Tensor("x", (1, 2), dtype), Tensor("y", (1, 2), dtype)]
    ops = [Op("CALL_ONCE", [], [], "CallOnceOptions", {"InitSubgraphIndex": 1}),
           Op("IF", ["c", "x"], ["y"], "IfOptions", {"ThenSubgraphIndex": 2, "ElseSubgraphIndex": 3})]
    model = nnfast.load(build(tensors, ops, ["c", "x"], ["y"], others=[once, then, other]))
    x, yes, no = X.astype(dtype), np.array([True]), np.array([False])
    agree(model, [[yes, x], [no, x], [yes, 2 * x]], [[first + x], [-x], [first + 3 * x]], tmp_path)


def recurrent(kind):
    """File of a layer with its states in variable tensors, x to y, and an input for it."""
    random = np.random.default_rng(3)

    def w(name, *shape):
        return Tensor.of(name, (random.normal(size=shape) / 2).astype(F32))

    units, size, x = 3, 4, random.normal(size=(2, 5, 4) if "SEQUENCE" in kind else (2, 4)).astype(F32)
    tensors, options = [Tensor("x", x.shape), Tensor("y", (*x.shape[:-1], units))], {"FusedActivationFunction": 4}
    if kind == "SVDF":
        tensors += [w("f", 6, size), w("t", 6, 2), w("b", 3), Tensor("s", (2, 12), variable=True)]
        names, options = ["x", "f", "t", "b", "s"], {"Rank": 2, "FusedActivationFunction": 1}
    elif kind.endswith("RNN"):
        tensors += [w("w", units, size), w("r", units, units), w("b", units), Tensor("s", (2, units), variable=True)]
        names = ["x", "w", "r", "b", "s"]
    else:
        parts = [*(w(f"w{k}", units, size) for k in range(4)), *(w(f"r{k}", units, units) for k in range(4)),
                 *(w(f"b{k}", units) for k in range(4)),
                 *(Tensor(f"s{k}", (2, units), variable=True) for k in range(2))]
        names = ["x", *(t.name for t in parts[:8]), *[None] * 3, *(t.name for t in parts[8:12]), None, None, "s0", "s1"]
        tensors += parts
        options |= {"CellClip": 0.9}
    if "SEQUENCE" in kind:
        options |= {"TimeMajor": False}
    table = {"SVDF": "SVDFOptions", "RNN": "RNNOptions", "LSTM": "LSTMOptions",
             "UNIDIRECTIONAL_SEQUENCE_RNN": "SequenceRNNOptions",
             "UNIDIRECTIONAL_SEQUENCE_LSTM": "UnidirectionalSequenceLSTMOptions"}[kind]
    return build(tensors, [Op(kind, names, ["y"], table, options)], ["x"], ["y"]), x


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "SVDF", "UNIDIRECTIONAL_SEQUENCE_RNN", "UNIDIRECTIONAL_SEQUENCE_LSTM"])
def test_recurrent_layers_keep_their_states_in_variable_tensors(kind, tmp_path):
    data, x = recurrent(kind)
    runs, model = [[x], [2 * x], [x]], nnfast.load(data)
    streams = [nnfast.Device(num_threads=1).prepare(m).stream() for m in (model, nnfast.load(nnfast.to_tflite(model)))]
    first, second = [[stream.run(run)[0] for run in runs] for stream in streams]
    np.testing.assert_array_equal(first, second)
    assert np.abs(first[0] - first[2]).max() > 1e-3
    theirs = litert_outputs(tmp_path, nnfast.to_tflite(model), runs)
    if theirs is not None:
        np.testing.assert_allclose([run[0] for run in theirs], first, rtol=1e-5, atol=1e-6)


def test_a_layer_whose_state_does_not_start_with_zeros_is_refused():
    model = nnfast.load(recurrent("RNN")[0])
    states = tuple(replace(state, initial=np.ones((2, 3), F32)) for state in model.states)
    with pytest.raises(UnsupportedOperator, match="from zeros on"):
        nnfast.to_tflite(replace(model, states=states))


def test_what_cannot_be_written_in_a_graph_is_told_with_its_place():
    b = ModelBuilder()
    shuffle = ModelBuilder()
    x = shuffle.input(FLOAT, (1, 2))
    shuffle.operation("CHANNEL_SHUFFLE", [x, shuffle.scalar(2), shuffle.scalar(1)], [shuffle.output(FLOAT, (1, 2))])
    c, x, y = b.input(BOOL, (1,)), b.input(FLOAT, (1, 2)), b.output(FLOAT, (1, 2))
    graph = b.subgraph(shuffle)
    with pytest.raises(UnsupportedOperator, match=r"CHANNEL_SHUFFLE: in referenced\[0\]: is not written"):
        nnfast.to_tflite(b.operation("IF", [c, graph, graph, x], [y]).build())


def test_a_state_of_unknown_size_is_refused():
    b = ModelBuilder()
    x, before, after = b.input(FLOAT, (0,)), b.input(FLOAT, (0,), name="s"), b.output(FLOAT, (0,))
    model = b.operation("ADD", [x, before, b.scalar(0)], [after]).state(before, after).build()
    with pytest.raises(nnfast.InvalidArgument, match="'s' is a state of unknown size"):
        nnfast.to_tflite(model)
