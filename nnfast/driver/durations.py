"""Deadlines and durations of a call in seconds, checked, as the nanoseconds that the engine counts in."""

from ..checks import is_number, shown
from ..errors import InvalidArgument, MissedDeadlinePersistent

DEFAULT_LOOP_TIMEOUT_NS = 2_000_000_000
MAXIMUM_LOOP_TIMEOUT_NS = 15_000_000_000
_LONGEST_SECONDS = 1e9
_FOREVER_NS = (1 << 63) - 1


def duration_to_ns(seconds, what):
    """Nanoseconds of a positive duration, 0 for None; what is longer than any machine runs is shortened.

    what: of the message. Raises InvalidArgument.
    """
    if seconds is None:
        return 0
    if not is_number(seconds) or not seconds > 0:
        raise InvalidArgument(f"{what}: is {shown(seconds)}, must be positive seconds or None")
    return int(min(seconds, _LONGEST_SECONDS) * 1e9)


def loop_timeout_to_ns(seconds):
    """Nanoseconds that each WHILE may take: the default for None, never more than the longest allowed."""
    if seconds is None:
        return DEFAULT_LOOP_TIMEOUT_NS
    return min(duration_to_ns(seconds, "execute loop_timeout"), MAXIMUM_LOOP_TIMEOUT_NS)


def check_deadline(deadline, call):
    """Raise InvalidArgument for what is no point of time."""
    if deadline is not None and not is_number(deadline):
        raise InvalidArgument(f"{call} deadline: is {shown(deadline)}, must be seconds of time.monotonic() or None")


def check_times(call, deadline, loop_timeout=None, duration=None):
    """Raise InvalidArgument for what is not a time; one that has passed is left to the caller that starts the work."""
    check_deadline(deadline, call)
    loop_timeout_to_ns(loop_timeout)
    duration_to_ns(duration, f"{call} duration")


def deadline_to_ns(deadline, now, call):
    """A deadline in time.monotonic() seconds as nanoseconds, 0 for none.

    Raises InvalidArgument for what is no number, MissedDeadlinePersistent when it has passed [NN 3.16].
    """
    check_deadline(deadline, call)
    if deadline is None:
        return 0
    deadline_ns = max(-_LONGEST_SECONDS, min(deadline, _FOREVER_NS / 1e9)) * 1e9
    if not deadline_ns > now:
        raise MissedDeadlinePersistent(f"{call}: the deadline has passed before the start; allow more time")
    return int(min(deadline_ns, _FOREVER_NS))
