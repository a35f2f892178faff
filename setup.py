"""Builds the extensions. Knows suffixes and folders, no operation.

csrc/**/*_<isa>.c gets that level's flags; everything else gets the baseline of the platform. Each
nnfast/_native/<name>.pyx is one extension, made of the files that it includes from the folder of its name. The kernels
and the registry are linked into `kernels`, the thread team into `threads`, the packing of weights into `conv`, the ring
into `rings` and into the loops that measure it. `openmp` is left out where the compiler has no OpenMP.
csrc/ndk is a library of its own, without Python, for programs in C: nnfast/lib/libneuralnetworks.so. csrc/delegate is
one for TFLite, nnfast/lib/libnnfast_delegate.so, with csrc/ndk to speak to the driver.

NNFAST_WERROR=1        warnings are errors
NNFAST_CFLAGS="..."    further flags of the compiler, e.g. sanitizers, whose library the process loads first
NNFAST_MARCH_NATIVE=1  optimise for this machine only (the wheel is not for sharing)
"""

import os
import sys
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).parent
SHARED = "nnfast._native._cyutility"
# Threads of a run may still be on their way when a program closes a library, so it stays. What a library has no use for
# is left out of it.
LIBRARY_LINK = ["-Wl,-z,nodelete", "-Wl,--gc-sections", "-pthread", "-ldl"]
sys.path.insert(0, str(ROOT / "ci"))

from c_build import (  # noqa: E402  (the folder is no package)
    INCLUDES,
    OPENMP,
    c_flags,
    compile_changed,
    csrc,
    has_openmp,
    machine_flags,
)


def extensions():
    kernels = [s for s in csrc("kernels/**/*.c") if not s.endswith("_pack.c")]
    meeting = ["csrc/base/meeting.c", "csrc/base/slice.c"]
    extra = {"kernels": [*kernels, *(f"csrc/base/{name}.c" for name in ("cpu", "tiles", "tuning"))],
             "threads": [*meeting, *(f"csrc/base/{name}.c" for name in ("fair", "gate", "program", "room", "team"))],
             "conv": csrc("kernels/**/*_pack.c"),
             "codec": ["csrc/base/digest.c"],
             "openmp": [*meeting, *csrc("base/*_openmp.c")],
             "rings": ["csrc/fmq/packet.c", "csrc/fmq/ring.c"],
             "bench": [*csrc("peak/*.c"), "csrc/base/tiles.c", "csrc/fmq/ring.c"]}
    # What Cython adds to modules with memoryviews stands in one module, not in each.
    result = [extension(SHARED, [SHARED.replace(".", "/") + ".c"])]
    for pyx in sorted(ROOT.glob("nnfast/_native/*.pyx")):
        name = pyx.stem
        if name == "openmp" and not has_openmp():
            print("nnfast: this compiler has no OpenMP; Device(team='openmp') will be refused", file=sys.stderr)
            continue
        sources = [str(pyx.relative_to(ROOT)), *extra.get(name, [])]
        result.append(extension(f"nnfast._native.{name}", sources, OPENMP if name == "openmp" else []))
    return result


def libraries():
    """{library: (sources, map of what it exports)} of those without Python."""
    client = [*csrc("ndk/*.c"), *csrc("fmq/*.c")]
    return {"nnfast/lib/libneuralnetworks.so": (client, "csrc/ndk/libneuralnetworks.map"),
            "nnfast/lib/libnnfast_delegate.so": ([*csrc("delegate/*.c"), *client],
                                                 "csrc/delegate/libnnfast_delegate.map")}


def extension(name, sources, libraries=()):
    further = os.environ.get("NNFAST_CFLAGS", "").split()
    return Extension(
        name, sources,
        include_dirs=["csrc/include", "csrc/kernels", "csrc", numpy_include()],
        define_macros=[("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION")],
        # Python's own flags warn of what Cython's code is full of: comparisons of signed with unsigned numbers and,
        # where one function serves several types, of integers with themselves (is it NaN?).
        extra_compile_args=["-O2", "-g0", "-fvisibility=hidden", "-pthread", "-ffp-contract=off", "-Wno-sign-compare",
                            "-Wno-tautological-compare", *machine_flags(), *further],
        extra_link_args=["-pthread", "-lm", *libraries, "-Wl,--gc-sections"],
    )


def numpy_include():
    import numpy

    return numpy.get_include()


class BuildExt(build_ext):
    """build_ext that compiles all files of all extensions on all cores, and only those that changed.

    Each file of csrc has the flags of its instruction level, whichever extensions it is linked into.
    """

    def finalize_options(self):
        super().finalize_options()
        if self.inplace or self.editable_mode:
            self.build_temp = "build/objects"  # pip's folder goes with pip; what it compiled is good for the next build

    def build_extensions(self):
        self.check_extensions_list(self.extensions)
        # Where this Python looks for its own libraries says nothing to other machines.
        self.compiler.linker_so = [flag for flag in self.compiler.linker_so if not flag.startswith("-Wl,-rpath")]
        objects = {ext.name: self.jobs(ext) for ext in self.extensions}
        plain = {path: (self.c_jobs(sources), exports) for path, (sources, exports) in libraries().items()}
        compile_changed({target: job for jobs in (*objects.values(), *(jobs for jobs, _ in plain.values()))
                         for target, job in jobs.items()})
        for ext in self.extensions:
            self.compiler.link_shared_object([str(target) for target in objects[ext.name]],
                                             self.get_ext_fullpath(ext.name), extra_postargs=ext.extra_link_args,
                                             target_lang="c")
        for path, (jobs, exports) in plain.items():
            self.compiler.link_shared_object(
                [str(target) for target in jobs], str(Path(self.build_lib) / path),
                extra_postargs=[f"-Wl,-soname,{Path(path).name}", f"-Wl,--version-script={exports}", *LIBRARY_LINK,
                                *os.environ.get("NNFAST_CFLAGS", "").split()])

    def copy_extensions_to_source(self):
        super().copy_extensions_to_source()
        for path in libraries():
            self.mkpath(str(Path(path).parent))
            self.copy_file(str(Path(self.build_lib) / path), path)

    def c_jobs(self, sources):
        """{object: (command, source)} of files of csrc that Python knows nothing of."""
        return {Path(self.build_temp) / f"{source}.o":
                ([*self.compiler.compiler_so, *c_flags(source), *INCLUDES], source) for source in sources}

    def jobs(self, ext):
        """{object: (command, source)} of an extension."""
        folders = [f"-I{folder}" for folder in (*ext.include_dirs, *self.compiler.include_dirs)]
        macros = [f"-D{name}={value}" for name, value in ext.define_macros]
        generated = [*macros, *folders, *ext.extra_compile_args]
        return {Path(self.build_temp) / f"{source}.o":
                ([*self.compiler.compiler_so,
                  *([*c_flags(source), *INCLUDES] if source.startswith("csrc") else generated)], source)
                for source in ext.sources}


if __name__ == "__main__":  # where Cython's processes are not forked, each imports this file
    if os.environ.get("NNFAST_MARCH_NATIVE") == "1":
        print("nnfast: built for this machine only; do not share the wheel", file=sys.stderr)

    setup(
        ext_modules=cythonize(
            extensions(),
            compiler_directives={"language_level": 3, "boundscheck": False, "wraparound": False, "cdivision": True,
                                 "embedsignature": True, "freethreading_compatible": False},
            shared_utility_qualified_name=SHARED,
            nthreads=0 if "egg_info" in sys.argv else os.cpu_count(),
        ),
        cmdclass={"build_ext": BuildExt},
    )
