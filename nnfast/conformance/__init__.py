"""Proving that a driver keeps the standard: vector format, comparison criteria, test kinds and the runner."""

from .results import Results, TestResult
from .runner import run

__all__ = ["Results", "TestResult", "run"]
