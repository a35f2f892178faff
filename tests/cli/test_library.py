"""nnfast library: what compilers get to know."""

from pathlib import Path

import pytest

from nnfast.cli.main import main

PACKAGE = Path(__file__).resolve().parents[2] / "nnfast"
LIBRARY = str(PACKAGE / "lib" / "libneuralnetworks.so")


@pytest.mark.parametrize("options,words", [
    ([], [LIBRARY]), (["--path"], [LIBRARY]), (["--cflags"], [f"-I{PACKAGE / 'include'}"]),
    (["--libs"], [f"-L{PACKAGE / 'lib'}", f"-Wl,-rpath,{PACKAGE / 'lib'}", "-lneuralnetworks"]),
    (["--cmake"], [str(PACKAGE / "lib" / "cmake" / "neuralnetworks")]),
    (["--pkg-config"], [str(PACKAGE / "lib" / "pkgconfig")])])
def test_words(options, words, capsys):
    assert main(["library", *options]) == 0
    assert capsys.readouterr().out.split() == words
    assert Path(LIBRARY).exists() and (PACKAGE / "include" / "android" / "NeuralNetworks.h").exists()


def test_a_library_that_is_not_built(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("nnfast.cli.library.LIBRARY", tmp_path / "libneuralnetworks.so")
    assert main(["library"]) == 2
    found = capsys.readouterr().err
    assert "libneuralnetworks.so: is not there; build it" in found and found.count("\n") == 1
