"""No instructions outside the files of their level: looks through the assembly of what setup.py compiles.

A baseline object that holds a wider register or a newer instruction would stop older processors with an illegal
instruction. CC names the compiler; the files are those of the processor family that it builds for.
"""

import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import c_build

WIDE, WIDEST = re.compile(rb"%[yz]mm"), re.compile(rb"%zmm")
BFLOAT, MMLA, DOTS = rb"bf(?:cvtn?2?|dot|mlal[bt]|mmla)", rb"(?:[su]|us)mmla", rb"[su]dot"
BF16, MATRIX, DOT = (re.compile(rb"\b(?:" + rb"|".join(kinds) + rb")\b")
                     for kinds in ([BFLOAT], [BFLOAT, MMLA], [BFLOAT, MMLA, DOTS]))
X86 = {"": WIDE, "_openmp": WIDE, "_scalar": WIDE, "_avx2": WIDEST}
ARM = {"": DOT, "_openmp": DOT, "_scalar": DOT, "_neon": DOT, "_neondot": MATRIX, "_neoni8mm": BF16}
FORBIDDEN = X86 if c_build.X86 else ARM


def uses(source, folder):
    """How often the assembly of a file names what its level does not have."""
    compiler, target = os.environ.get("CC", "gcc").split(), folder / (source.replace("/", "_") + ".s")
    subprocess.run([*compiler, *c_build.c_flags(source), *c_build.INCLUDES, "-S", source, "-o", target], check=True,
                   cwd=c_build.ROOT)
    forbidden = FORBIDDEN.get(c_build.suffix_of(source))
    return len(forbidden.findall(target.read_bytes())) if forbidden else 0


def main():
    sources = c_build.csrc("**/*.c")
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        found = dict(zip(sources, pool.map(lambda source: uses(source, Path(folder)), sources), strict=True))
    bad = {source: count for source, count in found.items() if count}
    for source, count in bad.items():
        print(f"{source}: {count} instructions that its level does not have")
    print(f"check_objects: {len(found)} files, {len(bad)} with instructions that their level does not have")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
