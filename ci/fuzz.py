"""Coverage-guided fuzzing of what comes from files and clients.

    python ci/fuzz.py [--targets tflite,model,messages,cache,packets] [--seconds 60 | --runs N] [--seed N]
                      [--keep FOLDER] [--grow]

--seconds is shared by the targets, --runs is of each. The same --seed and --runs try the same inputs again, on a slow
machine too; without a seed each call tries others. Targets are those of fuzzing/targets.py, under atheris, and the
packets of bursts, in C under libFuzzer and the address and undefined behaviour sanitizers where clang is installed.
Each begins with the seeds that it makes and with the files of fuzzing/corpus. Fails when an input crashes, hangs for
20 seconds or takes more than 3 GiB; --keep has the inputs that were found. --grow adds up to 32 small inputs that
reached new code to fuzzing/corpus.
"""

import argparse
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
IN_PYTHON = ("tflite", "model", "messages", "cache")
LIMITS = ["-timeout=20", "-rss_limit_mb=3072", "-print_final_stats=1"]
PACKET_BYTES = 1 + 96 * 24
GROWN, GROWN_BYTES = 32, 2048  # files that --grow adds to a target at most, and their size


def worker(*arguments):
    return [sys.executable, "-m", "fuzzing.worker", *map(str, arguments)]


def built_packets(folder):
    """Path of the fuzzer of packets, None where it cannot be built."""
    clang = shutil.which("clang")
    if clang is None:
        print("packets: clang is not installed: skipped (ci/service_fuzz.py --packets needs none)")
        return None
    program = folder / "packets-fuzzer"
    subprocess.run([clang, "-std=c11", "-O1", "-g", "-Icsrc", "-Icsrc/include", "-fsanitize=fuzzer,address,undefined",
                    "-fno-sanitize-recover=all", "csrc/fmq/packet.c", "csrc/stress/packet_libfuzzer.c", "-o", program],
                   check=True, cwd=ROOT)
    return program


def grow(seeds, known, corpus):
    """Add the smallest inputs among `seeds` to the corpus that are not `known`: each reached new code when it came."""
    new = [path for path in seeds.iterdir() if path.name not in known and path.stat().st_size <= GROWN_BYTES]
    corpus.mkdir(parents=True, exist_ok=True)
    for path in sorted(new, key=lambda path: path.stat().st_size)[:GROWN]:
        shutil.copy(path, corpus)


def fuzz(name, amounts, folder, kept, is_growing):
    """Fuzz one target; True when nothing was found."""
    if name != "packets" and importlib.util.find_spec("atheris") is None:
        print(f"{name}: atheris is not installed: skipped (pip install 'nnfast[fuzz]')")
        return True
    if name == "packets":
        command = built_packets(folder)
        if command is None:
            return True
        command = [command, f"-max_len={PACKET_BYTES}", "-use_value_profile=1"]
    else:
        command = worker(name, "fuzz")
    seeds = folder / name
    seeds.mkdir()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(HERE), str(ROOT)))}
    if name != "packets":
        subprocess.run(worker(name, "seeds", seeds), check=True, env=environment)
    corpus = HERE / "fuzzing" / "corpus" / name
    for path in corpus.glob("*"):
        shutil.copy(path, seeds)
    known = set(os.listdir(seeds))
    process = subprocess.run([*command, *LIMITS, *amounts, f"-artifact_prefix={kept}/{name}-", str(seeds)], text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace", env=environment)
    stats = dict(re.findall(r"stat::(\w+):\s+(\d+)", process.stdout))
    runs = int(stats.get("number_of_executed_units", 0))
    covered = re.findall(r" cov: (\d+)", process.stdout)
    print(f"{name}: {runs} executions, {stats.get('average_exec_per_sec', '?')}/s, coverage "
          f"{covered[0] if covered else '?'} to {covered[-1] if covered else '?'}, corpus {len(list(seeds.iterdir()))} "
          f"files, {stats.get('peak_rss_mb', '?')} MiB, exit code {process.returncode}", flush=True)
    if process.returncode or not runs:
        print(process.stdout[-6000:], file=sys.stderr)
        return False
    if is_growing:
        grow(seeds, known, corpus)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", default=",".join((*IN_PYTHON, "packets")))
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--runs", type=int)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--keep", metavar="FOLDER")
    parser.add_argument("--grow", action="store_true")
    a = parser.parse_args()
    names = a.targets.split(",")
    unknown = set(names) - {*IN_PYTHON, "packets"}
    if unknown:
        parser.error(f"no target {', '.join(sorted(unknown))}; there are {', '.join((*IN_PYTHON, 'packets'))}")
    amounts = [f"-runs={a.runs}" if a.runs else f"-max_total_time={max(1, round(a.seconds / len(names)))}"]
    if a.seed is not None:
        amounts.append(f"-seed={a.seed}")
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(a.keep or folder).resolve()
        kept.mkdir(parents=True, exist_ok=True)
        good = [fuzz(name, amounts, Path(folder), kept, a.grow) for name in names]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
