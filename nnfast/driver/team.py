"""Whose threads run native programs: nnfast's own team, or OpenMP's (docs/threads.md)."""

from .. import config
from .._native.threads import OWN
from ..checks import chosen_from
from ..errors import InvalidArgument
from ..forks import importing

TEAMS = ("own", "openmp")


def team_of(name):
    """The _native.threads.Team of a name among TEAMS; None: of NNFAST_TEAM. Raises InvalidArgument, also where this
    build of nnfast has no OpenMP."""
    what = "NNFAST_TEAM:" if name is None else "Device team:"
    if chosen_from(config.get("NNFAST_TEAM") if name is None else name, what, TEAMS) == "own":
        return OWN
    try:
        with importing:
            from .._native.openmp import TEAM
    except ImportError as error:
        raise InvalidArgument(f"{what} is 'openmp', which this build of nnfast does not have ({error}); build it with "
                              "a compiler that has OpenMP, or use 'own'") from None
    return TEAM


def teams():
    """Names of the teams that this build has."""
    found = []
    for name in TEAMS:
        try:
            found.append(team_of(name).name)
        except InvalidArgument:
            pass  # built without it
    return found
