"""A constant whose values are not there, because nothing that is left to do needs them."""

from math import prod

import numpy as np

from ..errors import GeneralFailure
from ..record import replace

SCALES = np.dtype(np.float64)
"""What the scales of channels pass for where they are withheld."""


def withholding(model, operands):
    """The model without the values and channel scales of these constants of its main graph, which has them now."""
    changed = list(model.main.operands)
    for place in operands:
        changed[place] = _withheld(changed[place])
    return model.with_main(operands=tuple(changed))


def _withheld(operand):
    quant = operand.channel_quant
    if quant is not None:
        quant = replace(quant, scales=Withheld(SCALES, (len(quant.scales),)))
    return replace(operand, data=Withheld(operand.dtype, operand.dims), channel_quant=quant)


class Withheld:
    """Stands in place of the array of a constant: it knows dtype and shape, and refuses to be read."""

    __slots__ = ("dtype", "shape", "nbytes")

    def __init__(self, dtype, shape):
        self.dtype, self.shape = dtype, tuple(shape)
        self.nbytes = prod(self.shape) * dtype.itemsize

    def _refuse(self, *_, **__):
        raise GeneralFailure(f"a constant of {self.dtype} {list(self.shape)}: its values were not kept, only what "
                             f"was packed from them; prepare the model from its source")

    __array__ = __getitem__ = __iter__ = __len__ = __bool__ = __eq__ = _refuse
    __hash__ = object.__hash__

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        self._refuse()

    def __repr__(self):
        return f"<Withheld {self.dtype} {list(self.shape)}>"
