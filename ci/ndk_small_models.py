"""What small models cost through the C library, each seen once (tests/ndk/clients/small_models.c).

    python ci/ndk_small_models.py [--models N] [--rounds N] [--cache]

Prints, per model: microseconds of each stage, of processor time of the client and of the driver. --cache: compiled once
each, without a cache, with one that is empty, and with the files of before.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CLIENT = ROOT / "tests" / "ndk" / "clients" / "small_models.c"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--cache", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        client, socket = Path(name) / "client", str(Path(name) / "socket")
        words = subprocess.run([sys.executable, "-m", "nnfast", "library", "--cflags", "--libs"], cwd=ROOT, check=True,
                               capture_output=True, text=True).stdout.split()
        subprocess.run(["cc", "-std=c11", "-D_GNU_SOURCE", "-O1", str(CLIENT), "-o", str(client), *words, "-pthread",
                        "-lm"], check=True)
        driver = subprocess.Popen([sys.executable, "-m", "nnfast", "serve", "--socket", socket], cwd=ROOT)
        try:
            while not Path(socket).exists() and driver.poll() is None:
                time.sleep(0.05)
            run(client, socket, driver.pid, 0, 200)
            for turn in range(args.rounds):
                first, files = 1000 + turn * args.models, Path(name) / f"cache{turn}"
                files.mkdir()
                caches = (("without", "-"), ("empty", files), ("warm", files)) if args.cache else (("", None),)
                for kind, cache in caches:
                    print(kind, run(client, socket, driver.pid, first, args.models, cache), flush=True)
        finally:
            driver.terminate()
            driver.wait()


def run(client, socket, driver, first, count, cache=None):
    """A line of what `count` models cost; cache: as of the client."""
    before = processor_seconds(driver), children_seconds()
    words = [client, str(first), str(count)] + ([cache] if cache else [])
    done = subprocess.run(words, env=os.environ | {"NNFAST_SOCKET": socket}, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    after = processor_seconds(driver), children_seconds()
    stages = dict(line.split() for line in done.stdout.splitlines())
    driver_us, client_us = (1e6 * (b - a) / count for a, b in zip(before, after))
    return (f"{sum(map(int, stages.values()))} us: " + ", ".join(f"{name} {us}" for name, us in stages.items()) +
            f"; processor: driver {driver_us:.0f}, client {client_us:.0f}")


def processor_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def children_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
