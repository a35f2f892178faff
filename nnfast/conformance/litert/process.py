"""The other side of `peer`: runs LiteRT in a process of its own, which may crash and needs no nnfast.

python process.py REQUEST: a JSON file {model, resolvers, preserve, shapes, calls, starts, tensors, inputs, results}.
The first resolver that runs the model gives the values of the tensors after each call, in the .npz `results` under
"call_tensor"; `inputs` is such a file of its inputs. State begins anew with each of the calls `starts`. Standard
output gets one line of JSON: {version, resolver, seconds}, with those of each call, {version, failed}, or {missing}
where there is no LiteRT.
"""

import json
import os
import sys
import time

if __name__ == "__main__":
    sys.path.pop(0)  # the neighbours of this file are no modules of LiteRT's

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version

import numpy as np

LITERT = (("ai_edge_litert.interpreter", "ai-edge-litert"), ("tflite_runtime.interpreter", "tflite-runtime"))
"""Module and package that hold LiteRT's interpreter, under its names."""


def find(names=LITERT):
    """(module, package name) of LiteRT's interpreter, or None where it is not installed."""
    for name, package in names:
        try:
            return import_module(name), package
        except ImportError:
            continue
    return None


def package_version(package):
    """Version of an installed package, "" where nobody knows."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def run(litert, request, resolver):
    """({"call_tensor": value} of all calls, seconds of each); tensors that LiteRT has no value of are left out."""
    interpreter = litert.Interpreter(request["model"], num_threads=1,
                                     experimental_op_resolver_type=litert.OpResolverType[resolver],
                                     experimental_preserve_all_tensors=request["preserve"])
    details = interpreter.get_input_details()
    for detail, shape in zip(details, request["shapes"]):
        if detail["shape"].tolist() != shape:
            interpreter.resize_tensor_input(detail["index"], shape)
    interpreter.allocate_tensors()
    found, seconds = {}, []
    with np.load(request["inputs"]) as inputs:
        for call in range(request["calls"]):
            if call in request["starts"]:
                interpreter.reset_all_variables()
            for detail in details:
                interpreter.set_tensor(detail["index"], inputs[f"{call}_{detail['index']}"])
            began = time.perf_counter()
            interpreter.invoke()
            seconds.append(time.perf_counter() - began)
            for tensor in request["tensors"]:
                try:
                    found[f"{call}_{tensor}"] = interpreter.get_tensor(tensor)
                except ValueError:
                    continue
    return found, seconds


def answer(request):
    """The reply to a request; what the resolvers refuse is told of the first."""
    found = find()
    if found is None:
        return {"missing": True}
    litert, package = found
    known = {"version": f"{package} {package_version(package)}".rstrip()}
    failures = []
    for resolver in request["resolvers"]:
        try:
            values, seconds = run(litert, request, resolver)
        except (RuntimeError, ValueError) as error:
            failures.append(" ".join(str(error).split()))
            continue
        np.savez(request["results"], **values)
        return {**known, "resolver": resolver, "seconds": seconds}
    return {**known, "failed": failures[0]}


def main():
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the libraries print stays out of the reply
    with open(sys.argv[1], encoding="utf-8") as stream:
        request = json.load(stream)
    replies.write(json.dumps(answer(request)) + "\n")
    replies.flush()
    os._exit(0)  # LiteRT's delegates have been seen to crash while Python ends


if __name__ == "__main__":
    main()
