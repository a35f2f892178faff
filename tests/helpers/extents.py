"""Extents that note who looks at them."""

from nnfast.compiler.nodes import Facts
from nnfast.conformance.instances import draw
from nnfast.errors import InvalidArgument
from nnfast.ops.base import ValueUnknown

ANY = 3, 4, 5


class Extent(int):
    """A size of a dimension; `seen` becomes true with any use of it but a comparison with None."""

    def __new__(cls, size, seen):
        made = super().__new__(cls, size)
        made.seen = seen
        return made


def _noting(name):
    def method(self, *others):
        if others and others[0] is None:
            return NotImplemented
        self.seen.append(name)
        return getattr(int, name)(self, *others)

    return method


_NAMES = ("eq", "ne", "lt", "le", "gt", "ge", "add", "radd", "sub", "rsub", "mul", "rmul", "floordiv", "rfloordiv",
          "mod", "rmod", "pow", "rpow", "and", "or", "index", "int", "float", "bool", "hash")
for _name in _NAMES:
    setattr(Extent, f"__{_name}__", _noting(f"__{_name}__"))


def _inferred(node):
    """Shapes of the outputs; any shape where it depends on values."""
    try:
        shapes = node.op.infer(node)
    except ValueUnknown:
        shapes = [None] * len(node.outputs)
    return [ANY if shape is None or None in shape else shape for shape in shapes]


def looks_at_extents(op, form, nth, seeds=range(1, 6)):
    """Whether the rules of addOperation look at a size of an operand of this form, in any of some instances, all of
    whose shapes are known."""
    seen = []
    for seed in seeds:
        model = draw(op, form, nth, seed, 12, may_be_late=False).model
        node = Facts(model, model.main).node(0)
        for tensor, shape in zip(node.outputs, _inferred(node)):
            if tensor.shape is None:
                tensor.shape = shape
        for tensor in (*node.inputs, *node.outputs):
            tensor.value = None
            if tensor.shape is not None:
                tensor.shape = tuple(Extent(size or 2, seen) for size in tensor.shape)
        if op.validate is not None:
            try:
                op.validate(node)
            except InvalidArgument:
                pass
    return bool(seen)
