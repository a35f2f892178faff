"""Operation code -> OpDef; each family file is imported when one of its operations is first needed."""

from functools import lru_cache
from importlib import import_module

from ..forks import importing
from ..model.types import Definition, OperationType

_T = OperationType
FAMILIES = {
    "activation": (_T.RELU, _T.RELU1, _T.RELU6, _T.LOGISTIC, _T.TANH, _T.HARD_SWISH, _T.PRELU, _T.ELU),
    "arg": (_T.ARGMAX, _T.ARGMIN),
    "batch_matmul": (_T.BATCH_MATMUL,),
    "bbox_transform": (_T.AXIS_ALIGNED_BBOX_TRANSFORM,),
    "bidirectional_lstm": (_T.BIDIRECTIONAL_SEQUENCE_LSTM,),
    "bidirectional_rnn": (_T.BIDIRECTIONAL_SEQUENCE_RNN,),
    "blocks": (_T.DEPTH_TO_SPACE, _T.SPACE_TO_DEPTH, _T.BATCH_TO_SPACE_ND, _T.SPACE_TO_BATCH_ND),
    "cast": (_T.CAST,),
    "channel_shuffle": (_T.CHANNEL_SHUFFLE,),
    "comparison": (_T.EQUAL, _T.NOT_EQUAL, _T.GREATER, _T.GREATER_EQUAL, _T.LESS, _T.LESS_EQUAL),
    "concatenation": (_T.CONCATENATION, _T.PACK),
    "control_flow": (_T.IF, _T.WHILE),
    "conv2d": (_T.CONV_2D,),
    "depthwise_conv2d": (_T.DEPTHWISE_CONV_2D,),
    "detection_postprocessing": (_T.DETECTION_POSTPROCESSING,),
    "elementwise": (_T.ADD, _T.MUL, _T.SUB, _T.DIV),
    "fill": (_T.FILL, _T.RANK),
    "fully_connected": (_T.FULLY_CONNECTED,),
    "gather": (_T.GATHER, _T.EMBEDDING_LOOKUP, _T.HASHTABLE_LOOKUP),
    "grouped_conv2d": (_T.GROUPED_CONV_2D,),
    "heatmap": (_T.HEATMAP_MAX_KEYPOINT,),
    "logical": (_T.LOGICAL_AND, _T.LOGICAL_OR),
    "lsh": (_T.LSH_PROJECTION,),
    "lstm": (_T.LSTM, _T.UNIDIRECTIONAL_SEQUENCE_LSTM),
    "minmax": (_T.MAXIMUM, _T.MINIMUM),
    "nms": (_T.BOX_WITH_NMS_LIMIT,),
    "normalization": (_T.L2_NORMALIZATION, _T.LOCAL_RESPONSE_NORMALIZATION, _T.INSTANCE_NORMALIZATION),
    "pad": (_T.PAD, _T.PAD_V2, _T.MIRROR_PAD),
    "pooling": (_T.AVERAGE_POOL_2D, _T.L2_POOL_2D, _T.MAX_POOL_2D),
    "power": (_T.POW,),
    "proposals": (_T.GENERATE_PROPOSALS,),
    "quantize": (_T.QUANTIZE, _T.DEQUANTIZE),
    "quantized_16bit_lstm": (_T.QUANTIZED_16BIT_LSTM,),
    "quantized_lstm": (_T.QUANTIZED_LSTM,),
    "random_multinomial": (_T.RANDOM_MULTINOMIAL,),
    "reduce": (
        _T.MEAN, _T.REDUCE_ALL, _T.REDUCE_ANY, _T.REDUCE_MAX, _T.REDUCE_MIN, _T.REDUCE_PROD, _T.REDUCE_SUM,
    ),
    "reshape": (_T.RESHAPE, _T.SQUEEZE, _T.EXPAND_DIMS),
    "resize": (_T.RESIZE_BILINEAR, _T.RESIZE_NEAREST_NEIGHBOR),
    "reverse": (_T.REVERSE,),
    "rnn": (_T.RNN, _T.UNIDIRECTIONAL_SEQUENCE_RNN),
    "roi": (_T.ROI_ALIGN, _T.ROI_POOLING),
    "select": (_T.SELECT,),
    "slice": (_T.SLICE, _T.STRIDED_SLICE),
    "softmax": (_T.SOFTMAX, _T.LOG_SOFTMAX),
    "split": (_T.SPLIT,),
    "svdf": (_T.SVDF,),
    "tile": (_T.TILE,),
    "topk": (_T.TOPK_V2,),
    "transpose": (_T.TRANSPOSE,),
    "transpose_conv2d": (_T.TRANSPOSE_CONV_2D,),
    "unary": (
        _T.ABS, _T.EXP, _T.FLOOR, _T.LOG, _T.LOGICAL_NOT, _T.NEG, _T.RSQRT, _T.SIN, _T.SQRT,
    ),
}
"""Family file -> the operations it defines."""

_FAMILY_OF = {int(code): family for family, codes in FAMILIES.items() for code in codes}


@lru_cache(256)
def lookup(code):
    """OpDef of an operation code, or of the Definition that replaced it; None if there is no such operation."""
    if isinstance(code, Definition):
        return code.op
    family = _FAMILY_OF.get(code)
    if family is None:
        return None
    with importing:
        return getattr(import_module(f".{family}", __package__), OperationType(code).name)


def supported_codes():
    """All operation codes that nnfast runs, in order."""
    return sorted(_FAMILY_OF)
