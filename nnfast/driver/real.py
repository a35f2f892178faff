"""Runs on real numbers: floats in for quantized inputs, floats out for quantized outputs."""

import numpy as np

from ..errors import InvalidArgument
from .arguments import in_list, named, taken_input


def run_real(run, prepared, inputs, out, quantize, dequantize):
    """run(inputs, out) with inputs quantized and outputs dequantized as asked, by prepared's TensorInfos."""
    by_name = isinstance(inputs, dict)
    given = named(inputs, prepared.inputs, "input") if by_name else in_list(inputs, "run")
    if out is not None and dequantize:
        raise InvalidArgument("run: out takes what the model gives, dequantize=True makes new arrays; leave one out")
    if len(given) == len(prepared.inputs):
        given = [None if value is None else taken_input(info, value, quantize)
                 for info, value in zip(prepared.inputs, given)]
    if by_name and out is not None:
        out = named(out, prepared.outputs, "output")
    results = run(given, out)
    if dequantize:
        results = [info.dequantize(result) if info.is_quantized and isinstance(result, np.ndarray) else result
                   for info, result in zip(prepared.outputs, results)]
    return dict(zip((info.name for info in prepared.outputs), results)) if by_name else results
