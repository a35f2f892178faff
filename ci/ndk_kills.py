"""Kill the driver of a C client before and during each of its calls (tests/ndk/clients/kills.c).

    python ci/ndk_kills.py [--kills N] [--seed S]

The client must get DEAD_OBJECT and no other code, leave nothing open, and work again with the next driver, which the
library starts.
"""

import argparse
import os
import random
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CLIENT = ROOT / "tests" / "ndk" / "clients" / "kills.c"
IN_ONE, LONGEST_US, SECONDS_EACH = 20, 3000, 120


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pid, starter, client = folder / "pid", folder / "nnfast", folder / "kills"
        words = subprocess.run([sys.executable, "-m", "nnfast", "library", "--cflags", "--libs"], cwd=ROOT, check=True,
                               capture_output=True, text=True).stdout.split()
        subprocess.run(["cc", "-std=c11", "-D_GNU_SOURCE", "-O1", str(CLIENT), "-o", str(client), *words, "-pthread"],
                       check=True)
        starter.write_text(f"#!/bin/sh\necho $$ > {pid}\ncd {ROOT}\nexec {sys.executable} -m nnfast \"$@\"\n")
        starter.chmod(starter.stat().st_mode | stat.S_IXUSR)
        variables = os.environ | {"NNFAST_SOCKET": str(folder / "socket"), "NNFAST_DRIVER": str(starter)}

        def run(kills):
            done = subprocess.run([client, pid, *kills], env=variables, capture_output=True, text=True,
                                  timeout=SECONDS_EACH * (1 + len(kills)))
            if done.returncode:
                sys.exit(f"kills {' '.join(kills)}:\n{done.stdout}{done.stderr}exit code {done.returncode}")
            return int(done.stdout)

        calls, killed = run([]), 0
        while killed < args.kills:
            kills = [f"{rng.randint(1, calls)}:{rng.choice((0, rng.randint(1, 100), rng.randint(1, LONGEST_US)))}"
                     for _ in range(min(IN_ONE, args.kills - killed))]
            run(kills)
            killed += len(kills)
            print(f"{killed} of {args.kills} kills, {calls} calls", flush=True)
        os.kill(int(pid.read_text()), signal.SIGTERM)


if __name__ == "__main__":
    main()
