"""The walk over a file's main subgraph: each operator through its entry in the table of translations."""

import numpy as np

from ..errors import UnsupportedOperator
from ..model.types import Model, Subgraph
from . import translate_conv, translate_elementwise, translate_quant, translate_recurrent, translate_shape  # noqa: F401
from .builder import TRANSLATIONS
from .schema import CUSTOM


def translate(builder, operators, outputs, name):
    """Canonical Model of checked operators over the builder's tensors.

    outputs: tensor indexes; name: the model's. Variables become inputs and outputs behind the file's own, tied by
    Model.states. Raises UnsupportedOperator for the first operator without a translation, InvalidArgument for inputs
    and outputs that NNAPI cannot have.
    """
    for op in operators:
        if op.code not in TRANSLATIONS:
            kind = "is a custom operator" if op.code == CUSTOM else "has no translation"
            raise UnsupportedOperator(op.name, op.index, f"{kind}; NNAPI models hold the standard's operations only")
    builder.start()
    # Scales out of a damaged file may overflow float32; the rules that follow refuse the infinities.
    with np.errstate(all="ignore"):
        for op in operators:
            TRANSLATIONS[op.code](builder, op)
    states = builder.finish(outputs)
    main = Subgraph(tuple(builder.operands), tuple(builder.operations), tuple(builder.inputs), tuple(builder.outputs))
    return Model(main, states=states, name=name)
