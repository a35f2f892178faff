"""Builds the checkkernels program: python ci/build_checkkernels.py [-o FILE] [--family NAME] [-- EXTRA_CFLAGS...].

Uses the flags that setup.py gives each file; EXTRA_CFLAGS are added to compile and link (sanitizers, for example).
Compiles what changed since the last build with the same flags; --family has the kernels of one family only. CC names
the compiler.
"""

import argparse
import hashlib
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "ci"))

import c_build  # noqa: E402  (the folder is no package)

FAMILIES = sorted((p.name for p in (ROOT / "csrc/kernels").iterdir() if p.is_dir()), key=len, reverse=True)
"""Longest name first: a family's check files begin with its name."""


def _family_of(check):
    """The family that a file csrc/checkkernels/check_<family>*.c checks: that of the longest name; None of others."""
    return next((name for name in FAMILIES if Path(check).stem.startswith(f"check_{name}")), None)


def build(output, extra=(), compiler=None, family=None):
    """Compile kernels, registry and checks and link them to `output`; of one family where that is given."""
    compiler = compiler or os.environ.get("CC", "gcc").split()
    checks = [f"check_{family}*.c", "check.c", "main.c"] if family else ["*.c"]
    sources = [*c_build.csrc(f"kernels/{family or '*'}/*.c"),
               *(source for check in checks for source in c_build.csrc(f"checkkernels/{check}")
                 if not family or _family_of(source) in (None, family)),
               "csrc/kernels/registry.c", *(f"csrc/base/{name}.c" for name in ("cpu", "tiles", "tuning"))]
    extra = [*extra, *([f'-DNNF_FAMILY="{family}/{family}.inc"'] if family else [])]
    flags = " ".join([*compiler, *c_build.c_flags(""), *extra])
    folder = ROOT / "build" / "checkkernels" / hashlib.sha256(flags.encode()).hexdigest()[:16]
    jobs = {folder / f"{source}.o": ([*compiler, *c_build.c_flags(source), "-g", *extra, *c_build.INCLUDES], source)
            for source in sources}
    c_build.compile_changed(jobs)
    if subprocess.run([*compiler, *jobs, *extra, "-lm", "-pthread", "-o", output], cwd=ROOT).returncode:
        raise SystemExit(f"{output}: cannot be linked, see above; each row of an .inc needs its kernel and check")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", default="checkkernels")
    parser.add_argument("--family", choices=sorted(FAMILIES))
    parser.add_argument("extra", nargs="*", help="further compiler and linker flags, after --")
    arguments = parser.parse_args()
    build(arguments.output, arguments.extra, family=arguments.family)
