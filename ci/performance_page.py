"""docs/performance.md: nnfast and its peers at each instruction level, from one small JSON file for each.

    python ci/performance_page.py add peers.json [more.json] --level avx2 --cpu "..." --date 2026-11-26 [--beside zen4]
    python ci/performance_page.py

The first keeps the medians and spread of a run (what bench_peers.py wrote) as docs/performance/<level>.json, and writes
the page; the second writes the page alone, from the files that are there. Its text stays; tables go between its
markers, plots into docs/performance/<level>_<group>.svg. With --beside NAME the run is one of another processor at that
level, <level>.NAME.json: a row of the first table, with no tables of its own. Needs nnfast[plot].
"""

import argparse
import json
import re
import sys
from math import exp, log
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from nnfast.cli import plots

PAGE = Path(__file__).resolve().parents[1] / "docs" / "performance.md"
OURS, ANCHOR, OPENVINO = "nnfast", "litert-xnnpack", "openvino-f32"
EXACT = (ANCHOR, "onnxruntime", OPENVINO)
BF16, BF16_PEER = "nnfast-bf16", "openvino-default"
NAMES = {OURS: "nnfast", ANCHOR: "LiteRT + XNNPACK", "onnxruntime": "ONNX Runtime", OPENVINO: "OpenVINO",
         BF16: "nnfast bf16", BF16_PEER: "OpenVINO bf16"}
COLOURS = {OURS: "green", ANCHOR: "amber", "onnxruntime": "violet", OPENVINO: "blue", BF16: "green",
           BF16_PEER: "blue"}
GROUPS = {"float32": "_f32$", "int8": "_int8$", "uint8": "_uint8$"}
RECURRENT = ("asr_like_f32", "tts_like_f32", "tts_seq32_f32")
LEVELS = {"avx2": "AVX2", "avxvnni": "AVX-VNNI", "avx512": "AVX-512", "avx512vnni": "AVX-512 VNNI",
          "avx512vbmi": "AVX-512 VBMI", "avx512bf16": "AVX-512 BF16", "avx512amx": "AMX"}
SATURATING = ("avx2", "avx512")  # where OpenVINO's 8-bit products saturate: shown in brackets, and no exact peer
KEPT = ("model", "threads", "peer", "n", "median_ms", "min_ms", "clean_median_ms", "clean_p90_ms", "cpu_ms",
        "prepare_s", "first_s", "cold_s", "rss_kib", "err")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_subparsers(dest="command").add_parser("add", help="keep a run, then write the page")
    add.add_argument("json", nargs="+", help="what bench_peers.py wrote; of a row that several have, the last counts")
    add.add_argument("--level", required=True, choices=LEVELS, help="NNFAST_CPU and PEER_ISA of the run")
    add.add_argument("--cpu", required=True, help="the machine, in words")
    add.add_argument("--date", required=True, help="when it was measured")
    add.add_argument("--beside", type=_name, metavar="NAME", help="a processor beside that of the level's tables")
    a = parser.parse_args(arguments)
    if a.command == "add":
        keep(a.json, a.level, a.cpu, a.date, a.beside)
    write_page()


def _name(text):
    if not re.fullmatch(r"[a-z0-9]+", text):
        raise argparse.ArgumentTypeError(f"{text!r}: must be small letters and digits, as zen4")
    return text


def keep(paths, level, cpu, date, beside=None):
    """Writes the file of a level: figures of each peer, model and number of threads, no samples."""
    rows, versions = {}, {}
    for path in paths:
        try:
            found = [row for row in json.loads(Path(path).read_text())["results"] if "median_ms" in row]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise SystemExit(f"{path}: not what bench_peers.py --json writes ({error!r})") from None
        for row in found:
            rows[row["model"], row["threads"], row["peer"]] = {name: _short(row[name]) for name in KEPT if name in row}
            versions[row["peer"]] = row.get("version", "")
    if not any(peer == OURS for _, _, peer in rows):
        raise SystemExit(f"{', '.join(paths)}: no results of {OURS}; run bench_peers.py with --peers {OURS},...")
    target = folder() / (f"{level}.{beside}.json" if beside else f"{level}.json")
    target.parent.mkdir(exist_ok=True)
    lines = ",\n".join("  " + json.dumps(rows[key]) for key in sorted(rows))
    about = json.dumps({"level": level, "cpu": cpu, "date": date, "versions": versions}, indent=1)
    target.write_text(f'{about[:-2]},\n "results": [\n{lines}\n ]\n}}\n')


def _short(value):
    """Five digits of a float: more than a median has."""
    if isinstance(value, list):
        return [_short(item) for item in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value


def folder():
    """Where files of levels and plots lie, beside the page."""
    return PAGE.with_suffix("")


class Run:
    """The figures of a level."""

    def __init__(self, path):
        kept = json.loads(path.read_text())
        self.level, self.cpu, self.date, self.versions = (kept[n] for n in ("level", "cpu", "date", "versions"))
        self.rows = {(row["model"], row["threads"], row["peer"]): row for row in kept["results"]}
        self.models = sorted({model for model, _, _ in self.rows})
        self.threads = sorted({count for _, count, _ in self.rows})

    def median(self, model, threads, peer):
        """Milliseconds, of the quiet turns where there were any; None where the peer did not run the model."""
        row = self.rows.get((model, threads, peer))
        return None if row is None else row.get("clean_median_ms") or row["median_ms"]

    def peers(self, threads):
        return [p for p in EXACT if any((m, threads, p) in self.rows for m in self.models)]

    def saturates(self, model, peer):
        return peer == OPENVINO and self.level in SATURATING and not model.endswith("_f32")

    def ahead(self, threads):
        """{model: how far ahead of the fastest exact peer, of LiteRT, of an OpenVINO that saturates}; None without."""
        found = {}
        for model in self.models:
            ours = self.median(model, threads, OURS)
            theirs = {p: self.median(model, threads, p) for p in self.peers(threads)}
            exact = [v for p, v in theirs.items() if v and not self.saturates(model, p)]
            inexact = [v for p, v in theirs.items() if v and self.saturates(model, p)]
            if ours and exact:
                found[model] = (min(exact) / ours, theirs[ANCHOR] / ours if theirs.get(ANCHOR) else None,
                                inexact[0] / ours if inexact else None)
        return found


def write_page():
    """The page and its plots, from the files that are there."""
    runs = [Run(path) for level in LEVELS if (path := folder() / f"{level}.json").exists()]
    if not runs:
        raise SystemExit(f"{folder()}: no file of a level; add one first")
    text = PAGE.read_text()
    text = replaced(text, "levels", summary([run for level in LEVELS for run in runs_of(level)]))
    text = replaced(text, "latency", "\n\n".join(section(run) for run in runs))
    with_bf16 = [run for run in runs if any(peer == BF16 for _, _, peer in run.rows)]
    text = replaced(text, "bf16", "\n\n".join(of_bf16(run) for run in with_bf16))
    text = replaced(text, "start", f"{machine(runs[-1])}\n\n{start(runs[-1])}")
    PAGE.write_text(text)


def runs_of(level):
    """The run whose tables the page has, if any, and then those of other processors."""
    return [Run(path) for name in (level, f"{level}.*") for path in sorted(folder().glob(f"{name}.json"))]


def processor(run):
    """The first words of what is said of a machine: "AMD EPYC (Zen 4)"."""
    found = re.match(r"([^,(]*)(\([^:,)]*)?", run.cpu)
    return found[1] + (f"{found[2]})" if found[2] else "")


def machine(run):
    versions = ", ".join(f"{NAMES[p]} {run.versions[p]}" for p in (OURS, *EXACT) if run.versions.get(p))
    return f"{run.cpu}, {run.date}{f'; {versions}' if versions else ''}."


def summary(runs):
    """A row for each run and number of threads: geometric means, and in how many rows nnfast is ahead."""
    lines = ["| level | processor | threads | ahead of the fastest exact peer | in rows | ahead of LiteRT | "
             "of OpenVINO where it saturates |", "| --- | --- | ---: | ---: | ---: | ---: | ---: |"]
    for run in runs:
        for threads in run.threads:
            if found := run.ahead(threads).values():
                fastest, anchor, inexact = ([v for v in column if v] for column in zip(*found, strict=True))
                lines.append(f"| {LEVELS[run.level]} | {processor(run)} | {threads} | {times(fastest)} | "
                             f"{sum(v > 1 for v in fastest)} of {len(fastest)} | {times(anchor)} | {times(inexact)} |")
    return "\n".join(lines)


def times(values):
    return f"{exp(sum(map(log, values)) / len(values)):.2f}x" if values else ""


def section(run):
    """Tables and plots of a level."""
    parts = [f"### {LEVELS[run.level]}\n{machine(run)}", *(latency(run, count) for count in run.threads)]
    images = []
    for group, pattern in GROUPS.items():
        chosen = [m for m in run.models if re.search(pattern, m) and m not in RECURRENT]
        images.append(plot(run, chosen, (OURS, *EXACT), group))
    images.append(plot(run, [m for m in RECURRENT if m in run.models], (OURS, *EXACT), "recurrent"))
    return "\n\n".join([*parts, "\n".join(filter(None, images))])


def of_bf16(run):
    tables = [reduced(run, count) for count in run.threads]
    chosen = [m for m in run.models if (m, 1, BF16) in run.rows and m not in RECURRENT]
    image = plot(run, chosen, (BF16, BF16_PEER), "bf16")
    return "\n\n".join(filter(None, [machine(run), *tables, image]))


def replaced(text, name, content):
    """The page with new content between a pair of markers."""
    pattern = re.compile(rf"(<!-- {name} -->\n).*?(\n<!-- end -->)", re.DOTALL)
    if not pattern.search(text):
        raise SystemExit(f"{PAGE}: no part <!-- {name} -->")
    return pattern.sub(lambda found: found[1] + content + found[2], text)


def cell(value):
    if value is None:
        return ""
    return f"{value:.3f}" if value < 1 else f"{value:.2f}"


def latency(run, threads):
    """Medians of all peers; in brackets those of products that saturate."""
    peers, ahead = run.peers(threads), run.ahead(threads)
    lines = [f"| model, {threads} thread{'s' * (threads > 1)} | nnfast | {' | '.join(NAMES[p] for p in peers)} | "
             f"ahead of the fastest | ahead of LiteRT |", "| --- |" + " ---: |" * (len(peers) + 3)]
    for model, (fastest, anchor, _) in ahead.items():
        theirs = [f"({shown})" if shown and run.saturates(model, p) else shown
                  for p in peers for shown in [cell(run.median(model, threads, p))]]
        lines.append(f"| {model} | **{cell(run.median(model, threads, OURS))}** | {' | '.join(theirs)} | "
                     f"{fastest:.2f}x | {f'{anchor:.2f}x' if anchor else ''} |")
    columns = [[v for v in column if v] for column in zip(*ahead.values(), strict=True)] or [[], []]
    lines.append(f"| geometric mean | | {' | '.join('' for _ in peers)} | {times(columns[0])} | {times(columns[1])} |")
    return "\n".join(lines)


def reduced(run, threads):
    lines = [f"| model, {threads} thread{'s' * (threads > 1)} | nnfast bf16 | OpenVINO bf16 | ahead | error, nnfast | "
             f"error, OpenVINO |", "| --- | ---: | ---: | ---: | ---: | ---: |"]
    for model in run.models:
        ours, theirs = (run.median(model, threads, p) for p in (BF16, BF16_PEER))
        if ours is None or theirs is None or not model.endswith("_f32") or model in RECURRENT:
            continue
        errors = [max(run.rows[model, threads, p].get("err") or [float("nan")]) for p in (BF16, BF16_PEER)]
        lines.append(f"| {model} | **{cell(ours)}** | {cell(theirs)} | {theirs / ours:.2f}x | {errors[0]:.2g} | "
                     f"{errors[1]:.2g} |")
    return "\n".join(lines) if len(lines) > 2 else ""


def start(run):
    """Prepare, cold start and memory of one thread."""
    peers = [p for p in (OURS, *EXACT) if any((m, 1, p) in run.rows for m in run.models)]
    lines = ["| model | " + " | ".join(f"{NAMES[p]}: prepare / first ms, cold s, RSS MiB" for p in peers) + " |",
             "| --- |" + " ---: |" * len(peers)]
    for model in run.models:
        cells = []
        for peer in peers:
            row = run.rows.get((model, 1, peer))
            cells.append("" if row is None else
                         f"{row['prepare_s'] * 1e3:.0f} / {row['first_s'] * 1e3:.0f}, {row['cold_s']:.2f}, "
                         f"{row['rss_kib'] / 1024:.0f}")
        lines.append(f"| {model} | {' | '.join(cells)} |")
    return "\n".join(lines)


def plot(run, models, peers, group):
    """Bars of speed relative to the first peer that is not ours, with what the 90th percentile and the shortest time of
    each would be, where they are known: longer is faster. The page's line for it, or ''.
    """
    reference = ANCHOR if ANCHOR in peers else peers[-1]
    bars, shown = [], set()
    for model in models:
        anchor = run.median(model, 1, reference)
        known = [p for p in peers if anchor and run.median(model, 1, p)]
        shown.update(known)
        for place, peer in enumerate(known):
            row, speed = run.rows[model, 1, peer], anchor / run.median(model, 1, peer)
            ends = row.get("clean_p90_ms"), row.get("min_ms")
            bars.append(plots.Bar("" if place else model, [speed], f"{speed:.2f}x", None,
                                  tuple(anchor / end for end in ends) if all(ends) else None, (COLOURS[peer],)))
    if not bars:
        return ""
    title, path = f"{LEVELS[run.level]}, {group}, 1 thread", folder() / f"{run.level}_{group}.svg"
    legend = [(COLOURS[p], NAMES[p]) for p in peers if p in shown]
    panel = plots.bars_panel(bars, f"times as fast as {NAMES[reference]}", title=f"Speed: {title}", legend=legend)
    plots.save(plots.drawing([panel], 8.0), str(path))
    return f"![{title}]({folder().name}/{path.name})"


if __name__ == "__main__":
    main()
