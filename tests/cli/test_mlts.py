"""`nnfast mlts`: table, JSON, CSV and page of small models, exit codes, bad input."""

import json
import math
import re
from xml.etree import ElementTree

import pytest

from helpers import mlts_data
from helpers.commands import assert_one_error_line, call, drawing
from helpers.pages import Page
from nnfast.cli import plots
from nnfast.cli.page import write_document


@pytest.fixture
def folder(tmp_path):
    mlts_data.model(tmp_path, "digits")
    mlts_data.model(tmp_path, "quantized", "int8")
    mlts_data.sequences(tmp_path)
    mlts_data.photos(tmp_path / "photos")
    return tmp_path


@drawing
def test_everything_at_once(folder, capsys):
    files = [folder / name for name in ("r.html", "r.json", "r.csv")]
    assert call("mlts", "--models", folder, "--seconds", 0, "--threads", 1, "--baseline", "reference", "--levels",
                "--report", files[0], "--json", files[1], "--csv", files[2]) == 0
    text = capsys.readouterr().out
    assert "3 good, 0 failed, 0 skipped" in text and "12 of 12 equal" in text and "phones % 0" in text
    document = json.loads(files[1].read_text())
    assert [(model["name"], model["verdict"]) for model in document["models"]] == [
        ("asr_small", "good"), ("digits", "good"), ("quantized", "good")]
    assert document["cpu"] and document["level"] and document["threads"] == 1 and document["baseline"] == "reference"
    model = document["models"][2]
    assert model["baseline"]["difference"]["equal"] == 12 and model["compilation"]["cache_bytes"] > 0
    assert "scalar" in model["levels"] and model["latency"]["count"] == len(model["latency"]["times_ms"]) == 12
    assert len(files[2].read_text().splitlines()) == 8
    page = Page(files[0].read_text())
    assert page.faults == []
    summary = page.rows[:4]
    assert summary[0][:2] == ["verdict", "model"] and [row[:2] for row in summary[1:]] == [
        ["good", "asr_small"], ["good", "digits"], ["good", "quantized"]]
    assert "3 of 3 models good" in page.text and document["cpu"] in page.text and document["nnfast"] in page.text
    whole = files[0].read_text()
    assert whole.count("<svg") >= 2 + 3 * 4 and "prefers-color-scheme: dark" in whole and "http" not in whole


@drawing
def test_failures_are_told_and_the_exit_code_is_1(folder, capsys):
    (folder / "broken.tflite").write_bytes(b"<script>")
    (folder / "photos" / "digit-1.png").unlink()
    assert call("mlts", "--models", folder, "--seconds", 0, "--limit", 4, "--report", folder / "r.html",
                "--json", folder / "r.json") == 1
    text = capsys.readouterr().out
    assert "1 good, 3 failed" in text and "broken: " in text and "photos are missing, the first is number 1" in text
    page = Page((folder / "r.html").read_text())
    assert page.faults == [] and "1 of 4 models good" in page.text and "photos are missing" in page.text
    assert [model["verdict"] for model in json.loads((folder / "r.json").read_text())["models"]] == [
        "good", "failed", "failed", "failed"]


@drawing
def test_what_a_burst_does_not_carry_is_skipped(folder, capsys):
    assert call("mlts", "--models", folder, "--seconds", 0, "--via", "burst", "--report", folder / "r.html") == 0
    assert "2 good, 0 failed, 1 skipped" in capsys.readouterr().out
    assert "a burst carries no state" in Page((folder / "r.html").read_text()).text


def test_no_litert_is_told_once(folder, capsys, monkeypatch):
    python = folder / "python"
    python.write_text("""#!/bin/sh\necho '{"missing": true}'\n""")
    python.chmod(0o755)
    monkeypatch.setenv("NNFAST_LITERT_PYTHON", str(python))
    assert call("mlts", "--models", folder, "--seconds", 0, "--only", "digits", "--baseline", "litert") == 0
    assert capsys.readouterr().out.count("LiteRT is not installed in") == 1


@pytest.mark.parametrize("arguments, words", [
    (["--models", "absent"], ["absent: no such folder"]),
    (["--models", "{}/photos"], ["holds no .tflite file"]),
    (["--data", "absent"], ["absent: no such folder"]),
    (["--only", "nothing"], ["--only nothing: no model"]),
    (["--report", "absent/r.html"], ["folder absent does not exist"]),
    (["--csv", "{}"], ["is a folder"]),
    (["--seconds", "-1"], ["--seconds"]),
    (["--baseline", "other"], ["--baseline"]),
    (["--levels", "--via", "service"], ["--levels", "--via"]),
])
def test_bad_arguments(arguments, words, folder, capsys):
    arguments = [text.format(folder) for text in arguments]
    if "--models" not in arguments:
        arguments += ["--models", folder]
    assert call("mlts", *arguments) == 2
    assert_one_error_line(capsys, *words)


@drawing
def test_plots_of_any_numbers(tmp_path):
    bar = plots.Bar
    drawn = [plots.bars([]), plots.bars([bar("<a>", [0.0], "0")]), plots.bars([bar("n", [math.nan], "nan", 2.0)]),
             plots.bars([bar("$x$ $y$ \\frac", [1.0, math.inf], "$1$", None, (0.5, 2.0))], "ms"),
             plots.histogram([1.0], {"p50": 1.0}), plots.histogram([1.0, 1.0, 9.0], {"p50": 1.0, "p99": 1.0}),
             plots.bars([bar("n", [1.0], "1"), bar("m", [5.0], "5")], logarithmic=True),
             plots.bars([], "ms", 1.0, True), plots.bars([bar("n", [0.0], "0")], logarithmic=True),
             plots.errors([("e", [0.0, 1e-12, 9.0], 4.0)])]
    write_document(tmp_path / "p.html", "a & b", "".join(plots.figure("<c>", svg) for svg in drawn))
    page = Page((tmp_path / "p.html").read_text())
    assert page.faults == [] and "<a>" in page.text and "<c>" in page.text
    assert "$x$ $y$ \\frac" in page.text, "names are no formulas"


@drawing
def test_a_histogram_counts_every_time():
    drawn = plots.histogram([float(n) for n in range(1, 101)] + [1000.0], {"p50": 50.0, "p99": 99.0})
    counts = [patch.get_height() for patch in drawn.axes[0].patches]
    assert sum(counts) == 101 and counts[-1] == 3  # 99, the last mark, and what is longer


@drawing
def test_bars_have_axes_and_spread():
    drawn = plots.bars([plots.Bar("a", [2.0, 1.0], "2 / 1", 1.5, (1.8, 2.5)), plots.Bar("b", [4.0], "4")], "ms")
    axes, = drawn.axes
    assert [(bar.get_x(), bar.get_width()) for bar in axes.patches] == [(0, 2), (0, 1), (0, 4)]
    assert axes.get_xlabel() == "ms" and axes.get_xlim()[1] >= 4 and axes.get_ylim()[0] > axes.get_ylim()[1]
    assert list(axes.lines[0].get_xdata()) == [1.8, 2.5]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b"]


@drawing
def test_pictures_of_their_own_have_both_themes(tmp_path):
    drawn = plots.bars([plots.Bar("a", [2.0], "2")], "ms")
    for _ in range(2):
        plots.save(drawn, str(tmp_path / "p.svg"))
    text = (tmp_path / "p.svg").read_text()
    assert ElementTree.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"
    assert "prefers-color-scheme: dark" in text and text.count("var(--one)") == 1
    for light, dark in plots.THEMES.values():
        assert text.count(light) == text.count(dark) == 1, "only where the variables are given"
    inline = plots.svg(drawn)
    assert "http" not in inline and not re.search("#[0-9a-f]{6}", inline)
