"""Programs that end in a known way, so that each outcome can be seen to be told from the others."""

import ctypes
import os
import time

from .outcome import CRASH, FAILURE, HANG, SUCCESS

ENDLESS_SECONDS = 1 << 20


def succeed(report):
    """Nothing at all."""
    report.begin()


def fail(report):
    """An exception."""
    report.begin()
    raise ValueError("raised on purpose")


def leave(report):
    """The process ends with status -1."""
    report.begin()
    os._exit(-1 & 0xFF)


def write_through_null(report):
    """SIGSEGV."""
    report.begin()
    ctypes.memset(0, 1, 1)


def never_answer(report):
    """No answer, ever."""
    report.begin()
    time.sleep(ENDLESS_SECONDS)


PROVOCATIONS = {succeed: SUCCESS, fail: FAILURE, leave: CRASH, write_through_null: CRASH, never_answer: HANG}
"""Programs, and the outcome that each must have."""
