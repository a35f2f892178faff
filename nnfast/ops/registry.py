"""Operation code -> OpDef; each family file is imported when one of its operations is first needed."""

from importlib import import_module

from ..model.types import OperationType

_T = OperationType
FAMILIES = {
    "activation": (_T.RELU, _T.RELU1, _T.RELU6, _T.LOGISTIC, _T.TANH, _T.HARD_SWISH, _T.PRELU),
    "concatenation": (_T.CONCATENATION,),
    "control_flow": (_T.IF, _T.WHILE),
    "conv2d": (_T.CONV_2D,),
    "depthwise_conv2d": (_T.DEPTHWISE_CONV_2D,),
    "elementwise": (_T.ADD, _T.MUL, _T.SUB),
    "fully_connected": (_T.FULLY_CONNECTED,),
    "lstm": (_T.LSTM, _T.UNIDIRECTIONAL_SEQUENCE_LSTM),
    "pad": (_T.PAD,),
    "pooling": (_T.AVERAGE_POOL_2D, _T.MAX_POOL_2D),
    "quantize": (_T.QUANTIZE, _T.DEQUANTIZE),
    "reduce": (_T.MEAN,),
    "reshape": (_T.RESHAPE,),
    "resize": (_T.RESIZE_BILINEAR,),
    "rnn": (_T.RNN, _T.UNIDIRECTIONAL_SEQUENCE_RNN),
    "softmax": (_T.SOFTMAX,),
    "transpose": (_T.TRANSPOSE,),
}
"""Family file -> the operations it defines."""

_FAMILY_OF = {int(code): family for family, codes in FAMILIES.items() for code in codes}


def lookup(code):
    """OpDef of an operation code, or None when nnfast has no such operation."""
    family = _FAMILY_OF.get(code)
    if family is None:
        return None
    return getattr(import_module(f".{family}", __package__), OperationType(code).name)


def supported_codes():
    """All operation codes that nnfast runs, in order."""
    return sorted(_FAMILY_OF)
