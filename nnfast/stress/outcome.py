"""How a program under stress ends."""

from __future__ import annotations

import signal
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..errors import Error

if TYPE_CHECKING:
    from typing import Any

SUCCESS, FAILURE, HANG, CRASH = OUTCOMES = "SUCCESS", "FAILURE", "HANG", "CRASH"

LONGEST = 500
"""Characters of a reason."""


class Failure(Exception):
    """What a test found wrong, in one line. facts: what it did nevertheless, as plain values."""

    facts: dict[str, Any]

    def __init__(self, text: str, facts: dict[str, Any] | None = None) -> None:
        super().__init__(text)
        self.facts = facts or {}


@dataclass(frozen=True, slots=True)
class Result:
    """Outcome of the test of a name: SUCCESS, FAILURE, HANG or CRASH. client: that of its process alone, which a test
    may expect to be CRASH; detail: one line; seconds: from the moment when the test began to work to its end; facts:
    what it did, as plain values.
    """

    name: str
    outcome: str
    client: str
    detail: str
    seconds: float
    facts: dict[str, Any] = field(default_factory=dict)


def one_line(text: object) -> str:
    """Text of any length as one line of a message."""
    line = " ".join(str(text).split())
    return line if len(line) <= LONGEST else line[:LONGEST] + "..."


def reason_of(error: BaseException) -> str:
    """An exception in one line; one that no program raises on purpose with the place where it came from."""
    if isinstance(error, Failure):
        return one_line(error)
    text = f"{type(error).__name__}: {error}"
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if not isinstance(error, Error) and trace is not None:
        code = trace.tb_frame.f_code
        text += f" ({code.co_filename.rpartition('/')[2]}:{trace.tb_lineno}, {code.co_name})"
    return one_line(text)


def ending(code: int) -> str:
    """An exit code of subprocess in words: "exit code 1", "SIGSEGV"."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
