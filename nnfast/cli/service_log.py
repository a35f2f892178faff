"""Log lines of `nnfast serve` on stderr, as text or JSON, one record a line."""

import json
import logging
import queue
import sys
import threading
import time

FORMATS = ("text", "json")
LEVELS = ("error", "warning", "info")
MOST_LINES = 10_000
"""Lines that wait to be written: where nobody reads them, further ones are dropped and counted, and nobody waits."""


def one_line(text):
    """Text that clients may have chosen, without line breaks and control characters."""
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


class TextLines(logging.Formatter):
    """`HH:MM:SS.mmm logger: message`, as lines of NNFAST_VLOG, and the traceback of an error below it."""

    def format(self, record):
        text = f"{self.formatTime(record, '%H:%M:%S')}.{record.msecs:03.0f} {record.name}: " \
               f"{one_line(record.getMessage())}"
        return f"{text}\n{self.formatException(record.exc_info)}" if record.exc_info else text


class JsonLines(logging.Formatter):
    """An object a line: time (UTC, ISO 8601), level, logger, message, and traceback of an error."""

    def format(self, record):
        found = {"time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{record.msecs:03.0f}Z",
                 "level": record.levelname.lower(), "logger": record.name, "message": record.getMessage()}
        if record.exc_info:
            found["traceback"] = self.formatException(record.exc_info)
        return json.dumps(found)


class Lines(logging.Handler):
    """Writes records to a stream on a thread of its own, so that a stream that blocks holds nobody up."""

    def __init__(self, stream, formatter):
        super().__init__()
        self.setFormatter(formatter)
        self._stream, self._queue, self._dropped = stream, queue.Queue(MOST_LINES), 0
        self._thread = threading.Thread(target=self._write, name="nnfast-log", daemon=True)
        self._thread.start()

    def emit(self, record):
        """Queue the record's line."""
        try:
            self._queue.put_nowait(self.format(record))
        except queue.Full:
            self._dropped += 1
        except Exception:
            self.handleError(record)

    def finish(self, seconds=1.0):
        """Write what waits; give up after so long."""
        try:
            self._queue.put(None, timeout=seconds)
            self._thread.join(seconds)
        except queue.Full:
            pass  # nobody reads

    def _write(self):
        while (line := self._queue.get()) is not None:
            try:
                self._stream.write(line + "\n")
                if self._dropped:
                    count, self._dropped = self._dropped, 0
                    record = logging.LogRecord("nnfast.service", logging.WARNING, "", 0,
                                               "%d log lines were dropped: they came faster than they were read",
                                               (count,), None)
                    self._stream.write(self.format(record) + "\n")
                self._stream.flush()
            except (OSError, ValueError):
                pass  # the stream is closed: there is no place to say so


def set_up(form, level):
    """Send log lines from a level on to stderr; returns the Lines. NNFAST_VLOG adds those of its tags."""
    root = logging.getLogger()
    root.setLevel(level.upper())
    lines = Lines(sys.stderr, JsonLines() if form == "json" else TextLines())
    root.addHandler(lines)
    return lines
