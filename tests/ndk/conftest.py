import contextlib
import importlib
import io
import os
import re
import shutil
import subprocess

import pytest

from helpers.service import serving
from helpers.tree import ROOT
from nnfast.cli.main import main
from nnfast.extensions import register, unregister

PROGRAMS = ROOT / "tests" / "ndk" / "programs"


@pytest.fixture(scope="session")
def flags():
    """What a C compiler needs for the library: the output of nnfast library."""
    if not shutil.which("cc"):
        pytest.skip("there is no C compiler")
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert main(["library", "--cflags", "--libs"]) == 0
    return out.getvalue().split()


@pytest.fixture(scope="session")
def program(flags, tmp_path_factory):
    """program(path of a C file): the program, compiled with warnings as errors."""
    folder, known = tmp_path_factory.mktemp("programs"), {}

    def compiled(source):
        if source not in known:
            target = folder / source.stem
            subprocess.run(["cc", "-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", str(source), "-o",
                            str(target), *flags, "-Wno-unused-const-variable", "-pthread", "-lm"], check=True)
            known[source] = target
        return known[source]

    return compiled


@pytest.fixture(scope="session")
def driver(tmp_path_factory):
    """The socket of a driver that serves in this process."""
    with serving(tmp_path_factory.mktemp("driver")) as (path, _):
        yield path


@pytest.fixture
def extended_driver(tmp_path, monkeypatch):
    """The socket of one with the extension of examples/fibonacci_extension."""
    monkeypatch.syspath_prepend(ROOT / "examples" / "fibonacci_extension")
    extension = importlib.import_module("fibonacci_extension").EXTENSION
    register(extension)
    try:
        with serving(tmp_path) as (path, _):
            yield path
    finally:
        unregister(extension.name)


@pytest.fixture
def run(driver):
    """run(program, *arguments): its output; it must end well."""
    def call(program, *arguments, socket=driver, code=0, **variables):
        done = subprocess.run([str(program), *arguments], capture_output=True, text=True, timeout=300,
                              env=os.environ | {"NNFAST_SOCKET": str(socket)} | variables)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    return call


def pytest_generate_tests(metafunc):
    """`case`: (C file, name) of every row of the tables at the end of the programs."""
    if "case" in metafunc.fixturenames:
        cases = [(path, name) for path in sorted(PROGRAMS.glob("*.c"))
                 for name in re.findall(r'\{"(\w+)", \1\}', path.read_text())]
        metafunc.parametrize("case", cases, ids=[f"{path.stem}-{name}" for path, name in cases])
