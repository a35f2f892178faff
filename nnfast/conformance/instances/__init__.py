"""Random legal instances of every signature: what the property tests compare and `nnfast info --ops` tries."""

from .draft import Instance, draw, load_makers, table

__all__ = ["Instance", "draw", "load_makers", "table"]
