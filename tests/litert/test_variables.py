"""Resource variables that the signatures of a file share: one reads what the other has written, as in LiteRT."""

import json

import numpy as np
import pytest

from helpers.litert_models import litert_python, run_litert
from helpers.tflite.file_builder import Op, Tensor, build
from nnfast import litert

SIGNATURES = [("write", 0, {"wx": "x"}, {"wy": "y"}), ("read", 1, {"rd": "d"}, {"ry": "y"}),
              ("count", 2, {"cd": "d"}, {"cy": "y"})]


def graph(name, once, *operators, shape=(2,), dtype="float32", has_rank=True):
    """(tensors, operators, inputs, outputs) with a variable; tensors "d" or "x" come in, "y" goes out."""
    given = "x" if name == "w" else "d"
    tensors = [Tensor(name + "v", (), "resource"), Tensor(name + given, (2,), dtype), Tensor(name + "y", shape, dtype,
                                                                                           has_rank=has_rank)]
    if name != "w":
        tensors.append(Tensor(name + "o", shape, dtype, has_rank=has_rank))
    first = [Op("CALL_ONCE", [], [], "CallOnceOptions", {"InitSubgraphIndex": once})] if once else []
    rest = [Op(kind, [i and name + i for i in inputs], [name + o for o in outputs], *options)
            for kind, inputs, outputs, *options in operators]
    return tensors, first + [Op("VAR_HANDLE", [], [name + "v"])] + rest, [name + given], [name + "y"]


def initial(name, values):
    """The subgraph of a CALL_ONCE."""
    return ([Tensor(name + "v", (), "resource"), Tensor.of(name + "c", values)],
            [Op("VAR_HANDLE", [], [name + "v"]), Op("ASSIGN_VARIABLE", [name + "v", name + "c"], [])], [], [])


def file(first=None, second=None, dtype="float32", has_rank=True):
    """write(x) stores x and gives -x, read(d) gives the variable + d, count(d) adds d to it.

    first, second: values that the CALL_ONCE of write and count, and that of read, store; has_rank: of what read gives.
    """
    shape = (2,) if has_rank else ()
    places = (0 if first is None else 3), 0 if first is None else 3 if second is None else 4
    graphs = [
        graph("w", places[0], ("ASSIGN_VARIABLE", "vx", ""), ("NEG", "x", "y"), dtype=dtype),
        graph("r", places[1], ("READ_VARIABLE", "v", "o"), ("ADD", "od", "y", "AddOptions"), shape=shape, dtype=dtype,
              has_rank=has_rank),
        graph("c", places[0], ("READ_VARIABLE", "v", "o"), ("ADD", "od", "y", "AddOptions"),
              ("ASSIGN_VARIABLE", "vy", ""), dtype=dtype),
    ]
    others = [initial(name, values) for name, values in (("i", first), ("j", second)) if values is not None]
    return build(*graphs[0], others=[*graphs[1:], *others], signatures=SIGNATURES)


FILES = {
    "without first values": file(),
    "with first values": file(np.float32([5, 6])),
    "with two first values": file(np.float32([5, 6]), np.float32([7, 8])),
    "of int64": file(np.int64([1 << 40, -6]), dtype="int64"),
    "of unknown rank": file(has_rank=False),
}

PROGRAM = """
import json, sys, numpy as np

def steps(interpreter, dtype):
    x, d, found = np.array([1, 2], dtype), np.array([10, 20], dtype), []
    runners = {name: interpreter.get_signature_runner(name) for name in ("write", "read", "count")}
    def call(name, **given):
        try:
            found.append([name, runners[name](**given)["y"].tolist()])
        except RuntimeError:
            found.append([name, "refused"])
    for order in (("read", "count", "write", "read"), ("count", "count", "read"), ("write", "count", "count", "read")):
        for name in order:
            call(name, **({"x": len(found) * x} if name == "write" else {"d": d}))
    runners["read"] = interpreter.get_signature_runner("read")
    call("read", d=d)
    interpreter.reset_all_variables()
    call("read", d=d)
    return found
"""

MAIN = """
from ai_edge_litert.interpreter import Interpreter, OpResolverType
made = Interpreter(sys.argv[1], experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
print(json.dumps(steps(made, sys.argv[2])))
"""


def ours(data, dtype):
    scope = {}
    exec(PROGRAM, scope)
    return json.loads(json.dumps(scope["steps"](litert.Interpreter(model_content=data), dtype)))


@pytest.mark.parametrize("name", FILES)
def test_signatures_share_variables_as_in_litert(name, tmp_path):
    if not litert_python():
        pytest.skip("LiteRT is not installed")
    (tmp_path / "m.tflite").write_bytes(FILES[name])
    (tmp_path / "p.py").write_text(PROGRAM + MAIN)
    dtype = "int64" if "int64" in name else "float32"
    assert ours(FILES[name], dtype) == json.loads(run_litert(tmp_path / "p.py", tmp_path / "m.tflite", dtype))


def test_what_signatures_read_and_write():
    found = ours(FILES["without first values"], "float32")
    assert found[:4] == [["read", "refused"], ["count", "refused"], ["write", [-2, -4]], ["read", [12, 24]]]
    assert ours(FILES["with first values"], "float32")[:2] == [["read", [15, 26]], ["count", [15, 26]]]


def test_invoke_shares_them_too_and_interpreters_do_not():
    one, other = (litert.Interpreter(model_content=FILES["with first values"]) for _ in range(2))
    read, d = one.get_signature_runner("read"), np.zeros(2, np.float32)
    assert read(d=d)["y"].tolist() == [5, 6]
    one.allocate_tensors()
    one.set_tensor(one.get_input_details()[0]["index"], np.float32([3, 4]))
    one.invoke()
    assert read(d=d)["y"].tolist() == [3, 4]
    assert other.get_signature_runner("read")(d=d)["y"].tolist() == [5, 6]


def test_a_variable_may_change_its_shape_between_programs():
    graphs = [graph("w", 0, ("ASSIGN_VARIABLE", "vx", ""), ("NEG", "x", "y")),
              graph("r", 0, ("READ_VARIABLE", "v", "o"), ("ADD", "od", "y", "AddOptions"), shape=(), has_rank=False)]
    for t in graphs[0][0][1:]:
        t.shape, t.signature = (1,), (-1,)
    interpreter = litert.Interpreter(model_content=build(*graphs[0], others=graphs[1:], signatures=SIGNATURES[:2]))
    write, read = (interpreter.get_signature_runner(name) for name in ("write", "read"))
    for values in ([1, 2], [3], [4, 5]):
        write(x=np.float32(values))
        assert read(d=np.float32([10, 10]))["y"].tolist() == (np.float32(values) + [10, 10]).tolist()
