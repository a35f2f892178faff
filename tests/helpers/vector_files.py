"""Writes small vector files (format 1) for tests."""

import base64
import gzip
import json

import numpy as np

DTYPES = {"TENSOR_FLOAT32": "<f4", "TENSOR_FLOAT16": "<f2", "TENSOR_INT32": "<i4", "INT32": "<i4",
          "TENSOR_BOOL8": "u1", "TENSOR_QUANT8_ASYMM": "u1", "TENSOR_QUANT8_ASYMM_SIGNED": "i1", "SUBGRAPH": "<u4",
          "TENSOR_QUANT16_SYMM": "<i2"}


def operand(type_, lifetime, value=None, dims=None, **changes):
    """JSON of an operand; dims default to the shape of the value."""
    data = None
    if value is not None:
        value = np.asarray(value, DTYPES[type_])
        dims = list(value.shape) if dims is None else dims
        data = base64.b64encode(value.tobytes()).decode()
    row = {"type": type_, "dims": dims or [], "scale": 0.0, "zero_point": 0, "lifetime": lifetime,
           "channel_quant": None, "ignored": False, "data": data}
    return {**row, **changes}


def add_test(name="add", type_="TENSOR_FLOAT32", a=(1, 2), b=(3, 4), out=(4, 6), operation="ADD", **changes):
    """JSON of a test with one operation: out = operation(a, b)."""
    scale = {"scale": 0.5} if "QUANT" in type_ else {}
    operands = [operand(type_, "SUBGRAPH_INPUT", a, **scale), operand(type_, "SUBGRAPH_INPUT", b, **scale),
                operand("INT32", "CONSTANT_COPY", 0), operand(type_, "SUBGRAPH_OUTPUT", out, **scale)]
    main = {"operands": operands, "operations": [{"type": operation, "inputs": [0, 1, 2], "outputs": [3]}],
            "inputs": [0, 1], "outputs": [3]}
    test = {"name": name, "min_hal": "1.0", "relaxed": False, "expect_failure": False, "multinomial_tolerance": 0.0,
            "model": {"main": main, "referenced": []}}
    return {**test, **changes}


def add_chain(name="chain"):
    """JSON of a test with two operations: out = (a + b) + b."""
    test = add_test(name)
    main = test["model"]["main"]
    main["operands"].append(operand("TENSOR_FLOAT32", "SUBGRAPH_OUTPUT", (7, 10)))
    main["operands"][3] = operand("TENSOR_FLOAT32", "TEMPORARY_VARIABLE", dims=[2])
    main["operations"].append({"type": "ADD", "inputs": [3, 1, 2], "outputs": [4]})
    main["outputs"] = [4]
    return test


def write(path, *tests, source="V1_0/add"):
    """Write a vector file and return its path."""
    document = {"format": 1, "source": source, "tests": list(tests)}
    path.write_bytes(gzip.compress(json.dumps(document).encode(), mtime=0))
    return path
