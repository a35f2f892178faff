"""Checks deadlines and durations of a call, and converts seconds to the engine's nanoseconds."""

from ..checks import is_number, shown
from ..errors import InvalidArgument, MissedDeadlinePersistent

DEFAULT_LOOP_TIMEOUT_NS = 2_000_000_000
MAXIMUM_LOOP_TIMEOUT_NS = 15_000_000_000
_LONGEST_SECONDS = 1e9
_FOREVER_NS = (1 << 63) - 1


def duration_to_ns(seconds, what):
    """Nanoseconds of a positive duration in seconds, clamped to the engine's range; 0 for None.

    what: start of the error message. Raises InvalidArgument.
    """
    if seconds is None:
        return 0
    if not is_number(seconds) or not seconds > 0:
        raise InvalidArgument(f"{what}: is {shown(seconds)}, must be positive seconds or None")
    return int(min(seconds, _LONGEST_SECONDS) * 1e9)


def loop_timeout_to_ns(seconds):
    """Nanoseconds that each WHILE may take: the default for None, at most MAXIMUM_LOOP_TIMEOUT_NS."""
    if seconds is None:
        return DEFAULT_LOOP_TIMEOUT_NS
    return min(duration_to_ns(seconds, "execute loop_timeout"), MAXIMUM_LOOP_TIMEOUT_NS)


def check_deadline(deadline, call):
    """Raise InvalidArgument unless `deadline` is a number of seconds or None."""
    if deadline is not None and not is_number(deadline):
        raise InvalidArgument(f"{call} deadline: is {shown(deadline)}, must be seconds of time.monotonic() or None")


def check_times(call, deadline, loop_timeout=None, duration=None):
    """Raise InvalidArgument for malformed times. Whether the deadline has passed is checked when the work starts."""
    check_deadline(deadline, call)
    loop_timeout_to_ns(loop_timeout)
    duration_to_ns(duration, f"{call} duration")


def deadline_to_ns(deadline, now, call):
    """A deadline in time.monotonic() seconds as nanoseconds, 0 for None.

    Raises InvalidArgument if it is not a number, MissedDeadlinePersistent if it has passed [NN 3.16].
    """
    check_deadline(deadline, call)
    if deadline is None:
        return 0
    deadline_ns = max(-_LONGEST_SECONDS, min(deadline, _FOREVER_NS / 1e9)) * 1e9
    if not deadline_ns > now:
        raise MissedDeadlinePersistent(f"{call}: the deadline has passed before the start; allow more time")
    return int(min(deadline_ns, _FOREVER_NS))
