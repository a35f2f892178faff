"""The speed of the last commits of a branch, as pages: one command from a fresh clone.

    python -m pip install asv virtualenv
    python asv_bench/history.py --last 10 --bench "Conv2d|Models"
    python asv_bench/history.py --last 1          # of every new commit, in a job: adds to what is there

Builds a wheel of each commit in an environment of this Python's version, measures what has no result yet, and writes
pages. Everything is kept in a folder of its own, asv_history beside the clone unless --folder says otherwise: results
can be committed to a repository there, and survive `git clean` here.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent


def configuration(folder, branch):
    """asv.conf.json with the places of this clone, as a dict: whole paths, for this Python."""
    found = json.loads((HERE / "asv.conf.json").read_text())
    return {**found, "repo": str(ROOT), "branches": [branch], "benchmark_dir": str(HERE / "benchmarks"),
            "pythons": [f"{sys.version_info.major}.{sys.version_info.minor}"],
            **{f"{name}_dir": str(folder / name) for name in ("env", "results", "html")}}


def git(*words):
    return subprocess.run(["git", "-C", str(ROOT), *words], check=True, capture_output=True, text=True).stdout.strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--branch", help="default: the one that is checked out")
    parser.add_argument("--last", type=int, default=10, metavar="N", help="commits, along first parents (default 10)")
    parser.add_argument("--bench", metavar="PATTERN", help="benchmarks whose name matches (default: all)")
    parser.add_argument("--folder", type=Path, default=ROOT.parent / "asv_history", help="what is kept")
    parser.add_argument("--quick", action="store_true", help="each benchmark once: to try it")
    a = parser.parse_args()
    if a.last < 1:
        parser.error(f"--last: is {a.last}, must be at least 1")
    branch = a.branch or git("rev-parse", "--abbrev-ref", "HEAD")
    try:
        git("rev-parse", "--verify", "--quiet", f"{branch}^{{commit}}")
    except subprocess.CalledProcessError:
        parser.error(f"--branch: there is no {branch}")
    folder = a.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "commits.txt").write_text(git("rev-list", "--first-parent", f"--max-count={a.last}", branch) + "\n")
    config = folder / "asv.conf.json"
    config.write_text(json.dumps(configuration(folder, branch), indent=1) + "\n")

    def asv(*words):
        command = [sys.executable, "-m", "asv", words[0], "--config", str(config), *words[1:]]
        print("$", "asv", *command[3:], flush=True)
        # The runner must not see this checkout instead of the wheel, which a PYTHONPATH would do.
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        return subprocess.run(command, cwd=folder, env=environment).returncode

    asv("machine", "--yes")
    code = asv("run", "--skip-existing-successful", "--show-stderr",
               *(["--bench", a.bench] if a.bench else []), *(["--quick"] if a.quick else []),
               f"HASHFILE:{folder / 'commits.txt'}")
    if not any((folder / "results").glob("*/*.json")):
        sys.exit(code or 1)
    published = asv("publish")
    print(f"pages: {folder / 'html' / 'index.html'}; to look at them: asv preview --config {config}")
    sys.exit(code or published)


if __name__ == "__main__":
    main()
