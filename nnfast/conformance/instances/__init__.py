"""Random legal instances of every signature: what the property tests compare, `nnfast info --ops` tries, and random
graphs are made of.
"""

from .draft import Draft, Instance, Offer, add_operand, draw, load_makers, table

__all__ = ["Draft", "Instance", "Offer", "add_operand", "draw", "load_makers", "table"]
