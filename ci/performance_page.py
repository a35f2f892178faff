"""Writes docs/performance.md: the peers beside each other, from the JSON of one interleaved run, with a plot per group.

    python ci/performance_page.py peers.json [more.json] --cpu "..." --date ...
    python ci/performance_page.py            # the plots alone, of the medians on the page

The text of the page stays; tables go between its markers, plots into docs/performance_<group>.svg. Needs nnfast[plot].
"""

import argparse
import json
import re
import sys
from math import exp, log
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from nnfast.cli import plots

DOCS = Path(__file__).resolve().parents[1] / "docs"
OURS, ANCHOR = "nnfast", "litert-xnnpack"
EXACT = (ANCHOR, "onnxruntime", "openvino-f32")
BF16, BF16_PEER = "nnfast-bf16", "openvino-default"
NAMES = {OURS: "nnfast", ANCHOR: "LiteRT + XNNPACK", "onnxruntime": "ONNX Runtime", "openvino-f32": "OpenVINO",
         BF16: "nnfast bf16", BF16_PEER: "OpenVINO bf16"}
COLOURS = {OURS: "green", ANCHOR: "amber", "onnxruntime": "violet", "openvino-f32": "blue", BF16: "green",
           BF16_PEER: "blue"}
GROUPS = {"float32": "_f32$", "int8": "_int8$", "uint8": "_uint8$"}
RECURRENT = ("asr_like_f32", "tts_like_f32", "tts_seq32_f32")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("json", nargs="*", help="what bench_peers.py wrote")
    parser.add_argument("--cpu", help="the machine, in words")
    parser.add_argument("--date", help="when it was measured")
    a = parser.parse_args()
    if a.json and not (a.cpu and a.date):
        parser.error("figures need --cpu and --date")
    rows = {}
    for path in a.json:
        for row in json.loads(Path(path).read_text())["results"]:
            if "median_ms" in row:
                rows[row["model"], row["threads"], row["peer"]] = row
    text = (DOCS / "performance.md").read_text()
    rows = rows or rows_of_page(text)
    models = sorted({model for model, _, _ in rows})
    if a.json:
        threads = sorted({count for _, count, _ in rows})
        text = replaced(text, "machine", f"{a.cpu}, {a.date}.")
        text = replaced(text, "latency", "\n\n".join(latency(rows, models, count) for count in threads))
        text = replaced(text, "bf16", "\n\n".join(reduced(rows, models, count) for count in threads))
        text = replaced(text, "start", start(rows, models))
        (DOCS / "performance.md").write_text(text)
    for group, pattern in GROUPS.items():
        chosen = [m for m in models if re.search(pattern, m) and m not in RECURRENT]
        plot(rows, chosen, (OURS, *EXACT), DOCS / f"performance_{group}.svg", f"{group}, 1 thread")
    plot(rows, [m for m in RECURRENT if m in models], (OURS, *EXACT), DOCS / "performance_recurrent.svg",
         "recurrent, 1 thread")
    plot(rows, [m for m in models if (m, 1, BF16) in rows and m not in RECURRENT], (BF16, BF16_PEER),
         DOCS / "performance_bf16.svg", "bf16 where it is asked for, 1 thread")


def replaced(text, name, content):
    """The page with new content between a pair of markers."""
    pattern = re.compile(rf"(<!-- {name} -->\n).*?(\n<!-- end -->)", re.DOTALL)
    if not pattern.search(text):
        raise SystemExit(f"docs/performance.md has no part {name}")
    return pattern.sub(lambda found: found[1] + content + found[2], text)


def median(rows, model, threads, peer):
    """Milliseconds, of the quiet turns where there were any; None where the peer did not run the model."""
    row = rows.get((model, threads, peer))
    return None if row is None else row.get("clean_median_ms") or row["median_ms"]


def cell(value):
    if value is None:
        return ""
    return f"{value:.3f}" if value < 1 else f"{value:.2f}"


def geomean(values):
    return exp(sum(map(log, values)) / len(values)) if values else float("nan")


def latency(rows, models, threads):
    peers = [p for p in EXACT if any((m, threads, p) in rows for m in models)]
    lines = [f"| model, {threads} thread{'s' * (threads > 1)} | nnfast | {' | '.join(NAMES[p] for p in peers)} | "
             f"ahead of the fastest | ahead of LiteRT |", "| --- |" + " ---: |" * (len(peers) + 3)]
    over_best, over_anchor = [], []
    for model in models:
        ours = median(rows, model, threads, OURS)
        theirs = {p: median(rows, model, threads, p) for p in peers}
        known = [v for v in theirs.values() if v]
        if ours is None or not known:
            continue
        over_best.append(min(known) / ours)
        anchor = theirs.get(ANCHOR)
        over_anchor += [anchor / ours] if anchor else []
        lines.append(f"| {model} | **{cell(ours)}** | {' | '.join(cell(theirs[p]) for p in peers)} | "
                     f"{over_best[-1]:.2f}x | {f'{over_anchor[-1]:.2f}x' if anchor else ''} |")
    lines.append(f"| geometric mean | | {' | '.join('' for _ in peers)} | {geomean(over_best):.2f}x | "
                 f"{geomean(over_anchor):.2f}x |")
    return "\n".join(lines)


def reduced(rows, models, threads):
    lines = [f"| model, {threads} thread{'s' * (threads > 1)} | nnfast bf16 | OpenVINO bf16 | ahead | error, nnfast | "
             f"error, OpenVINO |", "| --- | ---: | ---: | ---: | ---: | ---: |"]
    for model in models:
        ours, theirs = (median(rows, model, threads, p) for p in (BF16, BF16_PEER))
        if ours is None or theirs is None or not model.endswith("_f32") or model in RECURRENT:
            continue
        errors = [max(rows[model, threads, p].get("err") or [float("nan")]) for p in (BF16, BF16_PEER)]
        lines.append(f"| {model} | **{cell(ours)}** | {cell(theirs)} | {theirs / ours:.2f}x | {errors[0]:.2g} | "
                     f"{errors[1]:.2g} |")
    return "\n".join(lines)


def start(rows, models):
    """Prepare, cold start and memory of one thread."""
    peers = [p for p in (OURS, *EXACT) if any((m, 1, p) in rows for m in models)]
    lines = ["| model | " + " | ".join(f"{NAMES[p]}: prepare / first ms, cold s, RSS MiB" for p in peers) + " |",
             "| --- |" + " ---: |" * len(peers)]
    for model in models:
        cells = []
        for peer in peers:
            row = rows.get((model, 1, peer))
            cells.append("" if row is None else
                         f"{row['prepare_s'] * 1e3:.0f} / {row['first_s'] * 1e3:.0f}, {row['cold_s']:.2f}, "
                         f"{row['rss_kib'] / 1024:.0f}")
        lines.append(f"| {model} | {' | '.join(cells)} |")
    return "\n".join(lines)


def plot(rows, models, peers, path, title):
    """Bars of speed relative to the first peer that is not ours, with what the 90th percentile and the shortest time of
    each would be, where they are known: longer is faster."""
    reference = ANCHOR if ANCHOR in peers else peers[-1]
    groups = []
    for model in models:
        anchor = median(rows, model, 1, reference)
        known = [p for p in peers if anchor and median(rows, model, 1, p)]
        for place, peer in enumerate(known):
            row, speed = rows[model, 1, peer], anchor / median(rows, model, 1, peer)
            ends = row.get("clean_p90_ms"), row.get("min_ms")
            groups.append(plots.Bar(model if not place else "", [speed], f"{speed:.2f}x", None,
                                    tuple(anchor / end for end in ends) if all(ends) else None, (COLOURS[peer],)))
    if groups:
        shown = [(COLOURS[p], NAMES[p]) for p in peers if any((m, 1, p) in rows for m in models)]
        panel = plots.bars_panel(groups, f"times as fast as {NAMES[reference]}", title=f"Speed: {title}", legend=shown)
        plots.save(plots.drawing([panel], 8.0), str(path))


def rows_of_page(text):
    """{(model, threads, peer): row} of the medians in the tables of a page."""
    peers, rows = {name: peer for peer, name in NAMES.items()}, {}
    for part in ("latency", "bf16"):
        threads, columns = 0, []
        for line in re.search(rf"<!-- {part} -->\n(.*?)\n<!-- end -->", text, re.DOTALL)[1].splitlines():
            cells = [cell.strip(" *") for cell in line.strip("|").split("|")]
            if head := re.match(r"model, (\d+) thread", cells[0]):
                threads, columns = int(head[1]), [peers.get(cell) for cell in cells[1:]]
            else:
                rows |= {(cells[0], threads, peer): {"median_ms": float(cell)}
                         for peer, cell in zip(columns, cells[1:]) if peer and re.fullmatch(r"[\d.]+", cell)}
    return rows


if __name__ == "__main__":
    main()
