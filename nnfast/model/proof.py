"""What is known of a model, kept with it, so that nobody looks twice: that it is right, and what it was made from.

Models are immutable: tuples of frozen records. Those that hold lists are valid too, but may change, and so get no
proof. The arrays of constants may still be given another shape or type by whoever holds them: what is known names those
that it was found out for, and holds as long as they are what they were.
"""

from .withheld import Withheld


class _Known:
    """Holds while these arrays are read-only, and have the shapes, strides and types that they have now."""

    __slots__ = ("_arrays",)

    def __init__(self, arrays):
        self._arrays = [(array, array.shape, array.strides, array.dtype) for array in arrays]

    @property
    def holds(self):
        """Whether the constants still are what they were."""
        for array, shape, strides, dtype in self._arrays:
            if array.shape != shape or array.strides != strides or array.dtype != dtype or array.flags.writeable:
                return False
        return True

    def __reduce__(self):
        return type(None), ()  # it stays with the object that it was made for


class Proof(_Known):
    """The structure of a model is right (model/validate.py), and so are its operations up to a HAL version.

    version: the lowest HAL version that has all of the model, None while nobody has asked (compiler/check.py).
    """

    __slots__ = ("version",)

    def __init__(self, arrays):
        super().__init__(arrays)
        self.version = None


class Origin(_Known):
    """The file that a model was made from, which tells it from others without a look at its parts.

    data: the bytes of the file, read-only; options: what else the model depends on, as values that can be encoded
    (records.encode).
    """

    __slots__ = ("data", "options")

    def __init__(self, arrays, data, options):
        super().__init__(arrays)
        self.data, self.options = data, options


def of(model):
    """The Proof of a model that still holds, or None."""
    return model.proof if model.proof is not None and model.proof.holds else None


def origin_of(model):
    """The Origin of a model that still holds, or None."""
    return model.origin if model.origin is not None and model.origin.holds else None


def set_origin(model, data, options):
    """Let a model carry an Origin; arguments as there."""
    object.__setattr__(model, "origin", Origin(_arrays(model), data, options))


def _arrays(model):
    """The constants of a model that have values."""
    graphs = (model.main, *model.referenced)
    arrays = [o.data for graph in graphs for o in graph.operands if o.data is not None and type(o.data) is not Withheld]
    arrays += [state.initial for state in model.states if state.initial is not None]
    return arrays


def give(model):
    """Let a model that was found right carry a Proof, unless some part of it can still be changed."""
    graphs = (model.main, *model.referenced)
    lists = [model.referenced, model.states, model.extensions]
    for graph in graphs:
        lists += graph.operands, graph.operations, graph.inputs, graph.outputs
        for operation in graph.operations:
            lists += operation.inputs, operation.outputs
        for operand in graph.operands:
            lists.append(operand.dims)
            if operand.channel_quant is not None and type(operand.channel_quant.scales) is not Withheld:
                lists.append(operand.channel_quant.scales)
    arrays = _arrays(model)
    if all(type(each) is tuple for each in lists) and not any(array.flags.writeable for array in arrays):
        object.__setattr__(model, "proof", Proof(arrays))
