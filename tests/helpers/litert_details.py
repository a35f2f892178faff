"""Details of all tensors, inputs, outputs and signatures of files, as JSON: the same by both modules.

python litert_details.py MODULE FILE...
"""

import json
import sys
from importlib import import_module

import numpy as np


def plain(value):
    """Arrays as lists, types as their names."""
    if isinstance(value, dict):
        return {key: plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if isinstance(value, np.ndarray):
        return [str(value.dtype), value.tolist()]
    return value.__name__ if isinstance(value, type) else value


def details(litert, path):
    """What an Interpreter tells of a file; None where it refuses it."""
    try:
        interpreter = litert.Interpreter(path)
    except ValueError:
        return None
    return plain([interpreter.get_signature_list(), interpreter.get_input_details(), interpreter.get_output_details(),
                  [interpreter.get_tensor_details(k) for k in range(interpreter.num_subgraphs())]])


if __name__ == "__main__":
    module = import_module(sys.argv[1])
    print(json.dumps([details(module, path) for path in sys.argv[2:]]))
