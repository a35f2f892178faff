"""Builds the checkkernels program: python ci/build_checkkernels.py [-o FILE] [-- EXTRA_CFLAGS...].

Uses the flags that setup.py gives each file; EXTRA_CFLAGS are added to compile and link (sanitizers, for example).
CC names the compiler.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "ci"))

import c_build  # noqa: E402  (the folder is no package)


def build(output, extra=(), compiler=None):
    """Compile kernels, registry and checks and link them to `output`."""
    compiler = compiler or os.environ.get("CC", "gcc").split()
    sources = [*c_build.csrc("kernels/**/*.c"), *c_build.csrc("checkkernels/*.c"), "csrc/base/cpu.c",
               "csrc/base/tiles.c"]
    with tempfile.TemporaryDirectory() as folder:
        def compile_one(source):
            target = Path(folder) / (source.replace("/", "_") + ".o")
            subprocess.run([*compiler, *c_build.c_flags(source), "-g", *extra, *c_build.INCLUDES, "-c", source,
                            "-o", target], check=True, cwd=ROOT)
            return target

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            objects = list(pool.map(compile_one, sources))
        subprocess.run([*compiler, *objects, *extra, "-lm", "-pthread", "-o", output], check=True, cwd=ROOT)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", default="checkkernels")
    parser.add_argument("extra", nargs="*", help="further compiler and linker flags, after --")
    arguments = parser.parse_args()
    build(arguments.output, arguments.extra)
