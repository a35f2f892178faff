"""A function in a process of its own: SUCCESS, FAILURE, HANG or CRASH, whichever comes first.

The function, one of a module, is called with a Report and keyword arguments. It says `report.begin()` when its work
begins; what it returns is SUCCESS, an exception FAILURE, the death of its process CRASH, and nothing of it within
`seconds` and `grace` after the beginning HANG.
"""

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from multiprocessing import Pipe
from multiprocessing.connection import wait

from .outcome import CRASH, FAILURE, HANG, SUCCESS, ending

START_SECONDS = 600.0
"""A program that takes longer before it begins counts as HANG: it loads models and computes what they must give."""

DUMP_SECONDS = 0.5
"""What a program that hangs gets to write where its threads stand."""

# The process gets this one's sys.path, so that it imports the same modules.
_BOOT = """
import sys
handle, parent, *sys.path = sys.argv[1:]
from nnfast.stress.program import main
main(int(handle), int(parent))
"""


@dataclass(frozen=True, slots=True)
class End:
    """How a program ended. outcome; text: reason of a FAILURE, or how it came to the others; facts: what it returned;
    seconds: from its beginning; code: of its process, as subprocess gives it; killed: by this module, on purpose.
    """

    outcome: str
    text: str
    facts: dict = field(default_factory=dict)
    seconds: float = 0.0
    code: int = 0
    killed: bool = False


class _Program:
    """A running program: its process, a descriptor of it, and the connection to it."""

    def __init__(self, function, arguments, stderr):
        self.connection, other = Pipe()
        command = [sys.executable, "-c", _BOOT, str(other.fileno()), str(os.getpid()), *map(os.path.abspath, sys.path)]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=stderr, pass_fds=[other.fileno()])
        other.close()
        self.pidfd = os.pidfd_open(self.process.pid)
        try:
            self.connection.send((function, arguments))
        except (BrokenPipeError, ConnectionResetError):
            pass  # it died; waiting for it shows that

    def next(self, until):
        """(message, content...) of it; (CRASH,) once its process is gone, None when nothing comes in time."""
        while True:
            ready = wait([self.connection, self.pidfd] if self.connection else [self.pidfd],
                         max(0.0, until - time.monotonic()))
            if not ready:
                return None
            if self.connection in ready:
                try:
                    return self.connection.recv()
                except (EOFError, ConnectionResetError):
                    self.connection = None  # its last copy is closed: the process is about to end
            elif self.pidfd in ready:
                return (CRASH,)

    def signal(self, number):
        """Send a signal; False where the process is gone."""
        if wait([self.pidfd], 0):
            return False
        signal.pidfd_send_signal(self.pidfd, number)
        return True

    def close(self, patience):
        """Exit code, after it has had `patience` seconds to end by itself; None where it had to be killed."""
        ended = bool(wait([self.pidfd], patience))
        self.signal(signal.SIGKILL)
        code = self.process.wait()
        os.close(self.pidfd)
        if self.connection:
            self.connection.close()
        return code if ended else None


def watch(function, arguments, seconds, grace, kill_after=None, progress=None, stderr=None):
    """Run a function in a process of its own, with keyword arguments; returns its End.

    seconds: that it declares to work; grace: how much longer it may take. kill_after: seconds after its beginning when
    it is killed (SIGKILL), None: never. progress(text): called with what it reports. stderr: as of Popen; what crashes
    or hangs shows there where its threads stand.
    """
    program, began, killed = _Program(function, arguments, stderr), None, False
    until = time.monotonic() + START_SECONDS
    try:
        while True:
            kill_at = began + kill_after if began is not None and kill_after is not None and not killed else until
            message = program.next(min(kill_at, until))
            if message is None and kill_at < until:
                killed = program.signal(signal.SIGKILL)
                kill_after = None
                continue
            if message is None or message[0] in (SUCCESS, FAILURE, CRASH):
                break
            if began is None:
                began = time.monotonic()
                until = began + seconds + grace
            if progress is not None and message[1]:
                progress(message[1])
        spent = 0.0 if began is None else time.monotonic() - began
        if message is None and program.signal(signal.SIGUSR1):
            wait([program.pidfd], DUMP_SECONDS)
        code = program.close(0.0 if message is None else grace)
        return _end(message, code, began, spent, killed, seconds, grace)
    except BaseException:
        program.close(0.0)
        raise


def _end(message, code, began, spent, killed, seconds, grace):
    """End of a program by the first message that counts."""
    if message is None:
        text = f"nothing for {START_SECONDS:g} s after its start" if began is None else \
            f"nothing within the {seconds:g} s declared and {grace:g} s more"
        return End(HANG, text, {}, spent, -signal.SIGKILL)
    if message[0] == CRASH:
        text = "killed on purpose" if killed else f"the process died: {ending(code)}"
        return End(CRASH, text, {}, spent, code, killed)
    if code is None:
        return End(message[0], message[1] or f"the process had not ended {grace:g} s later", message[2], spent,
                   -signal.SIGKILL)
    return End(message[0], message[1] or ("" if code == 0 else f"the process ended with {ending(code)} then"),
               message[2], spent, code)
