"""Objects that a `with` block closes."""

from ..errors import InvalidArgument


class Closing:
    """Base of what has a `close`, which the end of a `with` block calls."""

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()


class ClosedGraph:
    """In place of the GraphRunner of a prepared model that was closed."""

    def segments(self):
        """None are left."""
        return []

    def __getattr__(self, name):
        raise InvalidArgument("prepared model: is closed; prepare the model again")
