"""Where the time goes from a cold process to a first result, in milliseconds of the thread that does it all.

    python ci/start_phases.py MODEL.tflite... [--processes N] [--litert-python PYTHON] [--markdown]

Each model is loaded, prepared and run once in N new processes; medians. Columns: import of numpy and of nnfast; load:
reading and checking the file (decode), making the model of it (translate); prepare: rules of the operations (check),
shapes (infer), choice of kernels and steps (lower) without the packing of weights (pack), the rest, which is memory and
imports of what the operations need; the first run. Again: prepare of the same model once more, from nothing and from a
cache (cached). Cold: the first prepare of a new process, from a cache. LiteRT, where PYTHON has it: interpreter and
allocate_tensors, and the first invoke.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from nnfast.cli.output import positive  # noqa: E402

OURS = """
import json, sys, time
clock = time.thread_time_ns
began = clock()
import numpy as np
numpy = clock()
import nnfast
from nnfast.tflite import reader
from nnfast.compiler.planner import Planner
from nnfast.compiler.packing import Packing
from nnfast.driver import prepared
nnfast.Device, nnfast.load
imported = clock()
spent, inner = {}, [0]

def timed(owner, name, label):
    function = getattr(owner, name)
    def call(*arguments, **named):
        inner.append(0)
        start = clock()
        try:
            return function(*arguments, **named)
        finally:
            whole = clock() - start
            spent[label] = spent.get(label, 0) + whole - inner.pop()
            inner[-1] += whole
    setattr(owner, name, call)

for owner, name, label in ((reader, "decode", "decode"), (prepared, "check_model", "check"),
                           (Planner, "_infer", "infer"), (Planner, "_lower", "lower"), (Packing, "take", "pack")):
    timed(owner, name, label)
a = clock()
model = nnfast.load(sys.argv[1])
b = clock()
device = nnfast.Device(num_threads=1)
ready = device.prepare(model)
c = clock()
ready.run([np.zeros(info.shape, info.dtype) for info in ready.inputs])
d = clock()
found = dict(spent)
found.update(numpy=numpy - began, nnfast=imported - numpy, first=d - c)
found["translate"] = b - a - found["decode"]
found["rest"] = c - b - sum(found.get(key, 0) for key in ("check", "infer", "lower", "pack"))
for label, options in (("again", {}), ("", {"cache_dir": sys.argv[2]}), ("cached", {"cache_dir": sys.argv[2]})):
    times = []
    for _ in range(3):
        fresh = nnfast.load(sys.argv[1])
        start = clock()
        device.prepare(fresh, **options)
        times.append(clock() - start)
    if label:
        found[label] = min(times)
print(json.dumps({"operations": len(model.main.operations), **found}))
"""
CACHED = """
import json, sys, time
import nnfast
model, device = nnfast.load(sys.argv[1]), nnfast.Device(num_threads=1)
began = time.thread_time_ns()
device.prepare(model, cache_dir=sys.argv[2])
print(json.dumps({"cold": time.thread_time_ns() - began}))
"""
LITERT = """
import json, sys, time
import numpy as np
from ai_edge_litert.interpreter import Interpreter
clock = time.thread_time_ns
a = clock()
interpreter = Interpreter(sys.argv[1], num_threads=1)
interpreter.allocate_tensors()
b = clock()
for detail in interpreter.get_input_details():
    interpreter.set_tensor(detail["index"], np.zeros(detail["shape"], detail["dtype"]))
interpreter.invoke()
print(json.dumps({"litert": b - a, "litert first": clock() - b}))
"""
COLUMNS = ("numpy", "nnfast", "decode", "translate", "check", "infer", "lower", "pack", "rest", "first", "again",
           "cached", "cold")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL")
    parser.add_argument("--processes", type=positive, default=10)
    parser.add_argument("--litert-python", metavar="PYTHON")
    parser.add_argument("--markdown", action="store_true")
    args = parser.parse_args()
    columns = COLUMNS + (("litert", "litert first") if args.litert_python else ())
    edge, gap = ("| ", " | ") if args.markdown else ("", "  ")
    print(edge + gap.join(("model".ljust(28), "ops", *(name.rjust(6) for name in columns))) + edge.rstrip())
    if args.markdown:
        print("|" + " --- |" + " ---: |" * (1 + len(columns)))
    for path in args.models:
        found = {}
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(args.processes):
                for python, code in ((sys.executable, OURS), (sys.executable, CACHED), (args.litert_python, LITERT)):
                    for name, value in (one(python, code, path, folder) if python else {}).items():
                        found.setdefault(name, []).append(value)
        values = [f"{found['operations'][0]:3}",
                  *(f"{statistics.median(found.get(name, [0])) / 1e6:6.1f}" for name in columns)]
        print(edge + gap.join((path.stem.ljust(28), *values)) + edge.rstrip(), flush=True)


def one(python, code, path, folder):
    """What a new process says. folder: for compiled models."""
    variables = os.environ | {"PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
    try:
        done = subprocess.run([python, "-c", code, str(path), folder], env=variables, capture_output=True, text=True)
    except OSError as error:
        sys.exit(f"{python}: {error.strerror}")
    if done.returncode:
        sys.exit(f"{path}: {done.stderr.strip().splitlines()[-1] if done.stderr.strip() else done.returncode}")
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    main()
