import ctypes
import json
import os
import shutil
import subprocess

import pytest

from helpers.litert_models import litert_python
from helpers.processes import environment
from helpers.service import preparations, serving
from helpers.service_process import starter_in, stop
from helpers.tree import ROOT
from nnfast.litert.delegates import LIBRARY

RUNS = ROOT / "tests" / "helpers" / "delegate_runs.py"


@pytest.fixture(scope="session")
def driver(tmp_path_factory):
    """{variable: value} with which the delegate finds a driver, which it starts."""
    folder = tmp_path_factory.mktemp("driver")
    socket = str(folder / "s")
    yield {"NNFAST_SOCKET": socket, "NNFAST_DRIVER": str(starter_in(folder))}
    if os.path.exists(socket):
        stop(socket)


@pytest.fixture(scope="session")
def litert():
    """Path of a Python that has LiteRT."""
    found = litert_python()
    if found is None:
        pytest.skip("LiteRT is not installed; NNFAST_LITERT_PYTHON may name a Python that has it")
    return found


@pytest.fixture(scope="session")
def run_all(litert, driver):
    """run_all(jobs): rows of helpers/delegate_runs.py, and what was written to stderr."""
    def call(jobs, **variables):
        variables = environment() | driver | variables
        variables.pop("PYTHONPATH")
        done = subprocess.run([litert, str(RUNS)], input=json.dumps([{"library": str(LIBRARY)} | job for job in jobs]),
                              capture_output=True, text=True, timeout=500, env=variables)
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()], done.stderr

    return call


@pytest.fixture(scope="session")
def sha256(tmp_path_factory):
    """sha256(bytes): what csrc/delegate/sha256.c makes of them, in two pieces."""
    if not shutil.which("cc"):
        pytest.skip("there is no C compiler")
    target = tmp_path_factory.mktemp("sha256") / "sha256.so"
    source = ROOT / "csrc" / "delegate" / "sha256.c"
    subprocess.run(["cc", "-shared", "-fPIC", str(source), "-o", str(target)], check=True)
    library = ctypes.CDLL(str(target))

    def call(data):
        hash_, digest, half = ctypes.create_string_buffer(256), ctypes.create_string_buffer(32), len(data) // 2
        library.dlg_sha256_begin(hash_)
        library.dlg_sha256_add(hash_, data[:half], ctypes.c_size_t(half))
        library.dlg_sha256_add(hash_, data[half:], ctypes.c_size_t(len(data) - half))
        library.dlg_sha256_end(hash_, digest)
        return digest.raw

    return call


@pytest.fixture
def served(tmp_path):
    """(variables to find a driver that serves in this process, [device of each model that it has prepared since])."""
    with serving(tmp_path) as (path, server):
        yield {"NNFAST_SOCKET": path}, preparations(server)


@pytest.fixture
def run(run_all, tmp_path):
    """run(content of a file, **job): its row."""
    def call(content, **job):
        path = tmp_path / "model.tflite"
        path.write_bytes(content)
        return run_all([{"path": str(path), **job}])[0][0]

    return call
