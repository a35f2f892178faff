"""Models from their records, and from files of nnfast's own.

Types and bounds are checked, nothing else: the model is as good as one that a client has built. `read` checks it all.
"""

from ..errors import InvalidArgument
from .file import content_of, decoded
from .records import array_of, dtype_of, is_withheld
from .types import ChannelQuant, Model, Operand, Operation, Signature, State, Subgraph
from .validate import validate_model
from .withheld import SCALES, Withheld


def read(source):
    """The Model of a path or bytes; its constants are read-only views of one copy. Raises InvalidArgument."""
    label, data = content_of(source)
    try:
        record, constants = decoded(data)
        model = model_of(record, [constants])
        validate_model(model)
    except InvalidArgument as error:
        raise InvalidArgument(f"{label}: {error}") from None
    return model


def model_of(record, parts, may_withhold=False):
    """The Model of a ModelRecord; its constants are views of the arrays `parts`. Raises InvalidArgument."""
    def array(data, path):
        if data is None:
            return None
        if may_withhold and is_withheld(data):
            return Withheld(dtype_of(data, path), data.shape)
        return array_of(data, parts, path)

    def operand(o, path):
        data = None if o.data is None else array(o.data, path)
        quant = None if o.channel_dim is None else ChannelQuant(o.channel_dim, scales(o, data))
        return Operand(o.type, o.dims, o.scale, o.zero_point, o.lifetime, quant, data, o.name, o.subgraph, o.parameters)

    def scales(o, data):
        if o.channel_scales is None and isinstance(data, Withheld) and 0 <= o.channel_dim < len(data.shape):
            return Withheld(SCALES, data.shape[o.channel_dim:o.channel_dim + 1])
        return o.channel_scales or ()

    def graph(g, name):
        return Subgraph(tuple([operand(o, f"{name}.operand[{place}]") for place, o in enumerate(g.operands)]),
                        tuple([Operation(p.type, p.inputs, p.outputs) for p in g.operations]), g.inputs, g.outputs)

    states = tuple(State(s.input, s.output, array(s.initial, f"state[{place}]"))
                   for place, s in enumerate(record.states))
    referenced = tuple(graph(g, f"referenced[{place}]") for place, g in enumerate(record.referenced))
    return Model(graph(record.main, "main"), referenced, record.relaxed, states, record.name,
                 tuple(tuple(entry) for entry in record.extensions), record.arithmetic,
                 tuple(map(signature_of, record.signatures)))


def signature_of(record):
    """The Signature of a SignatureRecord."""
    return Signature(record.key, record.inputs, record.outputs, record.is_loaded)
