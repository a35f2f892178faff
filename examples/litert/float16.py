"""Run a network with float16 weights: what the file holds in which type, and one result.

    python float16.py MODEL
"""

import argparse
from typing import Any

import numpy as np

import nnfast.litert as tflite

parser = argparse.ArgumentParser()
parser.add_argument("model")
args = parser.parse_args()

interpreter = tflite.Interpreter(model_path=args.model)
interpreter.allocate_tensors()
sizes: dict[np.dtype[Any], tuple[int, int]] = {}
for row in interpreter.get_tensor_details():
    if row["name"]:  # scratch memory of the kernels has no name
        kind = np.dtype(row["dtype"])
        count, values = sizes.get(kind, (0, 0))
        sizes[kind] = count + 1, values + int(np.prod(row["shape"]))
count, values = sizes[np.dtype(np.float16)]
print(f"{count} tensors with {values} values in float16")

source, result = interpreter.get_input_details()[0], interpreter.get_output_details()[0]
x = np.linspace(0, 1, int(np.prod(source["shape"])), dtype=source["dtype"]).reshape(source["shape"])
interpreter.set_tensor(source["index"], x)
interpreter.invoke()
y = interpreter.get_tensor(result["index"])
print(f"{np.dtype(source['dtype'])} in, {y.dtype} {list(y.shape)} out: {y.min():.3f} to {y.max():.3f}, "
      f"mean {y.mean():.3f}")
