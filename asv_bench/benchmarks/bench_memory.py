"""Measures nnfast/model/mapped.py, nnfast/engine: memory that a model adds to a process that ran another one before."""

import subprocess
import sys

from . import common

ADDED = """
import sys
from importlib import resources
import nnfast, numpy

def run(path):
    model = nnfast.load(path)
    prepared = device.prepare(model)
    prepared.run([numpy.zeros(info.shape, info.dtype) for info in prepared.inputs])
    return model, prepared

def resident():
    with open("/proc/self/status") as lines:
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))

device = nnfast.Device(num_threads=1)
small = run(str(resources.files("nnfast") / "data" / "digits_int8.tflite"))
before = resident()
model, prepared = run(sys.argv[1])
added = resident() - before
weights = sum(o.data.nbytes for o in model.main.operands if o.data is not None)
print(added / (weights + prepared.explain().arena_bytes))
"""


class Memory:
    params = (common.MODEL_NAMES,)
    param_names = ("model",)
    unit = "x (weights + arena)"

    def track_added(self, model):
        """Growth of the resident set by load, prepare and a run, over the bytes of weights and arena."""
        command = [sys.executable, "-c", ADDED, common.model_path(model)]
        return float(subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout)
