"""Objects that a `with` block closes, and what a closed model answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import InvalidArgument

if TYPE_CHECKING:
    from typing import Self


class Closing:
    """Base class: a context manager that calls `close` at the end of the block."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class Closed:
    """Replaces what a closed model worked with: any use raises InvalidArgument."""

    def __getattr__(self, name):
        raise InvalidArgument("prepared model: is closed; prepare the model again")


class ClosedGraph(Closed):
    """Replaces the GraphRunner of a closed model."""

    def segments(self):
        """None: all plans are gone."""
        return []
