"""No wide registers outside the files of their level: disassembles what setup.py compiles and looks for ymm and zmm.

A baseline object that holds a wider instruction would stop older processors with an illegal instruction.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import c_build

WIDEST = {"": None, "_scalar": None, "_avx2": "zmm"}
FORBIDDEN = {None: re.compile(rb"%[yz]mm"), "zmm": re.compile(rb"%zmm")}


def main():
    if not c_build.X86:
        print("check_objects: only for x86-64")
        return 0
    bad = checked = 0
    with tempfile.TemporaryDirectory() as folder:
        for source in c_build.csrc("**/*.c"):
            suffix = c_build.suffix_of(source)
            if suffix not in WIDEST:
                continue
            target = Path(folder) / "object.o"
            subprocess.run(["gcc", *c_build.c_flags(source), *c_build.INCLUDES, "-c", source, "-o", target], check=True,
                           cwd=c_build.ROOT)
            text = subprocess.run(["objdump", "-d", target], check=True, capture_output=True).stdout
            found = len(FORBIDDEN[WIDEST[suffix]].findall(text))
            checked += 1
            if found:
                bad += 1
                print(f"{source}: {found} uses of wider registers than its level has")
    print(f"check_objects: {checked} objects, {bad} with wider registers than their level has")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
