"""Whether `asv continuous`, as README.md has it, finds a planted regression: exit code 0 where it does.

    python -m pip install asv virtualenv
    python asv_bench/planted.py --percent 5              # and finds none where there is none
    python asv_bench/planted.py --clock processor        # of real work, on a quiet machine

Makes a repository of three commits of a tiny package, the second of which does a little more work and the third as
much, and measures them by a clock that counts the work, so that what is tried is asv with these options and not the
machine.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

OPTIONS = ["--factor", "1.03", "--interleave-rounds"]
"""What finds a regression of 5 %: the factor is below it by more than a median errs."""

PACKAGE = '''
STEPS = {steps}
done = 0.0


def work():
    """A loop, and the count of its steps as 10 ns each."""
    global done
    for _ in range(STEPS):
        pass
    done += STEPS * 1e-8
'''
BENCHMARK = '''
import time
import planted


class Planted:
    timer = staticmethod({timer})
    rounds, repeat, number, warmup_time, sample_time = 4, 5, {number}, 0.0, 0.01

    def time_work(self):
        planted.work()
'''
TIMERS = {"work": ("lambda: planted.done", 1), "processor": ("time.process_time", 20)}
INSTALL = "import shutil, sysconfig; shutil.copy('planted.py', sysconfig.get_path('purelib'))"


def make(folder, percent, clock):
    """A repository of three commits, and the configuration of asv beside it."""
    repository = folder / "repository"
    (folder / "benchmarks").mkdir()
    (folder / "benchmarks" / "__init__.py").touch()
    timer, number = TIMERS[clock]
    (folder / "benchmarks" / "bench_planted.py").write_text(BENCHMARK.format(timer=timer, number=number))

    def git(*words):
        subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "commit.gpgsign=false",
                        *words], cwd=repository, check=True, capture_output=True)

    repository.mkdir()
    git("init", "--initial-branch", "main")
    more = round(1000 * (100 + percent))
    for name, steps in (("before", 100_000), ("after", more), ("again", more)):
        (repository / "planted.py").write_text(PACKAGE.format(steps=steps))
        (repository / "commit").write_text(name)
        git("add", ".")
        git("commit", "--message", name)
    (folder / "asv.conf.json").write_text(json.dumps({
        "version": 1, "project": "planted", "repo": str(repository), "branches": ["main"],
        "environment_type": "virtualenv", "pythons": [f"{sys.version_info.major}.{sys.version_info.minor}"],
        "build_command": [], "uninstall_command": [],
        "install_command": [f'in-dir={{build_dir}} python -c "{INSTALL}"'],
        "benchmark_dir": "benchmarks", "env_dir": "env", "results_dir": "results", "html_dir": "html"}))


def asv(folder, *words):
    """(exit code, what it says) of a command."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {
        "HOME": folder, "PYTHONDONTWRITEBYTECODE": "1"}  # what differs between commits has the same size
    done = subprocess.run([sys.executable, "-m", "asv", *words], cwd=folder, env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


def compared(folder, before, after):
    """(whether asv says that it got worse, what it says)."""
    text = asv(folder, "continuous", *OPTIONS, before, after)[1]
    worse = "PERFORMANCE DECREASED" in text
    if not worse and "BENCHMARKS NOT SIGNIFICANTLY CHANGED" not in text:
        raise SystemExit(f"asv did not compare:\n{text}")
    return worse, text


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--percent", type=float, default=5.0, help="how much slower the second commit is (default 5)")
    parser.add_argument("--clock", choices=TIMERS, default="work", help="what measures (default: counted work)")
    a = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder), a.percent, a.clock)
        code, text = asv(folder, "machine", "--yes")
        if code:
            raise SystemExit(text)
        worse, text = compared(folder, "main~2", "main~1")
        alarm, _ = compared(folder, "main~1", "main")
    print(text[text.rindex("| Change"):].strip() if "| Change" in text else text)
    print(f"{a.percent:g} % more work: {'found' if worse else 'NOT FOUND'}")
    print(f"no more work: {'A FALSE ALARM' if alarm else 'nothing found'}")
    sys.exit(0 if worse and not alarm else 1)


if __name__ == "__main__":
    main()
