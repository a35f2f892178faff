"""Tensors of strings: what an Interpreter makes of them, beside LiteRT."""

import pickle

import numpy as np
import pytest

import nnfast
from helpers.litert_models import litert_python, run_litert
from helpers.tflite.file_builder import Op, Tensor, build
from nnfast import litert

SIX = np.array([b"one", b"two", b"drei", b"", b"f\0ve", "süx".encode()], object)
PAIRS = SIX.reshape(2, 3)


def encoded(texts):
    """A constant's bytes."""
    ends = np.cumsum([4 * (len(texts) + 2), *map(len, texts)])
    return np.frombuffer(np.int32([len(texts), *ends]).tobytes() + b"".join(texts), np.uint8)


def text(name, texts, shape=None):
    return Tensor(name, (len(texts),) if shape is None else shape, "string", encoded(texts))


def one(kind, shape, constants=(), options=None, fields=(), dtype="string", given=PAIRS):
    """(file, inputs) of an operator on x, and then on constants, with one result."""
    tensors = [Tensor.of(f"c{k}", np.array(v)) for k, v in enumerate(constants)]
    return build([Tensor("x", given.shape, "string"), *tensors, Tensor("y", shape, dtype)],
                 [Op(kind, ["x", *(t.name for t in tensors)], ["y"], options, dict(fields))], ["x"], ["y"]), [given]


def equal(kind, other):
    other = np.array(other, object)
    return build([Tensor("x", (2, 3), "string"), Tensor("w", other.shape, "string"), Tensor("y", (2, 3), "bool")],
                 [Op(kind, ["x", "w"], ["y"])], ["x", "w"], ["y"]), [PAIRS, other]


def i32(*values):
    return np.int32(values)


def skip_gram(sentence, size=2, most=1, include=True):
    fields = {"NgramSize": size, "MaxSkipSize": most, "IncludeAllNgrams": include}
    return one("SKIP_GRAM", (0,), (), "SkipGramOptions", fields, given=np.array([sentence], object))


def table(keys, values, query, default):
    """A table, filled by a subgraph that runs once, that is looked into."""
    def of(name, found, shape):
        if isinstance(found[0], bytes):
            return text(name, found, shape)
        return Tensor.of(name, np.int64(found).reshape(shape))

    kinds = ["string" if isinstance(found[0], bytes) else "int64" for found in (keys, values)]
    query = np.array(query, object if kinds[0] == "string" else np.int64)
    fields = {"TableId": 7, "KeyDtype": {"string": 5, "int64": 4}[kinds[0]],
              "ValueDtype": {"string": 5, "int64": 4}[kinds[1]]}
    once = ([Tensor("ih", (1,), "resource"), of("k", keys, (len(keys),)), of("v", values, (len(keys),))],
            [Op("HASHTABLE", [], ["ih"], "HashtableOptions", fields), Op("HASHTABLE_IMPORT", ["ih", "k", "v"], [])],
            [], [])
    tensors = [Tensor("h", (1,), "resource"), Tensor("q", query.shape, kinds[0]), of("d", [default], ()),
               Tensor("y", query.shape, kinds[1]), Tensor("n", (1,), "int64")]
    return build(tensors, [
        Op("CALL_ONCE", [], [], "CallOnceOptions", {"InitSubgraphIndex": 1}),
        Op("HASHTABLE", [], ["h"], "HashtableOptions", fields), Op("HASHTABLE_FIND", ["h", "q", "d"], ["y"]),
        Op("HASHTABLE_SIZE", ["h"], ["n"])], ["q"], ["y", "n"], others=[once]), [query]


def lookup():
    return build([Tensor("l", (2,), "int32"), Tensor.of("k", i32(1, 5, 9)), text("v", [b"a", b"bb", b"ccc"]),
                  Tensor("y", (2,), "string"), Tensor("h", (2,), "uint8")],
                 [Op("HASHTABLE_LOOKUP", ["l", "k", "v"], ["y", "h"])], ["l"], ["y", "h"]), [i32(5, 6)]


def constant():
    return build([text("k", list(SIX)), Tensor("i", (2,), "int32"), Tensor("y", (2,), "string")],
                 [Op("GATHER", ["k", "i"], ["y"], "GatherOptions", {})], ["i"], ["y"]), [i32(4, 2)]


def filled():
    """[2, 2] times one of six strings."""
    return build([Tensor.of("d", i32(2, 2)), Tensor.of("i", np.array(4, np.int32)), Tensor("x", (6,), "string"),
                  Tensor("v", (), "string"), Tensor("y", (2, 2), "string")],
                 [Op("GATHER", ["x", "i"], ["v"], "GatherOptions", {}),
                  Op("FILL", ["d", "v"], ["y"], "FillOptions", {})],
                 ["x"], ["y"]), [SIX]


def chosen(condition):
    """The first or the second half of six strings."""
    def half(begin):
        return ([Tensor("g", (6,), "string"), Tensor.of("b", i32(begin)), Tensor.of("n", i32(3)),
                 Tensor("z", (3,), "string")], [Op("SLICE", ["g", "b", "n"], ["z"])], ["g"], ["z"])

    return build([Tensor("c", (1,), "bool"), Tensor("x", (6,), "string"), Tensor("y", (3,), "string")],
                 [Op("IF", ["c", "x"], ["y"], "IfOptions", {"ThenSubgraphIndex": 1, "ElseSubgraphIndex": 2})],
                 ["c", "x"], ["y"], others=[half(0), half(3)]), [np.array([condition]), SIX]


def turned(rounds):
    """Six strings that go one place further in each round."""
    more = ([Tensor("n", (1,), "int32"), Tensor("g", (6,), "string"), Tensor.of("m", i32(rounds)),
             Tensor("go", (1,), "bool")], [Op("LESS", ["n", "m"], ["go"])], ["n", "g"], ["go"])
    turn = ([Tensor("n", (1,), "int32"), Tensor("g", (6,), "string"), Tensor.of("one", i32(1)),
             Tensor.of("i", i32(1, 2, 3, 4, 5, 0)), Tensor("after", (1,), "int32"), Tensor("z", (6,), "string")],
            [Op("ADD", ["n", "one"], ["after"], "AddOptions"), Op("GATHER", ["g", "i"], ["z"], "GatherOptions")],
            ["n", "g"], ["after", "z"])
    fields = {"CondSubgraphIndex": 1, "BodySubgraphIndex": 2}
    return build([Tensor("k", (1,), "int32"), Tensor("x", (6,), "string"), Tensor("n", (1,), "int32"),
                  Tensor("y", (6,), "string")], [Op("WHILE", ["k", "x"], ["n", "y"], "WhileOptions", fields)],
                 ["k", "x"], ["n", "y"], others=[more, turn]), [i32(0), SIX]


CASES = {
    "RESHAPE": one("RESHAPE", (3, 2), [i32(3, 2)]), "TILE": one("TILE", (4, 3), [i32(2, 1)]),
    "GATHER": one("GATHER", (2,), [i32(4, 1)], "GatherOptions", given=SIX), "GATHER of a constant": constant(),
    "GATHER_ND": one("GATHER_ND", (2,), [np.int32([[1, 0], [0, 2]])]),
    "SLICE": one("SLICE", (1, 2), [i32(1, 0), i32(1, 2)]),
    "STRIDED_SLICE": one("STRIDED_SLICE", (1, 2), [i32(1, 0), i32(2, 3), i32(1, 2)], "StridedSliceOptions"),
    "SQUEEZE": one("SQUEEZE", (2, 3), (), "SqueezeOptions", given=PAIRS.reshape(1, 2, 3)),
    "EXPAND_DIMS": one("EXPAND_DIMS", (1, 2, 3), [i32(0)[0]]), "RANK": one("RANK", (), dtype="int32"),
    "SHAPE": one("SHAPE", (2,), (), "ShapeOptions", {"OutType": 2}, dtype="int32"),
    "EQUAL": equal("EQUAL", [[b"one", b"zwei", b"drei"], [b"", b"f\0ve", b"f"]]),
    "NOT_EQUAL": equal("NOT_EQUAL", [b"one", b"f\0ve", b"f"]), "HASHTABLE_LOOKUP": lookup(),
    "FILL": filled(), "IF": chosen(True), "IF not": chosen(False), "WHILE": turned(4), "WHILE of no round": turned(0),
    **{f"SKIP_GRAM of {sentence!r}": skip_gram(sentence) for sentence in (
        b"the quick brown  fox jumps", b"the", b"", b" ", b" a b", b"  a b c", b"a\tb\nc d", b"a b c d e  ", b" a",
        b"a ")},
    "SKIP_GRAM of three": skip_gram(b"a b c d e f", 3, 2, False),
    "SKIP_GRAM of three and less": skip_gram(b"a b c d", 3),
    "SKIP_GRAM without gaps": skip_gram(b"a b c d e f", 2, 0, False), "SKIP_GRAM of words": skip_gram(b"a b c", 1, 5),
}
TABLES = {
    "strings to numbers": (table([b"a", b"bb", b"c"], [10, 20, 30], [b"bb", b"x", b"a"], -1), [20, -1, 10], 3),
    "a key twice": (table([b"a", b"bb", b"a"], [10, 20, 30], [[b"bb", b"x", b"a"]], -1), [[20, -1, 10]], 2),
    "numbers to strings": (table([10, 1 << 40], [b"a", b"bb"], [1 << 40, 5], b"none"), [b"bb", b"none"], 2),
}
PROGRAM = """
import pickle, sys
from ai_edge_litert.interpreter import Interpreter, OpResolverType
found = []
for data, given in pickle.load(open(sys.argv[1], "rb")):
    i = Interpreter(model_content=data, experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)
    i.allocate_tensors()
    for detail, array in zip(i.get_input_details(), given):
        i.set_tensor(detail["index"], array)
    i.invoke()
    found.append([i.get_tensor(detail["index"]) for detail in i.get_output_details()])
pickle.dump(found, open(sys.argv[2], "wb"))
"""


def run(data, given, times=1):
    interpreter = litert.Interpreter(model_content=data)
    interpreter.allocate_tensors()
    for _ in range(times):
        for detail, array in zip(interpreter.get_input_details(), given):
            interpreter.set_tensor(detail["index"], array)
        interpreter.invoke()
    return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]


def test_all_as_in_litert(tmp_path):
    if not litert_python():
        pytest.skip("LiteRT is not installed")
    cases = {**CASES, **{name: case for name, (case, *_) in TABLES.items()}}
    (tmp_path / "p.py").write_text(PROGRAM)
    (tmp_path / "in").write_bytes(pickle.dumps(list(cases.values())))
    run_litert(tmp_path / "p.py", tmp_path / "in", tmp_path / "out")
    for (name, case), wanted in zip(cases.items(), pickle.loads((tmp_path / "out").read_bytes()), strict=True):
        for x, y in zip(run(*case, times=2), wanted, strict=True):
            assert (x.dtype, x.shape, x.tolist()) == (y.dtype, y.shape, y.tolist()), name


@pytest.mark.parametrize("name", TABLES)
def test_tables(name):
    case, values, count = TABLES[name]
    found, size = run(*case)
    assert found.tolist() == values and size.tolist() == [count]


def test_skip_grams_and_moves():
    assert run(*CASES["SKIP_GRAM of three"])[0].tolist()[:4] == [b"a b c", b"a b d", b"a b e", b"a c d"]
    assert run(*skip_gram(b"x y"))[0].tolist() == [b"x y", b"x", b"y"]
    assert run(*CASES["GATHER of a constant"])[0].tolist() == [b"f\0ve", b"drei"]


def test_strings_through_fill_and_control_flow():
    assert run(*CASES["FILL"])[0].tolist() == [[b"f\0ve"] * 2] * 2
    assert run(*CASES["IF"])[0].tolist() == SIX[:3].tolist()
    assert run(*CASES["IF not"])[0].tolist() == SIX[3:].tolist()
    for rounds in (0, 4):
        count, texts = run(*turned(rounds))
        assert (count.tolist(), texts.tolist()) == ([rounds], np.roll(SIX, -rounds).tolist())


def test_what_set_tensor_takes_and_get_tensor_gives():
    interpreter = litert.Interpreter(model_content=CASES["RESHAPE"][0])
    interpreter.allocate_tensors()
    detail, = interpreter.get_input_details()
    assert detail["dtype"] is np.bytes_
    for array in (np.array([["a", "ü", "c"]] * 2), np.array([[b"a", "ü", b"c"]] * 2, object)):
        interpreter.set_tensor(detail["index"], array)
        assert interpreter.get_tensor(detail["index"]).tolist() == [[b"a", "ü".encode(), b"c"]] * 2
    with pytest.raises(ValueError, match="element 0 is an int, must be bytes or str"):
        interpreter.set_tensor(detail["index"], np.array([[1, b"b", b"c"]] * 2, object))
    with pytest.raises(ValueError, match="Got value of type INT32 but expected type STRING for input 0, name: x"):
        interpreter.set_tensor(detail["index"], np.zeros((2, 3), np.int32))
    with pytest.raises(ValueError, match="which no array lies over"):
        interpreter.tensor(detail["index"])()
    interpreter.resize_tensor_input(detail["index"], [3, 2])
    interpreter.allocate_tensors()
    interpreter.set_tensor(detail["index"], SIX.reshape(3, 2))
    interpreter.invoke()
    assert interpreter.get_tensor(interpreter.get_output_details()[0]["index"]).tolist() == SIX.reshape(3, 2).tolist()


def test_constants_and_results_between():
    data, given = constant()
    interpreter = litert.Interpreter(model_content=data, experimental_preserve_all_tensors=True)
    interpreter.allocate_tensors()
    assert interpreter.get_tensor(0).tolist() == SIX.tolist()
    with pytest.raises(ValueError, match="is a constant of the file"):
        interpreter.set_tensor(0, SIX)


def test_refused():
    for data in (one("TRANSPOSE", (3, 2), [i32(1, 0)])[0], one("REVERSE_V2", (2, 3), [i32(1)])[0]):
        with pytest.raises(RuntimeError, match="does not work on strings, neither do LiteRT's kernels"):
            litert.Interpreter(model_content=data).allocate_tensors()
    with pytest.raises(nnfast.InvalidArgument, match="has type string"):
        nnfast.load(CASES["RESHAPE"][0])


@pytest.mark.parametrize("place, value", [(0, 1 << 20), (0, 1 << 31), (0, (1 << 32) - 1), (1, 0), (2, 0), (7, 1 << 20)])
def test_damaged_constants(place, value):
    raw = encoded(list(SIX)).tobytes()
    data, at = constant()[0], constant()[0].index(raw)
    data = data[:at + 4 * place] + value.to_bytes(4, "little") + data[at + 4 * place + 4:]
    with pytest.raises((RuntimeError, ValueError), match="strings"):
        litert.Interpreter(model_content=data).allocate_tensors()


def test_more_strings_than_fit_are_refused_at_once():
    tensors = [Tensor("x", (1 << 26, 3), "string"), Tensor("y", (2,), "int32")]
    data = build(tensors, [Op("SHAPE", ["x"], ["y"])], ["x"], ["y"])
    with pytest.raises(RuntimeError, match="has more than 16777216 elements"):
        litert.Interpreter(model_content=data).allocate_tensors()
