"""`nnfast dump`."""

import json
import shutil
from pathlib import Path

import pytest

import nnfast
from helpers.commands import assert_one_error_line, call
from nnfast.cli import dump

MODEL = Path(nnfast.__file__).parent / "data" / "digits_int8.tflite"


def test_text(capsys, tmp_path):
    assert call("dump", MODEL, "--json", tmp_path / "d.json") == 0
    text = capsys.readouterr().out
    assert text.startswith("// digits_int8\ndigraph {\n") and text.endswith("}\n") and text.count("shape=box") == 9
    document = json.loads((tmp_path / "d.json").read_text())
    assert document["dot"] == text and document["operations"] == 9 and document["subgraphs_omitted"] == 0
    assert call("dump", MODEL, "--dot", tmp_path / "d.dot") == 0
    assert (tmp_path / "d.dot").read_text() == text and "9 operations" in capsys.readouterr().out


@pytest.mark.skipif(shutil.which("dot") is None, reason="graphviz is not installed")
@pytest.mark.parametrize("kind, start", [("png", b"\x89PNG"), ("svg", b"<?xml"), ("PDF", b"%PDF")])
def test_pictures(tmp_path, kind, start):
    assert call("dump", MODEL, "--image", tmp_path / f"d.{kind}") == 0
    assert (tmp_path / f"d.{kind}").read_bytes().startswith(start)


def test_refusals(capsys, monkeypatch, tmp_path):
    assert call("dump", MODEL, "--image", tmp_path / "d.bmp") == 2
    assert_one_error_line(capsys, "d.bmp", ".png, .svg, .pdf")
    assert call("dump", MODEL, "--dot", tmp_path / "no" / "d.dot") == 2
    assert_one_error_line(capsys, "does not exist")
    monkeypatch.setattr(dump.shutil, "which", lambda name: None)
    assert call("dump", MODEL, "--image", tmp_path / "d.png") == 2
    assert_one_error_line(capsys, "graphviz", "--dot")
    monkeypatch.setattr(dump.shutil, "which", lambda name: "/bin/false")
    assert call("dump", MODEL, "--image", tmp_path / "d.png") == 2
    assert_one_error_line(capsys, "`dot` failed")
