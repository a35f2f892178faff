"""The process of a program under stress: calls the function, and sends what becomes of it to nnfast.stress.process."""

import ctypes
import faulthandler
import os
import signal
from multiprocessing.connection import Connection

from .outcome import FAILURE, SUCCESS, Failure, reason_of

PR_SET_PDEATHSIG = 1


class Report:
    """What a program says while it works."""

    def __init__(self, connection):
        self._connection = connection

    def begin(self):
        """The work begins now: what comes before it is not counted."""
        self._connection.send(("begin", ""))

    def progress(self, text):
        """How far it is."""
        self._connection.send(("progress", text))


def die_with(parent):
    """Have the kernel kill this process as soon as its parent is gone. parent: its process id."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL))
    if os.getppid() != parent:  # it went before that
        os.kill(os.getpid(), signal.SIGKILL)


def main(handle, parent):
    """Entry point. handle: number of the inherited connection."""
    die_with(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of the keyboard: the parent ends this process
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1)
    with Connection(handle) as connection:
        try:
            function, arguments = connection.recv()
            message = SUCCESS, "", function(Report(connection), **arguments) or {}
        except Failure as failure:
            message = FAILURE, reason_of(failure), failure.facts
        except Exception as error:
            message = FAILURE, reason_of(error), {}
        connection.send(message)
