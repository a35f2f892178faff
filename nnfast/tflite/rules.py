"""What an operator of a file and its tensors must be to be translated, and the table of translations."""

from ..checks import counted
from ..errors import InvalidArgument, UnsupportedOperator
from ..model import own
from ..model.types import QUANT8_ASYMM_TYPES, QUANT_RANGE, ChannelQuant, OperandType
from .schema import DTYPES as FILE_DTYPES
from .schema import TensorType

T = OperandType
FLOATS = (T.TENSOR_FLOAT32, T.TENSOR_FLOAT16)
QUANT8 = (T.TENSOR_QUANT8_ASYMM, T.TENSOR_QUANT8_ASYMM_SIGNED)
FLOATS_QUANT8 = FLOATS + QUANT8
FLOATS_QUANT8_INT = FLOATS_QUANT8 + (T.TENSOR_INT32,)

OPERAND_TYPES = {
    TensorType.FLOAT32: T.TENSOR_FLOAT32, TensorType.FLOAT16: T.TENSOR_FLOAT16, TensorType.INT32: T.TENSOR_INT32,
    TensorType.UINT8: T.TENSOR_QUANT8_ASYMM, TensorType.INT8: T.TENSOR_QUANT8_ASYMM_SIGNED,
    TensorType.BOOL: T.TENSOR_BOOL8,
}

TRANSLATIONS = {}
"""Builtin code, or name of a custom operator -> function(builder, operator)."""


def translates(*codes):
    """Register a function as the translation of operators."""
    def register(function):
        for code in codes:
            TRANSLATIONS[code] = function
        return function
    return register


def type_label(code):
    """Name of a file's element type."""
    return TensorType(code).name.lower()


def counts_of(inputs, outputs):
    """Numbers of inputs and outputs for a message: "2 inputs and 1 output"."""
    return f"{counted(inputs, 'input')} and {counted(outputs, 'output')}"


class Rules:
    """The side of a Builder that looks at operators and tensors of the file, and refuses them."""

    def refuse(self, op, reason):
        """Raise for an operator (None: the graph's inputs or outputs) that cannot be translated."""
        if op is None:
            raise InvalidArgument(f"{self.label}: subgraph[{self.graph}]: {reason}")
        raise UnsupportedOperator(op.name, op.index, reason)

    def supported_type(self, op, t):
        """Operand type of a tensor."""
        code = OPERAND_TYPES.get(t.type)
        if code is not None and not t.is_sparse:
            return code
        what = "is sparse" if code is not None else f"has type {type_label(t.type)}"
        self.refuse(op, f"tensor[{t.index}] {t.name!r} {what}, NNAPI has no such tensors")

    def any_type(self, op, t):
        """(type, scale, zero point, channel quantization) of any tensor of numbers: a type of the standard, or of
        nnfast's own.
        """
        if t.type not in FILE_DTYPES or t.is_sparse:
            what = "is sparse" if t.type in FILE_DTYPES else f"has type {type_label(t.type)}"
            self.refuse(op, f"tensor[{t.index}] {t.name!r} {what}, nnfast has no such tensors")
        if t.type in (TensorType.INT8, TensorType.UINT8, TensorType.INT16) and t.scales:
            return self._quantized_type(op, t)
        if t.type in (TensorType.INT8, TensorType.UINT8) or t.type not in OPERAND_TYPES:
            return own.TENSOR_OF[FILE_DTYPES[t.type]], 0.0, 0, None
        return OPERAND_TYPES[t.type], 0.0, 0, None

    def _quantized_type(self, op, t):
        if len(t.scales) > 1:
            if t.type == TensorType.INT8 and not any(t.zero_points) and min(t.scales) > 0:
                return T.TENSOR_QUANT8_SYMM_PER_CHANNEL, 0.0, 0, ChannelQuant(t.channel_dim, t.scales)
            if t.data is None:
                return own.TENSOR_OF[FILE_DTYPES[t.type]], 0.0, 0, None  # no type has these: the bare codes
            self.refuse(op, f"tensor[{t.index}] {t.name!r} has {len(t.scales)} scales, must be int8 with scales above 0"
                            " and zero points of 0")
        if t.type != TensorType.INT16:
            return OPERAND_TYPES[t.type], *self.quant(op, t), None
        if t.scales[0] <= 0 or t.zero_points[0]:
            self.refuse(op, f"tensor[{t.index}] has scale {t.scales[0]} and zero point {t.zero_points[0]}, must be"
                            " above 0 and 0")
        return T.TENSOR_QUANT16_SYMM, t.scales[0], 0, None

    def check_types(self, op, allowed, *tensors):
        """All tensors must have one type, among `allowed`; returns it."""
        found = [self.supported_type(op, t) for t in tensors]
        if found[0] not in allowed or len(set(found)) != 1:
            labels = ", ".join(type_label(t.type) for t in tensors)
            choice = " or ".join(code.name for code in allowed)
            self.refuse(op, f"takes tensors of types {labels}; NNAPI takes one type, {choice}")
        return found[0]

    def check_counts(self, op, low, high=None, outputs=1):
        """Numbers of inputs and outputs, none of the first `low` inputs omitted."""
        high = low if high is None else high
        if not low <= len(op.inputs) <= high or len(op.outputs) != outputs:
            rule = f"{low}" if low == high else f"{low} to {high}"
            self.refuse(op, f"has {counts_of(len(op.inputs), len(op.outputs))}, must have {rule} and {outputs}")
        if -1 in op.inputs[:low] or -1 in op.outputs:
            self.refuse(op, "omits an operand that is required")

    def check_rank(self, op, t, low, high=4):
        """Rank of a tensor's operand, which must be known."""
        dims = self.dims(op, t)
        if dims and not low <= len(dims) <= high:
            self.refuse(op, f"tensor[{t.index}] has rank {len(dims)}, NNAPI takes {low} to {high}")

    def check_dimensions(self, op, t):
        """A tensor has dimensions: operands do not tell one of rank 0 from one of shape [1]."""
        if t.dims == ():
            self.refuse(op, f"tensor[{t.index}] has rank 0, which NNAPI's tensors cannot have")

    def check_same_quant(self, op, source, target):
        """NNAPI gives the output the input's quantization; the file must agree."""
        if self.supported_type(op, source) in QUANT8_ASYMM_TYPES:
            before, after = self.quant(op, source), self.quant(op, target)
            if before != after:
                self.refuse(op, f"output has (scale, zero point) {after}, NNAPI gives it the input's {before}")

    def source(self, op, count, types, low=0, high=4):
        """(tensor, its dims) of input 0, one of `count`, whose type and quantization the output shares."""
        self.check_counts(op, count)
        x = self.tensor(op, 0)
        self.check_types(op, types, x, self.result(op))
        self.check_same_quant(op, x, self.result(op))
        self.check_rank(op, x, low, high)
        return x, self.dims(op, x)

    def activation(self, op, allowed=(0, 1, 2, 3)):
        """Fused activation; TFLite's numbers are NNAPI's up to TANH."""
        code = op.options.activation
        if code not in allowed:
            self.refuse(op, f"fused activation is {code}, NNAPI takes {', '.join(map(str, allowed))}")
        return self.i32(code)

    def padding(self, op):
        """Implicit padding scheme: TFLite's SAME 0, VALID 1 are NNAPI's 1, 2."""
        if op.options.padding not in (0, 1):
            self.refuse(op, f"padding is {op.options.padding}, must be 0 (SAME) or 1 (VALID)")
        return self.i32(op.options.padding + 1)

    def positive(self, op, field):
        """Scalar operand of an option that must be at least 1."""
        value = getattr(op.options, field)
        if value < 1:
            self.refuse(op, f"{field} is {value}, must be at least 1")
        return self.i32(value)

    def image_size(self, op):
        """[height, width], the constant input 1 of a RESIZE operator."""
        size = self.integers(op, self.tensor(op, 1), "size")
        if len(size) != 2 or min(size) < 1:
            self.refuse(op, f"size {size} must be two values of at least 1")
        return size

    def tensor(self, op, place):
        """Input tensor, or None if it is omitted."""
        if place >= len(op.inputs) or op.inputs[place] == -1:
            return None
        return self.tensors[op.inputs[place]]

    def result(self, op, place=0):
        """Output tensor, which must be there."""
        if place >= len(op.outputs) or op.outputs[place] == -1:
            self.refuse(op, f"has no output {place}, must have one")
        return self.tensors[op.outputs[place]]

    def quant(self, op, t):
        """(scale, zero point) of a tensor of a per-tensor quantized type; (0.0, 0) for other types."""
        code = self.supported_type(op, t)
        if code not in QUANT8_ASYMM_TYPES:
            return 0.0, 0
        if len(t.scales) != 1:
            self.refuse(op, f"tensor[{t.index}] {t.name!r} has {len(t.scales)} scales, NNAPI takes one here")
        low, high = QUANT_RANGE[code]
        scale, point = t.scales[0], t.zero_points[0]
        if scale <= 0 or not low <= point <= high:
            self.refuse(op, f"tensor[{t.index}] has scale {scale} and zero point {point}, must be above 0 and in"
                        f" [{low}, {high}]")
        return scale, point

    def is_constant(self, t):
        return t.data is not None

    def integers(self, op, t, what):
        """Value of a constant integer tensor as a flat list."""
        if t.data is None or t.type not in (TensorType.INT32, TensorType.INT64) or t.is_sparse:
            self.refuse(op, f"{what} must be a constant int32 or int64 tensor")
        values = [int(v) for v in t.array.reshape(-1)]
        if any(not -(1 << 31) <= v < 1 << 31 for v in values):
            self.refuse(op, f"{what} {values} do not fit int32")
        return values
