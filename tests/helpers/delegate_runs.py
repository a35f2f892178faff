"""Runs models in LiteRT with and without nnfast's delegate. A program for LiteRT's own Python, which has no nnfast.

Standard input: JSON, [{"path", "library", "options", "shapes" (of the inputs, or null), "calls", "seed"}...]. For each
job a line of JSON: {"nodes", "parts" (nodes of the delegate), "outputs": [[equal, largest difference, largest value,
shapes are equal]...] of each call, "error": what the delegate's interpreter has raised}.
"""

import importlib
import json
import sys

import numpy as np


def runtime():
    """The module with Interpreter and load_delegate."""
    for name in ("ai_edge_litert.interpreter", "tflite_runtime.interpreter"):
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError:
            pass
    raise SystemExit("no LiteRT")


def values(rng, detail, shape):
    dtype = np.dtype(detail["dtype"])
    if dtype.kind == "f":
        return rng.uniform(-1, 1, shape).astype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    info = np.iinfo(dtype)
    low, high = (info.min, info.max) if len(detail["quantization_parameters"]["scales"]) else (0, 8)
    return rng.integers(low, high, shape, endpoint=True).astype(dtype)


def compared(reference, found):
    same_shape = reference.shape == found.shape and reference.dtype == found.dtype
    if not same_shape or reference.dtype.kind not in "fiub":
        return [bool(np.array_equal(reference, found)), None, None, same_shape]
    a, b = (np.nan_to_num(x.astype(np.float64)) for x in (reference, found))
    largest = [float(np.abs(x).max(initial=0)) for x in (a - b, a)]
    return [reference.tobytes() == found.tobytes(), *largest, same_shape]


def opened(tflite, job, delegates):
    interpreter = tflite.Interpreter(job["path"], experimental_delegates=delegates,
                                     experimental_op_resolver_type=tflite.OpResolverType.BUILTIN_REF)
    for detail, shape in zip(interpreter.get_input_details(), job.get("shapes") or ()):
        interpreter.resize_tensor_input(detail["index"], shape)
    interpreter.allocate_tensors()
    return interpreter


def run(tflite, job):
    reference = opened(tflite, job, None)
    details = reference.get_input_details(), reference.get_output_details()
    row = {"nodes": len(reference._get_ops_details()), "parts": 0, "outputs": []}
    try:
        ours = opened(tflite, job, [tflite.load_delegate(job["library"], job.get("options"))])
        row["parts"] = sum(op["op_name"] == "DELEGATE" for op in ours._get_ops_details())
        rng = np.random.default_rng(job.get("seed", 0))
        for _ in range(job.get("calls", 2)):
            for detail in details[0]:
                x = values(rng, detail, detail["shape"])
                for interpreter in (reference, ours):
                    interpreter.set_tensor(detail["index"], x)
            reference.invoke()
            ours.invoke()
            row["outputs"].append([compared(*(i.get_tensor(detail["index"]) for i in (reference, ours)))
                                   for detail in details[1]])
    except (RuntimeError, ValueError) as error:
        row["error"] = str(error)
    return row


def main():
    tflite = runtime()
    for job in json.load(sys.stdin):
        print(json.dumps(run(tflite, job)), flush=True)


if __name__ == "__main__":
    main()
