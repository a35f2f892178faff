"""A failed case as files: a vector file [NN 16.1] for `nnfast vts`, and a Python program that shows the failure."""

import base64
import gzip
import json
import re
from pathlib import Path
from textwrap import wrap

import numpy as np

from ..compiler.check import check_model
from ..errors import Error
from ..model.types import VERSIONS, LifeTime, OperandType, OperationType
from .vectors import SUFFIX

MOST_SHOWN = 12
"""Elements up to which the program tells the values of an array in a comment."""

WIDTH = 96
"""Digits in a line of the program."""


def dump(folder, case, reason, source, threads=1, level=None, expect_failure=False):
    """Write both files of a case; returns the path of the program.

    reason: what is wrong, for the program's first lines; source: of the vector; threads, level: of the device that it
    failed on. expect_failure: the vector's; its outputs are zeros then.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    stem = re.sub(r"[^\w.-]+", "_", case.name)[:150]
    document = {"format": 1, "source": source, "tests": [_test(case, expect_failure)]}
    (folder / (stem + SUFFIX)).write_bytes(gzip.compress(json.dumps(document).encode(), mtime=0))
    path = folder / (stem + ".py")
    path.write_text(_program(case, reason, threads, level), encoding="utf-8")
    return str(path)


# -- vector ------------------------------------------------------------------------------------------------------------
def _test(case, expect_failure):
    """JSON of the case. Open dimensions of its inputs and outputs become those of the values."""
    try:
        version = check_model(case.model)
    except Error:
        version = VERSIONS[-1]
    values = dict(zip(case.model.main.inputs, case.inputs)) | dict(zip(case.model.main.outputs, case.expected))
    ignored = {operand for operand, flag in zip(case.model.main.outputs, case.ignored) if flag}
    return {"name": case.name, "min_hal": version, "relaxed": case.model.relaxed, "expect_failure": expect_failure,
            "multinomial_tolerance": case.multinomial_tolerance,
            "model": {"main": _graph(case.model.main, values, ignored),
                      "referenced": [_graph(graph, {}, ()) for graph in case.model.referenced]}}


def _graph(graph, values, ignored):
    operands = []
    for place, operand in enumerate(graph.operands):
        value = values.get(place, operand.data)
        if operand.lifetime == LifeTime.SUBGRAPH:
            value = np.uint32(operand.subgraph)
        dims = operand.dims if value is None or operand.is_scalar else value.shape
        channels = operand.channel_quant
        operands.append({
            "type": OperandType(operand.type).name, "dims": list(dims), "scale": operand.scale,
            "zero_point": operand.zero_point, "lifetime": LifeTime(operand.lifetime).name,
            "channel_quant": channels and {"dim": channels.dim, "scales": list(channels.scales)},
            "ignored": place in ignored,
            "data": None if value is None else base64.b64encode(value.tobytes()).decode()})
    operations = [{"type": OperationType(operation.type).name, "inputs": operation.inputs,
                   "outputs": operation.outputs} for operation in graph.operations]
    return {"operands": operands, "operations": operations, "inputs": graph.inputs, "outputs": graph.outputs}


# -- program -----------------------------------------------------------------------------------------------------------
def _program(case, reason, threads, level):
    model = case.model
    builders = ["b", *(f"g{place}" for place in range(len(model.referenced)))]
    lines = [f'"""{case.name}', "", *_wrapped(reason), '"""', "", "import sys", "", "import numpy as np", "",
             "import nnfast", *(["from nnfast._native import kernels"] if level is not None else []),
             "from nnfast.conformance.judge import mismatch", "", "",
             "def array(dtype, shape, *digits):",
             '    return np.frombuffer(bytes.fromhex("".join(digits)), dtype).reshape(shape)', "", ""]
    lines += [f"{name} = nnfast.ModelBuilder({(case.name if name == 'b' else name)!r})" for name in builders]
    for name, graph in zip(builders, (model.main, *model.referenced)):
        lines += ["", *_builder(name, graph)]
    lines += ["", f"b.relaxed({model.relaxed})", "inputs = ["]
    lines += [f"    {'None' if value is None else _array(value)}," for value in case.inputs]
    lines += ["]", "expected = [", *(f"    {_array(value)}," for value in case.expected), "]"]
    if level is not None:
        lines.append(f"kernels.set_level({level!r})")
    lines += [f"prepared = nnfast.Device(num_threads={threads}).prepare(b.build())", "print(prepared.explain())",
              "texts = [mismatch(right, found, "
              f"{model.relaxed}) for found, right in zip(prepared.run(inputs), expected)]",
              "for place, text in enumerate(texts):", "    print(f\"output {place}: {text or 'as expected'}\")",
              "sys.exit(1 if any(texts) else 0)", ""]
    return "\n".join(lines)


def _wrapped(text):
    return wrap(text.replace("\\", "/").replace('"', "'"), 118) or [""]


def _builder(name, graph):
    """Lines that fill a builder; operand i is called <name>_i."""
    for place, operand in enumerate(graph.operands):
        kind = repr(OperandType(operand.type).name)
        quant = [operand.scale, operand.zero_point]
        if operand.channel_quant is not None:
            quant.append((operand.channel_quant.dim, operand.channel_quant.scales))
        elif not any(quant):
            quant = []
        more = "".join(f", {item!r}" for item in quant)
        if operand.lifetime == LifeTime.SUBGRAPH:
            made = f"subgraph(g{operand.subgraph})"
        elif operand.lifetime == LifeTime.NO_VALUE:
            made = f"omitted({kind}{more})"
        elif operand.is_constant and operand.is_scalar:
            made = f"scalar({_array(operand.data)}, {kind})"
        elif operand.is_constant:
            made = f"constant({_array(operand.data)}, {kind}{more})"
        else:
            made = f"operand({kind}, {operand.dims}{more})"
        yield f"{name}_{place} = {name}.{made}{_comment(operand.data)}"
    for operation in graph.operations:
        yield (f"{name}.operation({OperationType(operation.type).name!r}, {_handles(name, operation.inputs)}, "
               f"{_handles(name, operation.outputs)})")
    for role in ("inputs", "outputs"):
        yield f"{name}.{role}(*{_handles(name, getattr(graph, role))})"


def _handles(name, places):
    return "[" + ", ".join(f"{name}_{place}" for place in places) + "]"


def _comment(value):
    if value is None or value.size > MOST_SHOWN:
        return ""
    return "  # " + ", ".join(str(item) for item in value.reshape(-1).tolist())


def _array(value):
    digits = value.tobytes().hex()
    parts = [digits[at:at + WIDTH] for at in range(0, len(digits), WIDTH)] or [""]
    return f"array({value.dtype.str!r}, {value.shape}, " + ",\n        ".join(f'"{part}"' for part in parts) + ")"
