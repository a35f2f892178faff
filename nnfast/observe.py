"""How many profiles, traces and log tags want to see executions: all that a warm run looks at before it starts."""

from threading import Lock

watchers = 0
_lock = Lock()


def watch(change):
    """Add to the number of watchers, or take away."""
    global watchers
    with _lock:
        watchers += change
