"""Programs of the documentation, run in processes of their own."""

import os
import shlex
import signal
import subprocess
import sys
from contextlib import suppress

import pytest

from helpers.service import serving


@pytest.fixture(scope="module")
def tools(tmp_path_factory):
    """A folder with the commands of this installation."""
    folder = tmp_path_factory.mktemp("tools")
    for name, arguments in (("nnfast", "-m nnfast"), ("python", "")):
        (folder / name).write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {arguments} "$@"\n')
        (folder / name).chmod(0o755)
    return folder


@pytest.fixture
def execute(tools, tmp_path, tmp_path_factory):
    """execute(program, python=): what it prints in a folder of its own; it must end well, with nothing on stderr."""
    with serving(tmp_path_factory.mktemp("driver")) as (socket, _):
        def run(program, python=sys.executable, quiet=True):
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "NNFAST_SOCKET": str(socket),
                           "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}", "NNFAST_KEY": str(tmp_path / "key")}
            if python != sys.executable:
                del environment["PYTHONPATH"]
            with open(tmp_path / ".out", "w+") as out, open(tmp_path / ".err", "w+") as err:
                process = subprocess.Popen([python, "-c", program], cwd=tmp_path, env=environment, stdout=out,
                                           stderr=err, process_group=0)
                try:
                    code = process.wait(timeout=1800)
                finally:
                    with suppress(ProcessLookupError):  # what it has started and left
                        os.killpg(process.pid, signal.SIGKILL)
                printed, complaints = (file.seek(0) or file.read() for file in (out, err))
            assert code == 0, printed + complaints
            assert not quiet or complaints == ""
            return printed

        yield run
