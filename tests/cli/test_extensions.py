"""Commands know the vendor extensions of installed packages."""

import json
import sys

import pytest

import nnfast
from helpers.commands import assert_one_error_line, call
from nnfast import extensions

NAME = "com.example.twice"
MODULE = """
import numpy as np
from nnfast.extensions import Extension, Operation, Type

CELLS = Type("CELLS", 3, np.int64)
TWICE = Operation("TWICE", 7, "x:X -> y:X", {"X": [CELLS]}, infer=lambda node: [node["x"].shape],
                  run=lambda node, inputs: [inputs[0] * 2])
EXTENSION = Extension("com.example.twice", [CELLS], [TWICE])
"""


@pytest.fixture
def install(tmp_path, monkeypatch):
    """install(entry points text, module text): a package as pip leaves it."""
    def put(entries, module=MODULE):
        info = tmp_path / "twice-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: twice\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[nnfast.extensions]\n{entries}\n")
        (tmp_path / "installed_twice.py").write_text(module)

    monkeypatch.syspath_prepend(str(tmp_path))
    yield put
    extensions.unregister(NAME)
    sys.modules.pop("installed_twice", None)


def twice_model():
    """The model of a client that has nothing but names and ids."""
    b = nnfast.ModelBuilder("twice")
    kind = b.extension_code(NAME, 3)
    x, y = b.input(kind, (4,)), b.output(kind, (4,))
    return b.operation(b.extension_code(NAME, 7), [x], [y]).build()


def test_info_lists_them(install, capsys, tmp_path):
    assert call("info") == 0
    assert "extensions  none installed\n" in capsys.readouterr().out
    install("twice = installed_twice:EXTENSION")
    assert call("info", "--json", tmp_path / "i.json") == 0
    assert f"extensions  {NAME}: operations TWICE; types CELLS\n" in capsys.readouterr().out
    document = json.loads((tmp_path / "i.json").read_text())
    assert document["extensions"] == {NAME: {"types": ["CELLS"], "operations": ["TWICE"]}}


def test_models_with_them_run_and_are_drawn_by_name(install, capsys, tmp_path):
    path = tmp_path / "m.nnapi"
    twice_model().save(path)
    assert call("explain", path) == 2
    assert_one_error_line(capsys, "this device does not have extension " + NAME)
    assert call("dump", path) == 0
    assert "extension type 0x00010003(4)" in capsys.readouterr().out
    install("twice = installed_twice:EXTENSION")
    for command in ("explain", "run"):
        assert call(command, path) == 0
    assert "TWICE" in capsys.readouterr().out
    assert call("dump", path) == 0
    text = capsys.readouterr().out
    assert 'label="0 = input[0]\\nCELLS(4)"' in text and 'label="0: TWICE"' in text


@pytest.mark.parametrize("module, said", [
    ("EXTENSION = 5", "InvalidArgument: register: got 5, must be an extensions.Extension"),
    ("raise RuntimeError('broken')", "RuntimeError: broken"),
    ("", "AttributeError: "),
])
def test_one_that_cannot_be_loaded_is_left_out(install, capsys, module, said):
    install("twice = installed_twice:EXTENSION", module)
    assert call("info") == 0
    out, err = capsys.readouterr()
    assert "extensions  none installed\n" in out
    assert err.startswith("nnfast: extension installed_twice:EXTENSION is left out: " + said) and err.count("\n") == 1
    with pytest.raises((RuntimeError, AttributeError, nnfast.Error)):
        extensions.load_installed()


def test_the_others_are_loaded_all_the_same(install, capsys):
    install("a = installed_twice:NOTHING\nb = installed_twice:EXTENSION")
    assert call("info") == 0
    out, err = capsys.readouterr()
    assert f"extensions  {NAME}: " in out and "installed_twice:NOTHING is left out" in err
