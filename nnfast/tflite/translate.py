"""The walk over a file's main subgraph: each operator through its entry in the table of translations."""

import numpy as np

from ..errors import UnsupportedOperator
from ..model.types import Model, Subgraph
from . import (  # noqa: F401
    translate_bidirectional,
    translate_binary,
    translate_blocks,
    translate_conv,
    translate_detection,
    translate_elementwise,
    translate_lookup,
    translate_quant,
    translate_recurrent,
    translate_reduce,
    translate_select,
    translate_shape,
    translate_slice,
    translate_unary,
)
from .builder import TRANSLATIONS
from .schema import CUSTOM

_SUBGRAPHS = "runs other subgraphs of the file, only the main one is translated"
_VARIABLES = "keeps its state in a resource, which starts with what another subgraph of the file stores in it"
REFUSED = {
    "CALL_ONCE": _SUBGRAPHS, "IF": _SUBGRAPHS, "WHILE": _SUBGRAPHS,
    "ASSIGN_VARIABLE": _VARIABLES, "READ_VARIABLE": _VARIABLES, "VAR_HANDLE": _VARIABLES,
    "COS": "is no operation of NNAPI, and SIN of a shifted input rounds differently",
    "ROUND": "rounds halves to even, NNAPI has FLOOR only",
}
"""Builtin operators that NNAPI comes close to -> why they are refused."""


def translate(builder, operators, outputs, name):
    """Canonical Model of checked operators over the builder's tensors.

    outputs: tensor indexes; name: the model's. Variables become inputs and outputs behind the file's own, tied by
    Model.states. Raises UnsupportedOperator for the first operator without a translation, InvalidArgument for inputs
    and outputs that NNAPI cannot have.
    """
    for op in operators:
        if _key(op) not in TRANSLATIONS:
            raise UnsupportedOperator(op.name, op.index, _reason(op))
    builder.start()
    # Scales out of a damaged file may overflow float32; the rules that follow refuse the infinities.
    with np.errstate(all="ignore"):
        for op in operators:
            TRANSLATIONS[_key(op)](builder, op)
    states = builder.finish(outputs)
    main = Subgraph(tuple(builder.operands), tuple(builder.operations), tuple(builder.inputs), tuple(builder.outputs))
    return Model(main, states=states, name=name)


def _key(op):
    return op.custom if op.code == CUSTOM else op.code


def _reason(op):
    kind = "is a custom operator" if op.code == CUSTOM else "has no translation"
    return REFUSED.get(op.name) or f"{kind}; NNAPI models hold the standard's operations only"
