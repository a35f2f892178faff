"""How many profiles, traces and log tags want to see executions: all that a warm run looks at before it starts."""

from threading import Lock
from weakref import WeakSet

from .forks import renewed

watchers = 0
_lock = renewed(Lock())
_followers = WeakSet()


def watch(change):
    """Add to the number of watchers, or take away."""
    global watchers
    with _lock:
        watchers += change
        for follower in list(_followers):
            follower.observed(watchers)


def follow(follower):
    """Have follower.observed(number of watchers) called now and at every change, as long as the object lives.

    For loops that do not come by here: those of bursts.
    """
    with _lock:
        _followers.add(follower)
        follower.observed(watchers)
