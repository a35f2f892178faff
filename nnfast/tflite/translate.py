"""The walk over a file's main subgraph: each operator through its entry in the table of translations."""

from ..model.types import Model, Subgraph
from . import translate_conv, translate_elementwise, translate_quant, translate_recurrent, translate_shape  # noqa: F401
from .builder import TRANSLATIONS, Builder
from .schema import CUSTOM


def translate(tensors, operators, inputs, outputs, names, name):
    """Canonical Model of checked tensors and operators.

    names: signature names of inputs and of outputs by tensor index; name: the model's. Variables become inputs and
    outputs behind the file's own, tied by Model.states. Raises UnsupportedOperator for the first operator without a
    translation.
    """
    for op in operators:
        if op.code not in TRANSLATIONS:
            kind = "is a custom operator" if op.code == CUSTOM else "has no translation"
            Builder([], (), names).refuse(op, f"{kind}; NNAPI models are made of the operations of the standard")
    builder = Builder(tensors, inputs, names)
    for op in operators:
        TRANSLATIONS[op.code](builder, op)
    states = builder.finish(outputs)
    main = Subgraph(tuple(builder.operands), tuple(builder.operations), tuple(builder.inputs), tuple(builder.outputs))
    return Model(main, states=states, name=name)
