"""How C sources are compiled: the one place that setup.py and the check programs take flags and objects from.

The suffix of a file's name is its instruction level (csrc/**/*_<isa>.c), or says that it needs OpenMP (_openmp);
everything else gets the platform's baseline.
CC may name a compiler for another processor family: its files are taken then.
"""

import os
import platform
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path


def target():
    """Processor family of the code that is built: what the compiler named by CC says, else this machine's."""
    compiler = os.environ.get("CC", "").split()
    if not compiler:
        return platform.machine()
    triple = subprocess.run([*compiler, "-dumpmachine"], capture_output=True, text=True, check=True).stdout
    return triple.partition("-")[0]


ROOT = Path(__file__).resolve().parent.parent
X86 = target() in ("x86_64", "AMD64")
OPENMP = ["-fopenmp"]
AVX2 = ["-mavx2", "-mfma", "-mf16c"]
AVX512 = [*AVX2, "-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl"]
X86_FLAGS = {
    "_avx2": AVX2,
    "_avxvnni": [*AVX2, "-mavxvnni"],
    "_avx512": AVX512,
    "_avx512vnni": [*AVX512, "-mavx512vnni"],
    "_avx512vbmi": [*AVX512, "-mavx512vnni", "-mavx512vbmi"],
    "_avx512bf16": [*AVX512, "-mavx512vnni", "-mavx512bf16"],
    "_avx512amx": [*AVX512, "-mavx512vnni", "-mavx512bf16", "-mavx512ifma", "-mamx-tile", "-mamx-int8", "-mamx-bf16"],
}
ARM_FLAGS = {
    "_neon": [],
    "_neondot": ["-march=armv8.2-a+dotprod"],
    "_neoni8mm": ["-march=armv8.2-a+dotprod+i8mm"],
    "_neonbf16": ["-march=armv8.2-a+dotprod+i8mm+bf16"],
}
ISA_FLAGS = {"_scalar": ["-fno-tree-vectorize"], **X86_FLAGS, **ARM_FLAGS, "_openmp": OPENMP}
WARNINGS = ["-Wall", "-Wextra", "-Wshadow", "-Wstrict-prototypes", "-Wvla"]
# Aligned, so that a loop's speed does not hang on what is linked before it.
COMMON = ["-O2", "-g0", "-falign-functions=64", "-falign-loops=32", "-std=c11", "-ffp-contract=off", "-fno-math-errno",
          "-fvisibility=hidden", "-pthread"]
INCLUDES = ["-Icsrc/include", "-Icsrc/kernels", "-Icsrc", "-Innfast/include"]


def suffix_of(source):
    """The ISA suffix of a C file's name, or ''."""
    tail = "_" + Path(source).stem.rpartition("_")[2]
    return tail if tail in ISA_FLAGS else ""


def c_flags(source):
    """Compiler flags of one C file of csrc."""
    # The level's flags come last: on aarch64 they name an architecture, which takes the place of the machine's.
    flags = COMMON + WARNINGS + machine_flags() + level_flags(suffix_of(source))
    if os.environ.get("NNFAST_WERROR") == "1":
        flags += ["-Werror"]
    return flags + os.environ.get("NNFAST_CFLAGS", "").split()


def level_flags(suffix):
    """Flags of an instruction level. zig takes no -march for aarch64; gcc's generic processor has no dot product."""
    flags = ISA_FLAGS.get(suffix, [])
    if suffix in ARM_FLAGS and flags and not takes(*flags):
        return [flag.replace("-march=armv8.2-a", "-mcpu=generic") for flag in flags]
    return flags


def compiler():
    """The C compiler's command."""
    return os.environ.get("CC", "").split() or ["cc"]


@cache
def takes(*flags):
    """Whether the compiler takes the flags."""
    return subprocess.run([*compiler(), *flags, "-E", "-x", "c", os.devnull], capture_output=True).returncode == 0


@cache
def has_openmp():
    """Whether the compiler, and what it links with, know OpenMP."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "openmp.c"
        program.write_text("#include <omp.h>\nint main(void) { return omp_get_max_threads() < 1; }\n")
        return subprocess.run([*compiler(), *OPENMP, program, "-o", program.with_suffix("")],
                              capture_output=True).returncode == 0


def machine_flags():
    """This machine's instructions where NNFAST_MARCH_NATIVE=1 asks for them."""
    return ["-march=native"] if os.environ.get("NNFAST_MARCH_NATIVE") == "1" else []


def belongs_here(source):
    """Whether this processor family compiles the file at all."""
    suffix = suffix_of(source)
    return suffix not in (ARM_FLAGS if X86 else X86_FLAGS) and (suffix != "_openmp" or has_openmp())


def csrc(pattern):
    """C files under csrc that match, as paths relative to the root."""
    return sorted(str(p.relative_to(ROOT)) for p in ROOT.glob(f"csrc/{pattern}") if belongs_here(p))


def compile_changed(jobs):
    """Compile C files on all cores, but for those whose object is newer than all that it is made of.

    jobs: {object: (command, source)}, paths as Path or str; the command gets `-c source -o object` added. What an
    object is made of stands beside it: its headers in `.d` (written by the compiler), its command in `.command`.
    """
    def compile_one(item):
        target, (command, source) = Path(item[0]), item[1]
        command = [*command, "-MMD", "-MF", f"{target}.d", "-c", str(source), "-o", str(target)]
        if not _is_fresh(target, command):
            started = time.time()
            target.parent.mkdir(parents=True, exist_ok=True)
            target.unlink(missing_ok=True)
            if subprocess.run(command, cwd=ROOT).returncode:
                raise SystemExit(f"{source}: does not compile, see above")
            os.utime(target, (started, started))  # a file that was saved meanwhile is newer
            Path(f"{target}.command").write_text("\n".join(command))

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(compile_one, jobs.items()))


def _is_fresh(target, command):
    try:
        age = target.stat().st_mtime
        # make's syntax: "target: file file \\\n file"; a space within a name is "\ ".
        listed = Path(f"{target}.d").read_text().partition(": ")[2].replace("\\\n", " ").replace("\\ ", "\0").split()
        return Path(f"{target}.command").read_text() == "\n".join(command) and all(
            (ROOT / name.replace("\0", " ")).stat().st_mtime < age for name in listed)
    except OSError:
        return False  # an object, a list or a header is not there
