"""Errors to statuses: the one place where exceptions of the driver end, and where their reasons are kept."""

import logging
import threading

from ..errors import Error, ErrorStatus, GeneralFailure, InternalError, ResourceExhaustedTransient
from . import convert

log = logging.getLogger("nnfast")
log.addHandler(logging.NullHandler())  # the library prints nothing unless the application asks for it


class Refusals(threading.local):
    """The reason of the last refusal on each thread."""

    reason = ""

    def status(self, error, hal):
        """Status of an error in a version; keeps and logs the reason."""
        if isinstance(error, MemoryError) and not isinstance(error, Error):
            error = ResourceExhaustedTransient(f"out of memory: {error}")
        if isinstance(error, InternalError):
            log.error("internal error", exc_info=error)
        elif not isinstance(error, Error):
            log.error("internal error", exc_info=error)
            error = GeneralFailure(f"internal error: {type(error).__name__}: {error}")
        self.reason = str(error)
        status = convert.status(error.status, hal)
        log.info("HAL %s: %s: %s", hal, status.name, self.reason)
        return status

    def answer(self, hal, call, *nothing):
        """(status, *results) of a call; with a status that is not NONE, `nothing` stands for the results."""
        self.reason = ""
        try:
            return ErrorStatus.NONE, *call()
        except Exception as error:
            return self.status(error, hal), *nothing
