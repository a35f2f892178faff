"""LiteRT beside nnfast: the values of a model's tensors, computed by LiteRT in a process of its own that may crash."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from ...errors import InvalidArgument

PROGRAM = Path(__file__).with_name("process.py")

REFERENCE = ("BUILTIN_REF", "BUILTIN_WITHOUT_DEFAULT_DELEGATES")
"""Resolvers with LiteRT's reference kernels, and where they lack an operator of the model those that LiteRT has."""


class Peer:
    """LiteRT of a Python.

    python: path of an interpreter that has ai_edge_litert or tflite_runtime, and numpy; None: the one that runs this.
    version: name and version of the package; resolver: whose kernels ran; seconds: of each call; all of the last `run`.
    """

    def __init__(self, python=None):
        self.python = python or sys.executable
        self.version, self.resolver, self.seconds = "", "", []

    def run(self, path, calls, tensors, resolvers=REFERENCE, preserve=True, starts=()):
        """Values of tensors after each call, a dict {tensor index: array} for each.

        path: of the .tflite file; calls: a dict {tensor index of an input: array} for each call, inputs in the file's
        order; tensors: indexes, of numbers; preserve: intermediate results keep their values. Tensors without a value
        in LiteRT are left out. State is kept between the calls, and begins anew with each of the calls `starts`. Raises
        InvalidArgument where that Python cannot be run, has no LiteRT, or LiteRT does not run the model.
        """
        with tempfile.TemporaryDirectory() as folder:
            request = {"model": os.path.abspath(path), "resolvers": resolvers, "preserve": preserve,
                       "tensors": list(tensors), "shapes": [list(array.shape) for array in calls[0].values()],
                       "calls": len(calls), "starts": list(starts), "inputs": os.path.join(folder, "inputs.npz"),
                       "results": os.path.join(folder, "results.npz")}
            np.savez(request["inputs"], **{f"{place}_{index}": array for place, call in enumerate(calls)
                                           for index, array in call.items()})
            reply = self._ask(path, request, os.path.join(folder, "request.json"))
            self.version, self.resolver, self.seconds = reply["version"], reply["resolver"], reply["seconds"]
            found = [{} for _ in calls]
            with np.load(request["results"]) as results:
                for name in results.files:
                    call, tensor = map(int, name.split("_"))
                    found[call][tensor] = results[name]
        return found

    def _ask(self, path, request, place):
        """The process's reply; what went wrong there is InvalidArgument."""
        with open(place, "w", encoding="utf-8") as stream:
            json.dump(request, stream)
        alone = [] if self.python == sys.executable else ["-E"]  # no PYTHONPATH of another Python's modules
        try:
            done = subprocess.run([self.python, *alone, str(PROGRAM), place], capture_output=True, text=True,
                                  errors="replace", stdin=subprocess.DEVNULL)
        except OSError as error:
            raise InvalidArgument(f"{self.python}: cannot be run ({error.strerror}); must be a Python with LiteRT") \
                from None
        if done.returncode < 0:
            raise InvalidArgument(f"{path}: LiteRT crashes on it ({signal.Signals(-done.returncode).name})")
        try:
            reply = json.loads(done.stdout)
        except ValueError:
            last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
            raise InvalidArgument(f"{self.python}: cannot run LiteRT: {last}") from None
        if "missing" in reply:
            raise InvalidArgument(f"LiteRT is not installed in {self.python} (package ai-edge-litert); name a Python "
                                  "that has it with --litert-python or NNFAST_LITERT_PYTHON")
        if "failed" in reply:
            raise InvalidArgument(f"{path}: {reply['version']} does not run it: {reply['failed']}")
        return reply
