"""The scripts around asv: configuration of a history, and a planted regression."""

import json
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "asv_bench"
sys.path.insert(0, str(FOLDER))
history, planted = import_module("history"), import_module("planted")
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
