"""`nnfast doctor`: what is installed and set, what the system allows, whether it works; what to do about the odd."""

import difflib
import importlib.metadata
import os
import platform
import resource
import shutil
import stat
import subprocess
import sys
import sysconfig
import textwrap
from importlib import import_module
from importlib.util import find_spec

from .. import config
from ..checks import counted
from ..errors import DeadObject, Error
from ..extras import EXTRAS
from ..version import __version__
from .main import one_line
from .output import Output, waiting

FINE, ODD, BAD = "ok", "odd", "BAD"
"""Verdicts: well; worth knowing; something does not work."""

FEW_DESCRIPTORS = 1024
LEAST_RIGHT = 0.95
SMALL_MEMORY = 256 << 20
SMALL_DISK = 64 << 20
WIDTH = 80


class Findings:
    """Rows of (area, what was found, verdict, what to do), in the order in which they were found."""

    def __init__(self):
        self.rows = []

    def add(self, area, found, verdict=FINE, advice=""):
        self.rows.append({"area": area, "found": found, "verdict": verdict, "do": advice})

    def count(self, verdict):
        return sum(row["verdict"] == verdict for row in self.rows)


def add_arguments(parser):
    Output.add_argument(parser)


def main(args):
    output = Output(args.json)
    findings = Findings()
    for check in (installation, packages, variables):
        check(findings)
    if not findings.count(BAD):  # else the rest only says the same again
        for check in (processor, limits, self_test, extensions, cache, socket, library, peers):
            with waiting(check.__name__.replace("_", " ")):
                check(findings)
    width = min(shutil.get_terminal_size((WIDTH, 0)).columns, 120) if sys.stdout.isatty() else WIDTH
    output.say("\n".join(lines_of(findings.rows, width)))
    output.say()
    bad, odd = findings.count(BAD), findings.count(ODD)
    output.say(f"{bad} not working, {odd} worth knowing" if bad + odd else "everything is well")
    output.finish({"version": __version__, "findings": findings.rows})
    return 1 if bad else 0


def lines_of(rows, width):
    """Text of the findings: verdict, area, what was found and, indented, what to do, in lines of at most `width`."""
    column = max(len(row["area"]) for row in rows)
    for row in rows:
        indent = " " * (column + 7)
        yield from textwrap.wrap(row["found"], width, initial_indent=f"{row['verdict']:<3}  {row['area']:<{column}}  ",
                                 subsequent_indent=indent, break_on_hyphens=False)
        if row["do"]:
            yield from textwrap.wrap(row["do"], width, initial_indent=indent[:-3] + "-> ", subsequent_indent=indent,
                                     break_on_hyphens=False)


# -- what is installed -----------------------------------------------------------------------------------------------
def installation(findings):
    """nnfast itself, Python, numpy, the native part."""
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    findings.add("nnfast", f"{__version__} in {folder}")
    try:
        installed = importlib.metadata.version("nnfast")
    except importlib.metadata.PackageNotFoundError:
        findings.add("nnfast", "runs from a folder, is not installed", ODD,
                     "its commands and extensions are found by PATH and pip; pip install .")
    else:
        if installed != __version__:
            findings.add("nnfast", f"pip believes that {installed} is installed", ODD, "pip install it again")
    import numpy

    findings.add("python", f"{platform.python_version()}, numpy {numpy.__version__}, "
                           f"{' '.join(platform.libc_ver()).strip() or 'unknown libc'}, Linux {platform.release()}")
    try:
        from .._native import conv, engine, kernels, rings  # noqa: F401
    except ImportError as error:
        findings.add("native", one_line(error), BAD,
                     "python setup.py build_ext --inplace in a source tree, else pip install nnfast again")
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        findings.add("python", "runs without its global lock, which the extensions of nnfast rely on", BAD,
                     "unset PYTHON_GIL, leave out -X gil=0")
    elif sysconfig.get_config_var("Py_GIL_DISABLED"):
        findings.add("python", "is free-threaded, and took its global lock again for the extensions of nnfast", ODD,
                     "threads run as they do in other builds of Python")


def packages(findings):
    """What the extras bring."""
    absent = {}
    for name, (called, extra, use) in EXTRAS.items():
        if find_spec(name) is None:
            absent.setdefault(extra, []).append(f"{called} ({use})")
            continue
        try:
            import_module(name)
        except Exception as error:  # whatever a broken package raises
            findings.add("packages", f"{called} is there and cannot be imported: {one_line(error)}", BAD,
                         f"pip install --force-reinstall {called}")
    here = sorted(called for name, (called, _, _) in EXTRAS.items() if find_spec(name))
    findings.add("packages", "beside numpy: " + (", ".join(here) or "none"))
    for extra, names in absent.items():
        findings.add("packages", f"not installed: {', '.join(names)}", FINE,
                     f"if you need it: pip install 'nnfast[{extra}]'")


def variables(findings):
    """Settings in the environment: values that are refused, names that nothing reads."""
    known, found = config.variables(), config.environment()
    chosen = [f"{name}={value}" for name, value in found.items() if name in known]
    if chosen:
        findings.add("settings", ", ".join(chosen))
    for name in set(found) - set(known):
        close = difflib.get_close_matches(name, known, 1)
        findings.add("settings", f"{name} is set, and nothing reads it", ODD,
                     f"do you mean {close[0]}?" if close else "nnfast info lists all that there are")
    try:
        from .._native import kernels, threads
        from ..driver.device import Device

        kernels.level(), threads.default_threads(), Device()
    except ImportError:
        return  # told already
    except Error as error:
        findings.add("settings", one_line(error), BAD, "unset it, or give it a value that nnfast info names")


# -- the machine -----------------------------------------------------------------------------------------------------
def processor(findings):
    """Level, threads, who else is at work."""
    from .._native import kernels, threads

    level, detected = kernels.level(), kernels.detected()
    if level == detected:
        findings.add("processor", f"level {level}, with kernels for {', '.join(kernels.levels())}")
    else:
        findings.add("processor", f"level {level}, though the machine has {detected}", ODD,
                     "NNFAST_CPU holds it back; results of integers are the same, floats in the last places")
    if level == "scalar" and detected == "scalar":
        findings.add("processor", "no SIMD level of this processor is known", ODD, "everything runs, slowly")
    there, usable, used = os.cpu_count() or 1, threads.available(), threads.default_threads()
    findings.add("threads", f"{used} for each run, of {there} processors")
    if usable < there:
        findings.add("threads", f"this process may use {usable} of {there} processors", ODD,
                     "by its affinity (taskset) or the quota of its control group")
    if used > usable:
        findings.add("threads", f"{used} threads share {counted(usable, 'processor')}", ODD,
                     "runs get slower by it: leave NNFAST_NUM_THREADS out")
    load = os.getloadavg()[0]
    if load > there / 2:
        findings.add("threads", f"other programs are at work: load {load:.1f} on {counted(there, 'processor')}", ODD,
                     "times that are measured now say little")


def limits(findings):
    """Descriptors, memory, what the kernel offers."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    few = hard != resource.RLIM_INFINITY and hard < FEW_DESCRIPTORS
    findings.add("limits", f"{soft:,} descriptors, {'no limit' if hard == resource.RLIM_INFINITY else f'{hard:,}'} for "
                           f"a driver's process", ODD if few else FINE,
                 "a driver's process shares them among its clients; raise ulimit -Hn" if few else "")
    space = resource.getrlimit(resource.RLIMIT_AS)[0]
    if space != resource.RLIM_INFINITY:
        findings.add("limits", f"{space >> 20:,} MB of addresses", ODD,
                     "rings and threads map memory that they do not use; ulimit -v unlimited")
    free = free_memory()
    if free is not None:
        findings.add("memory", f"{free >> 20:,} MB are free", ODD if free < SMALL_MEMORY else FINE,
                     "large models will not be prepared" if free < SMALL_MEMORY else "")
    for name, call, what in (
            ("memfd_create", lambda: os.memfd_create("nnfast doctor", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING),
             "memory that processes share: bursts, the driver's process"),
            ("pidfd_open", lambda: os.pidfd_open(os.getpid()), "the driver's process, which watches its clients")):
        try:
            os.close(call())
        except (OSError, AttributeError) as error:
            findings.add("kernel", f"{name}: {one_line(error)}", BAD,
                         f"it serves {what}; allow it in the sandbox, or take a kernel from 5.3 on")


def free_memory():
    """Bytes that programs may still have: those of the machine, or of the control group; None where nobody tells."""
    found = []
    for path, divisor in (("/proc/meminfo", None), ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current")):
        try:
            with open(path) as text:
                content = text.read()
            if divisor is None:
                line = next(line for line in content.splitlines() if line.startswith("MemAvailable:"))
                found.append(int(line.split()[1]) << 10)
            elif content.strip() != "max":
                with open(divisor) as text:
                    found.append(int(content) - int(text.read()))
        except (OSError, ValueError, StopIteration):
            pass
    return min(found, default=None)


# -- whether it works ------------------------------------------------------------------------------------------------
def self_test(findings):
    """The int8 digits at every level: the same integers, the right labels."""
    import numpy as np

    import nnfast

    from .._native import kernels
    from .demo import GREY_LEVELS, MODELS, data_file, held_out_digits

    images, labels = held_out_digits()
    images = images[..., None].astype(np.float32) / GREY_LEVELS
    model = nnfast.load(data_file(MODELS["int8"]).read_bytes())
    chosen, answers = kernels.level(), {}
    try:
        for level in kernels.levels():
            kernels.set_level(level)
            prepared = nnfast.Device().compile(model, ("fast_single_answer", "medium", {0: images.shape}, None))
            answers[level] = prepared.run([images], quantize=True)[0]
    finally:
        kernels.set_level(chosen)
    right = np.mean(answers[chosen].argmax(1) == labels)
    different = [level for level, answer in answers.items() if not np.array_equal(answer, answers["scalar"])]
    findings.add("self-test", f"{right:.1%} of {len(labels)} digits are right at level {chosen}",
                 BAD if right < LEAST_RIGHT else FINE, "please report it" if right < LEAST_RIGHT else "")
    if different:
        findings.add("self-test", f"integers of {', '.join(different)} differ from those of scalar", BAD,
                     "NNFAST_CPU=scalar computes right; please report it")
    else:
        findings.add("self-test", f"the same integers at {', '.join(answers)}")


def extensions(findings):
    """Extensions of installed packages."""
    from ..extensions import load_installed, registered

    load_installed(lambda entry, error: findings.add(
        "extensions", f"{entry.value}: {type(error).__name__}: {one_line(error)}", BAD,
        f"mend or uninstall {entry.dist.name if entry.dist else 'its package'}"))
    if registered():
        findings.add("extensions", ", ".join(sorted(registered())))


# -- files and processes ---------------------------------------------------------------------------------------------
def cache(findings):
    """The folder of compiled models, and the key that signs them."""
    folder = config.get("NNFAST_CACHE_DIR")
    if find_spec("msgspec") is None:
        if folder:
            findings.add("cache", "NNFAST_CACHE_DIR is set, and models cannot be stored", BAD,
                         "pip install 'nnfast[service]', or unset it")
        return
    if not folder:
        findings.add("cache", "models are compiled anew by each process, unless cache_dir= says otherwise", FINE,
                     "NNFAST_CACHE_DIR=FOLDER keeps them (docs/cache.md)")
    else:
        own_folder(findings, folder)
    path = config.key_path()
    if path is None:
        findings.add("key", "there is no home folder for it: what one process stores no other can load", ODD,
                     "set NNFAST_KEY to a file")
    elif not os.path.exists(path):
        findings.add("key", f"{path} will be made when the first model is stored")
    else:
        from ..driver import key

        try:
            key.check(path)
        except OSError as error:
            findings.add("key", one_line(error), BAD, "until then no other process can load what one has stored")
        else:
            findings.add("key", path)


def own_folder(findings, folder):
    """A folder that must belong to this user alone."""
    from ..driver.own_files import OwnFolder

    if not os.path.exists(folder):
        findings.add("cache", f"{folder} will be made when the first model is stored")
        return
    try:
        with OwnFolder(folder):
            pass
        free = shutil.disk_usage(folder).free
        names = os.listdir(folder)
    except OSError as error:
        findings.add("cache", one_line(error), BAD, "until then models are compiled anew each time")
        return
    findings.add("cache", f"{folder}: {counted(len(names), 'file')}", FINE)
    if not os.access(folder, os.W_OK):
        findings.add("cache", f"{folder} is not writable", BAD, "models are compiled anew each time")
    if free < SMALL_DISK:
        findings.add("cache", f"{folder}: {free >> 20} MB are free", ODD, "what does not fit is not stored")


def socket(findings):
    """Whether a driver's process serves where clients look for it."""
    if find_spec("msgspec") is None:
        return
    from ..service.client.device import connect

    path = config.socket_path()
    try:
        found = os.stat(path)
    except OSError:
        found = None
    if found is None:
        findings.add("driver", f"nobody serves at {path}", FINE, "nnfast serve starts a driver for many programs")
        return
    if not stat.S_ISSOCK(found.st_mode):
        findings.add("driver", f"{path} is no socket", BAD, "remove it, or set NNFAST_SOCKET to another path")
        return
    if found.st_uid != os.geteuid():
        findings.add("driver", f"{path} belongs to user {found.st_uid}", ODD, "set NNFAST_SOCKET to a path of your own")
    try:
        device = connect(path, patience=2)
    except DeadObject as error:
        findings.add("driver", one_line(error), ODD, "a new nnfast serve replaces a socket that a dead one has left")
    except Error as error:
        findings.add("driver", one_line(error), BAD, "restart nnfast serve, of the same version as its clients")
    else:
        stats = device.stats()
        device.close()
        findings.add("driver", f"serves at {path} for {stats['uptime_s']:,.0f} s: {stats['executions']:,} executions, "
                               f"{len(stats['clients']) - 1} other sessions")


def library(findings):
    """The C library, and a compiler for programs with it."""
    from .library import LIBRARY

    if not LIBRARY.exists():
        findings.add("C library", f"{LIBRARY} is not there", BAD,
                     "python setup.py build_ext --inplace in a source tree, else pip install nnfast again")
    elif not shutil.which("cc") and not shutil.which("gcc"):
        findings.add("C library", f"{LIBRARY}; no C compiler on PATH")
    else:
        findings.add("C library", f"{LIBRARY}")


def peers(findings):
    """LiteRT, which nnfast check and the benchmarks look for."""
    python = config.get("NNFAST_LITERT_PYTHON")
    if python:
        try:
            ran = subprocess.run([python, "-E", "-c", "import ai_edge_litert"], capture_output=True, text=True,
                                 timeout=60)
        except (OSError, subprocess.TimeoutExpired) as error:
            findings.add("LiteRT", f"NNFAST_LITERT_PYTHON: {one_line(error)}", BAD, "name a Python that has it")
        else:
            said = ran.stderr.strip().splitlines()
            if ran.returncode:
                findings.add("LiteRT", f"{python}: {said[-1] if said else 'fails'}", BAD,
                             "pip install ai-edge-litert there")
            else:
                findings.add("LiteRT", f"in {python}")
    elif find_spec("ai_edge_litert"):
        findings.add("LiteRT", f"{importlib.metadata.version('ai-edge-litert')}, beside nnfast")
