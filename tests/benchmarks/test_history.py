"""The scripts around asv: configuration of a history, a planted regression, two trees side by side."""

import json
import re
import subprocess
import sys
import tomllib
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "asv_bench"
sys.path.insert(0, str(FOLDER))
compare, history, planted = map(import_module, ("compare", "history", "planted"))
sys.path.remove(str(FOLDER))


def clone(folder, commits):
    """A repository that has the scripts, and some commits; the last is on top."""
    root = folder / "clone"
    (root / "asv_bench").mkdir(parents=True)
    for name in ("history.py", "asv.conf.json"):
        (root / "asv_bench" / name).write_text((FOLDER / name).read_text())

    def git(*words):
        identity = ["-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "commit.gpgsign=false"]
        return subprocess.run(["git", *identity, *words], cwd=root, check=True, capture_output=True, text=True).stdout

    git("init", "--initial-branch", "work")
    for number in range(commits):
        git("add", ".")
        git("commit", "--allow-empty", "--message", str(number))
    return root, git("rev-list", "HEAD").split()


@pytest.fixture
def calls(monkeypatch):
    """What asv would have been called with; it seems to measure something."""
    found, run_ = [], subprocess.run

    def fake(command, **options):
        if "asv" not in command:
            return run_(command, **options)
        assert "PYTHONPATH" not in options["env"], "the runner must see the wheel"
        found.append(command[command.index("asv") + 1:])
        if found[-1][0] == "run":
            folder = Path(options["cwd"]) / "results" / "machine"
            folder.mkdir(parents=True)
            (folder / "x.json").touch()
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(history.subprocess, "run", fake)
    return found


def test_a_history_is_measured_and_published(tmp_path, monkeypatch, calls, capsys):
    root, commits = clone(tmp_path, 5)
    monkeypatch.setattr(history, "ROOT", root)
    monkeypatch.setattr(history, "HERE", root / "asv_bench")
    monkeypatch.setenv("PYTHONPATH", str(root))
    kept = tmp_path / "kept"
    monkeypatch.setattr(sys, "argv", ["history.py", "--last", "3", "--bench", "X", "--quick", "--folder", str(kept)])
    with pytest.raises(SystemExit) as end:
        history.main()
    assert end.value.code == 0
    machine, measured, published = calls
    assert (machine[0], measured[0], published[0]) == ("machine", "run", "publish")
    assert measured[measured.index("--bench") + 1] == "X" and "--quick" in measured
    assert f"HASHFILE:{kept / 'commits.txt'}" in measured
    assert (kept / "commits.txt").read_text().split() == commits[:3]
    config = json.loads((kept / "asv.conf.json").read_text())
    assert config["branches"] == ["work"] and config["repo"] == str(root)
    assert {config[f"{name}_dir"] for name in ("env", "results", "html")} == \
        {str(kept / name) for name in ("env", "results", "html")}
    assert str(kept / "html" / "index.html") in capsys.readouterr().out


@pytest.mark.parametrize("arguments, words", [(["--last", "0"], "--last: is 0"), (["--last", "x"], "--last"),
                                              (["--branch", "no-such-branch"], "there is no no-such-branch")])
def test_bad_arguments_of_a_history(tmp_path, arguments, words):
    root, _ = clone(tmp_path, 1)
    done = subprocess.run([sys.executable, root / "asv_bench" / "history.py", *arguments], capture_output=True,
                          text=True)
    assert done.returncode == 2 and words in done.stderr and "Traceback" not in done.stderr
    assert not (tmp_path / "asv_history").exists()


def test_the_configuration_is_one_of_asv(tmp_path):
    config = pytest.importorskip("asv.config")
    (tmp_path / "asv.conf.json").write_text(json.dumps(history.configuration(tmp_path, "main")))
    found = config.Config.load(str(tmp_path / "asv.conf.json"))
    assert Path(found.benchmark_dir) == FOLDER / "benchmarks" and found.branches == ["main"]


def test_the_environment_has_what_nnfast_needs():
    project = tomllib.loads((FOLDER.parent / "pyproject.toml").read_text())["project"]
    needed = [*project["dependencies"], *project["optional-dependencies"]["service"]]
    installed = json.loads((FOLDER / "asv.conf.json").read_text())["matrix"]["req"]
    assert needed and {re.match(r"[\w-]+", name)[0] for name in needed} <= installed.keys()


def test_the_readme_has_the_options_that_find_it():
    assert " ".join(planted.OPTIONS) in (FOLDER / "README.md").read_text()


@pytest.mark.slow
def test_a_planted_regression_is_found(tmp_path):
    """Its environment needs the network once: without one, pip cannot bring asv's runner."""
    if not (find_spec("asv") and find_spec("virtualenv")):
        pytest.skip("asv or virtualenv is not installed")
    done = subprocess.run([sys.executable, FOLDER / "planted.py"], capture_output=True, text=True, cwd=tmp_path)
    if "Could not find a version" in done.stderr + done.stdout:
        pytest.skip("there is no network for the environment of asv")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "5 % more work: found" in done.stdout and "no more work: nothing found" in done.stdout


# -- two trees ---------------------------------------------------------------------------------------------------------
BENCHMARKS = """
import time
import nnfast


class Work:
    params = [["much", "little"], [1, 2]]

    def setup(self, size, number):
        assert (size, number) != ("little", 2) or nnfast.SECONDS == 0.001, "not this one"

    def time_sleep(self, size, number):
        time.sleep(nnfast.SECONDS if size == "much" else 0.001)


class Plain:
    def time_nothing(self):
        pass
"""


@pytest.fixture
def trees(tmp_path):
    """Two checkouts, of which the second waits much longer, and is wrong in one row."""
    for name, seconds in (("before", 0.001), ("now", 0.05)):
        (tmp_path / name / "nnfast").mkdir(parents=True)
        (tmp_path / name / "nnfast" / "__init__.py").write_text(f"SECONDS = {seconds}\n")
    folder = tmp_path / "before" / "asv_bench" / "benchmarks"
    folder.mkdir(parents=True)
    (folder / "__init__.py").touch()
    (folder / "bench_work.py").write_text(BENCHMARKS)
    return tmp_path


def side_by_side(*arguments):
    return subprocess.run([sys.executable, FOLDER / "compare.py", *map(str, arguments)], capture_output=True, text=True)


def test_a_slower_row_is_told(trees):
    out = trees / "times.json"
    done = side_by_side(trees / "before", "--now", trees / "now", "--rounds", 1, "--pairs", 2, "--limit", 3,
                        "--json", out)
    assert done.returncode == 1 and not done.stderr, done.stderr
    slower = [line for line in done.stdout.splitlines() if " -> " in line]
    assert [line.split("us  ")[1] for line in slower].count("Work.time_sleep(much, 1)") == 1
    assert any("Work.time_sleep(little, 2): " in line and "not this one" in line for line in done.stdout.splitlines())
    assert "4 rows" in done.stdout and "1 raised something" in done.stdout
    rows = {row["name"]: row for row in json.loads(out.read_text())}
    assert set(rows) == {"Plain.time_nothing()", "Work.time_sleep(much, 1)", "Work.time_sleep(much, 2)",
                         "Work.time_sleep(little, 1)"}
    assert len(rows["Work.time_sleep(much, 1)"]["now"]) == 2, "both pairs"


def test_both_medians_and_minima_must_be_slower():
    assert compare.ratio([(1.0, 1.1), (1.0, 1.1), (1.0, 0.9)]) == pytest.approx(0.9)
    assert compare.ratio([(1.0, 1.1), (1.0, 1.1), (1.2, 1.2)]) == pytest.approx(1.1)
    assert compare.ratio([(1.0, 1.2), (1.3, 1.2), (1.3, 1.2)]) == pytest.approx(1.2 / 1.3)


@pytest.mark.parametrize("arguments, words", [
    (["nowhere"], "before: there is no"), (["before", "--now", "nowhere"], "--now: there is no"),
    (["before", "--rows", "Nothing"], "no row matches Nothing"), (["before", "--rounds", "0"], "must be at least 1"),
])
def test_bad_arguments_of_two_trees(trees, arguments, words):
    done = side_by_side(*(trees / word if word in ("before", "nowhere") else word for word in arguments))
    assert done.returncode == 2 and words in done.stderr and "Traceback" not in done.stderr
