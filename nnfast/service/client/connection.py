"""A client's call connection: one message, one answer."""

import os

from ... import trace
from ...driver.request import OutputShape
from ...errors import Error, GeneralFailure, ResourceExhaustedTransient, detached
from ..wire import protocol
from ..wire.channel import LostDescriptors, Malformed
from ..wire.failures import raise_failure
from .arena import ClientArena


class ClientConnection:
    """A connection that serves one call at a time. session: set while it is in use."""

    def __init__(self, session):
        self.session, self.arena = session, ClientArena()
        self.channel = session.open("calls")
        self.in_step = True  # False while an answer is outstanding

    def call(self, message, fds=()):
        """The answer to a message. Raises what the driver reports, DeadObject if it is gone."""
        with trace.span("LI", "PE", type(message).__name__):
            self.send(message, fds)
            return self.receive()

    def call_for_fds(self, message, fds=()):
        """(answer, descriptors that came with it, which are the caller's)."""
        got = []
        with trace.span("LI", "PE", type(message).__name__):
            self.send(message, fds)
            return self.receive(got), got

    def send(self, message, fds=()):
        self.in_step = False
        self.tell(message, fds)

    def tell(self, message, fds=()):
        """Send a message without an answer, after the pending Release of dropped objects."""
        session = self.session
        try:
            if session.released:
                self.channel.send(session.take_released())
            self.channel.send(message, fds)
        except OSError as error:
            self.in_step = False
            raise session.failed(error) from None

    def receive(self, fds=None):
        """The next answer; fds: list that receives its descriptors, None: close them."""
        got = []
        try:
            answer = self.channel.receive(protocol.FROM_SERVER, got)
        except LostDescriptors as error:
            self.in_step = True
            raise ResourceExhaustedTransient(str(error)) from None
        except (OSError, Malformed) as error:
            raise self.session.lost(error) from None
        finally:
            if got:
                if fds is None:
                    close_all(got)
                else:
                    fds += got
        if answer is None:
            raise self.session.lost()
        if type(answer) is not protocol.Launched:
            self.in_step = True
        self.arena.settle(type(answer) is not protocol.Failure)
        if type(answer) is protocol.Failure:
            raise_failure(answer, OutputShape)
        return answer

    def reserve(self, size):
        """The bytes of the arena, at least `size` of them."""
        try:
            return self.arena.reserve(size, self.channel)
        except OSError as error:
            self.in_step = False
            raise self.session.failed(error) from None


def outcome_of(connection, error, convert, fds=None):
    """(result, error) of a launched call: convert(answer), or what went wrong. fds: as ClientConnection.receive."""
    if error is not None:
        return None, error
    try:
        return convert(connection.receive(fds)), None
    except Error as failed:
        return None, detached(failed)
    except MemoryError as failed:
        return None, ResourceExhaustedTransient(f"out of memory: {failed}")
    except Exception as failed:  # the waiting caller must get an answer, whatever went wrong
        return None, GeneralFailure(f"internal error: {type(failed).__name__}: {failed}")


def close_all(fds):
    """Close descriptors that came with a message."""
    for fd in fds:
        os.close(fd)
