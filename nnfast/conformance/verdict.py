"""What one form of a test came to, and the exceptions by which a test ends early."""

from dataclasses import dataclass, field

from ..errors import Error
from .compare import Comparison

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


class Skip(Exception):
    """The standard lets a driver refuse this; the message cites the rule."""


class Fail(Exception):
    """The driver broke a rule; the message says which."""


@dataclass(slots=True)
class Part:
    """One form of a kind ("" when it has one form only): outcome, reason and what comparing gave.

    tally: rule -> [tried, refused, accepted, crashed], of the kind that counts wrong models and requests.
    """

    name: str
    outcome: str = PASSED
    reason: str = ""
    comparison: Comparison | None = None
    tally: dict = field(default_factory=dict)


def part_of(name, function, *args):
    """Run one form; what it raises becomes its outcome."""
    part = Part(name)
    try:
        part.comparison = function(*args)
        if part.comparison.reason:
            raise Fail(part.comparison.reason)
    except Skip as skip:
        part.outcome, part.reason = SKIPPED, str(skip)
    except Fail as fail:
        part.outcome, part.reason = FAILED, str(fail)
    except Error as error:
        part.outcome, part.reason = FAILED, describe(error)
    except Exception as error:  # a driver bug; the other tests go on
        part.outcome, part.reason = FAILED, f"the driver raised {describe(error)}"
    return part


def describe(error):
    """An exception in one line: its status where it has one, else its class."""
    name = error.status.name if isinstance(error, Error) else type(error).__name__
    return f"{name}: {' '.join(str(error).split())}"
