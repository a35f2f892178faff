"""A prepared model as text and arrays, and back: what the compilation cache stores (hal.md 7.6).

A model whose plan is one native program is stored as that plan: its steps by class and arguments, and the constants
they read, packed as they lie in memory. Any other model is stored as it is, to be prepared again. Restoring checks
types and bounds; that the text is ours is for the caller to know.
"""

from dataclasses import fields, is_dataclass
from functools import cache
from importlib import import_module

import numpy as np

from ..engine.segment import Segment
from ..model.types import ChannelQuant, Model, Operand, Operation, State, Subgraph

_STEPS, _RECORDS = "nnfast._native.", "nnfast.ops."
"""Where the classes of steps and of their arguments live; a file can name no others."""


class Arrays:
    """The arrays of one file, by number."""

    def __init__(self, found=()):
        self.items = list(found)
        self._numbers = {}

    def add(self, array):
        """Number of an array; the same object gets the same one."""
        number = self._numbers.setdefault(id(array), len(self.items))
        if number == len(self.items):
            self.items.append(array)
        return number


# -- plans -------------------------------------------------------------------------------------------------------------
def can_store_plan(segment):
    """Whether a segment is one native program whose steps never ask for a definition."""
    return segment is not None and segment.native and all(step.definition is None for step in _steps(segment))


def _steps(segment):
    return segment.items[0].steps if segment.items else ()


def plan_to_text(segment, arrays):
    """Values for JSON that restore_plan understands; constants go into `arrays`."""
    spec = segment.frame_spec
    return {
        "stop": segment.stop,
        "steps": [_encode(step, arrays) for step in _steps(segment)],
        "slots": spec["slots"], "arena_bytes": spec["arena_bytes"],
        "offsets": list(spec["offsets"].items()),
        "constants": [[slot, arrays.add(array)] for slot, array in spec["constants"].items()],
        "inputs": list(segment.inputs.items()), "outputs": list(segment.outputs.items()),
        "aliases": list(segment.aliases),
        "tensors": [[operand, list(shape), dtype.str] for operand, (shape, dtype) in segment.tensors.items()],
        "rows": list(segment.rows),
    }


def restore_plan(text, arrays, resources):
    """The Segment of plan_to_text."""
    steps = [_decode(step, arrays) for step in text["steps"]]
    slots = text["slots"]
    spec = {"slots": slots, "arena_bytes": text["arena_bytes"],
            "offsets": {_slot(slot, slots): offset for slot, offset in text["offsets"]},
            "constants": {_slot(slot, slots): arrays[number] for slot, number in text["constants"]}}
    for step in steps:
        for slot in step.slots:
            _slot(slot, slots)
    inputs, outputs = ({operand: _slot(slot, slots) for operand, slot in text[name]} for name in ("inputs", "outputs"))
    tensors = {operand: (tuple(shape), np.dtype(dtype)) for operand, shape, dtype in text["tensors"]}
    rows = [{**row, "steps": tuple(row["steps"])} for row in text["rows"]]
    return Segment(0, text["stop"], steps, rows, spec, inputs, outputs, tensors,
                   tuple((_slot(a, slots), _slot(b, slots)) for a, b in text["aliases"]), None, True, resources)


def _slot(slot, count):
    if not 0 <= slot < count:
        raise ValueError(f"slot {slot} of {count}")
    return slot


def _encode(value, arrays):
    """An argument of a step as JSON knows it: what JSON lacks becomes an object with one key."""
    if value is None or isinstance(value, bool | str):
        return value
    if type(value).__module__.startswith(_RECORDS) and (names := _fields(type(value))) is not None:
        return {"record": [type(value).__module__.removeprefix(_RECORDS), type(value).__name__,
                           *(_encode(getattr(value, name), arrays) for name in names)]}
    if isinstance(value, np.ndarray):
        return {"array": arrays.add(value)}
    if isinstance(value, np.dtype):
        return {"dtype": value.str}
    if isinstance(value, type) and issubclass(value, np.generic):
        return {"dtype": np.dtype(value).str}
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return {"float": float(value).hex()}
    if isinstance(value, bytes | bytearray | memoryview):
        return {"bytes": bytes(value).hex()}
    if isinstance(value, range):
        return {"range": [value.start, value.stop, value.step]}
    if isinstance(value, tuple):
        return {"tuple": [_encode(item, arrays) for item in value]}
    if isinstance(value, list):
        return [_encode(item, arrays) for item in value]
    if isinstance(value, dict):
        return {"dict": [[key, _encode(item, arrays)] for key, item in value.items()]}
    if hasattr(value, "made_with"):
        return {"step": [type(value).__module__.removeprefix(_STEPS), type(value).__name__,
                         *(_encode(part, arrays) for part in value.made_with)]}
    raise TypeError(f"a step argument of type {type(value).__name__} cannot be stored")


def _fields(kind):
    """Names of the fields of a dataclass or named tuple, in order; None for any other class."""
    if is_dataclass(kind):
        return [field.name for field in fields(kind)]
    return getattr(kind, "_fields", None)


def _decode(value, arrays):
    if type(value) is list:
        return [_decode(item, arrays) for item in value]
    if type(value) is not dict:
        return value
    [(kind, content)] = value.items()
    if kind == "array":
        return arrays[content]
    if kind == "tuple":
        return tuple([_decode(item, arrays) for item in content])
    if kind == "dict":
        return {key: _decode(item, arrays) for key, item in content}
    if kind == "step":
        module, name, positional, named = content
        return _step_class(module, name)(*_decode(positional, arrays), **_decode(named, arrays))
    if kind == "record":
        module, name, *parts = content
        return _record_class(module, name)(*_decode(parts, arrays))
    if kind not in _PLAIN:
        raise ValueError(f"a value of kind {kind}")
    return _PLAIN[kind](content)


_PLAIN = {"dtype": np.dtype, "float": float.fromhex, "bytes": bytes.fromhex, "range": lambda content: range(*content)}


@cache
def _step_class(module, name):
    made = getattr(import_module(_STEPS + module), name)
    if not hasattr(made, "made_with"):
        raise ValueError(f"{module}.{name} is no step")
    return made


@cache
def _record_class(module, name):
    made = getattr(import_module(_RECORDS + module), name)
    if _fields(made) is None:
        raise ValueError(f"{module}.{name} is no record")
    return made


# -- models ------------------------------------------------------------------------------------------------------------
def model_to_text(model, arrays, constants):
    """Values for JSON that restore_model understands. constants: store their values too, not only what they are."""
    def operand(o):
        quant = o.channel_quant and [o.channel_quant.dim, arrays.add(np.float64(o.channel_quant.scales))]
        data = arrays.add(o.data) if constants and o.data is not None else None
        return [int(o.type), list(o.dims), float(o.scale).hex(), int(o.zero_point), int(o.lifetime), quant, data,
                o.name, o.subgraph, None if o.parameters is None else o.parameters.hex()]

    def graph(g):
        return {"operands": [operand(o) for o in g.operands], "inputs": list(g.inputs), "outputs": list(g.outputs),
                "operations": [[int(p.type), list(p.inputs), list(p.outputs)] for p in g.operations]}

    states = [[s.input, s.output, None if s.initial is None else arrays.add(s.initial)] for s in model.states]
    return {"main": graph(model.main), "referenced": [graph(g) for g in model.referenced],
            "relaxed": bool(model.relaxed), "states": states, "name": model.name,
            "extensions": [[name, int(prefix)] for name, prefix in model.extensions]}


def restore_model(text, arrays):
    """The Model of model_to_text; constants without a stored value have none."""
    def operand(row):
        kind, dims, scale, zero_point, lifetime, quant, data, name, subgraph, parameters = row
        if quant is not None:
            quant = ChannelQuant(quant[0], tuple(arrays[quant[1]].tolist()))
        return Operand(kind, tuple(dims), float.fromhex(scale), zero_point, lifetime, quant,
                       None if data is None else arrays[data], name, subgraph,
                       None if parameters is None else bytes.fromhex(parameters))

    def graph(g):
        operations = tuple(Operation(kind, tuple(i), tuple(o)) for kind, i, o in g["operations"])
        return Subgraph(tuple(map(operand, g["operands"])), operations, tuple(g["inputs"]), tuple(g["outputs"]))

    states = tuple(State(i, o, None if first is None else arrays[first]) for i, o, first in text["states"])
    return Model(graph(text["main"]), tuple(map(graph, text["referenced"])), text["relaxed"], states, text["name"],
                 tuple((name, prefix) for name, prefix in text["extensions"]))
