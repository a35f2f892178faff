"""What was found right of a model, kept with it, so that nobody looks twice.

Models are immutable: tuples of frozen records. Those that hold lists are valid too, but may change, and so get no
proof. The arrays of constants may still be given another shape or type by whoever holds them: a proof names those it
was made for, and holds as long as they are what they were.
"""

from .withheld import Withheld


class Proof:
    """The structure of a model is right (model/validate.py), and so are its operations up to a HAL version.

    version: the lowest HAL version that has all of the model, None while nobody has asked (compiler/check.py).
    """

    __slots__ = ("version", "_arrays")

    def __init__(self, arrays):
        self.version, self._arrays = None, tuple((array, array.shape, array.strides, array.dtype) for array in arrays)

    @property
    def holds(self):
        """Whether the constants still are what they were."""
        return all(array.shape == shape and array.strides == strides and array.dtype == dtype
                   for array, shape, strides, dtype in self._arrays)

    def __reduce__(self):
        return type(None), ()  # a proof stays with the object that it was made for


def of(model):
    """The Proof of a model that still holds, or None."""
    return model.proof if model.proof is not None and model.proof.holds else None


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
    arrays = [o.data for graph in graphs for o in graph.operands if o.data is not None and type(o.data) is not Withheld]
    arrays += [state.initial for state in model.states if state.initial is not None]
    if all(type(each) is tuple for each in lists) and not any(array.flags.writeable for array in arrays):
        object.__setattr__(model, "proof", Proof(arrays))
