import json
import os
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
