"""Other Python processes that import what this one can: nnfast, and these helpers."""

import os
import subprocess
import sys


def environment(**more):
    """Environment of a process with the import path of this one."""
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))} | more


def fresh(code, *arguments, **variables):
    """Standard output of `python -c code arguments` in a process of its own, which must end well and silently."""
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=300,
                          env=environment(**variables))
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout.strip()
