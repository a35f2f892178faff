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


def each(data, most_tensors=14):
    """Files with one fact of a sound file changed, one after the other: every type, size and quantization of a tensor,
    every place of an operator's inputs and outputs, every option. Graphs of more than `most_tensors` stay as they are.
    """
    model = _values("Model", decode(memoryview(data), "input"))
    for graph in model["subgraphs"]:
        if len(graph["tensors"]) <= most_tensors:
            for record, name, value in _single_changes(graph):
                before = record.get(name)
                record[name] = value
                buffers = [buffer["data"] for buffer in model["buffers"]]
                _fit_buffers(model)
                try:
                    made = encode("Model", model)
                except (TypeError, OverflowError, ValueError):  # a number that the field cannot hold
                    made = None
                for buffer, kept in zip(model["buffers"], buffers):
                    buffer["data"] = kept
                record[name] = before
                if before is None:
                    del record[name]
                if made is not None:
                    yield made


def _single_changes(graph):
    """(record, name of the field, value) of each change; a record is changed back before the next."""
    count = len(graph["tensors"])
    for tensor in graph["tensors"]:
        shape = list(tensor["shape"])
        yield from ((tensor, "type", int(kind)) for kind in TensorType if kind != tensor["type"])
        shapes = [[], [0], [1], [*shape, 1], [1, *shape], [*shape, 0], [*shape, 2], shape[:-1], shape[1:]]
        shapes += [[*shape[:place], size, *shape[place + 1:]] for place in range(len(shape))
                   for size in (0, 1, 2, 7, int(shape[place]) + 1)]
        yield from ((tensor, "shape", other) for other in shapes)
        quants = [(1, 0.5, 0), (1, 0.5, 3), (1, 1e-3, -128), (1, 3e38, 0), (1, 1e-38, 1)]
        quants += [(int(shape[0]), 0.5, 0)] if shape and 1 < shape[0] <= MOST_SCALES else []
        yield from ((tensor, "quantization", {"scale": [scale] * channels, "zero_point": [point] * channels,
                                              "quantized_dimension": 0}) for channels, scale, point in quants)
        yield tensor, "is_variable", not tensor.get("is_variable")
    for operator in graph["operators"]:
        for end in ("inputs", "outputs"):
            ends = list(operator[end])
            for place in range(len(ends) + 1):
                others = [[number] for number in (-1, *range(min(count, 6)))]
                for span in (0, 1) if place < len(ends) else (0,):
                    yield from ((operator, end, ends[:place] + middle + ends[place + span:])
                                for middle in (others if not span else [[], *others]))
        values = operator.get("options", ("", {}))[1]
        yield from ((values, name, other) for name, value in list(values.items()) for other in _others(value))


def _others(value):
    """Values of an option besides the one that it has."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, float):
        return [0.0, -1.0, 1.0, float("nan"), float("inf"), 1e30]
    if isinstance(value, int):
        return [0, 1, 2, 3, 4, 7, 100, -1, -2, (1 << 31) - 1, -(1 << 31)]
    if isinstance(value, list):
        return [[], [0], [1], [-1], [1, 0], [0, 1], [3], [2, 2]]
    return []


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


def other_shape(shape, random):
    """A list of sizes with one more, one less, another one, or in another order."""
    shape = list(shape)
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
    return shape


def _shape(_, graph, random):
    tensors = _alike(graph, "shape", random)
    shape = other_shape(tensors[0]["shape"], random)
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
