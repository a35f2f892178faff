"""The programs of the documentation run as they stand."""

import os
import re
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import nnfast
from helpers.tflite.file_builder import Op, Tensor, build

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.S | re.M)
PEERS = ("ai_edge_litert", "onnxruntime", "openvino")

WALKS = ("docs/start.md", *sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("docs/tutorials/*.md")))
"""Pages whose blocks run one after the other and need no files but those of the package."""

SINGLE = {"README.md": 2, "docs/batch.md": 2, "docs/bursts.md": 2, "docs/cache.md": 1, "docs/delegate.md": 1,
          "docs/extensions.md": 2, "docs/hal.md": 1, "docs/litert.md": 1, "docs/passes.md": 1, "docs/service.md": 1}
"""{page: number of its blocks}; each runs by itself, in a folder with the files that pages name, but for those of
extensions.md, where the second one goes on."""


def blocks(page, *languages):
    """(language, text) of the blocks of a page in these languages."""
    return [found for found in BLOCK.findall((ROOT / page).read_text()) if found[0] in languages]


def files(folder):
    """The files that programs of the documentation name: small ones stand for them."""
    data = Path(nnfast.__file__).parent / "data"
    shutil.copy(data / "digits_float32.tflite", folder / "model.tflite")
    shape = (1, 8, 8, 1)
    x, y = Tensor("x", shape, "int8", scale=1 / 16), Tensor("y", shape, "int8", scale=1 / 256, zero_point=-128)
    signature = ("serving_default", 0, {"x": "image"}, {"y": "scores"})
    (folder / "mobilenet_v1.tflite").write_bytes(
        build([x, y], [Op("LOGISTIC", ["x"], ["y"])], ["x"], ["y"], signatures=[signature]))
    np.save(folder / "picture.npy", np.load(data / "digits.npz")["images"][:1, ..., None].astype(np.float32) / 16)


def as_python(language, text):
    """A block as a part of a Python program."""
    if language == "python":
        return text
    if language == "c":
        return f"open('program.c', 'w').write({text!r})\n"
    return f"subprocess.run(['bash', '-euc', {text!r}], check=True, stderr=subprocess.STDOUT)\n"


@pytest.mark.parametrize("page", WALKS)
def test_pages_run_from_top_to_bottom(page, execute):
    found = blocks(page, "python", "sh", "c")
    assert found
    if page.endswith("/c.md") and not shutil.which("gcc"):
        pytest.skip("there is no gcc")
    printed = execute("import subprocess\n" + "\n".join(as_python(*block) for block in found))
    if page.endswith("/c.md"):
        assert printed.count("0 0.5 1 3\n") == 2


@pytest.mark.parametrize("page, number", [(page, number) for page, count in SINGLE.items() for number in range(count)])
def test_single_blocks_run(page, number, execute, tmp_path):
    found = blocks(page, "python")
    assert len(found) == SINGLE[page]
    text = found[number][1]
    for package in ("dask", "zarr", "ai_edge_litert"):
        if package in text:
            pytest.importorskip(package)
    files(tmp_path)
    if page == "docs/extensions.md" and number:
        text = found[0][1] + text
    execute(text)


# -- the page for those who come from another runtime ----------------------------------------------------------------
COMING = "docs/coming.md"


def pairs():
    """(their program, its language, ours) of each runtime."""
    found = blocks(COMING, "python", "c")
    assert len(found) == 8
    return [pytest.param(*found[k], found[k + 1][1], id=name)
            for k, name in zip(range(0, 8, 2), ("litert", "onnxruntime", "openvino", "nnapi"))]


@pytest.mark.parametrize("language, theirs, ours", pairs())
def test_ours_prints_what_theirs_prints(language, theirs, ours, execute, tmp_path):
    files(tmp_path)
    printed = execute(ours)
    if language == "c":
        assert printed == "11 22\n"
        if shutil.which("gcc"):
            steps = "gcc program.c -o program $(nnfast library --cflags --libs)\n./program"
            assert execute("import subprocess\n" + as_python("c", theirs) + as_python("sh", steps)) == printed
        return
    assert printed == "2\n"
    if "model.onnx" in theirs:
        return  # there is no such file of this network
    module = next(name for name in PEERS if name in theirs)
    python = sys.executable if find_spec(module) else \
        os.environ.get("NNFAST_LITERT_PYTHON") if module == "ai_edge_litert" else None
    if python:
        assert execute(theirs, python, quiet=False) == printed


# -- every page --------------------------------------------------------------------------------------------------------
ALL = sorted(str(path.relative_to(ROOT)) for path in [ROOT / "README.md", *ROOT.glob("docs/**/*.md")])


@pytest.mark.parametrize("page", [page for page in ALL if blocks(page, "python")])
def test_python_blocks_are_python(page):
    for number, (_, text) in enumerate(blocks(page, "python")):
        compile(text, f"{page}, block {number}", "exec")


def test_every_python_block_is_run():
    assert {page for page in ALL if blocks(page, "python")} <= {*WALKS, *SINGLE, COMING}
