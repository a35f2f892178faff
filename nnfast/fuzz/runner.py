"""Targets one after the other, each in a process of its own, and what is left of what they find."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..checks import called, chosen_from, counted, is_number, sequence, shown, whole
from ..checks import path as checked_path
from ..errors import GeneralFailure, InvalidArgument
from ..stress.outcome import ending, one_line
from .chance import CURRENT
from .targets import TARGETS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from .. import typed

HERE = Path(__file__).resolve().parent
MOST_SEED, MOST_RUNS, MOST_MINUTES = (1 << 31) - 1, 1 << 40, 1e6
HANG_SECONDS, MOST_MIB = 90, 3072
"""An input that takes longer, or a process that holds more, is a finding."""

LINES = 400
"""Lines of a process that are kept for the report of a finding."""


@dataclass(frozen=True, slots=True)
class FuzzResult:
    """What became of a target. runs: inputs tried, in so many seconds; coverage: (first, last) counters reached, None
    where the inputs were chosen by chance; corpus: inputs that reach something of their own; mib: most memory held;
    reason: what was found, one line, or ""; file: the input, "" where none was kept.
    """

    target: str
    runs: int
    seconds: float
    coverage: tuple[int, int] | None
    corpus: int
    mib: int
    reason: str = ""
    file: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain dict."""
        return {name: getattr(self, name) for name in self.__slots__}


def run(targets: Sequence[str] | None = None, runs: int | None = None, minutes: float | None = None,
        seed: int | None = None, folder: typed.FilePath | None = None, corpus: typed.FilePath | None = None,
        progress: Callable[[int, int, str], object] | None = None) -> list[FuzzResult]:
    """Fuzz targets; returns a FuzzResult for each. A target ends with the first input that is a finding.

    targets: names of TARGETS, None for all. runs: inputs of each target; minutes: of each; 1 where neither is given,
    and where both are, what comes first ends it. seed: of all that is drawn, None for another each time. folder: where
    an input that crashes, hangs or raises something is written, with a report beside it; None keeps none. corpus:
    folder whose subfolders hold further inputs to begin with, and get what reaches new code; None forgets it.
    progress(done, total, note): called all along. Raises InvalidArgument.
    """
    names = list(TARGETS) if targets is None else list(sequence(targets, "fuzz: targets", "a list of names"))
    for name in names:
        chosen_from(name, "fuzz: target", TARGETS)
    runs = None if runs is None else whole(runs, "fuzz: runs", 1, MOST_RUNS)
    if minutes is not None and (not is_number(minutes) or not 0 < minutes <= MOST_MINUTES):
        raise InvalidArgument(f"fuzz: minutes is {shown(minutes)}, must be a number above 0 and at most "
                              f"{MOST_MINUTES:g}")
    seed = None if seed is None else whole(seed, "fuzz: seed", 0, MOST_SEED)
    if progress is not None:
        called(progress, "fuzz: progress")
    folder, corpus = (None if value is None else Path(checked_path(value, f"fuzz: {what}"))
                      for what, value in (("folder", folder), ("corpus", corpus)))
    flags = [f"-rss_limit_mb={MOST_MIB}", f"-timeout={HANG_SECONDS}", f"-report_slow_units={HANG_SECONDS}",
             "-print_final_stats=1"]
    if runs is not None:
        flags.append(f"-runs={runs}")
    seconds = 60 * (1 if minutes is None and runs is None else minutes or 0)
    if seconds:
        flags.append(f"-max_total_time={max(1, round(seconds))}")
    if seed is not None:
        flags.append(f"-seed={seed}")
    results = []
    for place, name in enumerate(names):
        def tell(done, place=place, name=name):
            if progress is not None:
                progress(place, len(names), f"{name}: {counted(done, 'input')}")

        results.append(_fuzz(name, flags, folder, corpus, tell))
    return results


def replay(target: str, files: Sequence[typed.FilePath]) -> tuple[str, str]:
    """Try inputs again in a process of its own; returns (what it told, what is wrong with one of them or "").

    target: of TARGETS; files: paths of inputs. Raises InvalidArgument.
    """
    chosen_from(target, "fuzz: target", TARGETS)
    files = [checked_path(file, "fuzz: files") for file in sequence(files, "fuzz: files", "a list of paths")]
    for file in files:
        try:
            kind = os.stat(file).st_mode
        except OSError as error:
            raise InvalidArgument(f"{file}: {error.strerror}") from None
        if not stat.S_ISREG(kind):
            raise InvalidArgument(f"{file}: is not a regular file")
    done = subprocess.run(_command(target, "replay", f"-timeout={HANG_SECONDS}", *files), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    return done.stdout, _reason(done.stdout, done.returncode) if done.returncode else ""


def _command(target, *rest):
    paths = json.dumps([os.path.abspath(path) for path in sys.path])
    return [sys.executable, str(HERE / "boot.py"), paths, TARGETS[target].place, *map(str, rest)]


def _fuzz(name, flags, folder, corpus, tell):
    began = time.monotonic()
    tell(0)
    with tempfile.TemporaryDirectory(prefix="nnfast-fuzz-") as scratch:
        scratch = Path(scratch)
        inputs = scratch / name
        inputs.mkdir()
        kept = corpus and corpus / name
        for source in (HERE / "corpus" / name, kept):
            if source is not None and source.is_dir():
                for path in source.iterdir():
                    shutil.copy(path, inputs)
        made = subprocess.run(_command(name, "seeds", inputs), stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if made.returncode:
            raise GeneralFailure(f"fuzz: {name} does not begin: {_reason(made.stdout + made.stderr, made.returncode)}")
        before = {path.name for path in inputs.iterdir()}
        prefix = scratch / f"{name}-"
        limits = [f"-max_len={TARGETS[name].most}", f"-artifact_prefix={prefix}"]
        lines, code = _watched(_command(name, "fuzz", *flags, *limits, inputs), tell)
        text = "".join(lines)
        stats = dict(re.findall(r"stat::(\w+):\s+(\d+)", text))
        runs = int(stats.get("number_of_executed_units") or (re.findall(r"^#(\d+)", text, re.MULTILINE) or [0])[-1])
        covered = [int(number) for number in re.findall(r" cov: (\d+)", text)] or [0]
        if kept is not None:
            kept.mkdir(parents=True, exist_ok=True)
            for path in inputs.iterdir():
                if path.name not in before:
                    shutil.copy(path, kept)
        reason = _reason(text, code) if code else "" if runs else "nothing was tried"
        file = _keep(name, scratch, folder, reason, lines) if reason else ""
        return FuzzResult(name, runs, round(time.monotonic() - began, 1),
                          (covered[0], covered[-1]) if "INFO: Seed:" in text else None, len(list(inputs.iterdir())),
                          int(stats.get("peak_rss_mb", 0)), reason, file)


def _watched(command, tell):
    """(last lines, exit code) of a process. The first lines that tell of libFuzzer and of coverage are kept too."""
    wanted, first, last = ["INFO: Seed:", " cov: "], [], deque(maxlen=LINES)
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               text=True, errors="replace")
    try:
        for line in process.stdout:
            if line.startswith("INFO: Instrumenting "):
                continue
            if wanted and wanted[0] in line:
                first.append(line)
                del wanted[0]
            last.append(line)
            if count := re.match(r"#(\d+)", line):
                tell(int(count[1]))
        return [*first, *last], process.wait()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def _keep(name, scratch, folder, reason, lines):
    """Move the input that was found, if there is one, into the folder, with a report; its path or ""."""
    found = [path for path in scratch.iterdir() if path.is_file() and path.name.startswith(f"{name}-")]
    if folder is None or not found:
        return ""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / found[0].name.replace(CURRENT, f"crash-{time.time_ns():x}")
    shutil.move(found[0], path)
    path.with_name(path.name + ".txt").write_text(f"{reason}\n\n{replay_command(name, path)}\n\n{''.join(lines)}",
                                                  encoding="utf-8")
    return str(path)


def replay_command(target: str, file: typed.FilePath) -> str:
    """The line of a shell that tries an input again."""
    return f"nnfast fuzz --target {target} --replay {shlex.quote(str(file))}"


def _reason(text, code):
    """What ended a process, in one line."""
    for pattern in (r"Uncaught Python exception: ===\n(.+)", r"ERROR: (\w+Sanitizer: .+)", r"runtime error: (.+)",
                    r"ERROR: libFuzzer: (.+)", r"^Traceback .+\n(?:[ \t].*\n|\n)+(\S.*)", r"^Fatal Python error: (.+)"):
        found = re.findall(pattern, text, re.MULTILINE)
        if found:
            return one_line(found[-1])
    if re.search(r"^Timeout \(", text, re.MULTILINE):
        return f"nothing for {HANG_SECONDS} s"
    return ending(code)
