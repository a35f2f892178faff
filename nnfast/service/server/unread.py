"""Results that travel in memories of their own count for the client until it has received them."""

import threading

from ...forks import renewed


class Unread:
    """Charges of one connection's results. waiting: the client's set of those that hold some; made: charges of the
    answer that is about to be sent.

    Every call of the client looks whether they can go, on whatever connection it comes: the client may receive a result
    and never use that connection again.
    """

    def __init__(self, channel, waiting):
        self._channel, self._waiting = channel, waiting
        self._lock, self.made, self._sent = renewed(threading.Lock()), [], []

    def hold(self, charges):
        """Charges of a result that is about to be sent."""
        self.made += charges

    def sent(self):
        """What was made has been sent, or could not be."""
        with self._lock:
            self._sent += self.made
            self.made.clear()
            self._waiting.add(self)

    def settle(self):
        """Give back the charges once the client has received all that was sent."""
        with self._lock:
            try:
                is_read = not self._channel.unread()
            except (OSError, ValueError):
                is_read = True  # the connection has ended
            if is_read:
                self._sent.clear()
                self._waiting.discard(self)

    def end(self):
        """The connection has ended."""
        with self._lock:
            self.made.clear()
            self._sent.clear()
            self._waiting.discard(self)
