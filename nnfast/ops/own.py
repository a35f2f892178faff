"""nnfast's own operations besides the standard's: for what TFLite has and NNAPI does not.

Each is an OpDef in a file of this folder, as those of the standard, under the name TFL_X for TFLite's operator X. It is
no operation of the standard: models name it by a code of the extension model.own.NAME, and the HAL offers none of them.
"""

from importlib import import_module

from ..forks import importing
from ..model.own import NAME, PREFIX, TYPES
from ..model.types import Definition

FAMILIES = {
    "tfl_fully_connected": {"TFL_FULLY_CONNECTED": 9},
    "tfl_hybrid": {
        "TFL_HYBRID_CONV_2D": 2003, "TFL_HYBRID_DEPTHWISE_CONV_2D": 2004, "TFL_HYBRID_FULLY_CONNECTED": 2009,
        "TFL_HYBRID_BATCH_MATMUL": 2126, "TFL_HYBRID_EMBEDDING_LOOKUP": 2007,
        "TFL_HYBRID_TRANSPOSE_CONV": 2067,
    },
    "tfl_blockwise": {"TFL_BLOCKWISE_FULLY_CONNECTED": 2109},
    "tfl_int16_binary": {"TFL_INT16_ADD": 3000, "TFL_INT16_SUB": 3041, "TFL_INT16_MUL": 3018},
    "tfl_int16": {
        "TFL_INT16_BATCH_MATMUL": 3126,
        "TFL_INT16_CONV_2D": 3003, "TFL_INT16_DEPTHWISE_CONV_2D": 3004, "TFL_INT16_FULLY_CONNECTED": 3009,
        "TFL_INT16_TRANSPOSE_CONV": 3067, "TFL_QUANTIZE_INT16": 3114, "TFL_DEQUANTIZE_INT16": 3006,
    },
    "tfl_requantize": {
        "TFL_REQUANTIZE": 4114, "TFL_REQUANTIZE_MEAN": 4040, "TFL_REQUANTIZE_SUM": 4074,
        "TFL_REQUANTIZE_LEAKY_RELU": 4098, "TFL_REQUANTIZE_RSQRT": 4076, "TFL_REQUANTIZE_RESIZE_BILINEAR": 4023,
        "TFL_RESIZE_NEAREST_NEIGHBOR": 97, "TFL_REQUANTIZE_ABS": 4101, "TFL_REQUANTIZE_RELU": 4019,
        "TFL_REQUANTIZE_MUL": 4018, "TFL_REQUANTIZE_PROD": 4081, "TFL_INT16_PRELU": 3054,
    },
    "tfl_quantized_binary": {
        "TFL_QUANTIZED_DIV": 4042, "TFL_QUANTIZED_SQUARED_DIFFERENCE": 4099,
        "TFL_QUANTIZED_EQUAL": 4071, "TFL_QUANTIZED_NOT_EQUAL": 4072, "TFL_QUANTIZED_LESS": 4058,
        "TFL_QUANTIZED_LESS_EQUAL": 4063, "TFL_QUANTIZED_GREATER": 4061, "TFL_QUANTIZED_GREATER_EQUAL": 4062,
    },
    "tfl_int16_pool": {"TFL_INT16_AVERAGE_POOL_2D": 3001, "TFL_INT16_MAX_POOL_2D": 3017},
    "tfl_quantized_unary": {
        "TFL_QUANTIZED_EXP": 4047, "TFL_QUANTIZED_LOG": 4073, "TFL_QUANTIZED_GELU": 4150, "TFL_QUANTIZED_RSQRT": 3076,
        "TFL_QUANTIZED_SQRT": 4075, "TFL_QUANTIZED_LOGISTIC": 4014, "TFL_QUANTIZED_TANH": 4028,
        "TFL_QUANTIZED_ELU": 4111, "TFL_INT16_LOGISTIC": 3014, "TFL_INT16_TANH": 3028, "TFL_INT16_SOFTMAX": 3025,
    },
    "tfl_log_softmax": {"TFL_QUANTIZED_LOG_SOFTMAX": 4050},
    "tfl_basic_lstm": {"TFL_BASIC_LSTM": 4016},
    "tfl_hybrid_recurrent": {"TFL_HYBRID_LSTM": 2044, "TFL_HYBRID_RNN": 2035},
    "tfl_svdf": {"TFL_INT8_SVDF": 3027, "TFL_HYBRID_SVDF": 2027},
    "tfl_rank": {
        "TFL_RANK_0": 1000, "TFL_RANK_1": 1001, "TFL_EMPTY": 1002, "TFL_COPY": 1003, "TFL_SCALARS": 1004,
    },
    "tfl_unary": {
        "TFL_COS": 108, "TFL_ROUND": 116, "TFL_SIGN": 158, "TFL_GELU": 150, "TFL_ABS": 101, "TFL_NEG": 59,
        "TFL_SQUARE": 92, "TFL_RELU": 19, "TFL_RELU6": 21, "TFL_RELU_N1_TO_1": 20, "TFL_RELU_0_TO_1": 152, "TFL_CEIL":
        104, "TFL_FLOOR": 8, "TFL_EXP": 47, "TFL_LOG": 73, "TFL_SQRT": 75, "TFL_RSQRT": 76, "TFL_SIN": 66, "TFL_TANH":
        28, "TFL_LOGISTIC": 14, "TFL_ELU": 111, "TFL_HARD_SWISH": 117, "TFL_LOGICAL_NOT": 87, "TFL_LEAKY_RELU": 98,
        "TFL_CAST": 53, "TFL_BITCAST": 159, "TFL_REAL": 134, "TFL_IMAG": 133, "TFL_COMPLEX_ABS": 135,
        "TFL_FAKE_QUANT": 80,
    },
    "tfl_shape": {
        "TFL_SHAPE": 77, "TFL_RANK": 110, "TFL_ZEROS_LIKE": 93, "TFL_RESHAPE": 22, "TFL_SQUEEZE": 43,
        "TFL_EXPAND_DIMS": 70, "TFL_TRANSPOSE": 39, "TFL_REVERSE_V2": 105, "TFL_REVERSE_SEQUENCE": 112,
        "TFL_CONCATENATION": 2, "TFL_PACK": 83, "TFL_UNPACK": 88, "TFL_SPLIT": 49, "TFL_SPLIT_V": 102,
    },
    "tfl_slice": {
        "TFL_SLICE": 65, "TFL_STRIDED_SLICE": 45, "TFL_DYNAMIC_UPDATE_SLICE": 151, "TFL_SET_ITEM": 1005,
    },
    "tfl_build": {
        "TFL_FILL": 94, "TFL_RANGE": 96, "TFL_ONE_HOT": 85, "TFL_TILE": 69, "TFL_BROADCAST_TO": 130,
        "TFL_BROADCAST_ARGS": 145, "TFL_PAD": 34, "TFL_PADV2": 60, "TFL_MIRROR_PAD": 100,
        "TFL_MATRIX_DIAG": 113, "TFL_MATRIX_SET_DIAG": 115,
    },
    "tfl_gather": {
        "TFL_GATHER": 36, "TFL_EMBEDDING_LOOKUP": 7, "TFL_EMBEDDING_LOOKUP_SPARSE": 33, "TFL_GATHER_ND": 107,
        "TFL_SCATTER_ND": 122, "TFL_SEGMENT_SUM": 125, "TFL_UNSORTED_SEGMENT_SUM": 155,
        "TFL_UNSORTED_SEGMENT_PROD": 153, "TFL_UNSORTED_SEGMENT_MAX": 154,
        "TFL_UNSORTED_SEGMENT_MIN": 157, "TFL_WHERE": 109, "TFL_UNIQUE": 103, "TFL_SPARSE_TO_DENSE": 68,
        "TFL_BUCKETIZE": 147, "TFL_HASHTABLE_LOOKUP": 10,
    },
    "tfl_binary": {
        "TFL_ADD": 0, "TFL_SUB": 41, "TFL_MUL": 18, "TFL_DIV": 42, "TFL_FLOOR_DIV": 90, "TFL_FLOOR_MOD": 95,
        "TFL_POW": 78, "TFL_MAXIMUM": 55, "TFL_MINIMUM": 57, "TFL_SQUARED_DIFFERENCE": 99, "TFL_ATAN2": 156,
        "TFL_RIGHT_SHIFT": 161, "TFL_BITWISE_XOR": 160, "TFL_LOGICAL_AND": 86, "TFL_LOGICAL_OR": 84, "TFL_EQUAL": 71,
        "TFL_NOT_EQUAL": 72, "TFL_LESS": 58, "TFL_LESS_EQUAL": 63, "TFL_GREATER": 61, "TFL_GREATER_EQUAL": 62,
        "TFL_SELECT": 64, "TFL_SELECT_V2": 123, "TFL_STABLEHLO_ADD": 163, "TFL_STABLEHLO_MULTIPLY": 165,
        "TFL_STABLEHLO_AND": 176, "TFL_STABLEHLO_SHIFT_LEFT": 207,
    },
    "tfl_reduce": {
        "TFL_SUM": 74, "TFL_MEAN": 40, "TFL_REDUCE_PROD": 81, "TFL_REDUCE_MAX": 82, "TFL_REDUCE_MIN": 89,
        "TFL_REDUCE_ANY": 91, "TFL_REDUCE_ALL": 140, "TFL_ARG_MAX": 56, "TFL_ARG_MIN": 79, "TFL_CUMSUM": 128,
        "TFL_TOPK_V2": 48,
    },
    "tfl_matmul": {
        "TFL_BATCH_MATMUL": 126,
    },
    "tfl_pool": {"TFL_MAX_POOL_ARGMAX": 1012, "TFL_MAX_UNPOOL": 1013},
    "tfl_landmarks": {
        "TFL_LANDMARKS_TO_MATRIX": 1017, "TFL_TRANSFORM_LANDMARKS": 1018, "TFL_TRANSFORM_TENSOR": 1019,
        "TFL_LANDMARKS_TO_MATRIX_V1": 1020, "TFL_RESAMPLER": 1021,
    },
    "tfl_detection": {"TFL_DETECTION_POSTPROCESS": 1016},
    "tfl_random": {
        "TFL_RANDOM_STANDARD_NORMAL": 146, "TFL_RANDOM_UNIFORM": 148, "TFL_MULTINOMIAL": 149,
        "TFL_STABLEHLO_RNG_BIT_GENERATOR": 204,
    },
    "tfl_nms": {"TFL_NON_MAX_SUPPRESSION_V4": 120, "TFL_NON_MAX_SUPPRESSION_V5": 121},
    "tfl_conv3d": {"TFL_CONV_3D": 132, "TFL_CONV_3D_TRANSPOSE": 141},
    "tfl_stablehlo": {"TFL_STABLEHLO_SCATTER": 190, "TFL_STABLEHLO_GATHER": 201},
    "tfl_window": {"TFL_DILATE": 203, "TFL_STABLEHLO_PAD": 195, "TFL_REDUCE_WINDOW": 205},
    "tfl_lsh": {"TFL_LSH_PROJECTION": 15},
    "tfl_strings": {"TFL_SKIP_GRAM": 30, "TFL_HASHTABLE_FIND": 137},
    "tfl_blocks": {"TFL_SPACE_TO_BATCH_ND": 38, "TFL_BATCH_TO_SPACE_ND": 37},
    "tfl_signal": {
        "TFL_RFFT2D": 131, "TFL_AUDIO_SPECTROGRAM": 1010, "TFL_MFCC": 1011,
    },
}
"""Family file -> its operations with their ids: TFLite's builtin codes; others have those from 1000 on."""


class OwnOperation(Definition):
    """An operation of nnfast's own. code: that of operations in a model, under PREFIX; op: its OpDef."""

    extension = NAME

    def __init__(self, name, id, family):
        self.name, self.id, self.family = name, id, family
        self.code = PREFIX << 16 | id

    @property
    def op(self):
        with importing:
            return getattr(import_module(f".{self.family}", __package__), self.name)

    def __repr__(self):
        return f"<OwnOperation {self.id} {self.name}>"

    def __reduce__(self):
        return BY_NAME.__getitem__, (self.name,)


BY_NAME = {name: OwnOperation(name, id, family) for family, names in FAMILIES.items() for name, id in names.items()}


class OwnExtension:
    """As a vendor's extensions.Extension: members by id."""

    name, types, operations = NAME, TYPES, {operation.id: operation for operation in BY_NAME.values()}


EXTENSION = OwnExtension()
