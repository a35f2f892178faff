"""The budget of the property run, and what it did."""

from collections import Counter

import pytest


def pytest_addoption(parser):
    parser.addoption("--instances", type=int, default=3, metavar="N",
                     help="random instances of each signature and type set in tests/properties (default 3)")


@pytest.fixture(scope="session")
def tally():
    """Counts of the whole run, shown at its end."""
    return _TALLY


_TALLY = Counter()


def pytest_terminal_summary(terminalreporter):
    if _TALLY["signatures"]:
        terminalreporter.write_line(
            "{signatures} signatures: {instances} instances ran, {native} of them native, {refused} were refused"
            .format_map(_TALLY))
