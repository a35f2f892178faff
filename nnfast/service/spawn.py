"""The device of `--via service`, in a driver's process of its own, which ends with its last client."""

import json
import os
import secrets
import subprocess
import sys
import tempfile
import time

from ..errors import DeadObject, GeneralFailure
from . import connect

PATIENCE_SECONDS = 30.0
IDLE_SECONDS = 10.0

# The server gets this process's sys.path, so that it imports the same modules.
_BOOT = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from nnfast.cli.main import main
sys.exit(main(sys.argv[2:]))
"""


def start(path, *options, stderr=None):
    """A driver's process that serves at `path`, as Popen; it is ready when `connect` works. stderr: as of Popen.

    It is a process group, so that Ctrl-C does not reach it, but not a session: Linux shares the processors between
    sessions first (sched_autogroup), whatever the priorities of their processes.
    """
    modules = json.dumps([os.path.abspath(folder) for folder in sys.path])
    command = [sys.executable, "-c", _BOOT, modules, "serve", "--socket", path, *options]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=stderr,
                            process_group=0)


def reach(path, process):
    """The device of a process from `start`, once it serves. Raises GeneralFailure if it does not."""
    until = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return connect(path)
        except DeadObject:
            if process.poll() is not None or time.monotonic() > until:
                raise GeneralFailure(f"the driver's process does not serve at {path}: exit code {process.poll()}") \
                    from None
        time.sleep(0.02)


def service_device(num_threads=None):
    """A RemoteDevice with a driver's process that nobody else uses."""
    path = os.path.join(tempfile.gettempdir(), f"nnfast-{secrets.token_hex(8)}.sock")
    threads = [] if num_threads is None else ["--threads", str(num_threads)]
    return reach(path, start(path, "--exit-idle", str(IDLE_SECONDS), *threads))
