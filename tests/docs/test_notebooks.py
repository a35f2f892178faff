"""The notebooks run from top to bottom, and hold nothing but their cells."""

import ast
import json
from importlib.util import find_spec
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def name(path):
    return path.name


def code(path):
    """The texts of the code cells."""
    return ["".join(cell["source"]) for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]


def test_there_are_notebooks():
    assert [path.stem for path in NOTEBOOKS] == ["digits", "driver"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=name)
def test_cells_run_in_order(path, execute):
    assert execute("\n".join(code(path)))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=name)
def test_cells_are_plain_python(path):
    """No magic of one program: cells run anywhere, in lines that fit."""
    for text in code(path):
        ast.parse(text)
        assert max(map(len, text.splitlines())) <= 120


@pytest.mark.parametrize("path", NOTEBOOKS, ids=name)
def test_outputs_are_stripped(path):
    found = json.loads(path.read_text())
    assert (found["nbformat"], found["nbformat_minor"]) == (4, 5) and path.stat().st_size < 20_000
    assert found["metadata"]["kernelspec"]["name"] == "python3" and set(found["metadata"]["language_info"]) == {"name"}
    numbers = [cell["id"] for cell in found["cells"]]
    assert len(set(numbers)) == len(numbers)
    assert found["cells"][0]["cell_type"] == "markdown" and found["cells"][0]["source"][0].startswith("# ")
    for cell in found["cells"]:
        assert cell["metadata"] == {}
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [] and cell["execution_count"] is None


@pytest.mark.parametrize("path", NOTEBOOKS, ids=name)
def test_jupyter_runs_them(path, tools, tmp_path, monkeypatch):
    if not (find_spec("nbclient") and find_spec("ipykernel")):
        pytest.skip("nbclient or ipykernel is not installed; the cells have run without")
    import nbclient
    import nbformat

    from helpers.processes import environment

    monkeypatch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3",
                            resources={"metadata": {"path": str(tmp_path)}}).execute()
    pictures = [data for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs
                for data in output.get("data", ()) if data == "image/png"]
    assert len(pictures) == (2 if path.stem == "digits" else 0)
