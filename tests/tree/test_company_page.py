"""The part of the performance page about busy neighbours: what it makes of a measurement."""

import json
import runpy

import pytest

from helpers.tree import ROOT

pytest.importorskip("matplotlib")
SCRIPT = ROOT / "ci" / "company_page.py"


def row(engine, factor, threads=2, neighbours=1):
    quantiles = [factor * (1 + percent / 100) for percent in (*range(1, 100), 99.9)]
    return {"model": "small", "threads": threads, "neighbours": neighbours, "engine": engine, "calls": 100,
            "cpu_ms": factor, "quantiles_ms": quantiles}


def rows(ours, theirs, **where):
    return [row("own", ours, **where), row("openmp", 3.0, **where), row("litert", theirs, **where)]


@pytest.fixture
def page(tmp_path):
    """The functions of the script, with a page of its own."""
    (tmp_path / "page.md").write_text("before\n<!-- company -->\nold\n<!-- end -->\nafter\n<!-- end -->\n")
    (tmp_path / "page").mkdir()
    module = runpy.run_path(str(SCRIPT))
    module["write_page"].__globals__["PAGE"] = tmp_path / "page.md"
    return module


def test_the_page_shows_quantiles_and_in_how_many_rows_nnfast_is_ahead(page, tmp_path):
    first, later = tmp_path / "first.json", tmp_path / "later.json"
    first.write_text(json.dumps(rows(1.0, 2.0) + rows(4.0, 2.0, neighbours=2) + rows(5.0, 5.0, threads=1)))
    later.write_text(json.dumps(rows(3.0, 2.0)))
    page["main"](["page", str(first), str(later), "--about", "A processor"])
    text = (tmp_path / "page.md").read_text()
    assert "A processor. The 90th percentile is at or below LiteRT's in 1 of 3 rows" in text
    assert "| small | 2 | 1 | 4.5, 5.7, 3 | 4.5, 5.7, 3 | 3, **3.8**, 2 |" in text  # of the later file
    assert text.startswith("before\n") and text.endswith("<!-- end -->\nafter\n<!-- end -->\n") and "old" not in text
    for busy in (1, 2):
        drawn = (tmp_path / "page" / f"company_{busy}.svg").read_text()
        assert "LiteRT + XNNPACK" in drawn and "nnfast, OpenMP" in drawn


@pytest.mark.parametrize("text", ["{", "[{}]", "[1]", None])
def test_a_file_that_is_no_measurement_is_named(page, tmp_path, text):
    path = tmp_path / "other.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(SystemExit, match="other.json: not what `measure --json` writes"):
        page["main"](["page", str(path), "--about", "A processor"])
    assert "old" in (tmp_path / "page.md").read_text()


def test_a_measurement_has_the_calls_of_each_engine(page, monkeypatch):
    class Worker:
        def __init__(self, engine, model, threads):
            self.seconds = {"own": 0.001, "openmp": 0.002, "litert": 0.004}[engine] / threads

        def turn(self, seconds):
            return [self.seconds] * 9 + [10 * self.seconds], 10 * self.seconds

        def close(self):
            pass

    monkeypatch.setitem(page["measure"].__globals__, "Worker", Worker)
    found = list(page["measure"](["a/small.tflite"], [1, 2], [0, 1], 3))
    assert [(one["threads"], one["neighbours"], one["engine"]) for one in found] == [
        (threads, busy, engine) for threads in (1, 2) for busy in (0, 1) for engine in ("own", "openmp", "litert")]
    assert page["at"](found[0], 50) == 1.0 and page["at"](found[0], 90) == 10.0 and found[0]["calls"] == 30
    assert found[0]["model"] == "small" and found[0]["cpu_ms"] == 1.0
