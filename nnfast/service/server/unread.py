"""Results sent in their own memfds are charged to the client until it has received them."""

import threading

from ...forks import renewed


class Unread:
    """Charges of one connection's results. waiting: the client's set of connections with unread results; made: charges
    of the answer about to be sent.

    Every call of the client, on any connection, checks whether they can be dropped: the client may receive a result and
    never use that connection again.
    """

    def __init__(self, channel, waiting):
        self._channel, self._waiting = channel, waiting
        self._lock, self.made, self._sent = renewed(threading.Lock()), [], []

    def hold(self, charges):
        """Add charges of a result about to be sent."""
        self.made += charges

    def sent(self):
        """Note that the answer was sent, or could not be."""
        with self._lock:
            self._sent += self.made
            self.made.clear()
            self._waiting.add(self)

    def settle(self):
        """Drop the charges if the client has received all that was sent."""
        with self._lock:
            try:
                is_read = not self._channel.unread()
            except (OSError, ValueError):
                is_read = True  # the connection has ended
            if is_read:
                self._sent.clear()
                self._waiting.discard(self)

    def end(self):
        """Drop the charges: the connection has ended."""
        with self._lock:
            self.made.clear()
            self._sent.clear()
            self._waiting.discard(self)
