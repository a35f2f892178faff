"""The vendor extension com.example.fibonacci for nnfast: one scalar type, one tensor type, one operation.

    import nnfast, fibonacci_extension
    device = nnfast.Device(extensions=[fibonacci_extension.EXTENSION])
"""

import math

import numpy as np

from nnfast import OperandType
from nnfast.extensions import Extension, Operation, Type

NAME = "com.example.fibonacci"
LAST_EXACT = 93
"""The largest number of the sequence that 64 bits hold is the 93rd."""


def _check_quantization(parameters):
    if not (math.isfinite(parameters["scale"]) and parameters["scale"] > 0):
        raise ValueError(f"scale is {parameters['scale']:g}, must be finite and > 0")


EXAMPLE_INT64 = Type("EXAMPLE_INT64", 0, np.int64, is_tensor=False)
EXAMPLE_TENSOR_QUANT64_ASYMM = Type(
    "EXAMPLE_TENSOR_QUANT64_ASYMM", 1, np.uint64, parameters=[("scale", np.float64), ("zeroPoint", np.int64)],
    check=_check_quantization)


def _validate(node):
    shape = node["n"].shape
    if node["n"].type == OperandType.TENSOR_FLOAT32 and shape is not None and any(d not in (1, None) for d in shape):
        node.fail("n", f"shape is {[d or 0 for d in shape]}, must have exactly one element")
    shape = node.outputs[0].shape
    if shape is not None and len(shape) != 1:
        node.fail(0, f"rank is {len(shape)}, must be 1")


def _count(node):
    """How many numbers are asked for; a float is truncated toward zero."""
    if math.prod(node["n"].shape) != 1:
        node.fail_run("n", f"shape is {list(node['n'].shape)}, must have exactly one element")
    n = node.scalar("n")
    if not math.isfinite(n) or n < 1:
        node.fail_run("n", f"is {n}, must be at least 1")
    if n >= LAST_EXACT + 1:
        node.fail_run("n", f"is {n}, must be at most {LAST_EXACT}: the numbers after that take more than 64 bits")
    return int(n)


def _infer(node):
    return [(_count(node),)]


def _run(node, inputs):
    numbers = [1, 1]
    while len(numbers) < _count(node):
        numbers.append(numbers[-2] + numbers[-1])
    numbers = numbers[:_count(node)]
    output = node.outputs[0]
    if output.type == OperandType.TENSOR_FLOAT32:
        return [np.array(numbers, np.float32)]
    scale, zero_point = output.parameters["scale"].item(), output.parameters["zeroPoint"].item()
    codes = [number / scale + zero_point for number in numbers]
    if min(codes) < 0 or max(codes) >= 2.0 ** 64:
        node.fail_run(0, f"scale {scale:g} and zero point {zero_point} give codes from {min(codes):g} to "
                         f"{max(codes):g}, must fit unsigned 64 bits")
    return [np.array([int(code) for code in codes], np.uint64)]


EXAMPLE_FIBONACCI = Operation(
    "EXAMPLE_FIBONACCI", 0, "n:N -> sequence:S",
    {"N": [EXAMPLE_INT64, "TENSOR_FLOAT32"], "S": [EXAMPLE_TENSOR_QUANT64_ASYMM, "TENSOR_FLOAT32"]},
    validate=_validate, infer=_infer, run=_run)

EXTENSION = Extension(NAME, [EXAMPLE_INT64, EXAMPLE_TENSOR_QUANT64_ASYMM], [EXAMPLE_FIBONACCI])
"""What the entry point names; `nnfast.extensions.register(EXTENSION)` does the same by hand."""
