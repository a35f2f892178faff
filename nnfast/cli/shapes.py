"""Shapes of a model's inputs where the file leaves dimensions open."""

import argparse

from ..errors import InvalidArgument
from ..model.file import is_saved
from ..tflite.reader import ModelFile


def add_argument(parser):
    parser.add_argument("--shape", action="append", type=shape, default=[], metavar="NAME=1,224,224,3",
                        help="shape of an input; open dimensions are what the file has as their default otherwise")


def shape(text):
    """(input name, dimensions) of a --shape."""
    name, equals, dims = text.rpartition("=")
    try:
        found = tuple(int(dim) for dim in dims.replace("x", ",").split(","))
    except ValueError:
        found = ()
    if not equals or not name or not found or min(found) < 1:
        raise argparse.ArgumentTypeError(f"{text}: must be the name of an input, '=' and dimensions of at least 1")
    return name, found


def load(path, given, relaxed=False):
    """(Model of a file, input_shapes to prepare it with, ModelFile or None of a saved model).

    given: (name, dimensions) of --shape. Raises InvalidArgument for a name that there is not.
    """
    import nnfast

    model = nnfast.load(path, relaxed)
    file = None if is_saved(path) else ModelFile(path)
    graph = model.main
    names = [graph.operands[operand].name for operand in graph.inputs]
    for name, _ in given:
        if name not in names:
            raise InvalidArgument(f"--shape {name}: no such input; there are {', '.join(map(repr, names))}")
    shapes = dict(given)
    if file is not None:
        facts = file.graph(0)
        for name, operand, index in zip(names, graph.inputs, facts.inputs):
            dims, default = graph.operands[operand].dims, facts.tensors[index].shape
            if name not in shapes and 0 in dims and len(default) == len(dims) and 0 not in default:
                shapes[name] = default
    if shapes and file is not None:
        return nnfast.load(path, relaxed, input_shapes=shapes), None, file
    return model, shapes or None, file
