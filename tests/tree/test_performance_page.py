"""The page of performance figures: what it keeps of a run, and what it says of a level."""

import json
import runpy
import subprocess
import sys

import pytest

from helpers.tree import ROOT

pytest.importorskip("matplotlib")
SCRIPT = ROOT / "ci" / "performance_page.py"


def row(model, threads, peer, median, **more):
    return {"model": model, "threads": threads, "peer": peer, "n": 40, "median_ms": 2 * median, "min_ms": median / 2,
            "clean_median_ms": median, "clean_p90_ms": 1.23456789 * median, "prepare_s": 0.01, "first_s": 0.002,
            "cold_s": 0.2, "rss_kib": 40960, "err": [0.0], "version": "1.2", "turns": [[1, 2, 3]], **more}


def results():
    """Two models on one and two threads."""
    return [row("small_int8", threads, peer, median / threads)
            for threads in (1, 2)
            for peer, median in (("nnfast", 1.0), ("litert-xnnpack", 2.0), ("openvino-f32", 0.8))] + [
        row("small_f32", threads, peer, median / threads)
        for threads in (1, 2)
        for peer, median in (("nnfast", 1.0), ("litert-xnnpack", 3.0), ("openvino-f32", 1.5))] + [
        row("small_f32", 1, "nnfast-bf16", 0.5, err=[0.001]), row("small_f32", 1, "openvino-default", 0.6, err=[0.002]),
        {"model": "small_f32", "threads": 1, "peer": "onnxruntime", "error": "no such file"}]


@pytest.fixture
def page(tmp_path):
    """The functions of the script, with a page of its own."""
    (tmp_path / "page.md").write_text("".join(f"text of {name}\n<!-- {name} -->\nold\n<!-- end -->\n"
                                              for name in ("levels", "latency", "bf16", "start")))
    module = runpy.run_path(str(SCRIPT))
    module["folder"].__globals__["PAGE"] = tmp_path / "page.md"
    return module


@pytest.fixture
def run(tmp_path):
    path = tmp_path / "peers.json"
    path.write_text(json.dumps({"results": results()}))
    return str(path)


def add(page, *arguments):
    page["main"](["add", *arguments, "--cpu", "A processor", "--date", "2026-01-02"])


def test_a_level_keeps_medians_and_spread_but_no_samples(page, run, tmp_path):
    add(page, run, "--level", "avx512vnni")
    kept = json.loads((tmp_path / "page" / "avx512vnni.json").read_text())
    assert (kept["level"], kept["cpu"], kept["date"]) == ("avx512vnni", "A processor", "2026-01-02")
    assert kept["versions"]["litert-xnnpack"] == "1.2"
    assert len(kept["results"]) == 14 and not any("turns" in one for one in kept["results"])
    rows = {(one["model"], one["threads"], one["peer"]): one for one in kept["results"]}
    ours = rows["small_f32", 2, "nnfast"]
    assert ours["clean_median_ms"] == 0.5 and ours["clean_p90_ms"] == 0.61728


def test_levels_stand_one_after_the_other_with_plots(page, run, tmp_path):
    add(page, run, "--level", "avx512amx")
    add(page, run, "--level", "avx2")
    text = (tmp_path / "page.md").read_text()
    assert "\nold\n" not in text and text.index("### AVX2") < text.index("### AMX")
    assert text.count("A processor, 2026-01-02; nnfast 1.2, LiteRT + XNNPACK 1.2, OpenVINO 1.2.") >= 2
    for level in ("avx2", "avx512amx"):
        for group in ("float32", "int8", "bf16"):
            assert f"(page/{level}_{group}.svg)" in text
            assert (tmp_path / "page" / f"{level}_{group}.svg").read_text().startswith("<svg")
    assert "uint8" not in text
    before = text
    page["main"]([])
    assert (tmp_path / "page.md").read_text() == before


def test_products_that_saturate_are_no_exact_peer(page, run, tmp_path):
    add(page, run, "--level", "avx512amx")
    add(page, run, "--level", "avx2")
    low, high = (tmp_path / "page.md").read_text().split("### AMX")
    assert "| small_int8 | **1.00** | 2.00 | (0.800) | 2.00x | 2.00x |" in low
    assert "| small_int8 | **1.00** | 2.00 | 0.800 | 0.80x | 2.00x |" in high
    assert "| AVX2 | A processor | 1 | 1.73x | 2 of 2 | 2.45x | 0.80x |" in low
    assert "| AMX | A processor | 1 | 1.10x | 1 of 2 | 2.45x |  |" in low


def test_another_processor_is_a_row_without_tables(page, run, tmp_path):
    add(page, run, "--level", "avx512vnni")
    add(page, run, "--level", "avx512")
    tables = (tmp_path / "page.md").read_text().count("| small_int8 |")
    page["main"](["add", run, "--level", "avx512", "--cpu", "Maker Q9 (Core 7: fast), 2 virtual processors", "--date",
                  "2026-01-03", "--beside", "core7"])
    text = (tmp_path / "page.md").read_text()
    assert (tmp_path / "page" / "avx512.core7.json").exists() and text.count("| small_int8 |") == tables
    levels = text.partition("<!-- end -->")[0].splitlines()
    rows = [line.split(" | ")[:2] for line in levels if line.startswith("| AVX")]
    assert rows == [["| AVX-512", "A processor"]] * 2 + [["| AVX-512", "Maker Q9 (Core 7)"]] * 2 + [
        ["| AVX-512 VNNI", "A processor"]] * 2


def test_the_name_of_another_processor_is_part_of_a_file_name():
    done = subprocess.run([sys.executable, SCRIPT, "add", "x.json", "--level", "avx2", "--cpu", "c", "--date", "d",
                           "--beside", "../x"], capture_output=True, text=True)
    assert done.returncode == 2 and "must be small letters and digits" in done.stderr.splitlines()[-1]


def test_the_last_file_of_a_row_counts(page, run, tmp_path):
    later = tmp_path / "later.json"
    later.write_text(json.dumps({"results": [row("small_f32", 1, "nnfast", 0.25)]}))
    add(page, run, str(later), "--level", "avx512")
    assert "| small_f32 | **0.250** | 3.00 | 1.50 | 6.00x | 12.00x |" in (tmp_path / "page.md").read_text()


@pytest.mark.parametrize(("text", "said"), [
    ("{", "not what bench_peers.py --json writes"), ("[]", "not what bench_peers.py --json writes"),
    ('{"results": []}', "no results of nnfast")])
def test_other_files_are_refused_in_a_line(page, tmp_path, text, said):
    path = tmp_path / "wrong.json"
    path.write_text(text)
    with pytest.raises(SystemExit, match=said):
        add(page, str(path), "--level", "avx2")
    assert not (tmp_path / "page").exists()


def test_a_level_that_nobody_knows_is_refused():
    done = subprocess.run([sys.executable, SCRIPT, "add", "x.json", "--level", "sse", "--cpu", "c", "--date", "d"],
                          capture_output=True, text=True)
    assert done.returncode == 2 and "invalid choice: 'sse'" in done.stderr.splitlines()[-1]


def test_the_page_of_the_docs_is_made_of_the_files_beside_it(page):
    docs = ROOT / "docs"
    found = sorted(path.stem for path in (docs / "performance").glob("*.json"))
    levels = [name for name in found if "." not in name]
    text = (docs / "performance.md").read_text()
    shown = [level for level, title in page["LEVELS"].items() if f"\n### {title}\n" in text]
    assert sorted(shown) == levels
    for level in levels:
        kept = page["Run"](docs / "performance" / f"{level}.json")
        assert kept.level == level and page["summary"]([kept]).splitlines()[-1] in text
        assert all(page["latency"](kept, threads) in text for threads in kept.threads)
    for name in set(found) - set(levels):
        beside = page["Run"](docs / "performance" / f"{name}.json")
        assert name.startswith(f"{beside.level}.") and page["summary"]([beside]).splitlines()[-1] in text
