"""Run an int8 network on real numbers: quantization parameters at both ends.

    python quantized.py [MODEL] [--count N]
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import nnfast.litert as tflite

Array = NDArray[Any]
DATA = Path(__file__).resolve().parents[2] / "nnfast" / "data"

parser = argparse.ArgumentParser()
parser.add_argument("model", nargs="?", default=str(DATA / "digits_int8.tflite"))
parser.add_argument("--count", type=int, default=4)
args = parser.parse_args()

interpreter = tflite.Interpreter(args.model, experimental_op_resolver_type=tflite.OpResolverType.BUILTIN_REF)
interpreter.allocate_tensors()
source, result = interpreter.get_input_details()[0], interpreter.get_output_details()[0]
for row in (source, result):
    parameters = row["quantization_parameters"]
    print(f"{row['name']}: {np.dtype(row['dtype'])} {row['shape'].tolist()}, scale {parameters['scales'][0]:.6f}, "
          f"zero point {parameters['zero_points'][0]}")
per_channel = [row for row in interpreter.get_tensor_details() if len(row["quantization_parameters"]["scales"]) > 1
               and row["dtype"] == np.int8 and len(row["shape"]) == 4]
for row in per_channel:
    parameters = row["quantization_parameters"]
    print(f"{row['name']}: {len(parameters['scales'])} scales along dimension {parameters['quantized_dimension']}")


def quantize(values: Array, row: dict[str, Any]) -> Array:
    """Codes of real numbers."""
    scale, zero_point = row["quantization"]
    limits = np.iinfo(row["dtype"])
    codes: Array = np.clip(np.round(values / scale) + zero_point, limits.min, limits.max).astype(row["dtype"])
    return codes


def dequantize(codes: Array, row: dict[str, Any]) -> Array:
    """Real numbers of codes."""
    scale, zero_point = row["quantization"]
    reals: Array = (codes.astype(np.float32) - zero_point) * scale
    return reals


for number, picture in enumerate(np.load(DATA / "digits.npz")["images"][:args.count]):
    interpreter.set_tensor(source["index"], quantize(picture.reshape(source["shape"]) / 16, source))
    interpreter.invoke()
    codes = interpreter.get_tensor(result["index"])
    print(f"picture {number}: codes {codes[0].tolist()}, {codes.argmax()} with probability "
          f"{dequantize(codes, result).max():.3f}")
