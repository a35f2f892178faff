"""Random inputs that a model file can run on: seeded, over the whole range of quantized types, ids that exist."""

import numpy as np

MOST = 9
"""Plain integers are below this, and ids below the rows of the table that they select."""

_PASSING = ("RESHAPE", "SQUEEZE", "CAST", "EXPAND_DIMS")
"""Operators whose results are still ids where their first input is."""

_LOOKUPS = {"GATHER": (0, 1), "EMBEDDING_LOOKUP": (1, 0)}
"""Operator -> places of the table and of the ids among its inputs."""


def rows_of_ids(graph):
    """{tensor index: rows} of tensors of a FileGraph whose values select parts of a table.

    rows: how many there are at least, along any axis of the table that has several.
    """
    origin, rows = {}, {}
    for operator in graph.operators:
        if operator.name in _PASSING and operator.inputs:
            source = operator.inputs[0]
            origin.update(dict.fromkeys(operator.outputs, origin.get(source, source)))
        elif operator.name in _LOOKUPS and len(operator.inputs) > 1:
            table, ids = (operator.inputs[place] for place in _LOOKUPS[operator.name])
            ids = origin.get(ids, ids)
            least = min((dim for dim in graph.tensors[table].dims or () if dim > 1), default=1)
            rows[ids] = min(least, rows.get(ids, least))
    return rows


def random_call(graph, shapes, dtypes, generator):
    """{tensor index: array} of the inputs of a FileGraph.

    Quantized integers come from their whole type, floats from [-1, 1), bools are either, ids are below the rows that
    they select, and other integers are 0 to 8. shapes, dtypes: of the inputs in the file's order.
    """
    rows = rows_of_ids(graph)
    return {index: _array(graph.tensors[index], shape, np.dtype(dtype), rows.get(index), generator)
            for index, shape, dtype in zip(graph.inputs, shapes, dtypes)}


def _array(tensor, shape, dtype, rows, generator):
    if rows is not None:
        values = generator.integers(0, min(rows, MOST), shape)
    elif dtype.kind in "fc":
        values = generator.uniform(-1, 1, shape)
    elif dtype.kind == "b":
        values = generator.integers(0, 2, shape)
    elif tensor.scales and dtype.itemsize < 4:
        codes = np.iinfo(dtype)
        values = generator.integers(codes.min, codes.max, shape, endpoint=True)
    else:
        values = generator.integers(0, MOST, shape)
    return np.asarray(values).astype(dtype)
