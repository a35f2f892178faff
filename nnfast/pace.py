"""Long work in Python goes in steps: between two of them it may let others go first, and may be told to stop.

The code that checks, plans and reads models calls `step()` about once per operation or operand. What that does is the
caller's affair: the driver's process runs each call under a pace that shares the interpreter fairly between clients and
stops when the client has gone (service/server/turns.py). Under no pace, a step costs one look-up.
"""

import threading


class _Local(threading.local):
    pace = None


_local = _Local()


def step(path=None):
    """One step of long work is done, or begins at `path`. Raises whatever the pace of this thread raises to stop it."""
    pace = _local.pace
    if pace is not None:
        pace()


def set_pace(pace):
    """Call `pace()` at each step of this thread from now on, None for nothing; returns what there was before."""
    before, _local.pace = _local.pace, pace
    return before
