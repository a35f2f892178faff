"""`nnfast check` beside a LiteRT that errs on purpose, and beside the real one where there is one."""

import json

import numpy as np
import pytest

import nnfast
from helpers import fake_litert, litert_models
from helpers.commands import assert_one_error_line, call
from helpers.tflite.file_builder import Op, Tensor, build

INT8, FLOAT = (litert_models.DATA / f"digits_{kind}.tflite" for kind in ("int8", "float32"))


def tensor_of(path, name):
    """Index of a tensor."""
    return next(row["index"] for row in nnfast.Interpreter(path).get_tensor_details() if row["name"] == name)


def checked(tmp_path, *args):
    """(exit code, document) of a check."""
    code = call("check", *args, "--json", tmp_path / "check.json")
    return code, json.loads((tmp_path / "check.json").read_text())


def test_the_same_numbers(tmp_path, monkeypatch, capsys):
    fake_litert.install(tmp_path, monkeypatch)
    monkeypatch.setenv("COLUMNS", "80")
    code, document = checked(tmp_path, INT8)
    assert code == 0 and document["well"] and document["fused"] and document["first"] is None
    assert document["litert"] == "ai-edge-litert 9.9" and document["resolver"] == "BUILTIN_REF"
    assert [row["index"] for row in document["rows"]] == list(range(9))
    assert {row["verdict"] for row in document["rows"]} == {"same"}
    text = capsys.readouterr().out
    assert "9 results: 9 same, 0 within the bound, 0 carried, 0 differ, 0 not compared" in text
    assert "beside  ai-edge-litert 9.9, BUILTIN_REF" in text and max(map(len, text.splitlines()[1:])) <= 80


def test_the_first_difference_is_named(tmp_path, monkeypatch, capsys):
    conv2, dense = tensor_of(INT8, "conv2"), tensor_of(INT8, "dense7")
    fake_litert.install(tmp_path, monkeypatch, BUILTIN_REF={conv2: -3, dense: 1})
    code, document = checked(tmp_path, INT8)
    assert code == 1 and document["first"] == 2 and not document["well"]
    row = document["rows"][2]
    assert (row["verdict"], row["differing"], row["values"], row["where"]) == ("DIFFERS", 1, 2048, [0, 7, 7, 31])
    assert [row["verdict"] for row in document["rows"]].count("DIFFERS") == 2
    text = capsys.readouterr().out
    assert f"first difference: operator 2 CONV_2D, tensor {conv2} 'conv2': 1 of 2,048 values differ, by up to" in text


@pytest.mark.parametrize("path", [INT8, FLOAT])
def test_what_only_carries_a_difference_on_is_none_of_its_own(path, tmp_path, monkeypatch):
    fake_litert.install(tmp_path, monkeypatch, shift=1)
    code, document = checked(tmp_path, path)
    verdicts = [row["verdict"] for row in document["rows"]]
    assert code == 1 and document["first"] == 0 and verdicts.count("DIFFERS") == 1 and verdicts.count("carried") > 3


def test_floats_may_be_as_far_as_kernels_of_litert(tmp_path, monkeypatch):
    dense = tensor_of(FLOAT, "dense7")
    off = {dense: 0.5}
    fake_litert.install(tmp_path, monkeypatch, BUILTIN_REF=off, BUILTIN_WITHOUT_DEFAULT_DELEGATES=off, AUTO=off)
    code, document = checked(tmp_path, FLOAT)
    row = next(row for row in document["rows"] if row["tensor"] == dense)
    assert code == 1 and row["verdict"] == "DIFFERS" and row["bound"] == 2e-5 and row["largest"] > 1e-3
    monkeypatch.setenv("FAKE_LITERT", json.dumps({"BUILTIN_REF": off}))
    code, document = checked(tmp_path, FLOAT)
    row = next(row for row in document["rows"] if row["tensor"] == dense)
    assert code == 0 and row["verdict"] == "within" and row["bound"] == pytest.approx(row["largest"])


def test_operators_without_reference_kernel(tmp_path, monkeypatch, capsys):
    fake_litert.install(tmp_path, monkeypatch, refuses=["BUILTIN_REF"])
    assert checked(tmp_path, INT8)[1]["resolver"] == "BUILTIN_WITHOUT_DEFAULT_DELEGATES"
    monkeypatch.setenv("FAKE_LITERT", json.dumps({"refuses": ["BUILTIN_REF", "BUILTIN_WITHOUT_DEFAULT_DELEGATES"]}))
    capsys.readouterr()
    assert call("check", INT8) == 2
    assert_one_error_line(capsys, "ai-edge-litert 9.9 does not run it: cannot prepare")


def test_state_goes_from_call_to_call(tmp_path, monkeypatch):
    fake_litert.install(tmp_path, monkeypatch)
    path = tmp_path / "state.tflite"
    path.write_bytes(litert_models.stateful())
    code, document = checked(tmp_path, path)
    assert code == 0 and document["calls"] == 2 and document["inputs"] == "random values (seed 0), 2 calls"


def passing_loop():
    """k = k + 1 while k < limit, beside an x that the body passes on and nobody reads."""
    x, limit = Tensor("x", (2,)), Tensor.of("limit", np.array(5, np.int32))
    test = [Tensor("k", (), "int32"), x, limit, Tensor("t", (), "bool")], [Op("LESS", ["k", "limit"], ["t"])], \
        ["k", "x"], ["t"]
    body = [Tensor("k", (), "int32"), x, Tensor.of("one", np.array(1, np.int32)), Tensor("n", (), "int32")], \
        [Op("ADD", ["k", "one"], ["n"], "AddOptions")], ["k", "x"], ["n", "x"]
    tensors = [Tensor("k", (), "int32"), x, Tensor("n", (), "int32"), Tensor("y", (2,))]
    op = Op("WHILE", ["k", "x"], ["n", "y"], "WhileOptions", {"CondSubgraphIndex": 1, "BodySubgraphIndex": 2})
    return build(tensors, [op], ["k", "x"], ["n"], others=[test, body])


def test_what_litert_does_not_write_is_not_compared(tmp_path, monkeypatch):
    path = tmp_path / "loop.tflite"
    path.write_bytes(passing_loop())
    fake_litert.install(tmp_path, monkeypatch, BUILTIN_REF={3: 1})
    code, document = checked(tmp_path, path)
    assert code == 0 and [row["verdict"] for row in document["rows"]] == ["same", "-"]
    monkeypatch.setenv("FAKE_LITERT", json.dumps({"BUILTIN_REF": {2: 1}}))
    assert checked(tmp_path, path)[0] == 1


def test_inputs(tmp_path, monkeypatch, capsys):
    fake_litert.install(tmp_path, monkeypatch)
    path, pair = tmp_path / "two.tflite", tmp_path / "pair.npz"
    path.write_bytes(litert_models.two_signatures())
    names = nnfast.load(path).main
    names = [names.operands[operand].name for operand in names.inputs]
    np.savez(pair, **{name: np.float32([1, 2, 3]) for name in names})
    code, document = checked(tmp_path, path, "--inputs", pair)
    assert code == 0 and document["rows"][0]["shape"] == [3] and document["inputs"] == str(pair)
    shapes = [word for name in names for word in ("--shape", f"{name}=5")]
    code, document = checked(tmp_path, path, *shapes, "--seed", 7)
    assert code == 0 and document["rows"][0]["shape"] == [5] and document["inputs"] == "random values (seed 7)"

    capsys.readouterr()
    np.save(tmp_path / "wrong.npy", np.zeros((1, 8, 8, 1), np.float32))
    for words, arguments in (
            (("Got value of type FLOAT32", "expected type INT8"), (INT8, "--inputs", tmp_path / "wrong.npy")),
            (("--shape nobody: no such input",), (path, "--shape", "nobody=1")),
            (("not with --inputs",), (path, "--inputs", pair, *shapes)),
            (("--seed", "whole number"), (path, "--seed", "-1")),
            (("missing.tflite",), (tmp_path / "missing.tflite",))):
        assert call("check", *arguments) == 2
        assert_one_error_line(capsys, *words)


@pytest.mark.parametrize("script, words", [
    ("""echo '{"missing": true}'""", ["LiteRT is not installed in", "--litert-python or NNFAST_LITERT_PYTHON"]),
    ("kill -SEGV $$", ["digits_int8.tflite: LiteRT crashes on it (SIGSEGV)"]),
    ("echo No module named numpy >&2; exit 1", ["cannot run LiteRT: No module named numpy"]),
    ("exit 3", ["cannot run LiteRT: exit code 3"]),
])
def test_pythons_that_do_not_help(script, words, tmp_path, monkeypatch, capsys):
    python = fake_litert.python(tmp_path, script)
    assert call("check", INT8, "--litert-python", python) == 2
    assert_one_error_line(capsys, *words)
    monkeypatch.setenv("NNFAST_LITERT_PYTHON", str(python))
    assert call("check", INT8) == 2
    assert_one_error_line(capsys, *words)


def test_no_such_python(tmp_path, capsys):
    assert call("check", INT8, "--litert-python", tmp_path / "none") == 2
    assert_one_error_line(capsys, "none: cannot be run (No such file or directory)")


@pytest.mark.skipif(not litert_models.litert_python(), reason="ai_edge_litert is not installed and "
                                                              "NNFAST_LITERT_PYTHON not set")
def test_beside_litert(tmp_path):
    folder = litert_models.write(tmp_path)
    (folder / "loop.tflite").write_bytes(passing_loop())
    for path in (INT8, FLOAT, folder / "two.tflite", folder / "state.tflite", folder / "loop.tflite"):
        code, document = checked(tmp_path, path, "--litert-python", litert_models.litert_python())
        assert code == 0 and document["resolver"] == "BUILTIN_REF", document
        assert {row["verdict"] for row in document["rows"]} <= {"same", "within", "-"}
