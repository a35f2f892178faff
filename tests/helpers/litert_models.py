"""Small files for the tests of nnfast.litert, and LiteRT beside it where that is installed."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from helpers.tflite.file_builder import Op, Tensor, build

DATA = Path(__file__).resolve().parents[2] / "nnfast" / "data"


def two_signatures():
    """Two subgraphs with a signature each: add (x + y) and multiply (x * y); the vectors' length is open."""
    def graph(name):
        tensors = [Tensor(f"{name}_{side}", (1,), signature=(-1,)) for side in ("x", "y")]
        return ([*tensors, Tensor(f"{name}_result", (1,), signature=(-1,))],
                [Op(name.upper(), [f"{name}_x", f"{name}_y"], [f"{name}_result"], f"{name.capitalize()}Options")],
                [f"{name}_x", f"{name}_y"], [f"{name}_result"])

    signatures = [(key, place, {f"{name}_x": "x", f"{name}_y": "y"}, {f"{name}_result": "result"})
                  for place, (key, name) in enumerate((("add", "add"), ("multiply", "mul")))]
    return build(*graph("add"), others=[graph("mul")], signatures=signatures)


def stateful():
    """A float RNN of four units, whose variable h carries its output to the next call."""
    tensors = [
        Tensor("x", (2, 3)), Tensor.of("w", np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)),
        Tensor.of("r", np.eye(4, dtype=np.float32) / 2), Tensor.of("b", np.zeros(4, np.float32)),
        Tensor("h", (2, 4), variable=True), Tensor("y", (2, 4)),
    ]
    return build(tensors, [Op("RNN", ["x", "w", "r", "b", "h"], ["y"], "RNNOptions", {"FusedActivationFunction": 4})],
                 ["x"], ["y"])


def write(folder):
    """The files that litert_habits.py wants."""
    (folder / "digits.tflite").write_bytes((DATA / "digits_int8.tflite").read_bytes())
    (folder / "two.tflite").write_bytes(two_signatures())
    (folder / "state.tflite").write_bytes(stateful())
    return folder


def litert_python():
    """A Python that has LiteRT: this one, or the one that NNFAST_LITERT_PYTHON names; None where there is none."""
    if importlib.util.find_spec("ai_edge_litert"):
        return sys.executable
    return os.environ.get("NNFAST_LITERT_PYTHON")


def run_litert(*arguments):
    """Standard output of a program in that Python."""
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run([litert_python(), *map(str, arguments)], env=clean, check=True, text=True, timeout=300,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout


RUNS = """
import sys, numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType
i = Interpreter(sys.argv[1], num_threads=1, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
given, found = np.load(sys.argv[2]), {}
for run in range(int(sys.argv[4])):
    arrays = [given[f"{run}.{k}"] for k in range(len(i.get_input_details()))]
    if run == 0:
        for d, x in zip(i.get_input_details(), arrays):
            if d["shape"].tolist() != list(x.shape):
                i.resize_tensor_input(d["index"], x.shape)
        i.allocate_tensors()
    for d, x in zip(i.get_input_details(), arrays):
        i.set_tensor(d["index"], x)
    i.invoke()
    found |= {f"{run}.{k}": i.get_tensor(d["index"]) for k, d in enumerate(i.get_output_details())}
np.savez(sys.argv[3], **found)
"""


def litert_outputs(folder, data, runs):
    """Outputs of LiteRT's reference kernels for each list of inputs in turn, states carried on; None without LiteRT."""
    if not litert_python():
        return None
    (folder / "m.tflite").write_bytes(data)
    (folder / "runs.py").write_text(RUNS)
    np.savez(folder / "in.npz", **{f"{k}.{place}": x for k, run in enumerate(runs) for place, x in enumerate(run)})
    run_litert(folder / "runs.py", folder / "m.tflite", folder / "in.npz", folder / "out.npz", len(runs))
    with np.load(folder / "out.npz") as found:
        return [[found[name] for name in sorted((n for n in found if n.startswith(f"{k}.")),
                                                key=lambda n: int(n.split(".")[1]))] for k in range(len(runs))]
