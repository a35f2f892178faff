"""`nnfast view`: what is on the page, where it stands, and that a browser draws it."""

import json
import re
import shutil
import subprocess

import pytest

import nnfast
from helpers.commands import ROOT, assert_one_error_line, call
from helpers.service import endless_model
from nnfast.cli import view

DIGITS = ROOT / "nnfast" / "data" / "digits_int8.tflite"


def document_in(path):
    """The data of a page."""
    text = path.read_text()
    return json.loads(re.search(r'<script id="model" type="application/json">(.*?)</script>', text, re.S)[1])


@pytest.fixture
def digits(tmp_path):
    assert call("view", DIGITS, "--output", tmp_path / "d.html", "--seconds", "0.01") == 0
    return document_in(tmp_path / "d.html")


def test_operations_have_kernels_shapes_and_times(digits):
    graph, = digits["graphs"]
    rows = nnfast.Device().prepare(nnfast.load(str(DIGITS))).explain().rows
    boxes = [node for node in graph["nodes"] if node["kind"] == "operation"]
    assert [box["title"] for box in boxes] == [f"{row['index']} {row['operation']}" for row in rows]
    for box, row in zip(boxes, rows):
        facts = dict(box["facts"])
        assert row["joined"] is not None or facts["kernel"] == row["kernel"]
        assert facts["time"].endswith("%") and "input 0" in facts and "output 0" in facts
    assert sum(box["share"] for box in boxes) == pytest.approx(1)
    source = dict(graph["nodes"][0]["facts"])["input"]
    assert source.endswith("TENSOR_QUANT8_ASYMM_SIGNED 1x8x8x1, scale 0.00392157, zero point -128")
    assert "times: median of" in digits["facts"][-1]


def test_boxes_stand_below_what_they_read_and_not_on_each_other(digits):
    b = nnfast.ModelBuilder()
    x = b.input("TENSOR_FLOAT32", (1, 4))
    branches = [b.add("RELU", [x], ("TENSOR_FLOAT32", (1, 4))) for _ in range(5)]
    left = b.add("CONCATENATION", [*branches, b.scalar(1)], ("TENSOR_FLOAT32", (1, 20)))
    model = b.outputs(b.add("TANH", [left], ("TENSOR_FLOAT32", (1, 20))), branches[0]).build()
    branched = view.document_of("b", model, nnfast.Device().prepare(model).explain(), {}, "")
    for document in (digits, branched):
        for graph in document["graphs"]:
            nodes = graph["nodes"]
            assert all(nodes[a]["y"] < nodes[b]["y"] for a, b in graph["edges"])
            places = sorted((node["y"], node["x"]) for node in nodes)
            assert all(y != w or z - x >= view.WIDTH for (y, x), (w, z) in zip(places, places[1:]))
            assert min(node["x"] for node in nodes) == 0
            assert max(node["x"] for node in nodes) + view.WIDTH == pytest.approx(graph["width"])
    assert len(branched["graphs"][0]["edges"]) == 5 + 5 + 1 + 2


def test_graphs_of_loops_are_there_and_reached(tmp_path):
    endless_model().save(str(tmp_path / "loop.nnapi"))
    assert call("view", tmp_path / "loop.nnapi", "--output", tmp_path / "l.html", "--seconds", "0") == 0
    main, *inner = document_in(tmp_path / "l.html")["graphs"]
    loop = next(node for node in main["nodes"] if node["kind"] == "operation")
    assert loop["title"] == "0 WHILE" and loop["graphs"] == [1, 2] and len(inner) == 2
    assert all(any(node["kind"] == "operation" for node in graph["nodes"]) for graph in inner)


def test_names_are_text_and_nothing_else(tmp_path):
    b = nnfast.ModelBuilder("</script><b>")
    x = b.input("TENSOR_FLOAT32", (1,), name="</script><script>alert(1)</script>")
    model = b.outputs(b.add("RELU", [x], ("TENSOR_FLOAT32", (1,)))).build()
    model.save(str(tmp_path / "m.nnapi"))
    assert call("view", tmp_path / "m.nnapi", "--output", tmp_path / "m.html", "--seconds", "0") == 0
    assert (tmp_path / "m.html").read_text().count("</script>") == 2
    assert document_in(tmp_path / "m.html")["graphs"][0]["nodes"][0]["title"] == "</script><script>alert(1)</script>"


def test_bad_input(capsys, tmp_path):
    assert call("view", tmp_path / "none.tflite") == 2
    assert_one_error_line(capsys, "none.tflite")
    assert call("view", DIGITS, "--output", tmp_path / "none" / "d.html") == 2
    assert_one_error_line(capsys, "does not exist")


def test_a_browser_draws_it(tmp_path, digits):
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("there is no chromium")
    shown = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=3000",
                            f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom",
                            (tmp_path / "d.html").as_uri()], capture_output=True, text=True, timeout=300).stdout
    count = len(digits["graphs"][0]["nodes"])
    assert f'data-drawn="{count}"' in shown
    assert len(re.findall(r"<button>", shown)) == count
