"""Builds the extensions. Knows suffixes and folders, no operation.

csrc/**/*_<isa>.c gets that level's flags; everything else gets the baseline of the platform. Each
nnfast/_native/<name>.pyx is one extension; csrc/kernels/<name>/<name>_pack.c is linked into it where there is one; the
kernels and the registry go into `kernels`, the thread team into `threads`, the ring into `fmq`. conv2d is several
extensions: one for each type, Winograd's method, images of few channels, 8-bit codes in place, and the steps that pack
its weights while a program runs.

NNFAST_WERROR=1        warnings are errors
NNFAST_CFLAGS="..."    further flags, e.g. sanitizers
NNFAST_MARCH_NATIVE=1  optimise for this machine only (the wheel is not for sharing)
"""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).parent
sys.path.insert(0, str(ROOT / "ci"))

from c_build import INCLUDES, c_flags, csrc, machine_flags  # noqa: E402  (the folder is no package)


def extensions():
    kernels = [s for s in csrc("kernels/**/*.c") if not s.endswith("_pack.c")]
    extra = {"kernels": [*kernels, "csrc/base/cpu.c", "csrc/base/tiles.c"],
             "threads": [f"csrc/base/{name}.c" for name in ("fair", "gate", "program", "team")],
             "digest": ["csrc/base/digest.c"], "fmq": ["csrc/fmq/ring.c"], "packet": ["csrc/fmq/packet.c"],
             **{name: ["csrc/fmq/packet.c", "csrc/fmq/ring.c"] for name in ("burst", "burst_client")},
             "channels": ["csrc/fmq/ring.c"],
             "peak": csrc("peak/*.c"),
             **{f"conv2d_{name}": ["csrc/kernels/conv2d/conv2d_pack.c"]
                for name in ("bf16", "line", "lines_q8", "pack", "q8")}}
    result = []
    for pyx in sorted(ROOT.glob("nnfast/_native/*.pyx")):
        name = pyx.stem
        pack = f"csrc/kernels/{name}/{name}_pack.c"
        sources = [str(pyx.relative_to(ROOT)), *extra.get(name, []), *([pack] if (ROOT / pack).exists() else [])]
        result.append(Extension(
            f"nnfast._native.{name}", sources,
            include_dirs=["csrc/include", "csrc/kernels", "csrc", numpy_include()],
            define_macros=[("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION")],
            extra_compile_args=["-O2", "-fvisibility=hidden", "-pthread", "-ffp-contract=off", *machine_flags(),
                                *os.environ.get("NNFAST_CFLAGS", "").split()],
            extra_link_args=["-pthread", "-lm", "-Wl,--gc-sections", *os.environ.get("NNFAST_CFLAGS", "").split()],
        ))
    return result


def numpy_include():
    import numpy

    return numpy.get_include()


class BuildExt(build_ext):
    """build_ext that compiles the C files of an extension on all cores, each with its own flags."""

    def build_extension(self, ext):
        c_files = [s for s in ext.sources if s.startswith("csrc")]
        ext.sources = [s for s in ext.sources if not s.startswith("csrc")]
        headers = [str(p) for p in ROOT.glob("csrc/**/*.[hi]*")]
        ext.depends = ext.depends + headers
        if c_files:
            self.announce(f"compiling {len(c_files)} C files for {ext.name}", level=2)
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                objects = pool.map(lambda s: self.compile_one(s, ext, headers), c_files)
                ext.extra_objects = [*ext.extra_objects, *objects]
            ext.depends += c_files
        super().build_extension(ext)

    def compile_one(self, source, ext, headers):
        target = Path(self.build_temp) / (source + ".o")
        stamp = target.with_suffix(".flags")
        flags = c_flags(source)
        newest = max(os.path.getmtime(p) for p in [source, *headers])
        fresh = target.exists() and stamp.exists() and target.stat().st_mtime > newest
        if self.force or not fresh or stamp.read_text() != " ".join(flags):
            target.parent.mkdir(parents=True, exist_ok=True)
            # Another extension may compile or link the same file at this moment: it sees an old object, or a whole one.
            mine = target.with_suffix(f".{ext.name}.o")
            subprocess.run([*self.compiler.compiler_so, *flags, *INCLUDES, "-c", source, "-o", str(mine)], check=True)
            os.replace(mine, target)
            stamp.write_text(" ".join(flags))
        return str(target)


if os.environ.get("NNFAST_MARCH_NATIVE") == "1":
    print("nnfast: built for this machine only; do not share the wheel", file=sys.stderr)

setup(
    ext_modules=cythonize(
        extensions(),
        compiler_directives={"language_level": 3, "boundscheck": False, "wraparound": False, "cdivision": True,
                             "embedsignature": True, "freethreading_compatible": False},
        nthreads=0 if "egg_info" in sys.argv else os.cpu_count(),
    ),
    cmdclass={"build_ext": BuildExt},
)
