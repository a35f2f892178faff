"""Fuzzing: bytes of strangers and whole sessions of a client, guided by coverage where atheris is installed.

    for result in nnfast.fuzz.run(["tflite", "session"], minutes=5, seed=1, folder="found"):
        print(result.target, result.runs, result.reason or "nothing found")

docs/fuzz.md tells the targets.
"""

from .runner import FuzzResult, replay, run
from .targets import TARGETS

__all__ = ["TARGETS", "FuzzResult", "replay", "run"]
