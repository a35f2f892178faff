"""What small models cost through the C library, each seen once (tests/ndk/clients/small_models.c).

    python ci/ndk_small_models.py [--models N] [--rounds N] [--cache]

Prints, per model: microseconds of each stage, of processor time of the client and of the driver. --cache: compiled once
each, in turns: others without a cache, and the same ones from the files of before; at the end, how one takes part of
the other's time. The driver keeps 256 such models (docs/cache.md): with more, the rest is restored from the files.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CLIENT = ROOT / "tests" / "ndk" / "clients" / "small_models.c"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=int, help="default: 2000, 200 with --cache")
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
            if args.cache:
                beside_cache(client, socket, driver.pid, args.models or 200, args.rounds, name)
            else:
                for turn in range(args.rounds):
                    models = args.models or 2000
                    print(told(*run(client, socket, driver.pid, 1000 + turn * models, models)), flush=True)
        finally:
            driver.terminate()
            driver.wait()


def beside_cache(client, socket, driver, count, rounds, folder):
    """Print turns without a cache and with a warm one."""
    run(client, socket, driver, 1000, count, folder)
    shares = []
    for turn in range(rounds):
        without, warm = (run(client, socket, driver, first, count, cache)
                         for first, cache in ((1000 + (turn + 1) * count, "-"), (1000, folder)))
        print("without", told(*without), "\nwarm", told(*warm), flush=True)
        shares.append(warm[0]["compile"] / without[0]["compile"])
    print(f"compile, warm by without: median {statistics.median(shares):.2f}, "
          f"{min(shares):.2f} to {max(shares):.2f} in {rounds} turns")


def run(client, socket, driver, first, count, cache=None):
    """({stage: us}, us of the driver, of the client) of what one of `count` models costs; cache: as of the client."""
    before = processor_seconds(driver), children_seconds()
    words = [client, str(first), str(count)] + ([cache] if cache else [])
    done = subprocess.run(words, env=os.environ | {"NNFAST_SOCKET": socket}, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    after = processor_seconds(driver), children_seconds()
    stages = {name: int(us) for name, us in map(str.split, done.stdout.splitlines())}
    return (stages, *(1e6 * (b - a) / count for a, b in zip(before, after)))


def told(stages, driver_us, client_us):
    return (f"{sum(stages.values())} us: " + ", ".join(f"{name} {us}" for name, us in stages.items()) +
            f"; processor: driver {driver_us:.0f}, client {client_us:.0f}")


def processor_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def children_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
