"""Hostile clients of a driver's process: what no client may do, sorted by what it attacks."""

from .hoarders import Hoarders
from .leavers import Leavers
from .sharers import Sharers
from .strangers import Strangers
from .workers import Workers

KINDS = (Strangers, Hoarders, Workers, Sharers, Leavers)
"""A hostile client of each kind."""
LOCAL_KINDS = tuple(kind for kind in KINDS if kind.LOCAL)
"""Those that have something to do in a process of their victims."""
