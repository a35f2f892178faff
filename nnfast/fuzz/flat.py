"""Changes of a `.tflite` file that leave it one: other operators, types, shapes, quantization, options and constants.

Random bytes seldom get past the reader's checks. These changes reach what lies behind them: translation, validation,
planning and kernels. What depends on a changed fact (the size of a buffer, the table of options) follows it mostly.
"""

import numpy as np

from ..tflite.schema import BUILTINS, ITEM_BITS, OPTIONS, TABLES, TensorType
from ..tflite.verify import decode
from ..tflite.write import encode
from .signed import FLOATS, NUMBERS

SIZES = (0, 1, 1, 2, 2, 3, 4, 5, 8, 16, 17)
"""Dimensions that are tried."""
LARGEST_BUFFER, MOST_SCALES = 1 << 12, 1 << 8
NEWEST_OLD_CODE = 127
"""Codes above it have a field of their own."""


def changed(data, random):
    """The bytes of a file with one to three facts changed. Raises any exception where `data` is no sound file."""
    model = _values("Model", decode(memoryview(data), "input"))
    for _ in range(random.choice((1, 1, 2, 3))):
        random.choice(CHANGES)(model, random.choice(model["subgraphs"]), random)
    if random.random() < 0.9:
        _fit_buffers(model)
    return encode("Model", model)


def _values(kind, record):
    """A record as write.encode takes it; options of the second union are left out, for it has no place for them."""
    values = {}
    for name, _, field, _ in TABLES[kind]:
        value = getattr(record, name)
        if field in TABLES:
            value = None if value is None else _values(field, value)
        elif field[1:-1] in TABLES:
            value = [_values(field[1:-1], entry) for entry in value]
        elif field.startswith("["):
            value = np.asarray(value, np.uint8) if field == "[B]" else [] if value is None else list(value)
        if value is not None:
            values[name] = value
    if kind == "Operator" and record.code in OPTIONS:
        table = OPTIONS[record.code][1]
        values["options"] = table, _values(table, record.options)
    return values


def _defaults(table):
    return {name: [] if default is None or default == () else default for name, _, _, default in TABLES[table]}


def _fit_buffers(model):
    """Give the tensors of each buffer as many bytes as they need, by repetition of those that are there."""
    for graph in model["subgraphs"]:
        for tensor in graph["tensors"]:
            buffer = model["buffers"][tensor["buffer"]] if tensor["buffer"] < len(model["buffers"]) else None
            bits = ITEM_BITS.get(tensor["type"])
            if not tensor["buffer"] or not buffer or not len(buffer["data"]) or not bits or "sparsity" in tensor:
                continue
            needed = (int(np.prod(tensor["shape"], dtype=np.int64)) * bits + 7) // 8
            if 0 < needed <= LARGEST_BUFFER:
                buffer["data"] = np.resize(buffer["data"], needed)


def _operator(model, _, random):
    """Another operator instead of one of those that the file names."""
    place = random.randrange(len(model["operator_codes"]))
    code = random.choice(sorted(BUILTINS.values()))
    model["operator_codes"][place].update(deprecated_builtin_code=min(code, NEWEST_OLD_CODE), builtin_code=code)
    for operator in (o for graph in model["subgraphs"] for o in graph["operators"] if o["opcode_index"] == place):
        operator.pop("options", None)
        operator["options_type"], table = OPTIONS.get(code, (0, ""))
        if table:
            operator["options"] = table, _defaults(table)


def _alike(graph, field, random):
    """A tensor, or all that have the same type or shape."""
    chosen = random.choice(graph["tensors"])
    return [t for t in graph["tensors"] if t[field] == chosen[field]] if random.random() < 0.6 else [chosen]


def _type(_, graph, random):
    kind = int(random.choice(list(TensorType)))
    for tensor in _alike(graph, "type", random):
        tensor["type"] = kind


def _shape(_, graph, random):
    tensors = _alike(graph, "shape", random)
    shape = list(tensors[0]["shape"])
    place = random.randrange(len(shape) + 1)
    match random.randrange(5):
        case 0:
            shape.insert(place, random.choice(SIZES))
        case 1:
            del shape[place:place + 1]
        case 2:
            random.shuffle(shape)
        case _:
            shape[place:place + 1] = [random.choice(SIZES)]
    for tensor in tensors:
        tensor["shape"], tensor["shape_signature"] = shape, []
        if random.random() < 0.1:
            tensor["shape_signature"] = [random.choice((-1, d)) for d in shape]


def _quantization(_, graph, random):
    for tensor in _alike(graph, "type", random):
        if random.random() < 0.2:
            tensor.pop("quantization", None)
            continue
        dim = random.randrange(max(len(tensor["shape"]), 1))
        channels = int(tensor["shape"][dim]) if tensor["shape"] else 1
        count = channels if random.random() < 0.3 and channels <= MOST_SCALES else 1
        scales = [random.choice((0.5, 0.25, 1 / 128, 1e-3, 3.0, random.choice(FLOATS))) for _ in range(count)]
        point = random.choice((0, 0, 3, -128, 128, random.choice(NUMBERS)))
        tensor["quantization"] = {"scale": scales, "zero_point": [max(min(point, (1 << 63) - 1), -(1 << 63))] * count,
                                  "quantized_dimension": dim}


def _option(_, graph, random):
    operators = [operator for operator in graph["operators"] if operator.get("options", ("", {}))[1]]
    if not operators:
        return
    _, values = random.choice(operators)["options"]
    name, value = random.choice(sorted(values.items(), key=lambda item: item[0]))
    if isinstance(value, bool):
        values[name] = not value
    elif isinstance(value, float):
        values[name] = random.choice(FLOATS)
    elif isinstance(value, int):
        values[name] = random.choice((0, 1, 2, 3, -1, value + 1, value - 1, random.choice(NUMBERS)))
    elif isinstance(value, list):
        values[name] = [random.choice((0, 1, 2, 3, -1)) for _ in range(random.randrange(5))]


def _wiring(_, graph, random):
    """Other tensors as inputs or outputs of an operator or of the graph; a tensor more, an operator more or less."""
    if not graph["operators"]:
        return
    operator = random.choice(graph["operators"])
    match random.randrange(8):
        case 0:
            graph["tensors"].append(dict(random.choice(graph["tensors"])))
        case 1:
            graph["operators"].append(dict(operator))
        case 2:
            graph["operators"].remove(operator)
        case 3:
            random.choice(graph["tensors"])["is_variable"] = random.random() < 0.7
        case _:
            holder = random.choice((operator, operator, operator, graph))
            ends = list(holder[end := random.choice(("inputs", "inputs", "outputs"))])
            place = random.randrange(len(ends) + 1)
            tensor = random.choice((-1, random.randrange(len(graph["tensors"]))))
            ends[place:place + random.randrange(2)] = [tensor] * random.randrange(2)
            holder[end] = ends


def _constant(model, _, random):
    """Small or odd numbers in a buffer."""
    buffers = [buffer for buffer in model["buffers"] if len(buffer["data"]) >= 4]
    if not buffers:
        return
    data = random.choice(buffers)["data"] = np.array(random.choice(buffers)["data"], np.uint8)
    kind = random.choice(("<i4", "<i8", "<f4", "i1"))
    numbers = data[:len(data) // np.dtype(kind).itemsize * np.dtype(kind).itemsize].view(kind)
    if len(numbers):
        with np.errstate(all="ignore"):
            odd = random.choice(FLOATS if kind == "<f4" else (0, 1, 2, 3, -1, -2, 127, -128))
            numbers[random.randrange(len(numbers))] = odd


CHANGES = (_operator, _operator, _type, _type, _shape, _shape, _quantization, _option, _option, _wiring, _constant)
