"""Random graphs from the signature tables, run on a driver, judged by the numpy definitions (docs/randgraph.md)."""

from .generate import SIZES, draw_case
from .results import GraphResult, GraphResults
from .runner import run

__all__ = ["SIZES", "GraphResult", "GraphResults", "draw_case", "run"]
