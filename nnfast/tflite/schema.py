"""The part of the TFLite file format that nnfast reads: tables, their fields, and the numbers they use.

A table is a tuple of fields (name, slot, kind, default). Kinds: a struct character for a scalar; "str"; "[x]" for a
vector of scalars (a numpy view); a table name; "[table]" for a vector of tables; "present" when only the fact counts.
What is not listed here is never followed, so a file cannot lead the reader into a cycle.
"""

from enum import IntEnum

import numpy as np

IDENTIFIER = b"TFL3"
VERSION = 3

TABLES = {
    "Model": (
        ("version", 0, "I", 0), ("operator_codes", 1, "[OperatorCode]", ()), ("subgraphs", 2, "[SubGraph]", ()),
        ("buffers", 4, "[Buffer]", ()), ("metadata", 6, "[Metadata]", ()),
        ("signature_defs", 7, "[SignatureDef]", ()),
    ),
    "Metadata": (("name", 0, "str", ""), ("buffer", 1, "I", 0)),
    "OperatorCode": (
        ("deprecated_builtin_code", 0, "b", 0), ("custom_code", 1, "str", ""), ("builtin_code", 3, "i", 0),
    ),
    "SubGraph": (
        ("tensors", 0, "[Tensor]", ()), ("inputs", 1, "[i]", ()), ("outputs", 2, "[i]", ()),
        ("operators", 3, "[Operator]", ()), ("name", 4, "str", ""),
    ),
    "Tensor": (
        ("shape", 0, "[i]", ()), ("type", 1, "b", 0), ("buffer", 2, "I", 0), ("name", 3, "str", ""),
        ("quantization", 4, "Quantization", None), ("is_variable", 5, "?", False), ("sparsity", 6, "Sparsity", None),
        ("shape_signature", 7, "[i]", ()), ("has_rank", 8, "?", False),
    ),
    "Sparsity": (
        ("traversal_order", 0, "[i]", ()), ("block_map", 1, "[i]", ()), ("dim_metadata", 2, "[DimensionMetadata]", ()),
    ),
    "DimensionMetadata": (
        ("format", 0, "b", 0), ("dense_size", 1, "i", 0), ("segments_type", 2, "B", 0), ("indices_type", 4, "B", 0),
    ),
    "Int32Vector": (("values", 0, "[i]", ()),), "Uint16Vector": (("values", 0, "[H]", ()),),
    "Uint8Vector": (("values", 0, "[B]", ()),),
    "Quantization": (
        ("scale", 2, "[f]", ()), ("zero_point", 3, "[q]", ()), ("details_type", 4, "B", 0),
        ("quantized_dimension", 6, "i", 0),
    ),
    "BlockwiseQuantization": (("scales", 0, "i", 0), ("zero_points", 1, "i", 0), ("block_size", 2, "i", 0)),
    "Operator": (
        ("opcode_index", 0, "I", 0), ("inputs", 1, "[i]", ()), ("outputs", 2, "[i]", ()), ("options_type", 3, "B", 0),
        ("custom_options", 5, "[B]", ()), ("intermediates", 8, "[i]", ()), ("options_2_type", 11, "B", 0),
    ),
    "Buffer": (("data", 0, "[B]", ()), ("offset", 1, "Q", 0), ("size", 2, "Q", 0)),
    "SignatureDef": (
        ("inputs", 0, "[TensorMap]", ()), ("outputs", 1, "[TensorMap]", ()), ("key", 2, "str", ""),
        ("subgraph_index", 4, "I", 0),
    ),
    "TensorMap": (("name", 0, "str", ""), ("tensor_index", 1, "I", 0)),
    # Content of the metadata buffer named TFLITE_METADATA.
    "ModelMetadata": (("subgraphs", 3, "[SubGraphMetadata]", ()),),
    "SubGraphMetadata": (("inputs", 2, "[TensorMetadata]", ()), ("outputs", 3, "[TensorMetadata]", ())),
    "TensorMetadata": (
        ("name", 0, "str", ""), ("process_units", 4, "[ProcessUnit]", ()), ("files", 6, "[AssociatedFile]", ()),
    ),
    "ProcessUnit": (("options_type", 0, "B", 0),),
    "NormalizationOptions": (("mean", 0, "[f]", ()), ("std", 1, "[f]", ())),
    "AssociatedFile": (("name", 0, "str", ""), ("type", 2, "b", 0)),
    # Options of operators.
    "NoOptions": (),
    "Conv2DOptions": (
        ("padding", 0, "b", 0), ("stride_w", 1, "i", 0), ("stride_h", 2, "i", 0), ("activation", 3, "b", 0),
        ("dilation_w", 4, "i", 1), ("dilation_h", 5, "i", 1),
    ),
    "DepthwiseConv2DOptions": (
        ("padding", 0, "b", 0), ("stride_w", 1, "i", 0), ("stride_h", 2, "i", 0), ("depth_multiplier", 3, "i", 0),
        ("activation", 4, "b", 0), ("dilation_w", 5, "i", 1), ("dilation_h", 6, "i", 1),
    ),
    "Pool2DOptions": (
        ("padding", 0, "b", 0), ("stride_w", 1, "i", 0), ("stride_h", 2, "i", 0), ("filter_w", 3, "i", 0),
        ("filter_h", 4, "i", 0), ("activation", 5, "b", 0),
    ),
    "BidirectionalLSTMOptions": (
        ("activation", 0, "b", 0), ("cell_clip", 1, "f", 0.0), ("proj_clip", 2, "f", 0.0),
        ("merge_outputs", 3, "?", False), ("time_major", 4, "?", True),
        ("asymmetric_quantize_inputs", 5, "?", False),
    ),
    "BidirectionalRNNOptions": (
        ("time_major", 0, "?", False), ("activation", 1, "b", 0), ("merge_outputs", 2, "?", False),
        ("asymmetric_quantize_inputs", 3, "?", False),
    ),
    "BatchMatMulOptions": (
        ("adj_x", 0, "?", False), ("adj_y", 1, "?", False), ("asymmetric_quantize_inputs", 2, "?", False),
    ),
    "BlockOptions": (("block_size", 0, "i", 0),),
    "SqueezeOptions": (("squeeze_dims", 0, "[i]", None),), "OneHotOptions": (("axis", 0, "i", 0),),
    "ReverseSequenceOptions": (("seq_dim", 0, "i", 0), ("batch_dim", 1, "i", 0)),
    "CumsumOptions": (("exclusive", 0, "?", False), ("reverse", 1, "?", False)),
    "Conv3DOptions": (
        ("padding", 0, "b", 0), ("stride_depth", 1, "i", 0), ("stride_width", 2, "i", 0), ("stride_height", 3, "i", 0),
        ("activation", 4, "b", 0), ("dilation_depth", 5, "i", 1), ("dilation_width", 6, "i", 1),
        ("dilation_height", 7, "i", 1),
    ),
    "FakeQuantOptions": (
        ("low", 0, "f", 0.0), ("high", 1, "f", 0.0), ("bits", 2, "i", 0), ("narrow", 3, "?", False),
    ),
    "RandomOptions": (("seed", 0, "q", 0), ("seed2", 1, "q", 0)),
    "StablehloGatherOptions": (
        ("offset_dims", 0, "[q]", None), ("collapsed", 1, "[q]", None), ("index_map", 2, "[q]", None),
        ("vector_dim", 3, "q", 0), ("slice_sizes", 4, "[q]", None),
    ),
    "StablehloScatterOptions": (
        ("window_dims", 1, "[q]", None), ("inserted", 2, "[q]", None), ("index_map", 3, "[q]", None),
        ("vector_dim", 4, "q", 0), ("body_graph", 6, "i", 0),
    ),
    "ReduceWindowOptions": (("function", 0, "i", 0),),
    "StablehloPadOptions": (("low", 0, "[q]", None), ("high", 1, "[q]", None), ("interior", 2, "[q]", None)),
    "StablehloReduceWindowOptions": (
        ("window", 0, "[q]", None), ("strides", 1, "[q]", None), ("base_dilations", 2, "[q]", None),
        ("dilations", 3, "[q]", None), ("padding", 4, "[q]", None), ("body_graph", 5, "i", 0),
    ),
    "BucketizeOptions": (("boundaries", 0, "[f]", None),),
    "CallOnceOptions": (("init_graph", 0, "i", 0),),
    "HashtableOptions": (("table_id", 0, "i", 0),),
    "SkipGramOptions": (("ngram_size", 0, "i", 0), ("max_skip_size", 1, "i", 0), ("include_all", 2, "?", False)),
    "VarHandleOptions": (("container", 0, "str", ""), ("shared_name", 1, "str", "")),
    "CompositeOptions": (("name", 0, "str", ""), ("decomposition_graph", 1, "i", 0)),
    "GeluOptions": (("approximate", 0, "?", False),),
    "GatherOptions": (("axis", 0, "i", 0), ("batch_dims", 1, "i", 0)),
    "IfOptions": (("then_graph", 0, "i", 0), ("else_graph", 1, "i", 0)),
    "WhileOptions": (("condition_graph", 0, "i", 0), ("body_graph", 1, "i", 0)),
    "LeakyReluOptions": (("alpha", 0, "f", 0.0),),
    "LRNOptions": (("radius", 0, "i", 0), ("bias", 1, "f", 0.0), ("alpha", 2, "f", 0.0), ("beta", 3, "f", 0.0)),
    "MirrorPadOptions": (("mode", 0, "b", 0),),
    "PackOptions": (("values_count", 0, "i", 0), ("axis", 1, "i", 0)),
    "UnpackOptions": (("num", 0, "i", 0), ("axis", 1, "i", 0)),
    "ResizeNearestOptions": (("align_corners", 0, "?", False), ("half_pixel_centers", 1, "?", False)),
    "SVDFOptions": (("rank", 0, "i", 0), ("activation", 1, "b", 0), ("asymmetric_quantize_inputs", 2, "?", False)),
    "SplitOptions": (("num_splits", 0, "i", 0),),
    "StridedSliceOptions": (
        ("begin_mask", 0, "i", 0), ("end_mask", 1, "i", 0), ("ellipsis_mask", 2, "i", 0), ("new_axis_mask", 3, "i", 0),
        ("shrink_axis_mask", 4, "i", 0), ("offset", 5, "?", False),
    ),
    "TransposeConvOptions": (
        ("padding", 0, "b", 0), ("stride_w", 1, "i", 0), ("stride_h", 2, "i", 0), ("activation", 3, "b", 0),
    ),
    "RNNOptions": (("activation", 0, "b", 0), ("asymmetric_quantize_inputs", 1, "?", False)),
    "FullyConnectedOptions": (
        ("activation", 0, "b", 0), ("weights_format", 1, "b", 0), ("keep_num_dims", 2, "?", False),
        ("asymmetric_quantize_inputs", 3, "?", False),
    ),
    "SoftmaxOptions": (("beta", 0, "f", 0.0),),
    "ConcatenationOptions": (("axis", 0, "i", 0), ("activation", 1, "b", 0)),
    "ActivationOptions": (("activation", 0, "b", 0), ("pot_scale_int16", 1, "?", True)),
    "CombinerOptions": (("combiner", 0, "b", 0),), "LSHOptions": (("type", 0, "b", 0),),
    "AlgorithmOptions": (("algorithm", 0, "b", 0),),
    "LSTMOptions": (
        ("activation", 0, "b", 0), ("cell_clip", 1, "f", 0.0), ("proj_clip", 2, "f", 0.0), ("kernel_type", 3, "b", 0),
        ("asymmetric_quantize_inputs", 4, "?", False),
    ),
    "ResizeBilinearOptions": (("align_corners", 2, "?", False), ("half_pixel_centers", 3, "?", False)),
    "ReshapeOptions": (("new_shape", 0, "[i]", None),),
    "ReducerOptions": (("keep_dims", 0, "?", False),),
    "SequenceRNNOptions": (
        ("time_major", 0, "?", False), ("activation", 1, "b", 0), ("asymmetric_quantize_inputs", 2, "?", False),
    ),
    "SequenceLSTMOptions": (
        ("activation", 0, "b", 0), ("cell_clip", 1, "f", 0.0), ("proj_clip", 2, "f", 0.0),
        ("time_major", 3, "?", False), ("asymmetric_quantize_inputs", 4, "?", False),
        ("diagonal_recurrent_tensors", 5, "?", False),
    ),
}
OPTIONS_SLOTS = {"Operator": 4, "ProcessUnit": 1, "Quantization": 5}
"""Table -> slot of its options table, whose kind is given by another field."""
BLOCKWISE = 2
"""details_type of a Quantization: blockwise scales along the last dimension."""


INDEX_VECTORS = {1: "Int32Vector", 2: "Uint16Vector", 3: "Uint8Vector"}
"""Number in the union of a sparse level's segments and indices -> table."""
INDEX_SLOTS = {"segments": 3, "indices": 5}
"""Slots of DimensionMetadata that hold these."""


class Builtin:
    """Codes of the operators that have a translation: plain numbers, as an enumeration takes a millisecond to make."""

    ADD = 0
    AVERAGE_POOL_2D = 1
    CONCATENATION = 2
    CONV_2D = 3
    DEPTHWISE_CONV_2D = 4
    DEPTH_TO_SPACE = 5
    DEQUANTIZE = 6
    EMBEDDING_LOOKUP = 7
    FLOOR = 8
    FULLY_CONNECTED = 9
    HASHTABLE_LOOKUP = 10
    L2_NORMALIZATION = 11
    L2_POOL_2D = 12
    LOCAL_RESPONSE_NORMALIZATION = 13
    LOGISTIC = 14
    LSH_PROJECTION = 15
    LSTM = 16
    MAX_POOL_2D = 17
    MUL = 18
    RELU = 19
    RELU_N1_TO_1 = 20
    RELU6 = 21
    RESHAPE = 22
    RESIZE_BILINEAR = 23
    RNN = 24
    SOFTMAX = 25
    SPACE_TO_DEPTH = 26
    SVDF = 27
    TANH = 28
    SKIP_GRAM = 30
    EMBEDDING_LOOKUP_SPARSE = 33
    PAD = 34
    UNIDIRECTIONAL_SEQUENCE_RNN = 35
    GATHER = 36
    BATCH_TO_SPACE_ND = 37
    SPACE_TO_BATCH_ND = 38
    TRANSPOSE = 39
    MEAN = 40
    SUB = 41
    DIV = 42
    SQUEEZE = 43
    UNIDIRECTIONAL_SEQUENCE_LSTM = 44
    STRIDED_SLICE = 45
    BIDIRECTIONAL_SEQUENCE_RNN = 46
    EXP = 47
    TOPK_V2 = 48
    SPLIT = 49
    LOG_SOFTMAX = 50
    BIDIRECTIONAL_SEQUENCE_LSTM = 52
    CAST = 53
    PRELU = 54
    MAXIMUM = 55
    ARG_MAX = 56
    MINIMUM = 57
    LESS = 58
    NEG = 59
    PADV2 = 60
    GREATER = 61
    GREATER_EQUAL = 62
    LESS_EQUAL = 63
    SELECT = 64
    SLICE = 65
    SIN = 66
    TRANSPOSE_CONV = 67
    SPARSE_TO_DENSE = 68
    TILE = 69
    EXPAND_DIMS = 70
    EQUAL = 71
    NOT_EQUAL = 72
    LOG = 73
    SUM = 74
    SQRT = 75
    RSQRT = 76
    SHAPE = 77
    POW = 78
    ARG_MIN = 79
    FAKE_QUANT = 80
    REDUCE_PROD = 81
    REDUCE_MAX = 82
    PACK = 83
    LOGICAL_OR = 84
    ONE_HOT = 85
    LOGICAL_AND = 86
    LOGICAL_NOT = 87
    UNPACK = 88
    REDUCE_MIN = 89
    FLOOR_DIV = 90
    REDUCE_ANY = 91
    SQUARE = 92
    ZEROS_LIKE = 93
    FILL = 94
    FLOOR_MOD = 95
    RANGE = 96
    RESIZE_NEAREST_NEIGHBOR = 97
    LEAKY_RELU = 98
    SQUARED_DIFFERENCE = 99
    MIRROR_PAD = 100
    ABS = 101
    SPLIT_V = 102
    UNIQUE = 103
    CEIL = 104
    REVERSE_V2 = 105
    ADD_N = 106
    GATHER_ND = 107
    COS = 108
    WHERE = 109
    RANK = 110
    ELU = 111
    REVERSE_SEQUENCE = 112
    MATRIX_DIAG = 113
    QUANTIZE = 114
    MATRIX_SET_DIAG = 115
    ROUND = 116
    HARD_SWISH = 117
    IF = 118
    WHILE = 119
    NON_MAX_SUPPRESSION_V4 = 120
    NON_MAX_SUPPRESSION_V5 = 121
    SCATTER_ND = 122
    SELECT_V2 = 123
    DENSIFY = 124
    SEGMENT_SUM = 125
    BATCH_MATMUL = 126
    CUMSUM = 128
    CALL_ONCE = 129
    BROADCAST_TO = 130
    RFFT2D = 131
    CONV_3D = 132
    IMAG = 133
    REAL = 134
    COMPLEX_ABS = 135
    HASHTABLE = 136
    HASHTABLE_FIND = 137
    HASHTABLE_IMPORT = 138
    HASHTABLE_SIZE = 139
    REDUCE_ALL = 140
    CONV_3D_TRANSPOSE = 141
    VAR_HANDLE = 142
    READ_VARIABLE = 143
    ASSIGN_VARIABLE = 144
    BROADCAST_ARGS = 145
    RANDOM_STANDARD_NORMAL = 146
    BUCKETIZE = 147
    RANDOM_UNIFORM = 148
    MULTINOMIAL = 149
    GELU = 150
    DYNAMIC_UPDATE_SLICE = 151
    RELU_0_TO_1 = 152
    UNSORTED_SEGMENT_PROD = 153
    UNSORTED_SEGMENT_MAX = 154
    UNSORTED_SEGMENT_SUM = 155
    ATAN2 = 156
    UNSORTED_SEGMENT_MIN = 157
    SIGN = 158
    BITCAST = 159
    BITWISE_XOR = 160
    RIGHT_SHIFT = 161
    STABLEHLO_ADD = 163
    STABLEHLO_MULTIPLY = 165
    STABLEHLO_MAXIMUM = 166
    STABLEHLO_AND = 176
    STABLEHLO_MINIMUM = 181
    STABLEHLO_SCATTER = 190
    STABLEHLO_PAD = 195
    STABLEHLO_REDUCE_WINDOW = 198
    STABLEHLO_GATHER = 201
    DILATE = 203
    STABLEHLO_RNG_BIT_GENERATOR = 204
    REDUCE_WINDOW = 205
    STABLEHLO_COMPOSITE = 206
    STABLEHLO_SHIFT_LEFT = 207


CUSTOM = 32

_B = Builtin
OPTIONS = {
    _B.CONV_2D: (1, "Conv2DOptions"), _B.DEPTHWISE_CONV_2D: (2, "DepthwiseConv2DOptions"),
    _B.AVERAGE_POOL_2D: (5, "Pool2DOptions"), _B.MAX_POOL_2D: (5, "Pool2DOptions"), _B.RNN: (7, "RNNOptions"),
    _B.FULLY_CONNECTED: (8, "FullyConnectedOptions"), _B.SOFTMAX: (9, "SoftmaxOptions"),
    _B.CONCATENATION: (10, "ConcatenationOptions"), _B.ADD: (11, "ActivationOptions"), _B.LSTM: (14, "LSTMOptions"),
    _B.RESIZE_BILINEAR: (15, "ResizeBilinearOptions"), _B.RESHAPE: (17, "ReshapeOptions"),
    _B.MUL: (21, "ActivationOptions"), _B.MEAN: (27, "ReducerOptions"), _B.SUB: (28, "ActivationOptions"),
    _B.UNIDIRECTIONAL_SEQUENCE_RNN: (31, "SequenceRNNOptions"),
    _B.UNIDIRECTIONAL_SEQUENCE_LSTM: (71, "SequenceLSTMOptions"),
    _B.BIDIRECTIONAL_SEQUENCE_LSTM: (69, "BidirectionalLSTMOptions"),
    _B.BIDIRECTIONAL_SEQUENCE_RNN: (70, "BidirectionalRNNOptions"), _B.BATCH_MATMUL: (101, "BatchMatMulOptions"),
    _B.DEPTH_TO_SPACE: (94, "BlockOptions"), _B.SPACE_TO_DEPTH: (19, "BlockOptions"),
    _B.CALL_ONCE: (103, "CallOnceOptions"), _B.VAR_HANDLE: (111, "VarHandleOptions"),
    _B.GELU: (116, "GeluOptions"), _B.SQUEEZE: (30, "SqueezeOptions"), _B.ONE_HOT: (61, "OneHotOptions"),
    _B.REVERSE_SEQUENCE: (87, "ReverseSequenceOptions"), _B.CUMSUM: (102, "CumsumOptions"),
    _B.BUCKETIZE: (115, "BucketizeOptions"),
    _B.CONV_3D: (106, "Conv3DOptions"), _B.CONV_3D_TRANSPOSE: (106, "Conv3DOptions"),
    _B.RANDOM_UNIFORM: (114, "RandomOptions"), _B.RANDOM_STANDARD_NORMAL: (114, "RandomOptions"),
    _B.MULTINOMIAL: (114, "RandomOptions"),
    _B.FAKE_QUANT: (58, "FakeQuantOptions"),
    _B.EMBEDDING_LOOKUP_SPARSE: (20, "CombinerOptions"), _B.LSH_PROJECTION: (4, "LSHOptions"),
    _B.GATHER: (23, "GatherOptions"), _B.LEAKY_RELU: (75, "LeakyReluOptions"),
    _B.LOCAL_RESPONSE_NORMALIZATION: (13, "LRNOptions"), _B.MIRROR_PAD: (77, "MirrorPadOptions"),
    _B.PACK: (59, "PackOptions"), _B.UNPACK: (64, "UnpackOptions"),
    _B.RESIZE_NEAREST_NEIGHBOR: (74, "ResizeNearestOptions"), _B.SVDF: (6, "SVDFOptions"),
    _B.SPLIT: (35, "SplitOptions"), _B.SPLIT_V: (79, "SplitOptions"), _B.STRIDED_SLICE: (32, "StridedSliceOptions"),
    _B.TRANSPOSE_CONV: (49, "TransposeConvOptions"), _B.DIV: (29, "ActivationOptions"),
    _B.L2_NORMALIZATION: (12, "ActivationOptions"), _B.L2_POOL_2D: (5, "Pool2DOptions"),
    _B.REDUCE_ALL: (27, "ReducerOptions"), _B.REDUCE_ANY: (27, "ReducerOptions"),
    _B.REDUCE_MAX: (27, "ReducerOptions"), _B.REDUCE_MIN: (27, "ReducerOptions"),
    _B.REDUCE_PROD: (27, "ReducerOptions"),
    _B.SKIP_GRAM: (18, "SkipGramOptions"), _B.HASHTABLE: (107, "HashtableOptions"),
    _B.IF: (92, "IfOptions"), _B.WHILE: (93, "WhileOptions"), _B.SUM: (27, "ReducerOptions"),
}
"""Operator -> (number of its options in the union, table). Other operators have no options that matter."""
OPTIONS_2 = {
    _B.STABLEHLO_RNG_BIT_GENERATOR: (19, "AlgorithmOptions"),
    _B.STABLEHLO_COMPOSITE: (21, "CompositeOptions"), _B.REDUCE_WINDOW: (20, "ReduceWindowOptions"),
    _B.STABLEHLO_GATHER: (16, "StablehloGatherOptions"), _B.STABLEHLO_SCATTER: (7, "StablehloScatterOptions"),
    _B.STABLEHLO_PAD: (10, "StablehloPadOptions"), _B.STABLEHLO_REDUCE_WINDOW: (13, "StablehloReduceWindowOptions"),
}
"""As OPTIONS, of those in the second union."""
OPTIONS_2_SLOT = 12
"""Slot of Operator that holds the options of the second union."""


BUILTINS = {name: code for name, code in vars(Builtin).items() if name.isupper()}
"""Name -> code of these."""
_NAMES = {code: name for name, code in BUILTINS.items()}


class TensorType(IntEnum):
    """Element types of tensors."""

    FLOAT32 = 0
    FLOAT16 = 1
    INT32 = 2
    UINT8 = 3
    INT64 = 4
    STRING = 5
    BOOL = 6
    INT16 = 7
    COMPLEX64 = 8
    INT8 = 9
    FLOAT64 = 10
    COMPLEX128 = 11
    UINT64 = 12
    RESOURCE = 13
    VARIANT = 14
    UINT32 = 15
    UINT16 = 16
    INT4 = 17
    BFLOAT16 = 18


_T = TensorType
ITEM_BITS = {
    _T.FLOAT32: 32, _T.FLOAT16: 16, _T.INT32: 32, _T.UINT8: 8, _T.INT64: 64, _T.BOOL: 8, _T.INT16: 16,
    _T.COMPLEX64: 64, _T.INT8: 8, _T.FLOAT64: 64, _T.COMPLEX128: 128, _T.UINT64: 64, _T.UINT32: 32, _T.UINT16: 16,
    _T.INT4: 4, _T.BFLOAT16: 16,
}
"""Bits of one element; types of no fixed size are absent."""

DTYPES = {
    _T.FLOAT32: np.dtype("<f4"), _T.FLOAT16: np.dtype("<f2"), _T.INT32: np.dtype("<i4"), _T.UINT8: np.dtype("u1"),
    _T.INT64: np.dtype("<i8"), _T.BOOL: np.dtype("u1"), _T.INT8: np.dtype("i1"), _T.INT16: np.dtype("<i2"),
    _T.UINT16: np.dtype("<u2"), _T.UINT32: np.dtype("<u4"), _T.UINT64: np.dtype("<u8"), _T.FLOAT64: np.dtype("<f8"),
    _T.COMPLEX64: np.dtype("<c8"), _T.COMPLEX128: np.dtype("<c16"),
}
"""numpy dtype of each type in which constants are read."""

TENSOR_TYPES = frozenset(map(int, TensorType))
"""Codes of all element types."""


UNTRANSLATED = {
    29: "CONCAT_EMBEDDINGS", 31: "CALL", 32: "CUSTOM", 51: "DELEGATE", 127: "PLACEHOLDER_FOR_GREATER_OP_CODES",
    162: "STABLEHLO_LOGISTIC", 164: "STABLEHLO_DIVIDE", 167: "STABLEHLO_RESHAPE", 168: "STABLEHLO_CLAMP",
    169: "STABLEHLO_CONCATENATE", 170: "STABLEHLO_BROADCAST_IN_DIM", 171: "STABLEHLO_CONVOLUTION",
    172: "STABLEHLO_SLICE", 173: "STABLEHLO_CUSTOM_CALL", 174: "STABLEHLO_REDUCE", 175: "STABLEHLO_ABS",
    177: "STABLEHLO_COSINE", 178: "STABLEHLO_EXPONENTIAL", 179: "STABLEHLO_FLOOR",
    180: "STABLEHLO_LOG", 182: "STABLEHLO_NEGATE", 183: "STABLEHLO_OR", 184: "STABLEHLO_POWER",
    185: "STABLEHLO_REMAINDER", 186: "STABLEHLO_RSQRT", 187: "STABLEHLO_SELECT", 188: "STABLEHLO_SUBTRACT",
    189: "STABLEHLO_TANH", 191: "STABLEHLO_COMPARE", 192: "STABLEHLO_CONVERT", 193: "STABLEHLO_DYNAMIC_SLICE",
    194: "STABLEHLO_DYNAMIC_UPDATE_SLICE", 196: "STABLEHLO_IOTA", 197: "STABLEHLO_DOT_GENERAL",
    199: "STABLEHLO_SORT", 200: "STABLEHLO_WHILE", 202: "STABLEHLO_TRANSPOSE", 208: "STABLEHLO_CBRT",
}
"""Names of the operators that have no translation, for messages."""


def operator_name(code):
    """Name of a builtin operator, BUILTIN_<code> of one that the format did not have when this was written."""
    return _NAMES.get(code) or UNTRANSLATED.get(code, f"BUILTIN_{code}")
