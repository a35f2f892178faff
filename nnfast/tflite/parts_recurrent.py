"""Recurrent operators as several others of TFLite's: both directions of a layer, a step of integers."""

from .parts import parted
from .schema import Builtin, TensorType

B = Builtin


# -- directions ------------------------------------------------------------------------------------------------------
@parted(B.BIDIRECTIONAL_SEQUENCE_LSTM)
def bidirectional_lstm(p):
    """Two LSTMs, one of them on the reversed sequence."""
    forward = [*range(1, 18), 35, 36]
    options = p.op.options
    _directions(p, B.UNIDIRECTIONAL_SEQUENCE_LSTM, forward, [*range(18, 35), 37, 38], 39, 9, (8, 25), {
        "activation": options.activation, "cell_clip": options.cell_clip, "proj_clip": options.proj_clip,
        "diagonal_recurrent_tensors": False})


@parted(B.BIDIRECTIONAL_SEQUENCE_RNN)
def bidirectional_rnn(p):
    """Two RNNs, one of them on the reversed sequence."""
    _directions(p, B.UNIDIRECTIONAL_SEQUENCE_RNN, [1, 2, 3, 4], [5, 6, 7, 8], 9, 3, (2, 6),
                {"activation": p.op.options.activation})


def _directions(p, code, forward, backward, auxiliary, more, sizes, options):
    """more: how many inputs from `auxiliary` on there may be; sizes: inputs that are as wide as the outputs."""
    op, merges = p.op, p.op.options.merge_outputs
    if len(op.inputs) != auxiliary + more or len(op.outputs) != 2 - merges:
        p.refuse("has other numbers of tensors than the format says")
    x, second, crossing = p.tensor(0), p.optional(auxiliary) or p.tensor(0), [[], []]
    if any(k != -1 for k in op.inputs[auxiliary + 1:]):
        # With weights of its own both directions read the auxiliary input too, without them it is the second's input.
        count = (more - 1) // 2
        places = range(auxiliary + 1, auxiliary + 1 + count), range(auxiliary + 1 + count, auxiliary + more)
        unused = [None] * (24 - 1 - len(forward)) if code == B.UNIDIRECTIONAL_SEQUENCE_LSTM else []
        crossing = [[*unused, p.tensor(auxiliary), *map(p.optional, side)] for side in places]
        second = x
    dims = p.b.dims(op, x)
    if any(len(p.tensor(place).dims or ()) != 2 for place in sizes) or len(dims) != 3:
        p.refuse("has recurrent weights that are not of rank 2, or an input that is not of rank 3")
    outs = [p.b.result(op, place) for place in range(len(op.outputs))]
    widths = [p.tensor(place).dims[1] for place in sizes]
    first, last, turned = (p.new(outs[0], (*dims[:2], width)) for width in (*widths, widths[1]))
    options |= {name: getattr(op.options, name) for name in ("time_major", "asymmetric_quantize_inputs")}
    axis = p.ints([0 if op.options.time_major else 1])
    p.run(code, [x, *map(p.optional, forward), *crossing[0]], [first if merges else outs[0]], **options)

    def reversed_(t):
        end = p.new(t, p.b.dims(op, t))
        p.run(B.REVERSE_V2, [t, axis], [end])
        return end

    if crossing[1]:
        place = crossing[1].index(p.tensor(auxiliary))
        crossing[1][place] = reversed_(crossing[1][place])
    p.run(code, [reversed_(second), *map(p.optional, backward), *crossing[1]], [turned], **options)
    p.run(B.REVERSE_V2, [turned, axis], [last if merges else outs[1]])
    if merges:
        p.run(B.CONCATENATION, [first, last], outs, axis=2, activation=0)


# -- steps -----------------------------------------------------------------------------------------------------------
@parted(B.LSTM)
def integer_lstm(p):
    """An LSTM of integers, as a sequence of one step."""
    x, out, options = p.tensor(0), p.b.result(p.op), p.op.options
    dims = p.b.dims(p.op, x)
    if x.type != TensorType.INT8 or len(dims) != 2 or 0 in dims or options.kernel_type or \
            len(p.tensor(8).dims or ()) != 2:
        p.refuse("has no form for these tensors")
    rows = dims[0], p.tensor(8).dims[1]
    result = p.new(out, (1, *rows))
    p.run(B.UNIDIRECTIONAL_SEQUENCE_LSTM, [p.reshaped(x, (1, *dims)), *map(p.optional, range(1, len(p.op.inputs)))],
          [result], activation=options.activation, cell_clip=options.cell_clip, proj_clip=options.proj_clip,
          time_major=True, diagonal_recurrent_tensors=False, asymmetric_quantize_inputs=False)
    p.run(B.RESHAPE, [result, p.ints(rows)], [out], new_shape=None)
