"""Variables and random numbers in the subgraphs of IF and WHILE: one value for all graphs, kept from run to run."""

import numpy as np
import pytest

import nnfast
from helpers.litert_models import litert_outputs
from helpers.tflite.file_builder import Op, Tensor, build

START = np.array([[1.0, 2.0]], np.float32)
X = np.ones((1, 2), np.float32)


def once(dtype="float32", start=START):
    """The subgraph that stores START in v, and what runs it."""
    return ([Tensor("v", (), "resource"), Tensor.of("first", start.astype(dtype))],
            [Op("VAR_HANDLE", [], ["v"], "VarHandleOptions", {}), Op("ASSIGN_VARIABLE", ["v", "first"], [])], [], [])


def call(index):
    return Op("CALL_ONCE", [], [], "CallOnceOptions", {"InitSubgraphIndex": index})


HANDLE = Op("VAR_HANDLE", [], ["v"], "VarHandleOptions", {})


def adding(dtype="float32", shape=(1, 2)):
    """Subgraph: v += x; y = v."""
    tensors = [Tensor("v", (), "resource"), Tensor("x", shape, dtype), Tensor("old", shape, dtype),
               Tensor("y", shape, dtype)]
    return tensors, [HANDLE, Op("READ_VARIABLE", ["v"], ["old"]), Op("ADD", ["old", "x"], ["y"], "AddOptions"),
                     Op("ASSIGN_VARIABLE", ["v", "y"], [])], ["x"], ["y"]


def negative():
    """Subgraph: y = -x."""
    return [Tensor("x", (1, 2)), Tensor("y", (1, 2))], [Op("NEG", ["x"], ["y"])], ["x"], ["y"]


def doubled():
    """Subgraph: v = x + x; y = x * x."""
    tensors = [Tensor("v", (), "resource"), Tensor("x", (1, 2)), Tensor("twice", (1, 2)), Tensor("y", (1, 2))]
    return tensors, [HANDLE, Op("ADD", ["x", "x"], ["twice"], "AddOptions"), Op("ASSIGN_VARIABLE", ["v", "twice"], []),
                     Op("MUL", ["x", "x"], ["y"], "MulOptions")], ["x"], ["y"]


def branches(then, other, reads=True):
    """y = c ? then(x) : other(x); z = v."""
    tensors = [Tensor("c", (1,), "bool"), Tensor("x", (1, 2)), Tensor("y", (1, 2)), Tensor("v", (), "resource"),
               Tensor("z", (1, 2))]
    ops = [call(1), Op("IF", ["c", "x"], ["y"], "IfOptions", {"ThenSubgraphIndex": 2, "ElseSubgraphIndex": 3})]
    if reads:
        ops += [HANDLE, Op("READ_VARIABLE", ["v"], ["z"])]
    return build(tensors, ops, ["c", "x"], ["y", "z"] if reads else ["y"], others=[once(), then, other])


def agree(data, runs, wanted, tmp_path):
    """A stream, the interpreter, and LiteRT where it is, give what is wanted in each run."""
    stream = nnfast.Device(num_threads=1).prepare(nnfast.load(data)).stream()
    found = [stream.run(run) for run in runs]
    for theirs in (found, litert_outputs(tmp_path, data, runs)):
        for arrays, expected in zip(theirs or [], wanted, strict=bool(theirs)):
            for array, value in zip(arrays, expected, strict=True):
                np.testing.assert_array_equal(array, value)


def test_branches_share_a_variable_with_the_main_graph(tmp_path):
    yes, no = np.array([True]), np.array([False])
    v, runs, wanted = START, [[yes, X], [no, 3 * X], [yes, 2 * X], [no, X]], []
    for flag, x in runs:
        y, v = (v + x, v + x) if flag else (-x, v)
        wanted.append([y, v])
    agree(branches(adding(), negative()), runs, wanted, tmp_path)


@pytest.mark.parametrize("reads", [True, False])
def test_branches_that_store_in_different_ways(reads, tmp_path):
    yes, no = np.array([True]), np.array([False])
    v, runs, wanted = START, [[yes, X], [no, 3 * X], [yes, 2 * X], [yes, X]], []
    for flag, x in runs:
        y, v = (v + x, v + x) if flag else (x * x, x + x)
        wanted.append([y, v] if reads else [y])
    agree(branches(adding(), doubled(), reads), runs, wanted, tmp_path)


def test_one_subgraph_in_two_places_works_on_one_variable(tmp_path):
    tensors = [Tensor("c", (1,), "bool"), Tensor("x", (1, 2)), Tensor("a", (1, 2)), Tensor("b", (1, 2))]
    fields = {"ThenSubgraphIndex": 2, "ElseSubgraphIndex": 3}
    ops = [call(1), Op("IF", ["c", "x"], ["a"], "IfOptions", fields), Op("IF", ["c", "x"], ["b"], "IfOptions", fields)]
    data = build(tensors, ops, ["c", "x"], ["a", "b"], others=[once(), adding(), negative()])
    runs = [[np.array([True]), X], [np.array([False]), X], [np.array([True]), X]]
    agree(data, runs, [[START + 1, START + 2], [-X, -X], [START + 3, START + 4]], tmp_path)


def loop(passed=False, dtype="float32"):
    """while k < n: k += 1; v += 1. Then y = v. passed: the loop gets the handle of the variable as a value."""
    handle = [Tensor("v", (), "resource")]
    test = ([*handle, Tensor("k", (), "int32"), Tensor("n", (), "int32"), Tensor("t", (), "bool")],
            [Op("LESS", ["k", "n"], ["t"])], ["k", "n", *(["v"] if passed else [])], ["t"])
    body = ([*handle, Tensor("k", (), "int32"), Tensor("n", (), "int32"), Tensor.of("one", np.array(1, np.int32)),
             Tensor("m", (), "int32"), Tensor("x", (1, 2), dtype), Tensor("old", (1, 2), dtype),
             Tensor("new", (1, 2), dtype), Tensor.of("step", np.ones((1, 2), dtype))],
            [*([] if passed else [HANDLE]), Op("ADD", ["k", "one"], ["m"], "AddOptions"),
             Op("READ_VARIABLE", ["v"], ["old"]), Op("ADD", ["old", "step"], ["new"], "AddOptions"),
             Op("ASSIGN_VARIABLE", ["v", "new"], [])],
            ["k", "n", *(["v"] if passed else [])], ["m", "n", *(["v"] if passed else [])])
    tensors = [*handle, Tensor("k", (), "int32"), Tensor("n", (), "int32"), Tensor("m", (), "int32"),
               Tensor("o", (), "int32"), Tensor("y", (1, 2), dtype), Tensor("v2", (), "resource")]
    places = (["k", "n", "v"], ["m", "o", "v2"]) if passed else (["k", "n"], ["m", "o"])
    ops = [call(1), HANDLE, Op("WHILE", *places, "WhileOptions", {"CondSubgraphIndex": 2, "BodySubgraphIndex": 3}),
           Op("READ_VARIABLE", ["v2" if passed else "v"], ["y"])]
    return build(tensors, ops, ["k", "n"], ["m", "y"], others=[once(dtype), test, body])


@pytest.mark.parametrize("dtype", ["float32", "int64", "int32"])
@pytest.mark.parametrize("passed", [False, True])
def test_a_loop_changes_a_variable(passed, dtype, tmp_path):
    runs = [[np.int32(k), np.int32(n)] for k, n in ((0, 3), (5, 2), (1, 2))]
    first = START.astype(dtype)
    agree(loop(passed, dtype), [[np.asarray(x) for x in run] for run in runs],
          [[3, first + 3], [5, first + 3], [2, first + 4]], tmp_path)


def words(seed, seed2, blocks):
    """Words of Philox4x32-10, one block at a time."""
    found, low = [], (1 << 32) - 1
    for block in range(blocks):
        counter, key = [block, 0, seed2, 0], [seed, 0]
        for _ in range(10):
            a, b = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
            counter = [b >> 32 ^ counter[1] ^ key[0], b & low, a >> 32 ^ counter[3] ^ key[1], a & low]
            key = [key[0] + 0x9E3779B9 & low, key[1] + 0xBB67AE85 & low]
        found += counter
    return found


def test_a_loop_draws_numbers_that_go_on_within_it(tmp_path):
    """Each round adds four numbers; every run starts anew, as LiteRT prepares the subgraph again."""
    shape = Tensor.of("shape", np.int32([4]))
    test = ([Tensor("k", (), "int32"), Tensor("s", (4,)), Tensor.of("three", np.array(3, np.int32)),
             Tensor("t", (), "bool")], [Op("LESS", ["k", "three"], ["t"])], ["k", "s"], ["t"])
    body = ([Tensor("k", (), "int32"), Tensor("s", (4,)), shape, Tensor.of("one", np.array(1, np.int32)),
             Tensor("m", (), "int32"), Tensor("r", (4,)), Tensor("z", (4,))],
            [Op("ADD", ["k", "one"], ["m"], "AddOptions"),
             Op("RANDOM_UNIFORM", ["shape"], ["r"], "RandomOptions", {"Seed": 3, "Seed2": 5}),
             Op("ADD", ["s", "r"], ["z"], "AddOptions")], ["k", "s"], ["m", "z"])
    tensors = [Tensor("k", (), "int32"), Tensor("s", (4,)), Tensor("m", (), "int32"), Tensor("z", (4,))]
    data = build(tensors, [Op("WHILE", ["k", "s"], ["m", "z"], "WhileOptions",
                              {"CondSubgraphIndex": 1, "BodySubgraphIndex": 2})], ["k", "s"], ["m", "z"],
                 others=[test, body])
    drawn = np.array([(word & 0x7FFFFF) / 2**23 for word in words(3, 5, 3)], np.float32).reshape(3, 4)
    agree(data, [[np.asarray(np.int32(0)), np.zeros(4, np.float32)]] * 2, [[3, drawn[0] + drawn[1] + drawn[2]]] * 2,
          tmp_path)


def test_a_branch_draws_the_same_numbers_wherever_it_runs(tmp_path):
    draw = ([Tensor("x", (1, 2)), Tensor.of("shape", np.int32([1, 2])), Tensor("r", (1, 2)), Tensor("y", (1, 2))],
            [Op("RANDOM_UNIFORM", ["shape"], ["r"], "RandomOptions", {"Seed": 3, "Seed2": 5}),
             Op("ADD", ["x", "r"], ["y"], "AddOptions")], ["x"], ["y"])
    tensors = [Tensor("c", (1,), "bool"), Tensor("x", (1, 2)), Tensor("a", (1, 2)), Tensor("b", (1, 2))]
    fields = {"ThenSubgraphIndex": 1, "ElseSubgraphIndex": 2}
    ops = [Op("IF", ["c", place], [result], "IfOptions", fields) for place, result in ("xa", "ab")]
    data = build(tensors, ops, ["c", "x"], ["a", "b"], others=[draw, negative()])
    r = np.array([[(word & 0x7FFFFF) / 2**23 for word in words(3, 5, 1)[:2]]], np.float32)
    wanted = [[X + r, X + r + r], [-X, X], [X + r, X + r + r]]
    agree(data, [[np.array([flag]), X] for flag in (True, False, True)], wanted, tmp_path)


def test_a_branch_without_results_stores(tmp_path):
    """if c: v = x. Then y = v."""
    store = ([Tensor("v", (), "resource"), Tensor("x", (1, 2))],
             [HANDLE, Op("ASSIGN_VARIABLE", ["v", "x"], [])], ["x"], [])
    nothing = [Tensor("x", (1, 2))], [], ["x"], []
    tensors = [Tensor("c", (1,), "bool"), Tensor("x", (1, 2)), Tensor("v", (), "resource"), Tensor("y", (1, 2))]
    ops = [call(1), Op("IF", ["c", "x"], [], "IfOptions", {"ThenSubgraphIndex": 2, "ElseSubgraphIndex": 3}), HANDLE,
           Op("READ_VARIABLE", ["v"], ["y"])]
    data = build(tensors, ops, ["c", "x"], ["y"], others=[once(), store, nothing])
    runs = [[np.array([False]), X], [np.array([True]), 7 * X], [np.array([False]), X]]
    agree(data, runs, [[START], [7 * X], [7 * X]], tmp_path)


def test_a_condition_must_not_store():
    test = ([Tensor("k", (), "int32"), Tensor("v", (), "resource"), Tensor("t", (), "bool")],
            [HANDLE, Op("ASSIGN_VARIABLE", ["v", "k"], []), Op("LESS", ["k", "k"], ["t"])], ["k"], ["t"])
    body = [Tensor("k", (), "int32"), Tensor("m", (), "int32")], [Op("NEG", ["k"], ["m"])], ["k"], ["m"]
    tensors = [Tensor("k", (), "int32"), Tensor("m", (), "int32")]
    op = Op("WHILE", ["k"], ["m"], "WhileOptions", {"CondSubgraphIndex": 1, "BodySubgraphIndex": 2})
    with pytest.raises(nnfast.UnsupportedOperator, match="in its condition"):
        nnfast.load(build(tensors, [op], ["k"], ["m"], others=[test, body]))


def test_a_variable_of_two_shapes_is_refused():
    wide = ([Tensor("v", (), "resource"), Tensor("x", (1, 2)), Tensor.of("three", np.zeros((1, 3), np.float32)),
             Tensor("y", (1, 2))],
            [HANDLE, Op("ASSIGN_VARIABLE", ["v", "three"], []), Op("NEG", ["x"], ["y"])], ["x"], ["y"])
    with pytest.raises(nnfast.UnsupportedOperator, match="must agree"):
        nnfast.load(branches(wide, adding()))


@pytest.mark.parametrize("count", [1, 40])
def test_many_calls_of_one_subgraph_keep_their_size(count):
    tensors = [Tensor("c", (1,), "bool"), Tensor("x", (1, 2)), *(Tensor(f"y{k}", (1, 2)) for k in range(count))]
    ops = [call(1), *(Op("IF", ["c", "x"], [f"y{k}"], "IfOptions", {"ThenSubgraphIndex": 2, "ElseSubgraphIndex": 3})
                      for k in range(count))]
    data = build(tensors, ops, ["c", "x"], [f"y{count - 1}"], others=[once(), adding(), negative()])
    assert len(nnfast.load(data).referenced) == 2


def test_a_loop_of_int64_values(tmp_path):
    """while k < 1 << 33: k += 1 << 32; x += k, from a constant on."""
    kind, step = ((), "int64"), Tensor.of("step", np.array(1 << 32))
    test = ([Tensor("k", *kind), Tensor("x", (2,), "int64"), Tensor.of("limit", np.array(1 << 33)),
             Tensor("t", (), "bool")], [Op("LESS", ["k", "limit"], ["t"])], ["k", "x"], ["t"])
    body = ([Tensor("k", *kind), Tensor("x", (2,), "int64"), step, Tensor("m", *kind), Tensor("y", (2,), "int64")],
            [Op("ADD", ["k", "step"], ["m"], "AddOptions"), Op("ADD", ["x", "m"], ["y"], "AddOptions")],
            ["k", "x"], ["m", "y"])
    tensors = [Tensor.of("k", np.array(0)), Tensor("x", (2,), "int64"), Tensor("m", *kind), Tensor("y", (2,), "int64")]
    data = build(tensors, [Op("WHILE", ["k", "x"], ["m", "y"], "WhileOptions",
                              {"CondSubgraphIndex": 1, "BodySubgraphIndex": 2})], ["x"], ["m", "y"],
                 others=[test, body])
    agree(data, [[np.array([5, -7])]], [[1 << 33, np.array([5, -7]) + 3 * (1 << 32)]], tmp_path)
