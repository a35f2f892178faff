"""Call every signature of a file by its name, with named inputs.

    python signatures.py MODEL

Inputs are vectors of increasing numbers, in the shape that the file gives them.
"""

import argparse

import numpy as np

import nnfast.litert as tflite

parser = argparse.ArgumentParser()
parser.add_argument("model")
args = parser.parse_args()

interpreter = tflite.Interpreter(model_path=args.model)
for key, names in interpreter.get_signature_list().items():
    runner = interpreter.get_signature_runner(key)
    given = {}
    for place, (name, row) in enumerate(sorted(runner.get_input_details().items())):
        shape = [8 if size == -1 else size for size in row["shape_signature"]]
        given[name] = (np.arange(np.prod(shape)).reshape(shape) / 4 + place).astype(row["dtype"])
    results = runner(**given)
    print(f"{key}({', '.join(names['inputs'])}) -> {', '.join(names['outputs'])}")
    for name, value in sorted(results.items()):
        print(f"  {name}: {value.dtype} {list(value.shape)}, sum {value.sum():.3f}")
