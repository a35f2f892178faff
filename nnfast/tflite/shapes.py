"""Input shapes given by the caller of load."""

from collections.abc import Mapping, Sequence
from numbers import Integral

import numpy as np

from ..checks import kind_of, shown
from ..errors import InvalidArgument

MAX_RANK = 64


def wanted(file, main, signature, given, least=0):
    """The shape of every input of a ModelFile's subgraph, in order; None if nothing is given.

    given: {input name or position: shape}, or None. Other inputs keep the file's shape, with unknown dimensions set to
    those of its example (the field `shape`), at least 1. least: the smallest size that is given. Raises
    InvalidArgument.
    """
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise InvalidArgument(f"load input_shapes: is {kind_of(given)}, must be a dict of shapes by name or "
                              "position")
    graph = file.graph(main)
    names = {} if signature is None else signature.inputs
    places = {graph.tensors[index].name: place for place, index in enumerate(graph.inputs)}
    places |= {name: graph.inputs.index(index) for name, index in names.items() if index in graph.inputs}
    inputs = [graph.tensors[index] for index in graph.inputs]
    shapes = [t.shape if t.is_empty and not least else tuple(max(d, 1) for d in t.shape) for t in inputs]
    for key, shape in given.items():
        place = key if isinstance(key, Integral) and not isinstance(key, bool) else places.get(key)
        if place is None or not 0 <= place < len(shapes):
            raise InvalidArgument(f"load input_shapes: no input {shown(key)}; there are "
                                  f"{', '.join(map(repr, places)) or 'none'}")
        if not isinstance(shape, Sequence | np.ndarray) or len(shape) > MAX_RANK or \
                not all(isinstance(d, Integral) and d >= least for d in shape):
            rule = "positive dimensions" if least else "dimensions of at least 0"
            raise InvalidArgument(f"load input_shapes[{shown(key)}]: is {shown(shape)}, must be {rule}")
        shapes[place] = tuple(map(int, shape))
    return shapes
