"""What a forked child must not inherit: locks that another thread held, and modules that one was importing.

A child has only the thread that forked, so that nobody would ever release the one or finish the other. Locks that
outlive a call are made with `renewed`, and code that imports on demand does so in `with importing:`, during which
nothing forks.

    _lock = renewed(threading.Lock())

`count` tells how many forks lie between this process and the one that imported nnfast: what belongs to one process
notes it, and looks at it before it waits for anything.
"""

import os
from threading import RLock, local
from weakref import WeakSet

PATIENCE_SECONDS = 10.0
"""So long a fork waits for an import; one that needs a lock which the forking thread holds would never end."""

count = 0
importing: RLock = RLock()
_renewed = WeakSet()


class _Fork(local):
    """What a thread knows of the fork that it is in."""

    has_importing = False  # also where a signal's handler raised in _before: then the fork goes on without the lock


_fork = _Fork()


def renewed(lock):
    """Have a Lock or Condition free again in every forked child, as long as it lives; returns it."""
    _renewed.add(lock)
    return lock


def _before():
    _fork.has_importing = importing.acquire(timeout=PATIENCE_SECONDS)


def _had_importing():
    had, _fork.has_importing = _fork.has_importing, False
    return had


def _in_parent():
    if _had_importing():
        importing.release()


def _in_child():
    global count
    count += 1
    for lock in list(_renewed):
        lock._at_fork_reinit()
    if _had_importing():
        importing.release()
    else:
        importing._at_fork_reinit()


os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
