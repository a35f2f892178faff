"""Gives the working memory of models that have not run for a while back to the system [NN 3.10]."""

import os
import threading
import weakref

from .. import vlog
from ..forks import renewed

IDLE_SECONDS = 30.0
"""A prepared model that did not run for this long keeps its packed weights only."""

_lock = renewed(threading.Lock())
_watched = weakref.WeakKeyDictionary()  # prepared model: how often it had run at the last look
_owner = None


def watch(prepared):
    """Look after a prepared model for as long as it lives."""
    global _owner
    with _lock:
        _watched[prepared] = -1
        if _owner != os.getpid():  # a forked child has none of the parent's threads
            _owner = os.getpid()
            threading.Thread(target=_work, name="nnfast-watchdog", daemon=True).start()


def sweep():
    """Release the idle memory of every model that has not run since the last call; the number of such models."""
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
    """Sleeps between looks, and ends when nothing is left to look after."""
    global _owner
    tick = threading.Event()
    while True:
        tick.wait(IDLE_SECONDS)
        sweep()
        with _lock:
            if not _watched:
                _owner = None
                return
