"""Gives the working memory of models that have not run for a while back to the system [NN 3.10]."""

import os
import threading
import weakref

from .. import vlog
from ..forks import renewed

IDLE_SECONDS = 30.0
"""Idle time after which a prepared model keeps only its packed weights."""

_lock = renewed(threading.Lock())
_watched = weakref.WeakKeyDictionary()  # prepared model: its run count at the last look
_owner = None


def watch(prepared):
    """Watch a prepared model for as long as it lives."""
    global _owner
    with _lock:
        _watched[prepared] = -1
        if _owner != os.getpid():  # a forked child does not have the parent's thread
            _owner = os.getpid()
            threading.Thread(target=_work, name="nnfast-watchdog", daemon=True).start()


def sweep():
    """Release the working memory of models that have not run since the last call; returns how many there are."""
    with _lock:
        models = list(_watched.items())
    idle = 0
    for prepared, before in models:
        runs = prepared.run_count()
        if runs == before:
            prepared.release_idle()
            idle += 1
            if vlog.mask & vlog.MANAGER:
                vlog.log(vlog.MANAGER, "%r: idle, working memory released", prepared)
        with _lock:
            _watched[prepared] = runs
    return idle


def _work():
    """Sweep at intervals until nothing is left to watch."""
    global _owner
    tick = threading.Event()
    while True:
        tick.wait(IDLE_SECONDS)
        sweep()
        with _lock:
            if not _watched:
                _owner = None
                return
